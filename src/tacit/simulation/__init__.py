"""Millions of compiled rounds, trials side by side, regret at log-spaced checkpoints."""

from tacit.simulation.engine import simulate
from tacit.simulation.result import Result

__all__ = ["Result", "simulate"]
