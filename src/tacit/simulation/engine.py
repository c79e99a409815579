"""Trials side by side: one thread each, one reproducible stream per trial and purpose, progress, and a clean stop."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from tacit._types import Floats, Ints
from tacit._validate import one_of, whole
from tacit.core.plan import Plan
from tacit.core.policy import Policy
from tacit.core.session import ENVIRONMENT, POLICY, Session
from tacit.environments import Environment, refuse_other_world
from tacit.environments._blocks import ByContext
from tacit.environments.environment import World
from tacit.errors import BadInput, HorizonSpent, Interrupted
from tacit.noise import Source, stream
from tacit.simulation.episodes import NO_RECORD, refuse_rounds_only, run_episodes
from tacit.simulation.loop import run
from tacit.simulation.result import Result

#: How many points of a regret curve are kept, at most.
CHECKPOINTS = 1000
#: Seconds of compiled work between two looks at the clock (and at a pressed Ctrl-C).
_SLICE = 0.1


Bar: TypeAlias = "tqdm[Any]"


@dataclass(frozen=True)
class Job:
    """One policy in one environment: what `simulate` takes, to be run together with others."""

    config: Policy
    environment: Environment
    rounds: int
    trials: int = 1
    seed: int = 0
    label: str | None = None
    by: str = "rounds"

    def __post_init__(self) -> None:
        for name, low in (("rounds", 1), ("trials", 1), ("seed", 0)):
            object.__setattr__(self, name, whole(name, getattr(self, name), low=low))
        one_of("by", self.by, ("rounds", "episodes"))
        if isinstance(self.config, Policy):  # anything else is refused later, in words
            object.__setattr__(self, "config", self.config.for_rounds(self.rounds))

    @property
    def name(self) -> str:
        """The label, or else the policy's own name."""
        return self.label or self.config.slug

    @property
    def bound(self) -> Policy:
        """The configuration, with the environment's list of actions where it has none of its own."""
        actions = self.environment.fixed_actions
        return self.config if actions is None else self.config.offered(actions)


@dataclass(frozen=True)
class _Finished:
    trial: int
    curve: Floats
    counters: Ints
    began: float
    ended: float


@dataclass
class _Running:
    """A job with what follows from it, and the trials of it that have finished."""

    job: Job
    plan: Plan  #: of the configuration as this environment has it
    marks: Ints
    outcomes: list[_Finished] = field(default_factory=list)
    handed: bool = False

    @property
    def complete(self) -> bool:
        return len(self.outcomes) == self.job.trials

    def result(self) -> Result | None:
        """What has finished so far; None if nothing has."""
        outcomes, job = sorted(self.outcomes, key=lambda outcome: outcome.trial), self.job
        if not outcomes:
            return None
        return Result(
            config=job.config,
            environment=job.environment,
            rounds=job.rounds,
            trials_asked=job.trials,
            seed=job.seed,
            label=job.name,
            by=job.by,
            trial_numbers=tuple(outcome.trial for outcome in outcomes),
            checkpoints=self.marks,
            curves=np.array([outcome.curve for outcome in outcomes]),
            counters=np.array([outcome.counters for outcome in outcomes]),
            guarantee=self.plan.guarantee.with_seed(),
            seconds=max(outcome.ended for outcome in outcomes) - min(outcome.began for outcome in outcomes),
            interrupted=not self.complete,
        )


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
    by: str = "rounds",
    threads: int | None = None,
    progress: bool | None = None,
) -> Result:
    """Run `trials` independent trials of `rounds` rounds, and return their regret curves.

    Trial i is the same whatever else is run beside it: its two streams, of the environment and of the policy, depend on
    `seed` and i alone, so policies compared under one seed meet the same contexts. Trial 0 is what
    `config.start(seed=seed)` does round by round. Ctrl-C keeps the trials that have finished.

    `by="episodes"` draws the rewards of a whole episode at once, for policies and environments that have them: the same
    law in far fewer steps, with other random numbers. A policy over a fixed list that was not given one takes the
    environment's. `progress` shows a bar on standard error (default: if it is a terminal).
    """
    [result] = _run_all([Job(config, environment, rounds, trials, seed, label, by)], threads, progress, None)
    if result is None:
        raise Interrupted(f"Stopped before the first of {trials} trials had finished: there is nothing to keep.")
    return result


def simulate_all(
    jobs: Sequence[Job],
    *,
    threads: int | None = None,
    progress: bool | None = None,
    finished: Callable[[int, Result], None] | None = None,
) -> list[Result]:
    """Run the trials of all jobs on one pool of threads, in the order given, and return one result per job.

    Each result is the one `simulate` would give, bit for bit. `finished(index, result)` is called, in the calling
    thread, when the last trial of a job is done: what it stores is safe from whatever happens later. Ctrl-C raises
    `Interrupted` after every complete job has been handed over; single trials of the others are lost.
    """
    results = _run_all(list(jobs), threads, progress, finished)
    whole_ones = [result for result in results if result is not None and not result.interrupted]
    if len(whole_ones) < len(results):
        raise Interrupted(f"Stopped by hand: {len(whole_ones)} of {len(results)} runs had finished.")
    return whole_ones


def _run_all(
    jobs: list[Job],
    threads: int | None,
    progress: bool | None,
    finished: Callable[[int, Result], None] | None,
) -> list[Result | None]:
    """The results so far when all is done or Ctrl-C was pressed: partial ones are marked, None where there is none."""
    running = [prepare(job) for job in jobs]  # every refusal comes before the first round
    total = sum(job.trials for job in jobs)
    workers = min(total, whole("threads", threads) if threads is not None else os.cpu_count() or 1)
    if not workers:
        return []
    bar: Bar = tqdm(
        total=sum(job.rounds * job.trials for job in jobs),
        desc=jobs[0].name,
        unit=" rounds",
        unit_scale=True,
        disable=not (sys.stderr.isatty() if progress is None else progress),
        leave=False,
        file=sys.stderr,
        mininterval=0.2,
    )
    stop = threading.Event()
    ready: queue.SimpleQueue[tuple[_Running, int] | None] = queue.SimpleQueue()
    results: list[Result | None] = [None] * len(jobs)

    def work() -> None:
        while (task := ready.get()) is not None and not stop.is_set():
            one, trial = task
            outcome = _trial(one, one.job.rounds, trial, stop, bar)
            if outcome is not None:
                one.outcomes.append(outcome)

    def hand_over() -> None:
        for index, one in enumerate(running):
            if one.complete and not one.handed:
                results[index] = result = one.result()
                if finished is not None and result is not None:
                    finished(index, result)
                one.handed = True  # last: what was interrupted in the middle of it is handed over again
        if len(running) > 1:
            done = sum(one.handed for one in running)
            under_way = [one.job.name for one in running if not one.handed][:1]
            bar.set_description_str("; ".join([f"{done} of {len(running)} runs", *under_way]))

    with threadpool_limits(1), bar, _heard(stop), ThreadPoolExecutor(workers) as pool:
        try:
            futures = [pool.submit(work) for _ in range(workers)]
            for one in running:
                _compile(one, stop, bar)  # in this thread, while what is compiled already runs in the others
                for trial in range(one.job.trials):
                    ready.put((one, trial))
                hand_over()
            for _ in range(workers):
                ready.put(None)
            busy = True
            while busy and not stop.is_set():
                # In short waits: a wait without end cannot be interrupted everywhere.
                done, rest = wait(futures, timeout=0.2, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                hand_over()
                busy = bool(rest)
        except KeyboardInterrupt:
            pass
        finally:
            stop.set()  # the pool waits for its threads, which look at this ten times a second
            for _ in range(workers):
                ready.put(None)
    hand_over()  # what was finished between the last look and the stop
    return [one.result() if result is None else result for one, result in zip(running, results, strict=True)]


@contextmanager
def _heard(stop: threading.Event) -> Iterator[None]:
    """Ctrl-C sets `stop` too: what it raises can get lost inside the compiler, and the run would go on."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return

    def heard(number: int, frame: FrameType | None) -> None:
        stop.set()
        before(number, frame)

    signal.signal(signal.SIGINT, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _compile(one: _Running, stop: threading.Event, bar: Bar) -> None:
    """Run no round at all: what a trial of this job needs is compiled then."""
    try:
        _trial(one, 0, 0, stop, bar)
    except Exception:
        if stop.is_set():  # Ctrl-C came through the compiler as an error of its own
            raise KeyboardInterrupt from None
        raise


def prepare(job: Job) -> _Running:
    """Everything that can be refused about a job, refused before its first round."""
    environment = job.environment
    refuse_other_world(job.config, environment)
    actions, config = environment.fixed_actions, job.bound
    plan = config.plan()
    dim, arms = config.dim, config.arms_of_context
    if arms is not None:
        shape = environment.by_context.context_shape
        if shape is None:
            raise BadInput(
                f"Expected an environment whose arms share a context for arms={arms}, got {environment.slug}, whose "
                "actions are vectors of their own. Leave arms out."
            )
        if (arms, dim) != shape:
            raise BadInput(
                f"Expected arms={shape[0]} and dim={shape[1]}, which are the environment's, got arms={arms} and "
                f"dim={dim}. Give both the same."
            )
        if config.shared not in (None, environment.by_context.action_features):
            raise BadInput(
                f"Expected shared to be the environment's {environment.by_context.action_features}, got "
                f"shared={config.shared}. Give the same, or leave the features of actions out."
            )
    elif dim != environment.features:
        raise BadInput(
            f"Expected the policy's dim to be the environment's {environment.features}, got dim={dim}. "
            "Give both the same."
        )
    if config.fixed_actions is not None and not (actions is not None and np.array_equal(config.fixed_actions, actions)):
        raise BadInput(
            f"Expected an environment that offers the actions of {config.slug} in every round, got {environment.slug}, "
            "which offers others. Leave the policy's list out to take the environment's, where it has one."
        )
    if plan.limit is not None and job.rounds > plan.limit:
        raise HorizonSpent(f"Expected at most {plan.limit:,} rounds, got rounds={job.rounds:,}; {plan.limit_hint}")
    if job.by == "episodes":
        refuse_rounds_only(config.slug, plan, environment, environment.start(stream(job.seed, 0, ENVIRONMENT)))
    return _Running(job, plan, checkpoints(job.rounds))


def start_world(plan: Plan, environment: Environment, stream: Source) -> World:
    """The world of one trial as a policy with this plan is shown it: actions, or the context that all arms have."""
    if plan.slate is None:
        return environment.start(stream)
    world = environment.by_context.start(stream)
    features = getattr(world.params, "features", np.zeros((0, 0)))
    return World(ByContext(world.params, features), plan.slate(1), world.means, world.theta)


def _trial(one: _Running, rounds: int, trial: int, stop: threading.Event, bar: Bar) -> _Finished | None:
    """One trial; None if it was stopped on the way. Its streams depend on (seed, trial) alone."""
    plan, environment, seed = one.plan, one.job.environment, one.job.seed
    world_stream = stream(seed, trial, ENVIRONMENT)
    world = start_world(plan, environment, world_stream)
    session = Session(plan, environment.features, source=stream(seed, trial, POLICY))
    curve, clock, total = np.zeros(len(one.marks)), np.zeros(2, np.int64), np.zeros(1)
    # One mark more, never reached: the loop compares with the next mark after the last one has passed.
    marks = np.append(one.marks, -1)
    x = np.zeros(len(one.job.bound.empty_row))

    def by_rounds(portion: int) -> None:
        run(
            session.params,
            session.vault,
            session.view,
            session.report,
            session.noise,
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

    def by_episodes(portion: int) -> None:
        run_episodes(
            session.params,
            session.vault,
            session.view,
            session.noise,
            world.params,
            world.means,
            world_stream,
            marks,
            curve,
            clock,
            total,
            rounds,
            portion,
            NO_RECORD,
        )

    step = by_episodes if one.job.by == "episodes" else by_rounds
    began = time.perf_counter()
    portion = min(rounds, 1000)
    while not (stop.is_set() and rounds):
        before, done = time.perf_counter(), int(clock[0])
        step(portion)
        spent, done = time.perf_counter() - before, int(clock[0]) - done
        bar.update(done)
        if clock[0] >= rounds:
            return _Finished(trial, curve, session.vault.counters, began, time.perf_counter())
        # By rounds a portion is rounds, and by episodes it is episodes: either way so many steps.
        pace = portion / max(spent, 1e-9)
        left = rounds - int(clock[0])
        portion = min(left, max(1, int(min(pace * _SLICE, 10 * portion))))
    return None
