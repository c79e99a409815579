"""What trials of a function learner leave behind: error rates, settings, guarantees, and a tidy table of all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit._types import Floats
from tacit._version import __version__
from tacit.core.functions import FunctionPolicy
from tacit.environments.functions import FunctionEnvironment
from tacit.errors import BadInput
from tacit.privacy.guarantee import Guarantee
from tacit.simulation.result import _cell, save_frame, standard_error

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

RELEASED, ONCE, MEAN = "function", "once", "mean"
WAYS = (RELEASED, ONCE, MEAN)  #: how predictions are made; `simulate_predictions` explains them


@dataclass(frozen=True, eq=False)
class PredictionResult:
    """The finished trials of one function learner in one world of functions."""

    config: FunctionPolicy  #: with what the environment told it
    environment: FunctionEnvironment
    rounds: int
    trials_asked: int
    seed: int
    label: str
    ways: tuple[str, ...]
    trial_numbers: tuple[int, ...]
    by_way: Floats  # (trials, ways): error rates
    random_errors: Floats  # (trials,): the error rate of a candidate drawn evenly
    clipped: Mapping[str, int]  # what was moved to where it was declared to be, of simulated people
    guarantees: tuple[Guarantee, ...]  # one per way
    seconds: float
    interrupted: bool = False

    @property
    def trials(self) -> int:
        """How many trials have finished."""
        return len(self.trial_numbers)

    @property
    def errors(self) -> Floats:
        """The error rate of each trial, by the first way: (trials,)."""
        return self.errors_of(self.ways[0])

    @property
    def error_rate(self) -> float:
        """Mean error rate, by the first way."""
        return float(self.errors.mean())

    @property
    def error_rate_se(self) -> float | None:
        """Standard error of the mean; None with a single trial."""
        return standard_error(self.errors)

    @property
    def random_error_rate(self) -> float:
        """What an action drawn evenly from the candidates loses: the error rate of having learned nothing."""
        return float(self.random_errors.mean())

    @property
    def guarantee(self) -> Guarantee:
        """What the first way gives."""
        return self.guarantees[0]

    def errors_of(self, way: str) -> Floats:
        """The error rate of each trial, by one way: (trials,)."""
        if way not in self.ways:
            raise BadInput(f"Expected one of the ways that were run, {', '.join(self.ways)}, got {way!r}.")
        found: Floats = self.by_way[:, self.ways.index(way)]
        return found

    @property
    def records_per_second(self) -> float:
        """All finished records over wall time, predictions included."""
        return self.rounds * self.trials / self.seconds

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know."""
        notes = []
        if self.interrupted:
            notes.append(f"Interrupted: {self.trials} of {self.trials_asked} trials finished.")
        if ONCE in self.ways:
            notes.append("Each draw (once) is priced as if it were the only one; several of them cost more together.")
        if MEAN in self.ways and self.config.promise is not None:
            notes.append("The mean has no noise in it: to compare with, and private for nobody.")
        total = self.rounds * self.trials
        for what, count in self.clipped.items():
            if count:
                notes.append(f"{count:,} {what} ({count / total:.2%}) were outside what was declared, and moved to it.")
        return tuple(notes)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "policy": self.config.slug,
            "environment": self.environment.slug,
            "label": self.label,
            "rounds": self.rounds,
            "trials": self.trials,
            "seed": self.seed,
            "way": self.ways[0],
            "error_rate": self.error_rate,
            "error_rate_se": self.error_rate_se,
            "random_error_rate": self.random_error_rate,
            "records_per_second": self.records_per_second,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "guarantee": self.guarantee.to_dict(),
            "ways": {
                way: {
                    "error_rate": float(self.errors_of(way).mean()),
                    "error_rate_se": standard_error(self.errors_of(way)),
                    "guarantee": guarantee.to_dict(),
                }
                for way, guarantee in zip(self.ways, self.guarantees, strict=True)
            },
            "settings": {
                "policy": self.config.options(),
                "environment": self.environment.options(),
            },
            "notes": list(self.notes),
            "version": __version__,
        }

    def frame(self) -> pd.DataFrame:
        """One row per trial and way, with every setting in every row."""
        import pandas as pd

        count = len(self.ways)
        prices = [guarantee.to_dict() for guarantee in self.guarantees]
        columns: dict[str, Any] = {
            "trial": np.repeat(self.trial_numbers, count),
            "way": list(self.ways) * self.trials,
            "error": self.by_way.ravel(),
            "random_error": np.repeat(self.random_errors, count),
            **{
                f"guarantee_{key}": [price[key] for price in prices] * self.trials
                for key in ("trust", "protects", "unit", "mu", "epsilon", "delta")
            },
        }
        constants: dict[str, Any] = {
            "label": self.label,
            "policy": self.config.slug,
            "environment": self.environment.slug,
            "rounds": self.rounds,
            "seed": self.seed,
            **{f"policy_{key}": _cell(value) for key, value in self.config.options().items()},
            **{f"environment_{key}": _cell(value) for key, value in self.environment.options().items()},
            "version": __version__,
        }
        return pd.DataFrame({**columns, **constants})

    def to_pandas(self) -> pd.DataFrame:
        """`frame`, under the name that other libraries use."""
        return self.frame()

    def save(self, path: str | Path) -> Path:
        """Write the table to `path`: Parquet or CSV, by its ending."""
        return save_frame(self.frame(), path)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the error rate of every way with its standard error, and that of a random action."""
        from tacit.simulation.error_figure import draw_errors

        return draw_errors([self.frame()], axes)

    def _repr_html_(self) -> str:
        from tacit.simulation.notebook import prediction_html

        return prediction_html(self)

    def __repr__(self) -> str:
        error = "" if self.error_rate_se is None else f" ± {self.error_rate_se:.2g}"
        return (
            f"<PredictionResult {self.label} in {self.environment.slug}: error rate {self.error_rate:.4g}{error} "
            f"({self.ways[0]}) after {self.rounds:,} records, {self.trials} trials>"
        )
