"""`tacit replay`: what policies would have earned on a log."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tacit.cli.log_options import log_flags, read_log_as
from tacit.cli.options import build, files, print_json, read_settings, refuse_unknown
from tacit.errors import BadInput

if TYPE_CHECKING:
    from tacit.replaying import Log


def replay(parsed: argparse.Namespace, rest: list[str]) -> int:
    """`tacit replay LOG POLICY…`."""
    from tacit.replaying import replay as evaluate
    from tacit.replaying.page import facts, write
    from tacit.replaying.result import as_text
    from tacit.simulation.result import check_table_path, save_frame

    if parsed.output:
        check_table_path(parsed.output)
    kinds = _kinds(parsed, rest)  # an option that is misspelt should not wait for a long file
    log = read_log_as(parsed.log, log_flags(parsed))
    found = [
        evaluate(
            _config(kind, log, settings),
            log,
            seed=parsed.seed,
            runs=parsed.runs,
            rounds=parsed.rounds,
            label=label,
        )
        for label, kind, settings in kinds
    ]
    if parsed.output:
        import pandas as pd

        save_frame(pd.concat([one.frame() for one in found], ignore_index=True), parsed.output)
    paths = write(found, parsed.report, parsed.command_line, parsed.log.name) if parsed.report else []
    if parsed.json:
        print_json({**facts(found, parsed.command_line), **files(paths)})
    else:
        print(f"{parsed.log.name}: {len(log):,} rows, {log.arms} arms, {log.dim} features (model {log.model})\n")
        print(as_text(found))
        if parsed.output:
            print(f"\nestimates  {parsed.output}")
        if paths:
            print(f"\npage  {paths[-1]}")
    return 0


def _kinds(parsed: argparse.Namespace, rest: list[str]) -> list[tuple[str, Any, dict[str, str]]]:
    """Label, kind and settings of each policy that was asked for."""
    from tacit.policies.catalogue import CATALOGUE, policy

    common = read_settings(rest, parsed.set)
    asked = []
    for name in parsed.policy:
        slug, _, options = name.partition(":")
        kind = policy(slug)
        if slug not in CATALOGUE:
            raise BadInput(f"Expected a policy that chooses from actions, got {slug}, which learns a function.")
        own = read_settings([], options.split(",") if options else [])
        refuse_unknown(own, kind)
        label = " ".join([slug, *(f"{key}={value}" for key, value in own.items())])
        asked.append((label, kind, {**common, **own}))
    refuse_unknown(common, *(kind for _, kind, _ in asked))
    return asked


def _config(kind: Any, log: Log, settings: dict[str, str]) -> Any:
    """The policy, in the shape of the log where it asks for one."""
    shape = {name: str(size) for name, size in log.shape(kind, settings).items()}
    return build(kind, {**shape, **settings}, f"`tacit policies {kind.slug}` lists the options.")
