"""Runs by the book: what is offered and what is paid in every round stands in a script, and two scripts are neighbours.

A policy that is shown actions is not asked where the script decides what is learned, and offered {+v, −v} where it is
probed. A policy over a list plays what it likes and is paid what the script says: its rewards are what is
protected.

Where noise is drawn exactly, runs have it from the same sampler as people do, with words that a seed gives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from tacit._types import Floats, Ints
from tacit.auditing.attack import Attack
from tacit.auditing.loop import play
from tacit.auditing.rooms import rooms_of
from tacit.core.plan import Plan
from tacit.core.session import Session
from tacit.noise import stream
from tacit.noise.coins import DrawWords, seeded_words
from tacit.noise.tape import tape_of

#: Numbers of exact noise that are laid out at a time, over all runs.
_LAID = 2**20


class Script(NamedTuple):
    """What happens, round by round. Where arms share a context there is one row to offer, the context and behind it a 1
    for each of the K arms that is there; arm K that is taken makes a row that adds nothing."""

    offers: Floats  # (T, K, d)
    rewards: Floats  # (T,)
    forced: Ints | None = None  # (T,) the arm that is taken whatever the policy would choose; −1 or None: it chooses


@dataclass(frozen=True)
class Seen:
    """What a batch of runs showed."""

    arms: Ints  #: (runs, rounds that were asked)
    numbers: Floats  #: (runs, rounds that were watched, everything that is shown)
    places: dict[str, tuple[slice, tuple[int, ...]]]

    def of(self, name: str) -> Floats:
        """An array of the view, or "report": of shape (runs, rounds that were watched, …)."""
        place, shape = self.places[name]
        return self.numbers[:, :, place].reshape(self.numbers.shape[:2] + shape)


def _none() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class Scripted:
    """Plays a plan by one of two scripts, in a kernel."""

    plan: Plan
    scripts: tuple[Script, Script]
    see: Callable[[Seen], Floats]  #: what the attacker makes of it: (runs, numbers)
    watched: Ints = field(default_factory=_none)  #: rounds after which view and report are looked at
    asked: Ints = field(default_factory=_none)  #: rounds whose choice is looked at
    reads: int = 1  #: 2 and more, for twins: so many times every released value is drawn anew
    factors: Floats | None = None  #: for twins: what the noise of a run is multiplied by, in order of use
    uniforms: int = 0  #: with `factors`: uniform numbers that a run may need
    normals: int | None = None  #: what a run needs of the others; None: as many as if every round were a release

    def sample(self, world: int, runs: int, seed: int, path: tuple[int, ...]) -> Floats:
        """See `Sampler`."""
        script = self.scripts[world]
        found = [self._once(script, runs, seed, *path, read) for read in range(self.reads)]
        return found[0] if self.reads == 1 else np.concatenate(found, axis=1)

    def _once(self, script: Script, runs: int, *path: int) -> Floats:
        _, arms, dim = script.offers.shape
        learned = dim
        if self.plan.slate is not None and self.plan.arms is not None:
            features = getattr(self.plan.slate(1), "features", np.zeros((0, 0)))
            dim -= self.plan.arms + features.size
            learned = dim + 1 + features.shape[1]
        source = stream(*path)
        normals, uniforms = self.room
        laid = self.plan.law is not None
        forced = np.full(len(script.rewards), -1) if script.forced is None else script.forced
        tape = laid or self.factors is not None
        session = Session(self.plan, dim, source=tape_of(np.zeros(normals), np.zeros(uniforms)) if tape else source)
        rooms = rooms_of(session)
        taken = np.zeros((runs, len(self.asked)), np.int64)
        numbers = np.zeros((runs, len(self.watched), len(rooms.shown)))
        words = seeded_words(*path)
        at_once = max(1, _LAID // max(1, normals)) if laid else runs
        for start in range(0, runs, at_once):
            some = slice(start, min(start + at_once, runs))
            play(
                session.params,
                session.vault,
                session.view,
                session.report,
                session.slate(arms),
                source,
                session.noise,
                tape,
                laid,
                self._laid(some.stop - start, normals, words) if tape else np.zeros((0, 0)),
                rooms.floats,
                rooms.first_floats,
                rooms.ints,
                rooms.first_ints,
                rooms.shown,
                script.offers,
                script.rewards,
                np.zeros(learned),
                forced,
                self.asked,
                self.watched,
                taken[some],
                numbers[some],
            )
        return self.see(Seen(taken, numbers, rooms.places))

    def _laid(self, runs: int, normals: int, words: DrawWords) -> Floats:
        """What lies on the tape of each run: its noise, drawn exactly, or what normal numbers are to be multiplied by;
        times what a twin leaves of it."""
        law, factors = self.plan.law, np.ones(normals)
        if self.factors is not None:
            known = min(normals, len(self.factors))
            factors[:known] = self.factors[:known]
        return factors[np.newaxis] if law is None else law.draw(runs * normals, words).reshape(runs, normals) * factors

    @property
    def room(self) -> tuple[int, int]:
        """Numbers that a run takes at most, of both kinds."""
        draws, rounds = self.plan.draws, len(self.scripts[0].rewards)
        normals = rounds * (draws.choose_normals + draws.learn_normals) if self.normals is None else self.normals
        uniforms = rounds * (draws.choose_uniforms + draws.learn_uniforms)
        known = 0 if self.factors is None or self.plan.law is not None else len(self.factors)
        return max(normals, known), max(uniforms, self.uniforms)


def spoiled(**changes: Any) -> Callable[[Attack], Attack]:
    """For a `Twin`: the same attack, with these fields of its `Scripted` replaced. `params` is a function of the old
    params: a twin is a number or a flag that is wrong, and runs the same machine code."""

    def spoil(attack: Attack) -> Attack:
        sampler: Any = attack.sampler
        rest = dict(changes)
        change = rest.pop("params", None)
        if change is not None:
            rest["plan"] = replace(sampler.plan, params=change(sampler.plan.params))
        return replace(attack, sampler=replace(sampler, **rest))

    return spoil


def with_noise(factor: float, change: Callable[[float], Callable[[Any], Any]]) -> Callable[[Attack], Attack]:
    """For a `Twin`: noise times `factor`. `change` makes of it what `params` wants in `spoiled`; where noise is drawn
    exactly its scale is not among the params, but the law of what is drawn."""

    def spoil(attack: Attack) -> Attack:
        sampler: Any = attack.sampler
        law = sampler.plan.law
        if law is None:
            return spoiled(params=change(factor))(attack)
        return spoiled(plan=replace(sampler.plan, law=law.scaled(factor)))(attack)

    return spoil
