"""tacit: contextual bandits that learn from people without revealing them.

    config  = tacit.JointLinUCB(dim=5, epsilon=1.0, delta=1e-6)   # says what is promised
    learner = config.start()                                       # a live policy
    arm     = learner.choose(actions)                              # actions: (K, dim)
    learner.learn(actions[arm], reward)
    print(learner.guarantee)

Names are imported on first use: `import tacit` is instant, and what needs the compiler loads it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacit._version import __version__

if TYPE_CHECKING:
    from tacit import (
        adapters,
        calibrations,
        environments,
        errors,
        explorations,
        features,
        kernels,
        releases,
        reproduce,
    )
    from tacit.auditing.black_box import audit_black_box
    from tacit.auditing.result import Audit
    from tacit.auditing.run import audit
    from tacit.client.clients import AsyncClient, Client
    from tacit.client.device import DeviceClient
    from tacit.core.arms import ArmsLearner
    from tacit.core.checkpoint import new_key, resume
    from tacit.core.decisions import Decision
    from tacit.core.device import Device
    from tacit.core.functions import PrivateFunction
    from tacit.core.learner import Learner
    from tacit.core.policy import Policy
    from tacit.core.server import Server
    from tacit.core.shuffler import Shuffler
    from tacit.estimators.prior import Prior
    from tacit.frontiers import Frontier, frontier
    from tacit.policies.context_blind import ContextBlind
    from tacit.policies.episodic import UCB1, Episodic, LaplaceUCB, RenyiUCB, SuccessiveElimination
    from tacit.policies.gope import GOPE, RenyiGOPE
    from tacit.policies.joint_linucb import JointLinUCB
    from tacit.policies.kernel_baselines import GPUCB, FeatureLinUCB, GPMean
    from tacit.policies.linpriv import LinPriv
    from tacit.policies.linucb import LinUCB
    from tacit.policies.local_linucb import LocalLinUCB
    from tacit.policies.oful import OFUL, RenyiOFUL
    from tacit.policies.online import AnytimeLinUCB, Combiner, OnlineConfidence, OnlineLinUCB
    from tacit.policies.randomised_response import RandomisedResponse
    from tacit.policies.shuffle_linucb import ShuffleLinUCB
    from tacit.policies.usca import USCA
    from tacit.preparation import Preparation
    from tacit.privacy.calibrate import Promise
    from tacit.privacy.card import Card
    from tacit.privacy.guarantee import Guarantee
    from tacit.replaying import Log, read_log, replay
    from tacit.simulation import Result, simulate
    from tacit.sweeping import Sweep, sweep

_HOMES = {
    "AnytimeLinUCB": "tacit.policies.online",
    "ArmsLearner": "tacit.core.arms",
    "AsyncClient": "tacit.client.clients",
    "Audit": "tacit.auditing",
    "Card": "tacit.privacy.card",
    "Client": "tacit.client.clients",
    "Combiner": "tacit.policies.online",
    "ContextBlind": "tacit.policies.context_blind",
    "Decision": "tacit.core.decisions",
    "Device": "tacit.core.device",
    "DeviceClient": "tacit.client.device",
    "Episodic": "tacit.policies.episodic",
    "FeatureLinUCB": "tacit.policies.kernel_baselines",
    "Frontier": "tacit.frontiers",
    "GOPE": "tacit.policies.gope",
    "GPMean": "tacit.policies.kernel_baselines",
    "GPUCB": "tacit.policies.kernel_baselines",
    "Guarantee": "tacit.privacy.guarantee",
    "JointLinUCB": "tacit.policies.joint_linucb",
    "LaplaceUCB": "tacit.policies.episodic",
    "Learner": "tacit.core.learner",
    "Log": "tacit.replaying",
    "LinPriv": "tacit.policies.linpriv",
    "LinUCB": "tacit.policies.linucb",
    "LocalLinUCB": "tacit.policies.local_linucb",
    "OFUL": "tacit.policies.oful",
    "OnlineConfidence": "tacit.policies.online",
    "OnlineLinUCB": "tacit.policies.online",
    "Policy": "tacit.core.policy",
    "Preparation": "tacit.preparation",
    "Prior": "tacit.estimators.prior",
    "PrivateFunction": "tacit.core.functions",
    "Promise": "tacit.privacy.calibrate",
    "RandomisedResponse": "tacit.policies.randomised_response",
    "RenyiGOPE": "tacit.policies.gope",
    "RenyiOFUL": "tacit.policies.oful",
    "RenyiUCB": "tacit.policies.episodic",
    "Result": "tacit.simulation.result",
    "Server": "tacit.core.server",
    "ShuffleLinUCB": "tacit.policies.shuffle_linucb",
    "Shuffler": "tacit.core.shuffler",
    "SuccessiveElimination": "tacit.policies.episodic",
    "Sweep": "tacit.sweeping",
    "UCB1": "tacit.policies.episodic",
    "USCA": "tacit.policies.usca",
    "adapters": "",
    "audit": "tacit.auditing",
    "audit_black_box": "tacit.auditing",
    "calibrations": "",
    "environments": "",
    "errors": "",
    "explorations": "",
    "features": "",
    "frontier": "tacit.frontiers",
    "kernels": "",
    "new_key": "tacit.core.checkpoint",
    "read_log": "tacit.replaying",
    "releases": "",
    "replay": "tacit.replaying",
    "reproduce": "",
    "resume": "tacit.core.checkpoint",
    "simulate": "tacit.simulation",
    "sweep": "tacit.sweeping",
}

__all__ = [
    "GOPE",
    "GPUCB",
    "OFUL",
    "UCB1",
    "USCA",
    "AnytimeLinUCB",
    "ArmsLearner",
    "AsyncClient",
    "Audit",
    "Card",
    "Client",
    "Combiner",
    "ContextBlind",
    "Decision",
    "Device",
    "DeviceClient",
    "Episodic",
    "FeatureLinUCB",
    "Frontier",
    "GPMean",
    "Guarantee",
    "JointLinUCB",
    "LaplaceUCB",
    "Learner",
    "LinPriv",
    "LinUCB",
    "LocalLinUCB",
    "Log",
    "OnlineConfidence",
    "OnlineLinUCB",
    "Policy",
    "Preparation",
    "Prior",
    "PrivateFunction",
    "Promise",
    "RandomisedResponse",
    "RenyiGOPE",
    "RenyiOFUL",
    "RenyiUCB",
    "Result",
    "Server",
    "ShuffleLinUCB",
    "Shuffler",
    "SuccessiveElimination",
    "Sweep",
    "__version__",
    "adapters",
    "audit",
    "audit_black_box",
    "calibrations",
    "environments",
    "errors",
    "explorations",
    "features",
    "frontier",
    "kernels",
    "new_key",
    "read_log",
    "releases",
    "replay",
    "reproduce",
    "resume",
    "simulate",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    home = _HOMES[name]
    value = getattr(import_module(home), name) if home else import_module(f"tacit.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
