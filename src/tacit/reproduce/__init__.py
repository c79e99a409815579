"""The experiments of the papers, each from one call: runs, figure, table, and a verdict on every claim.

outcome = tacit.reproduce.run("joint-dp/figure-4", scale="quick")
print(outcome.text())
"""

from tacit.reproduce.experiment import By, Claim, Experiment, Finding, Scale, Verdict
from tacit.reproduce.outcome import Outcome
from tacit.reproduce.runner import EXPERIMENTS, run

__all__ = ["EXPERIMENTS", "By", "Claim", "Experiment", "Finding", "Outcome", "Scale", "Verdict", "run"]
