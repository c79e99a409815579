"""A tacit policy with the methods of a contextual policy of the Open Bandit Pipeline."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from tacit._arrays import numbers
from tacit._types import Floats, Ints
from tacit._validate import whole
from tacit.adapters._deployed import Deployed
from tacit.adapters._offers import Offers
from tacit.core.decisions import Decision
from tacit.core.policy import Policy
from tacit.errors import BadInput, UnknownDecision
from tacit.privacy.card import Card
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects


class _Open(NamedTuple):
    """A decision that waits for its reward. Somebody's context is in it: it is forgotten with the decision."""

    number: int
    action: int
    context: Floats
    decision: Decision


class TacitPolicy:
    """`select_action` and `update_params` over actions that are numbered from 0.

        policy = TacitPolicy(tacit.JointLinUCB(arms=10, dim=5, epsilon=1.0, delta=1e-6), 10)
        action = policy.select_action(context)           # context: (1, 5); action: (1,)
        policy.update_params(action[0], reward, context)

    All actions share a context of m features: a policy with `arms` and `dim` = m learns a parameter for each. For a
    policy without, a context becomes one action per arm (`tacit.features.per_arm`), and its `dim` is K·m.

    Books are kept here, as the guarantee is for rounds: every selection is a round and every round becomes one row. A
    simulation on logged data rejects most rounds, since the log holds another action, and whether it does depends on
    a person's context. Such a round is learned as a row of zeros when the next selection comes; if it were left out,
    the time at which a view changes would tell. `wait` lets that many more selections pass before, for loops in which
    rewards come late. A reward counts once, and a row for an action that was not selected is refused.

    `initialize`, and `deepcopy` of a policy that has not been used, start a learner of their own. What has learned
    cannot be copied; after `initialize` the guarantee is for all learners so far together.
    """

    batch_size = 1

    def __init__(
        self, config: Policy, n_actions: int, *, len_list: int = 1, wait: int = 0, seed: int | None = None
    ) -> None:
        self.wait = whole("wait", wait, low=0)
        self._deployed = Deployed(config, seed, closes_after=self.wait + 1)
        self.n_actions = whole("n_actions", n_actions, low=2)
        self._offers = Offers(config, self.n_actions)
        if self._offers.listed or config.protects is Protects.REWARDS:
            raise BadInput(
                f"Expected a policy that protects contexts as well as rewards, or nothing, got {config.slug}: a round "
                "that a log rejects would be learned as a reward of zero, and mislead it. Use its learner, or TacitMAB."
            )
        if whole("len_list", len_list) != 1:
            raise BadInput(f"Expected len_list=1, got len_list={len_list}: a decision is one action, with one reward.")
        self.len_list = 1
        self._open: list[_Open] = []

    @property
    def config(self) -> Policy:
        """The configuration that learners are started from."""
        return self._deployed.config

    @property
    def dim(self) -> int:
        """Features of a context."""
        return self._offers.features

    @property
    def policy_name(self) -> str:
        """What the pipeline calls it."""
        return f"tacit_{self.config.slug.replace('-', '_')}"

    @property
    def policy_type(self) -> Any:
        """Contextual: in the pipeline's own word where it has been imported."""
        # Their loops compare by identity with a member of their enumeration; whoever runs one has imported it.
        module = sys.modules.get("obp.policy.policy_type")
        return "contextual" if module is None else module.PolicyType.CONTEXTUAL

    @property
    def deployments(self) -> int:
        """How many learners have been at work: 1, and one more for each `initialize` after something was learned."""
        return self._deployed.count

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to people who are in the data of all deployments so far."""
        return self._deployed.guarantee

    def card(self) -> Card:
        """The privacy card of all deployments so far."""
        return self._deployed.card()

    def initialize(self) -> None:
        """Start from nothing. After something was learned this is another deployment."""
        self._deployed.start_again()
        self._open = []

    def select_action(self, context: Any, person: str | int | bytes | None = None) -> Ints:
        """The action to take in this context, of shape (1, dim), as an array of one.

        `person` is who it is for, where the configuration has `person_rounds`.
        """
        row, deployed = self._context(context), self._deployed
        deployed.refuse_rounds(1)
        decision = deployed.learner.decide(self._offers.offered(row)[0], person)
        self._open = [one for one in self._open if one.number >= deployed.served - self.wait]
        self._open.append(_Open(deployed.served, decision.arm, row, decision))
        deployed.served += 1
        return np.array([decision.arm])

    def update_params(self, action: Any, reward: Any, context: Any) -> None:
        """Learn what a selected action earned in its context: once, and before the selection `wait` + 1 later."""
        row, arm, value = self._context(context), _single("action", action), float(_single("reward", reward))
        for place, one in enumerate(self._open):
            if one.action == arm and np.array_equal(one.context, row):
                self._deployed.learner.reward(one.decision, value)
                del self._open[place]
                return
        raise UnknownDecision(
            f"Expected a reward for one of the last {self.wait + 1} selections, once each, got one for another action "
            "or context, or a second one. Nothing was changed; give the action and the context as they were selected, "
            "and where rewards come later than the next selection a larger wait."
        )

    def _context(self, context: Any) -> Floats:
        row = self._offers.contexts(context)
        if len(row) != 1:
            raise BadInput(f"Expected one context of shape (1, {self.dim}), got {len(row)}.")
        return row

    def __repr__(self) -> str:
        times = "" if self.deployments == 1 else f", {self.deployments} deployments"
        return f"<TacitPolicy of {self.config!r} over {self.n_actions} actions{times}>"


def _single(name: str, value: Any) -> Any:
    """A number, also from an array of one, as the pipeline's samplers of rewards return it."""
    found = numbers(name, value, kinds="fiub")
    if found.size != 1:
        raise BadInput(f"Expected {name} to be one number, got {type(value).__name__} of shape {found.shape}.")
    return found.reshape(()).item()
