"""Replay by rejection: run the learner over the log, and keep the rounds in which it wanted what was done."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit._types import Floats, Ints
from tacit.core.policy import Policy
from tacit.replaying.choosing import Chooser, same_view
from tacit.replaying.estimate import Estimate, nothing, student, wilson
from tacit.replaying.log import Log
from tacit.replaying.teaching import rows_of, started, teach

NAME = "replay"
_WHILE = "expected reward per round of the policy while it learns"
_ONE = _WHILE + ", over {rounds:,} accepted rounds, at the views of this run"
_MANY = _WHILE + ", over about {rounds:,} accepted rounds, on average over its noise ({runs} runs)"

#: Which stream of a seed thins the log.
_THINNING = 17


@dataclass(frozen=True, eq=False)
class Run:
    """One run of a learner over a log."""

    rows: Ints  #: accepted, in their order
    rewards: Floats  #: of these
    asked: int  #: rows that were left after thinning and shown to the learner
    full: bool  #: stopped because the learner, or the caller, wanted no more rounds


def thinned(log: Log, seed: int, run: int) -> Ints:
    """The rows that make the log uniform: each is kept with probability (smallest propensity) / (its propensity).

    Every action is then as likely to be left as every other, whatever the context: P(action taken and kept) is the
    smallest propensity. In a uniform log that is every row.
    """
    rng = np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=(run, _THINNING)))
    keep = rng.random(len(log)) * log.propensities <= log.propensities.min()
    return np.flatnonzero(keep).astype(np.int64)


def run_over(config: Policy, log: Log, *, seed: int, run: int = 0, rounds: int | None = None) -> Run:
    """Show the learner one row after the other. Where it chooses what the log did, it is told the reward, and the round
    counts; any other row is as if it had never been.

    On a uniform log the rounds that count have the law of rounds in which the learner itself had been at work: whether
    a row is kept depends on the logged action, which was drawn without a look at the learner or at the reward.

    Li, Chu, Langford and Wang (2011), Theorem 1, Algorithm 2 (a log of finite length: the number of rounds is random,
    and so a little depends on how it went; with `rounds` it is fixed).
    """
    learner, chooser = started(config, seed, run), Chooser(config, log, seed, run)
    kept = thinned(log, seed, run)
    most = min(limit for limit in (chooser.limit, rounds, len(kept)) if limit is not None)
    accepted: list[int] = []
    view, at, size = learner.view, 0, log.arms
    while at < len(kept) and len(accepted) < most:
        # Rows ahead are chosen for at this view. What follows a change of the view is thrown away and chosen again.
        rows = kept[at : at + min(size, log.block_size)]
        hits = np.flatnonzero(chooser.choose(view, rows) == log.actions[rows])
        at, size = at + len(rows), 2 * size
        for place, (row, x) in zip(hits.tolist(), rows_of(config, log, rows[hits]), strict=True):
            teach(learner, log, row, x)
            accepted.append(row)
            if len(accepted) == most:
                break
            fresh = learner.view
            if not same_view(fresh, view):
                view, at, size = fresh, at - len(rows) + place + 1, log.arms
                break
    found = np.array(accepted, np.int64)
    return Run(found, log.rewards[found], len(kept), len(accepted) == most and most < len(kept))


def by_rejection(runs: list[Run]) -> Estimate:
    """The mean reward of accepted rounds.

    One run: it estimates the mean, over the rounds that counted, of what the policy was expected to earn at the view it
    had then. The rewards around it are martingale differences, so their spread gives the interval: Wilson's where all
    rewards are 0 or 1, Student's elsewhere; both a little too long, as what changes while the policy learns counts as
    spread. How much another run of the same policy would differ is not in it.

    Several runs, each with fresh noise and fresh rejections: the variance is that of one run's rewards, since all runs
    read one log, plus the variance between the runs over their number.
    """
    useful = [run for run in runs if len(run.rewards) > 1]
    if not useful:
        return nothing(NAME, _WHILE)
    rounds = round(float(np.mean([len(run.rewards) for run in useful])))
    if len(useful) == 1:
        rewards, of = useful[0].rewards, _ONE.format(rounds=rounds)
        value = float(rewards.mean())
        if np.all((rewards == 0) | (rewards == 1)):
            low, high = wilson(int(rewards.sum()), rounds)
            return Estimate(NAME, value, low, high, rounds, "Wilson", of)
        reach = student((float(rewards.var(ddof=1)) / rounds,), (rounds - 1,))
        return Estimate(NAME, value, value - reach, value + reach, rounds, "Student's t", of)
    means = np.array([run.rewards.mean() for run in useful])
    within = float(np.mean([run.rewards.var(ddof=1) / len(run.rewards) for run in useful]))
    between = float(means.var(ddof=1)) / len(useful)
    value, reach = float(means.mean()), student((within, between), (rounds - 1, len(useful) - 1))
    of = _MANY.format(rounds=rounds, runs=len(useful))
    return Estimate(NAME, value, value - reach, value + reach, rounds, "Student's t, within and between runs", of)
