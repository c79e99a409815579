"""The pages that are written by the code itself: commands, policies, environments, and what Python can import."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import inspect
from collections.abc import Iterable
from typing import Any

import tacit
from tacit.cli.parser import parser
from tacit.environments import CATALOGUE as ENVIRONMENTS
from tacit.environments import FUNCTION_CATALOGUE
from tacit.policies.catalogue import CATALOGUE, FUNCTIONS

#: Pages of the Python reference: a title, what they are about, and the names on them.
_TOPICS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "learning": (
        "Learners",
        "A configuration says what is promised, and starts what keeps it: a learner, a device and a server, or a "
        "released function.",
        (
            "Policy",
            "Learner",
            "Decision",
            "Prior",
            "new_key",
            "resume",
            "Device",
            "Server",
            "Shuffler",
            "PrivateFunction",
        ),
    ),
    "studying": (
        "Simulations, frontiers, logs",
        "What a policy would do, before anybody is served.",
        (
            "simulate",
            "Result",
            "simulation.PredictionResult",
            "frontier",
            "Frontier",
            "frontiers.Asked",
            "frontiers.Point",
            "read_log",
            "Log",
            "replay",
            "replaying.Evaluation",
            "replaying.Estimate",
        ),
    ),
    "serving": (
        "Clients of a service",
        "`tacit serve` over HTTP: from an application, and from people's own devices. What a service refuses is a "
        "`ServiceError` of [tacit.errors](tacit-errors.md).",
        ("Client", "AsyncClient", "DeviceClient", "client.calls.Choice"),
    ),
    "auditing": ("Audits", "What is promised, attacked.", ("audit", "audit_black_box", "Audit", "auditing.Finding")),
    "guarantees": ("Guarantees and cards", "What is promised, as a value.", ("Guarantee", "Card", "Promise")),
}
#: Modules whose names are all public.
_MODULES = (
    "privacy",
    "releases",
    "calibrations",
    "explorations",
    "kernels",
    "features",
    "adapters",
    "errors",
    "reproduce",
)


def pages() -> dict[str, str]:
    """Where each generated page goes, and its text."""
    from public import page  # beside this file

    found = {"reference/command-line.md": _commands(), "reference/environments.md": _environments()}
    for kind in {**CATALOGUE, **FUNCTIONS}.values():
        found[f"reference/policies/{kind.slug}.md"] = _policy(kind)
    for name, (title, text, names) in _TOPICS.items():
        names = (*names, *_others()) if name == "studying" else names
        found[f"reference/{name}.md"] = f"# {title}\n\n{text}\n\n" + "\n".join(_autodoc(name) for name in names)
    for name in _MODULES:
        found[f"reference/tacit-{name}.md"] = _module(name)
    found["reference/policies/index.md"] = _policies()
    found["reference/index.md"] = _index(found)
    found["what-is-public.md"] = page()  # below what is written by hand
    return found


def _others() -> list[str]:
    """Public names that no page has claimed: a new one is in the reference before anybody sorts it."""
    kinds = {kind.__name__ for kind in {**CATALOGUE, **FUNCTIONS}.values()}
    placed = {name for _, _, names in _TOPICS.values() for name in names} | kinds
    public = [name for name in tacit.__all__ if name not in placed and not name.startswith("_")]
    return [name for name in public if not inspect.ismodule(getattr(tacit, name))]


def _index(found: dict[str, str]) -> str:
    """A list of the reference pages, to go below what `reference/README.md` says."""
    text = "## Pages\n\n"
    for place, page in sorted(found.items()):
        if "policies/" not in place or place.endswith("index.md"):
            text += f"- [{page.split(chr(10), 1)[0].removeprefix('# ')}]({place.removeprefix('reference/')})\n"
    return text


# Commands ---------------------------------------------------------------------------------------------------------


def _commands() -> str:
    every = parser()
    [commands] = [action for action in every._actions if isinstance(action, argparse._SubParsersAction)]
    text = f"# Command line\n\n{every.description}\n\nWritten by the parser itself: `tacit --help` and "
    text += "`tacit COMMAND --help` say the same. Options of policies and environments are flags of a command too: "
    text += "see [their pages](index.md), `tacit policies NAME` and `tacit environments NAME`.\n\n"
    text += _table(
        ("command", "what it does"),
        ((f"[`tacit {name}`](#tacit-{name})", _plain(_help(commands, name))) for name in commands.choices),
    )
    for name, sub in commands.choices.items():
        text += f"\n## tacit {name}\n\n{_plain(sub.description or '')}\n\n"
        text += f"```text\n{sub.format_usage().removeprefix('usage: ').strip()}\n```\n\n"
        text += _table(
            ("argument", "meaning"), ((_spelling(action), _plain(action.help or "")) for action in sub._actions)
        )
        example = (sub.epilog or "").removeprefix("example:\n")
        text += "\nFor example:\n\n```text\n" + "\n".join(line.strip() for line in example.splitlines()) + "\n```\n"
    return text


def _help(commands: Any, name: str) -> str:
    return next(choice.help for choice in commands._choices_actions if choice.dest == name)


def _spelling(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    value = "" if action.nargs == 0 else " " + str(action.metavar or action.dest.upper())
    return ", ".join(f"`{word}{value}`" for word in action.option_strings).replace("|", "\\|")


# Policies and environments ----------------------------------------------------------------------------------------


def _policies() -> str:
    text = "# Policies\n\nWhich one to use is told by the [overview](../../overview.md), what each promises by its "
    text += "page of [guarantees](../../guarantees/index.md). Here are the options.\n\n"
    rows = [
        (f"[{kind.slug}]({kind.slug}.md)", kind.trust.value, kind.protects.value, _plain(kind.summary))
        for kind in {**CATALOGUE, **FUNCTIONS}.values()
    ]
    return text + _table(("policy", "trust", "protects", "what it is"), rows)


def _policy(kind: Any) -> str:
    text = f"# {kind.slug}\n\n{_plain(kind.summary)}.\n\n"
    text += _table(
        ("", ""),
        (
            ("in Python", f"`tacit.{kind.__name__}`"),
            ("trust", f"{kind.trust.value}: {_plain(kind.trust.meaning)}"),
            ("protects", kind.protects.value),
            ("needs", _plain(kind.needs)),
            ("what is promised", f"[guarantees/{kind.slug}](../../guarantees/{kind.slug}.md)"),
        ),
    )
    return f"{text}\n## Options\n\n{_options(kind)}\n## In Python\n\n{_configuration('tacit', kind)}"


def _environments() -> str:
    text = "# Environments\n\nWorlds to learn in: [what each is for](../environments.md).\n\n"
    for kind in {**ENVIRONMENTS, **FUNCTION_CATALOGUE}.values():
        text += f"## {kind.slug}\n\n{_plain(kind.summary)}.\n\n{_options(kind)}\n"
        text += _configuration("tacit.environments", kind) + "\n"
    return (
        text
        + "## Of your own\n\n"
        + "\n".join(
            _autodoc(f"environments.{name}") for name in ("Environment", "FunctionEnvironment", "FunctionWorld")
        )
    )


def _options(kind: Any) -> str:
    rows = []
    for field in dataclasses.fields(kind):
        required = field.default is dataclasses.MISSING
        default = "required" if required else "" if field.default is None else f"`{field.default}`"
        rows.append(
            (
                f"`--{field.name.replace('_', '-')}`",
                _code(str(field.type)),
                default,
                _plain(field.metadata.get("help", "")),
            )
        )
    return _table(("option", "type", "default", "meaning"), rows)


def _configuration(home: str, kind: Any) -> str:
    """The class with what it must be told; its other options stand in the table above it."""
    needed = [f"{field.name}, " for field in dataclasses.fields(kind) if field.default is dataclasses.MISSING]
    return _directive("autoclass", f"{home}.{kind.__name__}({'*, ' if needed else ''}{''.join(needed)}**options)")


# Python -----------------------------------------------------------------------------------------------------------


def _module(name: str) -> str:
    module = importlib.import_module(f"tacit.{name}")
    public = getattr(module, "__all__", None) or [
        key
        for key, value in vars(module).items()
        if not key.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]
    text = f"# tacit.{name}\n\n" + _directive("automodule", f"tacit.{name}", ("no-members",))
    elsewhere = set(tacit.__all__)
    return text + "\n".join(_autodoc(f"{name}.{item}") for item in public if item not in elsewhere)


def _autodoc(name: str) -> str:
    holder, _, last = f"tacit.{name}".rpartition(".")
    thing = getattr(importlib.import_module(holder), last)
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return _directive("autoexception", f"tacit.{name}", ("members", "show-inheritance"))
    if inspect.isclass(thing):
        return _directive("autoclass", f"tacit.{name}", ("members",))
    if callable(thing):
        return _directive("autofunction", f"tacit.{name}")
    return _directive("autodata", f"tacit.{name}", ("no-value",))


def _directive(kind: str, name: str, options: Iterable[str] = ()) -> str:
    return f"```{{eval-rst}}\n.. {kind}:: {name}\n" + "".join(f"   :{option}:\n" for option in options) + "```\n"


# Markdown ---------------------------------------------------------------------------------------------------------


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def _plain(text: str) -> str:
    """Words for a person, with nothing in them that Markdown would take for its own."""
    text = text.replace("%(default)s", "the default").replace("%%", "%")
    parts = text.split("`")
    plain = [
        part.replace("*", "\\*").replace("_", "\\_").replace("<", "\\<") if number % 2 == 0 else part
        for number, part in enumerate(parts)
    ]
    return "`".join(plain).replace("|", "\\|")
