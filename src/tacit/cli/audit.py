"""`tacit audit`: attack one policy, or all of them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.cli.options import build, files, print_json, read_settings, refuse_unknown, typed
from tacit.errors import BadInput

if TYPE_CHECKING:
    from tacit.auditing import Audit

#: Exit codes: a promise was refuted; nothing was found, and nothing follows from that.
VIOLATED, POWERLESS = 1, 3


def audit(parsed: argparse.Namespace, rest: list[str]) -> int:
    """`tacit audit POLICY` or `tacit audit --all`."""
    if parsed.all:
        more = [*([parsed.policy] if parsed.policy is not None else []), *rest, *parsed.set]
        if more:
            raise BadInput(f"Expected neither a policy nor options of one with --all, got {more[-1]!r}.")
        return _all(parsed)
    if parsed.policy is None:
        raise BadInput("Expected a policy, or --all, got neither. See `tacit audit --help`.")
    from tacit.auditing import audit as attack
    from tacit.auditing.families import family_of
    from tacit.auditing.page import write
    from tacit.policies.catalogue import policy
    from tacit.privacy.scope import Trust

    kind = policy(parsed.policy)
    if kind.trust is Trust.NONE:
        raise BadInput(
            f"Expected a private policy, got {kind.slug}, which promises nothing: there is nothing to refute."
        )
    settings = read_settings(rest, parsed.set)
    refuse_unknown(settings, kind)
    small = family_of(kind).small(kind, typed(kind, settings))
    config = build(kind, settings, f"`tacit policies {kind.slug}` lists the options.", **small)
    found = attack(
        config,
        runs=parsed.runs,
        confidence=parsed.confidence,
        seed=parsed.seed,
        twins=not parsed.no_twins,
        as_it_is=True,  # what was left out is short, and what was given is meant
        sampler=parsed.sampler,
        threads=parsed.threads,
    )
    if parsed.output is not None:
        _write(parsed.output, found)
    if parsed.plot is not None:
        found.plot(parsed.plot)
    paths = (
        write(found, parsed.report, parsed.command_line, config.card(sampler=parsed.sampler)) if parsed.report else []
    )
    if parsed.json:
        print_json({**found.to_dict(), **files(paths)})
    else:
        print(found.text())
        page = paths[-1] if paths else None
        for what, path in (("audit", parsed.output), ("figure", parsed.plot), ("page", page)):
            if path is not None:
                print(f"{what}: {path}")
    return _code([found.verdict])


def _all(parsed: argparse.Namespace) -> int:
    from tqdm import tqdm

    from tacit.auditing.catalogue import audit_all
    from tacit.auditing.page import write_all

    if parsed.plot is not None:
        raise BadInput(
            "Expected no --plot with --all, got one. Draw the scores of one policy, or give --report DIR for a page."
        )
    table = audit_all(
        runs=parsed.runs,
        confidence=parsed.confidence,
        seed=parsed.seed,
        twins=not parsed.no_twins,
        sampler=parsed.sampler,
        threads=parsed.threads,
        output=parsed.output or Path("tacit-audit"),
        say=lambda line: tqdm.write(line, file=sys.stderr),
    )
    paths = write_all(table, parsed.report, parsed.command_line) if parsed.report else []
    if parsed.json:
        print_json({**table.to_dict(), **files(paths)})
    else:
        print(table.text())
        if paths:
            print(f"page: {paths[-1]}")
    return _code(table.verdicts)


def _code(verdicts: Any) -> int:
    if "violated" in verdicts:
        return VIOLATED
    return POWERLESS if "not audited with power" in verdicts else 0


def _write(path: Path, found: Audit) -> None:
    import json

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found.to_dict(), indent=2, allow_nan=False, ensure_ascii=False) + "\n", "utf-8")
