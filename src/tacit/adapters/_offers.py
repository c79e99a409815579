"""From the contexts that other libraries speak of to the actions a policy chooses from, and back to estimates."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._arrays import finite, numbers
from tacit._types import Floats
from tacit.core.policy import Policy
from tacit.core.round import LARGEST
from tacit.errors import BadInput
from tacit.features import per_arm


class Offers:
    """K arms that are always the same: every context is offered to each of them, in that arm's own block of features.

    A policy over a fixed list has no contexts: its list are the arms.
    """

    def __init__(self, config: Policy, arms: int) -> None:
        self.arms = arms
        self.listed = config.fixed_actions is not None
        self.features = 0
        dim = config.dim
        if config.arms_of_context is not None:
            raise BadInput(
                "Expected a policy whose actions are vectors, got one with arms. Leave arms out and give "
                f"dim=tacit.features.per_arm_dim(features={dim}, arms={arms})."
            )
        if config.fixed_actions is not None:
            if len(config.fixed_actions) != arms:
                raise BadInput(
                    f"Expected as many arms as the policy's list has, {len(config.fixed_actions)}, got {arms}."
                )
        elif dim % arms:
            raise BadInput(
                f"Expected dim to be features times arms, got dim={dim} for {arms} arms. For contexts of m features "
                f"give dim=tacit.features.per_arm_dim(features=m, arms={arms})."
            )
        else:
            self.features = dim // arms

    def contexts(self, values: Any, rows: int | None = None) -> Floats:
        """Contexts of shape (n, features), from anything like an array; a single one may come flat. Those of `rows`
        that are learned may hold anything. Messages never show a value: it is a person's."""
        if values is None:
            raise BadInput(f"Expected contexts of shape (n, {self.features}), got none.")
        found = finite("contexts", values, limit=LARGEST) if rows is None else numbers("contexts", values)
        if found.ndim == 1:
            # A flat array is one context; where contexts have one feature and there are several rows, one number each.
            found = found.reshape((-1, 1) if self.features == 1 and rows != 1 else (1, -1))
        if found.ndim != 2 or found.shape[1] != self.features:
            raise BadInput(f"Expected contexts of shape (n, {self.features}), got {np.shape(values)}.")
        if rows is not None and len(found) != rows:
            raise BadInput(f"Expected one context for each of {rows} decisions, got {len(found)}.")
        return found

    def refuse_contexts(self, values: Any) -> None:
        """For a policy over a fixed list."""
        if values is not None:
            raise BadInput(
                "Expected no contexts, got some: this policy has a fixed list of arms, and the same for everybody."
            )

    def actions(self, contexts: Floats) -> Floats:
        """Of shape (n, K, dim)."""
        return per_arm(contexts, self.arms)

    def portions(self, count: int) -> list[slice]:
        """Stretches of contexts whose actions fit the memory: they are K² times as large as the contexts."""
        size = max(1, 1_000_000 // (self.arms**2 * max(1, self.features)))
        return [slice(start, start + size) for start in range(0, count, size)]

    def estimates(self, view: Any, contexts: Floats) -> Floats | None:
        """The published estimate of the mean reward of every arm, of shape (n, K); None where a policy publishes none.

        Computed from the view: post-processing, which costs nothing.
        """
        theta = getattr(view, "theta", None)
        if theta is None or np.size(theta) != self.arms * self.features:
            return None
        found: Floats = contexts @ np.reshape(theta, (self.arms, self.features)).T
        return found
