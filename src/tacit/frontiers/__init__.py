"""What privacy costs: regret, reward or error against ε, between not private and choosing evenly, with advice.

In an environment, on a table, in a world of functions, or on a log. See docs/how-to/choose-epsilon.md.
"""

from __future__ import annotations

from tacit.frontiers.budgets import EPSILONS, Asked
from tacit.frontiers.measures import Measure, Value
from tacit.frontiers.result import Frontier, Level, Point
from tacit.frontiers.run import frontier

__all__ = ["EPSILONS", "Asked", "Frontier", "Level", "Measure", "Point", "Value", "frontier"]
