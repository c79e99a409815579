"""The four rooms a datum walks through, and what an environment does in between.

    context ─ choose ─▶ arm ─▶ reward ─ encode ─▶ report ─ absorb ─▶ VAULT ═ release ═▶ VIEW ─ choose ─▶ …

Params, vault and view are NamedTuples of arrays; the *type* of the params is the policy. A new policy registers one
kernel per verb with `implements`.
"""

from __future__ import annotations

from typing import Any

from tacit._kernel import verb
from tacit._types import Floats
from tacit.core.slate import Slate


@verb
def choose(params: Any, view: Any, slate: Slate, noise: Any) -> int:  # type: ignore[empty-body]
    """Pick an arm from the view and the caller's own actions. Never sees the vault: what is shown to *other* people
    is post-processing of what `release` wrote, so joint privacy is in the signature."""


@verb
def encode(params: Any, view: Any, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    """On the person's side: clip to the declared bounds, and in the local model add noise. Writes `report`.

    The view is public, and a server that nobody trusts may have written it: it may add to a report, never take from
    its noise.
    """


@verb
def absorb(params: Any, vault: Any, report: Floats) -> None:
    """Add a report into the exact, secret sums. Deterministic."""


@verb
def release(params: Any, vault: Any, view: Any, noise: Any) -> None:
    """The one door out of the vault, and the only place where central budget is spent."""


@verb
def show(environment: Any, slate: Slate, means: Floats, stream: Any) -> None:
    """Lay out this round's actions, and the mean reward of each (which only the simulator sees)."""


@verb
def draw_context(environment: Any, context: Floats, means: Floats, stream: Any) -> None:
    """Draw this round's context, and the mean reward of each arm in it: for worlds in which all arms share one context
    (`Environment.context_shape`). Their `show` is this, laid out as one block per arm."""


@verb
def pay(environment: Any, mean: float, stream: Any) -> float:  # type: ignore[empty-body]
    """Draw the reward of an action of this mean."""


@verb
def pay_many(environment: Any, mean: float, count: int, stream: Any) -> float:  # type: ignore[empty-body]
    """Draw the total of so many independent rewards of an action of this mean, at once.

    For worlds whose actions never change and whose rewards take two values: the total is then binomial, and a whole
    episode is one draw.
    """
