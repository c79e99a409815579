"""Phased elimination over a list of actions: what is played, for how long, and who is out.

In phase l = 1, 2, … all actions in play are estimated to within b = h·2⁻ˡ, h half the length of the reward interval: a
G-optimal design says which of them to play, `widths` for how long. Each is one episode, whose total is published with
noise of its own. After the last one least squares estimates every mean reward, and who is behind the best by more than
2b is out. If every error is at most b, as it is with probability 1 − δ in all phases together, the best action stays.
A single action left is played to the end, and nothing is published any more.

All of it is post-processing of the published totals.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit.estimators.design import MOST_STEPS, DesignRoom, optimal_design, write_coordinates
from tacit.policies.episodic.verbs import FOREVER, follow
from tacit.policies.gope.widths import Errors, Influence, largest_width, least_total, weigh

#: Rounding up to whole rounds can undo a width by a little: lengths are then raised by this factor, so often at most.
_RAISE, _RAISES = 1.01, 1000
#: A width may exceed its target by rounding errors.
_ROUNDING = 1e-12

_WEIGHTS, _SCORES, _PRODUCTS, _PLAYED, _SPREAD, _SQUARE, _PEAK = 0, 1, 2, 3, 4, 5, 6  # rows of `by_action`


class GopeRule(NamedTuple):
    """How phases are laid out."""

    actions: Floats  # (K, d) the list, in a unit in which its largest number is 1: no scale means anything here
    failure: float  # δ
    level: float  # h: half the length of the reward interval; rewards are h-sub-Gaussian
    scale: float  # s: of the noise of one total, a standard deviation or the scale of Laplace noise
    laplace: bool
    published: bool  # lengths by Equation 8
    tolerance: float  # of designs


class GopeView(NamedTuple):
    """All that has been released, the phase that is being played, and room to work; m = min(K, d)."""

    stage: Ints  # (1,) totals released
    arm: Ints  # (1,) that is being played
    length: Ints  # (1,) of its episode, in rounds
    phase: Ints  # (1,) l
    remaining: Ints  # (1,) how many actions are in play
    active: Ints  # (K,) which, in ascending order; places beyond are −1
    lengths: Ints  # (K,) n_a: rounds that this phase asks of each action
    sizes: Ints  # (K,) rewards in the totals of this phase
    totals: Floats  # (K,) of this phase, noised
    means: Floats  # (K,) <θ̃, a>: the mean reward of each action as last estimated
    width: Floats  # (1,) what no such estimate of the last phase that ended is off by, but for the failure probability
    rank: Ints  # (1,) r: of the span of the actions in play
    value: Floats  # (1,) g of the design; r at best
    loose: Ints  # (1,) designs so far that were cut short: valid, and longer phases than need be
    coordinates: Floats  # (m, K) of the actions in play, in their span
    pivots: Ints  # (m,) which of them are its basis
    residual: Floats  # (d, K) room to work
    by_action: Floats  # (7, K) design, lengths and widths of the phase, action by action
    inverse: Floats  # (m, m) V⁻¹ of the phase
    vector: Floats  # (m,) room to work


def first_view(rule: GopeRule) -> GopeView:
    """The view before anyone has come, with its first phase laid out."""
    arms, dim = rule.actions.shape
    size = min(arms, dim)

    def count(places: int) -> Ints:
        return np.zeros(places, np.int64)

    view = GopeView(
        stage=count(1),
        arm=count(1),
        length=count(1),
        phase=count(1),
        remaining=np.array([arms]),
        active=np.arange(arms),
        lengths=count(arms),
        sizes=count(arms),
        totals=np.zeros(arms),
        means=np.zeros(arms),
        width=np.zeros(1),
        rank=count(1),
        value=np.zeros(1),
        loose=count(1),
        coordinates=np.zeros((size, arms)),
        pivots=count(size),
        residual=np.zeros((dim, arms)),
        by_action=np.zeros((7, arms)),
        inverse=np.zeros((size, size)),
        vector=np.zeros(size),
    )
    next_phase(rule, view)
    return view


@implements(follow, GopeRule)
@kernel
def _follow(rule: GopeRule, view: GopeView, arm: int, size: int, total: float) -> None:
    """The next action of the phase; after the last one estimate, eliminate, and lay out the next phase."""
    view.totals[arm] = total
    view.sizes[arm] = size
    for k in range(arm + 1, view.lengths.shape[0]):
        if view.lengths[k] > 0:
            view.arm[0] = k
            view.length[0] = view.lengths[k]
            return
    next_phase(rule, view)


@kernel
def next_phase(rule: GopeRule, view: GopeView) -> None:
    """Draw the conclusions of the phase that has ended, if any, and lay out the next one."""
    if view.phase[0] > 0:
        _estimate(rule, view)
        _eliminate(view.active, view.remaining, view.means, 2.0 * max(_target(rule, view.phase[0]), view.width[0]))
    view.phase[0] += 1
    for k in range(view.lengths.shape[0]):
        view.lengths[k] = 0
        view.sizes[k] = 0
        view.totals[k] = 0.0
    if view.remaining[0] == 1:
        view.lengths[view.active[0]] = FOREVER
    else:
        _lay_out(rule, view)
    first = 0
    while view.lengths[first] == 0:
        first += 1
    view.arm[0] = first
    view.length[0] = view.lengths[first]


@kernel
def _target(rule: GopeRule, phase: int) -> float:
    """b."""
    return rule.level * math.pow(2.0, -phase)


@kernel
def _log_term(rule: GopeRule, phase: int, sides: float) -> float:
    """ln(sides·K·l(l + 1)/δ): so that errors of all actions in all phases have the probability δ together."""
    return math.log(sides * rule.actions.shape[0] * phase * (phase + 1.0) / rule.failure)


@kernel
def _estimate(rule: GopeRule, view: GopeView) -> None:
    """θ̃ = V⁻¹ Σ x_a·total_a from the rewards that came, which may be more than were asked for; and the means it says.
    If V is singular, which only rounding can do, nothing is concluded."""
    rows, coordinates, count, rank = view.by_action, view.coordinates, view.remaining[0], view.rank[0]
    played, products, vector = rows[_PLAYED], rows[_PRODUCTS], view.vector
    for k in range(count):
        played[k] = float(view.sizes[view.active[k]])
    influence = Influence(rows[_SPREAD], rows[_SQUARE], rows[_PEAK])
    errors = Errors(rule.level, rule.scale, rule.laplace, _log_term(rule, view.phase[0], 2.0))
    if not weigh(influence, coordinates, played, count, rank, view.inverse, vector, products):
        view.width[0] = math.inf
        return
    view.width[0] = largest_width(errors, influence, count)
    for i in range(rank):
        vector[i] = 0.0
    for k in range(count):
        if played[k] > 0.0:
            for i in range(rank):
                vector[i] += coordinates[i, k] * view.totals[view.active[k]]
    for k in range(count):
        products[k] = 0.0
    for i in range(rank):
        value = 0.0
        for j in range(rank):
            value += view.inverse[i, j] * vector[j]
        for k in range(count):
            products[k] += value * coordinates[i, k]
    for k in range(count):
        view.means[view.active[k]] = products[k]


@kernel
def _eliminate(active: Ints, remaining: Ints, means: Floats, most: float) -> None:
    """Keep who is behind the best by `most` at most."""
    count, best, kept = remaining[0], -math.inf, 0
    for k in range(count):
        best = max(best, means[active[k]])
    for k in range(count):
        arm = active[k]
        active[k] = -1
        if best - means[arm] <= most:
            active[kept] = arm
            kept += 1
    remaining[0] = kept


@kernel
def _lay_out(rule: GopeRule, view: GopeView) -> None:
    """A design on the actions in play, and n_a = ⌈c·π_a⌉ with c by the widths themselves or by Equation 8."""
    rows, count, phase = view.by_action, view.remaining[0], view.phase[0]
    room = DesignRoom(
        view.coordinates, view.pivots, rows[_WEIGHTS], rows[_SCORES], rows[_PRODUCTS], view.inverse, view.vector
    )
    rank = write_coordinates(
        rule.actions, view.active, count, view.coordinates, view.pivots, view.residual, view.inverse
    )
    value, _, within = optimal_design(room, count, rank, rule.tolerance, MOST_STEPS)
    view.rank[0] = rank
    view.value[0] = value
    view.loose[0] += 0 if within else 1

    target, played = _target(rule, phase), rows[_PLAYED]
    influence = Influence(rows[_SPREAD], rows[_SQUARE], rows[_PEAK])
    errors = Errors(rule.level, rule.scale, rule.laplace, _log_term(rule, phase, 2.0))
    for k in range(count):
        played[k] = room.weights[k]
    total = 0.0
    for attempt in range(_RAISES):
        # First for the design itself, then for what it is when rounded up: more rounds of one action can make another
        # a little worse.
        weigh(influence, view.coordinates, played, count, rank, view.inverse, view.vector, room.products)
        if attempt == 0 and rule.published:
            log_term = _log_term(rule, phase, 4.0)
            total = _published_total(rule.level, rule.scale, log_term, target, value, room.weights, count)
        elif attempt == 0:
            total = least_total(errors, influence, count, target)
        elif rule.published or largest_width(errors, influence, count) <= target * (1.0 + _ROUNDING):
            break
        else:
            total *= _RAISE
        for k in range(count):
            played[k] = math.ceil(total * room.weights[k])
    for k in range(count):
        view.lengths[view.active[k]] = FOREVER if played[k] >= FOREVER else int(played[k])


@kernel
def _published_total(
    level: float, scale: float, log_term: float, target: float, value: float, weights: Floats, count: int
) -> float:
    """c = 8h²gL/b² + (2g/b)·√(2|supp π|·s²L), L = ln(4Kl(l + 1)/δ): Equation 8 of Azize and Basu.

    There h = 1, g is d, which a design has to reach exactly and in the whole space, and |supp π| is d(d + 1)/2, which
    Frank–Wolfe does not keep to.
    """
    support = 0.0
    for k in range(count):
        support += 1.0 if weights[k] > 0.0 else 0.0
    by_luck = 8.0 * (level * level) * value * log_term / (target * target)
    return by_luck + 2.0 * value / target * math.sqrt(2.0 * support * (scale * scale) * log_term)
