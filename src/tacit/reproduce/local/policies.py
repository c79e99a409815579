"""Everything that figure 1 compares, by name: as published, priced exactly, and with one tuned width each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from tacit.core.policy import Policy
from tacit.policies._reporting import ReportingPolicy
from tacit.policies.joint_linucb import JointLinUCB
from tacit.policies.local_linucb import LocalLinUCB
from tacit.policies.online import OnlineLinUCB
from tacit.policies.shuffle_linucb import ShuffleLinUCB
from tacit.reproduce.local.common import DELTA, DIM, FAILURE, LEVEL, non_private, world
from tacit.reproduce.local.tuned import MULTIPLIERS

LINUCB = "LinUCB"
MALER, OGD, THEORY = "OnlineUCB, Maler", "OnlineUCB, OGD", "OnlineUCB, Maler, printed width"
MALER_EXACT, OGD_EXACT, DEBIASED = "OnlineUCB, Maler, exact", "OnlineUCB, OGD, exact", "OnlineUCB, debiased, exact"
LDP, LDP_EXACT, LDP_SQUARES = "LDP", "LDP, exact", "LDP, exact, least squares"
SDP, SDP_SUM, SDP_SCRIPT = "SDP, amplification", "SDP, vector sum, exact", "SDP, script"
JDP, JDP_TREE, JDP_GEOMETRIC = "JDP", "JDP, exact tree", "JDP, exact geometric"

#: The batch of the public script.
_SCRIPT_BATCH = 20


def _promise(epsilon: float, rounds: int) -> dict[str, Any]:
    return {"dim": DIM, "epsilon": epsilon, "delta": DELTA, "horizon": rounds}


def _online(**fixed: Any) -> Callable[..., Policy]:
    """As published: ‖x‖ ≤ 1 and |y| ≤ 1, every coordinate noised, σ of Theorem 3.2."""

    def make(epsilon: float, rounds: int, **options: Any) -> Policy:
        settings = {"calibration": "published", "noise_level": LEVEL, "failure": FAILURE, **fixed, **options}
        return OnlineLinUCB(**_promise(epsilon, rounds), **settings)

    return make


def _online_exact(**fixed: Any) -> Callable[..., Policy]:
    def make(epsilon: float, rounds: int, **options: Any) -> Policy:
        return OnlineLinUCB(**_promise(epsilon, rounds), **world().bounds, **fixed, **options)

    return make


def _local(**fixed: Any) -> Callable[..., Policy]:
    def make(epsilon: float, rounds: int, **options: Any) -> Policy:
        settings = {"noise_level": LEVEL, "failure": FAILURE, **fixed, **options}
        return LocalLinUCB(**_promise(epsilon, rounds), **settings)

    return make


def _shuffle(**fixed: Any) -> Callable[..., Policy]:
    def make(epsilon: float, rounds: int, **options: Any) -> Policy:
        settings = {"noise_level": LEVEL, "failure": FAILURE, **fixed, **options}
        if "batch" in settings:
            settings["batch"] = min(settings["batch"], rounds)
        return ShuffleLinUCB(**_promise(epsilon, rounds), **settings)

    return make


def _joint(**fixed: Any) -> Callable[..., Policy]:
    def make(epsilon: float, rounds: int, **options: Any) -> Policy:
        settings = {"noise_level": LEVEL, "failure": FAILURE, "width": "theory", **fixed, **options}
        return JointLinUCB(**_promise(epsilon, rounds), **settings)

    return make


#: Every private policy: (ε, rounds, width=…) → its configuration.
MAKERS: dict[str, Callable[..., Policy]] = {
    MALER: _online(learner="maler"),
    OGD: _online(learner="ogd"),
    THEORY: _online(learner="maler", width="theory"),
    LDP: _local(calibration="published"),
    SDP: _shuffle(protocol="amplification", calibration="published"),
    SDP_SCRIPT: _shuffle(protocol="amplification", calibration="script", batch=_SCRIPT_BATCH),
    JDP: _joint(releases="tree", calibration="published"),
    MALER_EXACT: _online_exact(learner="maler"),
    OGD_EXACT: _online_exact(learner="ogd"),
    DEBIASED: _online_exact(estimator="debiased"),
    LDP_EXACT: _local(**world().bounds, width="published"),
    LDP_SQUARES: _local(**world().bounds),
    SDP_SUM: _shuffle(**world().bounds),
    JDP_TREE: _joint(releases="tree"),
    JDP_GEOMETRIC: _joint(),
}
#: Those that are also run with one tuned width.
TUNED = tuple(MULTIPLIERS)


def tuned_name(name: str) -> str:
    """What a policy with a tuned width is called."""
    return f"{name}, tuned"


def run_name(name: str, epsilon: float) -> str:
    """What a run is called."""
    return name if name == LINUCB else f"{name}, ε = {epsilon:g}"


def policies(epsilon: float, rounds: int) -> dict[str, Policy]:
    """All of them at one promise, the tuned ones last."""
    made: dict[str, Policy] = {LINUCB: non_private()}
    made.update({name: make(epsilon, rounds) for name, make in MAKERS.items()})
    made.update(
        {tuned_name(name): MAKERS[name](epsilon, rounds, width=MULTIPLIERS[name][epsilon]) for name in MULTIPLIERS}
    )
    return made


def epsilon_in(config: Policy) -> float | None:
    """The true ε of published noise for whoever counts on what is public in `bias`: the constant feature and rewards
    of 0 and 1. None where a policy cannot be told, or has been told already."""
    if not isinstance(config, ReportingPolicy) or config.calibrated != "published":
        return None
    return dataclasses.replace(config, **world().bounds).plan().guarantee.epsilon
