"""A live policy: vault, view and a source of noise, behind `choose` and `learn`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from tacit._kernel import entry
from tacit._types import Floats
from tacit._validate import real
from tacit.core.policy import Policy
from tacit.core.round import (
    CLIPPED_ACTIONS,
    CLIPPED_REWARDS,
    LARGEST,
    REPAIRS,
    ROWS,
    choose_checked,
    learn_checked,
)
from tacit.core.slate import Slate, slate
from tacit.errors import BadInput, HorizonSpent, OutOfBounds, VaultSealed
from tacit.noise import Stream, Tape, refill, stream, tape
from tacit.privacy.card import Card
from tacit.privacy.guarantee import Guarantee

#: A tape is laid out for at least so many numbers at a time.
_TAPE = 256

_FLOAT64 = np.dtype(np.float64)

#: Which stream of a trial is which: `stream(seed, trial, purpose)`.
ENVIRONMENT, POLICY = 0, 1


@dataclass(frozen=True)
class Diagnostics:
    """VAULT: these numbers depend on people's data and are not covered by the guarantee. Do not publish them."""

    rows: int
    clipped_actions: int
    clipped_rewards: int
    repairs: int


class Learner:
    """A policy at work. `choose` reads the view, `learn` writes the vault, and only a release connects the two.

    Made by `config.start()`. Safe to call from several threads (calls wait for each other). It cannot be pickled,
    copied or printed with its contents: a second copy would release the same sums under the same noise.
    """

    def __init__(self, config: Policy, *, seed: int | None) -> None:
        self._config = config
        self._plan = plan = config.plan()
        self._vault = plan.vault()
        self._view = plan.view()
        self._report = np.zeros(plan.report_size)
        self._noise: Stream | Tape
        if seed is None:
            draws = plan.draws
            self._noise = tape(max(_TAPE, draws.choose_normals, draws.learn_normals), max(_TAPE, draws.choose_uniforms))
        else:
            self._noise = stream(seed, 0, POLICY)
        self._seeded = seed is not None
        self._slates: dict[int, Slate] = {}
        self._served = 0
        self._lock = Lock()
        self._choose: Callable[..., int] | None = None  # machine code, found on first use
        self._learn: Callable[..., bool] | None = None
        self._dim: int = config.dim  # type: ignore[attr-defined]

    @property
    def config(self) -> Policy:
        """The configuration this learner was started from."""
        return self._config

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to the people this learner learns from."""
        return self._plan.guarantee.with_seed() if self._seeded else self._plan.guarantee

    def card(self) -> Card:
        """The privacy card of this learner."""
        return self._config.card(seeded=self._seeded)

    @property
    def view(self) -> Any:
        """A copy of the published view: all that choices depend on, and safe to show."""
        with self._lock:
            copies = [part.copy() for part in self._view]
        for part in copies:
            part.setflags(write=False)
        return type(self._view)(*copies)

    def choose(self, actions: ArrayLike) -> int:
        """The index of the action to take, of `actions` of shape (K, dim)."""
        rows = self._rows(actions)
        plan = self._plan
        with self._lock:
            if plan.limit is not None and self._served >= plan.limit:
                raise HorizonSpent(f"All {plan.limit:,} rounds are served; {plan.limit_hint}")
            arms = rows.shape[0]
            room = self._slates.get(arms)
            if room is None:
                # One slate per number of actions, but not without bound.
                if len(self._slates) >= 16:
                    self._slates.clear()
                room = self._slates[arms] = slate(self._dim, arms)
            if not self._seeded:
                refill(self._noise, plan.draws.choose_normals, plan.draws.choose_uniforms)  # type: ignore[arg-type]
            if self._choose is None:
                self._choose = entry(choose_checked, plan.params, self._view, rows, room, self._noise)
            arm: int = self._choose(plan.params, self._view, rows, room, self._noise)
            if arm < 0:
                raise BadInput(_not_finite("actions", rows))
            self._served += 1
        return arm

    def learn(self, x: ArrayLike, reward: float) -> None:
        """Learn that the action `x`, of shape (dim,), earned `reward`. Any time after the choice, in any order.

        Whether and when a row comes must not depend on what is in it: a decision whose reward never comes is learned
        as a row of zeros.
        """
        row = self._row(x)
        plan = self._plan
        if type(reward) is not float:
            reward = real("reward", reward)
        if getattr(self._config, "strict", False):
            self._refuse_out_of_bounds(row, reward)
        with self._lock:
            if plan.limit is not None and self._vault.counters[ROWS] >= plan.limit:
                raise HorizonSpent(f"All {plan.limit:,} rows are learned; {plan.limit_hint}")
            if not self._seeded:
                refill(self._noise, plan.draws.learn_normals, 0)  # type: ignore[arg-type]
            arguments = (plan.params, self._vault, self._view, row, reward, self._report, self._noise)
            if self._learn is None:
                self._learn = entry(learn_checked, *arguments)
            if not self._learn(*arguments):
                raise BadInput(_not_finite("x and reward", np.append(row, reward)))

    def diagnostics(self) -> Diagnostics:
        """Counts for the operator's eyes only: they come from the vault and are not private."""
        counters = self._vault.counters
        return Diagnostics(
            rows=int(counters[ROWS]),
            clipped_actions=int(counters[CLIPPED_ACTIONS]),
            clipped_rewards=int(counters[CLIPPED_REWARDS]),
            repairs=int(counters[REPAIRS]),
        )

    def _rows(self, actions: ArrayLike) -> Floats:
        rows = _as_floats("actions", actions)
        if rows.ndim != 2 or rows.shape[1] != self._dim:
            raise BadInput(f"Expected actions of shape (K, {self._dim}), got {rows.shape}.")
        if rows.shape[0] == 0:
            raise BadInput(f"Expected at least one action, got an empty set of shape {rows.shape}.")
        return rows

    def _row(self, x: ArrayLike) -> Floats:
        row = _as_floats("x", x)
        if row.shape != (self._dim,):
            raise BadInput(
                f"Expected x of shape ({self._dim},), got {row.shape}. Pass the chosen action itself: actions[arm]."
            )
        return row

    def _refuse_out_of_bounds(self, row: Floats, reward: float) -> None:
        norm, bound = self._config.action_norm, self._config.reward_bound  # type: ignore[attr-defined]
        length = float(np.linalg.norm(row))
        if length > norm * (1 + 1e-9):
            raise OutOfBounds(f"Expected an action of norm <= {norm:g} (strict), got one above it. Rescale actions.")
        if abs(reward) > bound:
            raise OutOfBounds(f"Expected |reward| <= {bound:g} (strict), got one above it. Rescale rewards.")

    def __repr__(self) -> str:
        return f"<Learner of {self._config!r}: {int(self._view.stage[0]):,} views released>"

    def __reduce__(self) -> NoReturn:
        raise VaultSealed(
            "A learner cannot be pickled or copied: a copy would release the same sums under the same noise. "
            "Pickle its config instead, and start a new learner."
        )

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce__()

    def __copy__(self) -> NoReturn:
        self.__reduce__()


def _as_floats(name: str, values: ArrayLike) -> Floats:
    """The values as float64, C-contiguous and aligned: what the kernels were compiled for, and nothing else will do."""
    if type(values) is np.ndarray and values.dtype is _FLOAT64 and values.flags.carray:
        return values
    try:
        found = np.asarray(values)
    except ValueError:
        raise BadInput(f"Expected {name} to be an array of numbers, got a ragged {type(values).__name__}.") from None
    if found.dtype.kind not in "fiu":
        raise BadInput(f"Expected {name} to be an array of numbers, got {type(values).__name__} of {found.dtype}.")
    return np.array(found, dtype=np.float64, order="C")


def _not_finite(name: str, values: Floats) -> str:
    flat = values.ravel()
    at = int(np.flatnonzero(~(np.abs(flat) <= LARGEST))[0])
    what = "NaN" if np.isnan(flat[at]) else "an infinity" if np.isinf(flat[at]) else "a number beyond 1e100"
    return f"Expected {name} to be finite numbers, got {what} at position {at}. Nothing was changed."
