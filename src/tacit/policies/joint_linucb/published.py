"""The paper as published: its constants, its bounds, and its errata (docs/errata.md)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tacit.core.plan import Draws, Plan
from tacit.errors import BadInput, PrivacyRefusal
from tacit.mechanisms import tree, wishart
from tacit.mechanisms.binary import levels
from tacit.policies.joint_linucb.parts import (
    HORIZON_HINT,
    RegulariserBounds,
    bounds_of,
    confidence_for,
    draws_of,
    explorer,
    horizon_of,
    plan_of,
)
from tacit.policies.joint_linucb.verbs import TreeParams, WishartParams
from tacit.privacy.accountant import theorem_for
from tacit.privacy.event import TreeEvent, WishartTreeEvent

if TYPE_CHECKING:
    from tacit.policies.joint_linucb import JointLinUCB

#: Whole numbers beyond this are not exact in double precision.
_MOST_DEGREES = 2.0**53


def gaussian(config: JointLinUCB) -> Plan:
    """Gaussian nodes with the constants of Section 4.2, priced with the paper's own count of m nodes per row."""
    horizon = horizon_of(config)
    scale, bound = _published_scale(config)
    low, high, gamma = gaussian_bounds(config)
    params = TreeParams(
        bounds=bounds_of(config),
        confidence=confidence_for(
            config,
            failure=config.failure_probability,
            floor=low,
            regulariser=np.array([low + bound]),
            repair=np.array([bound]),
            bias=np.array([config.parameter_norm * math.sqrt(high) + gamma]),
        ),
        scale=scale,
        horizon=horizon,
        exploration=explorer(config),
    )
    return plan_of(
        config,
        params,
        TreeEvent(scale=scale, sensitivity=config.sensitivity, nodes=_slots(config)),
        memory_rows=tree.empty_memory(horizon, 1).shape[0],
        scales={"each node": scale, "each view": scale * math.sqrt(_slots(config))},
        limit=horizon,
        hint=HORIZON_HINT,
    )


def _published_scale(config: JointLinUCB) -> tuple[float, float]:
    """s and Υ: s² = 16mL̃⁴ ln(4/δ)²/ε², Υ = s√(2m)·(4√d + 2 ln(2n/α))."""
    horizon, slots = horizon_of(config), _slots(config)
    scale = 4 * math.sqrt(slots) * config.sensitivity * math.log(4 / config.delta) / config.epsilon
    tail = math.log(2 * horizon / config.failure_probability)
    return scale, scale * math.sqrt(2 * slots) * (4 * math.sqrt(config.dim) + 2 * tail)


def gaussian_bounds(config: JointLinUCB) -> RegulariserBounds:
    """ρ_min = Υ (or as given), ρ_max = ρ_min + 2Υ, γ = s√m·(√d + √(2 ln(2n/α)))/√ρ_min.

    The paper prints Υ⁻¹ for the last factor; ‖h‖_{H⁻¹} ≤ ‖h‖/√ρ_min.
    """
    scale, bound = _published_scale(config)
    low = bound if config.rho_min is None else config.rho_min
    gamma = scale * math.sqrt(_slots(config)) * _vector_tail(config) / math.sqrt(low)
    return RegulariserBounds(low, low + 2 * bound, gamma)


def wishart_tree(config: JointLinUCB) -> Plan:
    """Wishart masks with the degrees of freedom of Section 4.1, shifted or not, priced by the paper's theorem."""
    horizon, slots = horizon_of(config), _slots(config)
    degrees = _degrees(config)
    event = WishartTreeEvent(
        degrees=degrees,
        sensitivity=config.sensitivity,
        nodes=slots,
        promise_epsilon=config.epsilon,
        promise_delta=config.delta,
    )
    _refuse_unkept(config, event)
    low, high, gamma = wishart_bounds(config)
    unshifted = _unshifted_floor(config)
    params = WishartParams(
        bounds=bounds_of(config),
        confidence=confidence_for(
            config,
            failure=config.failure_probability,
            floor=low,
            regulariser=np.array([low - unshifted]),
            repair=np.array([low]),
            bias=np.array([config.parameter_norm * math.sqrt(high) + gamma]),
        ),
        masks=wishart.Masks(float(config.sensitivity), degrees, slots),
        horizon=horizon,
        exploration=explorer(config),
    )
    return plan_of(
        config,
        params,
        event,
        memory_rows=wishart.empty_memory(levels(horizon), slots, 1).shape[0],
        scales={"each view": config.sensitivity * math.sqrt(slots * degrees)},
        limit=horizon,
        hint=HORIZON_HINT,
        draws=_wishart_draws(config),
    )


def _refuse_unkept(config: JointLinUCB, event: WishartTreeEvent) -> None:
    """The paper's constants do not keep every promise: its composition adds up to more for a large ε over few nodes."""
    theorem = theorem_for(event)
    if theorem is None or theorem.epsilon > config.epsilon:
        found = "no theorem" if theorem is None else f"{theorem.epsilon:.4g} by the paper's own composition"
        raise PrivacyRefusal(
            f"Expected a Wishart plan that keeps epsilon={config.epsilon:g}, got {found}. Promise a smaller epsilon, "
            'or use noise="gaussian".'
        )


def _degrees(config: JointLinUCB) -> int:
    """k = d + 1 + ⌈224·m·ε⁻²·ln(8m/δ)·ln(2/δ)⌉."""
    slots = _slots(config)
    tails = math.log(8 * slots / config.delta) * math.log(2 / config.delta)
    wanted = 224 * slots * tails / config.epsilon**2
    if wanted > _MOST_DEGREES:
        raise PrivacyRefusal(
            f"Expected at most 2**53 degrees of freedom per Wishart node, got {wanted:.3g} for epsilon="
            f"{config.epsilon:g}: more than can be drawn exactly. Promise a larger epsilon."
        )
    return config.dim + 1 + math.ceil(wanted)


def wishart_bounds(config: JointLinUCB) -> RegulariserBounds:
    """ρ_min, ρ_max and γ, after the shift by −(ρ⁰_min − ρ_min)·I.

    Unshifted, and at a given ρ_min, γ is the proof's own L̃·g·√(ρ⁰_min/ρ_min); at the published shift it is the bound
    Proposition 9 prints.
    """
    norm = math.sqrt(config.sensitivity)  # L̃
    root, spread, unshifted = _root_degrees(config), _matrix_tail(config), _unshifted_floor(config)
    if config.noise == "wishart-unshifted":
        low = unshifted
    elif config.rho_min is not None:
        low = config.rho_min
    else:
        low = 4 * config.sensitivity * root * spread
    # ρ⁰_min > 0 needs √(mk) > a; the published shift c > 0 needs √(mk) > 5.83a.
    if root <= spread or low > unshifted:
        raise BadInput(
            f"Expected at most rho_min={unshifted:.6g}, the least eigenvalue that Wishart noise has without a shift, "
            f"got {low:.6g}. Give a smaller rho_min, or a larger failure probability."
        )
    high = low + 4 * config.sensitivity * root * spread
    if config.noise == "wishart" and config.rho_min is None:
        gamma = norm * math.sqrt(root * _vector_tail(config))
    else:
        gamma = norm * _vector_tail(config) * math.sqrt(unshifted / low)
    return RegulariserBounds(low, high, gamma)


def _unshifted_floor(config: JointLinUCB) -> float:
    """ρ⁰_min = L̃²(√(mk) − a)²."""
    return config.sensitivity * (_root_degrees(config) - _matrix_tail(config)) ** 2


def _root_degrees(config: JointLinUCB) -> float:
    """√(mk)."""
    return math.sqrt(_slots(config) * _degrees(config))


def _matrix_tail(config: JointLinUCB) -> float:
    """a = √d + √(2 ln(8n/α))."""
    return math.sqrt(config.dim) + math.sqrt(2 * math.log(8 * horizon_of(config) / config.failure_probability))


def _vector_tail(config: JointLinUCB) -> float:
    """g = √d + √(2 ln(2n/α))."""
    return math.sqrt(config.dim) + math.sqrt(2 * math.log(2 * horizon_of(config) / config.failure_probability))


def _slots(config: JointLinUCB) -> int:
    """m = 1 + ⌈log2 n⌉ levels, as the paper counts them."""
    return 1 + levels(horizon_of(config))


def _wishart_draws(config: JointLinUCB) -> Draws:
    one = draws_of(config)
    return Draws(
        choose_normals=one.choose_normals,
        choose_uniforms=one.choose_uniforms,
        learn_normals=one.learn_normals + wishart.SPARE,
        learn_uniforms=config.dim + wishart.SPARE,
        first_normals=_slots(config) * one.learn_normals,
        first_uniforms=_slots(config) * config.dim,
    )
