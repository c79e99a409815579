"""Function learners: policies that gather records without looking at them, and spend privacy when they release.

The four verbs have their counterparts. `choose` draws an action evenly and reads nothing; `learn` clips a record and
adds it to exact, secret sums; `release_function` and `predict_once` are the two doors out of the vault, and every
passage is written into a ledger that refuses when the promise is spent. What has left may be used for ever.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats, Ints
from tacit._validate import one_of
from tacit.core.settings import SAMPLERS, Declared, Settings
from tacit.errors import VaultSealed
from tacit.privacy.card import Card, SpendingPath
from tacit.privacy.event import Event
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Bill
from tacit.privacy.promise import AnyPromise
from tacit.privacy.scope import Protects, Trust

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class FunctionPlan:
    """What follows from a configuration before anyone comes. Nothing in it depends on data."""

    paths: tuple[SpendingPath, ...]  #: the ways in which the promise can be spent
    guarantee: Guarantee  #: of everything that is ever released, whichever way is taken
    noise_scale: float | None = None
    noise_scales: Mapping[str, float] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    events: tuple[Event, ...] = ()  #: what may be released; left out, those of the paths

    def __post_init__(self) -> None:
        if not self.events:
            found = tuple(path.event for path in self.paths if path.event is not None)
            object.__setattr__(self, "events", found)

    def left(self, *names: str) -> FunctionPlan:
        """What is left of the plan when only these paths are open: of a single one, its own guarantee and event."""
        paths = tuple(path for path in self.paths if path.name in names)
        if len(paths) == 1:
            return replace(self, paths=paths, guarantee=paths[0].guarantee, events=())
        return replace(self, paths=paths)


class FunctionAsked(Declared):
    """What other rooms ask of a function learner, and what holds of those who do not say otherwise."""

    horizon: int | None = None  #: records learned at most; None: no end
    form: str = ""  #: "exact", where there is no finite vector to release


@dataclass(frozen=True, kw_only=True)
class FunctionPolicy(FunctionAsked, Settings, ABC):
    """A function learner's configuration: immutable, printable, serialisable. `start()` makes a live one of it."""

    kind: ClassVar[str] = "policy"
    trust: ClassVar[Trust]
    protects: ClassVar[Protects]
    needs: ClassVar[str]

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Self, ...]:
        """One configuration per option that changes what is computed: what the laws of the test suite are held
        against."""

    @abstractmethod
    def plan(self, sampler: str = "double") -> FunctionPlan:
        """Work out the noise and its price. Pure: two calls give the same plan. `sampler="secure"`: for noise that is
        drawn exactly, in whole numbers, with rounding in the price."""

    @abstractmethod
    def start(self, *, seed: int | None = None, sampler: str | None = None) -> FunctionLearner:
        """A live learner. Noise is drawn exactly, in whole numbers, from the operating system's randomness.

        With `seed`, which is for simulation only, it can be recomputed by anyone who knows the seed, and the learner's
        guarantee says so; it is then in double precision unless `sampler="secure"`.
        """

    def in_world(self, **given: Any) -> Self:
        """The configuration, with what it was not told taken from here: what is public of an environment, and the
        number of rounds."""
        return self

    @property
    def adaptive(self) -> bool:
        """Whether the actions it takes depend on what it has learned."""
        return False

    @property
    def bound(self) -> float | None:
        """B: how far a reward may be from the middle, where the noise follows from it."""
        return None

    @property
    def regulariser(self) -> float | None:
        """τ: of the ridge regression, where the noise follows from it."""
        return None

    @property
    def calibrated(self) -> str:
        """How the noise was set, for the card."""
        return "none"

    @property
    def promise(self) -> AnyPromise | None:
        """What the user asked for; None without privacy."""
        return None

    @property
    def guarantee(self) -> Guarantee:
        """What this configuration gives to those it learns from, once all of its promise is spent in any way."""
        return self.plan("secure").guarantee

    def sampler(self) -> str:
        """How noise is drawn where people are protected."""
        return "secure"

    def planned(self, sampler: str = "secure") -> FunctionPlan:
        """`plan`, with a sampler that there is."""
        return self.plan(one_of("sampler", sampler, SAMPLERS))

    def card(self, *, seeded: bool = False, sampler: str | None = None) -> Card:
        """What a privacy officer reads before signing."""
        sampler = ("double" if seeded else self.sampler()) if sampler is None else sampler
        return self.card_of(self.planned(sampler), sampler, seeded=seeded)

    def card_of(self, plan: FunctionPlan, sampler: str, *, seeded: bool = False, spent: Bill | None = None) -> Card:
        """The card of this plan, or of what is left of it once something was spent."""
        paths = tuple(replace(one, guarantee=one.guarantee.with_seed()) for one in plan.paths) if seeded else plan.paths
        return Card(
            policy=self.slug,
            calibration=self.calibrated,
            guarantee=plan.guarantee.with_seed() if seeded else plan.guarantee,
            paths=paths,
            spent=spent,
            claimed=self.promise,
            noise_scale=plan.noise_scale,
            noise_scales=plan.noise_scales,
            events=plan.events,
            settings={**self.to_dict(), "sampler": sampler},
            assumptions=plan.assumptions,
            notes=plan.notes,
        )


class PrivateFunction(ABC):
    """A function that has been released: it may be asked anything, any number of times, stored and shared."""

    guarantee: Guarantee

    @abstractmethod
    def predict(self, context: ArrayLike | None, actions: ArrayLike) -> Floats:
        """The value of each of `actions`, of shape (K, d), in this context."""

    def best(self, context: ArrayLike | None, actions: ArrayLike) -> int:
        """The index of the action with the largest value; the lowest of equals."""
        return int(self.predict(context, actions).argmax())

    def rank(self, context: ArrayLike | None, actions: ArrayLike) -> Ints:
        """The indices of all actions, the best first."""
        return (-self.predict(context, actions)).argsort(kind="stable").astype(np.int64)

    @abstractmethod
    def save(self, path: str | Path) -> Path:
        """Write it to a new file ending in .npz."""


class FunctionLearner(ABC):
    """A function learner at work. Safe to call from several threads; it cannot be pickled, copied or printed open."""

    def __init__(self) -> None:
        self._lock: AbstractContextManager[object] = Lock()

    @abstractmethod
    def choose(self, context: ArrayLike | None = None) -> Floats:
        """The action to take while learning."""

    @abstractmethod
    def learn(self, action: ArrayLike, reward: float, context: ArrayLike | None = None) -> None:
        """Learn what an action earned in a context."""

    @abstractmethod
    def learn_many(self, actions: ArrayLike, rewards: ArrayLike, contexts: ArrayLike | None = None) -> None:
        """Learn many records at once, faster: shapes (n, d), (n,) and (n, c). How many there are must not depend on
        what is in them: one with a number that is not finite is one all the same."""

    @abstractmethod
    def release_function(self, epsilon: float | None = None, delta: float | None = None) -> PrivateFunction:
        """Spend (ε, δ), or by default all that is left, on the whole function."""

    def __reduce__(self) -> NoReturn:
        raise VaultSealed(
            "A learner cannot be pickled or copied: a copy would release the same sums under the same noise. "
            "Pickle its config and start a new learner, or save a function that has been released."
        )

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce__()

    def __copy__(self) -> NoReturn:
        self.__reduce__()
