"""`tacit serve`, `tacit keys` and `tacit ledger`: what is done where the store is."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tacit._validate import whole
from tacit.cli.options import print_json
from tacit.errors import BadInput

if TYPE_CHECKING:
    from tacit.service.serving import Serving

_FLAGS = ("store", "host", "port", "key_file", "witness", "log_requests", "test_seeds", "most_bytes")
#: Entries of a ledger that are shown unless told otherwise.
_SHOWN = 1000


def _installed() -> None:
    try:
        import tacit.service.serving  # noqa: F401
    except ImportError as problem:
        raise BadInput(
            f"Expected the packages of the service, got none of the name {problem.name}. Install them with "
            "pip install 'tacit[serve]'."
        ) from None


def _serving(parsed: argparse.Namespace) -> Serving:
    from tacit.service.serving import Serving

    flags = {name: getattr(parsed, name, None) for name in _FLAGS}
    return Serving.read(parsed.config, os.environ, flags)


def serve(parsed: argparse.Namespace, _: list[str]) -> int:
    """`tacit serve`."""
    # A hundred thousand objects of packages are about to come, and to stay: nothing to collect before the engine runs.
    gc.disable()
    try:
        return _serve(parsed)
    finally:
        gc.enable()


def _serve(parsed: argparse.Namespace) -> int:
    _installed()
    if parsed.new_key is not None:
        from tacit.service.serving import new_key_file

        new_key_file(parsed.new_key)
        if parsed.json:
            print_json({"key_file": str(parsed.new_key)})
        else:
            print(f"key     {parsed.new_key}  (keep it apart from the store and its backups)")
        return 0
    settings = _serving(parsed)
    from tacit.service.serving import run

    def started(facts: dict[str, Any], lines: list[str]) -> None:
        if parsed.json:
            print_json(facts)
        else:
            print("\n".join(lines))
        sys.stdout.flush()

    run(settings, started)
    return 0


def keys(parsed: argparse.Namespace, _: list[str]) -> int:
    """`tacit keys add|list|remove`."""
    _installed()
    from tacit.service.api.roles import check_new, new_key
    from tacit.service.serving import open_for

    if parsed.what != "list" and parsed.name is None:
        raise BadInput(f"Expected the name of a key, got none: tacit keys {parsed.what} NAME.")
    if parsed.what == "list" and parsed.name is not None:
        raise BadInput(f"Expected nothing after list, got {parsed.name!r}. Leave it out: all keys are listed.")
    if parsed.what == "add":  # before there is a store
        check_new(parsed.name, parsed.role)
    opened = open_for(_serving(parsed), create=parsed.what == "add")
    store = opened.store
    try:
        store.db.begin()
        if parsed.what == "add":
            made = new_key(store, parsed.name, parsed.role)
            facts: dict[str, Any] = {"name": parsed.name, "role": parsed.role, "key": made, "new_store": opened.fresh}
        elif parsed.what == "remove":
            if not store.remove_api_key(parsed.name):
                raise BadInput("Expected the name of a key, got one there is none of. `tacit keys list` lists them.")
            facts = {"removed": parsed.name}
        else:
            facts = {"keys": [{"name": name, "role": role} for name, role, _ in store.api_keys()]}
        store.db.commit()
    finally:
        store.db.rollback()
        store.db.close()
    if parsed.json:
        print_json(facts)
    elif parsed.what == "add":
        print(
            f"{facts['key']}\nShown once; stored is a hash. Send it as Authorization: Bearer KEY (role {parsed.role}). "
            "It counts from the next start on."
        )
        if opened.fresh:
            print(f"This is a new store{'' if opened.master is not None else ', and not sealed: give --key-file'}.")
    elif parsed.what == "remove":
        print(f"removed {parsed.name}; a service that runs goes on taking it until it is started again")
    else:
        for one in facts["keys"]:
            print(f"{one['role']:<8}{one['name']}")
        if not facts["keys"]:
            print("No keys: only loopback is served.")
    return 0


def ledger(parsed: argparse.Namespace, _: list[str]) -> int:
    """`tacit ledger show|verify|fork`, on a store that nobody serves from."""
    _installed()
    from tacit.service import chain
    from tacit.service.serving import open_for

    if parsed.anyway and parsed.what != "fork":
        raise BadInput(f"Expected --anyway with fork, got it with {parsed.what}. Leave it out.")
    if parsed.last is not None and parsed.what != "show":
        raise BadInput(f"Expected --last with show, got it with {parsed.what}. Leave it out.")
    last = _SHOWN if parsed.last is None else whole("--last", parsed.last, low=1)
    opened = open_for(_serving(parsed), create=False, fork=parsed.what == "fork", anyway=parsed.anyway)
    store = opened.store
    try:
        if parsed.what == "verify":
            store.db.check()
        seq, head = chain.verify(store)
        facts: dict[str, Any] = {"entries": seq, "head": head}
        if parsed.what == "show":
            shown = store.entries(after=max(0, seq - last))
            facts["ledger"] = [{"number": number, **entry, "hash": digest} for number, _, entry, digest in shown]
    finally:
        store.db.close()
    if parsed.what == "fork":
        facts["deployments"] = [
            {"name": one.name, "copies": one.copies, "guarantee": str(one.guarantee)}
            for one in opened.deployments.values()
        ]
    if parsed.json:
        print_json(facts)
        return 0
    if facts.get("ledger"):
        names = {one.uid: one.name for one in opened.deployments.values()}
        print(_ledger_table(facts["ledger"], names))
        if len(facts["ledger"]) < seq:
            print(f"The last {len(facts['ledger']):,} of {seq:,}: --last shows more.")
    for one in facts.get("deployments", ()):
        print(f"{one['name']}: {one['copies']} copies are priced together now. {one['guarantee']}")
    print(f"{seq:,} {'entry' if seq == 1 else 'entries'}, unbroken; head {head}")
    return 0


def _ledger_table(entries: list[dict[str, Any]], names: Mapping[str, str] | None = None) -> str:
    """The ledger for reading: numbers rounded, hashes shortened. `--json` has them whole. `names` by deployment, of
    those there are."""
    from tacit.report.tables import table

    gone = {entry["deployment"]: entry["name"] for entry in entries if "name" in entry}
    names = {**gone, **(names or {})}
    rows = [
        [
            str(entry["number"]),
            names.get(entry["deployment"], entry["deployment"]),
            entry["kind"],
            _entry_facts(entry),
            f"{entry['hash'][:12]}…",
        ]
        for entry in entries
    ]
    return table(["number", "deployment", "what", "facts", "hash"], rows, right=(0,))


def _entry_facts(entry: dict[str, Any]) -> str:
    """What an entry says, in a few words."""
    parts = [str(entry["policy"])] if "policy" in entry else []
    parts += [
        f"{name} {entry[name]:,}" for name in ("release", "clock", "copies", "stage") if entry.get(name) is not None
    ]
    if "epsilon" in entry:
        private = entry["epsilon"] is not None
        parts.append(f"epsilon {entry['epsilon']:.4g} at delta {entry['delta']:.4g}" if private else "not private")
    return ", ".join(parts)
