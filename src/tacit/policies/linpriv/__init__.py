"""LinPriv: a linear bandit with disjoint arms that protects rewards by a tree for each arm.

The kernels are in `verbs`, tails of the noise in `tails`; what is proved of privacy stands in
`mechanisms/vector_tree/proof.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit._types import Floats
from tacit._validate import one_of, positive, probability, whole
from tacit.core.plan import Draws, Plan
from tacit.core.settings import option
from tacit.counters.counter import MOST_ROWS, ROUNDING, Load, calibrate_lattice, noise_offset
from tacit.errors import BadInput
from tacit.mechanisms.binary import levels
from tacit.mechanisms.vector_tree import LAPLACE_UNIFORMS
from tacit.noise import Law
from tacit.policies._rewards import RenyiPolicy
from tacit.policies.linpriv import words
from tacit.policies.linpriv.tails import gaussian_lengths, laplace_lengths
from tacit.policies.linpriv.verbs import LinPrivParams, first_vault, first_view
from tacit.privacy.event import Event, LaplaceEvent, TreeEvent
from tacit.privacy.promise import AnyPromise, PurePromise


@dataclass(frozen=True, kw_only=True)
class LinPriv(RenyiPolicy):
    """LinUCB on each arm apart, with reward sums from noised binary trees, one for each arm, released every round.

    An action is a vector of K blocks: the context of one arm in that arm's block, zeros elsewhere
    (`tacit.environments.DisjointArms`). With V = λI + Σ x xᵀ over the rounds of an arm, which are public, its released
    sum b + N and θ̂ = V⁻¹(b + N), the arm with the largest index is played:

        <θ̂, x> + β·‖x‖_{V⁻¹} + l·‖V⁻¹x‖,      β = σ√(2 ln(2K/α) + ln det V − d ln λ) + S√λ.

    Formal guarantee: all actions together are μ-GDP in the rewards for one replaced reward (or all of one person,
    `person_rounds=k`), or with Laplace noise ε-DP. It holds for every finite input, and for contexts chosen by an
    adversary; contexts and actions are public, and not protected.

    *Widths.* <x, θ̂ − θ*> = <V⁻¹x, Σ xη> − λ<V⁻¹x, θ*> + <V⁻¹x, N>, θ* the arm's own parameter. With probability
    1 − α/2K for one arm and all its rounds, so 1 − α/2 for all arms, the first two are at most β·‖x‖_{V⁻¹}
    (Abbasi-Yadkori, Pál and Szepesvári 2011). The noise N of a prefix of m nodes is at most l_m long with probability
    1 − α/(2K(n − 1)), so 1 − α/2 for all prefixes of all arms. V and x may depend on earlier releases, which have nodes
    in common with N: a bound for one fixed direction would not do, so the third term is at most ‖V⁻¹x‖·‖N‖:

    - `width="gram"` (default): l = l_m, m the nodes that the arm's sum is made of. As V grows in all directions it
      shrinks like 1/rounds, and the sum over rounds is a logarithm.
    - `width="published"`: l·‖x‖_{V⁻¹}/√λ in place of l·‖V⁻¹x‖. It shrinks like 1/√rounds, which is where the √T in the
      cost of privacy comes from. Never below the first, since ‖V⁻¹x‖ ≤ ‖x‖_{V⁻¹}/√λ_min(V) and λ_min(V) ≥ λ.

    Both are valid at α; a number multiplies the first, without proof.

    Our reading of Neel and Roth (2018) as it is described in Azize and Basu, *Rényi differentially private bandits*,
    Remark 3 and Appendix D.3, which give no constants.
    """

    slug: ClassVar[str] = "linpriv"
    summary: ClassVar[str] = (
        "LinPriv: disjoint arms on public contexts, a tree of reward sums for each arm (our reading)"
    )
    needs: ClassVar[str] = (
        "public contexts, one block of features for each arm, a horizon, bounds on contexts and rewards"
    )

    dim: int = option("number of features, arms times the length of a context")
    arms: int = option("number of arms K, each with its own block of dim/arms features")
    horizon: int = option("number of rounds served at most")
    noise: str | None = option(
        '"gaussian" or "laplace" (default: laplace for epsilon alone, which is pure DP; else gaussian)', None
    )
    calibration: str = option('"exact": the least noise that keeps the promise; no others are known here', "exact")
    reward_low: float = option("least reward; smaller ones are clipped", -1.0)
    reward_high: float = option("largest reward; larger ones are clipped", 1.0)
    width: float | str = option(
        '"gram": noise weighs as much as the public contexts say; "published": as its authors have it; or a number '
        "that multiplies the first (no guarantee then)",
        "gram",
    )
    ridge: float = option("regulariser lambda of each arm", 1.0)
    failure: float | None = option("failure probability alpha of the confidence sets (default: 1/horizon)", None)
    parameter_norm: float = option("bound S on the norm of each arm's parameter", 1.0)
    action_norm: float = option("bound L on the norm of a context; longer ones are scaled to it", 1.0)

    def __post_init__(self) -> None:
        whole("dim", self.dim)
        whole("arms", self.arms)
        if self.dim % self.arms:
            raise BadInput(
                f"Expected dim to be a multiple of arms, got dim={self.dim}, arms={self.arms}. Each arm has its own "
                "block of dim/arms features."
            )
        whole("horizon", self.horizon, low=2, hint="A horizon is the number of rounds to be served.")
        if self.noise is not None:
            one_of("noise", self.noise, ("gaussian", "laplace"))
        if self.calibration == "published":
            raise BadInput(
                f'Expected calibration="exact", got calibration={self.calibration!r}: no constants of LinPriv\'s noise '
                'are at hand to reproduce. Its form is noise="laplace", width="published".'
            )
        super().__post_init__()
        if isinstance(self.width, str):
            one_of("width", self.width, ("gram", "published"), hint="A number multiplies the width of gram.")
        else:
            positive("width", self.width, hint='Use "gram" for the proved width.')
        for name in ("ridge", "parameter_norm", "action_norm"):
            positive(name, getattr(self, name))
        if self.failure is not None:
            probability("failure", self.failure)

    @classmethod
    def examples(cls, dim: int) -> tuple[LinPriv, ...]:
        every: dict[str, Any] = {"dim": dim, "horizon": 1000}
        return (
            cls(**every, arms=1, rho=0.1),
            cls(**every, arms=dim, epsilon=1.0, width="published", person_rounds=2),
        )

    # What was asked for -----------------------------------------------------------------------------------------

    @property
    def noise_kind(self) -> str:
        """As given, else Laplace for a promise of pure DP, else Gaussian."""
        alone = self.epsilon is not None and self.rho is None and self.delta is None and self.alpha is None
        return self.noise or ("laplace" if alone else "gaussian")

    @property
    def promise(self) -> AnyPromise:
        if self.noise_kind == "gaussian":
            return super().promise
        if self.epsilon is None or not (self.rho is None and self.delta is None and self.alpha is None):
            raise BadInput(
                f'Expected epsilon alone with noise="laplace", got rho={self.rho!r}, epsilon={self.epsilon!r}, '
                f"delta={self.delta!r}, alpha={self.alpha!r}: Laplace noise gives pure DP. Other promises are kept "
                'with less by noise="gaussian".'
            )
        return PurePromise(self.epsilon)

    @property
    def width_kind(self) -> str:
        """ "gram" or "published": a number multiplies the first."""
        return self.width if isinstance(self.width, str) else "gram"

    @property
    def width_factor(self) -> float:
        """What multiplies the proved width."""
        return 1.0 if isinstance(self.width, str) else float(self.width)

    @property
    def failure_probability(self) -> float:
        """α: as given, else 1/horizon."""
        return 1 / self.horizon if self.failure is None else self.failure

    # What follows from it ---------------------------------------------------------------------------------------

    @property
    def context_dim(self) -> int:
        """d: features of one arm."""
        return self.dim // self.arms

    @property
    def nodes(self) -> int:
        """q: how many released nodes may hold one reward."""
        return levels(self.horizon)

    def event_at(self, scale: float) -> LaplaceEvent | TreeEvent:
        """What is released about one reward under noise of this scale."""
        moved = self.reward_range * self.action_norm  # ΔL
        if self.noise_kind == "laplace":
            return LaplaceEvent(scale, moved * math.sqrt(self.context_dim), self.nodes)
        return TreeEvent(scale, moved, self.nodes)

    def _lengths(self, scale: float) -> Floats:
        """l_m, each exceeded with probability α/(2K(n − 1)) at most."""
        failure = self.failure_probability / (2 * self.arms * (self.horizon - 1))
        lengths = laplace_lengths if self.noise_kind == "laplace" else gaussian_lengths
        return lengths(scale, self.context_dim, self.nodes, failure)

    def plan(self, sampler: str = "double") -> Plan:
        scale = self.scale_for(self.event_at)
        if sampler != "secure":
            return self._plan(scale, self._lengths(scale), self.for_unit(self.event_at(scale)))
        if self.horizon > MOST_ROWS:
            raise BadInput(f"Expected horizon <= {MOST_ROWS:,} on a lattice, got horizon={self.horizon:,}.")
        laid = calibrate_lattice(
            self.promise,
            self.event_at,
            self.for_unit,
            rough=scale,
            sensitivity=self.event_at(scale).sensitivity,
            coordinates=self.context_dim,
            load=Load(self.weighed(self.horizon), self.horizon, self.nodes),
            rounded="rows",
        )
        # How long rounding may make a sum: by half a step for each row, and what discrete noise is off by.
        most = ROUNDING * self.horizon * math.sqrt(self.context_dim) * laid.step
        offset = noise_offset(self.context_dim, laid.step, math.sqrt(2.0) * np.arange(self.nodes + 1.0))
        lengths = self._lengths(laid.scale) + most + offset
        return self._plan(laid.scale, lengths, laid.event, step=laid.step, law=laid.law)

    def _plan(self, scale: float, lengths: Floats, event: Event, *, step: float = 0.0, law: Law | None = None) -> Plan:
        laplace = self.noise_kind == "laplace"
        drawn = laplace and law is None  # from uniform numbers, by its quantiles
        ridge, size = float(self.ridge), self.context_dim
        params = LinPrivParams(
            arms=self.arms,
            size=size,
            action_norm=float(self.action_norm),
            reward_low=float(self.reward_low),
            reward_high=float(self.reward_high),
            ridge=ridge,
            horizon=self.horizon,
            scale=1.0 if step else scale,
            laplace=drawn,
            noise_level=self.reward_range / 2,  # of anything in an interval: Hoeffding's lemma
            log_term=2 * math.log(2 * self.arms / self.failure_probability),
            bias=self.parameter_norm * math.sqrt(ridge),
            lengths=lengths,
            from_gram=self.width_kind == "gram",
            multiplier=self.width_factor,
            step=float(step),
        )
        deviation = scale * math.sqrt(2.0 if laplace else 1.0)
        return Plan(
            params=params,
            vault=lambda: first_vault(params),
            view=lambda: first_view(params),
            report_size=size + 3,
            event=event,
            guarantee=self.priced(event),
            draws=Draws(learn_uniforms=LAPLACE_UNIFORMS * size) if drawn else Draws(learn_normals=size),
            limit=self.horizon,
            limit_hint=words.HORIZON_HINT,
            noise_scale=scale,
            noise_scales={"most of a coordinate, as a deviation": deviation * math.sqrt(self.nodes)},
            assumptions=words.assumptions(self),
            notes=words.notes(self),
            law=law,
        )
