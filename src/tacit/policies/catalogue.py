"""Every policy by the name it has on the command line."""

from __future__ import annotations

from typing import Any

from tacit._validate import known
from tacit.core.functions import FunctionPolicy
from tacit.core.policy import Policy
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

_KINDS: tuple[type[Policy], ...] = (
    LinUCB,
    OnlineConfidence,
    JointLinUCB,
    OnlineLinUCB,
    AnytimeLinUCB,
    Combiner,
    LocalLinUCB,
    ShuffleLinUCB,
    UCB1,
    GOPE,
    OFUL,
    RenyiUCB,
    RenyiGOPE,
    RenyiOFUL,
    Episodic,
    LinPriv,
    LaplaceUCB,
    SuccessiveElimination,
    ContextBlind,
    RandomisedResponse,
)

_FUNCTION_KINDS: tuple[type[FunctionPolicy], ...] = (GPMean, GPUCB, USCA, FeatureLinUCB)

#: Policies that choose from actions in every round.
CATALOGUE: dict[str, type[Policy]] = {kind.slug: kind for kind in _KINDS}
#: Learners of functions of continuous actions.
FUNCTIONS: dict[str, type[FunctionPolicy]] = {kind.slug: kind for kind in _FUNCTION_KINDS}


def policy(slug: str) -> Any:
    """The policy or learner of functions of this name, or an error that offers the nearest ones."""
    every: dict[str, Any] = {**CATALOGUE, **FUNCTIONS}
    return every[known("policy", slug, every, see="`tacit policies` lists them.")]
