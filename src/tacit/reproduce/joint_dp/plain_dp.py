"""Claim 13: protecting a round's context from its own arm forbids learning; joint privacy does not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tacit.core.policy import Policy
from tacit.environments import TwoContexts
from tacit.policies.context_blind import ContextBlind
from tacit.policies.lower_bounds import plain_dp_floor, randomised_response_regret
from tacit.policies.randomised_response import RandomisedResponse
from tacit.reproduce.experiment import By, Claim, Evidence, Experiment, Scale, Table, Verdict
from tacit.reproduce.figures import (
    BLACK,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    curve,
    finish,
    legend_below,
    line,
    panels,
    points,
)
from tacit.reproduce.joint_dp.common import private
from tacit.reproduce.judge import Sample, final, found, untested
from tacit.simulation import Job

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELTA = 1e-6
#: The claim is about ε < ln 2.
LIMIT = math.log(2)
BLIND, RESPONSE = "context-blind", "randomised response"
GEOMETRIC, TREE = "joint DP, geometric", "joint DP, tree"
_SIGMAS = 4.0


@dataclass(frozen=True, kw_only=True)
class Epsilons(Scale):
    """At which ε the policies are run."""

    epsilons: tuple[float, ...] = (0.5, 0.99 * LIMIT, 1.0, 2.0)


def _name(policy: str, epsilon: float) -> str:
    return f"{policy}, epsilon {epsilon:.3g}"


def _policies(epsilon: float, rounds: int, dim: int) -> dict[str, Policy]:
    return {
        RESPONSE: RandomisedResponse(dim=dim, epsilon=epsilon),
        GEOMETRIC: private(rounds, dim=dim, epsilon=epsilon, delta=DELTA),
        TREE: private(rounds, dim=dim, epsilon=epsilon, delta=DELTA, releases="tree"),
    }


SCALES = {
    "quick": Epsilons(name="quick", rounds=100_000, trials=10, time="under a minute"),
    "paper": Epsilons(name="paper", rounds=1_000_000, trials=20, time="about a minute"),
}


class PlainPrivacy(Experiment[Epsilons]):
    """Two contexts that swap two arms."""

    name: ClassVar[str] = "joint-dp/claim-13"
    title: ClassVar[str] = "Plain privacy forbids learning, joint privacy does not"
    paper: ClassVar[str] = "Shariff and Sheffet (2018), Differentially Private Contextual Linear Bandits, Claim 13."
    question: ClassVar[str] = (
        "Each round a fair coin decides which of two arms pays +1 and which −1. If a person's own arm must not reveal "
        "their own context, ε < ln 2 costs at least a quarter per round, however well the world is known. Does joint "
        "privacy, where a person's own arm may depend on their own context, escape?"
    )
    choices: ClassVar[tuple[str, ...]] = (
        "The paper proves the claim and does not run it: values of ε, rounds and trials are our choice.",
        f"Joint privacy is run at δ = {DELTA:g}; the claim allows δ < 1/4.",
        "Randomised response knows θ*: the claim holds even then.",
    )
    scales: Mapping[str, Epsilons] = SCALES

    def describe(self, scale: Epsilons) -> str:
        listed = ", ".join(f"{epsilon:.3g}" for epsilon in scale.epsilons)
        return f"two-contexts, n = {scale.rounds:,}, ε = {listed}, {scale.trials} trials"

    def jobs(self, scale: Epsilons, seed: int) -> dict[str, Job]:
        place = TwoContexts()
        dim, rounds = place.features, scale.rounds
        jobs = {BLIND: Job(ContextBlind(dim=dim), place, rounds, scale.trials, seed, BLIND)}
        for epsilon in scale.epsilons:
            for policy, config in _policies(epsilon, rounds, dim).items():
                name = _name(policy, epsilon)
                jobs[name] = Job(config, place, rounds, scale.trials, seed, name)
        return jobs

    def measure(self, evidence: Evidence[Epsilons]) -> Table:
        rounds = evidence.scale.rounds
        floor = float(plain_dp_floor(rounds))
        rows = []
        for name, result in evidence.results.items():
            policy, _, epsilon = name.partition(", epsilon ")
            mean, error = result.regret_mean, result.regret_se
            rows.append(
                (
                    policy,
                    epsilon or "0",
                    mean,
                    error,
                    mean / rounds,
                    mean / floor,
                    result.guarantee.trust.value,
                )
            )
        return Table(("policy", "ε", "regret", "± s.e.", "per round", "× n/4", "trust"), rows)

    def judge(self, evidence: Evidence[Epsilons]) -> list[Verdict]:
        rounds, results = evidence.scale.rounds, evidence.results
        floor = float(plain_dp_floor(rounds))
        covered = [epsilon for epsilon in evidence.scale.epsilons if epsilon < LIMIT]
        plain = [final(results[BLIND]), *(final(results[_name(RESPONSE, epsilon)]) for epsilon in covered)]
        least = min(plain, key=lambda sample: sample.mean)
        verdicts = [
            found(
                Claim("Under plain privacy with ε < ln 2 every policy pays at least n/4: tested on two."),
                least.mean >= floor,
                f"mean regret of context-blind choice and of randomised response at ε < ln 2 at least {floor:,.0f}",
                f"the least: {least}",
                least=least.mean,
                floor=floor,
            ),
        ]
        blind = Claim("Choosing without the context pays 1 per round.", By.OURS)
        ours = [_meets(blind, final(results[BLIND]), float(rounds))]
        for epsilon in evidence.scale.epsilons:
            claim = Claim(f"Randomised response pays 2/(1 + e^ε) per round, ε = {epsilon:.3g}.", By.OURS)
            expected = float(randomised_response_regret(rounds, epsilon))
            ours.append(_meets(claim, final(results[_name(RESPONSE, epsilon)]), expected))
        for policy in (GEOMETRIC, TREE):
            for epsilon in evidence.scale.epsilons:
                sample = final(results[_name(policy, epsilon)])
                verdicts.append(
                    found(
                        Claim(f"Joint privacy escapes the floor: {policy}, ε = {epsilon:.3g}."),
                        sample.mean < floor,
                        f"mean regret below n/4 = {floor:,.0f}",
                        str(sample),
                        regret=sample.mean,
                        floor=floor,
                    )
                )
        return verdicts + ours

    def draw(self, evidence: Evidence[Epsilons]) -> Figure:
        scale, results = evidence.scale, evidence.results
        figure, [over_time, per_round] = panels(2, width=9.6, height=5.0)
        styles = {RESPONSE: (ORANGE, "s"), GEOMETRIC: (PINK, "o"), TREE: (GREEN, "^")}
        first = scale.epsilons[0]
        since = min(10, scale.rounds)
        curve(over_time, results[BLIND], colour=BLACK, label=BLIND, since=since)
        for policy, (colour, _) in styles.items():
            curve(over_time, results[_name(policy, first)], colour=colour, label=policy, since=since)
        marks = results[BLIND].checkpoints[results[BLIND].checkpoints >= since]
        line(over_time, marks, plain_dp_floor(marks), colour=GREY, label="floor n/4 (plain DP, ε < ln 2)")
        finish(over_time, title=f"over time, ε = {first:g}", across="rounds", up="pseudo-regret")
        line(per_round, [0.0, LIMIT], [0.25, 0.25], colour=GREY, label="floor n/4 (plain DP, ε < ln 2)")
        blind = results[BLIND].regret_mean / scale.rounds
        line(per_round, [0.0, max(scale.epsilons)], [blind, blind], colour=BLACK, label=BLIND, style="-")
        for policy, (colour, marker) in styles.items():
            finals = [results[_name(policy, epsilon)].regret / scale.rounds for epsilon in scale.epsilons]
            points(per_round, scale.epsilons, finals, colour=colour, label=policy, marker=marker)
        finish(
            per_round,
            title=f"after {scale.rounds:,} rounds",
            across="ε",
            up="regret per round",
            log_x=False,
        )
        legend_below(figure, [over_time], columns=3)
        return figure


def _meets(claim: Claim, sample: Sample, expected: float) -> Verdict:
    """The mean is what theory says it is."""
    criterion = f"mean regret within {_SIGMAS:g} standard errors of {expected:,.0f}"
    if sample.error is None:
        return untested(claim, criterion, "a single trial has no standard error")
    off = abs(sample.mean - expected)
    numbers = f"{sample}, expected {expected:,.0f}"
    return found(claim, off <= _SIGMAS * sample.error, criterion, numbers, measured=sample.mean, expected=expected)
