"""The linear route to private functions: noise on the Gram matrix and the vector of a kernel's features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from tacit._validate import above, one_of, positive
from tacit.core.functions import FunctionPlan
from tacit.core.settings import drawn_by, option
from tacit.errors import BadInput
from tacit.kernels import Matern, SquaredExponential
from tacit.policies._options import width_multiplier
from tacit.policies.kernel_baselines import one_shot, releases
from tacit.policies.kernel_baselines.common import Baseline
from tacit.policies.kernel_baselines.learner import BaselineLearner
from tacit.privacy.promise import Promise
from tacit.privacy.scope import Protects, Trust, Unit

if TYPE_CHECKING:
    from tacit.policies.joint_linucb import JointLinUCB

#: Regulariser in units of the noise bound; measured, like the ratio of times: docs/guarantees/feature-linucb.md.
DEFAULT_SHIFT = 1.5


@dataclass(frozen=True, kw_only=True)
class FeatureLinUCB(Baseline):
    """Linear regression on the features of a kernel under joint differential privacy.

    A record becomes the row [ψ(x, c); y/B] with ‖ψ‖ ≤ 1 and |y| ≤ B, and is added to a secret Gram matrix and a secret
    vector, as in `JointLinUCB`. With `mode="one-shot"` exploration is even, and `release_function` publishes both sums
    once with symmetric Gaussian noise. With `mode="releases"` the rows go to `JointLinUCB` itself: views at public,
    geometrically growing times, and an action of the public candidates chosen optimistically from the last of them.

    Formal guarantee: (ε, δ)-joint DP for one replaced record, context and reward, of everything that is ever released;
    the exact curve of a Gaussian. It holds for every finite input. The answer to a query may depend on the query's own
    context, which is not protected from its own answer.

    With `feature_map="fourier"` these are the ingredients of Dubey (2021), private GP-UCB on quadrature Fourier
    features: a stand-in for that line of work, not a reproduction of it.
    """

    slug: ClassVar[str] = "feature-linucb"
    summary: ClassVar[str] = "linear regression on a kernel's features under joint DP: a noised Gram matrix and vector"
    trust: ClassVar[Trust] = Trust.JOINT
    protects: ClassVar[Protects] = Protects.EVERYTHING
    needs: ClassVar[str] = 'a kernel, boxes of actions and contexts, a bound on rewards; a horizon for mode="releases"'
    unit: ClassVar[Unit] = Unit.round()

    epsilon: float = option("promised epsilon, for everything that is ever released")
    delta: float = option("promised delta")
    mode: str = option(
        '"one-shot": even exploration, one release; "releases": views on the way, as joint-linucb', "one-shot"
    )
    tau: float = option("smallest regulariser: what remains as epsilon grows", 0.1)
    shift: float = option("regulariser c > 1 in units of the bound on the matrix noise", DEFAULT_SHIFT)
    failure: float = option(
        "probability that a noised matrix needs repair, and that a reward without a bound is clipped", 0.001
    )
    ratio: float | None = option("releases: each release time is this multiple of the last (default: 1.2)", None)
    width: float | str = option('releases: "theory", or a number that multiplies the proved width', "theory")

    def __post_init__(self) -> None:
        super().__post_init__()
        Promise(self.epsilon, self.delta)
        one_of("mode", self.mode, ("one-shot", "releases"))
        positive("tau", self.tau)
        above("shift", self.shift, 1)
        width_multiplier(self.width)
        if self.ratio is not None:
            above("ratio", self.ratio, 1)
        for name, given in (("ratio", self.ratio is not None), ("width", self.width != "theory")):
            if given and self.mode == "one-shot":
                raise BadInput(
                    f'Expected {name} with mode="releases" only, got {name}={getattr(self, name)!r}: a single release '
                    "has no schedule, and even exploration no width."
                )

    @classmethod
    def examples(cls) -> tuple[FeatureLinUCB, ...]:
        every: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "action_box": ((0.0, 1.0),)}
        smooth = SquaredExponential(length_scale=0.3)
        return (
            cls(**every, context_box=((0.0, 1.0),), kernel=smooth, reward_bound=1.3, features=49),
            cls(
                **every,
                kernel=Matern(2.5, length_scale=0.3),
                reward_low=0.0,
                reward_high=1.0,
                features=20,
                shift=3.0,
                horizon=500,
            ),
            cls(**every, kernel=smooth, reward_bound=1.3, features=12, feature_map="fourier", horizon=1000),
            cls(
                **{**every, "epsilon": 8.0},
                context_box=((0.0, 1.0),),
                kernel=smooth,
                reward_bound=1.3,
                features=25,
                candidates=11,
                mode="releases",
                horizon=400,
                ratio=1.5,
            ),
        )

    # What was asked for -----------------------------------------------------------------------------------------

    @property
    def promise(self) -> Promise:
        return Promise(self.epsilon, self.delta)

    @property
    def calibrated(self) -> str:
        return "exact"

    @property
    def adaptive(self) -> bool:
        return self.mode == "releases"

    # What follows from it ---------------------------------------------------------------------------------------

    @property
    def sensitivity(self) -> float:
        """L̃² = ‖ψ‖² + (y/B)² ≤ 2: how much one replaced record changes the sums, in units of symmetric noise. No
        other scale for rewards puts less noise on the vector, and a larger one puts more on the matrix."""
        return 2.0

    @cached_property
    def linear(self) -> JointLinUCB:
        """`JointLinUCB` on the features, with rewards in units of B."""
        return releases.linear_policy(self)

    def plan(self, sampler: str = "double") -> FunctionPlan:
        return one_shot.plan_of(self, sampler) if self.mode == "one-shot" else releases.plan_of(self, sampler)

    def start(self, *, seed: int | None = None, sampler: str | None = None) -> BaselineLearner:
        seed, sampler = drawn_by(seed, sampler)
        if self.mode == "one-shot":
            return one_shot.OneShotLearner(self, seed=seed, sampler=sampler)
        return releases.ReleasesLearner(self, seed=seed, sampler=sampler)
