"""`tacit.sweep`: from the file to the table, through runs that survive an interruption."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tacit._validate import one_of
from tacit.errors import BadInput, Interrupted, TacitError
from tacit.simulation import Job
from tacit.simulation.engine import prepare
from tacit.simulation.store import AnyResult, Damaged
from tacit.sweeping.cluster import run_on_dask
from tacit.sweeping.folder import Folder
from tacit.sweeping.local import run_local, told_of
from tacit.sweeping.result import Sweep
from tacit.sweeping.rows import DONE, FAILED, rows
from tacit.sweeping.runs import Run, runs_of
from tacit.sweeping.spec import Spec, read_spec

ENGINES = ("threads", "dask")


def sweep(
    spec: str | Path | Mapping[str, Any] | Spec,
    *,
    output: str | Path | None = None,
    engine: str = "threads",
    scheduler: Any = None,
    workers: int | None = None,
    threads: int | None = None,
    run: bool = True,
    fresh: bool = False,
    progress: bool | None = None,
    say: Callable[[str], None] | None = None,
) -> Sweep:
    """Run every policy at every budget in every environment under every seed, as a TOML file says (or a dictionary of
    its shape), and return the table.

    Each run is stored in `output` (default: tacit-sweep/ and the file's name) as it finishes, and found there by the
    next call, also by one whose file has changed; `fresh=True` makes all of them again. `run=False` only looks up what
    is there. Table and progress are on disk all the time. Ctrl-C raises `Interrupted`: what had finished stays, and the
    same call goes on from there. A run that fails is a row that says why, and the others go on.

    `engine="dask"` runs them on a cluster: `scheduler` is its address, its scheduler file or a `distributed.Client`;
    without one, `workers` processes are started on this machine. The numbers are the same to the bit.

    `say` is told what is going on, line by line. `progress` shows a bar on standard error (default: if it is a
    terminal).
    """
    one_of("engine", engine, ENGINES)
    if engine != "dask" and (scheduler is not None or workers is not None):
        raise BadInput('Expected engine="dask" with a scheduler or workers, got engine="threads". Name the engine.')
    if scheduler is not None and workers is not None:
        raise BadInput("Expected a scheduler or a number of workers, got both: a cluster has the workers that it has.")
    if engine == "dask" and threads is not None:
        raise BadInput('Expected threads with engine="threads" alone, got engine="dask": a task runs on one thread.')
    asked = spec if isinstance(spec, Spec) else read_spec(spec)
    under_way = _UnderWay(asked, Folder(Path("tacit-sweep", asked.title) if output is None else Path(output)))
    tell = say or (lambda _: None)
    if not run:
        under_way.look_up(tell)
        return under_way.sweep()
    with under_way.folder.locked():
        under_way.folder.begin(asked.source)
        if not fresh:
            under_way.look_up(tell)
        missing = under_way.missing()
        jobs = [one.job for one in missing]
        under_way.write(now=True)
        done = False
        try:
            if engine == "dask":
                run_on_dask(
                    jobs,
                    lambda place, result: under_way.finished(missing[place], result),
                    lambda place, problem: under_way.failed(missing[place], problem),
                    scheduler=scheduler,
                    workers=workers,
                    progress=progress,
                    say=tell,
                )
            else:
                run_local(
                    jobs,
                    lambda place, result: under_way.finished(missing[place], result),
                    lambda place, problem: under_way.failed(missing[place], problem),
                    threads=threads,
                    progress=progress,
                )
            done = True
        except (Interrupted, KeyboardInterrupt):
            raise Interrupted(
                f"Stopped by hand: {under_way.sweep().summary()}. The same command goes on from there."
            ) from None
        finally:
            under_way.state = "finished" if done else "stopped"
            under_way.write(now=True)
    return under_way.sweep()


class _UnderWay:
    """The table of a sweep while it fills."""

    def __init__(self, spec: Spec, folder: Folder) -> None:
        self.spec, self.folder = spec, folder
        self.runs = runs_of(spec)
        self.state = "running"
        self._found = self._edited = 0
        self._rows = {place: list(rows(run, None, None)) for place, run in enumerate(self.runs)}
        # Two descriptions of the same run, say an option left out and its default, are one run and two rows.
        self._places: dict[str, list[int]] = {}
        for place, run in enumerate(self.runs):
            self._places.setdefault(run.key, []).append(place)

    def look_up(self, tell: Callable[[str], None]) -> None:
        """Fill in what an earlier call has stored."""
        damaged = 0
        for key, places in self._places.items():
            try:
                stored = self.folder.store.find(self.runs[places[0]].job)
            except Damaged:
                damaged += 1
                continue
            if stored is not None:
                self._found += 1
                self._edited += not stored.same_sources
                self._fill(key, stored.result, None)
        tell(f"{self._found} of {len(self._places)} runs found from before in {self.folder.path}")
        if damaged:
            tell(f"{damaged} stored {'run was' if damaged == 1 else 'runs were'} damaged and will be made again")

    def missing(self) -> list[Run]:
        """The runs that are to be made, each once. One that can be seen to be refused is, and is left out."""
        found = []
        for key, places in self._places.items():
            run = self.runs[places[0]]
            if self._rows[places[0]][0]["status"] == DONE:
                continue
            try:
                if isinstance(run.job, Job):
                    prepare(run.job)
            except TacitError as problem:
                self._fill(key, None, told_of(problem))
            else:
                found.append(run)
        return found

    def finished(self, run: Run, result: AnyResult) -> None:
        """Store a run, then show it: what is in the table is on disk."""
        self.folder.store.keep(run.job, result)
        self._fill(run.key, result, None)
        self.write()

    def failed(self, run: Run, problem: str) -> None:
        self._fill(run.key, None, problem)
        self.write()

    def write(self, *, now: bool = False) -> None:
        statuses = [self._rows[places[0]][0]["status"] for places in self._places.values()]
        facts = {
            "state": self.state,
            "runs": len(self._places),
            "done": statuses.count(DONE),
            "failed": statuses.count(FAILED),
            "found": self._found,
        }
        self.folder.write(self._records(), facts, now=now)

    def sweep(self) -> Sweep:
        """As far as it has come."""
        return Sweep(self.spec, self.runs, self.folder.path, self._records(), self._found, self._edited)

    def _fill(self, key: str, result: AnyResult | None, problem: str | None) -> None:
        for place in self._places[key]:
            self._rows[place] = list(rows(self.runs[place], result, problem))

    def _records(self) -> list[dict[str, Any]]:
        return [record for place in range(len(self.runs)) for record in self._rows[place]]
