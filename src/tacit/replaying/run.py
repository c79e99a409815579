"""One policy on one log: every estimate, and what to think of it."""

from __future__ import annotations

import numpy as np

from tacit._validate import probability, whole
from tacit.core.policy import Policy
from tacit.errors import BadInput
from tacit.replaying.doubly_robust import doubly_robust
from tacit.replaying.estimate import Estimate, from_influence
from tacit.replaying.fixed import judged
from tacit.replaying.ips import by_propensity
from tacit.replaying.log import Log
from tacit.replaying.rejection import by_rejection, run_over
from tacit.replaying.result import Evaluation
from tacit.replaying.single import best_single_on
from tacit.replaying.snips import self_normalised
from tacit.replaying.support import Support, log_warnings, replay_warnings, support_of
from tacit.replaying.teaching import centre_note, fitted
from tacit.simulation.best_single import BEST_SINGLE, INSTEAD

_LEAST = 10


def replay(
    config: Policy,
    log: Log,
    *,
    seed: int = 0,
    runs: int = 1,
    rounds: int | None = None,
    split: float = 0.5,
    label: str | None = None,
) -> Evaluation:
    """What the policy would have earned per round, by four estimates with 95 % intervals.

    - `replay`: the policy *while it learns*, by rejection over the whole log; `runs` of them with fresh noise, each of
      at most `rounds` accepted rounds.
    - `IPS`, `SNIPS`, `DR`: the policy *held fixed* at the view it has after learning from the first `split` of the
      rows, judged on the others. They are left out for a policy over a fixed list: it plans its own pulls, and cannot
      learn from pulls it did not plan.
    - `best single`: what always taking one arm would have earned, by IPS on the rows after the split; the arm is the
      one that earned most before it. A policy that stays below is not worth its noise.
    - `logged`: what the logging policy itself earned, on all rows.

    Noise comes from `seed`, so a result can be had again. It is computed from raw data: not private, do not publish.
    """
    if not isinstance(log, Log):
        raise BadInput(f"Expected a Log, got {type(log).__name__}. tacit.replaying.read_log reads one from a file.")
    if len(log) < _LEAST:
        raise BadInput(f"Expected a log of at least {_LEAST} rows, got {len(log)}.")
    seed, count = whole("seed", seed, low=0), whole("runs", runs)
    most = None if rounds is None else whole("rounds", rounds, low=2)
    first = max(1, min(len(log) - 2, round(probability("split", split) * len(log))))
    policy = fitted(config, log)
    done = [run_over(policy, log, seed=seed, run=run, rounds=most) for run in range(count)]
    single = best_single_on(log, first)
    estimates = [_logged(log), single, by_rejection(done)]
    warnings, notes = log_warnings(log) + replay_warnings(done, log), [*log.notes]
    if any(run.full for run in done) and most is None:
        notes.append("Replay stopped where the policy's horizon ends: later rows were not asked about.")
    notes += [*log.who(policy.person_rounds), *centre_note(policy)]
    if count == 1 and policy.guarantee.private:
        notes.append("One run, with one draw of the policy's noise: runs=10 shows how much another draw changes.")
    support: Support | None = None
    if policy.fixed_actions is None:
        fixed = judged(policy, log, first, seed=seed)
        support = support_of(fixed, log)
        estimates += [by_propensity(fixed), self_normalised(fixed), doubly_robust(fixed)]
        earned = estimates[-1].value
        if log.fixed_actions is None and earned is not None and single.value is not None and earned < single.value:
            notes.append(f"By DR the fixed policy earns less than the {BEST_SINGLE}: {INSTEAD}.")
        warnings += support.warnings()
        if fixed.learned < first:
            notes.append(f"The policy's horizon let it learn from {fixed.learned:,} of the first {first:,} rows.")
        if fixed.views == 0:
            notes.append("The fixed policy had released no view, so its choices know nothing of the log.")
    return Evaluation(
        label=policy.slug if label is None else label,
        config=config,
        guarantee=policy.guarantee.with_seed(),
        rows=len(log),
        arms=log.arms,
        dim=log.dim,
        seed=seed,
        runs=count,
        estimates=tuple(estimates),
        support=support,
        warnings=tuple(dict.fromkeys(warnings)),
        notes=tuple(notes),
    )


def _logged(log: Log) -> Estimate:
    value = float(np.mean(log.rewards))
    of = "expected reward per round of the policy that wrote the log"
    return from_influence("logged", value, log.rewards - value, len(log), "normal, from the rewards", of)
