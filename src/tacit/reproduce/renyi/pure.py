"""Rényi privacy against pure DP at equal (ε, δ), and what each way from (ε, δ) to noise costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tacit.core.policy import Policy
from tacit.errors import BadInput
from tacit.policies.episodic import LaplaceUCB, RenyiUCB, SuccessiveElimination
from tacit.privacy.conversions import cks_multiplier, exact_multiplier, fixed_order_multiplier, mironov_multiplier
from tacit.report.tables import number
from tacit.reproduce.experiment import By, Cell, Claim, Evidence, Experiment, Scale, Table, Verdict
from tacit.reproduce.figures import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    SKY,
    YELLOW,
    finish,
    legend_below,
    panels,
    points,
)
from tacit.reproduce.judge import Sample, final, found, lower, untested
from tacit.reproduce.renyi.arms import REFERENCE_RUNS, WORLD, ada_ucb
from tacit.reproduce.renyi.common import NO_NOISE, PAPER, extra
from tacit.reproduce.renyi.price import ALMOST_FREE
from tacit.simulation import Job

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELTA = 1e-6
ORDER = 32.0  # α where one is fixed

TWIN = "no noise"
EXACT, CKS, MIRONOV, FIXED = "exact curve", "CKS conversion", "Mironov, best α", f"Mironov, α = {ORDER:g}"
ADAP, DPSE = "AdaP-UCB, pure ε (our reading)", "DP-SE, pure ε (our reading)"

#: σ/Δ by each way from (ε, δ) to Gaussian noise.
WAYS: Mapping[str, Callable[[float, float], float]] = {
    EXACT: exact_multiplier,
    CKS: cks_multiplier,
    MIRONOV: mironov_multiplier,
    FIXED: lambda epsilon, delta: fixed_order_multiplier(epsilon, delta, ORDER),
}

#: Mean regret at T = 10⁶ by (β, ε), from an independent implementation (1,000 runs, standard errors up to 28).
REFERENCES: Mapping[tuple[float, float], Mapping[str, float]] = {
    (3.1, 0.1): {TWIN: 942, EXACT: 3987, CKS: 4188, MIRONOV: 5911, ADAP: 7616},
    (3.1, 0.5): {TWIN: 942, EXACT: 1403, CKS: 1456, MIRONOV: 1630, FIXED: 2201, ADAP: 2316},
    (3.1, 1.0): {TWIN: 942, EXACT: 1094, CKS: 1114, MIRONOV: 1180, FIXED: 1183, ADAP: 1672},
    (3.1, 4.0): {TWIN: 942, EXACT: 955, CKS: 955, MIRONOV: 953, FIXED: 987, ADAP: 1102},
    (1.0, 0.1): {TWIN: 309, EXACT: 2208, CKS: 2402, MIRONOV: 3317, ADAP: 2201},
    (1.0, 1.0): {TWIN: 309, EXACT: 450, CKS: 463, MIRONOV: 502, FIXED: 504, ADAP: 563},
}
REFERENCE_ROUNDS = 10**6
_TOLERANCE = 0.05
#: What the exact curve saves of the price, at ε ≤ 1, at least.
SAVING = 0.2

_STYLE = {
    EXACT: (BLUE, "o"),
    CKS: (SKY, "^"),
    MIRONOV: (GREEN, "s"),
    FIXED: (YELLOW, "v"),
    ADAP: (ORANGE, "D"),
    DPSE: (PINK, "P"),
}


@dataclass(frozen=True, kw_only=True)
class Promises(Scale):
    """At which ε, and with how much optimism β."""

    epsilons: tuple[float, ...] = (0.1, 0.5, 1.0, 4.0)
    optimisms: tuple[float, ...] = (3.1, 1.0)


SCALES = {
    "quick": Promises(name="quick", rounds=10**6, trials=400, time="under a minute"),
    "paper": Promises(name="paper", rounds=10**6, trials=1000, time="under a minute"),
}


def multiplier(way: str, epsilon: float) -> float | None:
    """σ/Δ, or None where this way does not lead to (ε, δ) at all."""
    try:
        return WAYS[way](epsilon, DELTA)
    except BadInput:
        return None


def policies(epsilon: float, optimism: float, rounds: int) -> dict[str, Policy]:
    """All that keep (ε, δ), by name; the way that does not lead there is left out."""
    made: dict[str, Policy] = {}
    for way in WAYS:
        noise = multiplier(way, epsilon)
        if way == EXACT:
            made[way] = RenyiUCB(epsilon=epsilon, delta=DELTA, optimism=optimism)
        elif noise is not None:
            made[way] = RenyiUCB(rho=1 / (2 * noise**2), optimism=optimism)
    made[ADAP] = LaplaceUCB(epsilon=epsilon, optimism=optimism)
    made[DPSE] = SuccessiveElimination(epsilon=epsilon, horizon=rounds)
    return made


def name(policy: str, epsilon: float, optimism: float) -> str:
    """What a run is called."""
    if policy == TWIN:
        return f"{policy}, β = {optimism:g}"
    if policy == DPSE:  # knows no β
        return f"{policy}, ε = {epsilon:g}"
    return f"{policy}, ε = {epsilon:g}, β = {optimism:g}"


def sample(evidence: Evidence[Promises], policy: str, epsilon: float, optimism: float) -> Sample | None:
    """Final regret; None where nothing was run."""
    result = evidence.results.get(name(policy, epsilon, optimism))
    return None if result is None else final(result, policy)


class PureAgainstRenyi(Experiment[Promises]):
    """AdaR-UCB with the noise of four conversions, and two policies under pure DP."""

    name: ClassVar[str] = "renyi/pure-against-renyi"
    title: ClassVar[str] = "Rényi privacy and pure DP at the same (ε, δ)"
    paper: ClassVar[str] = f"{PAPER}, Section 4, discussion of Theorem 5."
    question: ClassVar[str] = (
        "Rényi privacy is said to be almost free where pure DP is not. The letter ε means different things in the two: "
        f"does it hold at the same (ε, δ), δ = {DELTA:g}? And what does the way from (ε, δ) to noise matter?"
    )
    choices: ClassVar[tuple[str, ...]] = (
        "The paper compares (α, ε)-Rényi privacy with ε-DP at the same letter ε, which is no comparison. Here every "
        f"row keeps (ε, δ) with δ = {DELTA:g}. Pure DP keeps more than that, (ε, 0): what it is charged for buys "
        "something.",
        "AdaP-UCB (Azize and Basu 2022) and DP-SE (Sajed and Sheffet 2019) are our reading of them, with constants "
        "that may not be their authors'. DP-SE has no β and stands in both halves with the same runs.",
        f"Almost free: at most {ALMOST_FREE:.0%} above the noiseless twin, which doubles and forgets all the same.",
        '"ε accounted" is what the noise truly gives at δ: the conversions add noise that nobody asked for.',
        "β = 3.1 is what the regret theorem asks for; β = 1 is practical, without a theorem.",
    )
    scales: Mapping[str, Promises] = SCALES

    def describe(self, scale: Promises) -> str:
        listed = ", ".join(f"{epsilon:g}" for epsilon in scale.epsilons)
        betas = " and ".join(f"{optimism:g}" for optimism in scale.optimisms)
        return f"{WORLD.features} arms, T = {scale.rounds:,}, ε = {listed}, β = {betas}, {scale.trials} trials"

    def jobs(self, scale: Promises, seed: int) -> dict[str, Job]:
        configs: dict[str, Policy] = {}
        for optimism in scale.optimisms:
            configs[name(TWIN, 0, optimism)] = ada_ucb(NO_NOISE, optimism)
            for epsilon in scale.epsilons:
                for policy, config in policies(epsilon, optimism, scale.rounds).items():
                    configs[name(policy, epsilon, optimism)] = config
        return {
            label: Job(config, WORLD, scale.rounds, scale.trials, seed, label, by="episodes")
            for label, config in configs.items()
        }

    def measure(self, evidence: Evidence[Promises]) -> Table:
        rows: list[Sequence[Cell]] = []
        for optimism in evidence.scale.optimisms:
            twin = evidence.results[name(TWIN, 0, optimism)]
            rows.append((f"{optimism:g}", "∞", TWIN, "", None, twin.regret_mean, twin.regret_se, 1.0))
            for epsilon in evidence.scale.epsilons:
                for policy in _STYLE:
                    noise = multiplier(policy, epsilon) if policy in WAYS else None
                    result = evidence.results.get(name(policy, epsilon, optimism))
                    head = (f"{optimism:g}", f"{epsilon:g}", policy)
                    if result is None:
                        rows.append((*head, "infeasible", None, None, None, None))
                        continue
                    said = "" if noise is None else f"{noise:.4g}"
                    mean = result.regret_mean
                    accounted = result.guarantee.epsilon_at(DELTA)
                    rows.append((*head, said, accounted, mean, result.regret_se, mean / twin.regret_mean))
        return Table(("β", "ε", "noise", "σ/Δ", "ε accounted", "regret", "± s.e.", "× no noise"), rows)

    def judge(self, evidence: Evidence[Promises]) -> list[Verdict]:
        pairs = [(optimism, epsilon) for optimism in evidence.scale.optimisms for epsilon in evidence.scale.epsilons]
        return [
            *(_free_or_not(evidence, epsilon, optimism) for optimism, epsilon in pairs),
            *(_below(evidence, epsilon, optimism) for optimism, epsilon in pairs),
            *(_saves(evidence, epsilon, optimism) for optimism, epsilon in pairs if epsilon <= 1),
            _reaches(evidence),
            *_references(evidence),
        ]

    def draw(self, evidence: Evidence[Promises]) -> Figure:
        scale = evidence.scale
        figure, axes = panels(len(scale.optimisms), width=5.4 * len(scale.optimisms), height=5.6, sharey=True)
        for panel, optimism in zip(axes, scale.optimisms, strict=True):
            for policy, (colour, marker) in _STYLE.items():
                run = {epsilon: sample(evidence, policy, epsilon, optimism) for epsilon in scale.epsilons}
                there = {epsilon: found_one for epsilon, found_one in run.items() if found_one is not None}
                finals = [one.values for one in there.values()]
                points(panel, list(there), finals, colour=colour, label=policy, marker=marker)
            twin = evidence.results[name(TWIN, 0, optimism)].regret_mean
            panel.axhline(twin, color=BLACK, linewidth=1.2, label=TWIN)
            label = f"{ALMOST_FREE:.0%} above: what we call almost free"
            panel.axhline((1 + ALMOST_FREE) * twin, color=GREY, linestyle=":", linewidth=1.2, label=label)
            theorem = "the theorem's" if optimism > 3 else "no theorem"
            finish(panel, title=f"β = {optimism:g} ({theorem})", across=f"ε at δ = {DELTA:g}", up="")
        axes[0].set_ylabel(f"pseudo-regret after {scale.rounds:,} rounds")
        legend_below(figure, axes, columns=4)
        return figure


def _both(evidence: Evidence[Promises], epsilon: float, optimism: float) -> tuple[Sample, Sample, Sample]:
    """The twin, AdaR-UCB by the exact curve, and AdaP-UCB."""
    twin, renyi, pure = (sample(evidence, policy, epsilon, optimism) for policy in (TWIN, EXACT, ADAP))
    assert twin is not None
    assert renyi is not None
    assert pure is not None
    return twin, renyi._replace(name="AdaR-UCB"), pure._replace(name="AdaP-UCB")


def _free_or_not(evidence: Evidence[Promises], epsilon: float, optimism: float) -> Verdict:
    claim = Claim(f"Rényi privacy is almost free and pure DP is not, at ({epsilon:g}, {DELTA:g}), β = {optimism:g}.")
    criterion = (
        f"mean regret of AdaR-UCB at most {ALMOST_FREE:.0%} above that without noise, and that of AdaP-UCB at pure ε "
        "more than that above it"
    )
    twin, renyi, pure = _both(evidence, epsilon, optimism)
    shares = {one.name: one.mean / twin.mean - 1 for one in (renyi, pure)}
    numbers = f"{twin}; {renyi}: {shares[renyi.name]:+.0%}; {pure}: {shares[pure.name]:+.0%}"
    holds = shares[renyi.name] <= ALMOST_FREE < shares[pure.name]
    return found(claim, holds, criterion, numbers, renyi=shares[renyi.name], pure=shares[pure.name])


def _below(evidence: Evidence[Promises], epsilon: float, optimism: float) -> Verdict:
    claim = Claim(f"AdaR-UCB has less regret than AdaP-UCB at ({epsilon:g}, {DELTA:g}), β = {optimism:g}.")
    _, renyi, pure = _both(evidence, epsilon, optimism)
    return lower(claim, renyi, pure)


def _saves(evidence: Evidence[Promises], epsilon: float, optimism: float) -> Verdict:
    claim = Claim(
        f"The exact curve saves a fifth of the price or more over the best Rényi order, ε = {epsilon:g}, β = "
        f"{optimism:g}.",
        By.OURS,
    )
    criterion = f"mean extra regret by the exact curve at most {1 - SAVING:.0%} of that by Mironov's conversion"
    twin, exact, converted = (sample(evidence, policy, epsilon, optimism) for policy in (TWIN, EXACT, MIRONOV))
    assert twin is not None
    assert exact is not None
    assert converted is not None
    ours, theirs = extra(exact, twin), extra(converted, twin)
    if theirs.mean <= 0:
        return untested(claim, criterion, "the price cannot be told from nothing")
    saved = 1 - ours.mean / theirs.mean
    return found(claim, saved >= SAVING, criterion, f"{ours}, {theirs}: {saved:.0%} saved", saved=saved)


def _reaches(evidence: Evidence[Promises]) -> Verdict:
    """A fixed order against (ε, δ)."""
    claim = Claim(f"With one order fixed, α = {ORDER:g}, not every one of these (ε, δ) can be reached.", By.OURS)
    criterion = "ln(1/δ)/(α − 1) at least ε for one of them: no amount of noise is enough then"
    noises = {epsilon: multiplier(FIXED, epsilon) for epsilon in evidence.scale.epsilons}
    numbers = ", ".join(
        f"ε = {epsilon:g}: {'infeasible' if noise is None else f'σ/Δ = {number(noise)}'}"
        for epsilon, noise in noises.items()
    )
    return found(claim, None in noises.values(), criterion, numbers)


def _references(evidence: Evidence[Promises]) -> list[Verdict]:
    """What was found before, row by row."""
    verdicts = []
    for (optimism, epsilon), row in REFERENCES.items():
        claim = Claim(
            f"Regret is what an independent implementation found, ε = {epsilon:g}, β = {optimism:g}.", By.OURS
        )
        criterion = f"each mean within {_TOLERANCE:.0%} of it, over at least {REFERENCE_RUNS} runs"
        runs = {policy: sample(evidence, policy, epsilon, optimism) for policy in row}
        there = {policy: run for policy, run in runs.items() if run is not None and len(run.values) >= REFERENCE_RUNS}
        if len(there) < len(runs) or evidence.scale.rounds != REFERENCE_ROUNDS:
            verdicts.append(untested(claim, criterion, "not run at this scale, or too few times"))
            continue
        off = {policy: run.mean / row[policy] - 1 for policy, run in there.items()}
        numbers = ", ".join(f"{policy} {number(there[policy].mean)} ({share:+.1%})" for policy, share in off.items())
        farthest = max(abs(share) for share in off.values())
        verdicts.append(found(claim, farthest <= _TOLERANCE, criterion, numbers, farthest=farthest))
    return verdicts
