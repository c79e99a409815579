"""The USCA paper: how the error of private kernel bandits falls, and what more than one prediction costs."""

from typing import Any

from tacit.reproduce.experiment import Experiment
from tacit.reproduce.kernel.predictions import ManyPredictions
from tacit.reproduce.kernel.rates import ErrorRates

EXPERIMENTS: tuple[Experiment[Any], ...] = (ErrorRates(), ManyPredictions())
