"""Types in words: what a body, or a part of it, may be. All of it comes from the types, nothing from what was sent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

#: Where, in the words of msgspec. The name of a field that was sent may be made to look like it: only a place that the
#: type has is one, and of a field that it does not have no long number is repeated.
_PLACE = re.compile(r"- at `\$([.\[\]a-z0-9_]*)`$")
_LONG = re.compile("[0-9]{5}")
_STEP = re.compile(r"\.([a-z0-9_]+)|\[[0-9.]*\]")
_UNKNOWN, _MISSING = "Object contains unknown field", re.compile(r"Object missing required field `([a-z0-9_]+)`")


def refused(problem: BaseException, kind: Any) -> tuple[str, str | None]:
    """Why a body is not of its kind, and the field that this is about."""
    if not isinstance(problem, msgspec.ValidationError):
        wanted = type_words(type_of(kind))
        return f"Expected the body to be JSON in UTF-8, {wanted}, got something else. It was not read.", None
    text = str(problem)
    unknown, missing = text.startswith(_UNKNOWN), _MISSING.match(text)
    path, part = _found(type_of(kind), text, unknown=unknown)
    what, names = path or "the body", [field.encode_name for field in _fields(part)]
    if unknown and names:
        return f"Expected {what} to have no fields but {listed(names)}, got another. Leave it out.", path
    if missing is not None and missing[1] in names:
        return f"Expected {what} to be {type_words(_struct(part) or part)}, got no {missing[1]}. Add it.", path
    return f"Expected {what} to be {type_words(part)}, got something else. Change it and send it again.", path


def _found(kind: inspect.Type, text: str, *, unknown: bool) -> tuple[str | None, inspect.Type]:
    """The place that a problem is at, and its type; the whole where it names none that the type has."""
    place = _PLACE.search(text)
    part = None if place is None else _part(kind, place[1])
    if place is None or part is None or (unknown and (not _fields(part) or _LONG.search(place[1]))):
        return None, kind
    return place[1].lstrip(".") or None, part


@cache
def type_of(kind: Any) -> inspect.Type:
    """A type as msgspec reads it."""
    return inspect.type_info(kind)


def _part(kind: inspect.Type, path: str) -> inspect.Type | None:
    """The type at a place within another; None if it has no such place."""
    while path:
        step = _STEP.match(path)
        if step is None:
            return None
        inner: Any = None
        for one in _choices(kind):
            if step[1] is not None and isinstance(one, inspect.StructType):
                inner = next((field.type for field in one.fields if field.encode_name == step[1]), None)
            elif step[1] is None and isinstance(one, inspect.ListType):
                inner = one.item_type
        if inner is None:
            return None
        kind, path = inner, path[step.end() :]
    return kind


def _choices(kind: inspect.Type) -> Sequence[inspect.Type]:
    """What a type may be, without what is only said about it."""
    inner = kind.type if isinstance(kind, inspect.Metadata) else kind
    return inner.types if isinstance(inner, inspect.UnionType) else (inner,)


def _fields(kind: inspect.Type) -> Sequence[inspect.Field]:
    """The fields of an object; none of anything else."""
    found = _struct(kind)
    return () if found is None else found.fields


def _struct(kind: inspect.Type) -> inspect.StructType | None:
    """The object that a type may be, if it may be one."""
    return next((one for one in _choices(kind) if isinstance(one, inspect.StructType)), None)


def type_words(kind: inspect.Type) -> str:
    """What is expected, as the end of a sentence."""
    match kind:
        case inspect.Metadata():
            said = (kind.extra_json_schema or {}).get("description")
            return type_words(kind.type) if said is None else str(said)
        case inspect.UnionType():
            return ", or ".join(type_words(one) for one in kind.types)
        case inspect.NoneType():
            return "null"
        case inspect.StrType():
            return f"a text{_many(kind.min_length, kind.max_length, 'character')}"
        case inspect.IntType():
            return f"a whole number{_bounds(kind)}"
        case inspect.FloatType():
            return f"a number{_bounds(kind)}"
        case inspect.ListType():
            return f"a list{_many(kind.min_length, kind.max_length, 'item')}"
        case inspect.StructType():
            return _object(kind)
        case inspect.DictType():
            return "an object"
    return "a value as documented at /docs"


def _object(kind: inspect.StructType) -> str:
    needed = [field.encode_name for field in kind.fields if field.required]
    other = [field.encode_name for field in kind.fields if not field.required]
    least = f"an object with {listed(needed)}" if needed else "an object"
    return f"{least}, and if wanted {listed(other)}" if other else least


def listed(names: Sequence[str]) -> str:
    """Names in a row."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _many(low: int | None, high: int | None, what: str) -> str:
    if low is None and high is None:
        return ""
    if low is None or high is None:
        word, number = ("at most", high) if low is None else ("at least", low)
        return f" of {word} {number:,} {what}{'' if number == 1 else 's'}"
    return f" of {low:,} to {high:,} {what}s"


def _bounds(kind: inspect.IntType | inspect.FloatType) -> str:
    if kind.ge is not None and kind.le is not None:
        return f" from {_number(kind.ge)} to {_number(kind.le)}"
    words = {"above": kind.gt, "at least": kind.ge, "below": kind.lt, "at most": kind.le}
    said = [f"{word} {_number(bound)}" for word, bound in words.items() if bound is not None]
    return f" {' and '.join(said)}" if said else ""


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"
