"""AdaR-OFUL: the configuration, what it refuses, and what follows from it where rewards alone are protected."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from tacit._types import Floats
from tacit._validate import one_of, positive, probability, whole
from tacit.core.plan import Draws, Plan
from tacit.core.settings import option
from tacit.errors import BadInput
from tacit.mechanisms.root_toeplitz import noise_variances, root_weights, sum_weights
from tacit.policies._rewards import RenyiPolicy
from tacit.policies.oful import released, secure, words
from tacit.policies.oful.switching import growth_factor, most_views
from tacit.policies.oful.verbs import OFULParams, RowBounds, Width, first_vault, first_view
from tacit.privacy.event import Event, RootToeplitzEvent, SegmentsEvent
from tacit.privacy.scope import Protects, Trust

#: Default C per noise: the plain sum gets noisier with every view, so it makes fewer. docs/decisions/0017-oful.md.
DEFAULT_SWITCH = {"toeplitz": 1.0, "sum": 3.0}


@dataclass(frozen=True, kw_only=True)
class RenyiOFUL(RenyiPolicy):
    """OFUL on public contexts whose choices reveal almost nothing of any one reward (AdaR-OFUL).

    The view is replaced when det V, V = λI + Σ x xᵀ of the actions taken, has grown by the factor 1 + C: at most
    d·log_{1+C}(1 + TL²/(λd)) times. Each time b = Σ x·r is released with Gaussian noise, and the optimist plays

        argmax <θ̃, a> + β·‖a‖_{V⁻¹},   θ̃ = V⁻¹(b + N_l)

    until the next. Between two releases the policy is frozen, and no privacy is spent.

    Formal guarantee (`protects="rewards only"`): all actions together are μ-GDP in the rewards for one replaced reward
    (or all of one person, `person_rounds=k`): ρ-zCDP with ρ = μ²/2, (α, ρα)-RDP for every α at once, and (ε, δ) on the
    exact curve. It holds for every finite input; longer actions are scaled and rewards clipped before they are summed.
    Contexts and actions are public, and not protected.

    `noise="toeplitz"` (default) correlates the noise of the releases: after 72 of them its variance is that of 6 draws.
    `noise="sum"` is the paper's, that of 72. `width="gram"` (default) uses that V is public and needs no assumption;
    `width="paper"` rests on the paper's assumption on the contexts. A number multiplies the first, without proof.

    `protects="contexts and rewards"` gives joint DP of both: V too is released with noise, in every round, and the view
    that is played is replaced when the *released* determinant has grown. It has no regret theorem.

    Azize and Basu, *Rényi differentially private bandits*, Algorithm 4; proof of privacy in
    mechanisms/root_toeplitz/proof.md.
    """

    slug: ClassVar[str] = "renyi-oful"
    summary: ClassVar[str] = "AdaR-OFUL: rewards released rarely (with contexts protected too: no regret theorem)"
    needs: ClassVar[str] = "public contexts, a horizon, bounds on actions and rewards"
    published_range: ClassVar[float] = 2.0

    dim: int = option("number of features d")
    horizon: int = option("number of rounds T served at most: it bounds the number of releases")
    protects: str = option(  # type: ignore[assignment, misc]
        '"rewards only" (contexts are public), or "contexts and rewards" (joint DP, no regret theorem)',
        Protects.REWARDS,
    )
    reward_low: float = option("least reward; smaller ones are clipped", -1.0)
    reward_high: float = option("largest reward; larger ones are clipped", 1.0)
    noise: str | None = option('"toeplitz" (default) or "sum" (default of the published calibration)', None)
    width: float | str | None = option(
        '"gram" (default: the smallest eigenvalue of V, which is public), "paper" (default of the published '
        "calibration), or a number that multiplies the first (no guarantee then)",
        None,
    )
    switch: float | None = option("C: a new view when det V has grown by 1 + C (default: 1; 3 for the plain sum)", None)
    ridge: float | None = option("regulariser lambda (default: what balances it with the noise; 1 if published)", None)
    smallest_eigenvalue: float | None = option(
        'width="paper": least eigenvalue of the mean of x xT, for contexts of norm 1 (default: 1/dim)',
        None,
    )
    failure: float | None = option("failure probability of the confidence sets (default: 1/horizon)", None)
    parameter_norm: float = option("bound S on the norm of the unknown parameter", 1.0)
    action_norm: float = option("bound L on the norm of an action; longer ones are scaled to it", 1.0)

    def __post_init__(self) -> None:
        whole("dim", self.dim)
        whole("horizon", self.horizon, low=2, hint="A horizon is the number of rounds to be served.")
        allowed = (Protects.REWARDS.value, Protects.EVERYTHING.value)
        object.__setattr__(self, "protects", Protects(one_of("protects", self.protects, allowed)))
        if self.protects_contexts:
            # A person's own action depends on that person's own context: what *others* see is protected.
            object.__setattr__(self, "trust", Trust.JOINT)
        super().__post_init__()
        if self.noise is not None:
            one_of("noise", self.noise, DEFAULT_SWITCH)
        if isinstance(self.width, str):
            one_of("width", self.width, ("gram", "paper"), hint="A number multiplies the width of gram.")
        elif self.width is not None:
            positive("width", self.width, hint='Use "gram" for the proved width.')
        for name in ("switch", "ridge", "smallest_eigenvalue", "parameter_norm", "action_norm"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))
        if self.failure is not None:
            probability("failure", self.failure)
        if self.smallest_eigenvalue is not None:
            self._check_eigenvalue()
        if self.protects_contexts:
            self._check_released()

    def _check_eigenvalue(self) -> None:
        assert self.smallest_eigenvalue is not None
        if self.width_kind != "paper":
            raise BadInput(
                f'Expected smallest_eigenvalue with width="paper" only, got width={self.width!r}: the other widths '
                "read the eigenvalue off the actions themselves. Leave it out."
            )
        if self.smallest_eigenvalue > 1 / self.dim:
            raise BadInput(
                f"Expected smallest_eigenvalue <= {1 / self.dim:g}, got smallest_eigenvalue="
                f"{self.smallest_eigenvalue!r}: of unit vectors in {self.dim} dimensions none is larger than 1/dim."
            )

    def _check_released(self) -> None:
        """What protecting contexts does not go with."""
        for wrong, given in (
            ('calibration="published"', self.calibration == "published"),
            ('noise="sum"', self.noise == "sum"),
            ('width="paper"', self.width == "paper"),
        ):
            if given:
                raise BadInput(
                    f'Expected no {wrong} with protects="contexts and rewards", got it: there V is released in every '
                    "round, which the paper does not do. Leave it out."
                )

    @classmethod
    def examples(cls, dim: int) -> tuple[RenyiOFUL, ...]:
        every: dict[str, Any] = {"dim": dim, "horizon": 1000}
        return (
            cls(**every, rho=0.1),
            cls(**every, alpha=2.0, epsilon=0.1, calibration="published"),
            cls(**every, epsilon=1.0, delta=1e-6, protects="contexts and rewards"),
        )

    # What was asked for -----------------------------------------------------------------------------------------

    @property
    def protects_contexts(self) -> bool:
        """Whether contexts are protected too."""
        return self.protects == Protects.EVERYTHING

    @property
    def noise_kind(self) -> str:
        """As given, else "toeplitz", or as published "sum"."""
        return self.noise or ("sum" if self.calibration == "published" else "toeplitz")

    @property
    def width_kind(self) -> str:
        """ "gram" or "paper": a number multiplies the first."""
        if self.width is None:
            return "paper" if self.calibration == "published" else "gram"
        return self.width if isinstance(self.width, str) else "gram"

    @property
    def width_factor(self) -> float:
        """What multiplies the proved width."""
        return 1.0 if self.width is None or isinstance(self.width, str) else float(self.width)

    @property
    def growth(self) -> float:
        """C: as given, else what goes with the noise."""
        return DEFAULT_SWITCH[self.noise_kind] if self.switch is None else float(self.switch)

    @property
    def failure_probability(self) -> float:
        """δ: as given, else 1/horizon."""
        return 1 / self.horizon if self.failure is None else self.failure

    # What follows from it ---------------------------------------------------------------------------------------

    @property
    def sensitivity(self) -> float:
        """ΔL: how far one replaced reward can move Σ x·r."""
        return self.reward_range * self.action_norm

    @property
    def noise_of_sum(self) -> float:
        """s: the noise that one release of one sum would need."""
        if self.calibration == "published":
            return self.published_scale
        return self.scale_for(lambda scale: SegmentsEvent(scale, self.sensitivity))

    @property
    def regulariser(self) -> float:
        """λ: as given; else max(L², s·√(d·L_max)/S), with L_max for λ = L² (1 and s·√(d·L_max) for unit norms).

        No theorem asks for it: S√λ and the noise's share ‖N‖/√λ of the width are then about equal before V has grown.
        docs/decisions/0017-oful.md has the measurement. As published: 1.
        """
        if self.ridge is not None:
            return float(self.ridge)
        if self.calibration == "published" or self.protects_contexts:
            return 1.0
        least = float(self.action_norm) ** 2
        spread = self.noise_of_sum * math.sqrt(self.dim * self._most(least))
        return max(least, spread / self.parameter_norm)

    @property
    def most_views(self) -> int:
        """L_max: how many views can be released."""
        return self.horizon - 1 if self.protects_contexts else self._most(self.regulariser)

    def _most(self, ridge: float) -> int:
        return most_views(self.dim, self.horizon, ridge=ridge, switch=self.growth, action_norm=self.action_norm)

    def event_at(self, scale: float, most: int) -> Event:
        """What `most` releases with draws of this scale say about one reward."""
        if self.noise_kind == "sum":
            return SegmentsEvent(scale, self.sensitivity)
        return RootToeplitzEvent(scale, self.sensitivity, most)

    def _noise(self, most: int) -> tuple[float, Floats, Event]:
        """Scale of a draw, how draws add up, and what is released about one reward."""
        if self.noise_kind == "sum":
            scale = self.noise_of_sum
            return scale, sum_weights(most), self.event_at(scale, most)
        weights = root_weights(most)
        if self.calibration == "published":  # the paper's noise, in the other order: the same price
            scale = self.published_scale * math.sqrt(float(weights @ weights))
        else:
            scale = self.scale_for(lambda scale: self.event_at(scale, most))
        return scale, weights, self.event_at(scale, most)

    def _width(self, ridge: float, most: int) -> Width:
        """The numbers of β. A third of δ each: for the martingale, for the noise, and in the paper for the contexts."""
        dim, gram = self.dim, self.width_kind == "gram"
        share = self.failure_probability / 3  # δ'
        # Noise changes at releases only; the paper spends its share on every round.
        log_noise = math.log((most if gram else self.horizon) / share)  # g
        return Width(
            multiplier=self.width_factor,
            noise_level=self.reward_range / 2,  # of anything in an interval: Hoeffding's lemma
            log_term=2 * math.log(1 / share),
            log_floor=dim * math.log(ridge),
            bias=self.parameter_norm * math.sqrt(ridge),
            tail=dim + 2 * math.sqrt(dim * log_noise) + 2 * log_noise,
            from_gram=gram,
            eigenvalue=1 / dim if self.smallest_eigenvalue is None else float(self.smallest_eigenvalue),
            log_rows=math.log(dim / share),
        )

    def row_bounds(self, reward_scale: float = 1.0) -> RowBounds:
        """What a row may weigh."""
        low, high = float(self.reward_low), float(self.reward_high)
        return RowBounds(float(self.action_norm), low, high, max(abs(low), abs(high)), reward_scale)

    def plan(self) -> Plan:
        if self.protects_contexts:
            return released.plan_of(self)
        dim, ridge, most = self.dim, self.regulariser, self.most_views
        scale, weights, event = self._noise(most)
        params = self._params(scale, weights, noise_variances(scale, weights))
        return self._plan(params, self.for_unit(event), vault=lambda: first_vault(dim, ridge, most))

    def secure_plan(self) -> Plan:
        return secure.secure_plan(self)

    def _params(self, scale: float, weights: Floats, variances: Floats) -> OFULParams:
        return OFULParams(
            bounds=self.row_bounds(),
            ridge=self.regulariser,
            growth=growth_factor(self.growth),
            most=self.most_views,
            scale=scale,
            weights=weights,
            variances=variances,
            width=self._width(self.regulariser, self.most_views),
        )

    def _plan(self, params: Any, event: Event, **rest: Any) -> Plan:
        """`params`: those of the policy, or what holds them."""
        own: OFULParams = getattr(params, "oful", params)
        return Plan(
            params=params,
            view=lambda: first_view(self.dim, own.ridge, own.width),
            report_size=self.dim + 2,
            event=event,
            guarantee=self.priced(event),
            draws=Draws(learn_normals=self.dim),
            limit=self.horizon,
            limit_hint=words.HORIZON_HINT,
            noise_scale=own.scale,
            noise_scales={"last release": math.sqrt(float(own.variances[-1]))},
            assumptions=words.assumptions(self),
            notes=words.notes(self, own.most),
            **rest,
        )
