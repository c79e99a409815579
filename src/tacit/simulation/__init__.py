"""Millions of compiled rounds, trials side by side, regret at log-spaced checkpoints."""

from tacit.simulation.engine import Job, simulate, simulate_all
from tacit.simulation.result import Result

__all__ = ["Job", "Result", "simulate", "simulate_all"]
