"""The frontier on a log: what each policy would earn per round, had it learned from the log at every ε.

Every policy learns from the first part of the log and is judged, held fixed, on the other: doubly robust, on the same
rows for all. The differences of two policies are then sums over rows, and a row in which they choose the same cancels.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from tacit._types import Floats, Ints
from tacit.core.policy import Policy
from tacit.errors import BadInput
from tacit.frontiers.budgets import Asked
from tacit.frontiers.choices import ChoiceStore, choices_after, marks_of
from tacit.frontiers.measures import ESTIMATED, WIDTH, Value
from tacit.frontiers.result import Frontier, Learning, Level, Point, Setting
from tacit.frontiers.runs import stopped
from tacit.frontiers.shares import Share, first_to_stay
from tacit.policies.linucb import LinUCB
from tacit.replaying.doubly_robust import predicted
from tacit.replaying.fixed import Judged
from tacit.replaying.log import Log
from tacit.replaying.single import always, best_arm
from tacit.replaying.support import log_warnings, support_of
from tacit.replaying.teaching import centre_note, fitted
from tacit.simulation.best_single import BEST_SINGLE

#: The part of the log that is learned from.
SPLIT = 0.5
#: Fewer rows have nothing to say.
_LEAST = 20


@dataclass(frozen=True, eq=False)
class _Judge:
    """The rows that nobody has learned from, and a prediction of every arm's reward in them from other rows."""

    rest: Log
    rewards: Floats  # (n, K): predicted

    @classmethod
    def of(cls, rest: Log) -> _Judge:
        columns = [predicted(rest, np.full(len(rest), arm, np.int64)) for arm in range(rest.arms)]
        return cls(rest, np.column_stack(columns))

    def terms(self, chosen: Ints) -> Floats:
        """Of each row; their mean is the doubly robust estimate."""
        at_chosen = self.rewards[np.arange(len(self.rest)), chosen]
        weights = Judged(self.rest, chosen, 0, 0).weights
        found: Floats = at_chosen + weights * (self.rest.rewards - at_chosen)
        return found

    def evenly(self) -> Floats:
        """The terms of a policy to which all arms are alike."""
        every = np.arange(len(self.rest))
        missed = self.rest.rewards - self.rewards[every, self.rest.actions]
        found: Floats = self.rewards.mean(axis=1) + missed / (self.rest.arms * self.rest.propensities)
        return found


@dataclass(frozen=True, eq=False)
class _Judged:
    """One policy in all its runs."""

    chosen: Ints  # (runs, n): in the end
    rows: Floats  # (n,): terms in the end, averaged over runs
    runs: Floats  # (runs,): the estimate of each run
    path: Floats  # (looks,): the estimate on the way, averaged over runs

    @property
    def value(self) -> Value:
        return Value(float(self.rows.mean()), _error(self.rows, self.runs))


def trace_logged(
    asked: Sequence[Asked],
    log: Log,
    *,
    epsilons: Sequence[float],
    delta: float,
    runs: int,
    seed: int,
    without_privacy: Any,
    folder: Path | None,
    progress: bool | None,
) -> Frontier:
    """All policies at all promises, `runs` times each with fresh noise; without privacy there is none, and one run."""
    if len(log) < _LEAST:
        raise BadInput(f"Expected a log of at least {_LEAST} rows, got {len(log)}.")
    first = round(SPLIT * len(log))
    best = LinUCB.from_dict(log.shape(LinUCB, {})) if without_privacy is None else without_privacy
    private = [
        (one.label, epsilon, _fitted(_shaped(one, log).at(epsilon, delta, first), log))
        for one in asked
        for epsilon in epsilons
    ]
    every = [(_fitted(best, log), 1), *((config, runs) for _, _, config in private)]
    choices = _choose_all(every, log, first, seed, folder, progress)
    judge = _Judge.of(log.part(first, len(log)))
    top, *others = [_judged(judge, found) for found in choices]
    bottom = judge.evenly()
    arm = best_arm(log, first)
    single = judge.terms(always(judge.rest, arm))
    # Without contexts that differ the best single action is all there is to find.
    optimal = log.fixed_actions is not None
    floor = single if single.mean() > bottom.mean() and not optimal else bottom
    marks = marks_of(first)

    def point(label: str, epsilon: float, config: Policy, found: _Judged) -> Point:
        shares = _shares(found.path, top, floor)
        return Point(
            label=label,
            asked=epsilon,
            true=config.guarantee.epsilon_at(delta),
            config=config,
            guarantee=config.guarantee.with_seed(),
            value=found.value,
            share=_share(found, top, floor),
            needed=None if shares is None else first_to_stay(marks, shares),
            learning=Learning(marks, found.path),
        )

    points = tuple(
        point(label, epsilon, config, found) for (label, epsilon, config), found in zip(private, others, strict=True)
    )
    rest = judge.rest
    return Frontier(
        points=points,
        without_privacy=Level(every[0][0].slug, top.value, learning=Learning(marks, top.path)),
        evenly=Level("evenly", Value(float(bottom.mean()), _error(bottom))),
        others=(Level("as logged", Value(float(rest.rewards.mean()), _error(rest.rewards))),),
        delta=delta,
        setting=Setting(
            place="log",
            rounds=first,
            unit="rows",
            trials=runs,
            seed=seed,
            measure=ESTIMATED,
            facts={"log": {"rows": len(log), "arms": log.arms, "features": log.dim, "model": log.model}},
            notes=(*log.notes, *_notes(log, first, runs, [config for _, _, config in private])),
            warnings=_warnings(
                log, judge, [(every[0][0].slug, top), *zip(_names(private), others, strict=True)], floor
            ),
        ),
        raw=True,
        single=Level(BEST_SINGLE, Value(float(single.mean()), _error(single)), optimal=optimal),
        single_note=f"The {BEST_SINGLE} is always arm {arm}, which earned most by inverse propensities in the first "
        f"{first:,} rows; like the policies it is judged on the other {len(judge.rest):,}.",
    )


def _shaped(one: Asked, log: Log) -> Asked:
    """The policy with the number of features of this log, and of arms, where it asks for them."""
    return Asked(one.label, one.kind, {**log.shape(one.kind, one.options), **one.options})


def _fitted(config: Any, log: Log) -> Policy:
    if isinstance(config, Policy) and config.list_option is not None:
        raise BadInput(
            f"Expected a policy that is shown its actions, got {config.slug}: it plans its own pulls, and cannot learn "
            "from pulls that another policy planned. `tacit replay` estimates it by rejection."
        )
    return fitted(config, log)


def _choose_all(
    every: Sequence[tuple[Policy, int]], log: Log, first: int, seed: int, folder: Path | None, progress: bool | None
) -> list[list[Ints]]:
    """The choices of each policy in each run: found, or made and kept."""
    store = ChoiceStore(folder, log, first)
    found: list[list[Ints]] = [[] for _ in every]
    done, count = 0, sum(runs for _, runs in every)
    bar = tqdm(
        total=count * first,
        unit=" rows",
        unit_scale=True,
        disable=not (sys.stderr.isatty() if progress is None else progress),
        leave=False,
        file=sys.stderr,
        mininterval=0.2,
    )

    def forward(rows: int) -> None:
        bar.update(rows)

    try:
        with bar:
            for place, (config, runs) in enumerate(every):
                for run in range(runs):
                    bar.set_description_str(f"{done} of {count} runs; {config.slug}")
                    chosen = store.find(config, seed, run)
                    if chosen is None:
                        chosen = choices_after(config, log, first, seed=seed, run=run, step=forward)
                        store.keep(config, seed, run, chosen)
                    else:
                        bar.update(first)
                    found[place].append(chosen)
                    done += 1
    except KeyboardInterrupt:
        raise stopped(done, count, folder) from None
    return found


def _judged(judge: _Judge, runs: Sequence[Ints]) -> _Judged:
    rows, path, ends = np.zeros(len(judge.rest)), np.zeros(len(runs[0])), []
    for chosen in runs:
        terms = [judge.terms(line) for line in chosen]
        rows += terms[-1] / len(runs)
        path += np.array([term.mean() for term in terms]) / len(runs)
        ends.append(terms[-1].mean())
    return _Judged(np.array([chosen[-1] for chosen in runs]), rows, np.array(ends), path)


def _error(rows: Floats, runs: Floats | None = None) -> float:
    """From the spread over rows, which all runs share, and the spread between runs over their number."""
    square = float(rows.var(ddof=1)) / len(rows)
    if runs is not None and len(runs) > 1:
        square += float(runs.var(ddof=1)) / len(runs)
    return math.sqrt(square)


def _share(found: _Judged, top: _Judged, floor: Floats) -> Share:
    """The ratio of two means over the same rows, by the delta method: a row moves it by (gain − share·possible)/mean
    possible gain. Between runs the gain alone varies."""
    possible = top.rows - floor
    total = float(possible.mean())
    if not total > 0:
        return Share.unknown()
    gained = found.rows - floor
    share = float(gained.mean()) / total
    return Share.around(share, _error((gained - share * possible) / total, found.runs / total))


def _shares(path: Floats, top: _Judged, floor: Floats) -> Floats | None:
    """What is kept on the way, of what is gained without privacy in the end; None where nothing is."""
    total = float((top.rows - floor).mean())
    return (path - floor.mean()) / total if total > 0 else None


def _names(private: Sequence[tuple[str, float, Policy]]) -> list[str]:
    return [f"{label} at {epsilon:g}" for label, epsilon, _ in private]


def _warnings(log: Log, judge: _Judge, every: Sequence[tuple[str, _Judged]], floor: Floats) -> tuple[str, ...]:
    """What the log has too little to say about: of the log, of the non-private gain, and of each policy's choices."""
    said = [*log_warnings(log)]
    possible = every[0][1].rows - floor
    if abs(float(possible.mean())) < WIDTH * _error(possible):
        said.append(
            "What can be gained without privacy cannot be told from nothing on this log: shares of it mean little. Use "
            "a longer log."
        )
    by_sentence: dict[str, list[str]] = {}
    for label, found in every:
        for chosen in found.chosen[:1]:  # one run stands for all: they differ in noise alone
            for sentence in support_of(Judged(judge.rest, chosen, 0, 0), log).warnings():
                by_sentence.setdefault(sentence, []).append(label)
    for sentence, labels in by_sentence.items():
        said.append(f"{', '.join(labels)}: {sentence}")
    return tuple(said)


def _notes(log: Log, first: int, runs: int, configs: Sequence[Policy]) -> list[str]:
    found = [
        f"Policies learned from the first {first:,} rows, told the logged actions and rewards as they are, and were "
        f"judged on the other {len(log) - first:,}. Rows are taken to be independent.",
        "Rows needed are looked for at a half, a quarter, … of the first part: the first look from which on a policy "
        "is worth 90 % of what the one without privacy gains in the end.",
    ]
    if runs == 1:
        found.append("One run, with one draw of the noise: more runs show how much another draw changes.")
    for limit in dict.fromkeys(config.person_rounds for config in configs):
        found += log.who(limit)
    for config in configs:
        found += centre_note(config)
    return list(dict.fromkeys(found))
