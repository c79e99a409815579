"""Runs an attack: fits its score on runs of their own, then counts on fresh ones, in batches side by side."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from tacit._types import Floats, Ints
from tacit._validate import whole
from tacit.auditing import bounds
from tacit.auditing.attack import Attack, Claim
from tacit.auditing.low_bits import certain
from tacit.auditing.scores import Score

#: The rate of false alarms at which power is reported.
FALSE_ALARM = 0.05
#: Bins of the two score distributions in a figure.
BINS = 80

_FIT, _COUNT, _FIT_MORE = 0, 1, 2
#: Runs of either kind that a score with so many numbers needs per number: fewer fit the noise.
_PER_NUMBER = 400


@dataclass(frozen=True)
class Counted:
    """How often scores of either kind lay above a threshold, and what that proves."""

    threshold: float
    hits: int
    false_hits: int
    bound: float


@dataclass(frozen=True)
class Finding:
    """What one attack proved."""

    observed: str
    neighbours: str
    runs: int  #: per neighbour, fresh
    fitted_on: int  #: per neighbour, other runs
    forward: Counted  #: ε: the second input by scores above a threshold
    backward: Counted  #: ε: the first input by scores below one
    curve: Counted | None  #: μ where a Gaussian curve is promised, or by how much log-odds move where a draw is
    gaussian: float | None  #: ε at δ of that μ
    detected: float  #: how often the second input was detected at 5 % false alarms
    edges: Floats  #: of the two histograms
    first: Ints
    second: Ints
    claim: Claim  #: what it was held to
    certain: int | None = None  #: runs that ruled the other input out for certain; None where that is not looked for

    @property
    def epsilon(self) -> float:
        """The larger of the two lower bounds without assumptions."""
        return max(self.forward.bound, self.backward.bound)

    @property
    def odds(self) -> float | None:
        """By how much log-odds move at least, where a draw is promised."""
        return None if self.curve is None or self.claim.odds is None else self.curve.bound

    @property
    def largest(self) -> float:
        """The largest lower bound of all."""
        return max(self.epsilon, self.gaussian or 0.0, self.odds or 0.0)

    @property
    def refuted(self) -> bool:
        """Whether a lower bound exceeds what was promised, or anything is certain."""
        most = self.claim.odds if self.claim.mu is None else self.claim.mu
        beyond = self.curve is not None and most is not None and self.curve.bound > most
        return bool(self.certain) if self.certain is not None else self.epsilon > self.claim.epsilon or beyond


class Work:
    """Threads and a progress bar for a number of attacks. A context manager."""

    def __init__(self, total: int, threads: int | None, progress: bool | None) -> None:
        self._workers = whole("threads", threads) if threads is not None else os.cpu_count() or 1
        self._bar: Any = tqdm(
            total=total,
            unit=" runs",
            unit_scale=True,
            disable=not (sys.stderr.isatty() if progress is None else progress),
            leave=False,
            file=sys.stderr,
            mininterval=0.2,
        )

    def __enter__(self) -> Work:
        self._limits = threadpool_limits(1)
        self._pool = ThreadPoolExecutor(self._workers)
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._limits.unregister()
        self._bar.close()

    def named(self, words: str) -> None:
        self._bar.set_description_str(words)

    def gather(
        self, attack: Attack, runs: int, seed: int, path: tuple[int, ...], then: Callable[[Floats], Floats]
    ) -> tuple[Floats, Floats]:
        """What `then` makes of the runs under either input, in order: batches are the same on any number of threads."""
        found: list[dict[int, Floats]] = [{}, {}]
        waiting: dict[Future[Floats], tuple[int, int, int]] = {}
        for world, batch, size in self._batches(attack, runs):
            if len(waiting) > 2 * self._workers:
                self._collect(waiting, found)
            task = partial(self._sampled, attack, world, size, seed, (*path, world, batch), then)
            waiting[self._pool.submit(task)] = (world, batch, size)
        while waiting:
            self._collect(waiting, found)
        first, second = (np.concatenate([part[batch] for batch in sorted(part)]) for part in found)
        return first, second

    @staticmethod
    def _batches(attack: Attack, runs: int) -> Iterator[tuple[int, int, int]]:
        for batch, start in enumerate(range(0, runs, attack.batch)):
            for world in (0, 1):
                yield world, batch, min(attack.batch, runs - start)

    @staticmethod
    def _sampled(
        attack: Attack, world: int, size: int, seed: int, path: tuple[int, ...], then: Callable[[Floats], Floats]
    ) -> Floats:
        return then(attack.sampler.sample(world, size, seed, path))

    def _collect(self, waiting: dict[Future[Floats], tuple[int, int, int]], found: list[dict[int, Floats]]) -> None:
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            world, batch, size = waiting.pop(future)
            found[world][batch] = future.result()
            self._bar.update(size)


def fit_runs(runs: int) -> int:
    """Runs per neighbour that a score is fitted on at least, beside `runs` that are counted."""
    return min(max(runs // 4, 2000), 50_000)


def run(work: Work, attack: Attack, claim: Claim, runs: int, seed: int, path: tuple[int, ...], miss: float) -> Finding:
    """Attack, and hold what is seen to its own claim or to this one. Every single bound fails with probability `miss`
    at most."""
    return run_with(work, attack, claim, runs, seed, path, miss)[0]


def run_with(
    work: Work,
    attack: Attack,
    claim: Claim,
    runs: int,
    seed: int,
    path: tuple[int, ...],
    miss: float,
    shown: tuple[Floats, Floats] | None = None,
) -> tuple[Finding, Score]:
    """The same with the score that was fitted. With `shown`, runs of either kind that were made elsewhere are what is
    counted."""
    claim, runs = attack.claim or claim, min(runs, attack.runs or runs)
    first, second = work.gather(attack, fit_runs(runs), seed, (*path, _FIT), lambda seen: seen)
    more = _PER_NUMBER * first.shape[1] - len(first)
    if more > 0:
        further = work.gather(attack, more, seed, (*path, _FIT_MORE), lambda seen: seen)
        first, second = np.concatenate([first, further[0]]), np.concatenate([second, further[1]])
    fitted_on = len(first)
    score = attack.fit(first, second)
    fit_first, fit_second = score(first), score(second)
    del first, second

    def plain(hits: Any, false_hits: Any, n: int) -> Any:
        return bounds.epsilon_from(hits, false_hits, n, claim.delta, miss)

    def curved(hits: Any, false_hits: Any, n: int) -> Any:
        found = bounds.mu_from if claim.odds is None else bounds.odds_from
        return found(hits, false_hits, n, miss)

    threshold = partial(bounds.best_threshold, runs=runs, smooth=attack.smooth)
    above = threshold(fit_first, fit_second, bound=plain)
    below = -threshold(-fit_second, -fit_first, bound=plain)
    middle = threshold(fit_first, fit_second, bound=curved)
    alarm = _Alarm.at(FALSE_ALARM, fit_first)
    if shown is None:
        one, two = work.gather(attack, runs, seed, (*path, _COUNT), score)
    else:
        one, two = score(shown[0]), score(shown[1])

    def counted(at: float, hits: Floats, false_hits: Floats, bound: Callable[[Any, Any, int], Any]) -> Counted:
        found = int(np.sum(hits > at)), int(np.sum(false_hits > at))
        return Counted(at, *found, float(bound(*found, runs)))

    curve = None if claim.mu is None and claim.odds is None else counted(middle, two, one, curved)
    edges = _edges(one, two)
    finding = Finding(
        observed=attack.observed,
        neighbours=attack.neighbours,
        runs=runs,
        fitted_on=fitted_on,
        forward=counted(above, two, one, plain),
        backward=counted(-below, -one, -two, plain),
        curve=curve,
        gaussian=None if curve is None or claim.mu is None else bounds.gaussian_epsilon(curve.bound, claim.delta),
        detected=alarm.rate(two),
        edges=edges,
        first=np.histogram(one, edges)[0],
        second=np.histogram(two, edges)[0],
        claim=claim,
        certain=certain(one, two) if attack.certain else None,
    )
    return finding, score


@dataclass(frozen=True)
class _Alarm:
    """A test of a given rate of false alarms: above the threshold always, on it sometimes, as scores may be few."""

    threshold: float
    share: float

    @classmethod
    def at(cls, rate: float, scores: Floats) -> _Alarm:
        threshold = float(np.quantile(scores, 1 - rate, method="higher"))
        above, on = float(np.mean(scores > threshold)), float(np.mean(scores == threshold))
        return cls(threshold, min(1.0, (rate - above) / on))

    def rate(self, scores: Floats) -> float:
        return float(np.mean(scores > self.threshold) + self.share * np.mean(scores == self.threshold))


def _edges(one: Floats, two: Floats) -> Floats:
    low, high = min(one.min(), two.min()), max(one.max(), two.max())
    if not high > low:
        low, high = low - 0.5, high + 0.5
    edges: Floats = np.linspace(low, high, BINS + 1)
    return edges
