"""Attacks on `ShuffleLinUCB`: one person of a batch is replaced, and what the shuffler hands on is seen.

Of counts it hands on totals, so the attack adds up what devices sent. Of Gaussian reports it hands on all, in an order
drawn evenly: the attack does not draw one, because its score is the same in every order. Who is not honest adds no
noise and is on the attacker's side: what such people send is known, and left out.

Where arms share a context the two rows are those of `arms`: of one arm, and of two, since a report must not tell which.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from tacit._types import Floats
from tacit.auditing.attack import ACTIONS, BATCH, RELEASED, SMALL, Attack, Twin
from tacit.auditing.attacks import arms
from tacit.auditing.attacks.local import (
    Row,
    beyond,
    difference,
    farthest_rows,
    open_bounds,
    probing,
    report_attack,
    scaled,
    signs,
    written,
)
from tacit.auditing.bounds import within_reach
from tacit.auditing.family import Family
from tacit.auditing.scores import given
from tacit.auditing.script import Script, Scripted, Seen, spoiled, with_noise
from tacit.core.plan import Plan
from tacit.mechanisms.shuffle import Ones
from tacit.policies.shuffle_linucb import ShuffleLinUCB
from tacit.policies.shuffled_arms import ShuffledArms
from tacit.privacy.event import LatticeEvent
from tacit.privacy.promise import Promise
from tacit.privacy.shuffle import gaussian_shuffled

#: What is seen where the two rows are of two arms.
OF_TWO = "shuffled batch, two arms"
#: Later batches whose views are probed, and rounds for it: each batch adds noise of its own.
_VIEWS, _ROUNDS = 3, 24
#: Reports that are held at a time, over all runs of a batch of runs.
_REPORTS = 100_000
#: Runs that twins get in the default audit, and the chance that a bound fails in a strict one.
_TWIN_RUNS, _MISS = 20_000, 3e-6
#: By how much a twin is expected to exceed the promise, at least.
_CLEARLY = 1.2
#: Draws of the same batch at most: a twin's run must not cost more than a few others.
_MOST_DRAWS = 16
#: Steps in which the effect of a twin is looked for.
_STEP = 1.02


def attacks(config: ShuffleLinUCB, sampler: str = "double") -> tuple[Attack, ...]:
    """On the batch as it leaves the shuffler; on what one process releases; on later choices. Where the noise of a
    report is priced as if there were no shuffler, first on the report alone."""
    plan = config.planned(sampler)
    if config.arms is not None:
        return _attacks_on_arms(config, plan)
    if _counts(config):
        return (_totals_attack(config, plan), _view_attack(config, plan), *_action_attack(config, plan))
    batch = _mixed_attack(config, plan)
    alone = () if _amplified(config, plan) else (report_attack(config, plan),)
    return (*alone, batch, *_action_attack(config, plan))


def twins(config: ShuffleLinUCB, sampler: str = "double") -> tuple[Twin, ...]:
    """What must be caught. The guarantee is one point, (ε, δ), so a twin must be far beyond it to be found out in few
    runs: half the noise is not at ε = 1, and it is divided further until it should be."""
    plan = config.planned(sampler)
    needed, effect = _needed(config), _effect(config, plan, 1)
    divisor = 2
    while _effect(config, plan, divisor) < needed:
        divisor *= 2
    name = {2: "noise halved", 4: "noise quartered"}.get(divisor, f"noise divided by {divisor}")
    found = [
        Twin("clipping off", "rows count with the length they come with", _unclipped),
        Twin(name, f"the standard deviation is divided by {divisor}", _less_noise(config, 1 / divisor)),
    ]
    draws, what = max(2, math.ceil((needed / effect) ** 2)), "total" if _counts(config) else "report"
    if draws <= _MOST_DRAWS:
        found.append(Twin("noise redrawn", f"every {what} is drawn {draws} times", spoiled(reads=draws)))
    # Where a report is priced as if there were no shuffler, nothing is lost with the order.
    if (_counts(config) or _amplified(config, plan)) and _alone(plan) >= needed:
        see = _first_counts(_apart(config)) if _counts(config) else _first_report(config, plan)
        found.append(Twin("order kept", "it can be told which report is whose", spoiled(see=see)))
    return tuple(found)


# What is seen ---------------------------------------------------------------------------------------------------------


def _totals_attack(config: ShuffleLinUCB, plan: Plan) -> Attack:
    """The totals of the honest, as devices make them, projected on how the two people differ."""
    people = config.honest_people
    return _on_totals(plan, _scripts(config, people), _apart(config), people, _told(config))


def _on_totals(
    plan: Plan, scripts: tuple[Script, Script], weights: Floats, people: int, told: str, observed: str = BATCH
) -> Attack:
    def see(seen: Seen) -> Floats:
        totals: Floats = seen.of("report")[:, :, : len(weights)].sum(axis=1) @ weights
        return totals[:, np.newaxis]

    device = replace(plan, params=plan.device, law=plan.device_law)
    sampler = Scripted(device, scripts, see, watched=np.arange(people))
    return Attack(observed, sampler, told, batch=_at_once(people))


def _apart(config: Any) -> Floats:
    """How the reports of the two people differ."""
    if config.arms is None:
        return difference(config, farthest_rows(config))
    return _between(config, *arms.worst_rows(config))


def _view_attack(config: ShuffleLinUCB, plan: Plan) -> Attack:
    """The view after a batch whose ones one process has drawn. V = UᵀU and u = Vθ̃ are read off it; a repair adds to the
    whole diagonal, and two actions of equal length do not differ there."""
    weights, people = difference(config, farthest_rows(config)), config.batch_size
    triangle = np.triu_indices(config.dim)

    def see(seen: Seen) -> Floats:
        factor, theta = seen.of("factor")[:, 0], seen.of("theta")[:, 0]
        matrix = np.einsum("rji,rjk->rik", factor, factor)
        vector = np.einsum("rij,rj->ri", matrix, theta)
        entries = np.concatenate([matrix[:, triangle[0], triangle[1]], vector], axis=1)
        return (entries @ weights)[:, np.newaxis]

    sampler = Scripted(plan, _scripts(config, people), see, watched=np.array([people - 1]))
    return Attack(RELEASED, sampler, _told(config))


def _mixed_attack(config: ShuffleLinUCB, plan: Plan) -> Attack:
    """The honest reports of a batch in any order, everybody else's row being the first of the two."""
    people = config.honest_people
    sampler = Scripted(
        plan,
        _scripts(config, people, others=farthest_rows(config)[0]),
        _any_order(config, plan.params.row.scale),
        watched=np.arange(people),
    )
    return Attack(
        BATCH,
        sampler,
        _told(config, "all others as it was"),
        fit=given(_summed),
        smooth=False,
        batch=_at_once(people),
    )


def _any_order(config: ShuffleLinUCB, scale: float) -> Callable[[Seen], Floats]:
    """ln of (1/n)·Σ exp(l_i), l_i the log-likelihood ratio of report i under the second row and the first.

    If n − 1 of the n rows are the first one, this is the likelihood ratio of the batch over all orders, and no score of
    an unordered batch is better. For several rows of one person it is a score like another.
    """
    ratio = _ratio(config, scale)

    def see(seen: Seen) -> Floats:
        ratios = ratio(seen)
        found: Floats = logsumexp(ratios, axis=1, keepdims=True) - math.log(ratios.shape[1])
        return found

    return see


def _first_report(config: ShuffleLinUCB, plan: Plan) -> Callable[[Seen], Floats]:
    """What a shuffler that keeps the order lets through: whose report is the first."""
    ratio = _ratio(config, plan.params.row.scale)
    return lambda seen: ratio(seen)[:, :1]


def _ratio(config: ShuffleLinUCB, scale: float) -> Callable[[Seen], Floats]:
    """Of every report: <r − (f + g)/2, g − f>/σ², f and g what the first and the second person write."""
    rows = farthest_rows(config)
    apart, middle = difference(config, rows), (written(config, rows[0]) + written(config, rows[1])) / 2

    def ratio(seen: Seen) -> Floats:
        found: Floats = (seen.of("report") - middle) @ apart / scale**2
        return found

    return ratio


def _first_counts(weights: Floats) -> Callable[[Seen], Floats]:
    """The counts of one person, with ones of one's own only."""
    return lambda seen: (seen.of("report")[:, 0, : len(weights)] @ weights)[:, np.newaxis]


def _summed(seen: Floats) -> Floats:
    found: Floats = seen.sum(axis=1)
    return found


def _action_attack(config: ShuffleLinUCB, plan: Plan) -> tuple[Attack, ...]:
    """The choices after the first views; inside a batch they do not change."""
    asked = _asked(config)
    if not len(asked):
        return ()
    rounds, person = int(asked[-1]) + 1, slice(0, min(config.reports, config.batch_size))
    scripts = probing(config, -1.0, rounds, person), probing(config, 1.0, rounds, person)
    told = "(x, y) replaced by (-x, y) (both beyond the bounds), all others near zero"
    return (Attack(ACTIONS, Scripted(plan, scripts, signs, asked=asked), told, smooth=False),)


def _scripts(config: ShuffleLinUCB, people: int, others: Row | None = None) -> tuple[Script, Script]:
    """One person's rows, all in one batch, then everybody else's: near zero unless given."""
    offers, rewards = np.zeros((people, 2, config.dim)), np.zeros(people)
    if others is not None:
        offers[:], rewards[:] = beyond(config, others)
    else:
        offers[:, :, 0] = SMALL * config.radius
        if config.constants:
            offers[:, :, config.private_dim :] = config.constants
    first, second = (_with_person(offers, rewards, beyond(config, row), config) for row in farthest_rows(config))
    return first, second


def _with_person(offers: Floats, rewards: Floats, row: Row, config: ShuffleLinUCB) -> Script:
    found = Script(offers.copy(), rewards.copy())
    mine = slice(0, min(config.reports, len(rewards)))
    found.offers[mine], found.rewards[mine] = row
    return found


def _told(config: ShuffleLinUCB, others: str = "all others near zero") -> str:
    who = "a row" if config.reports == 1 else f"{config.reports} rows of a person"
    return f"{who} replaced by the one whose products are farthest from its own (both beyond the bounds), {others}"


# Arms that share a context --------------------------------------------------------------------------------------------


def _attacks_on_arms(config: Any, plan: Plan) -> tuple[Attack, ...]:
    first, second = arms.worst_rows(config)
    return (
        _on_arms(config, plan, first, second),
        _on_arms(config, plan, first, second._replace(arm=1), OF_TWO),
        _on_sums_of_arms(config, plan, first, second),
        *_on_choices_of_arms(config, plan, first, second),
    )


def _between(config: Any, first: arms.Row, second: arms.Row) -> Floats:
    """How the reports of two rows differ: numbers beside a diagonal and of a vector count √2 times."""
    found: Floats = (arms.image(config, second) - arms.image(config, first)) * np.sqrt(2 * arms.unit_of(config))
    return found


def _scripts_of_arms(config: Any, rounds: int, *rows: arms.Row) -> tuple[Script, Script]:
    """All rows of one person in the first batch, among rows that add nothing."""
    mine = range(min(config.reports, config.batch_size, rounds))
    first, second = (arms.script_of(config, rounds, dict.fromkeys(mine, row)) for row in rows)
    return first, second


def _on_arms(config: Any, plan: Plan, first: arms.Row, second: arms.Row, observed: str = BATCH) -> Attack:
    """The totals of the honest, as devices make them."""
    people = config.honest_people
    scripts, weights = _scripts_of_arms(config, people, first, second), _between(config, first, second)
    return _on_totals(plan, scripts, weights, people, _told_of_arms(config, first, second), observed)


def _on_sums_of_arms(config: Any, plan: Plan, first: arms.Row, second: arms.Row) -> Attack:
    """What one process publishes of a batch, whose ones it has drawn: `fit` is given nothing else."""
    people = config.batch_size
    weights = (arms.image(config, second) - arms.image(config, first)) * arms.unit_of(config)

    def see(seen: Seen) -> Floats:
        found: Floats = seen.of("published") @ weights
        return found

    scripts = _scripts_of_arms(config, people, first, second)
    sampler = Scripted(plan, scripts, see, watched=np.array([people - 1]))
    return Attack(RELEASED, sampler, _told_of_arms(config, first, second))


def _on_choices_of_arms(config: Any, plan: Plan, first: arms.Row, second: arms.Row) -> tuple[Attack, ...]:
    """The arm that is taken in the row's own context after each of the first batches."""
    asked = _asked(config)
    if not len(asked):
        return ()
    scripts = _scripts_of_arms(config, int(asked[-1]) + 1, first, second)
    for script in scripts:
        assert script.forced is not None
        script.forced[asked] = -1
        script.offers[asked, 0, : config.dim] = arms.context(config, first.way)

    def see(seen: Seen) -> Floats:
        found: Floats = (seen.arms == first.arm).astype(np.float64)
        return found

    told = "a row replaced by the furthest of one arm, which is asked for in its context after the first batches"
    return (Attack(ACTIONS, Scripted(plan, scripts, see, asked=asked), told, smooth=False),)


def _told_of_arms(config: Any, first: arms.Row, second: arms.Row) -> str:
    who = "a row" if config.reports == 1 else f"{config.reports} rows of a person"
    which = "of one arm" if first.arm == second.arm else "of another arm"
    return f"{who} replaced by the furthest {which}, with opposite rewards (all beyond the bounds), others nothing"


def _asked(config: ShuffleLinUCB) -> Any:
    """The first rounds of the first batches after the first one."""
    batch = config.batch_size
    asked = np.arange(1, max(1, min(_VIEWS, _ROUNDS // batch)) + 1) * batch
    return asked[asked < config.horizon]


def _at_once(people: int) -> int:
    return min(2000, max(10, _REPORTS // people))


# Twins ----------------------------------------------------------------------------------------------------------------


def _unclipped(attack: Attack) -> Attack:
    """Bounds and grid without an end: a grid has a lower one still."""

    def change(params: Any) -> Any:
        if isinstance(params, ShuffledArms):
            mixing = params.mixing._replace(grid=params.mixing.grid._replace(steps=1e12))
            return arms.unclipped(params)._replace(mixing=mixing)
        found = open_bounds(params)
        row = found.row
        return found._replace(row=row._replace(grid=row.grid._replace(steps=1e12))) if row.grid.steps > 0 else found

    return spoiled(params=change)(attack)


def _less_noise(config: ShuffleLinUCB, factor: float) -> Callable[[Attack], Attack]:
    """Less noise, and an attacker who knows."""

    def spoil(attack: Attack) -> Attack:
        sampler: Any = attack.sampler
        if _counts(config):
            return with_noise(factor, _fewer_ones)(attack)
        found = with_noise(factor, scaled)(attack)
        if attack.observed != BATCH:
            return found
        see = _any_order(config, factor * sampler.plan.params.row.scale)
        return spoiled(see=see)(found)

    return spoil


def _fewer_ones(factor: float) -> Callable[[Any], Any]:
    def fewer(ones: Ones) -> Ones:
        return ones._replace(trials=float(math.ceil(factor**2 * ones.trials)))

    def change(params: Any) -> Any:
        place, counter = _mixed_by(params), params.counter
        mixing = getattr(params, place)
        return params._replace(
            counter=counter._replace(ones=fewer(counter.ones)),
            **{place: mixing._replace(ones=fewer(mixing.ones))},
        )

    return change


def _mixed_by(params: Any) -> str:
    """The field that says how a row is mixed."""
    return "mixing" if isinstance(params, ShuffledArms) else "row"


def _needed(config: ShuffleLinUCB) -> float:
    """How many standard deviations apart a twin must set the two inputs to be found out in its runs."""
    mu = Promise(config.epsilon, config.delta).mu
    while _shown(config, mu) < _CLEARLY * config.epsilon:
        mu *= _STEP
    return mu


def _shown(config: ShuffleLinUCB, mu: float) -> float:
    """ε that counts can be expected to prove of two Gaussians μ apart, in the runs of a twin."""
    return within_reach(mu, config.epsilon, config.delta, _TWIN_RUNS, _MISS)[0]


def _effect(config: ShuffleLinUCB, plan: Plan, divisor: float) -> float:
    """About how far apart, in standard deviations, the first attack sees the two inputs with so much less noise."""
    event = _fact(plan)
    if _counts(config):
        deviation = math.sqrt(event.trials * event.chance * (1 - event.chance))
        return float(divisor * config.reports * event.sensitivity / deviation)
    mu = divisor * _alone(plan)
    if not _amplified(config, plan):
        return mu * math.sqrt(config.reports)
    # E exp(2l) − 1 = e^{μ²} − 1 of one report; the mean over n has 1/n of it.
    return min(mu, math.sqrt(math.expm1(min(mu * mu, 100.0)) / event.honest_reports))


def _alone(plan: Plan) -> float:
    """μ of a single report, about: of counts it has the ones of one device, and what rounding adds."""
    event = _fact(plan)
    if plan.device is None:
        return float(event.sensitivity / event.scale)
    ones = getattr(plan.device, _mixed_by(plan.device)).ones
    deviation = math.sqrt(ones.trials * event.chance * (1 - event.chance) + 0.25)
    return float(event.sensitivity / deviation)


def _fact(plan: Plan) -> Any:
    """What is released, whether on a lattice or not."""
    return plan.event.event if isinstance(plan.event, LatticeEvent) else plan.event


def _counts(config: ShuffleLinUCB) -> bool:
    return config.protocol == "vector-sum"


def _amplified(config: ShuffleLinUCB, plan: Plan) -> bool:
    """Whether the shuffler is needed for what is guaranteed."""
    event = _fact(plan)
    return gaussian_shuffled(_alone(plan), event.honest_reports, config.delta, config.reports).amplified


# Forms ----------------------------------------------------------------------------------------------------------------


def small(kind: type, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """A few people in a batch, and four batches."""
    batch = options.get("batch") or (20 if options.get("protocol") == "amplification" else 8)
    return {"dim": 2 + len(options.get("constants", ())), "batch": batch, "horizon": 4 * batch}


def forms() -> tuple[ShuffleLinUCB, ...]:
    """Both protocols and calibrations; of amplification one that needs its shuffler, and one that does not."""

    def form(**options: Any) -> ShuffleLinUCB:
        promised = {"epsilon": 1.0, "delta": 1e-5, **options}
        return ShuffleLinUCB(**{**small(ShuffleLinUCB, promised), **promised})

    return (
        form(),
        form(honest=0.5, reward_low=0.0, constants=(0.5,), person_rounds=2),
        form(calibration="published"),
        form(protocol="amplification"),
        form(protocol="amplification", calibration="published"),
        form(protocol="amplification", batch=150, epsilon=0.2, delta=0.1),
        form(arms=2, dim=1, person_rounds=2, honest=0.5),
    )


FAMILY = Family((ShuffleLinUCB,), attacks, twins, forms, small)
