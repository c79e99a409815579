"""Attacks on `JointLinUCB` whose arms share a context: the worst pair is of one arm, two arms come close, and
the centre is a release of its own. On `RenyiOFUL` with arms: contexts are public, and one reward is replaced.

What is watched is what is published, in the memory of the counter: noise-aware views cannot be turned back into it. All
releases are linear in the sums, so the best score of them together is linear as well (`scores.linear`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit.auditing.attack import ACTIONS, BEYOND, RELEASED, Attack, Twin
from tacit.auditing.script import Script, Scripted, Seen, spoiled, with_noise
from tacit.core.plan import Plan
from tacit.core.round import ROWS
from tacit.counters.counter import AtTimes
from tacit.errors import BadInput
from tacit.estimators.by_arm import fit_arms
from tacit.estimators.ridge import fit
from tacit.policies.joint_linucb import JointLinUCB
from tacit.privacy.scope import Protects

#: What is seen of two arms, and of the centre.
OF_TWO, OF_CENTRE = "released statistics, two arms", "released centre"
#: Releases that are watched at most: at a ratio of 1.1 all of them show 1.05 times as much as these.
_MOST, _SOME, _FEW = 12, 4, 2
#: By how much μ must be off for a twin to be found out in so many runs as twins have.
_PLAIN = 0.08


class Row(NamedTuple):
    """One row: which way its context points before it is prepared, its arm, its reward in units of the bound, and
    whether its features are as long as they may be, all along the first of them, or none."""

    way: Floats
    arm: int
    reward: float
    featured: bool = True


class _Unfitted(NamedTuple):
    """No estimate: nothing but what is published is looked at, and fitting it takes most of a run."""

    none: int = 0


@implements(fit_arms, _Unfitted)
@kernel
def _no_fit(estimate: _Unfitted, published: Floats, stage: int, view: Any) -> int:
    return 0


@implements(fit, _Unfitted)
@kernel
def _no_fit_of_one(estimate: _Unfitted, published: Floats, view: Any) -> int:
    view.stage[0] += 1
    return 0


def unfitted(plan: Plan) -> Plan:
    """The plan of a policy that publishes, and makes nothing of it."""
    return replace(plan, params=plan.params._replace(estimate=_Unfitted()))


def attacks(config: JointLinUCB, sampler: str = "double") -> tuple[Attack, ...]:
    """On the sums, of one arm and of two; on the centre; and on later choices alone."""
    plan, (first, second) = config.planned(sampler), worst_rows(config)
    found = [_on_sums(config, plan, first, second, RELEASED)]
    if not _public(config):
        found.append(_on_sums(config, plan, first, second._replace(arm=1), OF_TWO, _SOME))
    if _private_centre(config):
        found.append(_on_centre(config, plan))
    return (*found, _on_choices(config, plan, first, second))


def _public(config: Any) -> bool:
    """Whether contexts and arms are public: then one reward is replaced, and the centre is no secret."""
    return bool(config.protects is Protects.REWARDS)


def _private_centre(config: Any) -> bool:
    return bool(config.centre_rounds) and not _public(config)


def viewed(config: JointLinUCB, sampler: str) -> Attack:
    """The first of them by what a learner shows: of the first views the estimate of the arm, and the centre."""
    attack = _on_sums(config, config.planned(sampler), *worst_rows(config), RELEASED)
    played: Any = attack.sampler

    def see(seen: Seen) -> Floats:
        theta = seen.of("theta")[:, :, 0]
        numbers: Floats = theta.reshape(len(theta), -1)
        return numbers if _public(config) else np.concatenate([numbers, seen.of("centre")[:, 0]], axis=1)

    plan, last = config.planned(sampler), played.watched[:_FEW]
    shorter = tuple(Script(*(part[: last[-1] + 1] for part in script)) for script in played.scripts)
    return replace(
        attack,
        sampler=replace(played, plan=replace(plan, vault=played.plan.vault), scripts=shorter, see=see, watched=last),
    )


def twins(config: JointLinUCB, sampler: str = "double") -> tuple[Twin, ...]:
    """What must be caught."""
    plan, mu = config.planned(sampler), config.promise.mu
    shared, (first, second) = config.shared or 0, worst_rows(config)
    head = config.dim if _private_centre(config) else 0  # the numbers of the centre are drawn first
    # Where contexts are public vectors alone have noise.
    drawn = plan.draws.learn_normals if _public(config) else config.size
    size = drawn // config.blocks if _public(config) else linalg.block_size(config.block, shared)
    own_block = np.arange(drawn) >= size
    found = [
        Twin("clipping off", "rows count with the length they come with", spoiled(params=unclipped)),
        Twin("noise halved", "half the standard deviation", with_noise(0.5, _scaled)),
        Twin("noise redrawn", "every release is drawn three times", spoiled(reads=3)),
        Twin(
            "an arm without noise",
            "the block of one arm is released as it is",
            _bared(head, own_block),
        ),
    ]
    if _public(config):
        return tuple(found)
    weight = 2 * (config.reward_scale * config.reward_reach / config.action_norm) ** 2  # q
    one_row = math.sqrt((1 + weight) / 2) / (config.sensitivity / config.action_norm**2)
    two_arms = _apart(config, first, second._replace(arm=1)) / config.sensitivity
    says = "noise for one row more or less, not for one replaced"
    found.insert(2, Twin("add/remove sensitivity", says, with_noise(one_row, _scaled)))
    if shared:
        common = np.arange(config.size) < config.size - linalg.block_size(shared)
        beside = np.tile(_beside(config), config.blocks)
        found += [
            Twin(
                "a common part without noise",
                "what features make of rewards is released as it is",
                _bared(head, common),
            ),
            Twin(
                "ties without noise",
                "what contexts make with features is released as it is",
                _bared(head, np.append(~beside, np.ones(linalg.block_size(shared), bool))),
            ),
        ]
    if (_shown(plan) / two_arms - 1) * mu > _PLAIN:
        found.append(
            Twin(
                "sensitivity of two arms",
                "noise for rows of different arms, not for two of one",
                with_noise(two_arms, _scaled),
            )
        )
    if config.centre_rounds:
        bare = spoiled(factors=np.zeros(head))
        found.append(Twin("centre without noise", "it is released as it is", lambda _: bare(_on_centre(config, plan))))
        if not config.one_row_per_segment:  # whose price counts as many in both
            found.append(Twin("a row in both", "it is in the centre and in the sums", lambda _: _on_both(config, plan)))
    return tuple(found)


def _bared(head: int, noised: Any) -> Callable[[Attack], Attack]:
    """Releases in which only some numbers have noise."""
    return spoiled(factors=np.append(np.ones(head), np.tile(noised.astype(np.float64), _MOST)))


def _scaled(factor: float) -> Callable[[Any], Any]:
    def change(params: Any) -> Any:
        centre = params.centre
        if hasattr(centre, "scale"):
            centre = centre._replace(scale=factor * centre.scale)
        return params._replace(counter=params.counter._replace(scale=factor * params.counter.scale), centre=centre)

    return change


def unclipped(params: Any) -> Any:
    return params._replace(
        row=params.row._replace(reward_low=-1e9, reward_high=1e9),
        preparation=params.preparation._replace(normalise=0.0, length=1e9),
    )


# Rows -----------------------------------------------------------------------------------------------------------------


def worst_rows(config: JointLinUCB) -> tuple[Row, Row]:
    """Of one arm, with opposite rewards, rows at a cosine as close to q/2 as the constant and equal features let them:
    counters/sensitivity.md. In one public context where rewards alone are replaced."""
    if _public(config):
        way = np.eye(config.dim)[0]
        return Row(way, 0, 1.0), Row(way, 0, -1.0)
    wanted = min(1.0, (config.reward_scale * config.reward_reach / config.action_norm) ** 2)
    features = 0.0 if config.shared is None else config.prepared.shared**2
    constant = features + (1 - features) * config.prepared.constant**2
    cosine = max(-1.0, (wanted - constant) / (1 - constant))
    one, two = np.zeros(config.dim), np.zeros(config.dim)
    one[0] = 1.0
    if config.dim > 1:
        two[0], two[1] = cosine, math.sqrt(1 - cosine**2)
    else:
        two[0] = max((1.0, -1.0), key=lambda way: _apart(config, Row(one, 0, 1.0), Row(np.array([way]), 0, -1.0)))
    return Row(one, 0, 1.0), Row(two, 0, -1.0)


def _apart(config: JointLinUCB, first: Row, second: Row) -> float:
    """How far two rows move the sums, in units of the noise."""
    difference = image(config, second) - image(config, first)
    return float(np.sqrt((difference**2 * unit_of(config)).sum()))


def image(config: JointLinUCB, row: Row) -> Floats:
    """What a row adds to the sums of all arms, with nothing taken off its context."""
    length, share, shared = config.action_norm, config.prepared.constant, config.shared or 0
    z, u = row.way * length * math.sqrt(1 - share**2), np.zeros(shared)
    if share:
        z = np.append(z, share * length)
    if shared:
        z *= math.sqrt(1 - config.prepared.shared**2)
        u[0] = config.prepared.shared * length * row.featured
    size = linalg.block_size(config.block, shared)
    found = np.zeros(config.size)
    reward = config.reward_scale * row.reward * config.reward_reach
    above = np.triu_indices(len(z), 0, len(z) + shared)
    found[row.arm * size : (row.arm + 1) * size] = np.append(np.outer(z, np.append(z, u))[above], reward * z)
    found[config.size - linalg.block_size(shared) :] = np.append(np.outer(u, u)[np.triu_indices(shared)], reward * u)
    return found


def unit_of(config: JointLinUCB) -> Floats:
    """One over the variance of each number, in units of s²: half on diagonals."""

    def block(dim: int, beside: int) -> Floats:
        above = np.where(np.equal(*np.triu_indices(dim, 0, dim + beside)), 0.5, 1.0)
        return np.append(above, np.ones(dim))

    shared = config.shared or 0
    return np.append(np.tile(block(config.block, shared), config.blocks), block(shared, 0))


def _beside(config: JointLinUCB) -> Any:
    """Which numbers of an arm's block stand beside its matrix."""
    columns = np.triu_indices(config.block, 0, config.block + (config.shared or 0))[1]
    return np.append(columns >= config.block, np.zeros(config.block, bool))


# Scripts --------------------------------------------------------------------------------------------------------------


class _Stage(NamedTuple):
    """Where the runs begin and which of their rounds count."""

    plan: Plan  # whose vault has rows that have come before
    releases: Ints  # rounds of a run after which sums are released
    begins: int  # the first round of a run whose row is in the sums
    rounds: int


def _stage(config: JointLinUCB, plan: Plan, most: int) -> _Stage:
    """From the last row of the centre on; or, without one, from the last rows before the first release. Nothing has
    been drawn or shown before, and all who came before came with rows that add nothing."""
    centre, schedule = config.centre_rounds, plan.params.schedule
    if isinstance(schedule, AtTimes):
        times = schedule.times[: min(most, _telling(plan))]
    else:
        times = centre + 1 + np.arange(min(most, schedule.horizon - 1 - centre), dtype=np.int64)
    times = times[times <= (plan.limit or times[-1])]
    if len(times) == 0:
        raise BadInput(
            f"Expected a release within {plan.limit:,} rounds, got none: there is nothing to attack. Use a longer "
            "horizon, or a centre of fewer rounds."
        )
    skipped = centre - 1 if centre else int(times[0]) - min(config.person_rounds or 1, int(times[0]))
    return _Stage(begun(plan, skipped), times - 1 - skipped, 1 if centre else 0, int(times[-1]) - skipped)


def _telling(plan: Plan) -> int:
    """How many releases say something of a row: of discounted sums, until a fiftieth of its square is left."""
    keep = getattr(plan.params.counter, "keep", None)
    return _MOST if keep is None else min(_MOST, math.ceil(math.log(0.02) / (2 * math.log(keep))))


def _shown(plan: Plan) -> float:
    """The share of μ that can be seen in them: of correlated noise about so much."""
    keep = getattr(plan.params.counter, "keep", None)
    return 0.9 if keep is None else math.sqrt(1 - keep ** (2 * _telling(plan)))


def begun(plan: Plan, skipped: int) -> Plan:
    """The plan for runs before which so many rows have come."""

    def vault() -> Any:
        found = plan.vault()
        found.counters[ROWS] = skipped
        return found

    return replace(plan, vault=vault)


def _places(config: JointLinUCB, stage: _Stage) -> Ints:
    """Which rows are replaced: the first in the sums, or all of a person's, as close together as they may be."""
    count = config.person_rounds or 1
    if config.one_row_per_segment:
        starts = np.concatenate([[stage.begins], stage.releases + 1])
        within: Ints = starts[starts < stage.rounds][:count]
        return within
    return np.arange(stage.begins, min(stage.begins + count, stage.rounds), dtype=np.int64)


def script_of(config: JointLinUCB, rounds: int, rows: dict[int, Row]) -> Script:
    """These rows in their places, and others that add nothing."""
    shared, behind = config.shared or 0, config.dim + config.blocks
    offers, forced = np.zeros((rounds, 1, behind + config.blocks * shared)), np.full(rounds, config.blocks, np.int64)
    offers[:, :, config.dim : behind] = 1.0
    rewards = np.full(rounds, config.reward_middle)
    for place, row in rows.items():
        offers[place, 0, : config.dim] = context(config, row.way)
        forced[place] = row.arm
        if shared:
            offers[place, 0, behind + row.arm * shared] = BEYOND * config.action_norm * row.featured
        rewards[place] += BEYOND * row.reward * config.reward_reach
    return Script(offers, rewards, forced)


def context(config: JointLinUCB, way: Floats) -> Floats:
    """A context that is prepared to point this way: far beyond the bound, unless features have bounds of their own."""
    steps = config.prepared.steps(config.dim, config.action_norm)
    far = 1.0 / np.abs(way).max() if steps.bounded else BEYOND * config.action_norm
    found: Floats = steps.middle + far * way / steps.stretch
    return found


# Attacks --------------------------------------------------------------------------------------------------------------


def _on_sums(config: JointLinUCB, plan: Plan, first: Row, second: Row, observed: str, most: int = _MOST) -> Attack:
    stage = _stage(config, plan, most)
    places = _places(config, stage).tolist()
    weights = (image(config, second) - image(config, first)) * unit_of(config)
    bare = unfitted(stage.plan)

    def see(seen: Seen) -> Floats:
        found: Floats = seen.of("published") @ weights
        return found

    scripts = tuple(script_of(config, stage.rounds, dict.fromkeys(places, row)) for row in (first, second))
    whose = "a row" if len(places) == 1 else f"{len(places)} rows of one person"
    arms = "of one arm" if first.arm == second.arm else "of another arm"
    told = f"{whose} replaced by the furthest {arms}, with opposite rewards (all beyond the bounds), others nothing"
    if _public(config):
        told = f"the rewards of {whose} replaced, from above the interval to below it; all contexts and arms fixed"
    return Attack(observed, _played(bare, scripts, see, stage.releases), told)


def _on_centre(config: JointLinUCB, plan: Plan) -> Attack:
    """Rows of the first rounds, pointing the other way."""
    count = min(1 if config.one_row_per_segment else config.person_rounds or 1, config.centre_rounds)
    way = np.eye(config.dim)[0]
    scripts = tuple(
        script_of(config, count, dict.fromkeys(range(count), Row(sign * way, 0, 0.0))) for sign in (1.0, -1.0)
    )

    def see(seen: Seen) -> Floats:
        return seen.of("centre")[:, :, 0]

    whose = "a row" if count == 1 else f"{count} rows of one person"
    told = f"{whose} of the first {config.centre_rounds:,} rounds, pointing the other way (beyond the bounds)"
    started = begun(plan, config.centre_rounds - count)
    return Attack(OF_CENTRE, _played(started, scripts, see, np.array([count - 1])), told)


def _on_both(config: JointLinUCB, plan: Plan) -> Attack:
    """For a twin: a row, or all of a person's, is learned twice, last in the centre and first in the sums. Contexts
    that point in opposite ways, with equal rewards, move both nearly as far as any do."""
    stage, count = _stage(config, plan, _MOST), min(config.person_rounds or 1, config.centre_rounds)
    way, more = np.eye(config.dim)[0], count - 1
    first, second = Row(way, 0, 1.0), Row(-way, 0, 1.0)
    weights = (image(config, second) - image(config, first)) * unit_of(config)
    scripts = tuple(
        script_of(config, stage.rounds + more, dict.fromkeys(range(2 * count), row)) for row in (first, second)
    )
    started = begun(plan, config.centre_rounds - count)
    bare = unfitted(started)

    def see(seen: Seen) -> Floats:
        return np.concatenate([seen.of("centre")[:, :1, 0], seen.of("published")[:, 1:] @ weights], axis=1)

    watched = np.append(more, stage.releases + more)
    return Attack(RELEASED, _played(bare, scripts, see, watched), "rows that are learned twice")


def _on_choices(config: JointLinUCB, plan: Plan, first: Row, second: Row) -> Attack:
    """The arm that is taken in the row's own context after each of the first releases."""
    stage = _stage(config, plan, _FEW)
    asked = stage.releases + 1
    places = _places(config, stage).tolist()

    def script(row: Row) -> Script:
        found = script_of(config, stage.rounds + 1, dict.fromkeys(places, row))
        assert found.forced is not None
        for place in asked.tolist():
            found.forced[place] = -1
            found.offers[place, 0, : config.dim] = context(config, first.way)
        return found

    def see(seen: Seen) -> Floats:
        found: Floats = (seen.arms == first.arm).astype(np.float64)
        return found

    told = "replaced as before; the arm is asked for in the context of that row after the first releases"
    sampler = _played(stage.plan, (script(first), script(second)), see, asked=asked)
    return Attack(ACTIONS, sampler, told, smooth=False)


def _played(plan: Plan, scripts: Any, see: Callable[[Seen], Floats], watched: Any = (), asked: Any = ()) -> Scripted:
    """With room for the noise of the centre, of as many releases, and of as many choices."""
    looks, draws = max(len(watched), len(asked)), plan.draws
    return Scripted(
        plan,
        scripts,
        see,
        watched=np.array(watched, np.int64),
        asked=np.array(asked, np.int64),
        uniforms=64,
        normals=looks * draws.choose_normals + (looks + 1) * draws.learn_normals,
    )
