"""One way to play any policy: those that are shown actions, those whose arms share a context, those that have a list.

Tests make sets of actions, of shape (K, dim). Where arms share a context it is the first of them; a row of such a
policy may have the number of an arm behind it, and is of arm 0 otherwise. Where arms have features besides, all of
them have the first numbers of the context, unless a world says otherwise: a row is then as long as without, and any two
are as far apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit.core.arms import offer
from tacit.core.learner import Learner
from tacit.core.policy import Policy
from tacit.core.slate import ArmsSlate, HybridSlate
from tacit.environments import Environment, LinearActions, SharedContext, Sphere


@dataclass(frozen=True, kw_only=True)
class Listed(LinearActions):
    """The list of a policy as a world: rewards ±1, a parameter per trial."""

    slug: ClassVar[str] = "listed"
    rows: tuple[tuple[float, ...], ...] = ()

    @property
    def fixed_actions(self) -> np.ndarray:
        return np.array(self.rows)


def world_for(config: Policy) -> Environment:
    """A world this policy can play in."""
    rows = config.fixed_actions
    if rows is not None:
        return Listed(dim=rows.shape[1], arms=len(rows), rows=tuple(map(tuple, rows.tolist())))
    if config.arms_of_context is not None:
        more = config.shared or 0
        return SharedContext(arms=config.arms_of_context, context_dim=config.dim, relevant=1, features_of_actions=more)
    return Sphere(dim=config.dim, gap=0.1)


def shown(slate: Any) -> np.ndarray:
    """The actions that a world has laid out."""
    if isinstance(slate, HybridSlate):
        return np.append(slate.context, slate.features)[None]
    return slate.context[None].copy() if isinstance(slate, ArmsSlate) else slate.columns.T.copy()


def offered(config: Policy, actions: Any) -> Any:
    """What `choose` takes for these actions; with many sets of them, `choose_many`."""
    return actions if config.arms_of_context is None else np.asarray(actions)[..., 0, : config.dim]


def features(config: Policy, actions: Any) -> dict[str, np.ndarray]:
    """And the features of each arm, where there are some."""
    if config.shared is None:
        return {}
    first = np.asarray(actions)[..., 0, :]
    behind, shape = first[..., config.dim :], (*first.shape[:-1], config.arms, config.shared)
    if behind.shape[-1] == config.arms * config.shared:
        return {"features": behind.reshape(shape)}
    return {"features": np.broadcast_to(first[..., None, : config.shared], shape)}


def laid_out(config: Policy, actions: Any) -> np.ndarray:
    """The same for who calls the verbs: rows for a slate."""
    if config.arms_of_context is None:
        return np.asarray(actions)
    return offer(config, offered(config, actions), **features(config, actions))


def ask(learner: Learner, actions: Any) -> int:
    """Which of these; or which of its own list."""
    config = learner.config
    if config.fixed_actions is not None:
        return learner.choose()
    return learner.choose(offered(config, actions), **features(config, actions))


def decide(learner: Learner, actions: Any, **who: Any) -> Any:
    """The same, with the books kept by the learner."""
    config = learner.config
    if config.fixed_actions is not None:
        return learner.decide(**who)
    return learner.decide(offered(config, actions), **who, **features(config, actions))


def taken(learner: Learner, actions: Any, arm: int) -> Any:
    """What `learn` is told was taken: an action, an arm, or a context and its arm."""
    config = learner.config
    if config.arms_of_context is not None:
        return offered(config, actions), arm, *(found[arm] for found in features(config, actions).values())
    return arm if config.fixed_actions is not None else actions[arm]


def some_row(learner: Learner, x: Any) -> Any:
    """What `learn` is told of this row; or the arm that is being played."""
    config = learner.config
    if config.arms_of_context is not None:
        arm = int(x[config.dim]) if len(x) > config.dim else 0
        return x[: config.dim], arm, *([] if config.shared is None else [x[: config.shared]])
    return int(learner._session.view.arm[0]) if config.fixed_actions is not None else x


def tell(learner: Learner, what: Any, reward: Any, **who: Any) -> None:
    """`learn`, of what `taken` or `some_row` says."""
    told = what if isinstance(what, tuple) else (what,)
    more = {"features": told[2]} if len(told) > 2 else {}
    learner.learn(*told[:2], reward, **who, **more)


def report(device: Any, config: Policy, x: Any, reward: Any) -> Any:
    """What a device of this configuration sends of this row; where arms share a context it may have the number of its
    arm behind it."""
    if config.arms_of_context is None:
        return device.report(x, reward)
    return device.report(x[: config.dim], int(x[config.dim]) if len(x) > config.dim else 0, reward)


def row_of(config: Policy, view: Any, x: Any) -> Any:
    """The same for who calls the verbs: this row, or the action that is being played."""
    if config.arms_of_context is not None and len(x) <= config.dim + 1:
        whole = x if len(x) > config.dim else np.append(x, 0.0)
        return np.append(whole, x[: config.shared or 0])
    rows = config.fixed_actions
    return x if rows is None else rows[view.arm[0]]
