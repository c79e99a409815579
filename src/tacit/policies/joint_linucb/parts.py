"""What every plan of `JointLinUCB` is made of, whatever its schedule."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tacit import linalg
from tacit._types import Floats
from tacit.core.plan import Draws, Plan
from tacit.estimators.ridge import Confidence, Optimism, Thompson, confidence_of, empty_view, first_view
from tacit.policies._options import width_multiplier
from tacit.policies.joint_linucb import words
from tacit.policies.joint_linucb.verbs import Bounds, first_vault
from tacit.privacy.event import Event, PersonEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust

if TYPE_CHECKING:
    from tacit.policies.joint_linucb import JointLinUCB

HORIZON_HINT = 'start a new epoch (its budget adds) or use releases="geometric", which needs no horizon.'


class RegulariserBounds(NamedTuple):
    """ρ_min·I ⪯ H ⪯ ρ_max·I and ‖h‖_{H⁻¹} ≤ γ, in every view with probability 1 − α/2."""

    rho_min: float
    rho_max: float
    gamma: float


def plan_of(
    config: JointLinUCB,
    params: Any,
    event: Event,
    *,
    memory_rows: int,
    scales: dict[str, float],
    limit: int,
    hint: str,
    draws: Draws | None = None,
    vault: Callable[[], Any] | None = None,
    lattice_scale: float | None = None,
) -> Plan:
    """The plan around these params: empty rooms, the price, what to say on the card."""
    size, prior, known = size_of(config), config.prior, known_sums(config)
    guarantee = Guarantee.priced(
        event, trust=Trust.JOINT, protects=Protects.EVERYTHING, unit=config.unit, delta=config.delta
    )
    return Plan(
        params=params,
        vault=vault or (lambda: first_vault(known.copy(), np.zeros((memory_rows, size)))),
        view=lambda: (
            empty_view(config.dim)
            if prior is None
            else first_view(config.dim, params.confidence, known, 1.0 / config.reward_scale)
        ),
        report_size=config.dim + 2,
        event=event,
        guarantee=guarantee,
        draws=draws_of(config) if draws is None else draws,
        limit=limit,
        limit_hint=hint,
        noise_scale=next(iter(scales.values())),
        noise_scales=dict(list(scales.items())[1:]),
        assumptions=words.assumptions(config, limit),
        notes=words.notes(config, guarantee),
        lattice_scale=lattice_scale,
    )


def confidence_for(config: JointLinUCB, **numbers: Any) -> Confidence:
    return confidence_of(
        config.dim,
        noise_level=config.reward_noise_level,
        multiplier=width_multiplier(config.width),
        **numbers,
    )


def for_unit(config: JointLinUCB, event: Event) -> Event:
    """The event as the configured unit sees it."""
    if config.person_rounds is None:
        return event
    return PersonEvent(event, rounds=config.person_rounds, one_per_segment=config.one_row_per_segment)


def explorer(config: JointLinUCB, deviation: float = 1.0) -> Optimism | Thompson:
    """`deviation`: of the numbers that a source hands out as normal."""
    return Thompson(math.sqrt(config.dim) * deviation) if config.exploration == "thompson" else Optimism(1.0)


def bounds_of(config: JointLinUCB) -> Bounds:
    return Bounds(float(config.action_norm), float(config.reward_bound), float(config.reward_scale))


def draws_of(config: JointLinUCB) -> Draws:
    return Draws(
        choose_normals=config.dim if config.exploration == "thompson" else 0,
        choose_uniforms=1,
        learn_normals=size_of(config),
    )


def known_sums(config: JointLinUCB) -> Floats:
    """Packed sums of the prior's public rows; zeros without one."""
    return np.zeros(size_of(config)) if config.prior is None else config.prior.packed(config.reward_scale)


def size_of(config: JointLinUCB) -> int:
    """Of a row of sums: a packed triangle and a vector."""
    return linalg.packed_size(config.dim) + config.dim


def horizon_of(config: JointLinUCB) -> int:
    assert config.horizon is not None
    return config.horizon
