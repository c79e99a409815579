"""`tacit.frontier`: what privacy costs here, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit._validate import whole
from tacit.core.policy import Policy
from tacit.environments import Environment
from tacit.errors import BadInput
from tacit.frontiers.budgets import EPSILONS, Asked, delta_of, epsilons_of
from tacit.frontiers.result import Frontier, Point
from tacit.frontiers.shares import rounds_needed, share_of
from tacit.policies.context_blind import ContextBlind
from tacit.policies.linucb import LinUCB
from tacit.simulation.engine import Job, simulate_all
from tacit.simulation.result import Result


def frontier(
    policies: Sequence[type[Policy] | Asked],
    environment: Environment,
    *,
    epsilons: Sequence[float] = EPSILONS,
    delta: float = 1e-6,
    rounds: int = 20_000,
    trials: int = 10,
    seed: int = 0,
    without_privacy: Policy | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Frontier:
    """Regret of each policy at each ε, between one without privacy (default: `LinUCB`) and one that chooses evenly.

    All of them meet the same contexts, trial by trial. ε in the answer is accounted from the noise at `delta`, whatever
    was asked for. A policy that must know its horizon is told `rounds`.
    """
    asked = [one if isinstance(one, Asked) else Asked(one.slug, one) for one in policies]
    if not asked:
        raise BadInput("Expected a policy or more, got none.")
    labels = [one.label for one in asked]
    if len(set(labels)) < len(labels):
        raise BadInput(f"Expected policies of different names, got {labels}. Give them labels.")
    tested, at = epsilons_of(epsilons), delta_of(delta)
    whole("rounds", rounds)
    whole("trials", trials)
    dim = environment.features

    def config(one: Asked, epsilon: float) -> Policy:
        shaped = Asked(one.label, one.kind, {**_shape(one.kind, dim), **one.options})
        return shaped.at(epsilon, at, rounds)

    lines: list[Policy] = [without_privacy or LinUCB(dim=dim, failure=min(1 / rounds, 0.5)), ContextBlind(dim=dim)]
    private = [(one.label, epsilon, config(one, epsilon)) for one in asked for epsilon in tested]
    jobs = [Job(line, environment, rounds, trials, seed) for line in lines]
    jobs += [
        Job(made, environment, rounds, trials, seed, f"{label} at {epsilon:g}") for label, epsilon, made in private
    ]
    first, evenly, *others = simulate_all(jobs, threads=threads, progress=progress)
    points = tuple(
        _point(label, epsilon, result, first, evenly, at)
        for (label, epsilon, _), result in zip(private, others, strict=True)
    )
    return Frontier(points, first, evenly, at, raw=bool(getattr(environment, "raw", False)))


def _point(label: str, epsilon: float, result: Result, first: Result, evenly: Result, delta: float) -> Point:
    true = result.guarantee.epsilon_at(delta)
    return Point(label, epsilon, true, result, share_of(result, first, evenly), rounds_needed(result, first, evenly))


def _shape(kind: type[Policy], dim: int) -> dict[str, Any]:
    return {"dim": dim} if "dim" in kind.__dataclass_fields__ else {}
