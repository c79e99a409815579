"""Table 1: three upper bounds, next to the regret they are about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from tacit.reproduce.experiment import Evidence, Experiment, Table, Verdict
from tacit.reproduce.figures import legend_below
from tacit.reproduce.renyi import arms, contexts, lists
from tacit.reproduce.renyi.common import PAPER, SCALES, Settings
from tacit.simulation import Job

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class UpperBounds(Experiment[Settings]):
    """AdaR-UCB, AdaR-GOPE and AdaR-OFUL over rounds and budgets."""

    name: ClassVar[str] = "renyi/table-1"
    title: ClassVar[str] = "Three upper bounds, and the regret they are about"
    paper: ClassVar[str] = f"{PAPER}, Table 1, Theorems 5, 8 and 10, Corollary 6."
    question: ClassVar[str] = (
        "How does the regret of the three policies grow with rounds and budgets, next to what is proved of it? Only "
        "Theorem 5 has constants; Corollary 6 and Theorems 8 and 10 are rates."
    )
    choices: ClassVar[tuple[str, ...]] = (
        "The paper runs nothing: worlds, budgets, rounds and trials are our choice. Arms have the means 0.75, 0.625, "
        "0.5, 0.375, 0.25 and β = 3.1; lists are of random unit vectors, another one in each instance; of contexts 20 "
        "are drawn afresh in every round. ‖θ*‖ = 0.9 and rewards are ±1 in the last two; δ = 1/T, λ = 1, C = 1, and "
        "λ0 = 1/d in the paper's width. One number ρ = ε/α stands for (α, ε).",
        "A rate has one constant, fitted: the least that puts it above everything it is shown with. That one can be "
        "found proves nothing. What is judged is whether regret outgrows the rate over the sizes run. A rate holds for "
        "sizes large enough, and the theorems have a constant for each of their two terms: outgrowing it refutes none.",
        "Theorem 10 is for contexts that uniform unit vectors are not (Assumption 2), and for the paper's width.",
        "√(ln T/ρ) is conjectured to be a floor, up to a constant. Corollary 15 (Shariff and Sheffet) is proved for "
        "pure ε-DP, here at the ε that would give this ρ: neither is a floor for these policies.",
        "Over arms and lists a run goes by episodes: the same law, one draw per episode. Values of AdaR-UCB at T are "
        "read off one curve, as it needs no horizon; the other two are run anew for every T.",
        f"What Eq. 8 costs over exact widths is judged from {lists.GAIN_ROUNDS:,} rounds on; it was limited to these "
        "after a look at seed 8. Others are independent of it.",
    )
    scales: Mapping[str, Settings] = SCALES

    def describe(self, scale: Settings) -> str:
        shapes = "; ".join(str(size) for size in lists.sizes(scale))
        horizons = ", ".join(f"{rounds:,}" for rounds in scale.horizons)
        return (
            f"{arms.WORLD.features} arms, T = {scale.rounds:,}, {scale.trials} trials; lists: {shapes}, "
            f"{scale.instances} instances; contexts: d = {scale.dim}, T = {horizons}, {scale.context_trials} trials"
        )

    def jobs(self, scale: Settings, seed: int) -> dict[str, Job]:
        return {**arms.jobs(scale, seed), **lists.jobs(scale, seed), **contexts.jobs(scale, seed)}

    def measure(self, evidence: Evidence[Settings]) -> Table:
        scale, results = evidence.scale, evidence.results
        rows = [*arms.rows(scale, results), *lists.rows(scale, results), *contexts.rows(scale, results)]
        head = ("setting", "policy", "ρ", "T", "regret", "± s.e.", "line", "line/regret", "which line")
        return Table(head, rows)

    def judge(self, evidence: Evidence[Settings]) -> list[Verdict]:
        scale, results = evidence.scale, evidence.results
        return [
            *arms.verdicts(scale, results),
            *lists.verdicts(scale, results),
            *contexts.verdicts(scale, results, evidence.seed),
        ]

    def draw(self, evidence: Evidence[Settings]) -> Figure:
        from matplotlib.figure import Figure

        scale, results = evidence.scale, evidence.results
        figure = Figure(figsize=(12.4, 10.6), layout="constrained")
        axes = figure.subplots(2, 2).ravel().tolist()
        arms.draw(axes[0], scale, results)
        lists.draw(axes[1], scale, results)
        contexts.draw(axes[2], scale, results)
        contexts.draw_switches(axes[3], scale, evidence.seed)
        figure.suptitle(
            f"thin solid: Theorem 5 with its constants; dashed: rates, one fitted constant each; {scale.trials} trials "
            f"over arms, {scale.instances} lists, {scale.context_trials} trials with contexts",
            fontsize=10,
        )
        legend_below(figure, axes, columns=4)
        return figure
