"""Everybody plays the same rounds, in turns, so that a busy spell of the machine hits all of them."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from threadpoolctl import threadpool_limits

from benchmarks.peers import ours, with_contextualbandits, with_mabwiser, with_river, with_vowpalwabbit
from benchmarks.peers.install import reason
from benchmarks.peers.player import Absent, Contestant, Player
from benchmarks.peers.worlds import WORLDS, Recording, record
from tacit import Policy, simulate
from tacit.errors import Interrupted

_PEERS = (with_mabwiser, with_river, with_contextualbandits, with_vowpalwabbit)


@dataclass(frozen=True)
class Plan:
    """How long, how often."""

    rounds: int = 4_000
    trials: int = 5
    seed: int = 1  #: of the first trial; the next ones count on
    warm: int = 500  #: rounds before the clock starts: they count for regret, not for time
    longer: tuple[int, ...] = (4_000, 40_000, 400_000)  #: rounds of the compiled runs on the sphere

    def __post_init__(self) -> None:
        if not 0 < self.warm < self.rounds or self.trials < 1 or self.seed < 0:
            raise ValueError(
                f"Expected 0 < warm < rounds, trials >= 1 and seed >= 0, got warm={self.warm}, rounds={self.rounds}, "
                f"trials={self.trials}, seed={self.seed}."
            )

    @property
    def seeds(self) -> range:
        """One for each trial."""
        return range(self.seed, self.seed + self.trials)


@dataclass
class Row:
    """What was found of one contestant in one world: one entry per trial, unless there was a problem."""

    contestant: Contestant
    config: Policy | None = None  #: run by tacit's compiled simulation and not from Python
    times: list[float] = field(default_factory=list)  #: µs per round
    ratios: list[float] = field(default_factory=list)  #: of these to the first row of the same trial
    regrets: list[float] = field(default_factory=list)
    problem: str | None = None

    @property
    def compiled(self) -> bool:
        """Whether nobody calls it round by round."""
        return self.config is not None

    @property
    def regret(self) -> float:
        """Mean over the trials."""
        return statistics.fmean(self.regrets)

    @property
    def regret_error(self) -> float | None:
        """Standard error of that mean; None of one trial."""
        count = len(self.regrets)
        return statistics.stdev(self.regrets) / count**0.5 if count > 1 else None


@dataclass
class Found:
    """All rows of one world, the trials they are made of, and what choosing at random would cost in them."""

    world: str
    rows: list[Row]
    uniform: list[float] = field(default_factory=list)

    @property
    def trials(self) -> int:
        """How many are complete."""
        return len(self.uniform)

    @property
    def same_bits(self) -> bool:
        """Whether what was run in both ways had the same regret in every trial."""
        called = {row.contestant.name: row.regrets for row in self.rows if not row.compiled}
        return all(row.regrets == called[row.contestant.name] for row in self.rows if row.compiled)


@dataclass(frozen=True)
class Longer:
    """What of the regret of choosing at random is left after more rounds: mean over trials."""

    rounds: int
    shares: dict[str, float]


@dataclass
class Measured:
    """What a run has found so far."""

    plan: Plan
    worlds: list[Found]
    longer: list[Longer] = field(default_factory=list)
    interrupted: bool = False


Say = Callable[[str], None]


def measure(plan: Plan, say: Say) -> Measured:
    """Play. Ctrl-C ends it after the last complete trial, which is kept with all before it."""
    measured = Measured(plan, [Found(world, rows_of(world)) for world in WORLDS])
    try:
        with threadpool_limits(1), _quiet():
            for seed in plan.seeds:
                for found in measured.worlds:
                    say(f"{found.world}, seed {seed}: drawing {plan.rounds:,} rounds")
                    play_trial(found, record(found.world, plan.rounds, seed), plan.warm, say)
            for rounds in plan.longer:
                say(f"sphere, compiled, {rounds:,} rounds")
                measured.longer.append(play_longer(rounds, plan))
    except (KeyboardInterrupt, Interrupted):
        measured.interrupted = True
    return measured


def rows_of(world: str) -> list[Row]:
    """Who takes part in a world, tacit first. All are called from Python; tacit's own are also run compiled, but for
    the arms model: the simulation gives it contexts without a constant, so it would be another model."""
    called = [Row(one) for one in ours.contestants(world)]
    compiled = [
        Row(Contestant("tacit", one.policy, one.settings, one.compares, None), one.config)
        for one in ours.configs(world)
        if getattr(one.config, "arms", None) is None
    ]
    theirs = [Row(one) for module in _PEERS for one in module.contestants(world)]
    return called + compiled + theirs


def play_trial(found: Found, recording: Recording, warm: int, say: Say) -> None:
    """One trial of all rows. They are changed only when the last has played: what is interrupted leaves no half trial.

    Who is absent or fails is left out from then on, with the reason in its row.
    """
    outcomes: list[tuple[Row, float, float]] = []
    problems: list[tuple[Row, str]] = []
    for row in found.rows:
        contestant = row.contestant
        if row.problem is not None:
            continue
        try:
            if row.config is not None:
                took, regret = _simulated(row.config, recording)
            elif contestant.start is not None:
                took, regret = play(contestant.start(recording), recording, warm)
            else:
                continue
        except Interrupted:
            raise
        except Absent as absent:
            problems.append((row, str(absent)))
            say(f"  {contestant.name}: {absent}")
        except Exception as error:  # a peer's trouble is a line of the table and not the end of it
            problems.append((row, f"failed with {type(error).__name__}: {reason(str(error))}"))
            say(f"  {contestant.name}: failed with {type(error).__name__}: {error}")
        else:
            outcomes.append((row, took, regret))
            say(f"  {contestant.name}{' (compiled)' if row.compiled else ''}: {took:,.1f} µs, regret {regret:,.0f}")
    for row, problem in problems:
        row.problem = problem
    reference = next((took for row, took, _ in outcomes if row is found.rows[0]), float("nan"))
    for row, took, regret in outcomes:
        row.times.append(took)
        row.ratios.append(took / reference)
        row.regrets.append(regret)
    found.uniform.append(recording.uniform_regret)


def play(player: Player, recording: Recording, warm: int) -> tuple[float, float]:
    """µs per round after the first `warm`, and the regret of all."""
    rewards = recording.rewards.tolist()
    arms: list[int] = []

    def go(begin: int, end: int) -> None:
        for now in range(begin, end):
            arm = player.choose(now)
            player.learn(now, arm, rewards[now][arm])
            arms.append(arm)

    go(0, warm)
    began = time.perf_counter()
    go(warm, recording.rounds)
    took = (time.perf_counter() - began) / (recording.rounds - warm) * 1e6
    # Added up one by one, as the compiled loop does it: the same to the bit.
    regret = 0.0
    for arm, means, best in zip(arms, recording.means.tolist(), recording.means.max(axis=1).tolist(), strict=True):
        regret += best - means[arm]
    return took, regret


def _simulated(config: Policy, recording: Recording) -> tuple[float, float]:
    """µs per round, and the regret, of the compiled simulation that draws the recorded rounds itself."""
    world, rounds = WORLDS[recording.world], recording.rounds
    result = simulate(config, world, rounds, seed=recording.seed, threads=1, progress=False)
    return result.seconds / rounds * 1e6, float(result.curves[0, -1])


def play_longer(rounds: int, plan: Plan) -> Longer:
    """tacit's own on the sphere, compiled: its peers would take hours."""
    sample = record("sphere", plan.rounds, plan.seed)
    evenly = sample.uniform_regret / sample.rounds * rounds
    shares = {}
    for one in ours.configs("sphere"):
        result = simulate(one.config, WORLDS["sphere"], rounds, plan.trials, plan.seed, progress=False)
        if result.interrupted:
            raise KeyboardInterrupt
        shares[f"{one.policy}, {one.settings}"] = float(result.curves[:, -1].mean()) / evenly
    return Longer(rounds, shares)


@contextmanager
def _quiet() -> Iterator[None]:
    """What a peer warns of in every round would bury the progress, and take the time that is measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
