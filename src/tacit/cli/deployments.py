"""`tacit deployments`: make, list, show, pause, resume and delete what a running service serves, and name actions."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from tacit.cli.options import build, print_json, read_settings, refuse_unknown
from tacit.errors import BadInput

if TYPE_CHECKING:
    from tacit.client.clients import Client


def deployments(parsed: argparse.Namespace, rest: list[str]) -> int:
    """`tacit deployments create NAME POLICY …`, `list`, `show NAME`, `add-action NAME ACTION`, `pause NAME`, …"""
    from tacit.client.clients import Client

    if parsed.what != "create" and rest:
        raise BadInput(f"There is no option {rest[0]!r} here. See `tacit deployments --help`.")
    takes_two = parsed.what in ("create", "add-action")
    too_many = parsed.name if parsed.what == "list" else None if takes_two else parsed.policy
    if too_many is not None:
        wanted = "nothing" if parsed.what == "list" else "the name of one deployment"
        raise BadInput(f"Expected {wanted} after {parsed.what}, got {too_many!r} too. Leave it out.")
    url = parsed.url or os.environ.get("TACIT_URL") or "http://127.0.0.1:8420"
    with Client(url, key=parsed.key or os.environ.get("TACIT_KEY"), timeout=120.0) as client:  # it may compile
        facts = _asked(client, parsed, rest)
    if parsed.json:
        print_json(facts)
    else:
        _show(parsed.what, facts)
    return 0


def _asked(client: Client, parsed: argparse.Namespace, rest: list[str]) -> Any:
    if parsed.what == "list":
        return client.deployments()
    if parsed.name is None:
        raise BadInput(f"Expected the name of a deployment, got none: tacit deployments {parsed.what} NAME.")
    if parsed.what == "create":
        return _create(client, parsed, rest)
    if parsed.what == "add-action":
        if parsed.policy is None:
            raise BadInput("Expected the name of an action, got none: tacit deployments add-action NAME ACTION.")
        return client.add_action(parsed.name, parsed.policy)
    if parsed.what == "show":
        return {"deployment": client.deployment(parsed.name), "card": client.card(parsed.name)}
    if parsed.what == "delete":
        client.delete(parsed.name)
        return {"deleted": parsed.name}
    return client.pause(parsed.name) if parsed.what == "pause" else client.resume(parsed.name)


def _create(client: Client, parsed: argparse.Namespace, rest: list[str]) -> Any:
    from tacit.policies.catalogue import policy

    if parsed.policy is None:
        raise BadInput("Expected a policy, got none: tacit deployments create NAME joint-linucb --dim 10 --epsilon 1 …")
    kind = policy(parsed.policy)
    settings, actions = read_settings(rest, parsed.set), parsed.actions
    if actions is not None and kind.has_option("actions"):  # a list of its own
        settings["actions"], actions = actions, None
    refuse_unknown(settings, kind)
    config = build(kind, settings, f"`tacit policies {kind.slug}` lists the options.")
    return client.create(
        parsed.name,
        config,
        closes_after=parsed.closes_after,
        closes_after_decisions=parsed.closes_after_decisions,
        default_reward=parsed.default_reward,
        actions=None if actions is None else [name.strip() for name in actions.split(",") if name.strip()],
    )


def _show(what: str, facts: Any) -> None:
    if what == "list":
        if not facts:
            print("No deployments yet: tacit deployments create NAME joint-linucb --dim 10 --epsilon 1 --delta 1e-6")
        for one in facts:
            words = one["state"] if one["learning"] else f"{one['state']}, no longer learning"
            epsilon = "not private" if one["epsilon"] is None else f"epsilon {one['epsilon']:.4g}"
            print(f"{one['name']:<24}{one['policy']:<18}{epsilon:<16}view {one['view']:<8}{words}")
        return
    if what == "delete":
        print(f"deleted {facts['deleted']}; its ledger stays, with a tombstone.")
        return
    one = facts.get("deployment", facts)
    print(f"{one['name']}: {one['policy']}, {one['state']}, view {one['view']}, {one['decisions']:,} {one['takes']}")
    if one["why_not"]:
        print(one["why_not"])
    if one.get("action_ids") is not None:
        spare = one["arms"] - one["actions"]
        print(f"actions: {', '.join(one['action_ids'])}{f'; {spare} more can be named' if spare else ''}")
    print(one["guarantee"])
    if "card" in facts:
        print()
        print(facts["card"]["text"])
