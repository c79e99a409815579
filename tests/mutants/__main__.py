"""Apply each slip of the table to a copy of the sources, and run the tests that must fail.

    python -m tests.mutants                        all of them, two at a time
    python -m tests.mutants --only tree            those with this in their name
    python -m tests.mutants --resume               only those that a last run has not killed
    python -m tests.mutants --write docs/results/mutants.md

A mutant is *killed* when a test fails by what it asserts, *survived* when all pass, and *broken* when it could not be
tried: the tests fail without it too, or end in an error that any mistake would end in. Kernels run as plain Python, to
the same bits and without compiling; those that say so are compiled, into a cache of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import cache_from_source
from pathlib import Path
from queue import Queue
from typing import NamedTuple
from xml.etree import ElementTree

from tests.mutants.table import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]
#: Seconds that the tests of one mutant may take.
PATIENCE = 120.0
#: What a slip that is no slip of privacy ends in: a name that is not there, a call that does not fit.
MISTAKES = ("ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "NameError", "UnboundLocalError")
MISTAKES += ("AttributeError", "TypeError", "numba.")
#: The verdicts of the last run, for `--resume`.
LAST = Path(tempfile.gettempdir()) / "tacit-mutants.json"


class Verdict(NamedTuple):
    """What became of a mutant."""

    name: str
    what: str  # killed, survived or broken
    why: str  # the test that failed, or what went wrong
    seconds: float


class Run(NamedTuple):
    """What pytest said."""

    failed: str | None  # the first test that failed
    message: str
    errors: str | None  # what kept tests from running
    code: int


class Copies:
    """Copies of the sources, one for each mutant that is tried at a time: bytecode that fits is kept in between."""

    def __init__(self, folder: Path, count: int) -> None:
        self._free: Queue[Path] = Queue()
        for place in range(count):
            copy = folder / str(place)
            shutil.copytree(ROOT / "src" / "tacit", copy / "tacit", ignore=shutil.ignore_patterns("__pycache__"))
            self._free.put(copy)

    @contextmanager
    def one(self, mutant: Mutant | None = None) -> Iterator[Path]:
        """A copy, with the slip in it for as long as it is used."""
        copy = self._free.get()
        try:
            if mutant is None:
                yield copy
                return
            file = copy / "tacit" / mutant.file
            text = file.read_text("utf-8")
            if text.count(mutant.old) != 1:
                raise ValueError(f"expected the old text once in {mutant.file}, got it {text.count(mutant.old)} times")
            try:
                _write(file, text.replace(mutant.old, mutant.new))
                yield copy
            finally:
                _write(file, text)
        finally:
            self._free.put(copy)


def _write(file: Path, text: str) -> None:
    file.write_text(text, "utf-8")
    Path(cache_from_source(str(file))).unlink(missing_ok=True)  # written within one second it might pass for this one


def pytest(sources: Path, tests: Sequence[str], compiled: bool, *, stop: bool = True) -> Run:
    """Run tests on a copy of the sources."""
    report = sources / "report.xml"
    report.unlink(missing_ok=True)
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        "PYTHONPATH": os.pathsep.join([str(sources), str(ROOT)]),
        "TACIT_CACHE_DIR": str(sources / "cache"),
        "NUMBA_DISABLE_JIT": "0" if compiled else "1",
    }
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line", f"--junitxml={report}"]
    command = [sys.executable, "-m", "pytest", *options, *(["-x"] if stop else []), *tests]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE * (1 if stop else 20)
        )
    except subprocess.TimeoutExpired:
        return Run(None, "", f"not done after {PATIENCE:.0f} s", -1)
    if not report.exists():
        return Run(None, "", done.stdout[-300:] + done.stderr[-300:], done.returncode)
    failed, message, errors = None, "", None
    for case in ElementTree.parse(report).iter("testcase"):
        for problem in case:
            name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
            if problem.tag == "failure" and failed is None:
                failed, message = name, problem.get("message", "")
            elif problem.tag == "error" and errors is None:
                errors = f"{name}: {problem.get('message', '')}"
    return Run(failed, message, errors, done.returncode)


def judged(mutant: Mutant, run: Run, seconds: float) -> Verdict:
    """What a run says of its mutant."""
    if run.errors is not None:
        return Verdict(mutant.name, "broken", " ".join(run.errors.split())[:200], seconds)
    if run.failed is not None:
        mistake = next((kind for kind in MISTAKES if run.message.startswith(kind)), None)
        if mistake is not None:
            return Verdict(mutant.name, "broken", f"{run.failed}: {' '.join(run.message.split())[:160]}", seconds)
        return Verdict(mutant.name, "killed", run.failed, seconds)
    if run.code != 0:
        return Verdict(mutant.name, "broken", f"pytest ended with {run.code}", seconds)
    return Verdict(mutant.name, "survived", "", seconds)


def tried(mutant: Mutant, copies: Copies) -> Verdict:
    """One mutant, in a copy that it has for itself."""
    try:
        with copies.one(mutant) as sources:
            started = time.monotonic()
            run = pytest(sources, mutant.tests, mutant.compiled)
    except ValueError as problem:
        return Verdict(mutant.name, "broken", str(problem), 0.0)
    return judged(mutant, run, time.monotonic() - started)


def unharmed(mutants: Sequence[Mutant], copies: Copies) -> list[str]:
    """Tests that fail without any slip: they would kill everything."""
    found = []
    for compiled in (False, True):
        tests = sorted({test for mutant in mutants if mutant.compiled == compiled for test in mutant.tests})
        if not tests:
            continue
        with copies.one() as sources:
            run = pytest(sources, tests, compiled, stop=False)
        if run.failed is not None or run.errors is not None or run.code != 0:
            found.append(
                f"{run.failed}: {run.message}" if run.failed else run.errors or f"pytest ended with {run.code}"
            )
    return found


def page(verdicts: Sequence[Verdict]) -> str:
    """The table of what became of each."""
    counts = Counter(verdict.what for verdict in verdicts)
    files = {mutant.name: mutant.file for mutant in MUTANTS}
    lines = [
        "# Slips that the tests notice",
        "",
        "Each line is a small slip in code that privacy rests on, and the first test that failed because of it. Made "
        "by `make mutants`; the slips are in `tests/mutants/table.py`.",
        "",
        f"Killed {counts['killed']} of {len(verdicts)}; survived {counts['survived']}; broken {counts['broken']}.",
        "",
        "| slip | file | verdict | noticed by |",
        "|---|---|---|---|",
    ]
    for verdict in verdicts:
        noticed = verdict.why.split("::")[-1].split("[")[0].replace("test_", "", 1).replace("_", " ")
        lines.append(f"| {verdict.name} | `{files[verdict.name]}` | {verdict.what} | {noticed} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", metavar="TEXT", help="those with this in their name")
    parser.add_argument("--resume", action="store_true", help="leave out what the last run has killed")
    parser.add_argument("--limit", type=int, metavar="N", help="the first so many")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many at a time (default: 2)")
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests without a slip first")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table as Markdown")
    options = parser.parse_args(arguments)
    known: dict[str, list[object]] = json.loads(LAST.read_text("utf-8")) if options.resume and LAST.exists() else {}
    chosen = [mutant for mutant in MUTANTS if not options.only or any(text in mutant.name for text in options.only)]
    wanted = [mutant for mutant in chosen if known.get(mutant.name, ["", ""])[1] != "killed"][: options.limit]
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tacit-mutants-") as folder, ThreadPoolExecutor(options.jobs) as pool:
        copies = Copies(Path(folder), options.jobs)
        if not options.unchecked and wanted:
            print(f"The tests of {len(wanted)} mutants, without any slip …", flush=True)
            problems = unharmed(wanted, copies)
            for problem in problems:
                print(f"fails without a slip: {problem}")
            if problems:
                return 1
        for place, verdict in enumerate(pool.map(lambda mutant: tried(mutant, copies), wanted), start=1):
            known[verdict.name] = list(verdict)
            LAST.write_text(json.dumps(known), "utf-8")
            why = f"  {verdict.why}" if verdict.why else ""
            print(
                f"{place:3}/{len(wanted)}  {verdict.what:8}  {verdict.seconds:5.1f} s  {verdict.name}{why}", flush=True
            )
    verdicts = [Verdict(*known[mutant.name]) for mutant in chosen if mutant.name in known]  # type: ignore[arg-type]
    counts = Counter(verdict.what for verdict in verdicts)
    print(
        f"Killed {counts['killed']}, survived {counts['survived']}, broken {counts['broken']}, in "
        f"{(time.monotonic() - started) / 60:.1f} minutes."
    )
    if options.write is not None:
        options.write.write_text(page(verdicts), "utf-8")
    return 0 if counts["killed"] == len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
