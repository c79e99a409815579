"""Python in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Run:
    """What a process answered, and what it took."""

    answer: dict[str, Any]
    wall: float  # seconds
    cpu: float  # seconds


def run_python(code: str, *arguments: object, cache: Path | None = None) -> Run:
    """Run `code`, whose last line of output is a JSON object. `cache`: where compiled code goes."""
    environment = dict(os.environ)
    if cache is not None:
        environment["TACIT_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-c", code, *map(str, arguments)]
    before, began = os.times(), time.perf_counter()
    done = subprocess.run(command, env=environment, cwd=_ROOT, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - began, os.times()
    if done.returncode != 0:
        raise RuntimeError(f"A measured process failed with code {done.returncode}:\n{done.stderr}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Run(json.loads(done.stdout.splitlines()[-1]), wall, cpu)
