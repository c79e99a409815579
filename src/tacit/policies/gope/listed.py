"""What policies over a public list of actions with features have in common: the list."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from tacit._arrays import finite
from tacit._types import Floats
from tacit.core.policy import Policy
from tacit.core.round import LARGEST
from tacit.core.settings import option
from tacit.errors import BadInput

Actions = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, kw_only=True)
class ListedPolicy(Policy):
    """A policy over K actions, vectors in R^d, that are public and the same in every round."""

    list_option: ClassVar[str | None] = "actions"

    actions: tuple[tuple[float, ...], ...] | None = option(
        "the list of actions: K rows of d numbers, public (default: the environment's)", None
    )

    def __post_init__(self) -> None:
        if self.actions is not None:
            object.__setattr__(self, "actions", _checked(self.actions))

    @property
    def dim(self) -> int:  # type: ignore[override]
        """d: the length of an action."""
        return len(self.listed[0])

    @property
    def listed(self) -> Actions:
        """The list; refused where there is none yet."""
        if self.actions is None:
            raise BadInput(
                f"Expected {self.slug} to know its actions, got none. Give actions, K rows of d numbers, or simulate "
                "it in an environment that has a list."
            )
        return self.actions

    @property
    def fixed_actions(self) -> Floats | None:
        return None if self.actions is None else np.array(self.actions)

    def offered(self, actions: Floats) -> Self:
        return replace(self, actions=actions) if self.actions is None else self  # type: ignore[arg-type]


def _checked(actions: Any) -> Actions:
    rows = finite("actions", actions, limit=LARGEST, hint="Give K rows of d numbers, from Python.")
    if rows.ndim != 2 or rows.size == 0:
        raise BadInput(f"Expected actions of shape (K, d) with at least one action, got {rows.shape}.")
    found = tuple(tuple(float(entry) for entry in row) for row in rows)
    places: dict[tuple[float, ...], int] = {}
    for place, row in enumerate(found):
        if row in places:
            raise BadInput(
                f"Expected actions that differ from each other, got the same one at {places[row]} and {place}. It "
                "would be unclear to which of them a reward belongs; leave out the second."
            )
        places[row] = place
    return found
