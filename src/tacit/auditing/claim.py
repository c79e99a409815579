"""From what was promised to what an attack can refute."""

from __future__ import annotations

from typing import Any

from tacit.auditing.attack import Claim
from tacit.errors import BadInput
from tacit.privacy import gdp
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.promise import SHOWN_DELTA, AnyPromise, Promise, PurePromise


def claim_of(config: Any) -> Claim:
    """The promise of a configuration: ε at δ, and μ where a whole Gaussian curve is promised."""
    guarantee: Guarantee = config.guarantee
    if not guarantee.private:
        raise BadInput(
            f"Expected a private policy, got {config.slug}, which promises nothing: there is nothing to refute."
        )
    return claim_from(config.promise, guarantee)


def claim_from(promise: AnyPromise | None, guarantee: Guarantee) -> Claim:
    """Without a promise the guarantee itself is the claim."""
    curved = guarantee.mu is not None
    if isinstance(promise, Promise):
        return Claim(promise.epsilon, promise.delta, promise.mu if curved else None)
    if isinstance(promise, PurePromise):
        return Claim(promise.epsilon, 0.0, None)
    if promise is not None:
        return Claim(gdp.epsilon_at(promise.mu, SHOWN_DELTA), SHOWN_DELTA, promise.mu if curved else None)
    delta = SHOWN_DELTA if guarantee.delta is None else guarantee.delta
    return Claim(guarantee.epsilon_at(delta), delta, guarantee.mu)
