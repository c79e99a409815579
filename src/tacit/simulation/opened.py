"""What only a simulation may look at: the vault of a learner whose noise comes from a seed.

An error that is averaged over the probabilities of a draw, and not over draws, has no luck of its own in it. It needs
the probabilities, which no learner at work with people hands out.
"""

from __future__ import annotations

from tacit._types import Floats
from tacit.core.functions import FunctionLearner
from tacit.errors import BadInput, VaultSealed
from tacit.mechanisms.exponential import probabilities
from tacit.policies.usca import USCALearner
from tacit.policies.usca.function import pairs


def drawing_law(learner: FunctionLearner, context: Floats | None, epsilon: float, candidates: Floats) -> Floats:
    """The probability with which `predict_once` would draw each of the candidates, (K,)."""
    opened = _open(learner, "once")
    points = _points(opened, context, candidates)
    return probabilities(opened._means(points), opened._rate(epsilon, points))


def estimates(learner: FunctionLearner, context: Floats | None, candidates: Floats) -> Floats:
    """The estimated values of the candidates before any noise, (K,)."""
    opened = _open(learner, "mean")
    return opened._means(_points(opened, context, candidates))


def _open(learner: FunctionLearner, way: str) -> USCALearner:
    if not isinstance(learner, USCALearner):
        raise BadInput(f"Expected a learner of usca for the way {way!r}, got {type(learner).__name__}.")
    if not learner._numbers.seeded:
        raise VaultSealed("Expected a learner with a seed, which protects nobody, got one that may be at work.")
    return learner


def _points(learner: USCALearner, context: Floats | None, candidates: Floats) -> Floats:
    return pairs(candidates, context, learner._public.actions, learner._public.contexts)
