"""What the card of `FeatureLinUCB` says."""

from __future__ import annotations

from tacit.policies.usca.words import ASSUMPTIONS, ONCE

__all__ = ["ASSUMPTIONS", "ONCE", "STAND_IN"]

STAND_IN = "A stand-in for earlier private GP-UCB (Dubey 2021): the same route, not a reproduction of it."
