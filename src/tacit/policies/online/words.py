"""What the online policies say of themselves on the card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.privacy.guarantee import Guarantee, round_up

if TYPE_CHECKING:
    from tacit.policies.online.common import OnlinePolicy

WHETHER = (
    "Whether a report is sent, and when, does not depend on what is in it: a reward that never comes is reported as an "
    "action and a reward of zero."
)


def of_calibration(config: OnlinePolicy, guarantee: Guarantee) -> tuple[str, ...]:
    """What the published constants truly give."""
    if config.calibration != "published":
        return ()
    epsilon = guarantee.epsilon
    assert epsilon is not None
    kept = "The claim is kept" if epsilon <= config.epsilon else "The claim is NOT kept: do not deploy it"
    return (
        "Published constants price the action and the reward apart, with a formula proved for epsilon < 1 only. "
        f"The true epsilon of both together is <= {round_up(epsilon, 4)} at delta = {config.delta:g}. {kept}. "
        'calibration="exact" keeps it with the least noise.',
    )


def of_width(multiplier: float) -> str:
    """The practical rule."""
    return (
        f"The width is a heuristic, {multiplier:g}·(R + σ + Dσ)·√(d·ln(1 + t)): nothing is proved of its coverage. "
        "Privacy does not depend on it."
    )
