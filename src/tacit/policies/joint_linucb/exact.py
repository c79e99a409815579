"""The least noise that keeps the promise: one plan per release schedule.

Every exact calibration here is one formula. A view k is one released (V, ũ); its noise is a symmetric Gaussian matrix
of off-diagonal standard deviation τ_k and a vector of the same. With R views in all, failure probability α and shift c,

    A = 2√d + 2√ln(8R/α),   g = √d + √(2 ln(4R/α)),   Υ_k = max(A·τ_k, ridge/c),
    V_k = G + N_k + cΥ_k·I,   ρ_min = (c−1)Υ_k,   ρ_max = (c+1)Υ_k,   γ_k = (g·τ_k/ζ)/√((c−1)Υ_k),

each with probability 1 − α/4R per view; the martingale takes the other α/2. Matrix tail: λ_max of the noise is
√2·τ-Lipschitz with mean at most 2τ√d, so P(‖N‖ ≥ τ(2√d + x)) ≤ 2e^{−x²/4}; vector tail e^{−x²/2}.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit._arrays import each
from tacit._types import Floats
from tacit.core.plan import Plan
from tacit.errors import BadInput
from tacit.estimators.ridge import Confidence
from tacit.mechanisms import geometric, toeplitz, tree, window
from tacit.mechanisms.binary import levels
from tacit.policies.joint_linucb.parts import (
    HORIZON_HINT,
    RegulariserBounds,
    bounds_of,
    confidence_for,
    explorer,
    for_unit,
    horizon_of,
    plan_of,
    size_of,
)
from tacit.policies.joint_linucb.verbs import GeometricParams, ToeplitzParams, TreeParams, WindowParams
from tacit.privacy.calibrate import calibrate
from tacit.privacy.event import Event, SegmentsEvent, ToeplitzEvent, TreeEvent
from tacit.privacy.toeplitz import EIGHT_BUFFERS

if TYPE_CHECKING:
    from tacit.policies.joint_linucb import JointLinUCB


def tree_every_round(config: JointLinUCB) -> Plan:
    """Nodes noised once: τ = s·√q in every view. Counting the nodes of each prefix is valid too, and no better."""
    horizon = horizon_of(config)
    depth = levels(horizon)

    def event_at(scale: float) -> Event:
        return for_unit(config, TreeEvent(scale=scale, sensitivity=config.sensitivity, nodes=depth))

    scale = calibrate(config.promise, event_at)
    spread = np.array([scale * math.sqrt(depth)])
    params = TreeParams(
        bounds=bounds_of(config),
        confidence=confidence_at(config, spread, views=horizon),
        scale=scale,
        horizon=horizon,
        exploration=explorer(config),
    )
    return plan_of(
        config,
        params,
        event_at(scale),
        memory_rows=tree.empty_memory(horizon, 1).shape[0],
        scales={"each node": scale, "each view": float(spread[0])},
        limit=horizon,
        hint=HORIZON_HINT,
    )


def toeplitz_every_round(config: JointLinUCB) -> Plan:
    """Correlated noise: row n is never released, so N = n − 1, and τ is that of the last view for every one."""
    horizon, design = horizon_of(config), EIGHT_BUFFERS

    def event_at(scale: float) -> Event:
        return for_unit(
            config,
            ToeplitzEvent(
                scale=scale,
                sensitivity=config.sensitivity,
                releases=horizon - 1,
                design=design,
                rows_per_release="one",
            ),
        )

    scale = calibrate(config.promise, event_at)
    spread = np.array([scale * design.row_norm(horizon - 1)])
    params = ToeplitzParams(
        bounds=bounds_of(config),
        confidence=confidence_at(config, spread, views=horizon),
        buffers=toeplitz.buffers(design, scale),
        horizon=horizon,
        exploration=explorer(config),
    )
    return plan_of(
        config,
        params,
        event_at(scale),
        memory_rows=toeplitz.empty_memory(design, 1).shape[0],
        scales={"each fresh draw": scale, "last view": float(spread[0])},
        limit=horizon,
        hint=HORIZON_HINT,
    )


def geometric_releases(config: JointLinUCB) -> Plan:
    """Correlated noise over segments that end at public times: τ_k grows with k, not with the number of rounds."""
    design = EIGHT_BUFFERS

    def event_at(scale: float) -> Event:
        return for_unit(
            config,
            ToeplitzEvent(
                scale=scale,
                sensitivity=config.sensitivity,
                releases=config.views,
                design=design,
                rows_per_release="many",
            ),
        )

    scale = calibrate(config.promise, event_at)
    spread = np.array([scale * design.row_norm(k) for k in range(1, config.views + 1)])
    confidence = confidence_at(config, spread, views=config.views)
    times = times_of(config, confidence)
    params = GeometricParams(
        bounds=bounds_of(config),
        confidence=confidence,
        buffers=toeplitz.buffers(design, scale),
        times=times,
        exploration=explorer(config),
    )
    return plan_of(
        config,
        params,
        event_at(scale),
        memory_rows=toeplitz.empty_memory(design, 1).shape[0],
        scales={
            "each fresh draw": scale,
            "first view": float(spread[0]),
            "last view": float(spread[len(times) - 1]),
        },
        limit=last_row(config, times),
        hint=segments_hint(config),
    )


def windowed_releases(config: JointLinUCB) -> Plan:
    """Each segment released once with noise of its own, V from the last w of them: τ_k = s·√min(k, w).

    The martingale starts anew with each window, so view k spends α_k = 6α/(π²k²) of its own (their sum is α) and puts
    its own ρ_min into the logarithm.
    """
    assert config.window is not None

    def event_at(scale: float) -> Event:
        return for_unit(config, SegmentsEvent(scale=scale, sensitivity=config.sensitivity))

    scale = calibrate(config.promise, event_at)
    stage = np.arange(1.0, config.views + 1)
    spread = scale * np.sqrt(np.minimum(stage, config.window))
    failure: Floats = 6 * config.failure_probability / (math.pi**2 * stage**2)
    confidence = confidence_at(config, spread, views=1, failure=failure)
    times = times_of(config, confidence)
    ring = min(config.window, len(times))
    params = WindowParams(
        bounds=bounds_of(config),
        confidence=confidence,
        scale=scale,
        times=times,
        no_noise=np.zeros(size_of(config)),
        exploration=explorer(config),
    )
    return plan_of(
        config,
        params,
        event_at(scale),
        memory_rows=window.empty_memory(ring, 1).shape[0],
        scales={"each segment": scale, "full window": float(spread[ring - 1])},
        limit=last_row(config, times),
        hint=segments_hint(config),
    )


def confidence_at(config: JointLinUCB, spread: Floats, *, views: int, failure: Floats | None = None) -> Confidence:
    """The numbers of β for views whose noise has standard deviations τ_k = `spread`.

    `failure`: α_k where every view has its own martingale; otherwise one α is shared by `views` of them.
    """
    bound, low, high, gamma = _exact_bounds(config, spread, views, failure)
    alpha = config.failure_probability if failure is None else failure
    return confidence_for(
        config,
        failure=alpha,
        floor=low.min() if failure is None else low,
        regulariser=config.shift_factor * bound,
        repair=bound,
        bias=config.parameter_norm * np.sqrt(high) + gamma,
    )


def _exact_bounds(
    config: JointLinUCB, spread: Floats, views: int, failure: Floats | None = None
) -> tuple[Floats, Floats, Floats, Floats]:
    """Υ_k, ρ_min, ρ_max and γ_k."""
    dim, shift = config.dim, config.shift_factor
    share = views / (config.failure_probability if failure is None else failure)  # R/α
    matrix = 2 * math.sqrt(dim) + 2 * np.sqrt(each(math.log, 8 * share))  # A
    vector = math.sqrt(dim) + np.sqrt(2 * each(math.log, 4 * share))  # g
    bound = np.maximum(matrix * spread, config.ridge / shift)  # Υ_k
    low = (shift - 1) * bound
    return bound, low, (shift + 1) * bound, vector * spread / config.reward_scale / np.sqrt(low)


def times_of(config: JointLinUCB, confidence: Confidence) -> Any:
    """t_1 = ⌈Υ_1/L²⌉, at least d: before that the matrix would be mostly regulariser, and not worth a release."""
    first = max(config.dim, math.ceil(confidence.repair[0] / config.action_norm**2))
    return geometric.release_times(first, config.release_ratio, config.views)


def last_row(config: JointLinUCB, times: Any) -> int:
    last = int(times[-1])
    return last if config.horizon is None else min(last, config.horizon)


def segments_hint(config: JointLinUCB) -> str:
    way_out = "plan for more views." if config.horizon is None else "leave the horizon out."
    return f"start a new epoch (its budget adds) or {way_out}"


def regulariser_bounds(config: JointLinUCB) -> RegulariserBounds:
    """ρ_min, ρ_max and γ of a schedule that releases a view every round with one and the same bound."""
    if config.schedule not in ("tree", "toeplitz"):
        raise BadInput(
            f'Expected releases="tree" or "toeplitz", got a {config.schedule} schedule: the regret theorems need '
            "a view every round, and none is proved for it."
        )
    last = list(config.plan().noise_scales.values())[-1]
    _, low, high, gamma = _exact_bounds(config, np.array([last]), horizon_of(config))
    return RegulariserBounds(float(low[0]), float(high[0]), float(gamma[0]))
