"""`tacit serve` as a process: settings from a file, the environment and flags; a graceful end."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from tacit._listening import bind, check_port, hear, is_loopback, patient_protocol, room_for_connections
from tacit._validate import known
from tacit.errors import BadInput
from tacit.service import logs
from tacit.service.api.app import MOST_BYTES, application
from tacit.service.api.roles import Keys
from tacit.service.database import exists, file_of
from tacit.service.engine import Engine
from tacit.service.opening import Opened, default_witness, open_store
from tacit.service.sealing import KEY_VARIABLE, read_key

PORT = 8420
#: Bytes of a body that must be allowed at least.
LEAST_BYTES = 1024
#: Connections that may wait to be taken.
_WAITING = 2048
#: Told once it listens: facts for programs, and lines for people.
Started = Callable[[dict[str, Any], list[str]], None]
#: The environment's name for an option: TACIT_STORE, TACIT_PORT, …
_PREFIX = "TACIT_"


@dataclass(frozen=True, kw_only=True)
class Serving:
    """Options of the service. A flag wins over the environment, which wins over the file."""

    store: str = "tacit.db"  #: a file, or postgresql://…
    host: str = "127.0.0.1"
    port: int = PORT
    key_file: str | None = None  #: what the store is sealed with; else TACIT_STORE_KEY, else nothing is sealed
    witness: str | None = None  #: default: beside the store
    log_requests: bool = False
    most_bytes: int = MOST_BYTES
    test_seeds: bool = False

    @classmethod
    def read(cls, file: Path | None, environment: Mapping[str, str], flags: Mapping[str, Any]) -> Serving:
        """All three together."""
        found = cls()
        if file is not None:
            found = found._with(_from_file(file), f"in {file}")
        names = [field.name for field in fields(cls)]
        given = {name: environment[_PREFIX + name.upper()] for name in names if environment.get(_PREFIX + name.upper())}
        found = found._with(given, "in the environment")
        return found._with({name: value for name, value in flags.items() if value is not None}, "among the flags")

    def _with(self, given: Mapping[str, Any], where: str) -> Serving:
        kinds = {field.name: str(field.type) for field in fields(self)}
        values = {}
        for name, value in given.items():
            known(f"option {where}", name, kinds, see=f"The options: {', '.join(kinds)}.")
            values[name] = _typed(name, kinds[name], value, where)
        return replace(self, **values)


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise BadInput(f"Expected settings in TOML in {path}, got: {problem}.") from None


def _typed(name: str, kind: str, value: Any, where: str) -> Any:
    if kind == "bool":
        if isinstance(value, bool):
            return value
        words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        if isinstance(value, str) and value.lower() in words:
            return words[value.lower()]
        raise BadInput(f"Expected {name} {where} to be true or false, got something else.")
    if kind == "int":
        try:
            number = int(value) if isinstance(value, str) else value
            if type(number) is not int:
                raise ValueError
        except ValueError:
            raise BadInput(f"Expected {name} {where} to be a whole number, got something else.") from None
        if name == "port":
            return check_port(number, where)
        if number < LEAST_BYTES:
            raise BadInput(
                f"Expected {name} {where} to be at least {LEAST_BYTES:,}, got {number}: nobody could ask for anything."
            )
        return number
    if not isinstance(value, str) or not value:
        raise BadInput(f"Expected {name} {where} to be a text, got something else.")
    return value


def new_key_file(path: Path) -> None:
    """A fresh key for the store, in a new file that its owner alone can read."""
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        raise BadInput(
            f"Expected a path where nothing is yet, got {path}, which exists. A key is never overwritten."
        ) from None
    except OSError as problem:
        raise BadInput(
            f"Expected a folder that a new key can be written to, got {path.parent}: {problem.strerror}. Give a path "
            "in another one."
        ) from None
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_hex(32) + "\n")


def open_for(serving: Serving, *, create: bool = True, fork: bool = False, anyway: bool = False) -> Opened:
    """The store of these settings: see `open_store`."""
    key = read_key(None if serving.key_file is None else Path(serving.key_file))
    witness = None if serving.witness is None else Path(serving.witness)
    if witness is not None:
        _check_witness(witness, serving.store, serving.key_file)
    return open_store(serving.store, key=key, witness=witness, create=create, fork=fork, anyway=anyway)


def _check_witness(path: Path, store: str, key_file: str | None) -> None:
    """Refuse a witness that cannot be written before there is a store that lacks one, and one that is written over the
    store or its key. Its folder is not made: where it is a disk that was not mounted, another folder in its place would
    be no witness."""
    others = [] if key_file is None else [Path(key_file)]
    if "://" not in store or store.startswith("sqlite://"):
        file = file_of(store)
        others += [file, *(file.with_name(file.name + end) for end in ("-wal", "-shm", "-journal"))]
    if any(_same_file(path, other) for other in others):
        raise BadInput(
            f"Expected witness to be a file of its own, got {path}, which is the store or its key. Give another "
            "--witness. Nothing was changed."
        )
    folder = path.absolute().parent
    if not folder.exists() and folder in default_witness(store).absolute().parents:
        return  # the folder of the store, which is made with it
    if path.is_dir():
        problem = "a folder"
    elif not folder.is_dir():
        problem = "one in a folder that is not there"
    elif not os.access(folder, os.W_OK | os.X_OK):
        problem = "one in a folder that cannot be written to"
    else:
        return
    raise BadInput(
        f"Expected witness to be a file that can be written, got {path}, {problem}. Make the folder, or give another "
        "--witness. Nothing was changed."
    )


def _same_file(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))


def run(serving: Serving, started: Started) -> None:
    """Serve until told to stop: SIGTERM and SIGINT finish what was accepted and let go of the store."""
    try:
        import uvicorn
    except ImportError:
        raise BadInput(
            "Expected uvicorn for `tacit serve`, got none. Install it with pip install 'tacit[serve]'."
        ) from None
    if not is_loopback(serving.host) and not exists(serving.store):
        raise _no_keys(serving.host)  # a new store has none, and need not be made to find that out
    with bind(serving.host, serving.port) as bound:  # first: a port that is in use leaves no store behind
        _run(serving, started, bound, uvicorn)


def _run(serving: Serving, started: Started, bound: socket.socket, uvicorn: Any) -> None:
    opened = open_for(serving)
    try:
        keys = Keys(opened.store.api_keys())
        if not keys and not is_loopback(serving.host):
            raise _no_keys(serving.host)
        hear(bound, _WAITING)  # whoever comes while machine code is loaded waits, and is not refused
    except BaseException:
        opened.store.db.close()
        raise
    logs.set_up()
    _no_core_dumps()
    room_for_connections()
    # The thread that commits must not wait for its turn longer than the disk takes.
    sys.setswitchinterval(0.0002)
    engine = Engine(opened)
    app = application(
        engine, keys, allow_seed=serving.test_seeds, most_bytes=serving.most_bytes, log_requests=serving.log_requests
    )
    _announce(started, serving, bound.getsockname()[1], opened, keys)
    config = uvicorn.Config(
        app,
        http=patient_protocol(),
        ws="none",
        proxy_headers=False,
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=10,
        limit_concurrency=None,
        backlog=_WAITING,
        lifespan="on",
    )
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(uvicorn.Server(config).serve(sockets=[bound]))


def _no_keys(host: str) -> BadInput:
    return BadInput(
        f"Expected a key before anybody but this machine is served, got none and host {host}. Make one with `tacit "
        "keys add NAME --role admin`, or serve on 127.0.0.1."
    )


def _no_core_dumps() -> None:
    """A dump of this process would hold the vault."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _announce(started: Started, serving: Serving, port: int, opened: Opened, keys: Keys) -> None:
    sealed, place = opened.master is not None, serving.store
    word = "sealed" if sealed else f"not sealed: give --key-file, or set {KEY_VARIABLE}"
    who = "keys are needed" if keys else "no keys: only this machine is served, and may do everything"
    host = f"[{serving.host}]" if ":" in serving.host else serving.host
    place = place if "://" not in place else place.split("://")[0]
    url = f"http://{host}:{port}"
    lines = [
        f"tacit serves on {url}  (/docs, /health, /metrics, dashboard at /)",
        f"store   {place} ({'new, ' if opened.fresh else ''}{word})",
        f"access  {who}",
    ]
    if serving.test_seeds:
        lines.append("TEST SEEDS ARE ALLOWED: a seeded deployment protects nobody, and its card says so.")
    facts = {"url": url, "store": place, "sealed": sealed, "keys": bool(keys), "test_seeds": serving.test_seeds}
    started(facts, lines)
