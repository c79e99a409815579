"""Millions of compiled rounds, trials side by side, regret at log-spaced checkpoints."""

from tacit.simulate.engine import simulate
from tacit.simulate.result import Result

__all__ = ["Result", "simulate"]
