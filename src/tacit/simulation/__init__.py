"""Trials side by side: millions of compiled rounds and their regret, or blocks of records and what predictions lose."""

from tacit.simulation.engine import Job, simulate_all
from tacit.simulation.families import simulate
from tacit.simulation.prediction_result import PredictionResult
from tacit.simulation.predictions import simulate_predictions
from tacit.simulation.result import Result

__all__ = ["Job", "PredictionResult", "Result", "simulate", "simulate_all", "simulate_predictions"]
