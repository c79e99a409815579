"""Runs on a Dask cluster: one task per run, and the one who asks is the only one who writes.

The scheduler gives the task of a lost worker to another. What it computed is lost with it, and nothing else is:
finished results come back at once and are stored here.
"""

from __future__ import annotations

import importlib
import logging
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tacit._validate import whole
from tacit.errors import BadInput, Interrupted, TacitError
from tacit.simulation.store import AnyJob, restored
from tacit.sweeping import task
from tacit.sweeping.local import Failed, Finished, told_of
from tacit.sweeping.task import OtherSources, fingerprint, packed, play

#: Seconds to wait for a scheduler to answer.
_PATIENCE = 10
_LOOPBACK = "127.0.0.1"


def run_on_dask(
    jobs: Sequence[AnyJob],
    finished: Finished,
    failed: Failed,
    *,
    scheduler: Any = None,
    workers: int | None = None,
    progress: bool | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Run the jobs on the cluster of this scheduler: its address, its file, or a `distributed.Client`. Without one,
    on worker processes of this machine. A job that fails costs no other; Ctrl-C raises `Interrupted` and calls the
    rest off."""
    if not jobs:
        return
    distributed = _distributed()
    with _client(distributed, scheduler, workers, say) as client:
        ours = fingerprint()
        _refuse_other_workers(client, ours, say)
        token = secrets.token_hex(4)  # a task of an earlier sweep that was called off must not be taken for ours
        futures = {
            client.submit(play, packed(job, ours), key=f"tacit-run-{token}-{place}", pure=False): place
            for place, job in enumerate(jobs)
        }
        bar = tqdm(
            total=len(jobs),
            desc=jobs[0].name,
            unit=" runs",
            disable=not (sys.stderr.isatty() if progress is None else progress),
            leave=False,
            file=sys.stderr,
        )
        try:
            with bar:
                for future in distributed.as_completed(list(futures), loop=client.loop):
                    place = futures.pop(future)
                    _hand_over(distributed, future, place, jobs[place], finished, failed)
                    future.release()  # the worker may forget it
                    bar.update()
        except KeyboardInterrupt:
            raise Interrupted(f"{len(futures)} runs were called off.") from None
        finally:
            if futures:
                with suppress(OSError):  # nobody is left to be told
                    client.cancel(list(futures), force=True)


def _hand_over(distributed: Any, future: Any, place: int, job: AnyJob, finished: Finished, failed: Failed) -> None:
    if future.status == "finished":
        finished(place, restored(job, *future.result()))
        return
    if future.status != "error":
        raise TacitError(
            f"Expected the scheduler to keep every task, got one that is {future.status}: the scheduler was lost, or "
            "somebody called the task off there. The same command goes on from what is stored."
        )
    problem = future.exception()
    if isinstance(problem, OtherSources):
        raise problem  # such a worker would take one task after the other, and refuse them all
    if isinstance(problem, distributed.KilledWorker):
        failed(place, "Every worker that took this run was lost. Give workers more memory, or look into their logs.")
    else:
        failed(place, told_of(problem))


def _refuse_other_workers(client: Any, ours: str, say: Callable[[str], None]) -> None:
    """Ask all workers what they have. Those that come later are asked by their first task."""
    found: Mapping[str, Any] = client.run(task.fingerprint, on_error="return")
    if not found:
        say("no worker has joined the scheduler yet: waiting for one")
    for address, answer in sorted(found.items()):
        if isinstance(answer, BaseException):
            raise BadInput(
                f"Expected {ours} on the worker {address}, got none that answers ({told_of(answer)}). Install the same "
                "versions everywhere, and start the worker again."
            )
        if answer != ours:
            raise OtherSources(
                f"Expected {ours} on the worker {address}, got {answer}. Install the same versions "
                "everywhere, and start the worker again."
            )


@contextmanager
def _client(distributed: Any, scheduler: Any, workers: int | None, say: Callable[[str], None]) -> Iterator[Any]:
    if isinstance(scheduler, distributed.Client):
        yield scheduler
        return
    if scheduler is not None:
        with _connected(distributed, str(scheduler)) as client:
            yield client
        return
    count = (os.cpu_count() or 1) if workers is None else whole("workers", workers)
    say(f"no scheduler was named: starting {count} worker {'process' if count == 1 else 'processes'} on this machine")
    with (
        distributed.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            host=_LOOPBACK,
            dashboard_address=None,
            silence_logs=logging.ERROR,  # that a worker is stopped by us is no news
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _connected(distributed: Any, scheduler: str) -> Any:
    where = {"scheduler_file": scheduler} if Path(scheduler).is_file() else {"address": scheduler}
    try:
        return distributed.Client(**where, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, ImportError) as problem:
        raise BadInput(
            f"Expected a Dask scheduler at {scheduler!r} (an address like tcp://10.0.0.1:8786, or a scheduler file), "
            f"got none within {_PATIENCE} s ({type(problem).__name__}). Start one by `dask scheduler`."
        ) from None


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise BadInput(
            "Expected Dask's `distributed` to be installed for the engine dask, got none. `pip install 'tacit[dask]'`, "
            "or leave the engine out to run on the threads of this machine."
        ) from None
