"""What is public, exactly: the tables below docs/what-is-public.md, for each policy and then once for all.

    python docs/public.py       writes them out, after naming what has no explanation

Names, shapes and meanings are read from the code, where they stand in comments and docstrings. Why each may leave is
said in public.toml, which puts every name into a group, and has a sentence for each group. `gaps` compares the two.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler

import tacit
from tacit import errors
from tacit.core.functions import FunctionLearner
from tacit.core.learner import Diagnostics
from tacit.core.messages import KINDS, schema
from tacit.core.sealed_reports import SealedShuffler
from tacit.policies.catalogue import CATALOGUE, FUNCTIONS
from tacit.policies.usca.exploring import FunctionDiagnostics
from tacit.policies.usca.function import FeatureFunction
from tacit.privacy import Protects, Trust
from tacit.service.api import operations, routes, types
from tacit.service.learning import Learning
from tacit.service.metrics import Metrics
from tacit.shuffling import app

Found = dict[str, dict[str, str]]  #: by heading, every name and what it means

#: What an application tells the server that runs it.
_ASGI = ("'type'", "'headers'", "'body'")
#: The dimension that sizes of reports are given for.
_DIM = 4

_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
WHY: dict[str, str] = _DATA["why"]
SCHEDULES: dict[str, str] = _DATA["schedules"]
SAID: dict[str, dict[str, str]] = _DATA["said"]  #: heading → group → names
_LATE = {
    True: "a row is summed when its reward comes, and moves no tick (decision 0024)",
    False: "rows are summed in the order of decisions, whatever came of them",
}


def because(config: Any, group: str) -> str:
    """Why a field of a view may leave: what it is made of depends on the policy."""
    if group not in ("released", "actions"):
        return WHY[group]
    if config.trust is Trust.NONE:
        return "NOT COVERED: computed from exact data; the policy promises nothing"
    if group == "actions" and config.protects is Protects.REWARDS:
        return "public: follows from actions and the plan; the policy protects rewards only"
    return {
        Trust.LOCAL: "covered: post-processing of reports, which were noised on people's devices",
        Trust.SHUFFLE: "covered: post-processing of mixed batches, priced as a whole",
    }.get(config.trust, "covered: post-processing of sums that were published with noise")


# What there is ------------------------------------------------------------------------------------------------------


def found() -> Found:
    """Everything that can leave, as the code has it."""
    seen: Found = {f"view {kind.__name__}": fields_of(kind) for kind in dict.fromkeys(type(one[2]) for one in _views())}
    for name in KINDS:
        parts = schema(name)["properties"]
        seen[f"message {name}"] = {part: parts[part].get("description", "") for part in parts}
    seen["released function"] = {**fields_of(FeatureFunction), **_methods(FeatureFunction)}
    for kind in (tacit.Learner, tacit.Device, tacit.Server):
        seen[kind.__name__] = _methods(kind)
    seen["Shuffler"] = _methods(SealedShuffler)
    learners = [FunctionLearner, *(kind for kind in _below(FunctionLearner) if kind.__module__.startswith("tacit."))]
    seen["function learners"] = {name: text for kind in reversed(learners) for name, text in _methods(kind).items()}
    for told in (Diagnostics, FunctionDiagnostics):
        seen[told.__name__] = fields_of(told)
    for kind in _of(types, msgspec.Struct):
        if not kind.__struct_config__.forbid_unknown_fields:  # else it is sent, not answered
            seen[f"answer {kind.__name__}"] = fields_of(kind)
    seen["answer of the view"] = _keys(inspect.getsource(Learning.view_text))
    seen["answer of the shuffler"] = _keys(inspect.getsource(app))
    seen["metrics"] = {one.name: one.documentation for one in Metrics().registry.collect()}
    seen["errors"] = {kind.__name__: _first(kind) for kind in _of(errors, errors.TacitError)}
    texts = [path.read_text("utf-8") for path in sorted(Path(tacit.__file__).parent.glob("service/**/*.py"))]
    seen["log lines"] = {name: "" for text in texts for name in _keys(text, logged=True)}
    seen["log lines"]["shuffler"] = "sentences with a stage, or the kind of an error"
    return seen


def gaps(seen: Found) -> list[str]:
    """What leaves without an explanation, and explanations of what is gone."""
    wrong = [f"{heading} has no table" for heading in seen.keys() - SAID.keys()]
    wrong += [f"{heading} is gone" for heading in SAID.keys() - seen.keys()]
    for heading in seen.keys() & SAID.keys():
        said = [name for names in SAID[heading].values() for name in names.split()]
        wrong += [f"{heading}: {name} has no explanation" for name in seen[heading].keys() - set(said)]
        wrong += [f"{heading}: {name} is gone" for name in set(said) - seen[heading].keys()]
        wrong += [f"{heading}: {name} is explained twice" for name in set(said) if said.count(name) > 1]
        wrong += [f"{heading}: {group} is no group" for group in SAID[heading].keys() - WHY.keys() - {"actions"}]
    return sorted(wrong)


def fields_of(kind: Any) -> dict[str, str]:
    """The fields of a class, and what the comment behind each says."""
    said = dict(re.findall(r"^    (\w+): [^#\n]*#:? (.*)$", inspect.getsource(kind), re.M))
    return {name: said.get(name, "") for name in inspect.get_annotations(kind)}


@cache
def _views() -> list[tuple[Any, Any, Any]]:
    """Every example of the catalogue: configuration, plan, and the first view."""
    plans = [(config, config.plan()) for kind in CATALOGUE.values() for config in kind.examples(_DIM)]
    return [(config, plan, plan.view()) for config, plan in plans]


def _methods(kind: type) -> dict[str, str]:
    """What can be asked of an object, and the first sentence about it."""
    ours = [one for one in reversed(kind.__mro__) if one.__module__.startswith("tacit.")]
    fields = {name for one in ours for name in inspect.get_annotations(one)}
    return {
        name: _first(value)
        for one in ours
        for name, value in vars(one).items()
        if not name.startswith("_") and name not in fields
    }


def _first(thing: Any) -> str:
    return re.split(r"(?<=[.])\s", " ".join((inspect.getdoc(thing) or "").split()))[0]


def _below(kind: type) -> Iterator[type]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


def _of(module: Any, kind: type) -> list[Any]:
    """Classes of this kind that a module defines."""
    found = [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, kind)]
    return [one for one in found if one.__module__ == module.__name__]


def _keys(text: str, *, logged: bool = False) -> dict[str, str]:
    """The keys of dictionaries that this code writes out: all of them, or those in calls of its logger."""
    nodes = list(ast.walk(ast.parse(textwrap.dedent(text))))
    if logged:
        calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("_log.")]
        nodes = [node for call in calls for node in ast.walk(call)]
    keys = [ast.unparse(key) for node in nodes if isinstance(node, ast.Dict) for key in node.keys if key is not None]
    return {key[1:-1].replace(" ", "_"): "" for key in keys if key[0] == "'" and key[1] != "/" and key not in _ASGI}


# The page -----------------------------------------------------------------------------------------------------------


def page() -> str:
    """What goes below docs/what-is-public.md."""
    seen = found()
    text = "## Policies\n\nWhat a policy's view holds is all that other people's decisions depend on.\n"
    every: dict[str, list[tuple[Any, Any, Any]]] = {}
    for config, plan, view in _views():
        every.setdefault(config.slug, []).append((config, plan, view))
    for slug, examples in every.items():
        text += f"\n### {slug}\n\n" + "".join(f"- {line}\n" for line in dict.fromkeys(_said(examples)))
        tables = {(type(view).__name__, config.trust, config.protects): config for config, _, view in examples}
        for (name, trust, protects), config in tables.items():
            head = f"view ({trust.value}, {protects.value})"
            text += "\n" + _table(f"view {name}", seen, head, lambda group, config=config: because(config, group))
    text += "\n## Learners of functions\n\nWhat leaves is a function, or a draw. Of *none* everything is exact.\n\n"
    for slug, kind in FUNCTIONS.items():
        # The exact form has fewer ways than the others, and none of its own.
        ways = [path for one in kind.examples() if one.form != "exact" for path in one.plan().paths]
        text += "".join(
            dict.fromkeys(f"- {slug} ({kind.trust.value}), {path.name}: {_plain(path.asked)}\n" for path in ways)
        )
    text += "\n" + _table("released function", seen)
    text += "\n## Messages of devices, shufflers and servers\n"
    text += "".join("\n" + _table(f"message {kind}", seen) for kind in KINDS)
    text += "\n## In Python\n"
    python = [name for name in seen if name[0].isupper() or name == "function learners"]
    text += "".join("\n" + _table(heading, seen) for heading in python)
    text += (
        "\n## Over HTTP\n\nA view with public contexts in it, or of a policy without privacy, needs an admin's key.\n\n"
    )
    text += _routes()
    text += "".join("\n" + _table(heading, seen) for heading in seen if heading.startswith("answer "))
    text += "\n## Metrics\n\n" + _table("metrics", seen)
    text += "\n## Logs\n\n" + _table("log lines", seen)
    return text + "\n## Errors\n\n" + _table("errors", seen, why="whether it is raised depends on")


def _said(examples: list[tuple[Any, Any, Any]]) -> Iterator[str]:
    """When views of a policy change, when rows are learned, and what devices send."""
    for _, plan, _ in examples:
        yield f"a new view: {SCHEDULES[type(getattr(plan.params, 'schedule', plan.params)).__name__]}"
    if any(getattr(config, "centre_rounds", 0) for config, _, _ in examples):
        yield "the centre: once, after the first rounds that the plan says, which are in no other release"
    for config, _, _ in examples:
        yield _LATE[config.rows_may_come_late]
    for _, plan, _ in examples:
        sent, batch = plan.report, plan.report and plan.report.batch
        if sent is not None:
            yield f"a report: `{sent.kind}`, {sent.size} numbers for d = {_DIM}, whatever is in it"
            yield "a batch: as many reports as the configuration says, never fewer" if batch else "no batches"
        else:
            yield "no reports: the learner is one program"


def _routes() -> str:
    """Who may ask for which answer."""
    text = "| address | key | answer |\n| --- | --- | --- |\n"
    for module, prefix in ((routes, "/v1"), (operations, "")):
        for handler in vars(module).values():
            if isinstance(handler, HTTPRouteHandler):
                guards: Any = handler.guards or ()
                who = " or ".join(role for guard in guards for role in (*guard.roles, "admin")) or "none"
                answer = str(inspect.signature(handler.fn).return_annotation).replace("types.", "")
                answer = answer.removeprefix("Response[").removesuffix("]") if "Response" in answer else answer
                [path], [method] = handler.paths, handler.http_methods
                text += f"| `{method} {prefix}{path}` | {who} | `{answer}` |\n"
    return text


def _table(heading: str, seen: Found, head: str = "", because: Any = WHY.get, why: str = "why it may leave") -> str:
    groups = {name: group for group, names in SAID[heading].items() for name in names.split()}
    rows: dict[str, list[str]] = {}
    for name, meaning in seen[heading].items():
        reason = _plain(because(groups.get(name, "")) or "NO EXPLANATION")
        rows.setdefault(f"{_plain(meaning)} | {reason}", []).append(f"`{name}`")
    head = f"| {head or heading} | what it is | {why} |\n| --- | --- | --- |\n"
    return head + "".join(f"| {', '.join(names)} | {rest} |\n" for rest, names in rows.items())


def _plain(text: str) -> str:
    parts = text.replace("|", "\\|").split("`")
    return "`".join(part if at % 2 else part.replace("_", "\\_").replace("<", "\\<") for at, part in enumerate(parts))


if __name__ == "__main__":
    sys.stdout.write("".join(f"{gap}\n" for gap in gaps(found())) + page())
