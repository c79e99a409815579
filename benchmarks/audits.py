"""An attack: runs per second in a kernel against the same runs through the learner's façade, and a default audit."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.report import Cell, Goal, Report, best_of, seconds
from tacit.auditing import audit
from tacit.auditing.attack import RELEASED
from tacit.auditing.families import all_forms, family_of
from tacit.auditing.script import Scripted

#: Seconds that the default audit of one policy may take, after compilation.
AUDIT = 60.0


def measure(quick: bool) -> Report:
    """The first form of each policy: µs per run of its strongest attack, the ratio, and seconds of a default audit."""
    report = Report("audits", "attacks in a kernel against the same runs round by round, and default audits")
    report.begin()
    runs, repeats = (500, 2) if quick else (4000, 5)
    forms: dict[str, Any] = {}
    for form in all_forms():
        forms.setdefault(form.slug, form)
    rows: list[dict[str, Cell]] = []
    for slug, config in forms.items():
        attack = family_of(type(config)).attacks(config)[0]
        row: dict[str, Cell] = {"policy": slug, "what is seen": attack.observed}
        sampler = attack.sampler
        if isinstance(sampler, Scripted) and config.fixed_actions is None and attack.observed == RELEASED:
            sampler.sample(0, 10, 1, (0,))
            _by_hand(config, sampler, 2)
            few = max(2, runs // 100)
            best = best_of(
                repeats,
                kernel=lambda sampler=sampler: seconds(lambda: sampler.sample(0, runs, 1, (1,))),  # type: ignore[misc]
                hand=lambda config=config, sampler=sampler, few=few: seconds(  # type: ignore[misc]
                    lambda: _by_hand(config, sampler, few)
                ),
            )
            row |= {"µs per run": best["kernel"] / runs * 1e6, "× faster": best["hand"] / few * runs / best["kernel"]}
        if not quick:
            audit(config, runs=200, progress=False)
            row["default audit, s"] = seconds(lambda config=config: audit(config, progress=False))  # type: ignore[misc]
        rows.append(row)
    report.table(rows)
    for row in rows:
        took = row.get("default audit, s")
        if isinstance(took, float):
            report.goal(Goal.at_most(f"{row['policy']}: default audit", AUDIT, took, " s"))
    return report


def _by_hand(config: Any, sampler: Scripted, runs: int) -> None:
    script = sampler.scripts[0]
    for run in range(runs):
        learner = config.start(seed=run)
        for offers, reward in zip(script.offers, script.rewards, strict=True):
            learner.learn(offers[0], float(np.clip(reward, -1, 1)))
