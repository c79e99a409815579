"""Messages between programs that do not trust each other: JSON in, JSON out, and everything checked before it is used.

A message may come from any language and from anybody. It is refused before it is parsed if it is longer than an honest
one could be, and before it is used if a key, a size or a number is not what was agreed. What is refused is never shown:
somebody's own data may be in it. The messages themselves: docs/protocol.md, and JSON Schemas in `tacit/protocol`.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any, NoReturn

import numpy as np

from tacit._types import Floats
from tacit.errors import BadInput, BadMessage

#: Of the protocol. A message of another version is refused.
VERSION = 1
#: What there is a schema for.
KINDS = ("contract", "view", "report", "batch", "sealed-report", "sealed-batch")
#: Characters a message may have, and may have more for each number in it: twice what the longest number needs.
_ENVELOPE, _PER_NUMBER = 1024, 64
#: The largest whole number that a double holds exactly: languages with doubles only can write all up to it.
LARGEST_WHOLE = 2**53
_NO_JSON = object()

_IDENTITY = re.compile(r"[0-9a-f]{32}")
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


def read(message: object, *, numbers: int = 2**20) -> dict[str, Any]:
    """The JSON object in `message`: a dict as it is, or text or UTF-8 bytes that are parsed.

    Refused: text too long for a message of so many `numbers`, a key that comes twice (two readers might take different
    ones), NaN and infinities (which JSON does not have), and anything that is not an object.
    """
    if isinstance(message, dict):
        return message
    if not isinstance(message, str | bytes | bytearray):
        raise BadMessage(f"Expected a message as a dict, text or bytes, got {type(message).__name__}.")
    most = limit_of(numbers)
    if len(message) > most:
        raise BadMessage(f"Expected a message of at most {most:,} characters, got {len(message):,}. It was not parsed.")
    found = _parsed(message)
    if found is _NO_JSON:
        # Not where it is caught: the problem has all that was sent in it, and would hang on to this one.
        raise BadMessage("Expected a message in JSON (UTF-8), got something that is not.")
    if not isinstance(found, dict):
        raise BadMessage(f"Expected a message to be a JSON object, got {_kind(found)}.")
    return found


def _parsed(message: str | bytes | bytearray) -> Any:
    """What the text says, if it is JSON."""
    try:
        text = message if isinstance(message, str) else bytes(message).decode("utf-8")
        return json.loads(text, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
    except BadMessage:
        raise
    except (ValueError, RecursionError):
        return _NO_JSON


def limit_of(numbers: int) -> int:
    """Characters that a message of so many numbers may have."""
    return _ENVELOPE + _PER_NUMBER * numbers


def write(message: dict[str, Any]) -> str:
    """The message as one line of JSON. Numbers keep every bit."""
    try:
        return json.dumps(message, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        raise BadInput(
            "Expected a message of strings, finite numbers, lists and dicts, got something else in it. Leave it out, "
            "or pass on what device, shuffler or server returned."
        ) from None


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of a message, by its kind: one of `KINDS`."""
    if kind not in KINDS:
        raise BadInput(f"Expected one of {', '.join(map(repr, KINDS))}, got {kind!r}.")
    found: dict[str, Any] = json.loads((files("tacit") / "protocol" / f"{kind}.schema.json").read_text("utf-8"))
    return found


def opened(message: object, kind: str, keys: tuple[str, ...], *, contract: str, numbers: int) -> dict[str, Any]:
    """The message, if it is of this kind, this version and this contract, and has these further keys and no others."""
    found = read(message, numbers=numbers)
    if found.get("tacit") != kind:
        raise BadMessage(f'Expected a {kind}, with "tacit": "{kind}", got a message that is none.')
    version = found.get("version")
    if type(version) is not int or version != VERSION:
        got = f"version {version}" if type(version) is int and 0 <= version < 1000 else "none of these"
        raise BadMessage(
            f"Expected version {VERSION} of the protocol, got {got}. Use a device, shuffler and server of one version."
        )
    expected = {"tacit", "version", "contract", *keys}
    if found.keys() != expected:
        missing = sorted(expected - found.keys())
        got = f"none of {', '.join(missing)}" if missing else "more than these"
        raise BadMessage(f"Expected a {kind} with the keys {', '.join(sorted(expected))}, got {got}.")
    if found["contract"] != contract:
        theirs = found["contract"]
        got = f"{theirs[:12]}…" if isinstance(theirs, str) and _FINGERPRINT.fullmatch(theirs) else "no fingerprint"
        raise BadMessage(
            f"Expected a {kind} under the contract {contract[:12]}…, got {got}. Install the same configuration on both "
            "sides."
        )
    return found


def as_stage(value: object) -> int:
    """How many reports, or batches, a view was made of."""
    if type(value) is not int or not 0 <= value <= LARGEST_WHOLE:
        raise BadMessage("Expected stage to be a whole number from 0 on, got something else.")
    return value


def as_identity(value: object) -> bytes:
    """The 128 bits that tell a report from a repeat. One spelling only, or a repeat could be spelled anew."""
    if not isinstance(value, str) or not _IDENTITY.fullmatch(value):
        raise BadMessage("Expected id to be 32 hexadecimal digits in lower case, got something else.")
    return bytes.fromhex(value)


def as_array(
    name: str, value: object, shape: tuple[int, ...], *, largest: float, whole: bool = False, least: float | None = None
) -> Floats:
    """Nested lists of numbers as an array of exactly this shape; every number within `largest` of zero.

    With `whole` they are whole numbers, written as such. Returned as float64; what is whole is below 2⁵³ and so exact.
    """
    flat = _flattened(name, value, shape)
    low = -largest if least is None else least
    for number in flat:
        # bool is an int to Python; NaN fails the comparison; a huge int is compared without being converted.
        if not ((type(number) is int or (type(number) is float and not whole)) and low <= number <= largest):
            kind = "whole numbers" if whole else "numbers"
            raise BadMessage(
                f"Expected {name} to be {kind} from {low:g} to {largest:g}, got something else among them. Nothing was "
                "changed."
            )
    return np.array(flat, np.float64).reshape(shape)


def _flattened(name: str, value: object, shape: tuple[int, ...]) -> list[Any]:
    if not shape:
        return [value]
    if type(value) is not list or len(value) != shape[0]:
        got = f"a list of {len(value):,}" if type(value) is list else _kind(value)
        raise BadMessage(f"Expected {name} to hold a list of {shape[0]:,}, got {got}. Nothing was changed.")
    if len(shape) == 1:
        return value
    return [number for inner in value for number in _flattened(name, inner, shape[1:])]


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadMessage("Expected every key of a message once, got one twice.")
    return found


def _no_constant(_token: str) -> NoReturn:
    raise BadMessage("Expected finite numbers in a message, got NaN or an infinity, which JSON does not have.")


def _kind(value: object) -> str:
    """What JSON calls it."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)
