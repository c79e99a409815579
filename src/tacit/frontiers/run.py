"""`tacit.frontier`: what privacy costs here, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit._validate import whole
from tacit.core.functions import FunctionPolicy
from tacit.core.policy import Policy
from tacit.environments import Environment, FunctionEnvironment
from tacit.errors import BadInput
from tacit.frontiers.budgets import EPSILONS, Asked, delta_of, epsilons_of
from tacit.frontiers.logged import trace_logged
from tacit.frontiers.measures import ERROR, ESTIMATED, measure_in, only
from tacit.frontiers.played import trace_played
from tacit.frontiers.predicted import trace_predicted
from tacit.frontiers.result import Frontier
from tacit.privacy.scope import Trust
from tacit.replaying.log import Log

#: Rounds of a trial, or records, unless told.
ROUNDS = 20_000


def frontier(
    policies: Sequence[type[Policy] | type[FunctionPolicy] | Asked],
    place: Environment | FunctionEnvironment | Log,
    *,
    epsilons: Sequence[float] = EPSILONS,
    delta: float = 1e-6,
    rounds: int | None = None,
    trials: int = 10,
    seed: int = 0,
    measure: str | None = None,
    without_privacy: Policy | FunctionPolicy | None = None,
    runs: str | Path | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Frontier:
    """What each policy loses, or earns, at each ε, between one without privacy and one that chooses evenly.

    `place` is where they play. In an environment with lists of actions regret is measured (`measure="reward"`: on a
    table of classes, the share of right answers), over `rounds` (20,000 unless told) in `trials` trials; the line
    without privacy is `LinUCB`. In a world of functions it is the error rate of predictions, and `GPMean`. On a log it
    is the reward per round, estimated doubly robust; `trials` are runs with fresh noise, and the log says how many rows
    there are.

    All policies meet the same contexts, trial by trial. ε in the answer is accounted from the noise at `delta`,
    whatever was asked for. A policy that must know its horizon is told `rounds`.

    Runs that have finished are kept in the folder `runs`, if one is given: after Ctrl-C the same call goes on from
    there, with the same result to the bit. What is computed from a table or a log is computed from raw data: not
    private, do not publish, and an ε that was chosen by it is outside the promise.
    """
    asked = _asked(policies)
    if without_privacy is not None and without_privacy.trust is not Trust.NONE:
        raise BadInput(f"Expected a policy without privacy as the line, got {without_privacy.slug}.")
    common: dict[str, Any] = {
        "epsilons": epsilons_of(epsilons),
        "delta": delta_of(delta),
        "seed": whole("seed", seed, low=0),
        "without_privacy": without_privacy,
        "folder": None if runs is None else Path(runs),
        "progress": progress,
    }
    count = whole("trials", trials)
    if isinstance(place, Log):
        if rounds is not None:
            raise BadInput(f"Expected no rounds on a log, got rounds={rounds!r}: it has as many as it has rows.")
        only(ESTIMATED, measure, "on a log")
        return trace_logged(asked, place, runs=count, **common)
    length = ROUNDS if rounds is None else whole("rounds", rounds)
    played: dict[str, Any] = {"rounds": length, "trials": count, "threads": threads, **common}
    if isinstance(place, FunctionEnvironment):
        only(ERROR, measure, "in a world of functions")
        return trace_predicted(asked, place, **played)
    if not isinstance(place, Environment):
        raise BadInput(f"Expected an environment or a log, got {type(place).__name__}.")
    return trace_played(asked, place, measure=measure_in(place, measure), **played)


def _asked(policies: Sequence[type[Policy] | type[FunctionPolicy] | Asked]) -> list[Asked]:
    asked = [one if isinstance(one, Asked) else Asked(one.slug, one) for one in policies]
    if not asked:
        raise BadInput("Expected a policy or more, got none.")
    labels = [one.label for one in asked]
    if len(set(labels)) < len(labels):
        raise BadInput(f"Expected policies of different names, got {labels}. Give them labels.")
    return asked
