"""The learners behind an adapter, one after the other, and what all of them together cost.

Other libraries start from scratch by a method call. Here that is another learner with noise of its own, and whoever's
data comes again has paid again.
"""

from __future__ import annotations

import dataclasses
import math

from tacit._validate import whole
from tacit.core.learner import Learner
from tacit.core.policy import Policy
from tacit.errors import BadInput, HorizonSpent
from tacit.privacy.card import Card
from tacit.privacy.guarantee import Guarantee


class Deployed:
    """A configuration at work. The learner starts on first use, so what has not been used can be copied."""

    def __init__(self, config: Policy, seed: int | None, closes_after: int | None = None) -> None:
        if not isinstance(config, Policy):
            raise BadInput(
                f"Expected a policy that chooses from actions in every round, such as tacit.JointLinUCB(...), got a "
                f"{type(config).__name__}."
            )
        self.config = config
        self.counts_people = config.person_rounds is not None
        self.served = 0  # rounds of the learner at work
        plan = config.plan()
        self._limit, self._hint = plan.limit, plan.limit_hint
        self._seed = None if seed is None else whole("seed", seed, low=0)
        self._closes_after = closes_after
        self._learner: Learner | None = None
        self._earlier = 0

    @property
    def learner(self) -> Learner:
        """The learner at work."""
        if self._learner is None:
            # A seed for each: two learners with the same noise would be less than twice one of them.
            seed = None if self._seed is None else self._seed + self._earlier
            self._learner = self.config.start(seed=seed, closes_after_decisions=self._closes_after)
        return self._learner

    @property
    def count(self) -> int:
        """How many learners have been at work. One that learned nothing and was replaced does not count."""
        return self._earlier + 1

    @property
    def rows(self) -> int:
        """How many rows the learner at work has learned."""
        return 0 if self._learner is None else self._learner.diagnostics().rows

    def start_again(self) -> None:
        """Let another learner take over, one that knows nothing."""
        if self.rows:
            self._earlier += 1
        self._learner = None
        self.served = 0

    def refuse_rounds(self, rounds: int) -> None:
        """Unless so many more rounds may be served."""
        self._refuse(rounds, self.served, "rounds to serve")

    def refuse_rows(self, rows: int, *, afresh: bool = False) -> None:
        """Unless so many more rows may be learned, by the learner at work or `afresh` by the next one."""
        self._refuse(rows, 0 if afresh else self.rows, "rows to learn")

    def _refuse(self, count: int, before: int, what: str) -> None:
        if self._limit is not None and before + count > self._limit:
            left = self._limit - before
            raise HorizonSpent(f"Expected at most {left:,} more {what} of {self._limit:,}, got {count:,}; {self._hint}")

    @property
    def guarantee(self) -> Guarantee:
        """What all learners together promise to whoever is in the data of every one of them."""
        one = self.config.guarantee
        return repeated(one if self._seed is None else one.with_seed(), self.count)

    def card(self) -> Card:
        """The card of the configuration, at the price of all learners together."""
        card = self.config.card(seeded=self._seed is not None)
        if self.count == 1:
            return card
        note = (
            f"Started {self.count} times: each was a deployment of its own, and they are priced together here, as if "
            "the same people were in all of them."
        )
        return dataclasses.replace(card, guarantee=self.guarantee, notes=(*card.notes, note))


def repeated(guarantee: Guarantee, times: int) -> Guarantee:
    """So many independent runs on the same people: μ grows with √times; of a theorem, ε and δ add up.

    Dong, Roth and Su (2022), Corollary 3.3; Dwork and Roth (2014), Theorem 3.16. Both hold where a later run's data
    depends on what earlier ones released.
    """
    if times == 1 or not guarantee.private:
        return guarantee
    if guarantee.theorem is not None:
        # Where ε is read moves with the theorem: at its old δ nothing is known any more.
        return dataclasses.replace(guarantee, theorem=guarantee.theorem.composed(times), delta=None)
    assert guarantee.mu is not None
    return dataclasses.replace(guarantee, mu=math.sqrt(times) * guarantee.mu)
