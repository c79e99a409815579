"""Trials side by side: one thread each, one reproducible stream per trial and purpose, progress, and a clean stop."""

from __future__ import annotations

import os
import sys
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from tacit._types import Floats, Ints
from tacit._validate import whole
from tacit.core.learner import ENVIRONMENT, POLICY
from tacit.core.plan import Plan
from tacit.core.policy import Policy
from tacit.environments import Environment
from tacit.errors import BadInput, HorizonSpent, Interrupted
from tacit.noise import stream
from tacit.simulation.loop import run
from tacit.simulation.result import Result

#: How many points of a regret curve are kept, at most.
CHECKPOINTS = 1000
#: Seconds of compiled work between two looks at the clock (and at a pressed Ctrl-C).
_SLICE = 0.1


Bar: TypeAlias = "tqdm[Any]"


@dataclass(frozen=True)
class _Finished:
    trial: int
    curve: Floats
    counters: Ints
    seconds: float


def checkpoints(rounds: int) -> Ints:
    """Up to 1,000 log-spaced round numbers from 1 to `rounds`, both included."""
    spaced: Ints = np.unique(np.round(np.geomspace(1, rounds, CHECKPOINTS)).astype(np.int64))
    return spaced


def simulate(
    config: Policy,
    environment: Environment,
    rounds: int,
    trials: int = 1,
    seed: int = 0,
    *,
    label: str | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Result:
    """Run `trials` independent trials of `rounds` rounds, and return their regret curves.

    Trial i is the same whatever else is run beside it: its two streams, of the environment and of the policy, depend on
    `seed` and i alone, so policies compared under one seed meet the same contexts. Trial 0 is what
    `config.start(seed=seed)` does round by round. Ctrl-C keeps the trials that have finished.

    `progress` shows a bar on standard error (default: if it is a terminal).
    """
    rounds, trials, seed = whole("rounds", rounds), whole("trials", trials), whole("seed", seed, low=0)
    plan = config.plan()
    dim = getattr(config, "dim", None)
    if dim != environment.features:
        raise BadInput(
            f"Expected the policy's dim to be the environment's {environment.features}, got dim={dim}. "
            "Give both the same."
        )
    if plan.limit is not None and rounds > plan.limit:
        raise HorizonSpent(f"Expected at most {plan.limit:,} rounds, got rounds={rounds:,}; {plan.limit_hint}")
    workers = min(trials, whole("threads", threads) if threads is not None else os.cpu_count() or 1)
    stop = threading.Event()
    bar: Bar = tqdm(
        total=rounds * trials,
        desc=label or config.slug,
        unit=" rounds",
        unit_scale=True,
        disable=not (sys.stderr.isatty() if progress is None else progress),
        leave=False,
        file=sys.stderr,
        mininterval=0.2,
    )
    marks = checkpoints(rounds)
    _trial(plan, environment, 0, 0, seed, marks, stop, bar)  # compiles, in this thread
    finished: list[_Finished] = []
    pending = iter(range(trials))
    turn = threading.Lock()

    def work() -> None:
        while not stop.is_set():
            with turn:
                trial = next(pending, None)
            if trial is None:
                return
            outcome = _trial(plan, environment, rounds, trial, seed, marks, stop, bar)
            if outcome is not None:
                finished.append(outcome)

    began = time.perf_counter()
    interrupted = False
    with threadpool_limits(1), bar, ThreadPoolExecutor(workers) as pool:
        try:
            running = {pool.submit(work) for _ in range(workers)}
            while running:
                # In short waits: a wait without end cannot be interrupted everywhere.
                done, running = wait(running, timeout=0.2, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
        except KeyboardInterrupt:
            interrupted = True
        finally:
            stop.set()  # the pool waits for its threads, which look at this ten times a second
    seconds = time.perf_counter() - began
    if not finished:
        raise Interrupted(f"Stopped before the first of {trials} trials had finished: there is nothing to keep.")
    finished.sort(key=lambda outcome: outcome.trial)
    return Result(
        config=config,
        environment=environment,
        rounds=rounds,
        trials_asked=trials,
        seed=seed,
        label=label or config.slug,
        trial_numbers=tuple(outcome.trial for outcome in finished),
        checkpoints=marks,
        curves=np.array([outcome.curve for outcome in finished]),
        counters=np.array([outcome.counters for outcome in finished]),
        guarantee=plan.guarantee.with_seed(),
        seconds=seconds,
        interrupted=interrupted,
    )


def _trial(
    plan: Plan,
    environment: Environment,
    rounds: int,
    trial: int,
    seed: int,
    marks: Ints,
    stop: threading.Event,
    bar: Bar,
) -> _Finished | None:
    """One trial; None if it was stopped on the way. Its streams depend on (seed, trial) alone."""
    world_stream = stream(seed, trial, ENVIRONMENT)
    world = environment.start(world_stream)
    noise = stream(seed, trial, POLICY)
    vault, view, report = plan.vault(), plan.view(), np.zeros(plan.report_size)
    curve, clock, total = np.zeros(len(marks)), np.zeros(2, np.int64), np.zeros(1)
    # One mark more, never reached: the loop compares with the next mark after the last one has passed.
    marks = np.append(marks, -1)
    x = np.zeros(environment.features)
    began = time.perf_counter()
    done, portion = 0, min(rounds, 1000)
    while not (stop.is_set() and rounds):
        before = time.perf_counter()
        run(
            plan.params,
            vault,
            view,
            report,
            noise,
            world.params,
            world.slate,
            world.means,
            world_stream,
            x,
            marks,
            curve,
            clock,
            total,
            portion,
        )
        spent = time.perf_counter() - before
        done += portion
        bar.update(portion)
        if done >= rounds:
            return _Finished(trial, curve, vault.counters, time.perf_counter() - began)
        pace = portion / max(spent, 1e-9)
        portion = min(rounds - done, max(1, int(min(pace * _SLICE, 10 * portion))))
    return None
