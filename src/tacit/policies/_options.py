"""Options that several policies share."""

from __future__ import annotations

from tacit._validate import positive


def width_multiplier(width: object) -> float:
    """1 for "theory", else the number that multiplies the proved width."""
    if width == "theory":
        return 1.0
    return positive("width", width, hint='Use "theory" for the proved width.')
