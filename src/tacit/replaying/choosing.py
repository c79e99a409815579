"""What a policy would do at a view: asked, and not served.

A learner counts every choice as a round served, and its horizon ends. In a log most choices are only asked about, and
nobody gets what was chosen. So the verb is called here on a copy of the view.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._types import Floats, Ints
from tacit.core.policy import Policy
from tacit.core.session import Session
from tacit.noise import stream
from tacit.replaying.log import Log

#: Which stream of a seed is which: `stream(seed, run, purpose)`. Learners have the smaller numbers.
CHOICES = 16


class Chooser:
    """The choices of one policy on the rows of a log. A policy that draws them draws from a stream of its own."""

    def __init__(self, config: Policy, log: Log, seed: int, run: int) -> None:
        plan = config.plan()
        self.limit = plan.limit
        self._list, self._arms = config.fixed_actions, config.arms_of_context
        self._log = log
        self._session = Session(plan, log.dim, source=stream(seed, run, CHOICES), vault=False, report_size=0)

    def choose(self, view: Any, rows: Ints) -> Ints:
        """The arm for each of these rows, at this view."""
        return self.choose_of(view, self._offers(rows))

    def choose_of(self, view: Any, block: Floats) -> Ints:
        """The arm for each of these sets of actions, of shape (m, K, d)."""
        chosen = np.zeros(len(block), np.int64)
        self._session.choose_block(writable(view), block, chosen)
        return chosen

    def _offers(self, rows: Ints) -> Floats:
        if self._arms is not None:
            contexts = self._log.contexts[rows]
            return np.hstack([contexts, np.ones((len(rows), self._arms))])[:, None, :]
        if self._list is None:
            return self._log.offers(rows)
        return np.repeat(self._list[None], len(rows), axis=0)


def writable(view: Any) -> Any:
    """A copy of a view as kernels want it: a learner hands out read-only arrays, which are another type to them."""
    return type(view)(*(part.copy() for part in view))


def same_view(one: Any, other: Any) -> bool:
    """Whether two views would lead to the same choices."""
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
