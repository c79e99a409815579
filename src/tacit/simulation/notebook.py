"""Results as a notebook shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit._html import curve, panel
from tacit.simulation.result import Result, standard_error

if TYPE_CHECKING:
    from tacit.simulation.prediction_result import PredictionResult


def result_html(result: Result) -> str:
    """Regret with its standard error, the shape of its curve, the guarantee, and what a reader should know."""
    rows = [
        ("regret", _mean(result.regret_mean, result.regret_se)),
        ("rounds", f"{result.rounds:,}"),
        ("trials", _trials(result)),
        ("seed", str(result.seed)),
        ("guarantee", str(result.guarantee)),
    ]
    return panel(
        result.label,
        under=f"in {result.environment.slug}",
        drawing=curve(
            [0.0, *result.checkpoints.tolist()], [0.0, *result.curves.mean(axis=0).tolist()], "Mean regret over rounds"
        ),
        rows=rows,
        notes=result.notes,
    )


def prediction_html(result: PredictionResult) -> str:
    """The error rate of every way with its standard error and its guarantee, beside that of a random action."""
    rows = []
    for way, guarantee in zip(result.ways, result.guarantees, strict=True):
        errors = result.errors_of(way)
        rows += [
            (f"error rate ({way})", _mean(float(errors.mean()), standard_error(errors))),
            (f"guarantee ({way})", str(guarantee)),
        ]
    rows += [
        ("of a random action", f"{result.random_error_rate:.4g}"),
        ("records", f"{result.rounds:,}"),
        ("trials", _trials(result)),
        ("seed", str(result.seed)),
    ]
    return panel(result.label, under=f"in {result.environment.slug}", rows=rows, notes=result.notes)


def _mean(mean: float, error: float | None) -> str:
    return f"{mean:.4g}" if error is None else f"{mean:.4g} ± {error:.2g}"


def _trials(result: Result | PredictionResult) -> str:
    return f"{result.trials}" if result.trials == result.trials_asked else f"{result.trials} of {result.trials_asked}"
