"""Corollary 15: what privacy must cost for k unrelated arms, next to what it costs here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tacit.core.policy import Policy
from tacit.environments import OrthogonalArms
from tacit.policies.lower_bounds import private_arms_floor
from tacit.reproduce.experiment import Cell, Claim, Evidence, Experiment, Scale, Table, Verdict
from tacit.reproduce.figures import BLACK, GREEN, PINK, curve, finish, legend_below, line, panels
from tacit.reproduce.joint_dp.common import non_private, private
from tacit.reproduce.judge import below_line
from tacit.simulation import Job

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELTA = 1e-6
NON_PRIVATE, GEOMETRIC, TOEPLITZ = "non-private", "geometric", "Toeplitz"
_STYLE = {NON_PRIVATE: BLACK, GEOMETRIC: PINK, TOEPLITZ: GREEN}
#: The bound is asymptotic: it is not held against the first few rounds.
_SINCE = 100


@dataclass(frozen=True, kw_only=True)
class Prices(Scale):
    """At which ε the policies are run, and for how many arms."""

    epsilons: tuple[float, ...] = (0.1, 1.0)
    arms: int = 5


def _name(policy: str, epsilon: float) -> str:
    return NON_PRIVATE if policy == NON_PRIVATE else f"{policy}, epsilon {epsilon:g}"


SCALES = {
    "quick": Prices(name="quick", rounds=200_000, trials=6, time="under a minute"),
    "paper": Prices(name="paper", rounds=10_000_000, trials=8, time="about five minutes"),
}


class PriceOfArms(Experiment[Prices]):
    """Orthogonal arms: nothing learned about one says anything about another."""

    name: ClassVar[str] = "joint-dp/corollary-15"
    title: ClassVar[str] = "Regret for orthogonal arms, above the price of privacy"
    paper: ClassVar[str] = "Shariff and Sheffet (2018), Differentially Private Contextual Linear Bandits, Corollary 15."
    question: ClassVar[str] = (
        "Any ε-private learner for k arms pays Ω(k·ln n/ε) on top of the usual regret. How far above the line "
        "(k − 1)·ln n/(200 ε), the constant of its proof, are our policies?"
    )
    choices: ClassVar[tuple[str, ...]] = (
        "The paper proves the bound and does not run it: arms, gap, ε, rounds and trials are our choice.",
        "The line is asymptotic and loose, and stands alone: the usual regret is not added to it. It is proved for "
        f"pure ε-privacy; ours is (ε, δ) with δ = {DELTA:g}.",
    )
    scales: Mapping[str, Prices] = SCALES

    def describe(self, scale: Prices) -> str:
        listed = " and ".join(f"{epsilon:g}" for epsilon in scale.epsilons)
        return f"orthogonal-arms, k = {scale.arms}, n = {scale.rounds:,}, ε = {listed}, {scale.trials} trials"

    def jobs(self, scale: Prices, seed: int) -> dict[str, Job]:
        place = OrthogonalArms(arms=scale.arms)
        rounds = scale.rounds
        configs: dict[str, Policy] = {NON_PRIVATE: non_private(scale.arms, rounds)}
        for epsilon in scale.epsilons:
            for policy, releases in ((GEOMETRIC, "geometric"), (TOEPLITZ, "toeplitz")):
                configs[_name(policy, epsilon)] = private(
                    rounds, dim=scale.arms, epsilon=epsilon, delta=DELTA, releases=releases
                )
        return {name: Job(config, place, rounds, scale.trials, seed, name) for name, config in configs.items()}

    def measure(self, evidence: Evidence[Prices]) -> Table:
        scale, plain = evidence.scale, evidence.results[NON_PRIVATE]
        rows: list[tuple[Cell, ...]] = [(NON_PRIVATE, "–", plain.regret_mean, plain.regret_se, None, None)]
        for epsilon in scale.epsilons:
            floor = float(private_arms_floor(scale.arms, scale.rounds, epsilon))
            for policy in (GEOMETRIC, TOEPLITZ):
                result = evidence.results[_name(policy, epsilon)]
                mean = result.regret_mean
                rows.append((policy, f"{epsilon:g}", mean, result.regret_se, floor, mean / floor))
        return Table(("policy", "ε", "regret", "± s.e.", "line", "× line"), rows)

    def judge(self, evidence: Evidence[Prices]) -> list[Verdict]:
        scale = evidence.scale
        since = min(_SINCE, scale.rounds)
        verdicts = []
        for epsilon in scale.epsilons:
            lines = []
            for policy in (GEOMETRIC, TOEPLITZ):
                result = evidence.results[_name(policy, epsilon)]
                late = result.checkpoints >= since
                floor = private_arms_floor(scale.arms, result.checkpoints[late], epsilon)
                lines.append((policy, result.curves.mean(axis=0)[late], floor))
            claim = Claim(f"Private regret is above (k − 1)·ln n/(200 ε), ε = {epsilon:g}.")
            verdicts.append(below_line(claim, lines, above=True, where=f"every checkpoint from round {since}"))
        return verdicts

    def draw(self, evidence: Evidence[Prices]) -> Figure:
        scale = evidence.scale
        figure, axes = panels(len(scale.epsilons), width=4.8 * len(scale.epsilons), height=4.8, sharey=True)
        since = min(10, scale.rounds)
        for panel, epsilon in zip(axes, scale.epsilons, strict=True):
            for policy, colour in _STYLE.items():
                curve(panel, evidence.results[_name(policy, epsilon)], colour=colour, label=policy, since=since)
            marks = evidence.results[NON_PRIVATE].checkpoints
            marks = marks[marks >= since]
            floor = private_arms_floor(scale.arms, marks, epsilon)
            line(panel, marks, floor, colour="#7f7f7f", label="(k − 1)·ln n/(200 ε)")
            finish(panel, title=f"k = {scale.arms} arms, ε = {epsilon:g}, δ = {DELTA:g}", across="rounds", up="")
        axes[0].set_ylabel("pseudo-regret")
        legend_below(figure, axes, columns=4)
        return figure
