"""Worlds in which all arms share one context: as that context, and as the actions that a policy with a shared parameter
is shown."""

from __future__ import annotations

from typing import Any, NamedTuple

from tacit._kernel import implements, kernel, verb
from tacit._types import Floats
from tacit.core.slate import ArmsSlate, HybridSlate, Slate
from tacit.core.verbs import draw_context, pay, show


class ByContext(NamedTuple):
    """A world for a policy of the arms model: nothing is laid out K times."""

    world: Any
    features: Floats  # (arms, shared) of this round's actions, as the world draws them; or none


@implements(show, ByContext)
@kernel
def _show(environment: ByContext, slate: Any, means: Floats, stream: Any) -> None:
    draw_context(environment.world, slate.context, means, stream)
    show_features(slate, environment.features)


@verb
def show_features(slate: Any, features: Floats) -> None:
    """Lay out what features the arms have in this round, for a policy that looks at them."""


@implements(show_features, ArmsSlate)
@kernel
def _show_none(slate: ArmsSlate, features: Floats) -> None:
    pass


@implements(show_features, HybridSlate)
@kernel
def _show_features(slate: HybridSlate, features: Floats) -> None:
    for k in range(features.shape[0]):
        for i in range(features.shape[1]):
            slate.features[k, i] = features[k, i]


@implements(pay, ByContext)
@kernel
def _pay(environment: ByContext, mean: float, stream: Any) -> float:
    return pay(environment.world, mean, stream)


@kernel
def lay_out(context: Floats, slate: Slate) -> None:
    """Action k is the context in block k, as of `features.per_arm`. The rest of a column is never written: it is
    zero from the start."""
    columns, size = slate.columns, context.shape[0]
    for k in range(columns.shape[1]):
        for i in range(size):
            columns[k * size + i, k] = context[i]
