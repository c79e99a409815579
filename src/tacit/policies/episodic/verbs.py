"""One machine for every policy over a fixed list of actions: play one arm for a while, publish the noised total of what
it earned, forget it, and ask the *rule* what comes next.

All that is private happens here, once; a rule is shown released totals and numbers of rounds, and nothing else, so
whatever it does is post-processing. What an episode costs is proved in `mechanisms/episode/proof.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel, verb
from tacit._types import Floats, Ints
from tacit.core.plan import Draws, Plan
from tacit.core.round import CLIPPED_REWARDS, COUNTERS, ROWS
from tacit.core.slate import Slate
from tacit.core.verbs import absorb, choose, encode, release
from tacit.counters.counter import MOST_ROWS, ROWS_HINT, CalibratedLattice
from tacit.mechanisms.episode import release_total
from tacit.noise import LAPLACE_UNIFORMS

#: The length of an episode that never ends.
FOREVER = 2**62
#: Numbers in a report: the arm, what it earned, and whether that had to be clipped.
REPORT_SIZE = 3


class EpisodeParams(NamedTuple):
    """Params of every policy over a fixed list of actions."""

    actions: Floats  # (K, d) the public list
    reward_low: float
    reward_high: float
    scale: float  # of the noise of one total: σ, or b of Laplace noise; 0: none; 1 on a lattice, whose tape has it
    laplace: bool  # whether that is drawn from uniform numbers, by its quantiles
    rule: Any  # what `follow` dispatches on
    step: float = 0.0  # h of the lattice that rewards are rounded to, before they are summed; 0: none


class EpisodeVault(NamedTuple):
    """Secret: per arm, what has been earned since its last total was published."""

    sums: Floats  # (K,)
    sizes: Ints  # (K,) how many rewards are in each sum
    draw: Floats  # (2,) room for noise, wiped after use
    counters: Ints


def first_vault(arms: int) -> EpisodeVault:
    """Before anyone has come."""
    return EpisodeVault(np.zeros(arms), np.zeros(arms, np.int64), np.zeros(2), np.zeros(COUNTERS, np.int64))


def episode_plan(
    config: Any,
    actions: Floats,
    rule: Any,
    view: Callable[[], Any],
    *,
    scale: float,
    laplace: bool,
    laid: CalibratedLattice | None = None,
    **rest: Any,
) -> Plan:
    """The plan of a policy over this list that follows this rule, with noise of this scale on each total: in doubles,
    or exact, where there is a lattice."""
    arms = len(actions)
    # One number per total, or two uniform ones that a Laplace number is made of.
    draws = Draws(learn_uniforms=LAPLACE_UNIFORMS) if laplace and laid is None else Draws(learn_normals=1)
    law, step, end = None, 0.0, {}
    if laid is not None:
        law, step, end = laid.law, laid.step, {"limit": MOST_ROWS, "limit_hint": ROWS_HINT}
    return Plan(
        params=EpisodeParams(
            actions,
            float(config.reward_low),
            float(config.reward_high),
            scale if laid is None else 1.0,
            laplace and laid is None,
            rule,
            float(step),
        ),
        vault=lambda: first_vault(arms),
        view=view,
        report_size=REPORT_SIZE,
        draws=draws if scale else Draws(),
        noise_scale=scale or None,
        law=law,
        **{**end, **rest},
    )


@verb
def follow(rule: Any, view: Any, arm: int, size: int, total: float) -> None:
    """An episode of `arm` has ended with `size` rewards, whose noised total is `total`: write what to play next into
    `view.arm` and `view.length`. Sees nothing that has not been released. `size` is the length that was asked for, or
    more where rewards came late."""


@implements(choose, EpisodeParams)
@kernel
def _choose(params: EpisodeParams, view: Any, slate: Slate, noise: Any) -> int:
    """The arm of the episode: the slate is the list, and says nothing new."""
    return int(view.arm[0])


@implements(encode, EpisodeParams)
@kernel
def _encode(params: EpisodeParams, view: Any, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    """Which arm of the list it was, and the reward clipped to its interval: a bound only assumed is none."""
    guess = view.arm[0]
    report[0] = float(guess if _is(params.actions, guess, x) else _find(params.actions, x))
    clipped = min(max(reward, params.reward_low), params.reward_high)
    report[1] = clipped
    report[2] = 0.0 if clipped == reward else 1.0


@kernel
def _is(actions: Floats, arm: int, x: Floats) -> bool:
    same = True
    for i in range(x.shape[0]):
        same = same and actions[arm, i] == x[i]
    return same


@kernel
def _find(actions: Floats, x: Floats) -> int:
    """The arm of this action, −1 if it is not on the list: its reward is then counted, and not learned."""
    for arm in range(actions.shape[0]):
        if _is(actions, arm, x):
            return arm
    return -1


@implements(absorb, EpisodeParams)
@kernel
def _absorb(params: EpisodeParams, vault: EpisodeVault, report: Floats) -> None:
    """Into the sum of its own arm, whichever is being played: a late reward counts for the arm's next episode."""
    arm = int(report[0])
    if arm >= 0:
        vault.sums[arm] += report[1] if params.step == 0.0 else _in_steps(params, report[1])
        vault.sizes[arm] += 1
    vault.counters[ROWS] += 1
    vault.counters[CLIPPED_REWARDS] += int(report[2])


@kernel
def _in_steps(params: EpisodeParams, reward: float) -> float:
    """The reward as a whole number of steps above the least one. Clipped again, so that no rounding on the way can take
    it outside: two rewards then differ by Δ/h at most, exactly."""
    steps: float = np.rint((reward - params.reward_low) / params.step)
    most: float = np.rint((params.reward_high - params.reward_low) / params.step)
    return min(max(steps, 0.0), most)


@implements(release, EpisodeParams)
@kernel
def _release(params: EpisodeParams, vault: EpisodeVault, view: Any, noise: Any) -> None:
    """Publish the total of the arm that is being played, if its episode is over.

    Formal guarantee: μ-GDP with μ = Δ/scale for one replaced reward, or pure (Δ/scale)-DP with Laplace noise; proof:
    mechanisms/episode/proof.md. On a lattice the total is a whole number with discrete noise, and what is made of it
    costs nothing: counters/lattice.md.
    Requires: rewards clipped by `encode`; called once per `absorb`.
    """
    arm = view.arm[0]
    size = vault.sizes[arm]
    if size < view.length[0]:
        return
    total = release_total(params.scale, params.laplace, vault.sums, vault.sizes, arm, vault.draw, noise)
    if params.step > 0.0:
        total = params.step * total + params.reward_low * size
    follow(params.rule, view, arm, size, total)
    view.stage[0] += 1
