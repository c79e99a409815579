"""A disk that is full: the service says so, loses nothing it has acknowledged, and goes on when there is room."""

from __future__ import annotations

import os
import resource
import subprocess
from contextlib import contextmanager

import pytest

from tests.service.faults import Book, Load, Service, audit, poll

ACTIONS = [{"id": "x", "features": [1.0, 0.0]}, {"id": "y", "features": [0.0, 1.0]}]


@contextmanager
def by_file_size(folder):
    """No file of the process may grow much beyond what it is now: writing fails as on a full disk."""
    store = folder / "tacit.db"

    def fill(service):
        largest = max(path.stat().st_size for path in (store, store.with_name("tacit.db-wal")))
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (largest + 100_000, resource.RLIM_INFINITY))

    def free(service):
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    yield store, fill, free


@contextmanager
def by_small_disk(folder):
    """A file system of its own, which is small until it is made larger."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only an administrator may mount a file system")
    try:
        store = disk / "tacit.db"

        def fill(_):
            free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize
            (disk / "ballast").write_bytes(bytes(max(0, free - 50_000)))

        def free(_):
            (disk / "ballast").unlink()
            subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)

        yield store, fill, free
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.parametrize("scarce", [by_file_size, pytest.param(by_small_disk, marks=pytest.mark.long)])
def test_when_the_disk_is_full_nothing_acknowledged_is_lost_and_it_goes_on_when_there_is_room(tmp_path, scarce):
    folder = tmp_path / "store"
    folder.mkdir()
    book = Book("every")
    with scarce(folder) as (store, fill, free):
        service = Service(tmp_path / "service", str(store))
        try:
            service.start()
            service.create("every")
            path = "/v1/deployments/every/decisions"
            with Load([service], [book], seed=31, workers=2):
                poll(lambda: len(book.acknowledged) > 10)
                fill(service)
                poll(lambda: book.unavailable > 5, what="a refusal")
                refused = 0
                for _ in range(20):
                    status, answer = service.ask("POST", path, {"actions": ACTIONS})
                    refused += status == 503
                    if status == 503:
                        assert set(answer) == {"error"}
                        assert answer["error"]["code"] == "unavailable"
                        # Whoever watches is told, although a little may still fit now and then.
                        assert service.ask("GET", "/health")[0] == 503
                        assert "\ntacit_store_available 0.0\n" in service.ask("GET", "/metrics")[1]
                        assert service.ask("GET", "/v1/status")[1]["service"]["available"] is False
                        assert (
                            "Nothing was changed" in answer["error"]["message"]
                            or "nothing" in answer["error"]["message"]
                        )
                assert refused > 0
                assert service.process.poll() is None
                status, _ = service.ask("GET", "/v1/deployments/every/view")  # what is published can be read
                assert status == 200
                free(service)
                before = len(book.acknowledged)
                poll(lambda: len(book.acknowledged) > before + 10, what="a recovery")
            poll(lambda: service.ask("GET", "/health")[0] == 200, what="health")
            poll(lambda: '"store": "available again"' in service.err.read_text(), what="a line in the log")
            said = [line for line in service.err.read_text().splitlines() if '"store": "unavailable"' in line]
            assert said
            assert "Expected room on the disk" in said[0] or "disk" in said[0], said[0]
            service.stop()
        finally:
            service.kill()
        # Decisions of the loop above are nobody's in the book: only what the book knows is compared.
        (found,) = audit(str(store), [book])
    assert found.counted >= found.acknowledged > 20


def test_a_disk_that_is_full_at_the_start_is_told_and_starting_again_helps(tmp_path):
    store = tmp_path / "tacit.db"
    service = Service(tmp_path / "service", str(store))
    try:
        service.launch(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY)))
        assert service.process.wait(60) == 2
        assert "othing was changed" in service.err.read_text()
        service.start()
        service.create("every")
        service.stop()
    finally:
        service.kill()
