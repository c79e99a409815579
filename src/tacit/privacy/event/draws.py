"""Candidates that a curator draws by score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tacit._validate import positive, whole
from tacit.privacy.event.fact import NO_DATA, Event, counted


@dataclass(frozen=True)
class ExponentialEvent(Event):
    """Draws of one candidate each, with a probability that grows exponentially with its score.

    Replacing one row moves the log-odds between any two candidates of a draw by at most `epsilon`. Each draw has fresh
    randomness of its own; which candidates there are does not depend on the data.
    """

    kind: ClassVar[str] = "exponential"
    epsilon: float  # ε₀
    draws: int = 1  # k

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon, hint=NO_DATA))
        object.__setattr__(self, "draws", whole("draws", self.draws))

    def describe(self) -> str:
        return (
            f"One of several candidates drawn by its score, {counted(self.draws, 'time')}; a row moves the log-odds "
            f"between any two candidates by at most {self.epsilon:.6g}."
        )

    def to_dict(self) -> dict[str, Any]:
        return {"event": self.kind, "epsilon": self.epsilon, "draws": self.draws}
