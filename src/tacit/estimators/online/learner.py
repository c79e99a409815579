"""What an online learner is: a point, moved by one gradient at a time and never outside its ball.

Params and state are NamedTuples of arrays, and the type of the params is the algorithm, as everywhere in the house. A
policy keeps a state among its own and calls the verbs from its kernels; `OnlineLearner` is the same thing for a stream
of gradients in Python. Whoever runs several learners side by side keeps a *bank*: the same NamedTuple, every array with
one more axis in front.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from tacit._arrays import finite
from tacit._kernel import entry, implementation, verb
from tacit._types import Floats
from tacit._validate import positive, whole
from tacit.core.round import LARGEST
from tacit.errors import BadInput

Params = TypeVar("Params")
State = TypeVar("State")

#: The longest horizon: powers of four up to it are whole numbers of 64 bits.
LONGEST = 2**62


@verb
def descend(online: Any, state: Any, gradient: Floats) -> None:
    """Take one step: clip the gradient, and move `state.point` to what should be played next.

    A gradient whose length is not finite is passed over, and nothing changes.
    """


@verb
def restart(online: Any, state: Any, horizon: int) -> None:
    """Begin anew, for so many steps: the state becomes that of a fresh learner of this horizon, to the bit."""


@verb
def member(online: Any, bank: Any, index: int) -> Any:
    """The state of one learner of a bank: views of its arrays, so that what changes there changes in the bank.

    Implementations are plain functions, not kernels: a kernel hands Python the arrays that its views are of.
    """


class Online(NamedTuple, Generic[Params, State]):
    """An online learner as it is handed over: what is fixed, and how to make what changes."""

    params: Params
    state: Callable[[], State]  #: makes the state before the first gradient


def size(name: str, value: object) -> float:
    """A length that a learner can work with: squares of it, and of its inverse, fit a double."""
    number = positive(name, value)
    if not 1 / LARGEST <= number <= LARGEST:
        raise BadInput(f"Expected {name} between 1e-100 and 1e100, got {name}={value!r}. Choose other units.")
    return number


def states(online: Online[Any, State], count: int) -> State:
    """A bank: `count` fresh states as one, with `count` as the first axis of every array."""
    made: list[Any] = [online.state() for _ in range(whole("count", count))]
    bank: State = type(made[0])(*(np.stack(part) for part in zip(*made, strict=True)))
    return bank


class OnlineLearner:
    """An online learner for a stream of gradients from Python.

        learner = OnlineLearner(maler(dim=5, radius=1.0, clip=2.0, horizon=10_000))
        for loss in losses:
            learner.step(loss.gradient(learner.point))

    Not for several threads at once.
    """

    def __init__(self, online: Online[Any, Any]) -> None:
        found = implementation(descend, type(online.params)) if isinstance(online, Online) else None
        if found is None:
            raise BadInput(f"Expected what gradient_descent(...) or maler(...) return, got {online!r}.")
        self._params, self._state = online.params, online.state()
        self._descend = entry(found, self._params, self._state, np.zeros_like(self._state.point))

    @property
    def point(self) -> Floats:
        """What to play next: a copy, of shape (dim,)."""
        point: Floats = self._state.point.copy()
        return point

    @property
    def state(self) -> Any:
        """A copy of all it has learned: `MalerState` or `GradientDescentState`."""
        return type(self._state)(*(part.copy() for part in self._state))

    @property
    def steps(self) -> int:
        """Gradients taken since the start, or since the last `restart`."""
        return int(self._state.clock[0])

    def step(self, gradient: ArrayLike) -> None:
        """Learn from the gradient of the loss at `point`. One longer than the clip is shortened to it."""
        found = finite("gradient", gradient, limit=LARGEST)
        if found.shape != self._state.point.shape:
            raise BadInput(
                f"Expected a gradient of shape {self._state.point.shape}, got {found.shape}. Nothing was changed."
            )
        self._descend(self._params, self._state, found)

    def restart(self, horizon: int) -> None:
        """Forget everything and begin anew, for so many steps (at most what the learner was made for)."""
        steps, longest = whole("horizon", horizon), getattr(self._params, "horizon", LONGEST)
        if steps > longest:
            raise BadInput(
                f"Expected horizon <= {longest}, which the learner was made for, got horizon={horizon}. Make one for "
                "the longer horizon: it can be restarted for any shorter one."
            )
        restart(self._params, self._state, steps)
