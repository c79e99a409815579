"""LinUCB under joint differential privacy: what is promised, what follows from it, and what the card says.

Shariff and Sheffet (2018) release noised sums every round through a binary tree (`calibration="published"`). The same
guarantee costs far less noise when all nodes are priced as one Gaussian mechanism (`releases="tree"`), less again with
correlated noise (`releases="toeplitz"`), and least when sums are released at public, geometrically growing times
(`releases="geometric"`, the default).

The kernels are those of `linear`; how sums are published, and what is proved of it, stands in `counters`. Every exact
calibration is one formula. A view k is one released (V, ũ); its noise is a symmetric Gaussian matrix of off-diagonal
standard deviation τ_k and a vector of the same. With R views in all, failure probability α and shift c,

    A = 2√d + 2√ln(8R/α),   g = √d + √(2 ln(4R/α)),   Υ_k = max(A·τ_k, ridge/c),
    V_k = G + N_k + cΥ_k·I,   ρ_min = (c−1)Υ_k,   ρ_max = (c+1)Υ_k,   γ_k = (g·τ_k/ζ)/√((c−1)Υ_k),

each with probability 1 − α/4R per view; the martingale takes the other α/2. Matrix tail: λ_max of the noise is
√2·τ-Lipschitz with mean at most 2τ√d, so P(‖N‖ ≥ τ(2√d + x)) ≤ 2e^{−x²/4}; vector tail e^{−x²/2}. Where views do not
all hold all rows the martingale starts anew with each: view k then spends α_k = 6α/(π²k²) of its own (their sum is α)
and puts its own ρ_min into the logarithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit import explorations, linalg, preparation, releases
from tacit._arrays import each
from tacit._types import Floats
from tacit._validate import flag, one_of, positive, probability, whole
from tacit.calibrations import NOISES, Exact, Published
from tacit.core.plan import Draws, Plan
from tacit.core.policy import Policy
from tacit.core.settings import fold, option, unfold
from tacit.core.slate import arms_slate
from tacit.counters.counter import (
    ROUNDING,
    EveryRow,
    PrefixCounter,
    calibrate_lattice,
    lattice_of,
    noise_offset,
    refuse_heavy,
    rows_within,
    within,
)
from tacit.counters.tree import TreeCounter
from tacit.counters.wishart import SPARE, WishartCounter
from tacit.errors import BadInput, PrivacyRefusal
from tacit.estimators.by_arm import empty_arms_view
from tacit.estimators.hybrid import hybrid_of
from tacit.estimators.noise_aware import NoiseAware, noise_aware
from tacit.estimators.pooled import pooled
from tacit.estimators.prior import Prior
from tacit.estimators.ridge import Confidence, confidence_of, empty_view, first_view
from tacit.estimators.split import WIDTHS, Split
from tacit.mechanisms.binary import levels
from tacit.noise import Law
from tacit.policies import by_arm
from tacit.policies._options import (
    REACH,
    REACH_OF_A_DRAW,
    check_interval,
    check_prior,
    check_shared,
    failure_or_default,
    width_multiplier,
    width_word,
)
from tacit.policies.by_arm import ByArm, by_arm_vault
from tacit.policies.linear import REPORTED, Bounds, Linear, linear_vault
from tacit.preparation import Centre, NoCentre, Preparation, lattice_centre
from tacit.privacy.accountant import price, theorem_for
from tacit.privacy.calibrate import Promise, calibrate
from tacit.privacy.event import (
    EitherEvent,
    Event,
    GaussianEvent,
    LatticeEvent,
    PersonEvent,
    TreeEvent,
    WishartTreeEvent,
)
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust, Unit
from tacit.privacy.sensitivity import row_sensitivity
from tacit.releases import Discounted, Geometric, Releases, Toeplitz, Tree

_RELEASES = (Discounted, Geometric, Toeplitz, Tree)
_CALIBRATIONS = (Exact, Published)
#: Whole numbers beyond this are not exact in double precision.
_MOST_DEGREES = 2.0**53
#: κ: of the ridge τ√p that noise-aware estimates have.
RIDGE = 1.0
#: Of release times, where the width is noise-aware and no window forgets.
RATIO = 1.1
#: c of the split width: docs/decisions/0029-widths.md.
SHIFT_OF_SPLIT = 2.0


class RegulariserBounds(NamedTuple):
    """ρ_min·I ⪯ H ⪯ ρ_max·I and ‖h‖_{H⁻¹} ≤ γ, in every view with probability 1 − α/2."""

    rho_min: float
    rho_max: float
    gamma: float


@dataclass(frozen=True, kw_only=True)
class JointLinUCB(Policy):
    """LinUCB whose choices for *other* people reveal almost nothing of one person's round.

    Formal guarantee: (ε, δ)-joint DP under continual observation for one replaced round (its actions and its reward),
    or for all rounds of one person (`person_rounds=k`), whatever the later users do: all actions shown in later rounds
    together are μ-GDP with δ(ε) on the Gaussian curve. It holds for every finite input; inputs outside the declared
    bounds are clipped before they are summed. A person's own action is not protected from that person.

    `releases="geometric"` (default) updates the view at public times t_{k+1} = ⌈ratio·t_k⌉ and needs no horizon. What
    it gives up: with contexts chosen *adversarially* a direction first seen inside a segment is not learned until the
    segment ends, so worst-case regret is linear (at most a share 1 − 1/ratio of the rounds); the √n regret theorem
    holds for `releases="toeplitz"` and `releases="tree"`, which update every round and need the horizon.

    With `arms` all arms share a context. An arm that comes later is one of them from the start, and left out of
    `allowed` until then: its block has had its noise in every release, so nothing is left to pay.

    `calibration="published"` uses the constants of the paper: the card then says what they truly give. Wishart noise
    exists only so, and its guarantee is the paper's theorem: an upper bound, with no curve behind it.
    """

    slug: ClassVar[str] = "joint-linucb"
    summary: ClassVar[str] = "LinUCB under joint DP: a trusted curator, releases with Gaussian noise"
    trust: ClassVar[Trust] = Trust.JOINT
    protects: ClassVar[Protects] = Protects.EVERYTHING
    needs: ClassVar[str] = 'bounds on actions and rewards; a horizon for releases="tree" or "toeplitz"'

    by_arm: ClassVar[bool] = True

    dim: int = option("number of features of an action, or with arms of a context")
    arms: int | None = option(
        "number of arms that share a context and have a parameter each; none: actions are vectors", None
    )
    epsilon: float = option("promised epsilon")
    delta: float = option("promised delta")
    releases: str | Releases | None = option(
        '"discounted" or "geometric" (no horizon needed; not for adversarial contexts), "toeplitz" or "tree" (every '
        'round); by default "discounted" where the width is noise-aware, else "geometric"',
        None,
    )
    noise: str = option('"gaussian", or as published "wishart" or "wishart-unshifted"', "gaussian")
    calibration: str | Exact | Published = option(
        '"exact": the least noise that keeps the promise; "published": the constants of the paper (tree only)', "exact"
    )
    horizon: int | None = option("number of rounds served at most (required by tree and toeplitz)", None)
    person_rounds: int | None = option("protect a person with at most so many rounds (default: one round)", None)
    one_row_per_segment: bool = option(
        "learn at most one row of a person between two releases: less noise per person (geometric, window)", False
    )
    action_norm: float = option("bound L on the norm of an action; longer ones are clipped", 1.0)
    reward_low: float = option("least reward; smaller ones are clipped (default: -1, with arms 0)", None)
    reward_high: float = option("largest reward; larger ones are clipped", 1.0)
    reward_weight: float | None = option(
        "weight q of rewards against features in what noise is calibrated for (default: 1 with arms, else 2, or less "
        "where rewards are larger than actions)",
        None,
    )
    preparation: Any = option('how contexts are prepared, with arms: "standard", "none", or a tacit.Preparation', None)
    shared: int | None = option(
        "number of features that each action has besides, whose parameter all arms share (hybrid); none: no features",
        None,
    )
    parameter_norm: float = option("bound S on the norm of the unknown parameter", 1.0)
    noise_level: float | None = option(
        "sub-Gaussian level of the reward noise, sigma (default: half the interval of rewards)", None
    )
    failure: float | None = option("failure probability alpha of a proved width (default: 1/horizon, or 0.001)", None)
    width: float | str | None = option(
        '"noise-aware" (no theorem, and far less regret; the default, but without arms where there is a release every '
        'round), "theory" (proved), "split" (proved, never wider, for few fixed actions), or a number that multiplies '
        "the theory's",
        None,
    )
    shift: float | None = option(
        "regulariser c > 1 of a proved width in units of the noise bound (default: 3 geometric, else 2)", None
    )
    rho_min: float | None = option("published: least eigenvalue the shift leaves (default: the paper's)", None)
    ridge: float = option("smallest regulariser: what remains as epsilon grows", 1.0)
    exploration: Any = option(
        '"optimism", or "thompson": a draw from the view every round, without a theorem (the default where the width '
        "is noise-aware and actions are vectors)",
        None,
    )
    ratio: float | None = option(
        "geometric: each release time is this multiple of the last (default: 1.1, or 1.05 with a window; 1.01 for "
        "other widths than noise-aware)",
        None,
    )
    views: int | None = option("geometric: how many views can ever be released (default: enough for the horizon)", None)
    window: int | None = option("geometric: learn from the last so many segments only, for drifting worlds", None)
    prior: Prior | None = option("sums of public rows to start from: they cost no privacy", None)
    strict: bool = option("refuse actions outside the bounds when they are offered, before a decision is made", False)

    def __post_init__(self) -> None:
        whole("dim", self.dim)
        Promise(self.epsilon, self.delta)
        for name in ("action_norm", "parameter_norm", "ridge"):
            positive(name, getattr(self, name))
        if self.reward_weight is not None:
            positive("reward_weight", self.reward_weight)
        if self.arms is not None:
            whole("arms", self.arms, low=2)
        if self.reward_low is None:
            object.__setattr__(self, "reward_low", -1.0 if self.arms is None else 0.0)
        check_interval(self.reward_low, self.reward_high)
        self._settle_preparation()
        if self.noise_level is not None:
            positive("noise_level", self.noise_level)
        if self.failure is not None:
            probability("failure", self.failure)
        if self.person_rounds is not None:
            whole("person_rounds", self.person_rounds)
        flag("strict", self.strict)
        one_of("noise", self.noise, NOISES)
        object.__setattr__(self, "prior", check_prior(self.prior, self.dim))
        object.__setattr__(self, "releases", releases.as_option(self.releases or self._usual_releases()))
        unfold(self, "releases", _RELEASES)
        unfold(self, "calibration", _CALIBRATIONS)
        self._settle_width()
        self.released.check(self)
        self.calibrated_by.check(self)
        check_shared(self)
        if self.arms is not None:
            self._check_arms()

    @classmethod
    def examples(cls, dim: int) -> tuple[JointLinUCB, ...]:
        gram = tuple(tuple(40.0 * (i == j) for j in range(dim)) for i in range(dim))
        prior = Prior(gram, (20.0,) + (0.0,) * (dim - 1), rows=40 * dim)
        every: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "dim": dim}
        as_published: dict[str, Any] = {"dim": dim, "releases": "tree", "calibration": "published", "horizon": 1000}
        return (
            cls(**every),
            cls(
                dim=dim,
                epsilon=10.0,
                delta=0.1,
                ratio=1.5,
                views=32,
                exploration="thompson",
                reward_low=-3.0,
                reward_high=3.0,
            ),
            cls(**every, releases="tree", horizon=1000),
            cls(dim=dim, epsilon=0.2, delta=1e-9, releases="tree", horizon=4096, exploration="thompson", shift=3.0),
            cls(**every, width="theory"),
            cls(**every, width="split"),
            cls(**every, releases="toeplitz", horizon=1000, person_rounds=3),
            cls(dim=dim, epsilon=10.0, delta=0.1, window=6, ratio=1.3, person_rounds=4, one_row_per_segment=True),
            cls(dim=dim, epsilon=10.0, delta=0.1, prior=prior, person_rounds=2),
            cls(**as_published, epsilon=1.0, delta=1e-5),
            cls(**as_published, epsilon=1.0, delta=0.1, noise="wishart"),
            cls(**as_published, epsilon=1.0, delta=0.1, noise="wishart-unshifted"),
            cls(**every, arms=3, preparation=Preparation(centre_rounds=12)),
            cls(
                dim=dim,
                arms=3,
                epsilon=10.0,
                delta=0.1,
                preparation=Preparation(low=-1.0, high=1.0, normalise=False, centre_rounds=8),
                person_rounds=2,
                reward_low=-1.0,
                exploration="thompson",
            ),
            cls(**every, arms=3, preparation="none", width="theory", releases="toeplitz", horizon=1000),
            cls(dim=dim, arms=3, shared=dim, epsilon=10.0, delta=0.1, preparation="none", exploration="thompson"),
        )

    # What was asked for -----------------------------------------------------------------------------------------

    def options(self) -> dict[str, Any]:
        told = self.exploration
        return {**super().options(), "exploration": None if told is None else explorations.as_dict(told)}

    @property
    def explores(self) -> Any:
        """How an arm is picked: as told, else a draw where the width is noise-aware and actions are vectors, where one
        list of them for all rounds would hold an optimist for a whole segment; else optimism."""
        if self.exploration is not None:
            return self.exploration
        return "thompson" if self.width == "noise-aware" and self.arms is None else "optimism"

    @cached_property
    def released(self) -> Releases:
        """When sums are released, and how."""
        if isinstance(self.releases, Releases):
            return self.releases
        found: Releases = fold(self, "releases", _RELEASES)
        if isinstance(found, Geometric) and found.ratio is found.window is None and self.width == "noise-aware":
            return replace(found, ratio=RATIO)
        return found

    @cached_property
    def calibrated_by(self) -> Exact | Published:
        """How the noise is set."""
        found: Exact | Published = fold(self, "calibration", _CALIBRATIONS)
        return found

    @property
    def rows_may_come_late(self) -> bool:
        return self.noise == "gaussian" and self.released.rows_may_come_late(self.person_rounds)

    @property
    def promise(self) -> Promise:
        return Promise(self.epsilon, self.delta)

    @property
    def calibrated(self) -> str:
        return self.calibrated_by.word

    @property
    def unit(self) -> Unit:
        """Whom the guarantee protects: one round, or one person with at most k of them."""
        return Unit.round() if self.person_rounds is None else Unit.person(self.person_rounds)

    @property
    def schedule(self) -> str:
        """When views are released and what they hold: "geometric", "window", "toeplitz" or "tree"."""
        return self.released.schedule

    @property
    def failure_probability(self) -> float:
        """α: as given, else 1/horizon, else 0.001."""
        return failure_or_default(self.failure, self.horizon)

    @property
    def shift_factor(self) -> float:
        """c: as given, else the schedule's default, or that of the split width."""
        if self.shift is not None:
            return self.shift
        return SHIFT_OF_SPLIT if self.width == "split" else self.counter().shift

    @property
    def reward_middle(self) -> float:
        """c: taken off every reward before it is summed. With a constant coordinate that loses nothing. The constants
        of the paper are for rewards as they are."""
        return 0.0 if self.calibration == "published" else (self.reward_low + self.reward_high) / 2

    @property
    def reward_reach(self) -> float:
        """B: how far a reward may be from the middle."""
        return float(max(self.reward_high - self.reward_middle, self.reward_middle - self.reward_low))

    @property
    def reward_noise_level(self) -> float:
        """σ: as given, else B, which is always valid."""
        return float(self.reward_reach if self.noise_level is None else self.noise_level)

    @property
    def blocks(self) -> int:
        """How many matrices there are: one, or one for each arm."""
        return 1 if self.arms is None else self.arms

    @property
    def block(self) -> int:
        """p: rows of a matrix."""
        return self.dim if self.arms is None else self.prepared.width(self.dim)

    @property
    def prepared(self) -> Preparation:
        """What is done to contexts, with arms."""
        assert isinstance(self.preparation, Preparation)
        return self.preparation

    @property
    def centre_rounds(self) -> int:
        """n₀: rounds whose contexts go into the centre, and into nothing else."""
        return 0 if self.arms is None else self.prepared.centre_rounds

    # What follows from it ---------------------------------------------------------------------------------------

    @property
    def reward_scale(self) -> float:
        """ζ = √(q/2)·L/B. Rewards are scaled before they are summed, and the released vector is scaled back: q says how
        the noise is shared between the matrix and the vector. The paper does not do it."""
        if self.calibration == "published":
            return 1.0
        length, reach = self.action_norm, self.reward_reach
        if self.reward_weight is None and self.arms is None:
            return min(1.0, length / reach)
        return math.sqrt((self.reward_weight or 1.0) / 2) * length / reach

    @property
    def sensitivity(self) -> float:
        """L̃² = L² + (ζB)²: how much one replaced row changes the sums, in units of symmetric noise; for ζB > L, which
        the published constants do not know, 2L·ζB. Proof: counters/sensitivity.md."""
        length, reward = self.action_norm, self.reward_scale * self.reward_reach
        if self.calibration == "published":
            return length**2 + reward**2
        return row_sensitivity(length, reward)

    @property
    def size(self) -> int:
        """Of a row of sums: for each matrix a packed triangle and a vector; with shared features what they make with
        contexts beside each matrix, and a block of their own."""
        shared = self.shared or 0
        return self.blocks * linalg.block_size(self.block, shared) + linalg.block_size(shared)

    def plan(self, sampler: str = "double") -> Plan:
        """One text for both samplers: with exact noise the same counter has its kernels on a lattice, at the price of
        rounding, and its deviations are raised by what discrete noise is off by."""
        if self.calibration == "published":
            return _published_gaussian(self, sampler) if self.noise == "gaussian" else _published_wishart(self)
        counter, known = self.counter(), self.known_sums()

        def event_at(scale: float) -> Event:
            return counter.event(scale, self.sensitivity)

        scale = calibrate(self.promise, lambda scale: self.for_unit(event_at(scale)))
        event, spread = self.for_unit(event_at(scale)), scale * counter.deviations()
        every = schedule = counter.schedule(self._first_release(self._estimate(counter, spread)))
        counter = counter.timed(schedule)
        spread = scale * counter.deviations()
        estimate = self._estimate(counter, spread)
        centre: Any = Centre(self.centre_rounds, self._centre_scale(event_at(scale)))
        kernels, sums, law = counter.in_doubles(scale), known, None
        if self.shared is not None:
            kernels = kernels._replace(shared=self.shared)
        if sampler == "secure":
            rows = rows_within(self.horizon)
            laid = calibrate_lattice(
                self.promise,
                event_at,
                self.for_unit,
                rough=scale,
                sensitivity=self.sensitivity,
                coordinates=self.size,
                load=counter.load(within(schedule, rows)),
            )
            scale, event, law = laid.scale, laid.event, laid.law
            spread = scale * counter.deviations() + noise_offset(self.block, laid.step, counter.draws())
            every = counter.schedule(self._first_release(self._estimate(counter, spread)))
            counter = counter.timed(every)
            spread = scale * counter.deviations() + noise_offset(self.block, laid.step, counter.draws())
            estimate = self._estimate(counter, spread)
            schedule = within(every, rows)
            refuse_heavy(counter.load(schedule), self.sensitivity / laid.step)
            # Public rows are no secret, and not in the vault.
            kernels, sums = (
                counter.on_lattice(lattice_of(self.block, laid.step, known, self.shared or 0)),
                np.zeros((2, self.size)),
            )
            step = self._centre_scale(event_at(scale)) * laid.step / scale
            centre = lattice_centre(self.centre_rounds, step, self.action_norm)
        limit, hint = self.released.end(every, sampler == "secure")
        params = self._params(schedule, kernels, estimate, law, centre)
        return self._plan(
            params,
            event,
            sums=sums,
            memory_rows=counter.memory_rows(schedule, sampler == "secure"),
            scales=counter.scales(scale, spread, schedule),
            limit=limit,
            limit_hint=hint,
            law=law,
        )

    def _plan(
        self, params: Any, event: Event, *, sums: Floats, memory_rows: int, scales: dict[str, float], **rest: Any
    ) -> Plan:
        """The plan around these params: empty rooms, the price, what to say on the card."""
        prior, known = self.prior, self.known_sums()
        guarantee = Guarantee.priced(
            event, trust=Trust.JOINT, protects=Protects.EVERYTHING, unit=self.unit, delta=self.delta
        )
        one, *others = scales.items()
        widths = WIDTHS if self.width == "split" else 1
        if self.arms is None:
            rooms: dict[str, Any] = {
                "vault": lambda: linear_vault(sums.copy(), memory_rows),
                "view": lambda: (
                    empty_view(self.dim, widths)
                    if prior is None
                    else first_view(self.dim, self._of_public(params.estimate), known, widths)
                ),
                "report_size": self.dim + REPORTED,
            }
        else:
            arms, block, shared = self.arms, self.block, self.shared or 0
            rooms = {
                "vault": lambda: by_arm_vault(sums.copy(), memory_rows, self.dim, self.centre_rounds > 0),
                "view": lambda: empty_arms_view(arms, self.dim, block, shared),
                "report_size": block + shared + by_arm.REPORTED,
                "arms": arms,
                "slate": lambda offered: arms_slate(self.dim, arms, block, shared),
            }
        return Plan(
            params=params,
            **rooms,
            event=event,
            guarantee=guarantee,
            noise_scale=one[1],
            noise_scales=dict(others),
            assumptions=_assumptions(self, rest["limit"]),
            notes=_notes(self, guarantee),
            **{"draws": self.draws(), **rest},
        )

    def for_unit(self, event: Event) -> Event:
        """The event as the configured unit sees it: a row is in the centre or in the sums, never in both."""
        if self.centre_rounds:
            event = EitherEvent((self._centre_event(event), event))
        if self.person_rounds is None:
            return event
        return PersonEvent(event, rounds=self.person_rounds, one_per_segment=self.one_row_per_segment)

    def _centre_event(self, event: Event) -> Event:
        """The release of the centre beside these sums: as telling as they are, from noise of as many steps."""
        if not isinstance(event, LatticeEvent):
            return GaussianEvent(self._centre_scale(event), 2 * self.action_norm)
        inner: Any = event.event
        ratio = self._centre_scale(inner) / inner.scale
        centre = GaussianEvent(ratio * inner.scale, 2 * self.action_norm)
        return LatticeEvent(centre, step=ratio * event.step, coordinates=self.dim, rounding=ROUNDING)

    def _centre_scale(self, event: Event) -> float:
        """Of the noise on the sum of n₀ contexts: what costs a row 2L/scale, which is what the sums cost it."""
        return 2 * self.action_norm / price(event)

    def counter(self) -> PrefixCounter:
        """How sums are published."""
        return self.released.counter_after(self.centre_rounds, self.block)

    def _usual_releases(self) -> str:
        # Discounted sums forget actions that are no longer taken; contexts that change keep every arm in use.
        plain = self.arms is None or self.width not in (None, "noise-aware") or self.window is not None
        return "geometric" if plain else "discounted"

    def _settle_width(self) -> None:
        """The width, and the rule that goes with it: docs/decisions/0029-widths.md."""
        if self.width is None:
            # A release every round is chosen for the sake of a theorem; of a value of one's own nothing is known.
            aware = self.arms is not None or self.releases in ("discounted", "geometric")
            aware = aware and self.calibration != "published"  # whose width is the paper's
            object.__setattr__(self, "width", "noise-aware" if aware else "theory")
        width_word(self.width, "split")
        if self.width == "noise-aware" and self.shift is not None:
            raise BadInput(
                f'Expected shift with a proved width only, got shift={self.shift!r} with width="noise-aware", whose '
                'ridge is its own. Leave it out, or give width="theory".'
            )
        if self.exploration is not None:
            object.__setattr__(self, "exploration", explorations.as_option(self.exploration))
        if self.calibration == "published" and self.width in ("noise-aware", "split"):
            raise BadInput(
                'Expected width="theory", or a number that multiplies it, with calibration="published", got '
                f"width={self.width!r}: the paper has a width of its own."
            )
        if self.width == "split" and (self.arms is not None or self.exploration not in (None, "optimism")):
            raise BadInput(
                'Expected no arms and exploration="optimism" with width="split", got otherwise: it is proved for the '
                'best that a vector may be. Use width="theory".'
            )

    def _of_public(self, estimate: Any) -> Any:
        """The estimate from public rows alone, which have no noise: a proved width allows for it all the same."""
        if isinstance(estimate, NoiseAware):
            return estimate._replace(ridge=np.array([float(self.ridge)]), parameter_variance=np.zeros(1))
        return estimate

    def known_sums(self) -> Floats:
        """Packed sums of the prior's public rows; zeros without one."""
        return np.zeros(self.size) if self.prior is None else self.prior.packed(self.reward_scale)

    def draws(self) -> Draws:
        """The most numbers that one call draws."""
        normals, uniforms = explorations.draws_of(self.explorer(), self.dim if self.arms is None else self.arms)
        return Draws(choose_normals=normals, choose_uniforms=uniforms, learn_normals=self.size)

    def explorer(self) -> Any:
        """How an arm is picked: a rule of `tacit.explorations`. A subclass may have one of its own."""
        return explorations.rule_of(self.explores)

    def _exploration(self, law: Law | None) -> Any:
        """The rule for a source whose normal numbers are of this law, or standard."""
        if self.width == "split":
            return explorations.SplitOptimism()
        edge = 1.0 if self.width == "noise-aware" else math.sqrt(self.block)
        return explorations.with_deviation(self.explorer(), self.block, 1.0 if law is None else law.deviation, edge)

    def _bounds(self) -> Bounds:
        low, high = float(self.reward_low), float(self.reward_high)
        return Bounds(float(self.action_norm), low, high, float(self.reward_middle), float(self.reward_scale))

    def _params(self, schedule: Any, counter: Any, estimate: Any, law: Law | None, centre: Any) -> Any:
        """What the kernels are given."""
        if self.arms is None:
            return Linear(self._bounds(), schedule, counter, estimate, self._exploration(law))
        return ByArm(
            self._bounds(),
            self.prepared.steps(self.dim, self.action_norm, self.shared is not None),
            centre if self.centre_rounds else NoCentre(),
            schedule,
            counter,
            estimate,
            self._exploration(law),
        )

    def _check_arms(self) -> None:
        """What does not go with arms."""
        if self.prior is not None:
            raise BadInput("Expected no prior with arms, got one: sums of public rows are of one parameter.")
        if self.calibration == "published":
            raise BadInput('Expected calibration="exact" with arms, got "published": the paper has one parameter.')
        if self.centre_rounds and self.counter().every_row:
            raise BadInput(
                f'Expected releases="discounted" or "geometric" with a centre, got releases="{self.releases}": a view '
                "every round leaves no rounds for it. Give preparation=tacit.Preparation(centre_rounds=0)."
            )

    def _settle_preparation(self) -> None:
        if self.arms is not None:
            object.__setattr__(self, "preparation", preparation.as_option(self.preparation))
        elif self.preparation is not None:
            raise BadInput(
                "Expected preparation with arms only, got it without. Prepare actions before they are offered."
            )

    def _first_release(self, estimate: Any) -> int:
        """t_1 = ⌈Υ_1/L²⌉, at least p: before that the matrix would be mostly regulariser, and not worth a release."""
        floor = estimate.repair if isinstance(estimate, Confidence | Split) else estimate.ridge
        return self.centre_rounds + max(self.block, math.ceil(float(floor[0]) / self.action_norm**2))

    def _estimate(self, counter: PrefixCounter, spread: Floats) -> Any:
        """The numbers of the width for views whose noise has standard deviations τ_k = `spread`."""
        if self.width == "noise-aware":
            own = noise_aware(
                spread=spread,
                width=self.block,
                ridge=RIDGE,
                least=self.ridge,
                noise_level=self.reward_noise_level,
                norm=self.parameter_norm,
                scale=self.reward_scale,
                reach=REACH_OF_A_DRAW if self.explores == "thompson" else REACH,
            )
            if self.shared is None:
                share = self.prepared.constant if self.centre_rounds else 0.0
                vector, norm, reach = spread / self.reward_scale, self.action_norm, self.reward_reach
                return pooled(own, matrix=spread, vector=vector, share=share, norm=norm, reach=reach)
            return hybrid_of(own, spread=spread, shared=self.shared, ridge=RIDGE, least=self.ridge)
        views, failure = counter.views, self.failure_probability / self.blocks
        shared = counter.one_martingale
        alpha: Any = failure if shared else 6 * failure / (math.pi**2 * np.arange(1.0, views + 1) ** 2)
        bound, low, high, gamma = self._regulariser(spread, (views if shared else 1) / alpha)
        proved = self._confidence(
            failure=alpha,
            floor=low.min() if shared else low,
            regulariser=self.shift_factor * bound,
            repair=bound,
            bias=self.parameter_norm * np.sqrt(high) + gamma,
        )
        if self.width != "split":
            return proved
        norm = self.parameter_norm
        return Split(proved, np.stack([gamma, gamma * np.sqrt(low), norm * np.sqrt(high), norm * high], axis=1))

    def _regulariser(self, spread: Floats, share: Any) -> tuple[Floats, Floats, Floats, Floats]:
        """Υ_k, ρ_min, ρ_max and γ_k; `share` is R/α."""
        dim, shift = self.block, self.shift_factor
        matrix = 2 * math.sqrt(dim) + 2 * np.sqrt(each(math.log, 8 * share))  # A
        vector = math.sqrt(dim) + np.sqrt(2 * each(math.log, 4 * share))  # g
        bound = np.maximum(matrix * spread, self.ridge / shift)  # Υ_k
        low = (shift - 1) * bound
        return bound, low, (shift + 1) * bound, vector * spread / self.reward_scale / np.sqrt(low)

    def _confidence(self, **numbers: Any) -> Confidence:
        return confidence_of(
            self.block,
            noise_level=self.reward_noise_level,
            multiplier=width_multiplier(self.width),
            unscale=1.0 / self.reward_scale,
            **numbers,
        )

    def regulariser_bounds(self) -> RegulariserBounds:
        """ρ_min, ρ_max and γ of every view: what the regret theorems are made of (releases every round only)."""
        if self.calibration == "published":
            return _gaussian_bounds(self) if self.noise == "gaussian" else _wishart_bounds(self)
        if not self.counter().every_row:
            raise BadInput(
                f'Expected releases="tree" or "toeplitz", got a {self.schedule} schedule: the regret theorems need '
                "a view every round, and none is proved for it."
            )
        last = list(self.plan().noise_scales.values())[-1]
        _, low, high, gamma = self._regulariser(np.array([last]), _horizon(self) / self.failure_probability)
        return RegulariserBounds(float(low[0]), float(high[0]), float(gamma[0]))


# As published: its constants, its bounds, and its errata (docs/errata.md) ---------------------------------------------


def _published_gaussian(config: JointLinUCB, sampler: str) -> Plan:
    """Gaussian nodes with the constants of Section 4.2, priced with the paper's own count of m nodes per row."""
    horizon = _horizon(config)
    scale, bound = _published_scale(config)
    low, high, gamma = _gaussian_bounds(config)
    counter = TreeCounter(horizon)
    estimate = config._confidence(
        failure=config.failure_probability,
        floor=low,
        regulariser=np.array([low + bound]),
        repair=np.array([bound]),
        bias=np.array([config.parameter_norm * math.sqrt(high) + gamma]),
    )
    event: Event = TreeEvent(scale=scale, sensitivity=config.sensitivity, nodes=_slots(config))
    kernels: Any = counter.in_doubles(scale)
    exact, rest = sampler == "secure", {}
    if exact:
        # The paper's scale, drawn in whole steps: what rounding costs is on the card, as everything else it costs.
        laid = calibrate_lattice(
            None,
            lambda scale: TreeEvent(scale=scale, sensitivity=config.sensitivity, nodes=_slots(config)),
            config.for_unit,
            rough=scale,
            sensitivity=config.sensitivity,
            coordinates=config.size,
            load=counter.load(EveryRow(horizon)),
        )
        kernels, event = counter.on_lattice(lattice_of(config.dim, laid.step, config.known_sums())), laid.event
        rest = {"law": laid.law, "sums": np.zeros((2, config.size))}
    return _published_plan(
        config,
        kernels,
        estimate,
        event,
        memory_rows=counter.memory_rows(None, lattice=exact),
        scales={"each node": scale, "each view": scale * math.sqrt(_slots(config))},
        **rest,
    )


def _published_plan(config: JointLinUCB, counter: Any, estimate: Confidence, event: Event, **rest: Any) -> Plan:
    """A view after every row but the last, by these kernels."""
    schedule, law = EveryRow(_horizon(config)), rest.get("law")
    limit, hint = config.released.end(schedule, lattice=law is not None)
    params = Linear(config._bounds(), schedule, counter, estimate, config._exploration(law))
    return config._plan(params, event, **{"sums": np.zeros(config.size), "limit": limit, "limit_hint": hint, **rest})


def _published_scale(config: JointLinUCB) -> tuple[float, float]:
    """s and Υ: s² = 16mL̃⁴ ln(4/δ)²/ε², Υ = s√(2m)·(4√d + 2 ln(2n/α))."""
    horizon, slots = _horizon(config), _slots(config)
    scale = 4 * math.sqrt(slots) * config.sensitivity * math.log(4 / config.delta) / config.epsilon
    tail = math.log(2 * horizon / config.failure_probability)
    return scale, scale * math.sqrt(2 * slots) * (4 * math.sqrt(config.dim) + 2 * tail)


def _gaussian_bounds(config: JointLinUCB) -> RegulariserBounds:
    """ρ_min = Υ (or as given), ρ_max = ρ_min + 2Υ, γ = s√m·(√d + √(2 ln(2n/α)))/√ρ_min.

    The paper prints Υ⁻¹ for the last factor; ‖h‖_{H⁻¹} ≤ ‖h‖/√ρ_min.
    """
    scale, bound = _published_scale(config)
    low = bound if config.rho_min is None else config.rho_min
    gamma = scale * math.sqrt(_slots(config)) * _vector_tail(config) / math.sqrt(low)
    return RegulariserBounds(low, low + 2 * bound, gamma)


def _published_wishart(config: JointLinUCB) -> Plan:
    """Wishart masks with the degrees of freedom of Section 4.1, shifted or not, priced by the paper's theorem."""
    horizon, slots = _horizon(config), _slots(config)
    degrees = _degrees(config)
    counter = WishartCounter(horizon, degrees, slots, config.epsilon, config.delta)
    event = counter.event(0.0, config.sensitivity)
    assert isinstance(event, WishartTreeEvent)
    _refuse_unkept(config, event)
    low, high, gamma = _wishart_bounds(config)
    estimate = config._confidence(
        failure=config.failure_probability,
        floor=low,
        regulariser=np.array([low - _unshifted_floor(config)]),
        repair=np.array([low]),
        bias=np.array([config.parameter_norm * math.sqrt(high) + gamma]),
    )
    return _published_plan(
        config,
        counter.in_doubles(float(config.sensitivity)),
        estimate,
        event,
        memory_rows=counter.memory_rows,
        scales={"each view": config.sensitivity * math.sqrt(slots * degrees)},
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


def _wishart_bounds(config: JointLinUCB) -> RegulariserBounds:
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
    return math.sqrt(config.dim) + math.sqrt(2 * math.log(8 * _horizon(config) / config.failure_probability))


def _vector_tail(config: JointLinUCB) -> float:
    """g = √d + √(2 ln(2n/α))."""
    return math.sqrt(config.dim) + math.sqrt(2 * math.log(2 * _horizon(config) / config.failure_probability))


def _slots(config: JointLinUCB) -> int:
    """m = 1 + ⌈log2 n⌉ levels, as the paper counts them."""
    return 1 + levels(_horizon(config))


def _wishart_draws(config: JointLinUCB) -> Draws:
    """What a row takes at most: the very first one has a mask for every slot, and some are drawn again."""
    one, masks = config.draws(), 1 + _slots(config)
    return replace(one, learn_normals=masks * one.learn_normals + SPARE, learn_uniforms=masks * config.dim + SPARE)


def _horizon(config: JointLinUCB) -> int:
    assert config.horizon is not None
    return config.horizon


# What a plan says of itself on the card -------------------------------------------------------------------------------


def _assumptions(config: JointLinUCB, limit: int) -> tuple[str, ...]:
    """What the guarantee needs, and what it does not."""
    offered = " (strict: longer actions are refused when they are offered)" if config.strict else ""
    prepared = () if config.arms is None else (config.prepared.describe(),)
    return (
        f"Features beyond a length of {config.action_norm:g} and rewards outside [{config.reward_low:g}, "
        f"{config.reward_high:g}] are clipped before they are summed{offered}, so the guarantee needs no assumption on "
        "the data.",
        *prepared,
        "Releases count decisions: a reward that is late or never comes moves no other row, and a reward counts once. "
        "A caller of `learn` calls it once for each choice, whatever came of it.",
        f"At most {limit:,} rounds; then the learner refuses.",
        _unit(config),
    )


def _unit(config: JointLinUCB) -> str:
    if config.person_rounds is None:
        return "The unit is the round: somebody with several rounds has several times the exposure."
    spacing = ", and at most one of them between two releases" if config.one_row_per_segment else ""
    return (
        f"The unit is the person: at most {config.person_rounds} rows of a person are learned{spacing}; further ones "
        "are served and learned as zeros. Whoever calls `learn` names the same person by the same id."
    )


def _notes(config: JointLinUCB, guarantee: Guarantee) -> tuple[str, ...]:
    """What a reader should know besides the promise."""
    said = []
    if config.calibration == "published":
        said += _said_of_published(config, guarantee)
    said += config.released.notes(config.dim)
    if config.prior is not None:
        said.append(
            f"Warm start from {config.prior.rows:,} rows declared public: they cost nothing and are not protected. The "
            "width stays proved only if they follow the same parameter and level of noise."
        )
    if config.explores == "thompson":
        said.append("Thompson exploration costs no privacy and has no regret theorem here.")
    if config.width == "noise-aware":
        said.append("Noise-aware width: no theorem on regret; privacy is unaffected.")
    elif config.width not in ("theory", "split"):
        said.append(f"Width multiplied by {config.width:g}: no guarantee on the confidence set; privacy is unaffected.")
    if config.noise_level is not None and config.noise_level < config.reward_reach:
        said.append("noise_level below half the interval of rewards is the user's claim; only the width depends on it.")
    return tuple(said)


def _said_of_published(config: JointLinUCB, guarantee: Guarantee) -> list[str]:
    if guarantee.mu is None:
        return [
            "Published constants with Wishart noise: the claim rests on the paper's quoted theorem for one node, which "
            "is not proved again here. The true epsilon is not known."
        ]
    excess = config.promise.mu / guarantee.mu
    return [
        f"Published constants: {excess:.1f} times the noise that the same promise needs. "
        'calibration="exact" keeps it with the least.'
    ]
