"""Policies that we have not written: anything that chooses and learns, attacked through what it chooses.

A fresh policy learns one of two neighbouring rows. It is then offered {−v, +v} for a number of rounds, all the same for
both rows, and which of the two it took is all that is looked at. A policy that claims (ε, δ) may not show by this which
row it was. Nothing is known of its inside, so there are no twins of it: a claim that is not refuted here has been
tried, and no more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from tacit._arrays import finite
from tacit._types import Floats
from tacit._validate import one_of, positive, probability, real, whole
from tacit.auditing.attack import ACTIONS, Attack, Claim, Twin
from tacit.auditing.result import Audit
from tacit.auditing.run import attack_all
from tacit.auditing.scores import Score
from tacit.errors import BadInput

#: Runs per row where no number is given: a policy in Python takes its time.
RUNS = 5000
#: What an audit without twins adds to its verdict.
NO_TWINS = "Only choices were seen, and no broken twin was tried: what is not refuted here has been tried, and no more."
#: Rounds in which it is asked.
PROBES = 16
#: How long the two actions of a probe are, in units of the bound: what is learned of them must not drown the row.
_SHORT = 0.01
#: Variance that any number of choices is taken to have at least.
_LEAST_SPREAD = 1e-3


class ChoosesAndLearns(Protocol):
    """What is attacked."""

    def choose(self, actions: Floats) -> int:
        """The index of the action to take, of `actions` of shape (K, dim)."""

    def learn(self, action: Any, reward: float) -> None:
        """What the action, or the arm, of the last choice earned."""


class Row(NamedTuple):
    """One person's round: the action that was taken, of shape (dim,), and what it earned."""

    action: Floats
    reward: float


@dataclass(frozen=True)
class BlackBox:
    """What to attack and what to hold it to, as for a policy of the catalogue: without twins."""

    name: str
    claim: Claim
    attacks: tuple[Attack, ...]
    twins: tuple[Twin, ...] = ()


def audit_black_box(
    make: Callable[[int], ChoosesAndLearns],
    *,
    dim: int,
    epsilon: float,
    delta: float = 0.0,
    mu: float | None = None,
    runs: int = RUNS,
    seed: int = 0,
    confidence: float = 0.95,
    progress: bool | None = None,
    **how: Any,
) -> Audit:
    """Attack the later choices of any policy and hold it to its claim of (ε, δ)-DP, or of μ-GDP as well.

    `make(seed)` returns a new policy with `choose(actions)` and `learn(action, reward)`; it should draw its noise from
    that seed, so that an audit can be repeated, and must share nothing with those made before. `how` are the further
    options of `black_box`: which two rows, and how many rounds to ask in.

    An `Audit` that is "consistent" says less here than one of a policy that is known: no twin shows what the attack
    would have found.
    """
    box = black_box(make, dim=dim, epsilon=epsilon, delta=delta, mu=mu, **how)
    claimed = f"epsilon = {box.claim.epsilon:g}"
    return attack_all(
        box.name,
        box.claim,
        box.attacks,
        box.twins,
        promised=f"{claimed} at delta = {box.claim.delta:g}" if box.claim.delta else f"{claimed}, pure",
        runs=runs,
        confidence=confidence,
        seed=seed,
        # Policies in Python would only wait for each other, and need not be safe to run side by side.
        threads=1,
        progress=progress,
        notes=(NO_TWINS,),
    )


def black_box(
    make: Callable[[int], ChoosesAndLearns],
    *,
    dim: int,
    epsilon: float,
    delta: float = 0.0,
    mu: float | None = None,
    action_norm: float = 1.0,
    reward_bound: float = 1.0,
    beyond: float = 1.0,
    first: tuple[ArrayLike, float] | None = None,
    second: tuple[ArrayLike, float] | None = None,
    direction: ArrayLike | None = None,
    probes: int = PROBES,
    learns: str = "action",
    name: str | None = None,
) -> BlackBox:
    """The attack, ready to be run: what `audit_black_box` runs at once.

    By default the first row is an action of norm `action_norm` that earned `reward_bound`, and the second the same that
    earned the opposite. `first` and `second`, (action, reward) each, replace them. `beyond` multiplies rewards: 100
    asks whether they are clipped, which is part of a claim that is meant to hold for every input. Probes lie along
    `direction`, by default the first row's. `learns="arm"` is for policies that are told the index and not the action.
    """
    length, largest = positive("action_norm", action_norm), positive("reward_bound", reward_bound)
    size = whole("dim", dim)
    unit = np.zeros(size)
    unit[0] = length
    one = Row(unit, largest) if first is None else _row("first", first, size)
    two = Row(one.action, -one.reward) if second is None else _row("second", second, size)
    far = positive("beyond", beyond)
    along = _vector("direction", one.action if direction is None else direction, size)
    reach = float(np.linalg.norm(along))
    if reach == 0:
        raise BadInput("Expected a direction to probe along, got zeros. Give direction=…, or a first row that has one.")
    probe = _SHORT * length / reach * along
    sampler = Watched(
        make,
        rows=(one._replace(reward=far * one.reward), two._replace(reward=far * two.reward)),
        probe=np.stack([-probe, probe]),
        rounds=whole("probes", probes),
        by_arm=one_of("learns", learns, ("action", "arm")) == "arm",
    )
    _refuse_unfit(make)
    return BlackBox(
        name=name or _name_of(make),
        claim=Claim(
            epsilon=positive("epsilon", epsilon),
            delta=0.0 if delta == 0 else probability("delta", delta, hint="For pure DP leave delta out."),
            mu=None if mu is None else positive("mu", mu),
        ),
        attacks=(
            Attack(
                ACTIONS,
                sampler,
                "one row replaced by another, and all later rounds the same",
                fit=weighed,
                smooth=False,
                batch=100,
            ),
        ),
    )


def weighed(first: Floats, second: Floats) -> Score:
    """Blocks of choices, weighed as for two Gaussians of one covariance. They are whole numbers and may have no spread
    at all, as in a policy without noise: every block then has a little of its own, and they count alike."""
    difference = second.mean(axis=0) - first.mean(axis=0)
    spread = (np.cov(first, rowvar=False) + np.cov(second, rowvar=False)) / 2
    weights = np.linalg.solve(np.atleast_2d(spread) + _LEAST_SPREAD * np.eye(len(difference)), difference)

    def score(seen: Floats) -> Floats:
        found: Floats = seen @ weights
        return found

    return score


@dataclass(frozen=True)
class Watched:
    """Runs of a policy from outside: how often it chose +v rather than −v, early and late.

    Rounds are counted in blocks of 1, 2, 4, 8 and so on. Under fresh noise all rounds say the same, under noise that
    grows the early ones say more: few numbers serve both, and a score of few numbers is fitted on few runs.
    """

    make: Callable[[int], ChoosesAndLearns]
    rows: tuple[Row, Row]
    probe: Floats  # (2, dim): −v and v
    rounds: int
    by_arm: bool = False

    def sample(self, world: int, runs: int, seed: int, path: tuple[int, ...]) -> Floats:
        """See `Sampler`."""
        states = np.random.SeedSequence(seed, spawn_key=path).generate_state(runs, np.uint64)
        # Halved: some generators take no seed of 64 bits.
        return np.array([self._run(self.rows[world], int(state) >> 1) for state in states])

    def _run(self, row: Row, seed: int) -> Floats:
        policy = self.make(seed)
        # The same action twice, so that it is taken; which of the two is not looked at.
        self._round(policy, np.stack([row.action, row.action]), row.reward)
        chosen = [self._round(policy, self.probe.copy(), 0.0) for _ in range(self.rounds)]
        blocks = [2**block - 1 for block in range(self.rounds.bit_length()) if 2**block <= self.rounds]
        return np.add.reduceat(2.0 * np.array(chosen) - 1.0, blocks)

    def _round(self, policy: ChoosesAndLearns, actions: Floats, reward: float) -> int:
        arm = policy.choose(actions)
        try:
            place = int(arm)
            known = place == arm and 0 <= place < len(actions)
        except (TypeError, ValueError):
            place, known = 0, False
        if not known:
            raise BadInput(
                f"Expected choose(actions) to return the index of one of {len(actions)} actions, got {arm!r}. Wrap the "
                "policy if it returns something else."
            )
        policy.learn(place if self.by_arm else actions[place].copy(), reward)
        return place


def _refuse_unfit(make: Any) -> None:
    """Before anything runs: what is missing is named."""
    if not callable(make):
        raise BadInput(
            f"Expected make to be a function of a seed that returns a new policy, got {type(make).__name__}. "
            "Pass lambda seed: …, and not a policy: every run needs a fresh one."
        )
    policy = make(0)
    lacking = [verb for verb in ("choose", "learn") if not callable(getattr(policy, verb, None))]
    if lacking:
        raise BadInput(
            f"Expected make(seed) to return an object with choose(actions) and learn(action, reward), got "
            f"{type(policy).__name__}, which lacks {' and '.join(lacking)}. Wrap it in one that has both."
        )


def _name_of(make: Any) -> str:
    found = getattr(make, "__name__", type(make).__name__)
    return type(make(0)).__name__ if found == "<lambda>" else str(found)


def _row(name: str, row: Any, dim: int) -> Row:
    try:
        action, reward = row
    except (TypeError, ValueError):
        raise BadInput(f"Expected {name} to be (action, reward), got {type(row).__name__}.") from None
    return Row(_vector(f"the action of {name}", action, dim), real(f"the reward of {name}", reward))


def _vector(name: str, values: Any, dim: int) -> Floats:
    found = finite(name, values)
    if found.shape != (dim,):
        raise BadInput(f"Expected {name} of shape ({dim},), got {found.shape}.")
    return found
