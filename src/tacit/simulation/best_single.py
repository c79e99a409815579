"""Always the same action, the best one: what has to be beaten before contexts are worth their noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit._kernel import kernel
from tacit._types import Floats, Ints
from tacit.core.session import ENVIRONMENT
from tacit.core.slate import Slate
from tacit.core.verbs import pay, show
from tacit.environments import Environment
from tacit.noise import stream
from tacit.simulation.result import standard_error

if TYPE_CHECKING:
    import pandas as pd

#: What the line is called wherever it stands.
BEST_SINGLE = "best single action"
#: What to do instead of a policy that stays below it.
INSTEAD = "show the most popular item (`renyi-ucb` finds it privately)"
#: Rounds between two looks at a pressed Ctrl-C.
_PORTION = 100_000


@dataclass(frozen=True, eq=False)
class BestSingle:
    """What the best single action loses, on the contexts that policies meet under the same seed."""

    checkpoints: Ints
    curves: Floats  #: (trials, checkpoints): its regret so far
    trial_numbers: tuple[int, ...]
    arms: tuple[int, ...]  #: which one it is, by trial
    exact: bool  #: known without playing, and the same in every trial
    note: str  #: what it is here, in a sentence

    label = BEST_SINGLE

    @property
    def trials(self) -> int:
        return len(self.arms)

    @property
    def regret(self) -> Floats:
        """Final regret by trial."""
        final: Floats = self.curves[:, -1]
        return final

    @property
    def regret_mean(self) -> float:
        """Mean final regret."""
        return float(self.regret.mean())

    @property
    def regret_se(self) -> float | None:
        """Standard error of the mean; None with a single trial, or where it is exact."""
        return None if self.exact else standard_error(self.regret)

    @property
    def optimal(self) -> bool:
        """Whether it is the best action of every round: contexts then have nothing to add to it."""
        return not self.regret.any()

    def frame(self) -> pd.DataFrame:
        """One row per trial and checkpoint, like those of a result."""
        import pandas as pd

        points = len(self.checkpoints)
        return pd.DataFrame(
            {
                "trial": np.repeat(self.trial_numbers, points),
                "round": np.tile(self.checkpoints, self.trials),
                "regret": self.curves.ravel(),
                "label": self.label,
                "rounds": int(self.checkpoints[-1]),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "applies": True,
            "regret_mean": self.regret_mean,
            "regret_se": self.regret_se,
            "arms": list(self.arms),
            "exact": self.exact,
            "note": self.note,
        }


def best_single(
    environment: Environment, checkpoints: Ints, trials: Sequence[int], seed: int
) -> tuple[BestSingle | None, str]:
    """The best single action of these trials, and a sentence about it; None where there is no such thing.

    On a table of classes it is exact: the class that is most often right. Elsewhere it is found in hindsight: the arm
    with the highest mean over the rounds of the trial. Where actions are drawn afresh in every round the number of an
    arm means nothing, and there is none.
    """
    if not environment.stable_arms:
        return None, (
            f"The {BEST_SINGLE} is not applicable in {environment.slug}: arm numbers mean nothing from one round to "
            "the next."
        )
    known, numbers = environment.exact_single, tuple(trials)
    if known is not None:
        arm, loss, note = known
        curves = np.tile(loss * checkpoints, (len(trials), 1))
        found = BestSingle(checkpoints, curves, numbers, (arm,) * len(trials), True, note)
    elif environment.fixed_actions is not None:
        arms = tuple(int(environment.start(stream(seed, one, ENVIRONMENT)).means.argmax()) for one in trials)
        found = BestSingle(checkpoints, np.zeros((len(trials), len(checkpoints))), numbers, arms, False, _OPTIMAL)
    else:
        played = [_hindsight(environment, checkpoints, trial, seed) for trial in trials]
        curves, arms = np.array([curve for _, curve in played]), tuple(arm for arm, _ in played)
        note = _HINDSIGHT if curves[:, -1].any() else _OPTIMAL
        found = BestSingle(checkpoints, curves, numbers, arms, False, note)
    return found, found.note


_HINDSIGHT = f"The {BEST_SINGLE} is known in hindsight: the arm with the highest mean over the rounds of each trial."
_OPTIMAL = (
    f"The {BEST_SINGLE} is the best one of every round here: to find it is all there is to learn, and shares are "
    "counted from an even choice."
)


def _hindsight(environment: Environment, checkpoints: Ints, trial: int, seed: int) -> tuple[int, Floats]:
    """The arm, and its regret at every checkpoint: of all rounds, and not of those so far."""
    source = stream(seed, trial, ENVIRONMENT)
    world = environment.start(source)
    arms, rounds = len(world.means), int(checkpoints[-1])
    sums, bests = np.zeros((len(checkpoints), arms)), np.zeros(len(checkpoints))
    clock, totals, best = np.zeros(2, np.int64), np.zeros(arms), np.zeros(1)
    marks = np.append(checkpoints, -1)
    while clock[0] < rounds:
        portion = min(_PORTION, rounds - int(clock[0]))
        _watch(world.params, world.slate, world.means, source, marks, sums, bests, clock, totals, best, portion)
    arm = int(sums[-1].argmax())
    return arm, bests - sums[:, arm]


@kernel
def _watch(
    environment: Any,
    slate: Slate,
    means: Floats,
    stream: Any,
    marks: Ints,
    sums: Floats,
    bests: Floats,
    clock: Ints,
    totals: Floats,
    best: Floats,
    rounds: int,
) -> None:
    """`rounds` more rounds in which nothing is learned: the means of every arm, and the best of each round."""
    for _ in range(rounds):
        show(environment, slate, means, stream)
        pay(
            environment, means[0], stream
        )  # a world may draw its luck there: the next context must be the policies' own
        highest = means[0]
        for k in range(means.shape[0]):
            totals[k] += means[k]
            highest = max(highest, means[k])
        best[0] += highest
        clock[0] += 1
        if clock[0] == marks[clock[1]]:
            for k in range(means.shape[0]):
                sums[clock[1], k] = totals[k]
            bests[clock[1]] = best[0]
            clock[1] += 1
