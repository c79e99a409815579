"""One door for both families of policies: those that choose from lists, and those that learn a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, overload

from tacit.core.functions import FunctionPolicy
from tacit.core.policy import Policy
from tacit.environments import Environment, FunctionEnvironment, refuse_other_world
from tacit.errors import BadInput
from tacit.simulation import engine
from tacit.simulation.prediction_result import PredictionResult
from tacit.simulation.predictions import simulate_predictions
from tacit.simulation.result import Result


@overload
def simulate(
    config: Policy,
    environment: Environment,
    rounds: int,
    trials: int = 1,
    seed: int = 0,
    *,
    label: str | None = None,
    by: str = "rounds",
    ways: None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Result: ...


@overload
def simulate(
    config: FunctionPolicy,
    environment: FunctionEnvironment,
    rounds: int,
    trials: int = 1,
    seed: int = 0,
    *,
    label: str | None = None,
    by: str = "rounds",
    ways: Sequence[str] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> PredictionResult: ...


def simulate(
    config: Policy | FunctionPolicy,
    environment: Environment | FunctionEnvironment,
    rounds: int,
    trials: int = 1,
    seed: int = 0,
    *,
    label: str | None = None,
    by: str = "rounds",
    ways: Sequence[str] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Result | PredictionResult:
    """Run `trials` independent trials of `rounds` rounds, and return their regret curves; or, for a learner of
    functions, the error rates of its predictions after `rounds` records.

    Trial i is the same whatever else is run beside it: its streams, of the environment and of the policy, depend on
    `seed` and i alone, so policies compared under one seed meet the same contexts. Trial 0 is what
    `config.start(seed=seed)` does round by round. Ctrl-C keeps the trials that have finished.

    `by="episodes"` draws the rewards of a whole episode at once, for policies and environments that have them: the same
    law in far fewer steps, with other random numbers. `ways` are how a learner of functions predicts: "function",
    "once" or "mean" (`simulate_predictions` explains them). What a policy needs to know of the environment, its list of
    actions or its boxes and kernel, it takes from there if it was not given any. `progress` shows a bar on standard
    error (default: if it is a terminal).
    """
    refuse_other_world(config, environment)
    if isinstance(config, FunctionPolicy) and isinstance(environment, FunctionEnvironment):
        if by != "rounds":
            raise BadInput(f'Expected by="rounds" for {config.slug}, got by={by!r}: its records have no episodes.')
        return simulate_predictions(
            config, environment, rounds, trials, seed, label=label, ways=ways, threads=threads, progress=progress
        )
    if ways is not None:
        raise BadInput(f"Expected ways for a learner of functions, got ways={ways!r} for {config.slug}.")
    return engine.simulate(
        cast(Policy, config),
        cast(Environment, environment),
        rounds,
        trials,
        seed,
        label=label,
        by=by,
        threads=threads,
        progress=progress,
    )
