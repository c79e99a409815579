"""`RenyiOFUL` whose arms share a context and have a parameter each: the machine of `by_arm`, with noise on vectors.

Contexts and arms are public. So preparing a context costs nothing, its centre is the exact mean of the first ones, and
the Gram matrix of every arm is published as it is. Noise is on Σ z·ζ(y − c) of each arm and on nothing else: z the
prepared context, c the middle of the interval of rewards. One reward belongs to one public row: replacing it moves the
vector of one arm, along z, by at most ζ·Δ·L, and two arms never matter. Proof: `counters/discounted.md`, *Rewards
alone*.

Releases are at public times, of discounted sums. An estimate knows how much noise there is:

    θ̃ = H⁻¹b̃,    H = G + λI,    spread² = σ²‖z‖²_{H⁻¹} + τ²‖H⁻¹z‖²,    λ = κ·τ√p/S + the least ridge,

G and b̃ what was published of the arm, p numbers in z, τ the standard deviation of the noise in b̃, S the bound on
parameters: at κ = 1 noise of its usual length τ√p moves the estimate of an arm without rows by no more than S.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit import explorations, preparation
from tacit._types import Floats
from tacit._validate import whole
from tacit.core.plan import Draws, Plan
from tacit.core.slate import arms_slate
from tacit.counters.counter import calibrate_lattice, lattice_of, noise_offset
from tacit.counters.discounted import DiscountedCounter
from tacit.errors import BadInput
from tacit.estimators.by_arm import empty_arms_view
from tacit.estimators.noise_aware import noise_aware
from tacit.estimators.pooled import pooled
from tacit.explorations import Optimism
from tacit.policies import by_arm
from tacit.policies._options import REACH
from tacit.policies.by_arm import ByArm, by_arm_vault
from tacit.preparation import Centre, NoCentre, Preparation
from tacit.releases import Discounted

if TYPE_CHECKING:
    from tacit.policies.oful import RenyiOFUL

#: n₀ unless it is told: a centre without noise needs few rounds. docs/decisions/0028-arms.md.
CENTRE_ROUNDS = 100
#: κ.
RIDGE = 0.7


def settled_preparation(config: RenyiOFUL) -> Preparation | None:
    """What is done to contexts; refused without arms, and with arms what does not go with them."""
    if config.arms is None:
        if config.preparation is not None:
            raise BadInput(
                "Expected preparation with arms only, got it without. Prepare actions before they are offered."
            )
        return None
    whole("arms", config.arms, low=2)
    if config.protects_contexts:
        raise BadInput(
            f'Expected protects="rewards only" with arms, got {str(config.protects)!r}. Use tacit.JointLinUCB(arms=…), '
            "which protects contexts too."
        )
    for wrong, given in (
        ('calibration="published"', config.calibration == "published"),
        ("noise", config.noise is not None),
        ("width", config.width not in (None, "noise-aware")),
        ("switch", config.switch is not None),
        ("smallest_eigenvalue", config.smallest_eigenvalue is not None),
    ):
        if given:
            raise BadInput(
                f"Expected no {wrong} with arms, got it: there sums are released at public times, and widths are "
                "noise-aware. Leave it out; or give dim and no arms, for actions that are vectors."
            )
    found = preparation.as_option(config.preparation)
    return replace(found, centre_rounds=CENTRE_ROUNDS) if config.preparation in (None, "standard") else found


def counter_of(config: RenyiOFUL) -> DiscountedCounter:
    """How sums are published: the first of them as soon as an arm could be known in every direction."""
    counter = Discounted(horizon=config.horizon).counter_after(config.centre_rounds, config.block)
    assert isinstance(counter, DiscountedCounter)
    return replace(counter, vectors_only=True)


def plan_of_arms(config: RenyiOFUL, arms: int, sampler: str, **told: Any) -> Plan:
    """The plan with K arms; `told` is what it says of itself."""
    dim, block, size = config.dim, config.block, config.size
    counter = counter_of(config)
    schedule = counter.schedule(counter.first)

    def event_at(scale: float) -> Any:
        return counter.event(scale, config.sensitivity)

    scale = config.scale_for(event_at)
    event = config.for_unit(event_at(scale))
    spread = scale * counter.deviations()
    kernels: Any = counter.in_doubles(scale)
    exact, law, sums = sampler == "secure", None, np.zeros(size)
    if exact:
        laid = calibrate_lattice(
            config.promise,
            event_at,
            config.for_unit,
            rough=scale,
            sensitivity=config.sensitivity,
            coordinates=arms * block,  # a matrix has no noise, and is the same whatever a reward is
            load=counter.load(schedule),
        )
        scale, event, law = laid.scale, laid.event, laid.law
        spread = scale * counter.deviations() + noise_offset(block, laid.step, counter.draws())
        kernels, sums = counter.on_lattice(lattice_of(block, laid.step, np.zeros(size))), np.zeros((2, size))
    rows = counter.memory_rows(schedule, exact)
    params = ByArm(
        config.row_bounds(config.reward_scale)._replace(reward_middle=config.reward_middle),
        config.prepared.steps(dim, config.action_norm),
        Centre(config.centre_rounds, 0.0) if config.centre_rounds else NoCentre(),
        schedule,
        kernels,
        _estimate(config, spread),
        Optimism(),
    )
    normals, uniforms = explorations.draws_of(params.exploration, arms)
    one, *others = counter.scales(scale, spread, schedule).items()
    return Plan(
        params=params,
        vault=lambda: by_arm_vault(sums.copy(), rows, dim, config.centre_rounds > 0),
        view=lambda: empty_arms_view(arms, dim, block),
        report_size=block + by_arm.REPORTED,
        arms=arms,
        slate=lambda offered: arms_slate(dim, arms, block),
        event=event,
        guarantee=config.priced(event),
        draws=Draws(choose_normals=normals, choose_uniforms=uniforms, learn_normals=arms * block),
        limit=config.horizon,
        noise_scale=one[1],
        noise_scales=dict(others),
        law=law,
        **told,
    )


def _estimate(config: RenyiOFUL, spread: Floats) -> Any:
    """Of vectors whose noise has standard deviations `spread`, and matrices without."""
    own = noise_aware(
        spread=spread,
        width=config.block,
        ridge=RIDGE / (config.reward_scale * config.parameter_norm),
        least=1.0 if config.ridge is None else float(config.ridge),
        noise_level=config.reward_reach,
        norm=0.0,  # the matrix has no noise
        scale=config.reward_scale,
        reach=REACH,
    )
    vector, share = spread / config.reward_scale, config.prepared.constant if config.centre_rounds else 0.0
    return pooled(own, matrix=0.0, vector=vector, share=share, norm=config.action_norm, reach=config.reward_reach)
