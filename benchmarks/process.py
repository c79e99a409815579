"""Python in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parent.parent


def run_python(code: str, *arguments: object, cache: Path | None = None) -> tuple[dict[str, Any], float]:
    """The JSON object that `code` printed last, and the wall time of its process. `cache`: where compiled code goes."""
    environment = dict(os.environ)
    if cache is not None:
        environment["TACIT_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-c", code, *map(str, arguments)]
    began = time.perf_counter()
    done = subprocess.run(command, env=environment, cwd=_ROOT, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - began
    if done.returncode != 0:
        raise RuntimeError(f"A measured process failed with code {done.returncode}:\n{done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer, wall
