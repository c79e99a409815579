"""The frontier in a world with lists of actions: regret of every policy at every ε, on the same contexts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit._types import Floats
from tacit.core.policy import Policy
from tacit.environments import Environment
from tacit.errors import BadInput
from tacit.frontiers.budgets import Asked
from tacit.frontiers.measures import REGRET, Measure, Value
from tacit.frontiers.result import Frontier, Level, Point, Setting
from tacit.frontiers.runs import play
from tacit.frontiers.shares import rounds_needed, share_of
from tacit.policies.context_blind import ContextBlind
from tacit.policies.linucb import LinUCB
from tacit.simulation.best_single import BestSingle, best_single
from tacit.simulation.engine import Job
from tacit.simulation.result import Result


def trace_played(
    asked: Sequence[Asked],
    environment: Environment,
    *,
    epsilons: Sequence[float],
    delta: float,
    rounds: int,
    trials: int,
    seed: int,
    measure: Measure,
    without_privacy: Any,
    folder: Path | None,
    threads: int | None,
    progress: bool | None,
) -> Frontier:
    """All policies at all promises, and the two lines, on one pool of threads."""
    told: Any = environment.shape(LinUCB, {})
    best = LinUCB(**told) if without_privacy is None else without_privacy
    lines: list[Policy] = [best, ContextBlind(dim=environment.features)]
    private = [
        (one.label, epsilon, shaped(one, environment).at(epsilon, delta, rounds))
        for one in asked
        for epsilon in epsilons
    ]
    jobs = [Job(line, environment, rounds, trials, seed) for line in lines]
    for label, epsilon, config in private:
        if not isinstance(config, Policy):
            raise BadInput(f"Expected a policy that chooses from lists, got {config.slug}, which learns a function.")
        jobs.append(Job(config, environment, rounds, trials, seed, f"{label} at {epsilon:g}"))
    first, evenly, *others = play(jobs, folder, threads, progress)
    single, single_note = best_single(environment, first.checkpoints, first.trial_numbers, seed)
    above = single is not None and not single.optimal and single.regret_mean < evenly.regret_mean
    floor = single if single is not None and above else evenly
    notes = dict.fromkeys(note for result in (first, evenly, *others) for note in result.world.notes)

    def point(label: str, epsilon: float, result: Result) -> Point:
        return Point(
            label=label,
            asked=epsilon,
            true=result.guarantee.epsilon_at(delta),
            config=result.config,
            guarantee=result.guarantee,
            value=Value.of_trials(_measured(result, measure)),
            share=share_of(result.regret, first.regret, floor.regret),
            needed=rounds_needed(result, first, floor),
            result=result,
        )

    return Frontier(
        points=tuple(
            point(label, epsilon, result) for (label, epsilon, _), result in zip(private, others, strict=True)
        ),
        without_privacy=Level(first.config.slug, Value.of_trials(_measured(first, measure)), first),
        evenly=Level(evenly.config.slug, Value.of_trials(_measured(evenly, measure)), evenly),
        delta=delta,
        setting=Setting(
            place=environment.slug,
            rounds=rounds,
            unit="rounds",
            trials=trials,
            seed=seed,
            measure=measure,
            facts=environment.to_dict(),
            notes=tuple(notes),
        ),
        raw=environment.raw,
        single=None if single is None else _level(single, rounds, measure),
        single_note=single_note,
        curve=single,
    )


def shaped(one: Asked, environment: Environment) -> Asked:
    """The policy in the shape of this world."""
    return Asked(one.label, one.kind, {**environment.shape(one.kind, one.options), **one.options})


def _level(single: BestSingle, rounds: int, measure: Measure) -> Level:
    values = single.regret if measure is REGRET else 1 - single.regret / rounds
    value = Value(float(values.mean()), None) if single.exact else Value.of_trials(values)
    return Level(single.label, value, optimal=single.optimal)


def _measured(result: Result, measure: Measure) -> Floats:
    """By trial. The only other measure is the share of right answers, where each wrong one costs exactly 1."""
    return result.regret if measure is REGRET else 1 - result.regret / result.rounds
