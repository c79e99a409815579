"""Attacks on what leaves a person's own device: a noised report, or an answer that is randomised.

A report is private whatever the server does, so the server is on the attacker's side: it asks for no noise on top of
the guarantee's, and reads all reports of one person.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from tacit._types import Floats
from tacit.auditing.attack import ACTIONS, BEYOND, REPORT, SMALL, Attack, Twin
from tacit.auditing.family import Family
from tacit.auditing.scores import given
from tacit.auditing.script import Script, Scripted, Seen, spoiled, with_noise
from tacit.core.plan import Plan
from tacit.policies._reporting import ReportingPolicy
from tacit.policies.context_blind import ContextBlind
from tacit.policies.linear import Linear
from tacit.policies.local_linucb import LocalLinUCB
from tacit.policies.online import AnytimeLinUCB, Combiner, OnlineLinUCB
from tacit.policies.randomised_response import RandomisedResponse

Row: TypeAlias = tuple[Floats, float]  #: an action and a reward

#: Where the person's own action is what is protected, and what is seen.
ANSWER = "own action"
#: Later choices that are asked for. Each is made after one more report of pure noise, and says less.
PROBES = 6
#: A bound that clips nothing.
OPEN = 1e9
#: A twin whose μ is less than this times the promised one would need more runs than twins get.
CLEARLY = 1.4
#: What is drawn so many times over has a μ larger by √3: clearly.
_DRAWS = 3
#: Lengths that are tried for the second row where there is one private coordinate.
_LENGTHS = 201
#: The round in which the third epoch of a policy begins that begins anew after 1, 3, 7, … rounds.
_LONGER_EPOCH = 7
#: How much the twin of a policy that looks at nothing leans towards the best arm: e to this are the odds.
_LEANING = 0.2


def attacks(config: Any, sampler: str = "double") -> tuple[Attack, ...]:
    """On a person's reports, and on later choices between +v and −v alone; or on a person's own action."""
    if isinstance(config, RandomisedResponse | ContextBlind):
        return (_answer_attack(config),)
    plan = config.planned(sampler)
    return (report_attack(config, _unperturbed(plan)), *action_attack(config, plan, _first_round(config)))


def twins(config: Any, sampler: str = "double") -> tuple[Twin, ...]:
    """What must be caught."""
    if isinstance(config, RandomisedResponse):
        return _answer_twins()
    if isinstance(config, ContextBlind):
        return (
            Twin("context looked at", f"the best arm has odds of {math.exp(_LEANING):.2f} against any other", _leaning),
        )
    return _report_twins(config, sampler)


# Reports --------------------------------------------------------------------------------------------------------------


def report_attack(config: ReportingPolicy, plan: Plan) -> Attack:
    """Every report of one person, projected on how the two people differ, part by part."""
    rows = farthest_rows(config)
    length, opposite = len(parts_of(config)), "(x, y) replaced by (-x, y'), which is farthest from it"
    told = opposite if _sends_rows(config) else "a row replaced by the one whose products are farthest from its own"
    weights = np.stack([part * difference(config, rows) for part in parts_of(config)], axis=1)

    def see(seen: Seen) -> Floats:
        reports = seen.of("report")[:, :, : weights.shape[0]]
        return (reports @ weights).reshape(len(reports), length * config.reports)

    scripts = tuple(_repeated(beyond(config, row), config.reports) for row in rows)
    return Attack(
        REPORT,
        Scripted(plan, scripts, see, watched=np.arange(config.reports)),  # type: ignore[arg-type]
        f"{told} (both beyond the bounds){_in_all(config)}",
    )


def action_attack(config: ReportingPolicy, plan: Plan, first: int) -> tuple[Attack, ...]:
    """The choices after a person's reports: x·y replaced by its opposite, then rows near zero. None if there is no room
    for a probe before the plan ends."""
    start = first + config.reports
    rounds = start + PROBES if plan.limit is None else min(start + PROBES, plan.limit)
    if rounds <= start:
        return ()
    scripts = tuple(probing(config, side, rounds, slice(first, start)) for side in (-1.0, 1.0))
    chosen = Scripted(plan, scripts, signs, asked=np.arange(start, rounds))  # type: ignore[arg-type]
    told = f"(x, y) replaced by (-x, y) (both beyond the bounds){_in_all(config)}, all others near zero"
    return (Attack(ACTIONS, chosen, told, smooth=False),)


def probing(config: ReportingPolicy, side: float, rounds: int, person: slice) -> Script:
    """One person's rows ±(x, y), with the largest reward, among rows near zero: {+v, −v} along x."""
    offers = np.zeros((rounds, 2, config.dim))
    offers[:, 1, 0] = SMALL * config.radius
    offers[:, 0, 0] = -offers[:, 1, 0]
    offers[person, :, 0] = side * BEYOND * config.radius
    if config.constants:
        offers[:, :, config.private_dim :] = config.constants
    largest = max(config.reward_low, config.reward_high, key=abs)
    rewards = np.zeros(rounds)
    rewards[person] = _beyond_reward(config, largest)
    return Script(offers, rewards)


def signs(seen: Seen) -> Floats:
    """Choices between two actions as ±1."""
    return np.where(seen.arms == 1, 1.0, -1.0)


def farthest_rows(config: ReportingPolicy) -> tuple[Row, Row]:
    """Two rows within the bounds whose reports are as far apart as any: they attain the sensitivity, but for products
    of a single private coordinate, where the sensitivity is a bound.

    Rows that are sent as they are: v and −v, and the two ends of the rewards. Products: v and w at the angle of
    `privacy.sensitivity.gram_sensitivity`, turned until v vᵀ − w wᵀ is diagonal.
    """
    ends = config.reward_low, config.reward_high
    if _sends_rows(config):
        ahead = _along(config, 0.0, config.radius)
        return (ahead, ends[1]), (_along(config, 0.0, -config.radius), ends[0])
    pairs = [
        ((v, y), (w, other))
        for y, other in product(ends, repeat=2)
        for v, w in _angled(config, sum(c * c for c in config.constants) + y * other)
    ]
    return max(pairs, key=lambda pair: float(np.linalg.norm(difference(config, pair))))


def _angled(config: ReportingPolicy, cross: float) -> list[tuple[Floats, Floats]]:
    """Actions v and w that may be farthest apart where k = c0² + y·y′ is `cross`."""
    radius = config.radius
    if config.private_dim == 1:
        return [(_along(config, 0.0, radius), _along(config, 0.0, w)) for w in np.linspace(-radius, radius, _LENGTHS)]
    cosine = -math.copysign(min(1.0, abs(cross) / (2 * radius * radius)), cross)
    half = math.acos(cosine) / 2
    return [(_along(config, math.pi / 4 - half, radius), _along(config, math.pi / 4 + half, radius))]


def _along(config: ReportingPolicy, angle: float, length: float) -> Floats:
    """An action in the plane of the first two private coordinates, its public part as declared."""
    found = np.zeros(config.dim)
    found[0] = length * math.cos(angle)
    if config.private_dim > 1:
        found[1] = length * math.sin(angle)
    if config.constants:
        found[config.private_dim :] = config.constants
    return found


def difference(config: ReportingPolicy, rows: tuple[Row, Row]) -> Floats:
    """The second report less the first, without noise."""
    return written(config, rows[1]) - written(config, rows[0])


def written(config: ReportingPolicy, row: Row) -> Floats:
    """What a device writes of a row within the bounds, before noise."""
    x, y = row
    if _sends_rows(config):
        return np.append(x, y)
    return np.append(np.outer(x, x)[np.triu_indices(config.dim)], x * y)


def parts_of(config: ReportingPolicy) -> list[Floats]:
    """Which numbers of a report belong together, as zeros and ones: the action and the reward; or products of private
    coordinates, those with a constant, and those with the reward."""
    private = np.arange(config.dim) < config.private_dim
    if _sends_rows(config):
        found = [np.append(private, 0.0), np.append(0.0 * private, 1.0)]
    else:
        rows, columns = np.triu_indices(config.dim)
        nothing, reward = np.zeros(config.dim), np.ones(config.dim)
        found = [
            np.append(1.0 * private[columns], nothing),
            np.append(1.0 * (private[rows] & ~private[columns]), nothing),
            np.append(np.zeros(len(rows)), reward),
        ]
    return [part for part in found if part.any()]


def beyond(config: ReportingPolicy, row: Row) -> Row:
    """The row that is clipped to this one: as far as it lies at a bound, it lies far beyond."""
    x, y = row[0].copy(), row[1]
    private = x[: config.private_dim]
    if np.linalg.norm(private) >= config.radius * (1 - 1e-9):
        private *= BEYOND
    return x, _beyond_reward(config, y)


def _beyond_reward(config: ReportingPolicy, end: float) -> float:
    reach = BEYOND * (config.reward_high - config.reward_low)
    return end + (reach if end == config.reward_high else -reach)


def _repeated(row: Row, times: int) -> Script:
    return Script(np.tile(row[0], (times, 2, 1)), np.full(times, row[1]))


def _sends_rows(config: ReportingPolicy) -> bool:
    """Whether a report is the row itself, or its products."""
    return isinstance(config, OnlineLinUCB | AnytimeLinUCB | Combiner)


def _in_all(config: ReportingPolicy) -> str:
    return "" if config.reports == 1 else f", in all {config.reports} reports of a person"


def _unperturbed(plan: Plan) -> Plan:
    """As a server would have it that wants to know: further noise is asked for in the view, and it asks for none."""
    if not hasattr(plan.params, "perturbation"):
        return plan
    quiet = plan.params._replace(perturbation=np.zeros_like(plan.params.perturbation))
    return replace(plan, params=quiet, view=lambda: plan.view()._replace(perturbation=np.zeros(1)))


def _first_round(config: ReportingPolicy) -> int:
    """A policy that begins anew after 1, 3, 7, … rounds forgets its first report at once: the person comes later."""
    return _LONGER_EPOCH if isinstance(config, AnytimeLinUCB) else 0


def _report_twins(config: Any, sampler: str) -> tuple[Twin, ...]:
    truly, promised = config.planned(sampler).guarantee.mu, config.promise.mu
    found = [Twin("clipping off", "rows count with the length they come with", spoiled(params=open_bounds))]
    found += [
        Twin(name, says, with_noise(factor, scaled))
        for name, says, factor in _wrong_scales(config)
        if truly / factor >= CLEARLY * promised
    ]
    # Published noise may be too much by far: then a few draws of a report keep the promise, and more are needed.
    times = max(_DRAWS, math.ceil(_DRAWS * (promised / truly) ** 2))
    if isinstance(config, Combiner) and config.count >= times:
        says = f"each of {config.count} bases gets a report of its own of the same person"
        found.append(Twin("noise redrawn", says, spoiled(reads=config.count)))
    else:
        found.append(Twin("noise redrawn", f"every report is drawn {times} times", spoiled(reads=times)))
    found.append(
        Twin("reward without noise", "numbers made with the reward leave as they are", _bare(config, -1, sampler))
    )
    if config.constants and not _sends_rows(config):
        found.append(
            Twin("constants without noise", "products with a constant leave as they are", _bare(config, 1, sampler))
        )
    return tuple(found)


def _wrong_scales(config: Any) -> list[tuple[str, str, float]]:
    """Noise that was worked out for something else, as parts of what there is."""
    alone = max(float(np.linalg.norm(written(config, row) * sum(parts_of(config)))) for row in farthest_rows(config))
    found = [
        ("noise halved", "half the standard deviation", 0.5),
        (
            "add/remove sensitivity",
            "noise for one report more or less, not for one replaced",
            alone / config.sensitivity,
        ),
    ]
    if _sends_rows(config):
        larger = max(2 * config.radius, config.reward_high - config.reward_low)
        found.append(("priced apart", "noise for the action or the reward, not for both", larger / config.sensitivity))
    if config.reports > 1:
        found.append(("one report priced", "noise for one report of a person", 1 / math.sqrt(config.reports)))
    return found


def open_bounds(params: Any) -> Any:
    """Params of a device that clips nothing."""
    return _reporting(
        params, lambda part: part._replace(bounds=part.bounds._replace(radius=OPEN, reward_low=-OPEN, reward_high=OPEN))
    )


def scaled(factor: float) -> Callable[[Any], Any]:
    """Params with so much of their Gaussian noise."""
    return lambda params: _reporting(params, lambda part: part._replace(scale=factor * part.scale))


def _reporting(params: Any, change: Callable[[Any], Any]) -> Any:
    """Change what makes a report: the row of a linear policy, the params of an online one."""
    return params._replace(row=change(params.row)) if isinstance(params, Linear) else change(params)


def _bare(config: ReportingPolicy, part: int, sampler: str) -> Callable[[Attack], Attack]:
    """One part of every report draws numbers that count for nothing. Numbers are drawn in the order of the report; of a
    row none is drawn for its constants, of products one is for each. Drawn exactly, a perturbation has its own after
    them."""
    factors = 1.0 - parts_of(config)[part]
    if _sends_rows(config):
        factors = factors[np.append(np.arange(config.dim) < config.private_dim, True)]
        if sampler == "secure":
            factors = np.append(factors, np.ones(config.private_dim))
    return spoiled(factors=np.tile(factors, config.reports), uniforms=1)


# Answers --------------------------------------------------------------------------------------------------------------


def _answer_attack(config: RandomisedResponse | ContextBlind) -> Attack:
    """Two actions, of which either the one or the other is the better: is it taken?"""
    offers = np.zeros((2, 1, 2, config.dim))
    offers[0, 0, 0, 0] = offers[1, 0, 1, 0] = 1.0
    scripts = Script(offers[0], np.array([-1.0])), Script(offers[1], np.array([1.0]))
    # The likelihood ratio of an answer is e^±ε, and of several the product: no score is better.
    return Attack(
        ANSWER,
        Scripted(config.plan(), scripts, signs, asked=np.zeros(1, np.int64)),
        "the better of two actions, and the reward, replaced by the other",
        fit=given(lambda seen: seen.sum(axis=1)),
        smooth=False,
    )


def _answer_twins() -> tuple[Twin, ...]:
    return (
        Twin("noise halved", "the odds of a true answer are squared", spoiled(params=_squared_odds)),
        Twin("noise redrawn", "every answer is given twice", spoiled(reads=2)),
    )


def _squared_odds(params: Any) -> Any:
    return params._replace(odds=params.odds**2)


def _leaning(attack: Attack) -> Attack:
    """There is no number in a policy that looks at nothing: the twin is one that answers, at a small ε."""
    sampler: Any = attack.sampler
    dim = sampler.scripts[0].offers.shape[2]
    return replace(attack, sampler=replace(sampler, plan=RandomisedResponse(dim=dim, epsilon=_LEANING).plan()))


# Forms ----------------------------------------------------------------------------------------------------------------


def small(kind: type, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Two private features, and a horizon where one is needed."""
    found: dict[str, Any] = {"dim": 2 + len(options.get("constants", ()))}
    tuned = options.get("lambda_min") is not None or options.get("width") == "theory"
    needs = tuned or options.get("learner") == "maler"
    if kind in (Combiner, LocalLinUCB) or (kind is OnlineLinUCB and needs):
        found["horizon"] = 1000
    return found


def forms() -> tuple[Any, ...]:
    """Every policy and learner, either calibration, constants, rewards in [0, 1], and several reports of a person."""

    def form(kind: Any, **options: Any) -> Any:
        promised = {"epsilon": 1.0, "delta": 1e-5, **options}
        return kind(**{**small(kind, promised), **promised})

    uneven: dict[str, Any] = {"reward_low": 0.0, "constants": (0.5,), "person_rounds": 3}
    return (
        form(OnlineLinUCB),
        form(OnlineLinUCB, estimator="debiased", **uneven),
        form(OnlineLinUCB, learner="maler", lambda_min=0.0),
        form(OnlineLinUCB, calibration="published", epsilon=10.0, delta=0.1),
        form(AnytimeLinUCB),
        form(Combiner),
        form(LocalLinUCB),
        form(LocalLinUCB, **uneven),
        form(LocalLinUCB, calibration="published"),
        RandomisedResponse(dim=2, epsilon=1.0),
        ContextBlind(dim=2),
    )


FAMILY = Family(
    (OnlineLinUCB, AnytimeLinUCB, Combiner, LocalLinUCB, RandomisedResponse, ContextBlind), attacks, twins, forms, small
)
