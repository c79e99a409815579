"""Secure noise: the plans of `exact` with sums on a lattice and discrete Gaussians.

Scale s and deviations τ_k are those of `exact`, raised by what rounding costs; the step h is the finest for which all
whole numbers stay exact. What is added to τ_k, so that the confidence sets hold for discrete noise, is
`mechanisms.lattice.noise_offset`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit._types import Floats, Ints
from tacit.core.plan import Plan
from tacit.errors import BadInput
from tacit.mechanisms.binary import levels
from tacit.mechanisms.lattice import MOST_ROWS, Lattice, lattice_of, noise_offset, toeplitz, tree, window
from tacit.policies._secure import ROWS_HINT, Laid, lay, refuse_published, rows_within
from tacit.policies.joint_linucb import exact
from tacit.policies.joint_linucb.lattice_verbs import (
    LatticePrefixParams,
    LatticeTreeParams,
    LatticeWindowParams,
    first_vault,
)
from tacit.policies.joint_linucb.parts import (
    HORIZON_HINT,
    bounds_of,
    explorer,
    for_unit,
    horizon_of,
    known_sums,
    plan_of,
    size_of,
)
from tacit.privacy.event import Event, SegmentsEvent, ToeplitzEvent, TreeEvent
from tacit.privacy.toeplitz import EIGHT_BUFFERS

if TYPE_CHECKING:
    from tacit.policies.joint_linucb import JointLinUCB


def secure_plan(config: JointLinUCB) -> Plan:
    """The plan of this configuration with secure noise."""
    refuse_published(config.calibration, f"{config.slug} ({config.noise} noise)")
    return {
        "geometric": _geometric,
        "window": _window,
        "toeplitz": _toeplitz,
        "tree": _tree,
    }[config.schedule](config)


def _lay(config: JointLinUCB, event_at: Callable[[float], Event], rough: float, weight: float, **bounds: Any) -> Laid:
    return lay(
        config.promise,
        event_at,
        partial(for_unit, config),
        rough=rough,
        sensitivity=config.sensitivity,
        coordinates=size_of(config),
        weight=weight,
        **bounds,
    )


def _lattice(config: JointLinUCB, laid: Laid) -> Lattice:
    return lattice_of(config.dim, laid.step, known_sums(config))


def _planned(config: JointLinUCB, params: Any, laid: Laid, memory_rows: int, **rest: Any) -> Plan:
    size = size_of(config)
    return plan_of(
        config,
        params,
        laid.event,
        memory_rows=memory_rows,
        vault=lambda: first_vault(size, memory_rows),
        lattice_scale=laid.steps,
        **rest,
    )


def _tree(config: JointLinUCB) -> Plan:
    horizon = horizon_of(config)
    depth = levels(horizon)
    rough: float = exact.tree_every_round(config).params.scale
    laid = _lay(
        config,
        lambda scale: TreeEvent(scale=scale, sensitivity=config.sensitivity, nodes=depth),
        rough=rough,
        weight=horizon,
        rows=horizon,
        releases=depth,
    )
    spread = np.array([laid.scale * math.sqrt(depth) + noise_offset(config.dim, laid.step, depth)])
    params = LatticeTreeParams(
        bounds=bounds_of(config),
        confidence=exact.confidence_at(config, spread, views=horizon),
        lattice=_lattice(config, laid),
        horizon=horizon,
        exploration=explorer(config, laid.steps),
    )
    return _planned(
        config,
        params,
        laid,
        tree.memory_rows(horizon),
        scales={"each node": laid.scale, "each view": float(spread[0])},
        limit=horizon,
        hint=HORIZON_HINT,
    )


def _toeplitz(config: JointLinUCB) -> Plan:
    horizon, design = horizon_of(config), EIGHT_BUFFERS
    rough: float = exact.toeplitz_every_round(config).params.buffers.scale
    laid = _lay(
        config,
        lambda scale: ToeplitzEvent(scale, config.sensitivity, horizon - 1, design, "one"),
        rough=rough,
        weight=design.column_sum(horizon - 1),
        rows=horizon,
        releases=horizon - 1,
    )
    offset = noise_offset(config.dim, laid.step, design.row_sum(horizon - 1))
    spread = np.array([laid.scale * design.row_norm(horizon - 1) + offset])
    params = LatticePrefixParams(
        bounds=bounds_of(config),
        confidence=exact.confidence_at(config, spread, views=horizon),
        lattice=_lattice(config, laid),
        coder=toeplitz.coder(design),
        times=np.zeros(0, np.int64),
        horizon=horizon,
        exploration=explorer(config, laid.steps),
    )
    return _planned(
        config,
        params,
        laid,
        toeplitz.memory_rows(design),
        scales={"each fresh draw": laid.scale, "last view": float(spread[0])},
        limit=horizon,
        hint=HORIZON_HINT,
    )


def _geometric(config: JointLinUCB) -> Plan:
    design = EIGHT_BUFFERS
    rough = exact.geometric_releases(config).params
    lengths = _lengths(config, rough.times)
    laid = _lay(
        config,
        lambda scale: ToeplitzEvent(scale, config.sensitivity, config.views, design, "many"),
        rough=rough.buffers.scale,
        # A tenth more: with more noise the first release is a little later, and segments are longer.
        weight=1.1 * toeplitz.heaviest(design, lengths),
        rows=int(lengths.sum()),
        releases=config.views,
    )
    stages = range(1, config.views + 1)
    spread = np.array([laid.scale * design.row_norm(k) for k in stages])
    spread += noise_offset(config.dim, laid.step, np.array([design.row_sum(k) for k in stages]))
    confidence = exact.confidence_at(config, spread, views=config.views)
    every = exact.times_of(config, confidence)
    times = _within(config, every)
    params = LatticePrefixParams(
        bounds=bounds_of(config),
        confidence=confidence,
        lattice=_lattice(config, laid),
        coder=toeplitz.coder(design),
        times=times,
        horizon=0,
        exploration=explorer(config, laid.steps),
    )
    _refuse_heavy(toeplitz.heaviest(design, _lengths(config, times)), config.sensitivity / laid.step)
    return _planned(
        config,
        params,
        laid,
        toeplitz.memory_rows(design),
        scales={
            "each fresh draw": laid.scale,
            "first view": float(spread[0]),
            "last view": float(spread[len(times) - 1]),
        },
        **_end(config, every),
    )


def _window(config: JointLinUCB) -> Plan:
    assert config.window is not None
    rough = exact.windowed_releases(config).params
    lengths = _lengths(config, rough.times)
    laid = _lay(
        config,
        lambda scale: SegmentsEvent(scale=scale, sensitivity=config.sensitivity),
        rough=rough.scale,
        weight=1.1 * float(lengths.max()),
        rows=int(lengths.sum()),
        releases=1,
    )
    stage = np.arange(1.0, config.views + 1)
    inside = np.minimum(stage, config.window)
    spread = laid.scale * np.sqrt(inside) + noise_offset(config.dim, laid.step, inside)
    failure: Floats = 6 * config.failure_probability / (math.pi**2 * stage**2)
    confidence = exact.confidence_at(config, spread, views=1, failure=failure)
    every = exact.times_of(config, confidence)
    times = _within(config, every)
    ring = min(config.window, len(times))
    params = LatticeWindowParams(
        bounds=bounds_of(config),
        confidence=confidence,
        lattice=_lattice(config, laid),
        times=times,
        exploration=explorer(config, laid.steps),
    )
    _refuse_heavy(float(_lengths(config, times).max()), config.sensitivity / laid.step)
    return _planned(
        config,
        params,
        laid,
        window.memory_rows(ring),
        scales={"each segment": laid.scale, "full window": float(spread[ring - 1])},
        **_end(config, every),
    )


def _within(config: JointLinUCB, times: Ints) -> Ints:
    """The release times that can be reached: the first in any case."""
    if times[0] > MOST_ROWS:
        raise BadInput(
            f"Expected a first release within {MOST_ROWS:,} rows, which are the most on a lattice, got one after "
            f"{times[0]:,}. Ask for a larger epsilon, or use noise in double precision."
        )
    return times[: max(1, int(np.searchsorted(times, rows_within(config.horizon), "right")))]


def _end(config: JointLinUCB, times: Ints) -> dict[str, Any]:
    """How many rows at most, and what to do then."""
    limit = exact.last_row(config, times)
    if limit <= MOST_ROWS:
        return {"limit": limit, "hint": exact.segments_hint(config)}
    return {"limit": MOST_ROWS, "hint": ROWS_HINT}


def _lengths(config: JointLinUCB, times: Ints) -> Floats:
    """Rows of each segment."""
    return np.diff(_within(config, times), prepend=0).astype(np.float64)


def _refuse_heavy(weight: float, steps: float) -> None:
    if weight * (steps + 1) >= 2.0**52:
        raise AssertionError("Sums on the lattice may grow beyond what doubles hold: the plan is wrong.")
