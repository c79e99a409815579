"""What every environment can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tacit._types import Floats
from tacit.core.settings import Settings
from tacit.core.slate import Slate
from tacit.noise import Source


@dataclass(frozen=True)
class World:
    """An environment at work in one trial: what `show` and `pay` dispatch on, and the truth only the simulator sees."""

    params: Any
    slate: Slate
    means: Floats  # (arms,) mean rewards of the actions on the slate
    theta: Floats  # (dim,) the parameter to be learned


@dataclass(frozen=True, kw_only=True)
class Environment(Settings, ABC):
    """An environment's configuration: immutable, printable, serialisable."""

    kind: ClassVar[str] = "environment"
    raw: ClassVar[bool] = False  #: made of people's data: what is computed in it is not private

    @property
    @abstractmethod
    def features(self) -> int:
        """d: the length of an action."""

    @property
    def fixed_actions(self) -> Floats | None:
        """The list of actions, of shape (K, d), that is offered in every round of every trial; None if there is none.
        It is public: a policy may plan on it before the first round."""
        return None

    @property
    def context_shape(self) -> tuple[int, int] | None:
        """(K, p) where K arms share one context of p coordinates in every round, and action k is the context in block
        k: these worlds have the verb `draw_context`. None elsewhere."""
        return None

    @property
    def action_features(self) -> int | None:
        """s, where each of these arms comes with s features of its own in every round; None elsewhere."""
        return None

    @property
    def by_context(self) -> Environment:
        """This world for policies of the arms model, which prepare contexts themselves."""
        return self

    def shape(self, kind: Any, given: Mapping[str, Any]) -> dict[str, int]:
        """What a policy of this kind must be told of the world, where it was not: the number of features, and of arms
        where they share a context and the policy has a model for that, with what features these have besides."""
        if not kind.has_option("dim") or "dim" in given:
            return {}
        shape = self.by_context.context_shape
        if shape is None or not kind.by_arm:
            return {"dim": self.features}
        shared = self.by_context.action_features
        return {
            "arms": shape[0],
            "dim": shape[1],
            **({"shared": shared} if shared and kind.has_option("shared") else {}),
        }

    @property
    def stable_arms(self) -> bool:
        """Whether arm k is the same thing in every round, so that always taking it means something."""
        return self.fixed_actions is not None or self.context_shape is not None

    @property
    def exact_single(self) -> tuple[int, float, str] | None:
        """Where it is known without playing which arm pays most on average: its number, what it loses per round, and a
        sentence about it. None elsewhere."""
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of numbers from this world should know."""
        return ()

    @abstractmethod
    def start(self, stream: Source) -> World:
        """Draw what stays the same over one trial."""
