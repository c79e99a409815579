"""The frontier of learners of functions: what their predictions lose, at every ε."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit.core.functions import FunctionPolicy
from tacit.environments import FunctionEnvironment, refuse_other_world
from tacit.errors import BadInput
from tacit.frontiers.budgets import Asked
from tacit.frontiers.measures import ERROR, Value
from tacit.frontiers.result import Frontier, Level, Point, Setting
from tacit.frontiers.runs import predict
from tacit.frontiers.shares import share_of
from tacit.policies.kernel_baselines import GPMean
from tacit.simulation.best_single import BEST_SINGLE
from tacit.simulation.prediction_job import PredictionJob
from tacit.simulation.prediction_result import ONCE, PredictionResult
from tacit.simulation.predictions import default_ways


def trace_predicted(
    asked: Sequence[Asked],
    environment: FunctionEnvironment,
    *,
    epsilons: Sequence[float],
    delta: float,
    rounds: int,
    trials: int,
    seed: int,
    without_privacy: Any,
    folder: Path | None,
    threads: int | None,
    progress: bool | None,
) -> Frontier:
    """All learners at all promises, each judged once, after all of its records: how many fewer would have done is not
    said. The line without privacy is a Gaussian process on the same records, unless told; the other is an action drawn
    evenly from the candidates."""

    def job(config: Any, label: str) -> PredictionJob:
        if not isinstance(config, FunctionPolicy):
            refuse_other_world(config, environment)
            raise BadInput(f"Expected a learner of functions, got {type(config).__name__}.")
        made = PredictionJob(config, environment, rounds, trials, seed, (), label)
        ways = default_ways(made.told)
        return PredictionJob(config, environment, rounds, trials, seed, ways, label)

    line = GPMean() if without_privacy is None else without_privacy
    private = [(one.label, epsilon, one.at(epsilon, delta, rounds)) for one in asked for epsilon in epsilons]
    jobs = [job(line, line.slug), *(job(config, f"{label} at {epsilon:g}") for label, epsilon, config in private)]
    first, *others = predict(jobs, folder, threads, progress)

    def point(label: str, epsilon: float, result: PredictionResult) -> Point:
        return Point(
            label=label,
            asked=epsilon,
            true=result.guarantee.epsilon_at(delta),
            config=result.config,
            guarantee=result.guarantee,
            value=Value.of_trials(result.errors),
            share=share_of(result.errors, first.errors, first.random_errors),
            needed=None,
            result=result,
        )

    single = sorted({one.label.rsplit(" at ", 1)[0] for one in others if one.ways[0] == ONCE})
    notes = [
        f"Each draw of {label} is priced as if it were the only one; several cost more together." for label in single
    ]
    notes.append("Each learner is judged once, after all records: how many fewer would have done is not measured.")
    return Frontier(
        points=tuple(
            point(label, epsilon, result) for (label, epsilon, _), result in zip(private, others, strict=True)
        ),
        without_privacy=Level(first.config.slug, Value.of_trials(first.errors), first),
        evenly=Level("evenly", Value.of_trials(first.random_errors)),
        delta=delta,
        setting=Setting(
            place=environment.slug,
            rounds=rounds,
            unit="records",
            trials=trials,
            seed=seed,
            measure=ERROR,
            facts=environment.to_dict(),
            notes=tuple(notes),
        ),
        single_note=f"The {BEST_SINGLE} is not measured in a world of functions: shares are counted from a random one.",
    )
