"""Which base the combiner settles on, for several constants, next to one of its bases alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tacit._types import Floats
from tacit.policies.online import Combiner, OnlineLinUCB
from tacit.reproduce.experiment import By, Claim, Evidence, Experiment, Scale, Table, Verdict
from tacit.reproduce.figures import BLUE, GREEN, GREY, ORANGE, PINK, SKY, YELLOW, finish, panels
from tacit.reproduce.judge import Sample, final, found, lower
from tacit.reproduce.local.common import ARMS, DELTA, DIM, FAILURE, LEVEL, PAPER, ROUNDS, play, side_by_side, world
from tacit.simulation import Job

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: P = P′ and p, and what else is changed. The paper asks for positive constants and gives none.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "P = p = 1": {"first_constant": 1.0, "other_constant": 1.0, "deviation_constant": 1.0},
    "P = p = 0.1": {
        "first_constant": 0.1,
        "other_constant": 0.1,
        "deviation_constant": 0.1,
        "penalty_constant": None,
    },
    "P = 0.01, p = 0.1": {
        "first_constant": 0.01,
        "other_constant": 0.01,
        "deviation_constant": 0.1,
        "penalty_constant": None,
    },
    "P = 0.01, p = 0.1, R = 0": {
        "first_constant": 0.01,
        "other_constant": 0.01,
        "deviation_constant": 0.1,
        "penalty": 0.0,
    },
    "P = 0.001, p = 0.1, R = 0": {
        "first_constant": 0.001,
        "other_constant": 0.001,
        "deviation_constant": 0.1,
        "penalty": 0.0,
    },
}
PRINTED = "P = p = 1"
ALONE = "OnlineLinUCB alone"
#: "About as well": the mean is at most so many times that of one base alone.
ABOUT = 1.25
_SHADES = (BLUE, ORANGE, GREEN, PINK, YELLOW, SKY)


@dataclass(frozen=True, kw_only=True)
class Bases(Scale):
    """Budgets, learners, and the number of trials that are followed to their end to see what was played."""

    epsilons: tuple[float, ...] = (1.0, 10.0)
    learners: tuple[str, ...] = ("ogd", "maler")
    followed: int = 10


SCALES = {
    "quick": Bases(name="quick", rounds=ROUNDS, trials=4, followed=4, time="about a minute"),
    "paper": Bases(name="paper", rounds=ROUNDS, trials=50, time="about 5 minutes"),
}


class _Played(NamedTuple):
    shares: Floats  # (trials, bases)
    eliminated: Floats  # (trials,)


def _online(learner: str, epsilon: float, rounds: int) -> dict[str, Any]:
    return {
        "dim": DIM,
        "epsilon": epsilon,
        "delta": DELTA,
        "horizon": rounds,
        "learner": learner,
        "calibration": "published",
        "noise_level": LEVEL,
        "failure": FAILURE,
    }


def combiner(setting: str, learner: str, epsilon: float, rounds: int) -> Combiner:
    """The combiner with the constants of a setting."""
    return Combiner(**_online(learner, epsilon, rounds), **SETTINGS[setting])


@lru_cache(maxsize=128)
def _follow(config: Combiner, rounds: int, trials: int, seed: int) -> _Played:
    plan = config.plan()
    ended = side_by_side(lambda trial: play(plan, world(), rounds, trial, seed).view, range(trials))
    plays, active = np.array([view.plays for view in ended]), np.array([view.active for view in ended])
    return _Played(plays / rounds, (1 - active).sum(axis=1).astype(float))


def _name(setting: str, learner: str, epsilon: float) -> str:
    return f"{setting}, {learner}, ε = {epsilon:g}"


class WhichBase(Experiment[Bases]):
    """Shares of plays and eliminations, for the constants that the theorem leaves open."""

    name: ClassVar[str] = "local/combiner"
    title: ClassVar[str] = "Which base the combiner settles on"
    paper: ClassVar[str] = PAPER.replace("Section 5", "Algorithm 2 and Theorem 4.1")
    question: ClassVar[str] = (
        "Does the combiner find the base that suits a least eigenvalue nobody knows, and is it as good as OnlineLinUCB "
        "alone? Base 1 begins anew in epochs; the others are OnlineLinUCB for guesses that double."
    )
    choices: ClassVar[tuple[str, ...]] = (
        "The paper gives no constants: P = P′ and p are named in each row. 288 in R_i is printed for p = 1; with "
        "smaller p it is 8p²(1 + σ²), and R = 0 leaves R_i out. Published noise, as in figure 1.",
        "Bases differ only if their widths do: base i has the practical width divided by d·λ_i. That is ours.",
        "Shares and eliminations are those of the trials that are followed to their end, each again as it was run.",
    )
    scales: Mapping[str, Bases] = SCALES

    def describe(self, scale: Bases) -> str:
        budgets = ", ".join(f"{epsilon:g}" for epsilon in scale.epsilons)
        return (
            f"n = {scale.rounds:,}, d = {DIM}, K = {ARMS}, ε = {budgets}, {len(SETTINGS)} settings and one base alone, "
            f"{' and '.join(scale.learners)}, {scale.trials} trials, {_followed(scale)} followed"
        )

    def jobs(self, scale: Bases, seed: int) -> dict[str, Job]:
        jobs = {}
        for epsilon in scale.epsilons:
            for learner in scale.learners:
                alone = OnlineLinUCB(**_online(learner, epsilon, scale.rounds))
                made = {setting: combiner(setting, learner, epsilon, scale.rounds) for setting in SETTINGS}
                for setting, config in {ALONE: alone, **made}.items():
                    name = _name(setting, learner, epsilon)
                    jobs[name] = Job(config, world(), scale.rounds, scale.trials, seed, name)
        return jobs

    def measure(self, evidence: Evidence[Bases]) -> Table:
        scale = evidence.scale
        rows = []
        for epsilon in scale.epsilons:
            for learner in scale.learners:
                alone = evidence.results[_name(ALONE, learner, epsilon)].regret_mean
                for setting in (ALONE, *SETTINGS):
                    result = evidence.results[_name(setting, learner, epsilon)]
                    played = None if setting == ALONE else _played(evidence, setting, learner, epsilon)
                    rows.append(
                        (
                            setting,
                            learner,
                            f"{epsilon:g}",
                            result.regret_mean,
                            result.regret_se,
                            result.regret_mean / alone,
                            "" if played is None else " ".join(f"{share:.2f}" for share in played.shares.mean(axis=0)),
                            None if played is None else float(played.eliminated.mean()),
                        )
                    )
        head = ("constants", "bases", "ε", "regret", "± s.e.", "× alone", "shares of the bases", "eliminated")
        return Table(head, rows)

    def judge(self, evidence: Evidence[Bases]) -> list[Verdict]:
        verdicts = []
        for epsilon in evidence.scale.epsilons:
            for learner in evidence.scale.learners:
                verdicts.append(self._as_good(evidence, learner, epsilon))
        verdicts.append(self._feasible(evidence))
        for epsilon in evidence.scale.epsilons:
            for learner in evidence.scale.learners:
                verdicts.append(self._one_base(evidence, learner, epsilon))
                verdicts.append(self._better(evidence, learner, epsilon))
        return verdicts

    def _as_good(self, evidence: Evidence[Bases], learner: str, epsilon: float) -> Verdict:
        claim = Claim(
            f"Without being told λ_min the combiner does about as well as one base, {learner}, ε = {epsilon:g}."
        )
        criterion = f"mean regret with the constants at 1 at most {ABOUT:g} times that of OnlineLinUCB alone"
        alone, together = self._samples(evidence, PRINTED, learner, epsilon)
        ratio = together.mean / alone.mean
        return found(claim, ratio <= ABOUT, criterion, f"{together}, {alone}: {ratio:.2f} times", ratio=ratio)

    def _feasible(self, evidence: Evidence[Bases]) -> Verdict:
        config = combiner(PRINTED, "ogd", max(evidence.scale.epsilons), evidence.scale.rounds)
        claim = Claim("One of the guesses T^(−1/8)·2^(i−1) can be the least eigenvalue.")
        criterion = f"a guess is at most 1/d = {1 / DIM:g}, which no action of length 1 can exceed"
        numbers = "guesses " + ", ".join(f"{guess:.3f}" for guess in config.guesses)
        return found(
            claim, bool((config.guesses <= 1 / DIM).any()), criterion, numbers, least=float(config.guesses.min())
        )

    def _one_base(self, evidence: Evidence[Bases], learner: str, epsilon: float) -> Verdict:
        claim = Claim(
            f"With the constants at 1 one base is played in every round: nothing is combined, {learner}, "
            f"ε = {epsilon:g}.",
            By.OURS,
        )
        criterion = "the most-played base has at least 99.9 % of the rounds, in every trial followed"
        shares = _played(evidence, PRINTED, learner, epsilon).shares
        least = float(shares.max(axis=1).min())
        numbers = f"at least {least:.2%}; mean shares " + ", ".join(f"{share:.2f}" for share in shares.mean(axis=0))
        return found(claim, least >= 0.999, criterion, numbers, least_share=least)

    def _better(self, evidence: Evidence[Bases], learner: str, epsilon: float) -> Verdict:
        """Some setting beats a base alone: judged for the one with the least mean, which is generous."""
        best = min(SETTINGS, key=lambda setting: evidence.results[_name(setting, learner, epsilon)].regret_mean)
        alone, together = self._samples(evidence, best, learner, epsilon)
        claim = Claim(
            f"Some of these constants make the combiner better than a base alone, {learner}, ε = {epsilon:g}.", By.OURS
        )
        return lower(claim, together, alone)

    def _samples(self, evidence: Evidence[Bases], setting: str, learner: str, epsilon: float) -> tuple[Sample, Sample]:
        named = partial(_name, learner=learner, epsilon=epsilon)
        return (
            final(evidence.results[named(ALONE)], ALONE),
            final(evidence.results[named(setting)], f"combiner ({setting})"),
        )

    def draw(self, evidence: Evidence[Bases]) -> Figure:
        scale = evidence.scale
        pairs = [(learner, epsilon) for epsilon in scale.epsilons for learner in scale.learners]
        figure, axes = panels(len(pairs), width=3.2 * len(pairs) + 1.6, height=3.9, sharey=True)
        for panel, (learner, epsilon) in zip(axes, pairs, strict=True):
            at = np.arange(len(SETTINGS))
            left = np.zeros(len(SETTINGS))
            shares = np.array([_played(evidence, each, learner, epsilon).shares.mean(axis=0) for each in SETTINGS])
            for base in range(shares.shape[1]):
                colour = _SHADES[base % len(_SHADES)]
                panel.barh(at, shares[:, base], left=left, color=colour, label=f"base {base + 1}", height=0.6)
                left += shares[:, base]
            for place, setting in enumerate(SETTINGS):
                regret = evidence.results[_name(setting, learner, epsilon)].regret_mean
                dropped = _played(evidence, setting, learner, epsilon).eliminated.mean()
                panel.text(1.02, place, f"{regret:,.0f}\n{dropped:.1f} out", va="center", fontsize=7.5, color=GREY)
            panel.set_yticks(at, list(SETTINGS))
            alone = evidence.results[_name(ALONE, learner, epsilon)].regret_mean
            title = f"{learner}, ε = {epsilon:g}; alone {alone:,.0f}"
            finish(panel, title=title, across="share of rounds", up="", log_x=False, log_y=False)
            panel.set_xlim(0, 1.25)
            panel.set_xticks([0, 0.5, 1])
        axes[0].invert_yaxis()  # for all: they share it
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=8.5)
        figure.suptitle(
            f"n = {scale.rounds:,}, {scale.trials} trials; beside each bar: regret, and how many bases were eliminated",
            fontsize=10,
        )
        return figure


def _followed(scale: Bases) -> int:
    return min(scale.followed, scale.trials)


def _played(evidence: Evidence[Bases], setting: str, learner: str, epsilon: float) -> _Played:
    scale = evidence.scale
    return _follow(combiner(setting, learner, epsilon, scale.rounds), scale.rounds, _followed(scale), evidence.seed)
