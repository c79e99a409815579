"""Attacks on linear policies that protect rewards: one reward replaced, every context fixed and public.

What is secret is b = Σ x·r alone. It is read off a view, as Vθ̃ with the public V, whenever it has been released; the
reward is in every release, and the difference points along its own context.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tacit._types import Floats, Ints
from tacit.auditing.attack import ACTIONS, BEYOND, RELEASED, Attack, Twin
from tacit.auditing.attacks import arms, joint
from tacit.auditing.attacks.episodes import UNBOUNDED, extremes, laplace_score, reward_twins
from tacit.auditing.family import Family
from tacit.auditing.scores import given
from tacit.auditing.script import Script, Scripted, Seen
from tacit.core.plan import Plan
from tacit.errors import BadInput
from tacit.mechanisms.binary import closed_level
from tacit.policies.linpriv import LinPriv
from tacit.policies.oful import RenyiOFUL
from tacit.policies.switching import Switching
from tacit.privacy.scope import Protects

#: Releases that are watched at most. Later ones say less and less about the first reward.
MOST_VIEWS = 16
#: Releases that are enough: they hold most of what all of them tell.
_FEW_VIEWS = 4
#: Rounds of a run at most.
MOST_ROUNDS = 1024
#: Rows of a tree at most: the nodes that hold the first reward end at rows 1, 2, 4, …
MOST_ROWS = 64


def attacks(config: Any, sampler: str = "double") -> tuple[Attack, ...]:
    """On every released sum, and on later choices between +x and −x alone."""
    plan, count = config.planned(sampler), config.person_rounds or 1
    if _joint(config):
        return joint.attacks(config.as_joint(), plan=plan)
    if _by_arm(config):
        return arms.attacks(config, sampler)
    released = _on_trees if isinstance(config, LinPriv) else _on_sums
    whose = "the first reward" if count == 1 else f"the first {count} rewards, of one person,"
    told = f"{whose} replaced, from below the interval to above it; all others and all contexts fixed"
    return (released(config, plan, told), *_on_choices(config, plan, told))


def twins(config: Any, sampler: str = "double") -> tuple[Twin, ...]:
    """What must be caught."""
    if _joint(config):
        return joint.twins(config.as_joint(), sampler)
    if _by_arm(config):
        return arms.twins(config, sampler)
    found = reward_twins(config, _scaled, _unclipped)
    if isinstance(config, RenyiOFUL):
        return (*found, Twin("first release without noise", "its draw is zero, here and in later releases", _bare_draw))
    if config.noise_kind == "gaussian":
        return (
            *found,
            Twin("a level without noise", "nodes of the lowest level are released as they are", _bare_level),
        )
    return found


def _joint(config: Any) -> bool:
    """Contexts are protected too: then it is the mechanism of `JointLinUCB`, and attacked as that is."""
    return isinstance(config, RenyiOFUL) and config.protects_contexts


def _by_arm(config: Any) -> bool:
    """Arms share a context: then it is the machine of `JointLinUCB` with arms, whose noise is on rewards alone."""
    return isinstance(config, RenyiOFUL) and config.arms is not None


# What is learned ------------------------------------------------------------------------------------------------------


def _neutral(config: Any) -> float:
    """What everybody else earns: the reward that adds least to a sum."""
    return float(min(max(0.0, config.reward_low), config.reward_high))


def _scripts(config: Any, rows: Floats, rewards: Floats, probed: Ints) -> tuple[Script, Script]:
    """`rows` offered twice, in the rounds that are `probed` as ±. Those whose rewards are replaced are longer than the
    bound, in both scripts alike."""
    count = config.person_rounds or 1
    offers = np.repeat(rows[:, None, :], 2, axis=1)
    offers[:count] *= BEYOND
    offers[probed, 0] *= -1
    found = []
    for reward in extremes(config):
        paid = rewards.copy()
        paid[:count] = reward
        found.append(Script(offers, paid))
    return found[0], found[1]


def _clipped_sums(config: Any, rows: Floats, rewards: Floats, reward: float) -> Floats:
    """x·r of every row, as it counts where the replaced rewards are `reward`."""
    paid = rewards.copy()
    paid[: config.person_rounds or 1] = reward
    found: Floats = rows * paid[:, None]
    return found


# Sums that are released rarely ----------------------------------------------------------------------------------------


def _on_sums(config: RenyiOFUL, plan: Plan, told: str) -> Attack:
    """`RenyiOFUL`: b along the first action, after every release. Other actions go round the basis, as V then grows
    fastest: of the releases that the noise is made for, as many as there can be."""
    rows = _round_the_basis(config)
    releases = _releases(plan, rows)
    if len(releases) == 0:
        raise BadInput(
            f"Expected a release within {len(rows):,} rounds, got none with ridge={plan.params.ridge:g} and "
            f"switch={config.growth:g}: there is nothing to attack. Use a horizon of "
            f"{MOST_ROUNDS:,}, or a smaller ridge or switch."
        )
    rounds = int(releases[-1]) + 1
    scripts = _scripts(config, rows[:rounds], np.full(rounds, _neutral(config)), np.zeros(0, np.int64))

    def see(seen: Seen) -> Floats:
        factor, theta = seen.of("factor"), seen.of("theta")
        found: Floats = np.einsum("...j,...jk,...k->...", factor[..., 0], factor, theta)
        return found

    return Attack(RELEASED, Scripted(plan, scripts, see, watched=releases), told)


def _round_the_basis(config: RenyiOFUL) -> Floats:
    rounds, count = min(config.horizon, MOST_ROUNDS), config.person_rounds or 1
    turns = np.arange(rounds) % config.dim
    turns[:count] = 0
    rows: Floats = config.action_norm * np.eye(config.dim)[turns]
    return rows


def _releases(plan: Plan, rows: Floats) -> Ints:
    """The first rounds after which b is released: they follow from the actions alone."""
    params = plan.params
    gram = params.ridge * np.eye(rows.shape[1])
    last, found = np.linalg.slogdet(gram)[1], []
    for place, row in enumerate(rows):
        gram += np.outer(row, row)
        size = np.linalg.slogdet(gram)[1]
        if size - last > np.log(params.growth):
            found.append(place)
            last = size
    return np.array(found[: min(MOST_VIEWS, params.most)], np.int64)


# Trees ----------------------------------------------------------------------------------------------------------------


def _on_trees(config: LinPriv, plan: Plan, told: str) -> Attack:
    """`LinPriv`: the nodes that hold the rewards, as differences of released sums of arm 0."""
    rows, ends = _contexts(config), _ends(config)
    rounds = int(ends[-1])
    rewards = np.full(rounds, _neutral(config))
    scripts = _scripts(config, np.repeat(rows, rounds, axis=0), rewards, np.zeros(0, np.int64))
    laplace, size = config.noise_kind == "laplace", config.context_dim
    # Node (j − lowbit(j), j] is what is released after row j less what was after row j − lowbit(j).
    starts = ends - (ends & -ends)
    places = np.searchsorted(ends, starts)

    def see(seen: Seen) -> Floats:
        solved = np.linalg.solve(seen.of("inverse")[:, :, 0], seen.of("theta")[:, :, 0, :, None])[..., 0]
        nodes = solved - np.where(starts[:, None] > 0, solved[:, places], 0.0)
        found = nodes.reshape(len(nodes), -1) if laplace else nodes.sum(axis=2)
        return found.astype(np.float64, copy=False)

    sampler = Scripted(plan, scripts, see, watched=ends - 1)
    if not laplace:
        return Attack(RELEASED, sampler, told)
    context = np.repeat(rows[:, :size], rounds, axis=0)
    shifts = []
    for reward in (config.reward_low, config.reward_high):
        sums = np.cumsum(np.pad(_clipped_sums(config, context, rewards, reward), ((1, 0), (0, 0))), axis=0)
        shifts.append((sums[ends] - sums[starts]).ravel())
    score = laplace_score(shifts[0], shifts[1], plan.noise_scale or 1.0)
    return Attack(RELEASED, sampler, told, fit=given(score), smooth=False)


def _contexts(config: LinPriv) -> Floats:
    """One action, of arm 0: all features alike, which under a bound on its length is the largest sum of sizes."""
    row = np.zeros((1, config.dim))
    row[0, : config.context_dim] = config.action_norm / np.sqrt(config.context_dim)
    return row


def _ends(config: LinPriv) -> Ints:
    """Rows that close a node with replaced rewards in it: 1, …, k, and powers of two. The last row is not released."""
    count, last = config.person_rounds or 1, min(config.horizon - 1, MOST_ROWS)
    rows = np.arange(1, last + 1)
    found: Ints = rows[(rows <= count) | (rows & (rows - 1) == 0)]
    return found


# What the outside world sees ------------------------------------------------------------------------------------------


def _on_choices(config: Any, plan: Plan, told: str) -> tuple[Attack, ...]:
    """After every release, {+x, −x}: the sign of <θ̃, x>, since both are equally long. What was replaced is followed by
    as many rows −x that pay the middle of the interval, if that is not zero: then the sign is a coin's toss.
    Nothing, if the run is over before there is a choice to look at."""
    count = config.person_rounds or 1
    middle = 0.5 * (config.reward_low + config.reward_high)
    trees = isinstance(config, LinPriv)
    rounds = min(config.horizon, MOST_ROWS if trees else MOST_ROUNDS)
    row = _contexts(config) if trees else config.action_norm * np.eye(1, config.dim)
    rows, rewards = np.repeat(row, rounds, axis=0), np.full(rounds, _neutral(config))
    if middle != 0:
        rows[count : 2 * count] *= -1
        rewards[count : 2 * count] = middle
    releases = np.arange(rounds - 1) if trees else _releases(plan, rows)
    fixed = 2 * count if middle != 0 else count
    asked = releases + 1
    asked = asked[(asked >= fixed) & (asked < rounds)]
    if len(asked) == 0:
        return ()
    rounds = int(asked[-1]) + 1
    scripts = _scripts(config, rows[:rounds], rewards[:rounds], np.arange(fixed, rounds))

    def see(seen: Seen) -> Floats:
        found: Floats = 2.0 * seen.arms.astype(np.float64) - 1.0
        return found

    return (Attack(ACTIONS, Scripted(plan, scripts, see, asked=asked), told, smooth=False),)


# Twins ----------------------------------------------------------------------------------------------------------------


def _scaled(factor: float) -> Callable[[Any], Any]:
    def change(params: Any) -> Any:
        if isinstance(params, Switching):
            return params._replace(counter=params.counter._replace(scale=factor * params.counter.scale))
        return params._replace(scale=factor * params.scale)

    return change


def _unclipped(params: Any) -> Any:
    bounds = {"action_norm": UNBOUNDED, "reward_low": -UNBOUNDED, "reward_high": UNBOUNDED}
    if isinstance(params, Switching):
        return params._replace(row=params.row._replace(**bounds))
    return params._replace(**bounds)


def _bare_draw(attack: Attack) -> Attack:
    """The first d numbers that are drawn count for nothing."""
    sampler: Any = attack.sampler
    dim = sampler.scripts[0].offers.shape[2]
    factors = np.ones(dim * sampler.plan.params.most)
    factors[:dim] = 0.0
    return replace(attack, sampler=replace(sampler, factors=factors))


def _bare_level(attack: Attack) -> Attack:
    """Rows that close a node of level 0, every other one, draw numbers that count for nothing."""
    sampler: Any = attack.sampler
    levels = [closed_level(row) for row in range(1, len(sampler.scripts[0].rewards) + 1)]
    factors = np.repeat(np.where(np.array(levels) == 0, 0.0, 1.0), sampler.plan.params.size)
    return replace(attack, sampler=replace(sampler, factors=factors))


# Configurations -------------------------------------------------------------------------------------------------------


def small(kind: type, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """A few rounds; sums that are released after every one of them, or for a person after all of theirs. Of a whole
    configuration the horizon alone can be shorter."""
    count = given.get("person_rounds") or 1
    if kind is LinPriv:
        return {"dim": 2, "arms": 2, "horizon": 8 * count}
    if given.get("protects") == Protects.EVERYTHING:
        return {"dim": 2, "horizon": 8 * count}
    if given.get("arms") is not None:  # the first releases of any number are watched
        return {} if "dim" in given and "horizon" in given else {"dim": 2, "horizon": 1000}
    if "dim" in given and "horizon" in given:
        return {"horizon": _telling_horizon(RenyiOFUL(**given))}
    ridge = count * given.get("action_norm", 1.0) ** 2
    if count == 1:
        return {"dim": 2, "horizon": 4, "ridge": ridge, "switch": 0.01}
    return {"dim": 2, "horizon": 8 * count, "ridge": ridge, "switch": 1.0}


def _telling_horizon(config: RenyiOFUL) -> int:
    """The shortest in which a few sums are released, or all that there can be; or the longest that is played."""
    horizon = 8 * (config.person_rounds or 1)
    while horizon < min(config.horizon, MOST_ROUNDS):
        shorter = replace(config, horizon=horizon)
        plan = shorter.plan()
        if len(_releases(plan, _round_the_basis(shorter))) >= min(_FEW_VIEWS, plan.params.most):
            return horizon
        horizon *= 2
    return min(config.horizon, MOST_ROUNDS)


def forms() -> tuple[Any, ...]:
    """Every kind of noise, every currency, for a round and for a person."""

    def form(kind: type, **promised: Any) -> Any:
        return kind(**{**small(kind, promised), **promised})

    point = {"epsilon": 1.0, "delta": 1e-5}
    return (
        form(RenyiOFUL, **point),
        form(RenyiOFUL, **point, noise="sum", reward_low=0.0),
        form(RenyiOFUL, rho=0.05, person_rounds=2),
        form(RenyiOFUL, alpha=2.0, epsilon=0.1, calibration="published"),
        form(RenyiOFUL, **point, protects="contexts and rewards"),
        form(RenyiOFUL, **point, arms=3),
        form(RenyiOFUL, rho=0.05, arms=2, person_rounds=2),
        form(LinPriv, **point),
        form(LinPriv, **point, arms=1, reward_low=0.0),
        form(LinPriv, rho=0.05, person_rounds=2),
        form(LinPriv, epsilon=1.0),
        form(LinPriv, epsilon=1.0, person_rounds=2),
    )


FAMILY = Family((RenyiOFUL, LinPriv), attacks, twins, forms, small)
