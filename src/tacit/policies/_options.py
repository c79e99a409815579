"""Options that several policies share."""

from __future__ import annotations

from tacit._validate import positive

#: Failure probability α of the confidence sets where no horizon suggests one.
DEFAULT_FAILURE = 0.001


def failure_or_default(failure: float | None, horizon: int | None) -> float:
    """α: as given, else 1/horizon, else 0.001."""
    if failure is not None:
        return failure
    return DEFAULT_FAILURE if horizon is None else 1 / horizon


def width_multiplier(width: object) -> float:
    """1 for "theory", else the number that multiplies the proved width."""
    if width == "theory":
        return 1.0
    return positive("width", width, hint='Use "theory" for the proved width.')
