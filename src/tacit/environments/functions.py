"""Worlds of functions: a box of actions, a box of contexts, and a reward that is a smooth function of both.

There is no list of actions to be shown, so these worlds are for learners of functions alone. How well those have
learned is measured by what their predictions lose, not by regret on the way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats
from tacit.core.functions import FunctionPolicy
from tacit.core.session import ENVIRONMENT
from tacit.core.settings import Settings
from tacit.errors import BadInput
from tacit.kernels import Box, Kernel


class FunctionWorld(ABC):
    """One function, and the rewards it pays: the truth only the simulator sees."""

    @abstractmethod
    def values(self, actions: ArrayLike, contexts: ArrayLike | None = None) -> Floats:
        """f at each pair of an action, of shape (n, d), and a context, (n, c), or of actions alone: shape (n,)."""

    @abstractmethod
    def table(self, contexts: Floats | None, actions: Floats) -> Floats:
        """f of every action, (K, d), in every context, (q, c): shape (q, K); one row where there are no contexts."""

    @abstractmethod
    def pay(self, actions: ArrayLike, contexts: ArrayLike | None, rng: np.random.Generator) -> Floats:
        """A reward for each pair: f and luck."""


@dataclass(frozen=True, kw_only=True)
class FunctionEnvironment(Settings, ABC):
    """The configuration of a world of functions: immutable, printable, serialisable."""

    kind: ClassVar[str] = "environment"
    raw: ClassVar[bool] = False  #: made of people's data: what is computed in it is not private

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of numbers from this world should know."""
        return ()

    @property
    @abstractmethod
    def action_box(self) -> Box:
        """Where actions come from."""

    @property
    @abstractmethod
    def context_box(self) -> Box | None:
        """Where contexts come from; None if there are none."""

    @property
    @abstractmethod
    def covariance(self) -> Kernel:
        """k: the kernel that the functions are made of, actions first."""

    @property
    @abstractmethod
    def reward_bound(self) -> float:
        """B: no reward is further from zero."""

    @property
    @abstractmethod
    def candidates(self) -> Floats:
        """The public actions that predictions are chosen from, shape (K, d)."""

    @abstractmethod
    def public(self) -> dict[str, Any]:
        """What a policy may be told beforehand, under the names it has there: boxes, kernel, reward bound, contexts."""

    @abstractmethod
    def sample_contexts(self, rng: np.random.Generator, count: int) -> Floats | None:
        """Independent contexts of shape (n, c); None if there are none."""

    @abstractmethod
    def ask(self, rng: np.random.Generator) -> Floats | None:
        """The contexts that predictions are asked for in an evaluation, (q, c); None if there are none."""

    @abstractmethod
    def start(self, seed: int, trial: int = 0) -> FunctionWorld:
        """The function of this trial. It depends on (seed, trial) and on the options of the function alone."""


FUNCTION, CONTEXTS, ACTIONS, LUCK, QUERIES = range(5)  #: what a trial draws, each from a stream of its own


def drawn(seed: int, trial: int, purpose: int) -> np.random.Generator:
    """The stream of one purpose in one trial. Apart, so that whoever asks for more of one thing changes no other."""
    path = (trial, ENVIRONMENT, purpose)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=path)))


def refuse_other_world(policy: Any, environment: Any) -> None:
    """A learner of functions in a world that shows lists of actions, or the other way round; of either, a
    configuration or its class."""
    learns, has = _of(policy, FunctionPolicy), _of(environment, FunctionEnvironment)
    if learns and not has:
        raise BadInput(
            f"Expected an environment of functions for {policy.slug}, such as rkhs, got {environment.slug}, which "
            "shows lists of actions. `tacit environments` has both."
        )
    if has and not learns:
        raise BadInput(
            f"Expected a learner of functions in {environment.slug}, such as usca, got {policy.slug}, which chooses "
            "from lists of actions. Use an environment like sphere for it."
        )


def _of(thing: Any, kind: type) -> bool:
    return issubclass(thing, kind) if isinstance(thing, type) else isinstance(thing, kind)
