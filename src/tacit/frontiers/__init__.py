"""What privacy costs: regret against ε, between not private and choosing evenly, with a sentence of advice."""

from __future__ import annotations

from tacit.frontiers.budgets import EPSILONS, Asked
from tacit.frontiers.result import Frontier, Point
from tacit.frontiers.run import frontier

__all__ = ["EPSILONS", "Asked", "Frontier", "Point", "frontier"]
