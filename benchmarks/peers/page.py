"""The table in markdown, with what made it and what in it cannot be compared."""

from __future__ import annotations

import datetime
import math
import os
import platform
import statistics
import textwrap

from benchmarks.peers.install import pins
from benchmarks.peers.measuring import Found, Measured, Row
from benchmarks.peers.player import version
from benchmarks.peers.worlds import ARMS, DIM, GAP, WORLDS

_COLUMNS = ("library", "policy", "settings", "µs per round", "× first row", "regret", "in common with tacit's LinUCB")

_NOT_COMPARABLE = """\
## What is not comparable

- **Privacy.** None of the four offers any: each of their choices depends on everybody's exact data. Their rows compare
  with tacit's `LinUCB`, which is not private either. What `JointLinUCB` adds to the regret is what it is for.
- **Width.** Without privacy tacit's default is one spread of the estimate, without a theorem, as that of MABWiser and
  contextualbandits at α = 1: there the same formula is computed, and where ties fall the same way the same regret comes
  out. contextualbandits breaks ties of unseen arms at random. The width of the theorem grows with the rounds and holds
  with the declared probability; it is larger here and pays more for exploring.
- **river.** Its α and β belong to a prior and to the noise; no option scales the bound, which counts the noise of the
  next reward as well. Its row is at the defaults only.
- **Vowpal Wabbit.** It takes gradient steps with an adaptive rate instead of solving a regression, learns from costs
  (here minus the reward, with the range declared), and draws its choice from probabilities. Its work per step grows
  with the features that are not zero, and it is made for millions of them: neither world shows that. Much of its time
  here is reading text, twice a round. Each rule is at its defaults. How rewards become costs was chosen, in its favour
  and on a seed that is not reported: scaled to 0 … 1, its regret was higher with every rule in both worlds.
- **The sphere's actions** have features of their own and share one parameter. MABWiser, river and contextualbandits
  model arms that share a context and no parameter. Two of them can be brought to it by a detour, which they were not
  made for and which is in their times: a single arm, whose upper bound is asked for at every action.
- **The digits' classes** are what those three are made for: they solve one system of 9 features for the class that was
  taken. So does tacit with `arms=10`. In its first rows it is given one vector of 90 features per class and does not
  know that it consists of blocks; it solves the system of 90. The estimate is the same, the work is not.
- **Compiled** rows are tacit's simulation, with drawing the world in its time, which the other rows leave out. None of
  the four has a counterpart. A service calls from Python.
- **Batches.** All are asked and taught round by round. MABWiser and contextualbandits check, copy and dispatch on every
  call, and can take many rows in one: whoever need not learn at once pays less per row than the table says.
- **Memory, start-up, compilation** are not in the table. tacit compiles a policy on first use, for seconds; that falls
  into the rounds before the clock starts.
"""


def render(measured: Measured, load: float | None) -> str:
    """The whole page."""
    plan = measured.plan
    trials = min(found.trials for found in measured.worlds)
    lines = [
        "# Next to its peers",
        "",
        *_paragraph(
            "`make bench-peers` made this page. It installs the peers in an environment of its own, draws the rounds "
            "beforehand, and has everybody play the same ones: the same actions, and the same luck of every action, in "
            "every trial."
        ),
        *_paragraph(
            f"{datetime.date.today().isoformat()}, {os.cpu_count()} cores"
            + (f", load {load:.1f} before the start" if load is not None else "")
            + f". {_versions()}."
        ),
        *_paragraph(
            f"{_trials(measured)} of {plan.rounds:,} rounds, seeds {plan.seed} to {plan.seed + max(trials, 1) - 1}. "
            f"Times are medians over the trials, in which all take turns. The first {plan.warm:,} rounds of each are "
            "not timed (they hold compilation) but count for regret; compiled runs are timed from their first round, "
            "after compilation. Inputs are laid out in each library's own form before the clock starts; BLAS runs on "
            "one thread. Ratios are taken within a trial, against tacit's `LinUCB` called from Python. Read the "
            "ratios: times move with the machine. Regret is the mean over trials ± its standard error."
        ),
    ]
    for found in measured.worlds:
        lines += _world(found)
    if measured.longer:
        lines += _longer(measured)
    return "\n".join(lines) + "\n" + _NOT_COMPARABLE


def _versions() -> str:
    named = ["tacit", *pins(), "numpy", "numba"]
    known = [f"{name} {version(name) or 'missing'}" for name in named]
    return ", ".join([f"Python {platform.python_version()}", *known])


def _trials(measured: Measured) -> str:
    done = min(found.trials for found in measured.worlds)
    return f"{done} of {measured.plan.trials} trials (stopped by hand)" if measured.interrupted else f"{done} trials"


def _world(found: Found) -> list[str]:
    if found.world == "sphere":
        about = f"`sphere`: d = {DIM}, K = {ARMS} fresh actions a round, gap {GAP}, rewards ±1."
    else:
        world = WORLDS[found.world]
        about = (
            "`table`, bundled `digits`: choose one of 10 classes, reward 1 if right; 64 pixels projected at random to "
            f"8, and a constant: 9 features a row, {world.features} an action."
        )
    lines = [f"## {found.world.capitalize()}", "", *_paragraph(about)]
    if not found.trials:
        return [*lines, "No trial was complete.", ""]
    lines += ["| " + " | ".join(_COLUMNS) + " |", "|---|---|---|---:|---:|---:|---|"]
    lines += ["| " + " | ".join(_cells(row)) + " |" for row in found.rows]
    lines.append(f"| – | evenly at random | expected |  |  | {_number(statistics.fmean(found.uniform))} | |")
    agreeing = _agreeing(found)
    same = (
        "Compiled and from Python, seeded, tacit had the same regret to the bit in every trial."
        if found.same_bits
        else "Compiled and from Python, tacit did **not** have the same regret: that is a fault."
    )
    return [*lines, "", *_paragraph(f"{same} {agreeing}".strip())]


def _agreeing(found: Found) -> str:
    """Who had, trial by trial, the regret of the first row: two libraries that agree check each other."""
    first, said = found.rows[0], []
    for row in found.rows[1:]:
        one = row.contestant
        if not row.compiled and one.policy == "LinUCB" and row.regrets:
            count = sum(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(first.regrets, row.regrets, strict=False))
            if count:
                said.append(f"{one.library} ({one.settings}) in {count}")
    return f"Of {found.trials} trials, the first row's regret was also that of {', of '.join(said)}." if said else ""


def _cells(row: Row) -> list[str]:
    one = row.contestant
    policy = f"`{one.policy}`" + (", compiled, world included" if row.compiled else "")
    said = one.compares if row.problem is None else row.problem.replace("|", "/").replace("\n", " ")
    if not row.times:
        return [one.library, policy, one.settings, "–", "–", "–", said]
    error = row.regret_error
    regret = _number(row.regret) + (f" ± {_number(error)}" if error is not None else "")
    took, ratio = statistics.median(row.times), statistics.median(row.ratios)
    return [one.library, policy, one.settings, _number(took), _number(ratio), regret, said]


def _longer(measured: Measured) -> list[str]:
    names = list(measured.longer[0].shares)
    lines = [
        "## With more rounds",
        "",
        *_paragraph(
            "What privacy costs depends on how many rounds there are. The share that is left of the regret of choosing "
            f"evenly at random, on the sphere, compiled, mean of {measured.plan.trials} trials:"
        ),
        "| rounds | " + " | ".join(names) + " |",
        "|---:|" + "---:|" * len(names),
    ]
    for one in measured.longer:
        lines.append(f"| {one.rounds:,} | " + " | ".join(f"{100 * one.shares[name]:.2g} %" for name in names) + " |")
    return [*lines, ""]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _paragraph(text: str) -> list[str]:
    """Filled as the other pages are, with an empty line after it."""
    return [*textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False), ""]
