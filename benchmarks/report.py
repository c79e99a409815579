"""Tables, goals and the facts of the machine."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numba
import numpy as np

Cell = str | int | float | None


@dataclass(frozen=True)
class Goal:
    """What a number should be, what it is, and whether that will do."""

    text: str
    value: float
    met: bool
    unit: str = ""

    @classmethod
    def at_least(cls, what: str, low: float, value: float, unit: str = "") -> Goal:
        """`value` should be `low` or more."""
        return cls(f"{what} >= {_short(low)}{unit}", value, value >= low, unit)

    @classmethod
    def at_most(cls, what: str, high: float, value: float, unit: str = "") -> Goal:
        """`value` should be `high` or less."""
        return cls(f"{what} <= {_short(high)}{unit}", value, value <= high, unit)

    def __str__(self) -> str:
        return f"goal  {self.text}: {_short(self.value)}{self.unit}  {'met' if self.met else 'not met'}"


@dataclass
class Report:
    """One benchmark's numbers, printed as they come."""

    name: str
    title: str
    tables: list[list[dict[str, Cell]]] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Say what is being measured."""
        print(f"\n{self.name}: {self.title}", flush=True)

    def table(self, rows: Sequence[Mapping[str, Cell]]) -> None:
        """Print rows under the names of their columns, and keep them."""
        self.tables.append([dict(row) for row in rows])
        names = list(dict.fromkeys(name for row in rows for name in row))
        lines = [names, *([_shown(row.get(name)) for name in names] for row in rows)]
        widths = [max(len(line[place]) for line in lines) for place in range(len(names))]
        for line in lines:
            first, *rest = (
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            print("  ".join(["", first, *rest]).rstrip())
        print(flush=True)

    def note(self, text: str) -> None:
        """Print a line, and keep it."""
        self.notes.append(text)
        print(f"  {text}", flush=True)

    def goal(self, goal: Goal) -> None:
        """Print a goal, and keep it."""
        self.goals.append(goal)
        print(goal, flush=True)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        goals = [{"goal": goal.text, "value": goal.value, "unit": goal.unit, "met": goal.met} for goal in self.goals]
        return {"title": self.title, "tables": self.tables, "goals": goals, "notes": self.notes}


def machine() -> dict[str, Cell]:
    """What the numbers depend on."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load": load(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def load() -> float | None:
    """How many processes wanted to run, on average over the last minute."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def best_of(repeats: int, **tasks: Callable[[], float]) -> dict[str, float]:
    """The smallest number that each task returned. Tasks take turns, so that a busy spell hits all of them."""
    best = dict.fromkeys(tasks, float("inf"))
    for _ in range(repeats):
        for name, task in tasks.items():
            best[name] = min(best[name], task())
    return best


def seconds(task: Callable[[], object]) -> float:
    """Wall time of one call."""
    began = time.perf_counter()
    task()
    return time.perf_counter() - began


def _cpu() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def _short(value: float) -> str:
    """Three digits, but no fewer than stand before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _shown(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return _short(cell)
    return f"{cell:,}" if isinstance(cell, int) else cell
