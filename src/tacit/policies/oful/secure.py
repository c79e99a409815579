"""`RenyiOFUL` with secure noise: b = Σ x·r on a lattice; and with contexts protected, all sums of the joint policy.

What leaves the vault is whole numbers with discrete noise. What it costs: mechanisms/lattice/proof.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit.core.plan import Plan
from tacit.core.round import CLIPPED_ACTIONS, CLIPPED_REWARDS, REPAIRS, ROWS
from tacit.core.verbs import absorb, choose, encode, release
from tacit.errors import BadInput
from tacit.estimators.ridge import Confidence, View, fit
from tacit.mechanisms.lattice import MOST_ROWS, Lattice, noise_offset
from tacit.mechanisms.lattice.pairs import added_one
from tacit.mechanisms.lattice.root import identity_weights, release_root
from tacit.mechanisms.lattice.toeplitz import Coder, release_prefix
from tacit.mechanisms.root_toeplitz import noise_variances
from tacit.policies._secure import lay, refuse_published
from tacit.policies.joint_linucb.lattice_verbs import absorb_row
from tacit.policies.oful import released
from tacit.policies.oful.verbs import OFULParams, RowBounds, choose_arm, encode_row, first_vault, write_view

if TYPE_CHECKING:
    from tacit.policies.oful.renyi import RenyiOFUL


class LatticeOFULParams(NamedTuple):
    """Params of `RenyiOFUL` (rewards only) with secure noise."""

    bounds: RowBounds
    oful: OFULParams
    step: float  # h
    encoder: Floats  # (L_max,) of C; `oful.weights` are those of B


class LatticeOFULVault(NamedTuple):
    """Secret: what has come in before each release. The rest as in `OFULVault`, in which b is left out of the sums."""

    sums: Floats  # packed Σ x xᵀ, then zeros
    noise: Floats  # packed like the sums: zeros, then b as published
    segments: Floats  # (2, L_max + 1, d) Σ x·r between releases, in steps: pairs of doubles, high and low
    released: Floats  # (L_max, d) whole numbers
    inverse: Floats  # (d, d) V⁻¹
    grown: Floats  # (1,) det V over that of the last view
    product: Floats  # (d,) scratch
    scratch: Floats  # (d, d)
    place: Ints  # (1,) the segment that is being summed up
    counters: Ints


class LatticeReleasedParams(NamedTuple):
    """Params of `RenyiOFUL(protects="contexts and rewards")` with secure noise."""

    bounds: RowBounds
    confidence: Confidence
    lattice: Lattice
    coder: Coder
    horizon: int
    log_growth: float  # ln(1 + C)


def secure_plan(config: RenyiOFUL) -> Plan:
    """The plan of this configuration with secure noise."""
    refuse_published(config.calibration, config.slug)
    if config.horizon > MOST_ROWS:
        raise BadInput(f"Expected horizon <= {MOST_ROWS:,} on a lattice, got horizon={config.horizon:,}.")
    if config.protects_contexts:
        return _released_plan(config)
    dim, most, ridge = config.dim, config.most_views, config.regulariser
    rough, decoder, _ = config._noise(most)
    plain = config.noise_kind == "sum"
    laid = lay(
        config.promise,
        lambda scale: config.event_at(scale, most),
        config.for_unit,
        rough=rough,
        sensitivity=config.sensitivity,
        coordinates=dim,
        weight=config.weighed(config.horizon),
        rows=config.horizon,
        releases=most,
    )
    # Deviations, with what discrete noise and rounding are off by; the width multiplies them by √d at least.
    offset = math.sqrt(2.0) * noise_offset(1, laid.step, np.cumsum(decoder))
    variances = (np.sqrt(noise_variances(laid.scale, decoder)) + offset) ** 2
    params = LatticeOFULParams(
        bounds=config.row_bounds(),
        oful=config._params(laid.scale, decoder, variances),
        step=laid.step,
        encoder=identity_weights(most) if plain else decoder,
    )
    return config._plan(params, laid.event, vault=lambda: _first_vault(dim, ridge, most), lattice_scale=laid.steps)


def _first_vault(dim: int, ridge: float, most: int) -> LatticeOFULVault:
    plain = first_vault(dim, ridge, most)
    return LatticeOFULVault(
        sums=plain.sums,
        noise=plain.noise,
        segments=np.zeros((2, most + 1, dim)),
        released=plain.draws,
        inverse=plain.inverse,
        grown=plain.grown,
        product=plain.product,
        scratch=plain.scratch,
        place=np.zeros(1, np.int64),
        counters=plain.counters,
    )


def _released_plan(config: RenyiOFUL) -> Plan:
    joint = released.as_joint(config)
    plan = joint.secure_plan()
    params = LatticeReleasedParams(
        bounds=config.row_bounds(joint.reward_scale),
        confidence=plan.params.confidence,
        lattice=plan.params.lattice,
        coder=plan.params.coder,
        horizon=config.horizon,
        log_growth=released.log_growth(config),
    )
    return released.around(config, plan, params)


implements(choose, LatticeOFULParams)(choose_arm)
implements(encode, LatticeOFULParams)(encode_row)


@implements(absorb, LatticeOFULParams)
@kernel
def _absorb(params: LatticeOFULParams, vault: LatticeOFULVault, report: Floats) -> None:
    dim = report.shape[0] - 2
    x, reward, place = report[:dim], report[dim], vault.place[0]
    linalg.add_outer(x, 0.0, dim, vault.sums)
    high, low = vault.segments[0, place], vault.segments[1, place]
    for i in range(dim):
        high[i], low[i] = added_one(high[i], low[i], x[i] * reward / params.step)
    clipped = int(report[dim + 1])
    vault.counters[ROWS] += 1
    vault.counters[CLIPPED_ACTIONS] += clipped & 1
    vault.counters[CLIPPED_REWARDS] += clipped >> 1
    vault.grown[0] /= linalg.add_outer_to_inverse(vault.inverse, x, 1.0, vault.product)


@implements(release, LatticeOFULParams)
@kernel
def _release(params: LatticeOFULParams, vault: LatticeOFULVault, view: View, noise: Any) -> None:
    """Publish b, if det V has grown enough since the last view, and the view it implies.

    Formal guarantee: the sequence of views is μ-GDP for one replaced reward, μ the price of `LatticeEvent` of
    `RootToeplitzEvent`, or of `SegmentsEvent` with the plain sum. Proof: mechanisms/lattice/proof.md.
    Requires: rows clipped by `encode`; called once per `absorb`.
    """
    own, stage = params.oful, view.stage[0]
    if vault.grown[0] <= own.growth or stage >= own.most:
        return
    vault.place[0] = stage + 1
    start = vault.noise.shape[0] - view.theta.shape[0]
    published = vault.noise[start:]
    release_root(params.encoder, own.weights, params.step, vault.segments, vault.released, stage, published, noise)
    write_view(own, vault, view)


implements(choose, LatticeReleasedParams)(released.choose_played)
implements(encode, LatticeReleasedParams)(encode_row)
implements(absorb, LatticeReleasedParams)(absorb_row)


@implements(release, LatticeReleasedParams)
@kernel
def _release_all(params: LatticeReleasedParams, vault: Any, view: Any, noise: Any) -> None:
    """Publish all rows so far, every round but the last, and play what is published if its determinant has grown.

    Formal guarantee: the views are μ-GDP for one replaced row, μ the price of `LatticeEvent(ToeplitzEvent(...))`.
    Proof: mechanisms/lattice/proof.md.
    Requires: rows clipped by `encode`; called once per `absorb`.
    """
    if vault.counters[ROWS] >= params.horizon:
        return
    at = release_prefix(params.coder, params.lattice, vault.memory, vault.sums, noise)
    unscale = 1.0 / params.bounds.reward_scale
    vault.counters[REPAIRS] += fit(params.confidence, params.lattice.known, vault.memory[at], unscale, view)
    released.play_if_grown(params.log_growth, view)
