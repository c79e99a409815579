"""Attacks on learners of functions: one record's reward flipped where it weighs most, and everything that may leave.

These learners are not compiled, and need not be: their records are fixed, so that all that differs between two runs on
one input is the noise. `one_record` runs them; here is where the one record lies, and what must be caught.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tacit._types import Floats, Ints
from tacit.auditing.attack import DRAWN, RELEASED, Attack, Claim, Twin
from tacit.auditing.attacks import joint
from tacit.auditing.attacks.one_record import (
    CANDIDATES,
    Case,
    Choice,
    Draws,
    Functions,
    Solved,
    Sums,
    reward_of,
    tables,
)
from tacit.auditing.family import Family
from tacit.auditing.script import Script, Scripted, Seen, spoiled
from tacit.errors import BadInput
from tacit.kernels import Box, SquaredExponential
from tacit.policies.kernel_baselines import FeatureLinUCB
from tacit.policies.kernel_baselines.moments import unit_rows
from tacit.policies.usca import USCA
from tacit.policies.usca.records import records_of

#: A released function, where that is less than the statistics it is made of.
FUNCTION = "released function"
#: Points that the worst case is searched among, and pairs of actions and contexts for it.
_POINTS, _ACTIONS, _CONTEXTS = 1024, 33, 9
#: Two candidates that are closer than this share of the farthest pair differ by rounding.
_APART = 0.01
#: A missing factor 1/τ in a variance breaks a claim if τ is at most this.
_SMALL_TAU = 0.25
#: A twin need not break a claim that even the worst case attains less than this share of.
_ATTAINED = 0.8
#: Nor a draw that is too steep by half a claim that less than this is attained of: it is to show in few runs.
_NEARLY_ALL = 0.9
#: A horizon in which the first views must come.
_LONGEST = 2**20
#: What everybody is told.
_TOLD = "the reward of one record turned from beyond +B to beyond −B, at the point where it {}"


def attacks(config: USCA | FeatureLinUCB, sampler: str = "double") -> tuple[Attack, ...]:
    """On everything that leaves through the first door, and then through others."""
    if isinstance(config, USCA):
        return _on_usca(config, sampler)
    return _on_views(config, sampler) if config.mode == "releases" else _on_sums(config, sampler)


def _on_usca(config: USCA, sampler: str) -> tuple[Attack, ...]:
    """Each is held to the curve of its own way of asking, which is more than the promise of all."""
    case, choice = _farthest(config)
    drawn = Attack(
        DRAWN,
        Draws(config, case, sampler=sampler, choice=choice),
        _TOLD.format(f"moves one candidate most, against {CANDIDATES - 1} others in one place"),
        fit=tables,
        smooth=False,
        claim=Claim(config.epsilon, config.delta, None, odds=config.epsilon),
    )
    if config.form == "exact":
        return (drawn,)
    released = Attack(
        RELEASED,
        Functions(config, _heaviest(config), sampler=sampler),
        _TOLD.format("has the largest leverage"),
        claim=Claim(config.epsilon, config.delta, config.promise.mu),
    )
    return (released, drawn)


def _on_sums(config: FeatureLinUCB, sampler: str) -> tuple[Attack, ...]:
    case = longest(config)
    told = _TOLD.format("has the longest features")
    return (
        Attack(RELEASED, Sums(config, case, sampler=sampler), told),
        Attack(FUNCTION, Solved(config, case, sampler=sampler), told, smooth=False),
    )


def _on_views(config: FeatureLinUCB, sampler: str) -> tuple[Attack, ...]:
    """The rows go to `JointLinUCB`, and so does the attack: its views are all that is released."""
    plan, row = config.linear.plan(sampler), longest_row(config)
    plan, releases = joint.begun(plan, joint.release_rounds(config.linear, plan), 1)
    scripts = _scripts(config, int(releases[-1]) + 1, clipped=True)
    told = _TOLD.format("has the longest features")

    def sums(seen: Seen) -> Floats:
        factor, theta = seen.of("factor"), seen.of("theta")
        found: Floats = np.einsum("...ji,...jk,...k->...i", factor, factor, theta) @ row
        return found

    def values(seen: Seen) -> Floats:
        found: Floats = seen.of("theta") @ row
        return found

    return (
        Attack(RELEASED, Scripted(plan, scripts, sums, watched=releases), told),
        Attack(FUNCTION, Scripted(plan, scripts, values, watched=releases), told, smooth=False),
    )


def values_attack(config: FeatureLinUCB, sampler: str) -> Attack:
    """On the function after each view, with every record on the way, for a program that begins at its beginning."""
    plan = config.linear.plan(sampler)
    releases, row = joint.release_rounds(config.linear, plan), longest_row(config)
    scripts = _scripts(config, int(releases[-1]) + 1, clipped=True)

    def values(seen: Seen) -> Floats:
        found: Floats = seen.of("theta") @ row
        return found

    played = Scripted(plan, scripts, values, watched=releases)
    return Attack(FUNCTION, played, _TOLD.format("has the longest features"), smooth=False)


def _heaviest(config: USCA) -> Case:
    """The point of largest leverage. Records are clipped to S, so most often all of S is attained."""
    places = _places(config.domain, _POINTS)
    lengths = np.sqrt(config.public.operator.sigma2(places))  # type: ignore[union-attr]
    at = int(lengths.argmax())
    return Case(places[at], min(1.0, float(lengths[at]) / config.public.leverage))


def longest(config: FeatureLinUCB) -> Case:
    """The point of the longest ψ. With ‖ψ‖ = 1 the rows [ψ; 1] and [ψ; −1] are orthogonal: as different as can be."""
    places = _places(config.domain, _POINTS)
    # Features of inducing points are as long as any, and a grid may miss all of them.
    points = getattr(config.map, "points", None)
    if points is not None:
        places = np.concatenate([np.asarray(points), places])
    lengths = np.linalg.norm(unit_rows(config.map, places), axis=1)
    at = int(lengths.argmax())
    return Case(places[at], float(lengths[at]))


def longest_row(config: FeatureLinUCB) -> Floats:
    """Its features."""
    found: Floats = unit_rows(config.map, longest(config).point[None, :])[0]
    return found


def _farthest(config: USCA) -> tuple[Case, Choice]:
    """The record, and the two candidates, for which the log-odds move by the largest share of ε."""
    public = config.public
    records, actions = _places(config.domain, _POINTS), _places(config.actions, _ACTIONS)
    contexts = [None] if public.contexts is None else list(_places(public.contexts, _CONTEXTS))
    best, found = -1.0, None
    for context in contexts:
        points = actions if context is None else np.hstack([actions, np.tile(context, (len(actions), 1))])
        moved = _pull(config, points, records)
        share = _shares(config, points)
        for one in range(len(actions)):
            # A reward of B turned to −B moves two scores apart by 2B times this.
            apart = np.abs(moved[one] - moved) * share[one][:, None]
            other, record = np.unravel_index(int(apart.argmax()), apart.shape)
            if apart[other, record] > best:
                best = float(apart[other, record])
                found = records[record], Choice(actions[one], actions[other], context)
    assert found is not None
    return Case(found[0], best), found[1]


def _pull(config: USCA, points: Floats, records: Floats) -> Floats:
    """How a reward of one at each of the records moves the score of each of the points: (points, records)."""
    public = config.public
    if public.exact is not None:
        return public.exact.cross(points, records)
    assert public.operator is not None
    u = public.operator.u(records)
    u *= public.leverage / np.maximum(public.leverage, np.linalg.norm(u, axis=1))[:, None]
    found: Floats = public.operator.u(points) @ u.T
    return found


def _shares(config: USCA, points: Floats) -> Floats:
    """1/(range that a draw among two of these points is priced for), in units of 2B; 0 where they are one point."""
    public = config.public
    if config.calibration == "published" or public.operator is None:
        return np.full((len(points), len(points)), 0.5 / public.supremum)
    rows = public.operator.u(points)
    distances = np.linalg.norm(rows[:, None, :] - rows[None, :, :], axis=2)
    far = distances >= max(_APART * distances.max(), 1e-300)
    return np.where(far, 1.0 / (public.leverage * np.where(far, distances, 1.0)), 0.0)


def _places(box: Box, count: int) -> Floats:
    """About so many points of a box: a grid, corners included, or where that is too coarse an even sequence."""
    side = int(count ** (1 / box.dim) + 1e-9)
    return box.grid(side) if side >= 2 else box.sobol(count)


def _scripts(config: FeatureLinUCB, rounds: int, *, clipped: bool) -> tuple[Script, Script]:
    """The record, then records of the middle reward at the same point. Nothing is chosen."""
    point = longest(config).point
    dim = config.actions.dim
    contexts = None if config.context_box is None else np.tile(point[dim:], (rounds, 1))

    def script(world: int) -> Script:
        rewards = np.full(rounds, config.middle)
        rewards[0] += reward_of(config, world)
        checked = records_of(config.bounds, np.tile(point[:dim], (rounds, 1)), rewards, contexts)
        rows = unit_rows(config.map, checked.points)
        paid = (checked.rewards if clipped else rewards - config.middle) / config.bounds.reach
        return Script(np.repeat(rows[:, None, :], 2, axis=1), paid, np.zeros(rounds, np.int64))

    return script(0), script(1)


def twins(config: USCA | FeatureLinUCB, sampler: str = "double") -> tuple[Twin, ...]:
    """What must be caught."""
    if isinstance(config, FeatureLinUCB) and config.mode == "releases":
        return _of_views(config, sampler)
    found = [
        Twin("clipping off", "a reward counts with the size it comes with", _changed(clipped=False)),
        Twin("noise redrawn", "the same thing is released again and again", _redrawn),
    ]
    # The published rate is set for a range that no record attains: twice that rate may still keep the claim.
    if not isinstance(config, USCA) or config.form == "features" or _farthest(config)[0].share > _ATTAINED:
        # Also what add/remove neighbours would need: a sum moves by B where a reward is added, by 2B where one is
        # replaced.
        found.append(Twin("noise halved", "half the noise, or twice the rate of a draw", _changed(sharper=2.0)))
    if isinstance(config, USCA) and config.form == "features" and _farthest(config)[0].share > _NEARLY_ALL:
        found.append(Twin("draw too steep", "a draw has one and a half times its rate", _steeper(config, sampler)))
    if isinstance(config, USCA) and config.regulariser <= _SMALL_TAU:
        found.append(
            Twin("sensitivity without 1/τ", "σ² is taken for the variance of a posterior", _without_tau(config))
        )
    return tuple(found)


def _of_views(config: FeatureLinUCB, sampler: str) -> tuple[Twin, ...]:
    """Those of `JointLinUCB`. Rewards are clipped on the way to it and there once more: a twin does neither."""

    def unclipped(attack: Attack) -> Attack:
        played: Any = attack.sampler
        params = played.plan.params
        wide = params._replace(row=params.row._replace(reward_low=-1e9, reward_high=1e9))
        rounds = len(played.scripts[0].rewards)
        plan, scripts = replace(played.plan, params=wide), _scripts(config, rounds, clipped=False)
        return replace(attack, sampler=replace(played, plan=plan, scripts=scripts))

    others = [
        twin for twin in joint.twins(config.linear, sampler) if twin.name not in ("clipping off", "noise redrawn")
    ]
    return (
        Twin("clipping off", "a reward counts with the size it comes with", unclipped),
        Twin("noise redrawn", "every view is drawn three times", spoiled(reads=3)),
        *others,
    )


def _changed(**changes: Any) -> Callable[[Attack], Attack]:
    return lambda attack: replace(attack, sampler=replace(attack.sampler, **changes))  # type: ignore[type-var]


def _redrawn(attack: Attack) -> Attack:
    """Few candidates for many draws: each then says a little less, and is the one candidate far more often."""
    if isinstance(attack.sampler, Draws):
        return _changed(reads=16, candidates=4)(attack)
    return _changed(reads=3)(attack)


def _steeper(config: USCA, sampler: str) -> Callable[[Attack], Attack]:
    """The draw, whatever else is attacked. Of two candidates its odds show most, and its ε, 0.75 of the 1.5, least."""
    return lambda attack: _changed(sharper=1.5, candidates=2)(_on_usca(config, sampler)[-1])


def _without_tau(config: USCA) -> Callable[[Attack], Attack]:
    """Noise follows σ, a rate follows σ²."""

    def spoil(attack: Attack) -> Attack:
        power = 1.0 if isinstance(attack.sampler, Draws) else 0.5
        return _changed(sharper=config.regulariser**-power)(attack)

    return spoil


def small(kind: type, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Few features of one action. τ is small, so that a variance without its 1/τ would show."""
    found: dict[str, Any] = {"action_box": ((0.0, 1.0),), "kernel": SquaredExponential(length_scale=0.3), "features": 2}
    if all(given.get(name) is None for name in ("reward_bound", "reward_low", "function_bound")):
        found["reward_bound"] = 1.0
    if kind is USCA:
        # A run takes no longer for a longer horizon: one that was given stays.
        return {**found, "horizon": given.get("horizon") or 64, "tau": 0.1}
    if given.get("mode") == "releases":
        found |= {"features": 1, "ratio": 1.5}
        return {**found, "horizon": _two_views({**found, **given})}
    return found


def _two_views(options: Mapping[str, Any]) -> int:
    """A horizon that ends with a view, and has two of them or little more. Noise is set for all views that a horizon
    can need: one that ends between two of them keeps more than was promised, and shows less."""
    horizon, times = 2, None
    while times is None and horizon < _LONGEST:
        horizon *= 2
        times = _times(options, horizon)
    if times is None:
        return horizon
    # Just after the first view, fewer are needed than at twice that.
    sooner = _times(options, int(times[0]) + 1)
    if sooner is not None and len(sooner) > 1:
        return int(sooner[-1])
    return int(times[-1])


def _times(options: Mapping[str, Any], horizon: int) -> Ints | None:
    """Of all views; None if the horizon is over before the first, which comes the later the smaller ε is."""
    try:
        found: Ints = FeatureLinUCB(**{**options, "horizon": horizon}).linear.plan().params.schedule.times
    except BadInput:
        return None
    return found


def forms() -> tuple[USCA | FeatureLinUCB, ...]:
    """Every door of either learner, every calibration and both feature maps."""

    def form(kind: type, **options: Any) -> Any:
        promised = {"epsilon": 1.0, "delta": 1e-5, **options}
        return kind(**{**small(kind, promised), **promised})

    return (
        form(USCA),
        form(USCA, context_box=((0.0, 1.0),), features=9, reward_low=0.0, reward_high=1.0),
        form(USCA, calibration="published"),
        form(USCA, form="exact", calibration="published", horizon=16),
        form(FeatureLinUCB),
        form(FeatureLinUCB, feature_map="fourier", features=4),
        form(FeatureLinUCB, mode="releases"),
    )


FAMILY = Family((USCA, FeatureLinUCB), attacks, twins, forms, small)
