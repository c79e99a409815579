"""What the card of `FeatureLinUCB` says."""

from __future__ import annotations

from tacit.policies.usca.words import ASSUMPTIONS, ONCE

__all__ = ["ASSUMPTIONS", "FUNCTION", "ONCE", "STAND_IN", "VIEWS"]

FUNCTION = "A function (release_function), all at once or in parts"
VIEWS = "Views at public times, and actions chosen by them; a function (release_function) costs nothing more"

STAND_IN = "A stand-in for earlier private GP-UCB (Dubey 2021): the same route, not a reproduction of it."
