"""From the contexts that other libraries speak of to what a policy chooses from, and back to estimates."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from tacit._arrays import finite, numbers
from tacit._types import Floats
from tacit.core.policy import Policy
from tacit.core.round import LARGEST
from tacit.errors import BadInput
from tacit.features import per_arm
from tacit.preparation import prepare


class Offers:
    """K arms that are always the same, and share the context of a round.

    A policy with `arms` has that model and takes contexts as they are. To any other a context is offered once for each
    arm, in that arm's own block of features. A policy over a fixed list has no contexts: its list are the arms.
    """

    def __init__(self, config: Policy, arms: int) -> None:
        self.arms = arms
        self.listed = config.fixed_actions is not None
        self.by_arm = config.arms_of_context is not None
        self.features = 0
        self._config = config
        dim = config.dim
        if self.by_arm:
            if config.arms_of_context != arms:
                raise BadInput(f"Expected as many arms as the policy has, {config.arms_of_context}, got {arms}.")
            self.features = dim
        elif config.fixed_actions is not None:
            if len(config.fixed_actions) != arms:
                raise BadInput(
                    f"Expected as many arms as the policy's list has, {len(config.fixed_actions)}, got {arms}."
                )
        elif dim % arms:
            raise BadInput(
                f"Expected dim to be features times arms, got dim={dim} for {arms} arms. For contexts of m features "
                f"give arms={arms} and dim=m, or dim=tacit.features.per_arm_dim(features=m, arms={arms})."
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

    def offered(self, contexts: Floats) -> Floats:
        """What a learner chooses from: the contexts, or actions of shape (n, K, dim)."""
        return contexts if self.by_arm else per_arm(contexts, self.arms)

    def taken(self, offered: Floats, row: int, arm: int) -> tuple[Any, ...]:
        """What a learner is told was taken, before the reward."""
        return (offered[row], arm) if self.by_arm else (offered[row, arm],)

    def portions(self, count: int) -> list[slice]:
        """Stretches of contexts whose actions fit the memory: they are K² times as large as the contexts."""
        copies = 1 if self.by_arm else self.arms**2
        size = max(1, 1_000_000 // (copies * max(1, self.features)))
        return [slice(start, start + size) for start in range(0, count, size)]

    def estimates(self, view: Any, contexts: Floats) -> Floats | None:
        """The published estimate of the mean reward of every arm, of shape (n, K); None where a policy publishes none.

        Computed from the view: post-processing, which costs nothing.
        """
        theta = getattr(view, "theta", None)
        if theta is None or not (self.by_arm or np.size(theta) == self.arms * self.features):
            return None
        rows = self._prepared(view, contexts) if self.by_arm else contexts
        # Rewards are learned about the middle of their interval.
        found: Floats = rows @ np.reshape(theta, (self.arms, -1)).T + getattr(self._config, "reward_middle", 0.0)
        return found

    def _prepared(self, view: Any, contexts: Floats) -> Floats:
        """Contexts as the model has them."""
        found = np.zeros((len(contexts), view.theta.shape[1]))
        centre = view.centre.copy()
        for context, row in zip(contexts, found, strict=True):
            prepare(self._steps, context, centre, True, row)
        return found

    @cached_property
    def _steps(self) -> Any:
        return self._config.plan().params.preparation
