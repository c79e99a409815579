"""What a simulation leaves behind: curves, settings, the guarantee, and a tidy table of all of it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit._types import Floats, Ints
from tacit._version import __version__
from tacit.core.policy import Policy
from tacit.core.round import CLIPPED_ACTIONS, CLIPPED_REWARDS, REPAIRS
from tacit.environments import Environment
from tacit.errors import BadInput
from tacit.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Result:
    """The finished trials of one policy in one environment."""

    config: Policy
    environment: Environment
    rounds: int
    trials_asked: int
    seed: int
    label: str
    trial_numbers: tuple[int, ...]
    checkpoints: Ints  # round numbers
    curves: Floats  # (trials, checkpoints): pseudo-regret so far
    counters: Ints  # (trials, …): clipped inputs and repairs, of simulated people
    guarantee: Guarantee
    seconds: float
    interrupted: bool = False
    by: str = "rounds"  # or "episodes": how it was simulated

    @property
    def bound(self) -> Policy:
        """The configuration, with the environment's list of actions where it has none of its own."""
        actions = self.environment.fixed_actions
        return self.config if actions is None else self.config.offered(actions)

    @property
    def trials(self) -> int:
        """How many trials have finished."""
        return len(self.trial_numbers)

    @property
    def regret(self) -> Floats:
        """Final regret of each trial."""
        final: Floats = self.curves[:, -1]
        return final

    @property
    def regret_mean(self) -> float:
        """Mean final regret."""
        return float(self.regret.mean())

    @property
    def regret_se(self) -> float | None:
        """Standard error of the mean; None with a single trial."""
        return standard_error(self.regret)

    @property
    def rounds_per_second(self) -> float:
        """All finished rounds over wall time, compilation not counted."""
        return self.rounds * self.trials / self.seconds

    @property
    def world(self) -> Environment:
        """The environment as the policy met it."""
        return self.environment if self.config.arms_of_context is None else self.environment.by_context

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know."""
        notes = list(self.world.notes)
        if self.by == "episodes":
            notes.append("Simulated by episodes: the law of the run round by round, in one draw per episode.")
        horizon = getattr(self.config, "horizon", None)
        if horizon == self.rounds:
            notes.append(f"Planned with horizon={horizon:,}, the rounds of the run.")
        if self.interrupted:
            notes.append(f"Interrupted: {self.trials} of {self.trials_asked} trials finished.")
        if self.config.person_rounds:
            notes.append("The unit is a person, and every round is a different person in simulation.")
        total = self.rounds * self.trials
        for place, what in ((CLIPPED_ACTIONS, "actions"), (CLIPPED_REWARDS, "rewards")):
            clipped = int(self.counters[:, place].sum())
            if clipped:
                share = clipped / total
                notes.append(
                    f"{clipped:,} {what} ({share:.2%}) were clipped: still private, but the width is heuristic."
                )
        repairs = int(self.counters[:, REPAIRS].sum())
        if repairs:
            notes.append(f"The noised matrix was repaired {repairs:,} times.")
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
            "by": self.by,
            "regret_mean": self.regret_mean,
            "regret_se": self.regret_se,
            "rounds_per_second": self.rounds_per_second,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "guarantee": self.guarantee.to_dict(),
            "settings": {
                "policy": self.config.options(),
                "environment": self.environment.options(),
            },
            "notes": list(self.notes),
            "version": __version__,
        }

    def frame(self) -> pd.DataFrame:
        """One row per trial and checkpoint, with every setting in every row."""
        import pandas as pd

        points = len(self.checkpoints)
        guarantee = self.guarantee.to_dict()
        constants: dict[str, Any] = {
            "label": self.label,
            "policy": self.config.slug,
            "environment": self.environment.slug,
            "rounds": self.rounds,
            "seed": self.seed,
            **{f"policy_{key}": _cell(value) for key, value in self.config.options().items()},
            **{f"environment_{key}": _cell(value) for key, value in self.environment.options().items()},
            **{f"guarantee_{key}": guarantee[key] for key in ("trust", "protects", "unit", "mu", "epsilon", "delta")},
            "version": __version__,
        }
        columns: dict[str, Any] = {
            "trial": np.repeat(self.trial_numbers, points),
            "round": np.tile(self.checkpoints, self.trials),
            "regret": self.curves.ravel(),
        }
        return pd.DataFrame({**columns, **constants})

    def to_pandas(self) -> pd.DataFrame:
        """`frame`, under the name that other libraries use."""
        return self.frame()

    def save(self, path: str | Path) -> Path:
        """Write the table to `path`: Parquet or CSV, by its ending."""
        return save_frame(self.frame(), path)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw mean regret over rounds with its standard error."""
        from tacit.simulation.figure import draw_regret

        return draw_regret([self.frame()], axes)

    def _repr_html_(self) -> str:
        from tacit.simulation.notebook import result_html

        return result_html(self)

    def __repr__(self) -> str:
        error = "" if self.regret_se is None else f" ± {self.regret_se:.2g}"
        return (
            f"<Result {self.label} in {self.environment.slug}: regret {self.regret_mean:.4g}{error} after "
            f"{self.rounds:,} rounds, {self.trials} trials>"
        )


def save_frame(frame: pd.DataFrame, path: str | Path) -> Path:
    """Write a table as Parquet or CSV, by the path's ending."""
    target = check_table_path(path)
    if target.suffix == ".parquet":
        one_kind(frame).to_parquet(target, index=False)
    else:
        frame.to_csv(target, index=False)
    return target


def one_kind(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with one kind of value per column, as Parquet wants it: a width that is a word for one policy and a
    number for another becomes text."""
    mixed = {
        name: frame[name].map(str, na_action="ignore")
        for name in frame.columns
        if frame[name].dtype == object and len(set(map(type, frame[name].dropna()))) > 1
    }
    return frame.assign(**mixed)


def _cell(value: Any) -> Any:
    """A setting as one cell of a table: what has parts of its own (a prior) becomes text."""
    return json.dumps(value) if isinstance(value, dict | list | tuple) else value


def check_table_path(path: str | Path) -> Path:
    """The path, if a table can be written there: better said before a long run than after it."""
    target = Path(path)
    if target.suffix not in (".parquet", ".csv"):
        raise BadInput(f"Expected a path ending in .parquet or .csv, got {target.name!r}.")
    if not target.parent.is_dir():
        raise BadInput(f"Expected an existing folder for {target.name!r}, got {str(target.parent)!r}.")
    return target


def standard_error(values: Floats) -> float | None:
    """Standard error of the mean; None for fewer than two values."""
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None
