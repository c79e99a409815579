"""`tacit replay`: what policies would have earned on a log."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tacit.cli.options import build, fields, print_json, read_settings, refuse_unknown
from tacit.errors import BadInput

if TYPE_CHECKING:
    from tacit.replaying import Log


def replay(parsed: argparse.Namespace, rest: list[str]) -> int:
    """`tacit replay LOG POLICY…`."""
    from tacit.replaying import NOT_PRIVATE
    from tacit.replaying import replay as evaluate
    from tacit.replaying.result import as_text
    from tacit.simulation.result import check_table_path, save_frame

    if parsed.output:
        check_table_path(parsed.output)
    kinds = _kinds(parsed, rest)  # an option that is misspelt should not wait for a long file
    log = _read(parsed)
    found = [
        evaluate(
            build(kind, {**_shape(kind, log), **settings}, f"`tacit policies {kind.slug}` lists the options."),
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
    if parsed.json:
        facts = {"command": parsed.command_line, "warning": NOT_PRIVATE, "results": [one.to_dict() for one in found]}
        print_json(facts)
    else:
        print(f"{parsed.log.name}: {len(log):,} rows, {log.arms} arms, {log.dim} features (model {log.model})\n")
        print(as_text(found))
        if parsed.output:
            print(f"\nestimates  {parsed.output}")
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


def _shape(kind: Any, log: Log) -> dict[str, str]:
    """The number of features, where the policy asks for it: one over a fixed list takes the log's own."""
    return {"dim": str(log.dim)} if "dim" in fields(kind) else {}


def _read(parsed: argparse.Namespace) -> Log:
    from tacit.replaying import read_log

    listed = None if parsed.features is None else [word for word in parsed.features.split(",") if word]
    return read_log(
        parsed.log,
        action=parsed.action_column,
        reward=parsed.reward,
        propensity=parsed.propensity,
        features=listed,
        low=_bound("low", parsed.low),
        high=_bound("high", parsed.high),
        buckets=parsed.buckets,
        arms=parsed.arms,
        items=parsed.items,
        model=parsed.model,
        position=parsed.position,
    )


def _bound(name: str, text: str | None) -> float | dict[str, float] | None:
    """One number for all columns, or `age=0,income=0`."""
    if text is None:
        return None
    try:
        if "=" not in text:
            return float(text)
        pairs = (pair.split("=", 1) for pair in text.split(",") if pair)
        return {column.strip(): float(value) for column, value in pairs}
    except ValueError:
        raise BadInput(f"Expected --{name} to be a number, or age=0,income=0 by column, got {text!r}.") from None
