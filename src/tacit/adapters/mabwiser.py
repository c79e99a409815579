"""A tacit policy with the methods of MABWiser's `MAB`."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from tacit._arrays import numbers as as_numbers
from tacit._types import Floats
from tacit.adapters._deployed import Deployed
from tacit.adapters._offers import Offers
from tacit.core.policy import Policy
from tacit.core.round import LARGEST
from tacit.errors import BadInput
from tacit.privacy.card import Card
from tacit.privacy.guarantee import Guarantee


class TacitMAB:
    """`fit`, `partial_fit`, `predict` and `predict_expectations` over arms with names.

        mab = TacitMAB(tacit.JointLinUCB(arms=2, dim=3, epsilon=1.0, delta=1e-6), ["a", "b"])
        mab.partial_fit(decisions, rewards, contexts)
        arms = mab.predict(contexts)

    All arms share a context of m features: a policy with `arms` and `dim` = m learns a parameter for each arm. For a
    policy without, a context becomes one action per arm (`tacit.features.per_arm`), and its `dim` is K·m. Bring
    contexts into the unit ball from declared bounds first (`tacit.features.scaled`): a scaler that was fitted to them
    is a release about everybody which no noise covers. A policy over a fixed list of arms takes no contexts.

    What differs from MABWiser:

    - `fit` on the same people a second time is a second deployment. The data are not forgotten by starting over: what
      the first learner published stays published. `guarantee` and `card()` are for all deployments together.
    - Noise comes from the operating system. `seed` is for simulation only, and the guarantee says so.
    - Every row counts as one round, and each must be given once. A decision whose reward never came is a row too: give
      it with a reward of NaN, so that whether a row comes does not depend on what is in it. Rows are never refused for
      their numbers: those outside the bounds are clipped, and those that are not finite are learned as zeros.
    - Arms are fixed: their number is part of what was calibrated.
    - Where the guarantee is for persons, `fit` and `partial_fit` take `persons`, one id for each row.
    """

    def __init__(self, config: Policy, arms: Sequence[Hashable], *, seed: int | None = None) -> None:
        self._deployed = Deployed(config, seed)
        self._arms = list(arms)
        self._places = _places(self._arms)
        self._offers = Offers(config, len(self._arms))

    @property
    def config(self) -> Policy:
        """The configuration that learners are started from."""
        return self._deployed.config

    @property
    def arms(self) -> list[Any]:
        """The names of the arms."""
        return list(self._arms)

    @property
    def is_contextual(self) -> bool:
        """Whether `fit` and `predict` take contexts."""
        return not self._offers.listed

    @property
    def deployments(self) -> int:
        """How many learners have been at work: 1, and one more for each `fit` after something was learned."""
        return self._deployed.count

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to people who are in the data of all deployments so far."""
        return self._deployed.guarantee

    def card(self) -> Card:
        """The privacy card of all deployments so far."""
        return self._deployed.card()

    def fit(self, decisions: Any, rewards: Any, contexts: Any = None, *, persons: Iterable[Any] | None = None) -> None:
        """Start from nothing and learn these rows. After something was learned this is another deployment."""
        rows = self._checked(decisions, rewards, contexts, persons, afresh=True)
        self._deployed.start_again()
        self._learn(*rows)

    def partial_fit(
        self, decisions: Any, rewards: Any, contexts: Any = None, *, persons: Iterable[Any] | None = None
    ) -> None:
        """Learn these rows as well. If one is refused, none is learned."""
        self._learn(*self._checked(decisions, rewards, contexts, persons, afresh=False))

    def predict(self, contexts: Any = None) -> Any:
        """The arm to take: one name for one context, a list of names for several.

        Each context is a round served. Before anything was learned the policy explores, as it would at any time.
        """
        if not self.is_contextual:
            self._offers.refuse_contexts(contexts)
            self._deployed.refuse_rounds(1)
            arm = self._arms[self._deployed.learner.choose()]
            self._deployed.served += 1
            return arm
        rows = self._offers.contexts(contexts)
        self._deployed.refuse_rounds(len(rows))
        found: list[Any] = []
        for part in self._offers.portions(len(rows)):
            chosen = self._deployed.learner.choose_many(self._offers.offered(rows[part]))
            self._deployed.served += len(chosen)
            found += [self._arms[arm] for arm in chosen.tolist()]
        return found[0] if len(found) == 1 else found

    def predict_expectations(self, contexts: Any = None) -> Any:
        """The estimated mean reward of every arm, by name: one dictionary for one context, a list of them for several.

        Read off the published view, so it costs no privacy. These are estimates, without the bonus for exploration that
        MABWiser adds to those of its LinUCB: the largest is not always what `predict` takes.
        """
        estimates = None
        if self.is_contextual:
            estimates = self._offers.estimates(self._deployed.learner.view, self._offers.contexts(contexts))
        if estimates is None:
            raise BadInput(
                f"Expected a policy that publishes an estimate for every context, got {self.config.slug}. Use predict."
            )
        found = [dict(zip(self._arms, row, strict=True)) for row in estimates.tolist()]
        return found[0] if len(found) == 1 else found

    def _learn(self, places: list[int], rewards: Floats, contexts: Floats | None, persons: list[Any]) -> None:
        learn: Callable[..., None] = self._deployed.learner.learn
        for part in self._offers.portions(len(places)):
            offered = None if contexts is None else self._offers.offered(contexts[part])
            for at, (arm, reward) in enumerate(zip(places[part], rewards[part].tolist(), strict=True)):
                taken = (arm,) if offered is None else self._offers.taken(offered, at, arm)
                learn(*taken, reward, persons[part.start + at])

    def _checked(
        self, decisions: Any, rewards: Any, contexts: Any, persons: Iterable[Any] | None, *, afresh: bool
    ) -> tuple[list[int], Floats, Floats | None, list[Any]]:
        """Everything that could be refused in the middle is looked at here, before the first row is learned."""
        places = [self._place(arm, row) for row, arm in enumerate(decisions)]
        earned = as_numbers("rewards", rewards)
        if earned.shape != (len(places),):
            raise BadInput(f"Expected one reward for each of {len(places)} decisions, got shape {earned.shape}.")
        found = None
        if self.is_contextual:
            found = self._offers.contexts(contexts, len(places))
            unfit = ~(np.abs(found) <= LARGEST).all(axis=1)
            found[unfit], earned[unfit] = 0.0, np.nan
        else:
            self._offers.refuse_contexts(contexts)
        people = self._people(persons, len(places))
        self._deployed.refuse_rows(len(places), afresh=afresh)
        return places, earned, found, people

    def _place(self, arm: Any, row: int) -> int:
        try:
            place = self._places.get(arm)
        except TypeError:
            place = None
        if place is None:
            listed = ", ".join(map(repr, self._arms[:10])) + (", …" if len(self._arms) > 10 else "")
            raise BadInput(
                f"Expected decisions among the arms {listed}, got another {type(arm).__name__} in row {row}. Nothing "
                "was changed; arms cannot be added, as their number is part of what was calibrated."
            )
        return place

    def _people(self, persons: Iterable[Any] | None, rows: int) -> list[Any]:
        if not self._deployed.counts_people:
            if persons is not None:
                raise BadInput(
                    "Expected no persons: the unit is the round, and nobody's rounds are counted. Configure "
                    "person_rounds=k to protect a person with up to k rounds."
                )
            return [None] * rows
        if persons is None:
            raise BadInput("Expected persons, one id for each row: the guarantee is for persons, got none.")
        found = list(persons)
        if len(found) != rows:
            raise BadInput(f"Expected one person for each of {rows} decisions, got {len(found)}.")
        for person in found:
            if isinstance(person, bool) or not isinstance(person, str | bytes | numbers.Integral):
                raise BadInput(f"Expected each person to be a str, an int or bytes, got {type(person).__name__}.")
        return found

    def __repr__(self) -> str:
        times = "" if self.deployments == 1 else f", {self.deployments} deployments"
        return f"<TacitMAB of {self.config!r} over {len(self._arms)} arms{times}>"


def _places(arms: list[Any]) -> dict[Any, int]:
    if not arms:
        raise BadInput("Expected at least one arm, got none.")
    try:
        places = {arm: place for place, arm in enumerate(arms)}
    except TypeError:
        raise BadInput("Expected names of arms, such as str or int, got one that cannot be a key.") from None
    if len(places) != len(arms):
        raise BadInput("Expected arms that differ from each other, got one of them twice.")
    return places
