"""LinUCB under joint differential privacy: the configuration, its calibration and its confidence sets.

Shariff and Sheffet (2018) release noised sums every round through a binary tree. The same guarantee costs far less
noise when all nodes are priced as one Gaussian mechanism (`releases="tree"`), and less again when sums are released at
public, geometrically growing times with correlated noise (`releases="geometric"`, the default).

The kernels are in `joint_linucb_verbs`; what is proved stands in `mechanisms/*/proof.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tacit import linalg
from tacit._types import Floats
from tacit._validate import above, one_of, positive, probability, whole
from tacit.core.plan import Draws, Plan
from tacit.core.policy import Policy
from tacit.core.settings import option
from tacit.errors import BadInput
from tacit.estimators.ridge import Confidence, Optimism, Thompson, empty_view
from tacit.mechanisms import geometric, toeplitz, tree
from tacit.policies._options import failure_or_default, width_multiplier
from tacit.policies.joint_linucb_verbs import Bounds, GeometricParams, TreeParams, empty_vault
from tacit.privacy.accountant import price
from tacit.privacy.calibrate import Promise, calibrate
from tacit.privacy.event import Event, ToeplitzEvent, TreeEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Neighbours, Protects, Trust, Unit
from tacit.privacy.toeplitz import EIGHT_BUFFERS

#: Default shift c per release schedule: measured in docs/decisions/0005-shift-and-ratio.md.
DEFAULT_SHIFT = {"geometric": 3.0, "tree": 2.0}


@dataclass(frozen=True, kw_only=True)
class JointLinUCB(Policy):
    """LinUCB whose choices for *other* people reveal almost nothing of one person's round.

    Formal guarantee: (ε, δ)-joint DP under continual observation for one replaced round (its actions and its reward),
    whatever the later users do: all actions shown in later rounds together are μ-GDP with δ(ε) on the Gaussian curve.
    It holds for every finite input; inputs outside the declared bounds are clipped before they are summed. A person's
    own action is not protected from that person.

    `releases="geometric"` (default) updates the view at public times t_{k+1} = ⌈ratio·t_k⌉ and needs no horizon. What
    it gives up: with contexts chosen *adversarially* a direction first seen inside a segment is not learned until the
    segment ends, so worst-case regret is linear (at most a share 1 − 1/ratio of the rounds); the √n regret theorem
    holds for `releases="tree"`, which updates every round and needs the horizon.
    """

    slug: ClassVar[str] = "joint-linucb"
    summary: ClassVar[str] = "LinUCB under joint DP: a trusted curator, releases with Gaussian noise"
    trust: ClassVar[Trust] = Trust.JOINT
    protects: ClassVar[Protects] = Protects.EVERYTHING
    needs: ClassVar[str] = 'bounds on actions and rewards; a horizon for releases="tree"'

    dim: int = option("number of features d")
    epsilon: float = option("promised epsilon")
    delta: float = option("promised delta")
    releases: str = option('"geometric" (no horizon needed; not for adversarial contexts) or "tree"', "geometric")
    calibration: str = option('"exact": the least noise that keeps the promise', "exact")
    horizon: int | None = option("number of rounds served at most (required by the tree)", None)
    action_norm: float = option("bound L on the norm of an action; longer ones are clipped", 1.0)
    reward_bound: float = option("bound B on the absolute reward; larger ones are clipped", 1.0)
    parameter_norm: float = option("bound S on the norm of the unknown parameter", 1.0)
    noise_level: float | None = option("sub-Gaussian level of the reward noise, sigma (default: reward_bound)", None)
    failure: float | None = option("failure probability alpha (default: 1/horizon, or 0.001)", None)
    width: float | str = option('"theory", or a number that multiplies the proved width (no guarantee then)', "theory")
    shift: float | None = option("regulariser c > 1 in units of the noise bound (default: 3 geometric, 2 tree)", None)
    ridge: float = option("smallest regulariser: what remains as epsilon grows", 1.0)
    exploration: str = option(
        '"optimism", or "thompson": a draw from the view every round, without a theorem', "optimism"
    )
    ratio: float = option("geometric: each release time is this multiple of the last", 1.01)
    views: int = option("geometric: how many views can ever be released", 2048)
    strict: bool = option("refuse inputs outside the bounds instead of clipping them", False)

    def __post_init__(self) -> None:
        whole("dim", self.dim)
        Promise(self.epsilon, self.delta)
        one_of("releases", self.releases, ("geometric", "tree"))
        one_of("calibration", self.calibration, ("exact",))
        one_of("exploration", self.exploration, ("optimism", "thompson"))
        for name in ("action_norm", "reward_bound", "parameter_norm", "ridge"):
            positive(name, getattr(self, name))
        if self.noise_level is not None:
            positive("noise_level", self.noise_level)
        if self.failure is not None:
            probability("failure", self.failure)
        if self.shift is not None:
            above("shift", self.shift, 1)
        width_multiplier(self.width)
        above("ratio", self.ratio, 1)
        whole("views", self.views)
        if not isinstance(self.strict, bool):
            raise BadInput(f"Expected strict to be True or False, got strict={self.strict!r}.")
        if self.horizon is not None:
            whole("horizon", self.horizon, low=2, hint="A horizon is the number of rounds to be served.")
        elif self.releases == "tree":
            raise BadInput(
                'Expected a horizon (number of rounds) with releases="tree", got none. '
                'Give horizon=…, or use releases="geometric", which needs none.'
            )

    @classmethod
    def examples(cls, dim: int) -> tuple[JointLinUCB, ...]:
        return (
            cls(dim=dim, epsilon=1.0, delta=1e-6),
            cls(dim=dim, epsilon=10.0, delta=0.1, ratio=1.5, views=32, exploration="thompson", reward_bound=3.0),
            cls(dim=dim, epsilon=1.0, delta=1e-6, releases="tree", horizon=1000),
            cls(dim=dim, epsilon=0.2, delta=1e-9, releases="tree", horizon=4096, exploration="thompson", shift=3.0),
        )

    # What was asked for -----------------------------------------------------------------------------------------

    @property
    def promise(self) -> Promise:
        return Promise(self.epsilon, self.delta)

    @property
    def calibrated(self) -> str:
        return self.calibration

    @property
    def failure_probability(self) -> float:
        """α: as given, else 1/horizon, else 0.001."""
        return failure_or_default(self.failure, self.horizon)

    @property
    def shift_factor(self) -> float:
        """c: as given, else the schedule's default."""
        return DEFAULT_SHIFT[self.releases] if self.shift is None else self.shift

    # What follows from it ---------------------------------------------------------------------------------------

    @property
    def reward_scale(self) -> float:
        """ζ = min(1, L/B̃). Rewards larger than actions are scaled down before they are summed, and the released vector
        is scaled back: less noise in both blocks."""
        return min(1.0, self.action_norm / self.reward_bound)

    @property
    def sensitivity(self) -> float:
        """L̃² = L² + (ζB̃)²: how much one replaced row changes the sums, in units of symmetric noise."""
        return self.action_norm**2 + (self.reward_scale * self.reward_bound) ** 2

    def plan(self) -> Plan:
        return self._plan_tree() if self.releases == "tree" else self._plan_geometric()

    def _plan_tree(self) -> Plan:
        assert self.horizon is not None
        horizon, levels = self.horizon, tree.levels(self.horizon)

        def event_at(scale: float) -> TreeEvent:
            return TreeEvent(scale=scale, sensitivity=self.sensitivity, nodes=levels)

        scale = calibrate(self.promise, event_at)
        # Every view carries at most q nodes. Counting the nodes of each prefix instead is valid too, and no better.
        spread = np.array([scale * math.sqrt(levels)])
        params = TreeParams(
            bounds=self._bounds(),
            confidence=self._confidence(spread, releases=horizon)[0],
            scale=scale,
            horizon=horizon,
            exploration=self._explorer(),
        )
        return self._plan_of(
            params,
            event_at(scale),
            memory_rows=tree.empty_memory(horizon, 1).shape[0],
            scales={"each node": scale, "each view": float(spread[0])},
            limit=horizon,
            hint='start a new epoch (its budget adds) or use releases="geometric", which needs no horizon.',
        )

    def _plan_geometric(self) -> Plan:
        design = EIGHT_BUFFERS

        def event_at(scale: float) -> ToeplitzEvent:
            return ToeplitzEvent(
                scale=scale,
                sensitivity=self.sensitivity,
                releases=self.views,
                design=design,
                rows_per_release="many",
            )

        scale = calibrate(self.promise, event_at)
        spread = np.array([scale * design.row_norm(k) for k in range(1, self.views + 1)])
        confidence, bound = self._confidence(spread, releases=self.views)
        # Before t_1 the matrix would be mostly regulariser: not worth a release.
        first = max(self.dim, math.ceil(bound / self.action_norm**2))
        times = geometric.release_times(first, Fraction(self.ratio).limit_denominator(10**6), self.views)
        params = GeometricParams(
            bounds=self._bounds(),
            confidence=confidence,
            buffers=toeplitz.buffers(design, scale),
            times=times,
            exploration=self._explorer(),
        )
        last = int(times[-1])
        return self._plan_of(
            params,
            event_at(scale),
            memory_rows=toeplitz.empty_memory(design, 1).shape[0],
            scales={
                "each fresh draw": scale,
                "first view": float(spread[0]),
                "last view": float(spread[len(times) - 1]),
            },
            limit=last if self.horizon is None else min(last, self.horizon),
            hint="start a new epoch (its budget adds)"
            + (" or plan for more views." if self.horizon is None else " or leave the horizon out."),
        )

    def _explorer(self) -> Optimism | Thompson:
        return Thompson(math.sqrt(self.dim)) if self.exploration == "thompson" else Optimism(1.0)

    def _bounds(self) -> Bounds:
        return Bounds(float(self.action_norm), float(self.reward_bound), float(self.reward_scale))

    def _confidence(self, spread: Floats, *, releases: int) -> tuple[Confidence, float]:
        """The numbers of β for views whose noise has standard deviations τ_k = `spread`, and Υ_1.

        With R views, A = 2√d + 2√ln(8R/α), g = √d + √(2 ln(4R/α)), Υ_k = max(A·τ_k, ridge/c):
        V_k = G + N_k + cΥ_k·I has ρ_min = (c−1)Υ_k, ρ_max = (c+1)Υ_k, γ_k = (g·τ_k/ζ)/√((c−1)Υ_k), each with
        probability 1 − α/4R per view; the martingale takes the other α/2. Matrix tail: λ_max of the noise is
        √2·τ-Lipschitz with mean at most 2τ√d, so P(‖N‖ ≥ τ(2√d + x)) ≤ 2e^{−x²/4}; vector tail e^{−x²/2}.
        """
        dim, alpha, shift = self.dim, self.failure_probability, self.shift_factor
        matrix = 2 * math.sqrt(dim) + 2 * math.sqrt(math.log(8 * releases / alpha))  # A
        vector = math.sqrt(dim) + math.sqrt(2 * math.log(4 * releases / alpha))  # g
        bound = np.maximum(matrix * spread, self.ridge / shift)  # Υ_k
        gamma = vector * spread / self.reward_scale / np.sqrt((shift - 1) * bound)
        confidence = Confidence(
            noise_level=float(self.reward_bound if self.noise_level is None else self.noise_level),
            log_term=2 * math.log(2 / alpha),
            log_floor=dim * math.log((shift - 1) * float(bound.min())),
            multiplier=width_multiplier(self.width),
            regulariser=shift * bound,
            repair=bound,
            bias=self.parameter_norm * np.sqrt((shift + 1) * bound) + gamma,
        )
        return confidence, float(bound[0])

    def _plan_of(
        self,
        params: GeometricParams | TreeParams,
        event: Event,
        *,
        memory_rows: int,
        scales: dict[str, float],
        limit: int,
        hint: str,
    ) -> Plan:
        size = linalg.packed_size(self.dim) + self.dim
        guarantee = Guarantee(
            trust=Trust.JOINT,
            protects=Protects.EVERYTHING,
            neighbours=Neighbours.REPLACE_ONE,
            unit=Unit.round(),
            mu=price(event),
            delta=self.delta,
        )
        return Plan(
            params=params,
            vault=lambda: empty_vault(size, memory_rows),
            view=lambda: empty_view(self.dim),
            report_size=self.dim + 2,
            event=event,
            guarantee=guarantee,
            draws=Draws(
                choose_normals=self.dim if self.exploration == "thompson" else 0,
                choose_uniforms=1,
                learn_normals=size,
            ),
            limit=limit,
            limit_hint=hint,
            noise_scale=next(iter(scales.values())),
            noise_scales=dict(list(scales.items())[1:]),
            assumptions=self._assumptions(limit),
            notes=self._notes(),
        )

    def _assumptions(self, limit: int) -> tuple[str, ...]:
        handling = "refused" if self.strict else "clipped"
        return (
            f"Inputs with |x| > {self.action_norm:g} or |reward| > {self.reward_bound:g} are {handling} before they "
            "are summed, so the guarantee needs no assumption on the data.",
            "Whether and when a row arrives does not depend on what is in it: a reward that never comes is learned as "
            "a row of zeros.",
            f"At most {limit:,} rounds; then the learner refuses.",
            "The unit is the round: somebody with several rounds has several times the exposure.",
        )

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.releases == "geometric":
            notes.append(
                "Geometric releases give up adversarially chosen contexts: a direction first seen inside a segment is "
                f"learned only when it ends (regret up to {1 - 1 / self.ratio:.1%} of the rounds)."
            )
        if self.exploration == "thompson":
            notes.append("Thompson exploration costs no privacy and has no regret theorem here.")
        if self.width != "theory":
            notes.append(
                f"Width multiplied by {self.width:g}: no guarantee on the confidence set; privacy is unaffected."
            )
        if self.noise_level is not None and self.noise_level < self.reward_bound:
            notes.append("noise_level below reward_bound is the user's claim; only the width depends on it.")
        return tuple(notes)
