"""Attacks on policies over a list that learn in episodes: one reward of the first episode replaced.

A reward lies in one total, and the total is released once. So that total is all there is to see of it, and everything
later, choices included, is computed from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tacit._types import Floats, Ints
from tacit.auditing.attack import ACTIONS, BEYOND, RELEASED, Attack, Twin
from tacit.auditing.family import Family
from tacit.auditing.scores import Score, given, table
from tacit.auditing.script import Script, Scripted, Seen, spoiled, with_noise
from tacit.core.plan import Plan
from tacit.core.round import ROWS
from tacit.errors import BadInput
from tacit.policies.episodic import Episodic, LaplaceUCB, RenyiUCB, SuccessiveElimination
from tacit.policies.episodic.verbs import FOREVER
from tacit.policies.gope import RenyiGOPE
from tacit.privacy.promise import PurePromise

#: What a bound is replaced by in the twin that does not clip.
UNBOUNDED = 1e9
#: Outcomes that are told apart at most when several choices in a row are looked at.
_MOST_CODES = 64
#: Halvings of the interval in which a choice tips: what is left is far below the noise.
_HALVINGS = 40
#: Add/remove sensitivity above this share of the interval is too close to the right one to be caught in 20,000 runs.
_CLOSE = 0.75
#: Draws of one value at most, for the twin that draws it again.
_MOST_READS = 30


class Opening(NamedTuple):
    """How a run begins, up to the first choice that a released total has a say in."""

    before: Ints  # (K,) rewards of each arm that have come already
    paid: Ints  # (T,) the arm that the reward of each round is for
    own: Ints  # (k,) the rounds whose rewards are replaced
    arm: int  # whose total they are in
    shown: int  # the round after which it is released

    @property
    def size(self) -> int:
        """Rewards in that total."""
        return int(self.before[self.arm]) + len(self.own)


def attacks(config: Any, sampler: str = "double") -> tuple[Attack, ...]:
    """On the total that holds the rewards, and on the arms that are played once it is known."""
    plan = config.planned(sampler)
    opening = _opening(config, plan)
    count = len(opening.own)
    whose = "one reward" if count == 1 else f"{count} rewards of one person"
    told = f"{whose} of the first episode replaced, from below the interval to above it; all others fixed"
    released = _on_the_total(config, plan, opening, told)
    return (released,) if len(opening.before) == 1 else (released, _on_choices(config, plan, opening, told))


def twins(config: Any, sampler: str = "double") -> tuple[Twin, ...]:
    """What must be caught."""

    def unclipped(params: Any) -> Any:
        # On a lattice rewards are counted from the lower end: it stays.
        low = params.reward_low if params.step > 0 else -UNBOUNDED
        return params._replace(reward_low=low, reward_high=UNBOUNDED)

    return reward_twins(config, lambda factor: lambda params: params._replace(scale=factor * params.scale), unclipped)


def reward_twins(
    config: Any, scaled: Callable[[float], Callable[[Any], Any]], unclipped: Callable[[Any], Any]
) -> tuple[Twin, ...]:
    """What must be caught wherever rewards are summed. `scaled` makes, of a factor, a change of params that multiplies
    the noise; `unclipped` changes params so that nothing is clipped."""
    enough = noise_to_spare(config)
    found = [
        Twin("clipping off", "rewards count as they come", spoiled(params=unclipped)),
        Twin("noise halved", "half the noise that the promise needs", with_noise(0.5 * enough, scaled)),
    ]
    # Drawn n times, noise is worth 1/√n of itself. The hair is for calibration, which stays a hair below the promise.
    reads = math.ceil(3 / enough**2 - 1e-3)
    if reads <= _MOST_READS:
        found.append(Twin("noise redrawn", f"every released value is drawn {reads} times", spoiled(reads=reads)))
    # A reward that is left out moves a sum by its size; one that is replaced, by the length of the interval.
    share = max(abs(config.reward_low), abs(config.reward_high)) / config.reward_range
    if share <= _CLOSE:
        says = "noise for one reward more or less, not for one replaced"
        found.append(Twin("add/remove sensitivity", says, with_noise(share * enough, scaled)))
    return tuple(found)


def noise_to_spare(config: Any) -> float:
    """The share of the noise that the promise needs: below 1 where published constants add more. Less than this breaks
    the promise."""
    promised, kept = config.promise.mu, config.guarantee.mu
    return 1.0 if promised is None or kept is None else min(1.0, kept / promised)


def extremes(config: Any) -> tuple[float, float]:
    """The two rewards, one below the interval and one above."""
    reach = BEYOND * config.reward_range
    return config.reward_low - reach, config.reward_high + reach


def laplace_score(first: Floats, second: Floats, scale: float) -> Score:
    """The exact log-likelihood ratio where `first` or `second` was released with Laplace noise, as often as it was."""

    def score(seen: Floats) -> Floats:
        times = seen.shape[1] // len(first)
        one, two = np.tile(first, times), np.tile(second, times)
        # Half of all runs have the same ratio, ±ε, but for rounding: it must not part them.
        found: Floats = np.round(np.sum(np.abs(seen - one) - np.abs(seen - two), axis=1) / scale, 9)
        return found

    return score


# The first total ------------------------------------------------------------------------------------------------------


def _opening(config: Any, plan: Plan) -> Opening:
    """Every arm of the first phase in its turn. Of an episode only what is replaced, or else the last reward, is still
    to come: a run is as short as it can be, and its noise is the same."""
    view, arms = plan.view(), len(plan.params.actions)
    count = config.person_rounds or 1
    lengths = view.lengths if hasattr(view, "lengths") else np.full(arms, view.length[0])
    arm = int(view.arm[0])
    if lengths[arm] == FOREVER:
        raise BadInput(
            f"Expected {config.slug} to release something, got {arms} arms, of which one is played for ever: there is "
            "nothing to attack. Use two arms or more."
        )
    if count > lengths[arm] and arms > 1:
        return _late(count, arms)
    count = min(count, int(lengths[arm]))
    before = np.maximum(lengths - 1, 0)
    before[arm] = lengths[arm] - count
    others = np.flatnonzero(lengths)
    paid = np.concatenate([np.full(count, arm), others[others != arm]])
    return Opening(before, paid, np.arange(count), arm, count - 1)


def _late(count: int, arms: int) -> Opening:
    """Where a first episode is one round long: all rewards of a person come for arm 1 before its turn, and are in its
    first total together. A learner takes rewards when they come."""
    paid = np.concatenate([np.full(count, 1), [0, 0], np.arange(2, arms)])
    return Opening(np.zeros(arms, np.int64), paid, np.arange(count), arm=1, shown=count + 1)


def _begun(plan: Plan, opening: Opening, levels: Floats) -> Plan:
    """The plan, of a run in which so many rewards of each arm have come, and paid its level. Nothing has been released
    of them, so no noise has been drawn."""

    step, low = plan.params.step, plan.params.reward_low

    def vault() -> Any:
        found = plan.vault()
        # On a lattice, whole steps above the least reward.
        found.sums[:] = opening.before * (levels if step == 0.0 else np.rint((levels - low) / step))
        found.sizes[:] = opening.before
        found.counters[ROWS] = opening.before.sum()
        return found

    return replace(plan, vault=vault)


def _script(plan: Plan, opening: Opening, rewards: Floats) -> Script:
    """The slate says nothing new to these policies. Where it is one action only, the reward is for that one, whichever
    arm is being played; after the opening it is for the arm that is played."""
    actions = plan.params.actions
    offers = np.empty((len(rewards), *actions.shape))
    offers[...] = actions
    known = opening.paid[: len(rewards)]
    offers[: len(known)] = actions[known][:, None, :]
    return Script(offers, rewards)


def _scripts(config: Any, plan: Plan, opening: Opening, rewards: Floats) -> tuple[Script, Script]:
    low, high = rewards.copy(), rewards.copy()
    low[opening.own], high[opening.own] = extremes(config)
    return _script(plan, opening, low), _script(plan, opening, high)


def _on_the_total(config: Any, plan: Plan, opening: Opening, told: str) -> Attack:
    """The total when it is released; and what has become of it a few episodes later, where those are short: if anything
    of it were released again, it would show there."""
    params, low = plan.params, float(config.reward_low)
    arms = len(params.actions)
    laplace = isinstance(config.promise, PurePromise)
    again = hasattr(params.rule, "forgetting") and not laplace
    rewards = np.full(opening.shown + 1 + (4 * arms if again else 0), low)
    sampler = Scripted(
        _begun(plan, opening, np.full(arms, low)),
        _scripts(config, plan, opening, rewards),
        _total(plan, opening),
        watched=np.unique([opening.shown, len(rewards) - 1]),
    )
    if not laplace:
        return Attack(RELEASED, sampler, told)
    least, count = opening.size * low, len(opening.own)
    score = laplace_score(np.array([least]), np.array([least + count * config.reward_range]), plan.noise_scale or 1.0)
    return Attack(RELEASED, sampler, told, fit=given(score), smooth=False)


def _total(plan: Plan, opening: Opening) -> Callable[[Seen], Floats]:
    """The released total of the arm; then what it has changed by since, one column for each further look.

    A phase that has ended leaves the mean alone, which is as good.
    """
    view = plan.view()
    alone = hasattr(view, "lengths") and np.count_nonzero(view.lengths) == 1
    name, unit = ("totals", 1.0) if hasattr(view, "totals") and not alone else ("means", float(opening.size))

    def see(seen: Seen) -> Floats:
        totals = unit * seen.of(name)[:, :, opening.arm]
        found: Floats = np.diff(totals, axis=1, prepend=0.0)
        return found

    return see


# What the outside world sees ------------------------------------------------------------------------------------------


def _on_choices(config: Any, plan: Plan, opening: Opening, told: str) -> Attack:
    """Which arms are played once all totals of the first phase are known. The other arms earn what makes the choice a
    coin's toss."""
    arms, start = len(plan.params.actions), len(opening.paid)
    # Episodes of one round are followed by others as short; after a phase the next choice stands for long.
    short = hasattr(plan.params.rule, "forgetting")
    asks = max(1, int(math.log(_MOST_CODES) / math.log(arms))) if short else 1
    level = _tipping_level(config, plan, opening)
    levels = _levels(config, opening, level)
    rewards = np.append(levels[opening.paid], np.full(asks, level))
    asked = np.arange(start, start + asks, dtype=np.int64)
    code = arms ** np.arange(asks)

    def see(seen: Seen) -> Floats:
        found: Floats = (seen.arms @ code)[:, None].astype(np.float64)
        return found

    sampler = Scripted(_begun(plan, opening, levels), _scripts(config, plan, opening, rewards), see, asked=asked)
    return Attack(ACTIONS, sampler, told, fit=table, smooth=False)


def _levels(config: Any, opening: Opening, level: float) -> Floats:
    """What each arm pays: the least where it is under attack, `level` elsewhere."""
    arms = np.arange(len(opening.before))
    return np.where(arms == opening.arm, float(config.reward_low), level)


def _arms(seen: Seen) -> Floats:
    return seen.arms.astype(np.float64)


def _tipping_level(config: Any, plan: Plan, opening: Opening) -> float:
    """What the other arms must earn so that, without noise and with the replaced rewards halfway between the two, the
    choice is about to leave the arm under attack; the end of the interval if nothing makes it."""
    silent = plan if plan.law is not None else replace(plan, params=plan.params._replace(scale=0.0))
    asked = np.array([len(opening.paid)])

    def leaves(level: float) -> bool:
        levels = _levels(config, opening, level)
        rewards = np.append(levels[opening.paid], level)
        rewards[opening.own] = 0.5 * (config.reward_low + config.reward_high)
        script, begun = _script(plan, opening, rewards), _begun(silent, opening, levels)
        chosen = Scripted(begun, (script, script), _arms, asked=asked, factors=np.zeros(len(rewards)))
        return bool(chosen.sample(0, 1, 0, ())[0, 0] != opening.arm)

    low, high = float(config.reward_low), float(config.reward_high)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if leaves(middle):
            high = middle
        else:
            low = middle
    return high


# Configurations -------------------------------------------------------------------------------------------------------


def small(kind: type, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Two arms."""
    if kind is RenyiGOPE:
        return {"actions": ((1.0, 0.0), (0.0, 1.0))}
    return {"arms": 2}


def forms() -> tuple[Any, ...]:
    """Every rule, every kind of noise, every currency, for a round and for a person."""

    def form(kind: type, **promised: Any) -> Any:
        return kind(**{**small(kind, promised), **promised})

    point = {"epsilon": 1.0, "delta": 1e-5}
    return (
        form(RenyiUCB, **point),
        form(RenyiUCB, rho=0.05, reward_low=-1.0, person_rounds=2),
        form(RenyiUCB, alpha=2.0, epsilon=0.1, calibration="published"),
        form(Episodic, **point),
        form(LaplaceUCB, epsilon=1.0),
        form(LaplaceUCB, epsilon=1.0, reward_low=-1.0, person_rounds=3),
        form(SuccessiveElimination, epsilon=1.0),
        form(RenyiGOPE, **point),
        form(RenyiGOPE, epsilon=1.0, noise="laplace", person_rounds=2),
    )


FAMILY = Family((RenyiUCB, Episodic, LaplaceUCB, SuccessiveElimination, RenyiGOPE), attacks, twins, forms, small)
