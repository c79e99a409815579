"""Randomised response on one's own context: the best that plain differential privacy allows, even to who knows θ*."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from tacit._kernel import implements, kernel
from tacit._validate import positive, whole
from tacit.core.plan import Draws, Plan
from tacit.core.policy import Policy
from tacit.core.settings import option
from tacit.core.slate import Slate
from tacit.core.verbs import absorb, choose, encode, release
from tacit.noise import fill_uniforms
from tacit.policies.context_blind import NoView, count_only, empty_vault, empty_view, release_nothing, send_nothing
from tacit.privacy.event import RandomisedResponseEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust, Unit

#: The odds are raised by so much: what rounding takes from a probability (of up to ten thousand arms) it gives back.
_SAFETY = 1e-12
#: The smallest probability a uniform number can decide.
_FINEST = 2.0**-53


class RandomisedResponseParams(NamedTuple):
    """Params of `RandomisedResponse`."""

    odds: float  # e^−ε: of each other arm against the best


@dataclass(frozen=True, kw_only=True)
class RandomisedResponse(Policy):
    """The best arm of one's own context with probability e^ε/(e^ε + K − 1), each other with 1/(e^ε + K − 1).

    Formal guarantee: (ε, 0)-DP for one replaced round, a person's own arm included. The person's device randomises;
    nobody is trusted. It holds for any number of arms K, as long as K does not depend on the context.

    It is a reference line, and given every advantage: it knows that θ* = e_1, so there is nothing to learn and it
    learns nothing. On `TwoContexts` it pays 2/(1 + e^ε) per round all the same, and no ε-DP policy pays less
    (`lower_bounds.randomised_response_regret`). In a world with another θ* it answers the wrong question.

    Warner (1965); Shariff and Sheffet (2018), Claim 13.
    """

    slug: ClassVar[str] = "randomised-response"
    summary: ClassVar[str] = "the best arm for theta = e_1, randomised by the person: the best plain DP can do"
    trust: ClassVar[Trust] = Trust.LOCAL
    protects: ClassVar[Protects] = Protects.EVERYTHING
    needs: ClassVar[str] = "a world whose parameter is e_1, such as two-contexts"

    dim: int = option("number of features d")
    epsilon: float = option("promised epsilon (delta is 0)")

    def __post_init__(self) -> None:
        whole("dim", self.dim)
        positive("epsilon", self.epsilon, hint="For epsilon = 0 use ContextBlind.")

    @classmethod
    def examples(cls, dim: int) -> tuple[RandomisedResponse, ...]:
        return (cls(dim=dim, epsilon=1.0),)

    @property
    def calibrated(self) -> str:
        return "exact"

    def plan(self, sampler: str = "double") -> Plan:
        event = RandomisedResponseEvent(self.epsilon)
        return Plan(
            params=RandomisedResponseParams(self._odds()),
            vault=empty_vault,
            view=empty_view,
            report_size=1,
            event=event,
            guarantee=Guarantee.priced(event, trust=self.trust, protects=self.protects, unit=Unit.round(), delta=None),
            draws=Draws(choose_uniforms=2),
            assumptions=(
                "The number of actions does not depend on the person's context.",
                "The unit is the round: somebody with several rounds has several times the exposure.",
            ),
            notes=(
                f"Pure DP was asked for: epsilon = {self.epsilon:g} at delta = 0.",
                "A person's own action is covered too: it is the randomised answer.",
                "The parameter is taken to be e_1 and nothing is learned; rewards are never looked at.",
            ),
        )

    def _odds(self) -> float:
        """e^−ε, rounded towards privacy. That of a huge ε would round to zero: an arm that only ever comes as the best
        one would be proof of a context, at any ε."""
        return min(1.0, max(math.exp(-self.epsilon) * (1 + _SAFETY), _FINEST))


@implements(choose, RandomisedResponseParams)
@kernel
def _choose(params: RandomisedResponseParams, view: NoView, slate: Slate, noise: Any) -> int:
    """On the person's side: the best arm, or with probability (K − 1)·e^−ε/(1 + (K − 1)·e^−ε) another, evenly.

    Formal guarantee: the probabilities of an arm under any two contexts have a ratio of at most e^ε. Uniform numbers
    are multiples of 2⁻⁵³ or 2⁻⁵² from 0 on, so "below" happens with the stated probability rounded *up*.
    Requires: two uniforms on the tape; nothing but the arm leaves the person's side.
    """
    coordinates = slate.columns[0]
    arms = len(slate.scores)
    best = 0
    for k in range(1, arms):
        if coordinates[k] > coordinates[best]:
            best = k
    fill_uniforms(noise, slate.scratch[:2])
    weight = (arms - 1) * params.odds
    if arms > 1 and slate.scratch[0] < weight / (1.0 + weight):
        other = min(int(slate.scratch[1] * (arms - 1)), arms - 2)
        return other if other < best else other + 1
    return best


implements(encode, RandomisedResponseParams)(send_nothing)
implements(absorb, RandomisedResponseParams)(count_only)
implements(release, RandomisedResponseParams)(release_nothing)
