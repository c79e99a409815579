"""LinUCB under joint differential privacy: the configuration, and what it refuses.

Shariff and Sheffet (2018) release noised sums every round through a binary tree (`calibration="published"`). The same
guarantee costs far less noise when all nodes are priced as one Gaussian mechanism (`releases="tree"`), less again with
correlated noise (`releases="toeplitz"`), and least when sums are released at public, geometrically growing times
(`releases="geometric"`, the default).

What follows from a configuration is worked out in `exact` and `published`; the kernels are in `verbs`; what is proved
stands in `mechanisms/*/proof.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit._validate import above, flag, one_of, positive, probability, whole
from tacit.core.plan import Plan
from tacit.core.policy import Policy
from tacit.core.settings import option
from tacit.errors import BadInput
from tacit.estimators.prior import Prior
from tacit.policies._options import check_prior, failure_or_default, width_multiplier
from tacit.policies.joint_linucb import exact, published, secure
from tacit.policies.joint_linucb.parts import RegulariserBounds
from tacit.privacy.calibrate import Promise
from tacit.privacy.scope import Protects, Trust, Unit

#: Default shift c and ratio r per release schedule: docs/decisions/0005-shift-and-ratio.md and 0011-windows.md.
DEFAULT_SHIFT = {"geometric": 3.0, "window": 3.0, "tree": 2.0, "toeplitz": 2.0}
DEFAULT_RATIO = {"geometric": 1.01, "window": 1.05}

_EVERY_ROUND = ("tree", "toeplitz")


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

    `calibration="published"` uses the constants of the paper: the card then says what they truly give. Wishart noise
    exists only so, and its guarantee is the paper's theorem: an upper bound, with no curve behind it.
    """

    slug: ClassVar[str] = "joint-linucb"
    summary: ClassVar[str] = "LinUCB under joint DP: a trusted curator, releases with Gaussian noise"
    trust: ClassVar[Trust] = Trust.JOINT
    protects: ClassVar[Protects] = Protects.EVERYTHING
    needs: ClassVar[str] = 'bounds on actions and rewards; a horizon for releases="tree" or "toeplitz"'

    dim: int = option("number of features d")
    epsilon: float = option("promised epsilon")
    delta: float = option("promised delta")
    releases: str = option(
        '"geometric" (no horizon needed; not for adversarial contexts), "toeplitz" or "tree" (every round)', "geometric"
    )
    noise: str = option('"gaussian", or as published "wishart" or "wishart-unshifted"', "gaussian")
    calibration: str = option(
        '"exact": the least noise that keeps the promise; "published": the constants of the paper (tree only)', "exact"
    )
    horizon: int | None = option("number of rounds served at most (required by tree and toeplitz)", None)
    person_rounds: int | None = option("protect a person with at most so many rounds (default: one round)", None)
    one_row_per_segment: bool = option(
        "learn at most one row of a person between two releases: less noise per person (geometric, window)", False
    )
    action_norm: float = option("bound L on the norm of an action; longer ones are clipped", 1.0)
    reward_bound: float = option("bound B on the absolute reward; larger ones are clipped", 1.0)
    parameter_norm: float = option("bound S on the norm of the unknown parameter", 1.0)
    noise_level: float | None = option("sub-Gaussian level of the reward noise, sigma (default: reward_bound)", None)
    failure: float | None = option("failure probability alpha (default: 1/horizon, or 0.001)", None)
    width: float | str = option('"theory", or a number that multiplies the proved width (no guarantee then)', "theory")
    shift: float | None = option(
        "exact: regulariser c > 1 in units of the noise bound (default: 3 geometric, 2 every round)", None
    )
    rho_min: float | None = option("published: least eigenvalue the shift leaves (default: the paper's)", None)
    ridge: float = option("smallest regulariser: what remains as epsilon grows", 1.0)
    exploration: str = option(
        '"optimism", or "thompson": a draw from the view every round, without a theorem', "optimism"
    )
    ratio: float | None = option(
        "geometric: each release time is this multiple of the last (default: 1.01; 1.05 with a window)", None
    )
    views: int = option("geometric: how many views can ever be released", 2048)
    window: int | None = option("geometric: learn from the last so many segments only, for drifting worlds", None)
    prior: Prior | None = option("sums of public rows to start from: they cost no privacy", None)
    strict: bool = option("refuse inputs outside the bounds instead of clipping them", False)

    def __post_init__(self) -> None:
        whole("dim", self.dim)
        Promise(self.epsilon, self.delta)
        one_of("releases", self.releases, ("geometric", "toeplitz", "tree"))
        one_of("noise", self.noise, ("gaussian", "wishart", "wishart-unshifted"))
        one_of("calibration", self.calibration, ("exact", "published"))
        one_of("exploration", self.exploration, ("optimism", "thompson"))
        for name in ("action_norm", "reward_bound", "parameter_norm", "ridge"):
            positive(name, getattr(self, name))
        for name in ("noise_level", "rho_min"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))
        if self.failure is not None:
            probability("failure", self.failure)
        for name in ("shift", "ratio"):
            if getattr(self, name) is not None:
                above(name, getattr(self, name), 1)
        width_multiplier(self.width)
        for name in ("person_rounds", "window"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name))
        whole("views", self.views)
        flag("strict", self.strict)
        flag("one_row_per_segment", self.one_row_per_segment)
        object.__setattr__(self, "prior", check_prior(self.prior, self.dim))
        if self.horizon is not None:
            whole("horizon", self.horizon, low=2, hint="A horizon is the number of rounds to be served.")
        elif self.releases in _EVERY_ROUND:
            raise BadInput(
                f'Expected a horizon (number of rounds) with releases="{self.releases}", got none. '
                'Give horizon=…, or use releases="geometric", which needs none.'
            )
        self._check_together()

    def _check_together(self) -> None:
        """What each option means nothing without, or with."""
        as_published = self.calibration == "published"
        if self.noise != "gaussian" and not as_published:
            raise BadInput(
                f'Expected noise="gaussian" with calibration="exact", got noise="{self.noise}": no exact price of '
                'Wishart noise is known. Use calibration="published", releases="tree".'
            )
        for name, given, meaning in (
            ('releases="tree"', self.releases == "tree", "it is the tree that was published"),
            ("no shift", self.shift is None, "the paper's shift is moved by rho_min"),
            ("no prior", self.prior is None, "the paper starts from nothing"),
            ("no ridge", self.ridge == 1.0, "the paper's regulariser is its noise and its shift"),
            ("no person_rounds", self.person_rounds is None, "the paper's constants are for one round"),
        ):
            if as_published and not given:
                raise BadInput(f'Expected {name} with calibration="published", got otherwise: {meaning}.')
        if self.rho_min is not None and (not as_published or self.noise == "wishart-unshifted"):
            raise BadInput(
                f"Expected rho_min with a shifted published calibration only, got rho_min={self.rho_min!r}. "
                "The exact calibrations are moved by shift."
            )
        for name, given in (
            ("window", self.window is not None),
            ("ratio", self.ratio is not None),
            ("one_row_per_segment", self.one_row_per_segment),
        ):
            if given and self.releases in _EVERY_ROUND:
                raise BadInput(
                    f'Expected {name} with releases="geometric" only, got releases="{self.releases}", which has a '
                    "release every round and no segments."
                )
        if self.one_row_per_segment and self.person_rounds is None:
            raise BadInput(
                "Expected person_rounds with one_row_per_segment, got none. Say how many rounds a person may have."
            )
        if self.window is not None and self.prior is not None:
            raise BadInput(
                f"Expected no prior with window={self.window!r}, got one: a window forgets, and the prior would not."
            )

    @classmethod
    def examples(cls, dim: int) -> tuple[JointLinUCB, ...]:
        gram = tuple(tuple(40.0 * (i == j) for j in range(dim)) for i in range(dim))
        prior = Prior(gram, (20.0,) + (0.0,) * (dim - 1), rows=40 * dim)
        every: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "dim": dim}
        as_published: dict[str, Any] = {"dim": dim, "releases": "tree", "calibration": "published", "horizon": 1000}
        return (
            cls(**every),
            cls(dim=dim, epsilon=10.0, delta=0.1, ratio=1.5, views=32, exploration="thompson", reward_bound=3.0),
            cls(**every, releases="tree", horizon=1000),
            cls(dim=dim, epsilon=0.2, delta=1e-9, releases="tree", horizon=4096, exploration="thompson", shift=3.0),
            cls(**every, releases="toeplitz", horizon=1000, person_rounds=3),
            cls(dim=dim, epsilon=10.0, delta=0.1, window=6, ratio=1.3, person_rounds=4, one_row_per_segment=True),
            cls(dim=dim, epsilon=10.0, delta=0.1, prior=prior, person_rounds=2),
            cls(**as_published, epsilon=1.0, delta=1e-5),
            cls(**as_published, epsilon=1.0, delta=0.1, noise="wishart"),
            cls(**as_published, epsilon=1.0, delta=0.1, noise="wishart-unshifted"),
        )

    # What was asked for -----------------------------------------------------------------------------------------

    @property
    def rows_may_come_late(self) -> bool:
        # A release every round is priced for one row of a person in each of them; late ones may come together.
        apart = self.schedule in ("geometric", "window") or self.person_rounds in (None, 1)
        return self.noise == "gaussian" and apart

    @property
    def promise(self) -> Promise:
        return Promise(self.epsilon, self.delta)

    @property
    def calibrated(self) -> str:
        return self.calibration

    @property
    def unit(self) -> Unit:
        """Whom the guarantee protects: one round, or one person with at most k of them."""
        return Unit.round() if self.person_rounds is None else Unit.person(self.person_rounds)

    @property
    def schedule(self) -> str:
        """When views are released and what they hold: "geometric", "window", "toeplitz" or "tree"."""
        return "window" if self.window is not None else self.releases

    @property
    def failure_probability(self) -> float:
        """α: as given, else 1/horizon, else 0.001."""
        return failure_or_default(self.failure, self.horizon)

    @property
    def shift_factor(self) -> float:
        """c: as given, else the schedule's default."""
        return DEFAULT_SHIFT[self.schedule] if self.shift is None else self.shift

    @property
    def release_ratio(self) -> Fraction:
        """r as an exact fraction: as given, else the schedule's default."""
        ratio = DEFAULT_RATIO[self.schedule] if self.ratio is None else self.ratio
        return Fraction(ratio).limit_denominator(10**6)

    @property
    def reward_noise_level(self) -> float:
        """σ: as given, else the reward bound, which is always valid."""
        return float(self.reward_bound if self.noise_level is None else self.noise_level)

    # What follows from it ---------------------------------------------------------------------------------------

    @property
    def reward_scale(self) -> float:
        """ζ = min(1, L/B̃). Rewards larger than actions are scaled down before they are summed, and the released vector
        is scaled back: less noise in both blocks. The paper does not do it."""
        return 1.0 if self.calibration == "published" else min(1.0, self.action_norm / self.reward_bound)

    @property
    def sensitivity(self) -> float:
        """L̃² = L² + (ζB̃)²: how much one replaced row changes the sums, in units of symmetric noise."""
        return self.action_norm**2 + (self.reward_scale * self.reward_bound) ** 2

    def plan(self) -> Plan:
        if self.calibration == "published":
            return published.gaussian(self) if self.noise == "gaussian" else published.wishart_tree(self)
        return {
            "geometric": exact.geometric_releases,
            "window": exact.windowed_releases,
            "toeplitz": exact.toeplitz_every_round,
            "tree": exact.tree_every_round,
        }[self.schedule](self)

    def secure_plan(self) -> Plan:
        return secure.secure_plan(self)

    def regulariser_bounds(self) -> RegulariserBounds:
        """ρ_min, ρ_max and γ of every view: what the regret theorems are made of (releases every round only)."""
        if self.calibration == "published":
            return published.gaussian_bounds(self) if self.noise == "gaussian" else published.wishart_bounds(self)
        return exact.regulariser_bounds(self)
