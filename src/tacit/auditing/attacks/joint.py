"""Attacks on `JointLinUCB`: one row replaced by one that is orthogonal to it, everybody else near zero."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tacit._types import Floats, Ints
from tacit.auditing.attack import ACTIONS, BEYOND, RELEASED, SMALL, Attack, Twin
from tacit.auditing.attacks import arms
from tacit.auditing.family import Family
from tacit.auditing.script import Script, Scripted, Seen, spoiled, with_noise
from tacit.core.plan import Plan
from tacit.core.round import ROWS
from tacit.counters.counter import EveryRow
from tacit.counters.wishart import Masks
from tacit.estimators.noise_aware import NoiseAware
from tacit.linalg import packed_size
from tacit.mechanisms.binary import closed_level
from tacit.policies.joint_linucb import JointLinUCB

#: Views that are watched at most. Later ones say less and less about the first row.
MOST_VIEWS = 32


def attacks(
    config: JointLinUCB, sampler: str = "double", *, plan: Plan | None = None, late: bool = True
) -> tuple[Attack, ...]:
    """On every released statistic, and on later choices between +v and −v alone. `late`: see `begun`; `plan`: of a
    policy that has this one's mechanism and plays otherwise."""
    if config.arms is not None:
        return arms.attacks(config, sampler)
    plan = config.planned(sampler) if plan is None else plan
    releases = release_rounds(config, plan)
    first, second = _rows(config)
    if late:
        plan, releases = begun(plan, releases, 1 if config.one_row_per_segment else config.person_rounds or 1)
    rounds, places = int(releases[-1]) + 1, _places(config, releases)
    whose = "the first row" if len(places) == 1 else f"{len(places)} rows of one person"
    told = f"{whose} replaced by orthogonal ones (both beyond the bounds), all others near zero"

    def scripts(probe: bool) -> tuple[Script, Script]:
        return tuple(_script(config, row, places, rounds, probe) for row in (first, second))  # type: ignore[return-value]

    # A view of a noise-aware width cannot be turned back into what was published, which is what is watched then.
    see, shown = _projected(config, first, second), plan
    if isinstance(plan.params.estimate, NoiseAware):
        see, shown = _published(config, first, second), arms.unfitted(plan)
    released = Scripted(shown, scripts(False), see, watched=releases)
    # The choice after a view is that of the round after its release; the last view is asked in one round more.
    chosen = Scripted(
        plan,
        tuple(_probed(script, releases + 1) for script in scripts(True)),  # type: ignore[arg-type]
        _signs,
        asked=releases + 1,
    )
    return (Attack(RELEASED, released, told), Attack(ACTIONS, chosen, told, smooth=False))


def viewed(config: JointLinUCB, sampler: str) -> Attack:
    """The first of them by what a learner shows: its views."""
    if config.arms is not None:
        return arms.viewed(config, sampler)
    plan, attack = config.planned(sampler), attacks(config, sampler)[0]
    played: Any = attack.sampler
    shown = replace(plan, vault=played.plan.vault)
    return replace(attack, sampler=replace(played, plan=shown, see=_projected(config, *_rows(config))))


def twins(config: JointLinUCB, sampler: str = "double") -> tuple[Twin, ...]:
    """What must be caught."""
    if config.arms is not None:
        return arms.twins(config, sampler)
    unclipped = Twin(
        "clipping off",
        "rows count with the length they come with",
        spoiled(
            params=lambda params: params._replace(
                row=params.row._replace(action_norm=1e9, reward_low=-1e9, reward_high=1e9)
            )
        ),
    )
    if config.calibration == "published":
        # Its noise is many times too large, or guaranteed by theorem only: less of it need not break the claim.
        return (
            unclipped,
            Twin("first node without noise", "the node closed by row 1 is released as it is", _bare_node),
        )
    found = [
        unclipped,
        Twin("noise halved", "half the standard deviation", with_noise(0.5, _scaled)),
        Twin(
            "add/remove sensitivity",
            "noise for one row more or less, not for one replaced",
            with_noise(math.sqrt(0.5), _scaled),
        ),
    ]
    # On a lattice the secret sums are coded before they are noised: a view without memory has no meaning there.
    if config.schedule in ("tree", "window") or sampler == "secure":
        found.append(Twin("noise redrawn", "every view is drawn three times", spoiled(reads=3)))
    else:
        found.append(Twin("noise redrawn", "every view has fresh noise of its own", spoiled(params=_fresh)))
    if config.schedule == "tree":
        found.append(Twin("a level without noise", "nodes of the lowest level are released as they are", _bare_level))
    return tuple(found)


def _signs(seen: Seen) -> Floats:
    found: Floats = 2.0 * seen.arms.astype(np.float64) - 1.0
    return found


def release_rounds(config: JointLinUCB, plan: Plan) -> Ints:
    """The rounds, counted from 0, after which the first views are released."""
    schedule = plan.params.schedule
    if isinstance(schedule, EveryRow):
        return np.arange(min(schedule.horizon - 1, MOST_VIEWS), dtype=np.int64)
    found: Ints = schedule.times[:MOST_VIEWS] - 1
    return found[found < (plan.limit or found[-1] + 1)]


def begun(plan: Plan, releases: Ints, rows: int) -> tuple[Plan, Ints]:
    """The plan and its releases for runs that begin so many rows before the first release, everybody before them having
    come with zeros. Nothing has been drawn or shown by then, so nothing is left out but time."""
    skipped = int(releases[0]) + 1 - rows
    if skipped <= 0:
        return plan, releases

    def vault() -> Any:
        found = plan.vault()
        found.counters[ROWS] = skipped
        return found

    return replace(plan, vault=vault), releases - skipped


def _rows(config: JointLinUCB) -> tuple[tuple[Floats, float], tuple[Floats, float]]:
    """(x, y) and (x′, −y) with <x, x′> = (ζy)²: orthogonal in (x, ζy), which is as different as two rows can be."""
    length, reward = config.action_norm, config.reward_reach
    cosine = (config.reward_scale * reward / length) ** 2
    one, two = np.zeros(config.dim), np.zeros(config.dim)
    one[0] = two[0] = length
    if config.dim > 1:
        two[0], two[1] = length * cosine, length * math.sqrt(max(0.0, 1 - cosine**2))
    return (BEYOND * one, BEYOND * reward), (BEYOND * two, -BEYOND * reward)


def _places(config: JointLinUCB, releases: Ints) -> Ints:
    """Which rows are replaced: the first, or all of a person's, as close together as they may be."""
    count = config.person_rounds or 1
    if config.one_row_per_segment:
        starts: Ints = np.concatenate([[0], releases + 1])
        within: Ints = starts[starts <= releases[-1]][:count]
        return within
    return np.arange(min(count, int(releases[-1]) + 1), dtype=np.int64)


def _script(config: JointLinUCB, row: tuple[Floats, float], places: Ints, rounds: int, probe: bool) -> Script:
    """The rows in their places, and others near zero: the same action twice, or {+v, −v} along the row."""
    offers, rewards = np.zeros((rounds, 2, config.dim)), np.zeros(rounds)
    offers[:, :, 0] = SMALL * config.action_norm
    if probe:
        offers[:, 0, 0] *= -1
    offers[places], rewards[places] = row[0], row[1]
    return Script(offers, rewards, np.zeros(rounds, np.int64))


def _probed(script: Script, asked: Ints) -> Script:
    """One round more, for a choice after the last view; the policy chooses in the rounds that are asked alone."""
    forced = np.zeros(len(script.rewards) + 1, np.int64)
    forced[asked] = -1
    return Script(np.concatenate([script.offers, script.offers[-1:]]), np.append(script.rewards, 0.0), forced)


def _projected(
    config: JointLinUCB, first: tuple[Floats, float], second: tuple[Floats, float]
) -> Callable[[Seen], Floats]:
    """Of every view its noised sums V and u, projected on how the two rows differ: one number.

    With symmetric Gaussian noise, variance 2s² on the diagonal and s² beside it, nothing else in a view tells them
    apart. V = UᵀU and u = Vθ̃ are read off the view; a repaired view has lost something, and that is as it is.
    """
    gram, cross = _weights(config, first, second)

    def see(seen: Seen) -> Floats:
        factor, theta = seen.of("factor"), seen.of("theta")
        matrix = np.einsum("...ji,...jk->...ik", factor, factor)
        vector = config.reward_scale * np.einsum("...ij,...j->...i", matrix, theta)
        found: Floats = np.einsum("...ij,ij->...", matrix, gram) + vector @ cross
        return found

    return see


def _published(
    config: JointLinUCB, first: tuple[Floats, float], second: tuple[Floats, float]
) -> Callable[[Seen], Floats]:
    """The same of the sums as they were published."""
    gram, cross = _weights(config, first, second)
    weights = np.append(gram.T[np.triu_indices(config.dim)], cross)

    def see(seen: Seen) -> Floats:
        found: Floats = seen.of("published") @ weights
        return found

    return see


def _weights(config: JointLinUCB, first: tuple[Floats, float], second: tuple[Floats, float]) -> tuple[Floats, Floats]:
    """How the two rows differ, of the matrix below its diagonal and of the vector: every off-diagonal pair counts once
    and the diagonal by half, as their noise asks for."""
    vectors = [np.append(x / BEYOND, config.reward_scale * y / BEYOND) for x, y in (first, second)]
    difference = np.outer(vectors[1], vectors[1]) - np.outer(vectors[0], vectors[0])
    weights = np.tril(difference, -1) + 0.5 * np.diag(np.diag(difference))
    return weights[: config.dim, : config.dim], weights[config.dim, : config.dim]


def _scaled(factor: float) -> Callable[[Any], Any]:
    return lambda params: params._replace(counter=params.counter._replace(scale=factor * params.counter.scale))


def _fresh(params: Any) -> Any:
    """Buffers that forget everything at each step: the noise of a view is one fresh draw."""
    buffers = params.counter
    weights = np.zeros_like(buffers.weights)
    weights[0] = 1.0
    return params._replace(counter=buffers._replace(forget=np.ones_like(buffers.forget), weights=weights, floor=0.0))


def _bare_level(attack: Attack) -> Attack:
    """Rows that close a node of level 0, every other one, draw numbers that count for nothing."""
    sampler: Any = attack.sampler
    rounds = len(sampler.scripts[0].rewards)
    size = _row_size(sampler)
    levels = np.array([closed_level(row) for row in range(1, rounds + 1)])
    return _with_factors(attack, np.repeat(np.where(levels == 0, 0.0, 1.0), size))


def _bare_node(attack: Attack) -> Attack:
    """What is drawn for the first view counts for nothing."""
    sampler: Any = attack.sampler
    counter = sampler.plan.params.counter
    draws = counter.slots + 1 if isinstance(counter, Masks) else 1  # a mask for each slot beside the node's own
    rounds = len(sampler.scripts[0].rewards)
    factors = np.ones((rounds + draws) * _row_size(sampler))
    factors[: draws * _row_size(sampler)] = 0.0
    return _with_factors(attack, factors)


def _row_size(sampler: Scripted) -> int:
    dim = sampler.scripts[0].offers.shape[2]
    return int(packed_size(dim)) + int(dim)


def _with_factors(attack: Attack, factors: Floats) -> Attack:
    sampler: Any = attack.sampler
    rounds, _, dim = sampler.scripts[0].offers.shape
    # Proposals that are rejected take a few more than planned, of both kinds.
    spare = np.ones(1000)
    return replace(
        attack,
        sampler=replace(sampler, factors=np.concatenate([factors, spare]), uniforms=(rounds + 40) * (dim + 8) + 1000),
    )


def small(kind: type, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Eight rounds, or eight views; with arms the first views of any number."""
    if given.get("arms"):
        return {"dim": 2, **({"horizon": 1000} if given.get("releases") in ("tree", "toeplitz") else {})}
    every_round = given.get("releases") in ("tree", "toeplitz") or given.get("calibration") == "published"
    if every_round:
        return {"dim": 2, "horizon": 8, **({"releases": "tree"} if "releases" not in given else {})}
    return {"dim": 2, "views": 8}


def forms() -> tuple[JointLinUCB, ...]:
    """Every schedule and every calibration, for a round and for a person."""

    def form(**options: Any) -> JointLinUCB:
        promised = {"epsilon": 1.0, "delta": 1e-5, **options}
        return JointLinUCB(**{**small(JointLinUCB, promised), **promised})

    return (
        form(),
        form(views=4, action_norm=2.0, reward_low=-1.0, reward_high=1.0),
        form(views=4, person_rounds=2),
        form(views=4, width="theory"),
        form(window=3),
        form(releases="toeplitz"),
        form(releases="tree"),
        form(releases="tree", epsilon=10.0),
        form(releases="tree", person_rounds=2),
        form(arms=3),
        form(arms=2, epsilon=10.0, reward_weight=2.0, ratio=1.5, person_rounds=2),
        form(arms=2, releases="geometric", views=8, preparation="none", width="theory"),
        form(calibration="published"),
        form(calibration="published", noise="wishart"),
        form(calibration="published", noise="wishart-unshifted", delta=0.1),
    )


FAMILY = Family((JointLinUCB,), attacks, twins, forms, small)
