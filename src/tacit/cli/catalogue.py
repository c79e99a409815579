"""What there is: policies and environments."""

from __future__ import annotations

import argparse
import dataclasses
import textwrap
from typing import TYPE_CHECKING, Any

from tacit.cli.options import fields, print_json

if TYPE_CHECKING:
    from tacit.core.settings import Settings


def policies(parsed: argparse.Namespace, _: list[str]) -> int:
    """`tacit policies [NAME]`."""
    from tacit.policies.catalogue import CATALOGUE, FUNCTIONS, policy

    every: dict[str, Any] = {**CATALOGUE, **FUNCTIONS}
    if parsed.name:
        kind = policy(parsed.name)
        if parsed.json:
            print_json({**_policy_facts(kind), "options": _describe_options(kind)})
        else:
            _print_options(kind)
        return 0
    if parsed.json:
        print_json({"policies": [_policy_facts(kind) for kind in every.values()]})
        return 0
    groups: dict[tuple[str, str, str], list[Any]] = {}
    for kind in every.values():
        groups.setdefault((kind.trust.value, kind.protects.value, kind.trust.meaning), []).append(kind)
    # A name as long as the column would run into its summary.
    room = max(14, *map(len, every)) + 2
    for (trust, protects, meaning), kinds in groups.items():
        print(f"trust: {trust}; protects: {protects}")
        print(textwrap.fill(meaning, 100, initial_indent="  ", subsequent_indent="  "))
        for kind in kinds:
            print(f"    {kind.slug:<{room}}{kind.summary}\n{'':{room + 4}}needs: {kind.needs}")
        print()
    print("`tacit policies NAME` lists the options of one.")
    return 0


def environments(parsed: argparse.Namespace, _: list[str]) -> int:
    """`tacit environments [NAME]`."""
    from tacit.environments import CATALOGUE, FUNCTION_CATALOGUE, environment

    every: dict[str, Any] = {**CATALOGUE, **FUNCTION_CATALOGUE}
    if parsed.name:
        kind = environment(parsed.name)
        if parsed.json:
            print_json({"name": kind.slug, "summary": kind.summary, "options": _describe_options(kind)})
        else:
            _print_options(kind)
        return 0
    if parsed.json:
        print_json({"environments": [{"name": kind.slug, "summary": kind.summary} for kind in every.values()]})
        return 0
    room = max(14, *map(len, every)) + 2
    for kind in every.values():
        print(f"{kind.slug:<{room}}{kind.summary}")
    print("\n`tacit environments NAME` lists the options of one.")
    return 0


def _policy_facts(kind: Any) -> dict[str, Any]:
    return {
        "name": kind.slug,
        "class": f"tacit.{kind.__name__}",
        "summary": kind.summary,
        "trust": kind.trust.value,
        "protects": kind.protects.value,
        "needs": kind.needs,
    }


def _describe_options(kind: type[Settings]) -> list[dict[str, Any]]:
    return [
        {
            "option": f"--{name.replace('_', '-')}",
            "type": str(field.type),
            "default": None if field.default is dataclasses.MISSING else field.default,
            "required": field.default is dataclasses.MISSING,
            "help": field.metadata.get("help", ""),
        }
        for name, field in fields(kind).items()
    ]


def _print_options(kind: type[Settings]) -> None:
    from tacit.report.tables import table

    print(f"{kind.slug}: {kind.summary}\n")
    rows = [
        [
            option["option"],
            option["type"],
            "required" if option["required"] else "" if option["default"] is None else str(option["default"]),
            option["help"],
        ]
        for option in _describe_options(kind)
    ]
    print(table(("option", "type", "default", "meaning"), rows))
