"""Two contexts that swap two arms: the world in which plain differential privacy cannot learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit._validate import whole
from tacit.core.settings import option
from tacit.core.slate import Slate, slate
from tacit.core.verbs import pay, show
from tacit.environments.environment import Environment, World
from tacit.noise import Source, fill_uniforms


class TwoContextsParams(NamedTuple):
    """Nothing but room for a coin."""

    coin: Floats  # (1,) scratch


@dataclass(frozen=True, kw_only=True)
class TwoContexts(Environment):
    """Two arms, +θ* and −θ* with θ* = e_1; each round a fair coin says which arm is which.

    An arm pays its mean, +1 or −1: a wrong arm costs 2, and one look at one reward gives θ* away. Whoever must not
    reveal this round's context by this round's arm pays at least a quarter per round all the same, however much is
    known of θ* (`policies.lower_bounds.plain_dp_floor`). Joint privacy escapes: there a person's own arm may depend
    on that person's own context.

    Shariff and Sheffet (2018), proof of Claim 13.
    """

    slug: ClassVar[str] = "two-contexts"
    summary: ClassVar[str] = "two arms that a fair coin swaps: plain DP pays n/4 here (Shariff and Sheffet 2018)"

    dim: int = option("number of features d; all but the first are always zero", 2)

    def __post_init__(self) -> None:
        whole("dim", self.dim)

    @property
    def features(self) -> int:
        return self.dim

    def start(self, stream: Source) -> World:
        theta = np.zeros(self.dim)
        theta[0] = 1.0
        return World(TwoContextsParams(np.zeros(1)), slate(self.dim, 2), np.zeros(2), theta)


@implements(show, TwoContextsParams)
@kernel
def _show(environment: TwoContextsParams, slate: Slate, means: Floats, stream: Any) -> None:
    fill_uniforms(stream, environment.coin)
    means[0] = 1.0 if environment.coin[0] < 0.5 else -1.0
    means[1] = -means[0]
    for k in range(2):
        slate.columns[0, k] = means[k]


@implements(pay, TwoContextsParams)
@kernel
def _pay(environment: TwoContextsParams, mean: float, stream: Any) -> float:
    """±1 with a mean of ±1 leaves nothing to luck."""
    return mean
