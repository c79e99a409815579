"""Runs of function learners as jobs: how they are named, stored and found again.

A `PredictionJob` is to error rates what `simulation.Job` is to regret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit._types import Floats
from tacit.core.functions import FunctionPolicy
from tacit.environments.functions import FunctionEnvironment
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Neighbours, Protects, Trust, Unit
from tacit.privacy.theorem import Theorem
from tacit.simulation import PredictionResult, simulate_predictions


@dataclass(frozen=True)
class PredictionJob:
    """One function learner in one world of functions, with the ways in which it predicts."""

    config: FunctionPolicy
    environment: FunctionEnvironment
    rounds: int
    trials: int
    seed: int
    ways: tuple[str, ...]
    label: str | None = None

    @property
    def name(self) -> str:
        """The label, or else the policy's own name."""
        return self.label or self.config.slug

    @property
    def told(self) -> FunctionPolicy:
        """The configuration, with what it was not told taken from the environment."""
        return self.config.in_world(**self.environment.public(), horizon=self.rounds)

    def worked_out(self) -> tuple[Any, ...]:
        """What the noise follows from beside the settings: μ, B and τ. Not the operator: to look a run up must be
        quick, and whoever edits the sources that make it is told so."""
        told = self.told
        return (None,) if told.promise is None else (told.promise.mu, told.bound, told.regulariser)

    def run(self, *, threads: int | None, progress: bool | None) -> PredictionResult:
        """Make the run."""
        return simulate_predictions(
            self.config,
            self.environment,
            self.rounds,
            self.trials,
            self.seed,
            label=self.name,
            ways=self.ways,
            threads=threads,
            progress=progress,
        )

    def restored(self, arrays: Mapping[str, Floats], facts: Mapping[str, Any]) -> PredictionResult:
        """The run, from what was stored of it. Raises ValueError where the shapes are not this job's."""
        by_way, random_errors = arrays["by_way"], arrays["random_errors"]
        if by_way.shape != (self.trials, len(self.ways)) or random_errors.shape != (self.trials,):
            raise ValueError(by_way.shape)
        return PredictionResult(
            config=self.told,
            environment=self.environment,
            rounds=self.rounds,
            trials_asked=self.trials,
            seed=self.seed,
            label=self.name,
            ways=self.ways,
            trial_numbers=tuple(range(self.trials)),
            by_way=by_way,
            random_errors=random_errors,
            clipped={what: int(count) for what, count in facts["clipped"].items()},
            guarantees=tuple(_guarantee(one) for one in facts["guarantees"]),
            seconds=float(facts["seconds"]),
        )


def kept(result: PredictionResult) -> tuple[dict[str, Floats], dict[str, Any]]:
    """What is stored of a run: arrays, and facts ready for JSON."""
    arrays = {"by_way": result.by_way, "random_errors": result.random_errors}
    guarantees = [one.to_dict() for one in result.guarantees]
    return arrays, {"clipped": dict(result.clipped), "guarantees": guarantees}


def _guarantee(facts: dict[str, Any]) -> Guarantee:
    """The guarantee as it was written down: by its μ, by a theorem, or none. These learners protect one round."""
    if not facts["private"]:
        return Guarantee.none()
    theorem = facts.get("by_theorem")
    return Guarantee(
        Trust(facts["trust"]),
        Protects(facts["protects"]),
        Neighbours(facts["neighbours"]),
        Unit.round(),
        facts["mu"],
        facts["delta"],
        seeded=facts["seeded"],
        theorem=None if theorem is None else Theorem(**theorem),
    )
