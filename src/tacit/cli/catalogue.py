"""What there is: policies, environments, and the privacy card of one configuration."""

from __future__ import annotations

import argparse
import dataclasses
import textwrap
from typing import TYPE_CHECKING, Any

from tacit.cli.options import build, fields, print_json, read_settings, refuse_unknown

if TYPE_CHECKING:
    from tacit.core.policy import Policy
    from tacit.environments import Environment

#: Features, or arms, of a card that is asked for without them: noise and price do not depend on them.
_CARD_DIM = 5


def policies(parsed: argparse.Namespace, _: list[str]) -> int:
    """`tacit policies [NAME]`."""
    from tacit.policies.catalogue import CATALOGUE, policy

    if parsed.name:
        kind = policy(parsed.name)
        if parsed.json:
            print_json({**_policy_facts(kind), "options": _describe_options(kind)})
        else:
            _print_options(kind)
        return 0
    if parsed.json:
        print_json({"policies": [_policy_facts(kind) for kind in CATALOGUE.values()]})
        return 0
    groups: dict[tuple[str, str, str], list[type[Policy]]] = {}
    for kind in CATALOGUE.values():
        groups.setdefault((kind.trust.value, kind.protects.value, kind.trust.meaning), []).append(kind)
    # A name as long as the column would run into its summary.
    room = max(14, *map(len, CATALOGUE)) + 2
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
    from tacit.environments import CATALOGUE, environment

    if parsed.name:
        kind = environment(parsed.name)
        if parsed.json:
            print_json({"name": kind.slug, "summary": kind.summary, "options": _describe_options(kind)})
        else:
            _print_options(kind)
        return 0
    if parsed.json:
        print_json({"environments": [{"name": kind.slug, "summary": kind.summary} for kind in CATALOGUE.values()]})
        return 0
    room = max(14, *map(len, CATALOGUE)) + 2
    for kind in CATALOGUE.values():
        print(f"{kind.slug:<{room}}{kind.summary}")
    print("\n`tacit environments NAME` lists the options of one.")
    return 0


def privacy(parsed: argparse.Namespace, rest: list[str]) -> int:
    """`tacit privacy POLICY`."""
    import numpy as np

    from tacit.policies.catalogue import policy

    kind = policy(parsed.policy)
    settings = read_settings(rest, parsed.set)
    refuse_unknown(settings, kind)
    if "dim" in fields(kind):
        settings = {"dim": str(_CARD_DIM), **settings}
    config: Policy = build(kind, settings, f"`tacit policies {kind.slug}` lists the options.")
    card = config.offered(np.eye(_CARD_DIM)).card()
    if parsed.json:
        print_json({**card.to_dict(), "settings": config.to_dict()})
    else:
        print(card.text())
    return 0


def _policy_facts(kind: type[Policy]) -> dict[str, Any]:
    return {
        "name": kind.slug,
        "class": f"tacit.{kind.__name__}",
        "summary": kind.summary,
        "trust": kind.trust.value,
        "protects": kind.protects.value,
        "needs": kind.needs,
    }


def _describe_options(kind: type[Policy] | type[Environment]) -> list[dict[str, Any]]:
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


def _print_options(kind: type[Policy] | type[Environment]) -> None:
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
