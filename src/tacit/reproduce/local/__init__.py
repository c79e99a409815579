"""The local paper: Section 5, Appendix G, the combiner of Section 4, and the rates of its theorems."""

from typing import Any

from tacit.reproduce.experiment import Experiment
from tacit.reproduce.local.combination import WhichBase
from tacit.reproduce.local.eigenvalues import LeastEigenvalues
from tacit.reproduce.local.over_time import RegretAtThreeBudgets
from tacit.reproduce.local.rates import Rates

EXPERIMENTS: tuple[Experiment[Any], ...] = (
    RegretAtThreeBudgets(),
    LeastEigenvalues(),
    WhichBase(),
    Rates(),
)
