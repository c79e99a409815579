"""The attack on last bits, once for all families: the numbers of the first release, each as it was released.

What is exact under either input comes from the program itself: it is played once without noise. On a lattice it is
played twice more with equal noise everywhere, which says how long a step is. So nothing here knows what a policy adds
up, how it rounds, or in which unit: a sum that is not rounded before its noise, a number that is noised in doubles and
one that is not noised at all are all found out alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit._types import Bools, Floats
from tacit.auditing.attack import BATCH, LAST_BITS, REPORT, Attack, Twin
from tacit.auditing.attacks.one_record import Functions, Sums
from tacit.auditing.low_bits import ruled_out, told
from tacit.auditing.scores import given
from tacit.auditing.script import Script, Scripted, Seen
from tacit.errors import NoSecureSampler
from tacit.noise.coins import DrawWords
from tacit.noise.plain import Numbers

#: Runs per input that are enough: it is about certainty, and one run that is certain is one too many.
RUNS = 4000
#: Steps of noise that say how long one is: many, so that it is known to as many digits as what is released.
_MANY = 2.0**36
#: The larger reward, of the way to the end of the interval: a number with all of its last bits.
_PART = 0.8


def last_bits(config: Any, attacks: tuple[Attack, ...], sampler: str) -> Attack | None:
    """On the last bits of what the first of these attacks sees. None where nothing is released in numbers, and where
    noise can only be simulated: then its last bits tell, and the card says so."""
    try:
        config.planned("secure")
    except NoSecureSampler:
        return None
    for played in _raw(config, attacks[0], sampler == "secure"):
        bits = LastBits(played, sampler == "secure")
        if bits.looked_at.any():
            return Attack(
                LAST_BITS,
                bits,
                "the reward of what is replaced turned from one that adds nothing to a large one, all else as it is",
                fit=given(lambda seen: seen[:, 0]),
                smooth=False,
                batch=attacks[0].batch,
                certain=True,
                runs=RUNS,
            )
    return None


def doubles(attack: Attack) -> tuple[Twin, ...]:
    """What must be caught where noise is whole steps: noise of the same deviation that is not."""
    bits: Any = attack.sampler
    if not bits.lattice:
        return ()
    spoilt = replace(attack, sampler=replace(bits, played=bits.played.in_doubles()))
    return (Twin("noise in doubles", "noise is no whole number of steps", lambda _: spoilt),)


@dataclass(frozen=True)
class LastBits:
    """Numbers as they are released, and which inputs they rule out."""

    played: Any  #: `Rows` or `Vectors`: of shape (runs, numbers)
    lattice: bool  #: whether noise is whole steps, or doubles

    def sample(self, world: int, runs: int, seed: int, path: tuple[int, ...]) -> Floats:
        """See `Sampler`."""
        return self.told(self.played.sample(world, runs, seed, path))[:, np.newaxis]

    def told(self, seen: Floats) -> Floats:
        """Of each run, which inputs it rules out: `low_bits.told`."""
        first, second = (self._ruled_out(seen, exact) for exact in self._exact)
        return told(first, second)

    def _ruled_out(self, seen: Floats, exact: Floats) -> Bools:
        some = self.looked_at
        steps = self._steps[some] if self.lattice else 0.0
        return np.asarray(ruled_out(seen[:, some], exact[some], steps).any(axis=1))

    @cached_property
    def _exact(self) -> tuple[Floats, Floats]:
        silent = self.played.always(0.0)
        first, second = (silent.sample(world, 1, 0, ())[0] for world in (0, 1))
        return first, second

    @cached_property
    def _steps(self) -> Floats:
        # With so much noise rows that are prepared by what was released before are prepared alike.
        many, twice = (self.played.always(times * _MANY).sample(0, 1, 0, ())[0] for times in (1, 2))
        found: Floats = np.abs(twice - many) / (_MANY * self.played.summed)
        return found

    @cached_property
    def looked_at(self) -> Bools:
        """The numbers that the inputs differ in, and on a lattice all that have noise."""
        differ: Bools = self._exact[0] != self._exact[1]
        return np.asarray(differ | (self._steps > 0)) if self.lattice else differ


# What is released in numbers ------------------------------------------------------------------------------------------


def _raw(config: Any, attack: Attack, lattice: bool) -> tuple[Any, ...]:
    """Plays that show numbers as they are released; where there are several, the first that differs is meant. What was
    released in doubles and divided or solved for since is left out: its last bits are other ones."""
    played = attack.sampler
    if isinstance(played, Functions | Sums):
        return (Vectors(replace(played, sampler="secure" if lattice else "double")),)
    if not isinstance(played, Scripted) or not len(played.watched):
        return ()
    if not lattice and (attack.observed == BATCH or getattr(config, "centre_rounds", None)):
        return ()  # no order of reports is known, or not what was summed: the centre that rows are taken off has noise
    watched = played.watched if attack.observed in (REPORT, BATCH) else played.watched[:1]
    scripts = _scripts(config, played.scripts, int(watched[-1]) + 1)
    views: list[Callable[[Seen], Floats]]
    if attack.observed in (REPORT, BATCH):
        sent: Any = played.plan.report
        views = [_reports(sent.size, attack.observed == BATCH)]
    else:
        views = [_named("published"), _named("totals"), *([_named("means"), _solved] if lattice else [])]
    summed = len(watched) if attack.observed == BATCH else 1
    return tuple(Rows(replace(played, scripts=scripts, watched=watched, see=see), summed) for see in views)


def _reports(size: int, summed: bool) -> Callable[[Seen], Floats]:
    """The numbers of all reports as they are sent, or as the shuffler adds them up."""

    def see(seen: Seen) -> Floats:
        sent = seen.of("report")[:, :, :size]
        return sent.sum(axis=1) if summed else sent.reshape(len(sent), -1)

    return see


def _named(name: str) -> Callable[[Seen], Floats]:
    def see(seen: Seen) -> Floats:
        if name not in seen.places:
            return np.zeros((len(seen.numbers), 0))
        return seen.of(name)[:, 0].reshape(len(seen.numbers), -1)

    return see


def _solved(seen: Seen) -> Floats:
    """b = Vθ̂ of each arm, where V is public and b all that is noised."""
    if "inverse" not in seen.places:
        return np.zeros((len(seen.numbers), 0))
    found: Any = np.linalg.solve(seen.of("inverse")[:, 0], seen.of("theta")[:, 0, ..., np.newaxis])
    return np.asarray(found.reshape(len(found), -1))


def _scripts(config: Any, scripts: tuple[Script, Script], rounds: int) -> tuple[Script, Script]:
    """The first of two scripts, so many rounds of it. What the second replaces has a reward that adds nothing, which is
    what all others have, or a large one."""
    one, two = scripts
    changed = ((one.rewards != two.rewards) | (one.offers != two.offers).any(axis=(1, 2)))[:rounds]
    ends = _ends(config)
    others = one.rewards[:rounds][~changed]
    nothing = float(np.clip(others[0] if len(others) else 0.0, *ends))
    large = nothing + _PART * (max(ends, key=lambda end: abs(end - nothing)) - nothing)

    def script(reward: float) -> Script:
        rewards = np.where(changed, reward, one.rewards[:rounds])
        return Script(one.offers[:rounds], rewards, None if one.forced is None else one.forced[:rounds])

    return script(nothing), script(large)


def _ends(config: Any) -> tuple[float, float]:
    linear = getattr(config, "linear", config)  # a learner of functions hands rows on in units of its bound
    return float(linear.reward_low), float(linear.reward_high)


@dataclass(frozen=True)
class Rows:
    """Numbers of a run in a kernel."""

    scripted: Scripted
    summed: int = 1  #: reports that a number is the sum of

    def sample(self, world: int, runs: int, seed: int, path: tuple[int, ...]) -> Floats:
        """See `Sampler`."""
        return self.scripted.sample(world, runs, seed, path)

    def always(self, value: float) -> Rows:
        """With this in place of every number of noise; in doubles there can be none."""
        played, plan = self.scripted, self.scripted.plan
        if plan.law is not None:
            return self._with(_Same(value))
        if value:
            raise ValueError("Expected a lattice, got noise in doubles: it has no steps.")
        if getattr(plan.params, "laplace", False):
            return replace(self, scripted=replace(played, plan=replace(plan, params=plan.params._replace(scale=0.0))))
        return replace(self, scripted=replace(played, factors=np.zeros(played.room[0])))

    def in_doubles(self) -> Rows:
        """With noise that is no whole number of steps."""
        return self._with(_InDoubles(self.scripted.plan.law))

    def _with(self, law: Any) -> Rows:
        return replace(self, scripted=replace(self.scripted, plan=replace(self.scripted.plan, law=law)))


@dataclass(frozen=True)
class _Same:
    """For the law of a tape, or what a learner of functions draws from."""

    value: float

    def draw(self, count: int, words: DrawWords) -> Floats:
        return np.full(count, self.value)

    def scaled(self, factor: float) -> _Same:
        return _Same(factor * self.value)

    def normals(self, *shape: int) -> Floats:
        return np.full(shape, self.value)

    def discrete(self, scale: float, count: int) -> Floats:
        return np.full(count, self.value)


@dataclass(frozen=True)
class _InDoubles:
    """Normal numbers where there should be whole ones."""

    law: Any = None
    numbers: Any = None

    def draw(self, count: int, words: DrawWords) -> Floats:
        generator = np.random.default_rng(words(4))
        found: Floats = self.law.deviation * generator.standard_normal(count)
        return found

    def scaled(self, factor: float) -> _InDoubles:
        return replace(self, law=self.law.scaled(factor))

    def discrete(self, scale: float, count: int) -> Floats:
        found: Floats = scale * self.numbers.normals(count)
        return found


@dataclass(frozen=True)
class Vectors:
    """Sums of a learner of functions under their noise, before anything is solved for."""

    released: Functions | Sums
    drawn: Callable[[Any], Any] = field(default=lambda numbers: numbers)
    summed = 1

    def sample(self, world: int, runs: int, seed: int, path: tuple[int, ...]) -> Floats:
        """See `Sampler`."""
        return self.released.vectors(world, runs, self.drawn(Numbers(seed, *path)), _PART)

    def always(self, value: float) -> Vectors:
        """With this in place of every number of noise."""
        return Vectors(self.released, lambda numbers: _Same(value))

    def in_doubles(self) -> Vectors:
        """With noise that is no whole number of steps."""
        return Vectors(self.released, lambda numbers: _InDoubles(numbers=numbers))
