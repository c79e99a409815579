"""`python -m benchmarks.serve`: throughput, latency, memory, start. On loopback only; it ends by itself."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Goal, Report, load, machine
from benchmarks.serve.load import Outcome, closed_loop, open_loop, request

ACTIONS, DIM, CLIENTS = 25, 10, 32
_STARTS = 7
_PATH = "/v1/deployments/bench/decisions"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve")
    parser.add_argument("--quick", action="store_true", help="shorter runs, rougher numbers")
    parser.add_argument("--decisions", type=int, default=1_000_000, help="of the memory run (default: 1,000,000)")
    parsed = parser.parse_args()
    print("  ".join(f"{name}: {value}" for name, value in machine().items()))
    seconds, turns = (2.0, 2) if parsed.quick else (6.0, 3)
    with tempfile.TemporaryDirectory() as folder, _constant() as constant:
        key = Path(folder, "key")
        key.write_text("11" * 32)
        with _service(Path(folder, "tacit.db"), key) as (service, pid, _):
            _throughput(service, constant, seconds, turns)
            _memory(service, pid, 20_000 if parsed.quick else parsed.decisions)
        _start(Path(folder, "tacit.db"), key)
    print(f"\nload: {load()} after")
    return 0


def _throughput(service: int, constant: int, seconds: float, turns: int) -> None:
    report = Report(
        "serve",
        f"requests per second over loopback, {CLIENTS} clients; decisions of {ACTIONS} actions x {DIM} features; "
        "SQLite, sealed, every answer durable",
    )
    report.begin()
    bodies = _bodies()
    best: dict[str, Outcome] = {}
    for _ in range(turns):
        for name, port in (("constant", constant), ("service", service)):
            asks = (request("POST", _PATH, body) for body in itertools.cycle(bodies))
            made = asyncio.run(closed_loop(port, asks, CLIENTS, seconds, keep=name == "service"))
            ids = [json.loads(body)["decision"] for body in made.bodies] if name == "service" else ["0" * 32] * 200_000
            rewards = (request("PUT", f"{_PATH}/{one}/reward", b'{"value": 0.5}') for one in ids)
            paid = asyncio.run(closed_loop(port, rewards, CLIENTS, seconds))
            for what, found in (("decisions", made), ("rewards", paid)):
                if found.failures:
                    raise SystemExit(f"{found.failures} of {found.answers} {what} failed")
                place = f"{name}, {what}"
                if place not in best or found.per_second > best[place].per_second:
                    best[place] = found
    report.table(
        [
            {
                "what": place,
                "requests/s": round(found.per_second),
                "p50 ms": 1000 * found.quantile(0.5),
                "p99 ms": 1000 * found.quantile(0.99),
            }
            for place, found in best.items()
        ]
    )
    for what, share in (("decisions", 60), ("rewards", 40)):
        ratio = 100 * best[f"service, {what}"].per_second / best[f"constant, {what}"].per_second
        report.goal(Goal.at_least(f"{what} against the constant", share, ratio, " %"))
    half = best["service, decisions"].per_second / 2
    asks = (request("POST", _PATH, body) for body in itertools.cycle(bodies))
    found = asyncio.run(open_loop(service, asks, half, seconds))
    report.note(f"at {half:,.0f} decisions per second: p50 {1000 * found.quantile(0.5):.2f} ms")
    report.goal(Goal.at_most("p99 at half of the maximum", 20, 1000 * found.quantile(0.99), " ms"))


def _memory(port: int, pid: int, decisions: int) -> None:
    report = Report("memory", f"resident MB of the service over {decisions:,} decisions, each rewarded")
    report.begin()
    bodies, rows = _bodies(), []
    for part in range(5):
        asks = (request("POST", _PATH, body) for body in itertools.cycle(bodies))
        made = asyncio.run(closed_loop(port, asks, CLIENTS, 3600, keep=True, most=decisions // 5))
        ids = [json.loads(body)["decision"] for body in made.bodies]
        paid = asyncio.run(
            closed_loop(
                port, (request("PUT", f"{_PATH}/{one}/reward", b'{"value": 0.5}') for one in ids), CLIENTS, 3600
            )
        )
        if made.failures or paid.failures:
            raise SystemExit("some requests failed")
        rows.append({"decisions": (part + 1) * (decisions // 5), "MB": _resident(pid)})
    report.table(rows)
    report.goal(Goal.at_most("growth over the last four fifths", 10, rows[-1]["MB"] - rows[0]["MB"], " MB"))


def _start(store: Path, key: Path) -> None:
    report = Report("start", "seconds from the start of the process to the first decision, with a warm cache")
    report.begin()
    found = []
    for _ in range(_STARTS):  # one says as much about the machine's other work as about the service
        with _service(store, key, create=False) as (_, _, seconds):
            found.append(seconds)
    report.note(f"{_STARTS} starts: {', '.join(f'{one:.2f}' for one in sorted(found))} s")
    report.goal(Goal.at_most("start to first decision, median", 3, statistics.median(found), " s"))


def _bodies() -> list[bytes]:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(64):
        features = rng.uniform(-0.3, 0.3, (ACTIONS, DIM)).round(6).tolist()
        actions = [{"id": f"action-{place}", "features": row} for place, row in enumerate(features)]
        found.append(json.dumps({"actions": actions}, separators=(",", ":")).encode())
    return found


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


@contextmanager
def _constant() -> Iterator[int]:
    port = _free_port()
    with _process([sys.executable, "-m", "benchmarks.serve.constant", str(port)]):
        _until(lambda: _asked(port, "GET", "/") is not None)
        yield port


@contextmanager
def _service(store: Path, key: Path, *, create: bool = True) -> Iterator[tuple[int, int, float]]:
    port = _free_port()
    began = time.perf_counter()
    command = [
        sys.executable,
        "-m",
        "tacit",
        "serve",
        "--store",
        str(store),
        "--key-file",
        str(key),
        "--port",
        str(port),
    ]
    with _process(command) as process:
        _until(lambda: _asked(port, "GET", "/health") is not None)
        if create:
            asked = {
                "name": "bench",
                "policy": "joint-linucb",
                "parameters": {"dim": DIM},
                "budget": {"epsilon": 1, "delta": 1e-6},
            }
            made = _asked(port, "POST", "/v1/deployments", json.dumps(asked).encode(), timeout=300)
            if made is None or made[0] != 201:
                raise SystemExit(f"no deployment: {made}")
        answer = _asked(port, "POST", _PATH, _bodies()[0])
        if answer is None or answer[0] != 201:
            raise SystemExit(f"no decision: {answer}")
        yield port, process.pid, time.perf_counter() - began


@contextmanager
def _process(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)


def _asked(
    port: int, method: str, path: str, body: bytes | None = None, timeout: float = 10
) -> tuple[int, bytes] | None:
    asked = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", body, {"Content-Type": "application/json"}, method=method
    )
    try:
        with urllib.request.urlopen(asked, timeout=timeout) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as problem:
        return problem.code, problem.read()
    except OSError:
        return None


def _until(ready: Any) -> None:
    for _ in range(3000):
        if ready():
            return
        time.sleep(0.01)
    raise SystemExit("the server did not start")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found


if __name__ == "__main__":
    sys.exit(main())
