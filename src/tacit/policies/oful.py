"""Optimism on linear rewards that changes its mind rarely: `RenyiOFUL` under Rényi privacy, `OFUL` without.

On public actions both run on `switching`. Where contexts are protected too, the Gram matrix itself is published with
noise in every round, by the mechanism of `JointLinUCB(releases="toeplitz")`, at its price and with its confidence sets;
the view that is *played* is replaced when the published determinant has grown, which is post-processing. What a release
costs is proved in `counters/segments.md` and `counters/toeplitz.md`. With `arms` it is the machine of `by_arm`, as
`oful_arms` says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit._validate import at_least, one_of, positive, probability, whole
from tacit.core.plan import Draws, Plan
from tacit.core.policy import Policy
from tacit.core.settings import option
from tacit.core.slate import Slate
from tacit.counters.counter import MOST_ROWS, Load, calibrate_lattice, noise_offset
from tacit.counters.exact import ExactCounter
from tacit.counters.segments import SegmentsCounter, noise_variances
from tacit.errors import BadInput
from tacit.estimators.ridge import Confidence, View, empty_view, fit, fit_ridge
from tacit.explorations import Optimism, explore, optimistic_arm
from tacit.policies._options import failure_or_default, width_multiplier
from tacit.policies._rewards import ONE_REWARD, PUBLIC, RenyiPolicy
from tacit.policies.joint_linucb import JointLinUCB
from tacit.policies.linear import REPORTED, Bounds, no_bounds
from tacit.policies.oful_arms import plan_of_arms, settled_preparation
from tacit.policies.switching import (
    Switching,
    Width,
    first_view,
    growth_factor,
    most_views,
    switching_vault,
)
from tacit.preparation import Preparation
from tacit.privacy import gdp
from tacit.privacy.event import SegmentsEvent
from tacit.privacy.guarantee import Guarantee
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

    With `arms` K arms share a context and have a parameter each: `choose(context)`, `learn(context, arm, reward)`.
    Contexts are centred and brought to one length, every arm's matrix is exact, and only Σ z·r of each has noise,
    released at public times. Widths know how much noise there is; no theorem on regret is claimed for them.

    >>> import tacit
    >>> config = tacit.RenyiOFUL(arms=3, dim=2, horizon=1000, epsilon=3, delta=1e-6)
    >>> config.start(seed=1).choose([0.6, 0.8], allowed=[2])
    2

    Azize and Basu, *Rényi differentially private bandits*, Algorithm 4; proof of privacy in
    counters/segments.md.
    """

    slug: ClassVar[str] = "renyi-oful"
    summary: ClassVar[str] = "AdaR-OFUL: rewards released rarely (with contexts protected too: no regret theorem)"
    needs: ClassVar[str] = "public contexts, a horizon, bounds on actions and rewards"
    published_range: ClassVar[float] = 2.0

    by_arm: ClassVar[bool] = True

    dim: int = option("number of features d of an action, or with arms of a context")
    arms: int | None = option(
        "number of arms that share a context and have a parameter each; none: actions are vectors", None
    )
    horizon: int = option("number of rounds T served at most: it bounds the number of releases")
    protects: str = option(  # type: ignore[assignment, misc]
        '"rewards only" (contexts are public), or "contexts and rewards" (joint DP, no regret theorem)',
        Protects.REWARDS,
    )
    reward_low: float = option("least reward; smaller ones are clipped (default: -1, with arms 0)", None)
    reward_high: float = option("largest reward; larger ones are clipped", 1.0)
    preparation: Any = option(
        'how contexts are prepared, with arms: "standard" (centred after 100 rounds), "none", or a tacit.Preparation',
        None,
    )
    noise: str | None = option('"toeplitz" (default) or "sum" (default of the published calibration)', None)
    width: float | str | None = option(
        '"gram" (default: the smallest eigenvalue of V, which is public), "paper" (default of the published '
        'calibration), or a number that multiplies the first (no guarantee then); with arms "noise-aware" alone',
        None,
    )
    switch: float | None = option("C: a new view when det V has grown by 1 + C (default: 1; 3 for the plain sum)", None)
    ridge: float | None = option(
        "regulariser lambda (default: what balances it with the noise; 1 if published); with arms the least one (1)",
        None,
    )
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
        if self.reward_low is None:
            object.__setattr__(self, "reward_low", -1.0 if self.arms is None else 0.0)
        super().__post_init__()
        if self.noise is not None:
            one_of("noise", self.noise, DEFAULT_SWITCH)
        if isinstance(self.width, str):
            words = ("gram", "paper") if self.arms is None else ("noise-aware",)
            one_of("width", self.width, words, hint="A number multiplies the width of gram.")
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
        object.__setattr__(self, "preparation", settled_preparation(self))

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
            cls(**every, epsilon=1.0, delta=1e-6, arms=3, preparation=Preparation(centre_rounds=12)),
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
        """ΔL: how far one replaced reward can move Σ x·r; with arms ζΔL, of Σ z·ζ(r − c) of the arm that it is for."""
        return self.reward_scale * self.reward_range * self.action_norm

    @property
    def reward_middle(self) -> float:
        """c: with arms taken off every reward before it is summed. With a constant coordinate that loses nothing."""
        return 0.0 if self.arms is None else (self.reward_low + self.reward_high) / 2

    @property
    def reward_reach(self) -> float:
        """B: how far a reward may be from the middle."""
        return float(max(self.reward_high - self.reward_middle, self.reward_middle - self.reward_low))

    @property
    def reward_scale(self) -> float:
        """ζ: with arms rewards are summed times L/B, and weigh as much as contexts. It changes nothing but the unit."""
        return 1.0 if self.arms is None else self.action_norm / self.reward_reach

    @property
    def blocks(self) -> int:
        """How many matrices there are: one, or one for each arm."""
        return 1 if self.arms is None else self.arms

    @property
    def prepared(self) -> Preparation:
        """What is done to contexts, with arms."""
        assert isinstance(self.preparation, Preparation)
        return self.preparation

    @property
    def block(self) -> int:
        """p: rows of a matrix."""
        return self.dim if self.arms is None else self.prepared.width(self.dim)

    @property
    def size(self) -> int:
        """Of a row of sums: for each matrix a packed triangle and a vector."""
        return self.blocks * linalg.block_size(self.block)

    @property
    def centre_rounds(self) -> int:
        """n₀: with arms, rounds whose contexts make the centre, and whose rewards are in no sum."""
        return 0 if self.arms is None else self.prepared.centre_rounds

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

    @property
    def counter(self) -> SegmentsCounter:
        """How b is published, where rewards alone are protected."""
        return SegmentsCounter(self.most_views, plain=self.noise_kind == "sum")

    def _scale(self, counter: SegmentsCounter) -> float:
        """Of one draw."""
        if self.calibration == "published":  # the paper's noise; correlated, in the other order: the same price
            spread = 1.0 if counter.plain else math.sqrt(float(counter.weights @ counter.weights))
            return self.published_scale * spread
        return self.scale_for(lambda scale: counter.event(scale, self.sensitivity))

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

    def row_bounds(self, reward_scale: float = 1.0) -> Bounds:
        """What a row may weigh."""
        return Bounds(float(self.action_norm), float(self.reward_low), float(self.reward_high), 0.0, reward_scale)

    def plan(self, sampler: str = "double") -> Plan:
        exact = sampler == "secure"
        if exact and self.horizon > MOST_ROWS:
            raise BadInput(f"Expected horizon <= {MOST_ROWS:,} on a lattice, got horizon={self.horizon:,}.")
        if self.protects_contexts:
            return self._held_plan(sampler)
        if self.arms is not None:
            said: dict[str, Any] = {"assumptions": _assumptions(self), "notes": (_NOISE_AWARE,)}
            return plan_of_arms(self, self.arms, sampler, limit_hint=_HORIZON_HINT, **said)
        dim, ridge, most, counter = self.dim, self.regulariser, self.most_views, self.counter
        scale = self._scale(counter)
        event = self.for_unit(counter.event(scale, self.sensitivity))
        variances = noise_variances(scale, counter.weights)
        kernels: Any = counter.in_doubles(scale)
        law = None
        if exact:
            laid = calibrate_lattice(
                None if self.calibration == "published" else self.promise,
                lambda scale: counter.event(scale, self.sensitivity),
                self.for_unit,
                rough=scale,
                sensitivity=self.sensitivity,
                coordinates=dim,
                load=Load(self.weighed(self.horizon), self.horizon, most),
            )
            scale, event, law = laid.scale, laid.event, laid.law
            # Deviations, with what discrete noise and rounding are off by; the width multiplies them by √d at least.
            offset = math.sqrt(2.0) * noise_offset(1, laid.step, counter.draws())
            variances = (np.sqrt(noise_variances(scale, counter.weights)) + offset) ** 2
            kernels = counter.on_lattice(scale, laid.step)
        width = self._width(ridge, most)
        params = Switching(self.row_bounds(), ridge, growth_factor(self.growth), most, kernels, variances, width)
        return Plan(
            params=params,
            vault=lambda: switching_vault(dim, ridge, counter.sums(dim, exact), counter.memory(dim)),
            view=lambda: first_view(dim, ridge, width),
            report_size=dim + REPORTED,
            event=event,
            guarantee=self.priced(event),
            draws=Draws(learn_normals=dim),
            limit=self.horizon,
            limit_hint=_HORIZON_HINT,
            noise_scale=scale,
            noise_scales={"last release": math.sqrt(float(variances[-1]))},
            assumptions=_assumptions(self),
            notes=_notes(self, most),
            law=law,
        )

    # Contexts protected too -------------------------------------------------------------------------------------

    def as_joint(self) -> JointLinUCB:
        """The policy whose mechanism and confidence sets protect contexts too.

        Its promise is (ε, δ): any point on the Gaussian curve of the promised μ says the same. At ε = μ²/2 + μ the
        curve is neither flat nor steep, so nothing is lost in rounding.
        """
        mu = self.promise.mu
        assert mu is not None, "a promise of pure DP is refused by the configuration"
        epsilon = mu * mu / 2 + mu
        return JointLinUCB(
            dim=self.dim,
            epsilon=epsilon,
            delta=gdp.delta_at(mu, epsilon),
            releases="toeplitz",
            horizon=self.horizon,
            person_rounds=self.person_rounds,
            action_norm=self.action_norm,
            reward_low=-max(abs(float(self.reward_low)), abs(float(self.reward_high))),
            reward_high=max(abs(float(self.reward_low)), abs(float(self.reward_high))),
            parameter_norm=self.parameter_norm,
            noise_level=self.reward_range / 2,
            failure=self.failure_probability,
            width="theory" if self.width_factor == 1 else self.width_factor,
            ridge=self.regulariser,
        )

    def _held_plan(self, sampler: str) -> Plan:
        """The joint policy's plan, with choices made from the view that is held."""
        joint = self.as_joint()
        plan = joint.plan(sampler)
        held = Held(plan.params.estimate, math.log(growth_factor(self.growth)))
        return replace(
            plan,
            params=plan.params._replace(
                row=self.row_bounds(joint.reward_scale), estimate=held, exploration=HeldOptimism()
            ),
            view=lambda: first_held_view(self.dim),
            guarantee=self.priced(plan.event),
            limit=self.horizon,
            limit_hint=_HORIZON_HINT,
            assumptions=_assumptions(self),
            notes=_notes(self, self.horizon - 1),
        )


class HeldView(NamedTuple):
    """All of it post-processing of releases: the latest, and the one that is played."""

    theta: Floats  # (d,) θ̃ of the latest release
    factor: Floats  # (d, d) upper triangular, V = UᵀU, of the latest release
    whiten: Floats  # (d, d) lower triangular, U⁻ᵀ
    width: Floats  # (1,) β
    stage: Ints  # (1,) releases so far: one per row
    played_theta: Floats  # (d,) of the view that choices are made with
    played_whiten: Floats  # (d, d) of that view
    played_width: Floats  # (1,) β of that view; 0 before the first release
    played_size: Floats  # (1,) ln det V of that view


#: Below the logarithm of every determinant, and a number that a message can carry.
_NOTHING_HELD = -1e99


def first_held_view(dim: int) -> HeldView:
    """Before any release: nothing is known, and arms are drawn evenly."""
    return HeldView(*empty_view(dim), np.zeros(dim), np.zeros((dim, dim)), np.zeros(1), np.full(1, _NOTHING_HELD))


class Held(NamedTuple):
    """A regression after every release, and the view that is played replaced when ln det V has grown by so much since
    it was last replaced. No regret theorem is known: the published V of the next round is not V plus one row, and the
    analysis of rare switching rests on that."""

    confidence: Confidence
    log_growth: float  # ln(1 + C)


class HeldOptimism(NamedTuple):
    """The optimist's arm by the view that is held."""

    reach: float = 1.0


@implements(fit, Held)
@kernel
def _fit_held(estimate: Held, published: Floats, view: HeldView) -> int:
    repairs = fit_ridge(estimate.confidence, published, view)
    size = linalg.log_determinant(view.factor)
    if size > view.played_size[0] + estimate.log_growth:
        view.played_size[0] = size
        view.played_width[0] = view.width[0]
        for i in range(view.theta.shape[0]):
            view.played_theta[i] = view.theta[i]
            for j in range(i + 1):
                view.played_whiten[i, j] = view.whiten[i, j]
    return repairs


@implements(explore, HeldOptimism)
@kernel
def _held_arm(exploration: HeldOptimism, view: HeldView, slate: Slate, noise: Any) -> int:
    played = View(view.played_theta, view.factor, view.played_whiten, view.played_width, view.stage)
    return optimistic_arm(Optimism(exploration.reach), played, slate, noise)


# What a plan says of itself on the card -------------------------------------------------------------------------------


_NOISE_AWARE = (
    "Sums are released at times that are fixed in advance, and the matrix of each arm as it is: it is public. "
    "Noise-aware width: no theorem on regret; privacy is unaffected."
)
_HORIZON_HINT = "start a new epoch (its budget adds) or plan for a longer horizon."


def _assumptions(config: RenyiOFUL) -> tuple[str, ...]:
    """What the guarantee needs, and what it does not."""
    clipping = (
        f"Actions longer than {config.action_norm:g} are scaled to it and rewards outside [{config.reward_low:g}, "
        f"{config.reward_high:g}] are clipped before they are summed, so the guarantee needs no assumption on them."
    )
    unit = (
        "The unit is the round: somebody with several rounds has several times the exposure."
        if config.person_rounds is None
        else f"The unit is the person: at most {config.person_rounds} rewards of a person are learned; further "
        "rounds are served. Whoever calls `learn` names the same person by the same id."
    )
    scope = () if config.protects_contexts else (PUBLIC, ONE_REWARD)
    prepared = () if config.arms is None else (config.preparation.describe(),)
    return (
        *scope,
        clipping,
        *prepared,
        "Rows are learned in the order of decisions, whatever came of them, and a reward counts once. A caller of "
        "`learn` calls it once for each choice.",
        f"At most {config.horizon:,} rounds; then the learner refuses.",
        unit,
    )


def _notes(config: RenyiOFUL, most: int) -> tuple[str, ...]:
    """What a reader should know besides the promise."""
    said = []
    if config.protects_contexts:
        said.append(
            "NO REGRET THEOREM: contexts are protected by releasing the Gram matrix with noise in every round, and the "
            "view that is played is replaced when the released determinant has grown. Its confidence set is proved; "
            "the analysis of rare switching does not carry over."
        )
    else:
        said.append(
            f"At most {most:,} releases, when the determinant of the public Gram matrix has grown by the factor "
            f"{1 + config.growth:g}; nothing is spent in between."
        )
    if config.calibration == "published":
        said.append(
            "Published constants: the paper states its noise for rewards in [-1, 1] and actions of norm 1. "
            "What it gives here is priced afresh."
        )
    if config.width_kind == "paper":
        said.append(
            "The paper's width assumes contexts drawn at random whose smallest eigenvalue is "
            f"{config.smallest_eigenvalue or 1 / config.dim:.4g}; its condition on their variance fails for uniform "
            'unit vectors, and the width is far too large for long. width="gram" needs neither.'
        )
    if config.width_factor != 1:
        said.append(
            f"Width multiplied by {config.width_factor:g}: no guarantee on the confidence set; privacy is unaffected."
        )
    return tuple(said)


# Without privacy ------------------------------------------------------------------------------------------------------


#: Views without end: nothing is spent on one.
_NO_END = 2**62


@dataclass(frozen=True, kw_only=True)
class OFUL(Policy):
    """Optimism on ridge regression with a new view only when det V has grown by the factor 1 + C; with `switch=0` after
    every row (Abbasi-Yadkori, Pál and Szepesvári 2011, Section 5.1).

    Not private: every choice depends on everybody's exact data. It differs from `LinUCB` in switching rarely, and in
    β = σ√(2 ln(1/δ) + ln det V − d ln λ) + S√λ, which spends its failure probability δ on one event.
    """

    slug: ClassVar[str] = "oful"
    summary: ClassVar[str] = "rarely-switching OFUL without privacy: the baseline of renyi-oful"
    trust: ClassVar[Trust] = Trust.NONE
    protects: ClassVar[Protects] = Protects.NOTHING
    needs: ClassVar[str] = "nothing"

    dim: int = option("number of features d")
    switch: float = option("C: a new view when det V has grown by the factor 1 + C; 0: after every row", 1.0)
    noise_level: float = option("sub-Gaussian level of the reward noise, sigma", 1.0)
    parameter_norm: float = option("bound S on the norm of the unknown parameter", 1.0)
    ridge: float = option("regulariser added to the Gram matrix, lambda", 1.0)
    horizon: int | None = option("number of rounds, if known: sets the default failure probability to 1/horizon", None)
    failure: float | None = option("failure probability of the confidence sets", None)
    width: float | str = option('"theory", or a number that multiplies the proved width (no guarantee then)', "theory")

    def __post_init__(self) -> None:
        whole("dim", self.dim)
        at_least("switch", self.switch, 0)
        for name in ("noise_level", "parameter_norm", "ridge"):
            positive(name, getattr(self, name))
        if self.horizon is not None:
            whole("horizon", self.horizon, low=2)
        if self.failure is not None:
            probability("failure", self.failure)
        width_multiplier(self.width)

    @classmethod
    def examples(cls, dim: int) -> tuple[OFUL, ...]:
        return (cls(dim=dim), cls(dim=dim, switch=0.0, ridge=0.5))

    @property
    def failure_probability(self) -> float:
        """δ: as given, else 1/horizon, else 0.001."""
        return failure_or_default(self.failure, self.horizon)

    def plan(self, sampler: str = "double") -> Plan:
        dim, ridge = self.dim, float(self.ridge)
        width = Width(
            multiplier=width_multiplier(self.width),
            noise_level=float(self.noise_level),
            log_term=2 * math.log(1 / self.failure_probability),
            log_floor=dim * math.log(ridge),
            bias=self.parameter_norm * math.sqrt(ridge),
            tail=0.0,
            from_gram=True,
            eigenvalue=0.0,
            log_rows=0.0,
        )
        counter = SegmentsCounter(1)
        params = Switching(
            row=no_bounds(),
            ridge=ridge,
            growth=growth_factor(self.switch),
            most=_NO_END,
            counter=counter.in_doubles(0.0),
            variances=np.zeros(1),
            width=width,
        )
        return Plan(
            params=params,
            vault=lambda: switching_vault(dim, ridge, counter.sums(dim, lattice=False), counter.memory(dim)),
            view=lambda: first_view(dim, ridge, width),
            report_size=dim + REPORTED,
            event=ExactCounter().event(0.0, 0.0),
            guarantee=Guarantee.none(),
        )
