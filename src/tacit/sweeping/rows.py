"""A sweep as a table: one row per run (and way of predicting), in the order of the file, whenever each was finished."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tacit.data import NOT_PRIVATE
from tacit.privacy.guarantee import Guarantee
from tacit.simulation import PredictionResult, Result
from tacit.simulation.prediction_job import PredictionJob
from tacit.simulation.result import standard_error
from tacit.simulation.store import AnyResult
from tacit.sweeping.runs import Run
from tacit.sweeping.spec import Budget

if TYPE_CHECKING:
    import pandas as pd

DONE, WAITING, FAILED = "done", "waiting", "failed"

_WHOLE = ("seed", "rounds", "trials")
_NUMBERS = (
    *("epsilon_asked", "delta_asked", "rho_asked", "alpha_asked", "epsilon", "delta", "mu"),
    *("regret", "regret_se", "error_rate", "error_rate_se", "random_error_rate"),
)


def rows(run: Run, result: AnyResult | None, problem: str | None) -> Iterator[dict[str, Any]]:
    """What the table says of one run. No time is in it: tables of equal runs are equal to the byte."""
    if isinstance(run.job, PredictionJob):
        for place, way in enumerate(run.job.ways):
            guarantee = None if result is None else _way(result, place)
            yield {**_begin(run, guarantee), "way": way, **_errors(result, way), **_end(run, result, problem)}
    else:
        yield {**_begin(run, run.guarantee()), **_regret(result), **_end(run, result, problem)}


def frame_of(records: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The table, with the same types whether much of it is filled or little."""
    import pandas as pd

    frame = pd.DataFrame(list(records))
    types = dict.fromkeys(_WHOLE, "int64") | {name: "float64" for name in _NUMBERS if name in frame.columns}
    return frame.astype(types)


def _begin(run: Run, guarantee: Guarantee | None) -> dict[str, Any]:
    job = run.job
    asked = (run.budget or _own(run.settings)).given
    facts = {} if guarantee is None else guarantee.to_dict()
    return {
        "label": run.label,
        "policy": job.config.slug,
        "environment": run.world,
        "seed": job.seed,
        "rounds": job.rounds,
        "trials": job.trials,
        **{f"{name}_asked": asked.get(name) for name in ("epsilon", "delta", "rho", "alpha")},
        "trust": job.config.trust.value,
        **{name: facts.get(name) for name in ("epsilon", "delta", "mu")},
    }


def _end(run: Run, result: AnyResult | None, problem: str | None) -> dict[str, Any]:
    return {
        "status": DONE if result is not None else WAITING if problem is None else FAILED,
        "problem": problem,
        "settings": json.dumps(run.settings, sort_keys=True, allow_nan=False),
        "world": json.dumps(run.world_settings, sort_keys=True, allow_nan=False),
        "run": run.key,
        **({"warning": NOT_PRIVATE} if run.raw else {}),
    }


def _own(settings: Mapping[str, Any]) -> Budget:
    """The promise that a policy's own settings name."""
    return Budget(**{name: settings.get(name) for name in ("epsilon", "delta", "rho", "alpha")})


def _regret(result: AnyResult | None) -> dict[str, Any]:
    if not isinstance(result, Result):
        return {"regret": None, "regret_se": None}
    return {"regret": result.regret_mean, "regret_se": result.regret_se}


def _errors(result: AnyResult | None, way: str) -> dict[str, Any]:
    if not isinstance(result, PredictionResult):
        return {"error_rate": None, "error_rate_se": None, "random_error_rate": None}
    errors = result.errors_of(way)
    return {
        "error_rate": float(errors.mean()),
        "error_rate_se": standard_error(errors),
        "random_error_rate": result.random_error_rate,
    }


def _way(result: AnyResult, place: int) -> Guarantee:
    return result.guarantees[place] if isinstance(result, PredictionResult) else result.guarantee
