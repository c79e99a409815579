"""Trials of function learners: records in blocks, then predictions, and what they lose.

A learner of functions has no regret to count: it explores evenly, or as it likes, and is judged by the actions it
predicts afterwards. The error rate of a trial is the mean, over the contexts that are asked about, of the best
candidate's value minus the predicted one's.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from tacit._types import Floats
from tacit._validate import whole
from tacit.core.functions import FunctionLearner, FunctionPolicy
from tacit.core.session import POLICY
from tacit.environments.functions import (
    ACTIONS,
    CONTEXTS,
    LUCK,
    QUERIES,
    FunctionEnvironment,
    FunctionWorld,
    drawn,
    refuse_other_world,
)
from tacit.errors import BadInput, HorizonSpent, Interrupted
from tacit.privacy.event import ExponentialEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.promise import ConcentratedPromise
from tacit.simulation.engine import Bar, _heard
from tacit.simulation.opened import drawing_law, estimates
from tacit.simulation.prediction_result import MEAN, ONCE, RELEASED, WAYS, PredictionResult

#: Records learned between two looks at a pressed Ctrl-C: a tenth of a second with 400 features.
_BLOCK = 8192


@dataclass(frozen=True)
class _Task:
    """One policy in one world, with everything decided."""

    config: FunctionPolicy  #: as this world has it
    environment: FunctionEnvironment
    rounds: int
    seed: int
    ways: tuple[str, ...]


@dataclass(frozen=True)
class _Finished:
    trial: int
    errors: list[float]  # one per way
    random_error: float
    clipped: dict[str, int]
    began: float
    ended: float


def simulate_predictions(
    config: FunctionPolicy,
    environment: FunctionEnvironment,
    rounds: int,
    trials: int = 1,
    seed: int = 0,
    *,
    label: str | None = None,
    ways: Sequence[str] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> PredictionResult:
    """Learn from `rounds` records in each of `trials` independent trials, and return the error rates of predictions.

    What the policy was not told (boxes, kernel, horizon, reward bound, contexts) it is told by the environment. Trial i
    is the same whatever else is run beside it: its function, contexts, exploration, luck and queries depend on `seed`
    and i alone, so policies compared under one seed meet the same functions and records; one that chooses its own
    actions meets the same contexts and luck. Ctrl-C keeps the trials that have finished.

    `ways` are how predictions are made, each by itself with all of the promise:

        "function"  the function is released once, and its largest value chosen for every query (default)
        "once"      one draw of the exponential mechanism per query, each priced as the only one; the error is averaged
                    over its probabilities, not over draws
        "mean"      the largest estimate without noise, which is private for nobody (default without a promise)
    """
    counted = whole("rounds", rounds), whole("trials", trials), whole("seed", seed, low=0)
    task = _prepare(config, environment, counted[0], counted[2], ways)
    outcomes, stopped = _run(task, counted[1], label or config.slug, threads, progress)
    if not outcomes:
        raise Interrupted(f"Stopped before the first of {trials} trials had finished: there is nothing to keep.")
    return PredictionResult(
        config=task.config,
        environment=environment,
        rounds=task.rounds,
        trials_asked=counted[1],
        seed=task.seed,
        label=label or config.slug,
        ways=task.ways,
        trial_numbers=tuple(one.trial for one in outcomes),
        by_way=np.array([one.errors for one in outcomes]),
        random_errors=np.array([one.random_error for one in outcomes]),
        clipped={what: sum(one.clipped.get(what, 0) for one in outcomes) for what in outcomes[0].clipped},
        guarantees=tuple(_guarantee(task.config, way) for way in task.ways),
        seconds=max(one.ended for one in outcomes) - min(one.began for one in outcomes),
        interrupted=stopped,
    )


def _prepare(
    config: FunctionPolicy, environment: FunctionEnvironment, rounds: int, seed: int, ways: Sequence[str] | None
) -> _Task:
    """Every refusal comes before the first record."""
    refuse_other_world(config, environment)
    told = config.in_world(**environment.public(), horizon=rounds)
    horizon = told.horizon
    if horizon is not None and rounds > horizon:
        raise HorizonSpent(
            f"Expected at most {horizon:,} rounds, got rounds={rounds:,}: {config.slug} was told horizon={horizon}. "
            "Leave the horizon out to take the run's."
        )
    wanted = default_ways(told) if ways is None else _checked_ways(ways)
    if told.promise is None and wanted != (MEAN,):
        raise BadInput(f'Expected ways=("mean",) without a promise of privacy, got ways={wanted!r}.')
    task = _Task(told, environment, rounds, seed, wanted)
    with threadpool_limits(1):
        # A rehearsal with no record at all: what a policy refuses it refuses now, and what is public is worked out once
        # for all trials.
        queries = environment.ask(drawn(seed, 0, QUERIES))
        first = None if queries is None else queries[:1]
        _judge(task, told.start(seed=seed), environment.start(seed), first)
    return task


def default_ways(config: FunctionPolicy) -> tuple[str, ...]:
    """How a learner predicts unless it is told."""
    if config.promise is None:
        return (MEAN,)
    # The exact form has no finite vector to release, and what is published is a single draw.
    single = config.calibrated == "published" or config.form == "exact"
    return (ONCE,) if single else (RELEASED,)


def _checked_ways(ways: Sequence[str]) -> tuple[str, ...]:
    found = (ways,) if isinstance(ways, str) else tuple(ways)
    if not found or len(set(found)) < len(found) or not set(found) <= set(WAYS):
        raise BadInput(f"Expected ways to be some of {', '.join(WAYS)}, each once, got ways={ways!r}.")
    return found


def _run(
    task: _Task, trials: int, name: str, threads: int | None, progress: bool | None
) -> tuple[list[_Finished], bool]:
    """The trials that have finished, in order, and whether the run was stopped before all had."""
    workers = min(trials, whole("threads", threads) if threads is not None else os.cpu_count() or 1)
    bar: Bar = tqdm(
        total=task.rounds * trials,
        desc=name,
        unit=" records",
        unit_scale=True,
        disable=not (sys.stderr.isatty() if progress is None else progress),
        leave=False,
        file=sys.stderr,
        mininterval=0.2,
    )
    stop = threading.Event()
    outcomes: list[_Finished] = []

    def work(trial: int) -> None:
        outcome = _trial(task, trial, stop, bar)
        if outcome is not None:
            outcomes.append(outcome)

    with threadpool_limits(1), bar, _heard(stop), ThreadPoolExecutor(workers) as pool:
        try:
            rest = {pool.submit(work, trial) for trial in range(trials)}
            while rest and not stop.is_set():
                # In short waits: a wait without end cannot be interrupted everywhere.
                done, rest = wait(rest, timeout=0.2, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
        except KeyboardInterrupt:
            pass
        finally:
            stop.set()  # trials that have not begun return at once, the others between two blocks
    return sorted(outcomes, key=lambda one: one.trial), len(outcomes) < trials


def _trial(task: _Task, trial: int, stop: threading.Event, bar: Bar) -> _Finished | None:
    """One trial; None if it was stopped on the way."""
    if stop.is_set():
        return None
    began = time.perf_counter()
    world = task.environment.start(task.seed, trial)
    learner = task.config.start(seed=noise_seed(task.seed, trial))
    if not _learn(task, trial, world, learner, stop, bar):
        return None
    queries = task.environment.ask(drawn(task.seed, trial, QUERIES))
    errors, random_error = _judge(task, learner, world, queries)
    return _Finished(trial, errors, random_error, _clipped(learner), began, time.perf_counter())


def noise_seed(seed: int, trial: int) -> int:
    """The seed of a trial's learner. That of trial 0 is the run's own, so that it can be followed by hand."""
    if trial == 0:
        return seed
    return int(np.random.SeedSequence(seed, spawn_key=(trial, POLICY)).generate_state(1, np.uint64)[0])


def _learn(
    task: _Task, trial: int, world: FunctionWorld, learner: FunctionLearner, stop: threading.Event, bar: Bar
) -> bool:
    """Whether all records were learned."""
    environment = task.environment
    streams = {purpose: drawn(task.seed, trial, purpose) for purpose in (CONTEXTS, ACTIONS, LUCK)}
    adaptive = task.config.adaptive
    for at in range(0, task.rounds, _BLOCK):
        size = min(_BLOCK, task.rounds - at)
        contexts = environment.sample_contexts(streams[CONTEXTS], size)
        if stop.is_set():
            return False
        if not adaptive:
            actions = environment.action_box.uniform(streams[ACTIONS], size)
            learner.learn_many(actions, world.pay(actions, contexts, streams[LUCK]), contexts)
            bar.update(size)
            continue
        for place in range(size):
            if stop.is_set():
                return False
            context = None if contexts is None else contexts[place]
            action = np.asarray(learner.choose(context), dtype=np.float64)
            beside = None if context is None else context[None, :]
            reward = float(world.pay(action[None, :], beside, streams[LUCK])[0])
            learner.learn(action, reward, context)
            bar.update()
    return True


def _judge(
    task: _Task, learner: FunctionLearner, world: FunctionWorld, queries: Floats | None
) -> tuple[list[float], float]:
    """The error rate of each way, and of a candidate drawn evenly."""
    candidates = task.environment.candidates
    truth = world.table(queries, candidates)
    best = truth.max(axis=1)
    rows: list[Floats | None] = [None] if queries is None else list(queries)
    errors = [
        float((best - (_choices(way, task, learner, rows, candidates) * truth).sum(axis=1)).mean()) for way in task.ways
    ]
    return errors, float((best - truth.mean(axis=1)).mean())


def _choices(
    way: str, task: _Task, learner: FunctionLearner, rows: Sequence[Floats | None], candidates: Floats
) -> Floats:
    """The probability of every candidate in every context, (q, K)."""
    if way == ONCE:
        return np.array([drawing_law(learner, row, _epsilon(task.config), candidates) for row in rows])
    if way == MEAN and task.config.promise is not None:
        values = [estimates(learner, row, candidates) for row in rows]
    else:
        function = learner.release_function()
        values = [function.predict(row, candidates) for row in rows]
    found = np.zeros((len(rows), len(candidates)))
    found[np.arange(len(rows)), np.argmax(values, axis=1)] = 1.0
    return found


def _clipped(learner: FunctionLearner) -> dict[str, int]:
    """How many contexts, actions and rewards had to be moved to where they were declared to be."""
    diagnostics = getattr(learner, "diagnostics", None)
    if diagnostics is None:
        return {}
    found = diagnostics()
    return {what: int(getattr(found, f"clipped_{what}", 0)) for what in ("contexts", "actions", "rewards")}


def _guarantee(config: FunctionPolicy, way: str) -> Guarantee:
    """What one way of predicting gives."""
    if way == MEAN:
        return Guarantee.none()
    whole_promise = config.guarantee
    if way == ONCE:
        event = ExponentialEvent(_epsilon(config))
        whole_promise = Guarantee.priced(
            event, trust=config.trust, protects=config.protects, unit=whole_promise.unit, delta=None
        )
    return whole_promise.with_seed()


def _epsilon(config: FunctionPolicy) -> float:
    promise = config.promise
    if promise is None or isinstance(promise, ConcentratedPromise):
        raise BadInput(f'Expected a promise of epsilon for the way "once", got {promise!r}.')
    return promise.epsilon
