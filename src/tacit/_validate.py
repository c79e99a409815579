"""Checks of scalar arguments. Each returns the value it approved, or raises `BadInput`: with the value in it where that
is a setting, and without where it is a person's."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from difflib import get_close_matches

from tacit.errors import BadInput, UnknownName


def real(name: str, value: object) -> float:
    """A finite real number (bool, strings and None are not numbers here)."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise BadInput(f"Expected {name} to be a number, got {name}={value!r}.")
    number = float(value)
    if not math.isfinite(number):
        raise BadInput(f"Expected {name} to be finite, got {name}={value!r}.")
    return number


def any_datum(name: str, value: object) -> float:
    """A real number that is a person's, finite or not: what is refused is told by its type, and never shown."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise BadInput(f"Expected {name} to be a number, got {type(value).__name__}. Nothing was changed.")
    try:
        return float(value)
    except OverflowError:  # a whole number beyond every double
        return math.inf


def datum(name: str, value: object) -> float:
    """A finite real number that is a person's."""
    number = any_datum(name, value)
    if not math.isfinite(number):
        what = "NaN" if math.isnan(number) else "an infinity"
        raise BadInput(f"Expected {name} to be finite, got {what}. Nothing was changed.")
    return number


def positive(name: str, value: object, *, hint: str = "") -> float:
    number = real(name, value)
    if number <= 0:
        raise BadInput(f"Expected {name} > 0, got {name}={value!r}.{_tail(hint)}")
    return number


def at_least(name: str, value: object, low: float, *, hint: str = "") -> float:
    number = real(name, value)
    if number < low:
        raise BadInput(f"Expected {name} >= {low:g}, got {name}={value!r}.{_tail(hint)}")
    return number


def above(name: str, value: object, low: float, *, hint: str = "") -> float:
    number = real(name, value)
    if number <= low:
        raise BadInput(f"Expected {name} > {low:g}, got {name}={value!r}.{_tail(hint)}")
    return number


def probability(name: str, value: object, *, hint: str = "") -> float:
    """A number strictly between 0 and 1."""
    number = real(name, value)
    if not 0 < number < 1:
        raise BadInput(f"Expected 0 < {name} < 1, got {name}={value!r}.{_tail(hint)}")
    return number


def whole(name: str, value: object, *, low: int = 1, hint: str = "") -> int:
    """A whole number ≥ low."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise BadInput(f"Expected {name} to be a whole number, got {name}={value!r}.{_tail(hint)}")
    number = int(value)
    if number < low:
        raise BadInput(f"Expected {name} >= {low}, got {name}={value!r}.{_tail(hint)}")
    return number


def flag(name: str, value: object) -> bool:
    """True or False, and nothing that merely counts as one of them."""
    if not isinstance(value, bool):
        raise BadInput(f"Expected {name} to be True or False, got {name}={value!r}.")
    return value


def one_of(name: str, value: object, allowed: Iterable[str], *, hint: str = "") -> str:
    choices = list(allowed)
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise BadInput(f"Expected {name} to be one of {listed}, got {name}={value!r}.{_tail(hint)}")
    return value


def known(kind: str, name: str, names: Iterable[str], *, see: str) -> str:
    """`name` if it is one of `names`; otherwise an error that offers the nearest ones."""
    choices = sorted(names)
    if name in choices:
        return name
    near = get_close_matches(name, choices, n=3, cutoff=0.4)
    offer = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(choices)}."
    raise UnknownName(f"There is no {kind} {name!r}. {offer} {see}")


def _tail(hint: str) -> str:
    return f" {hint}" if hint else ""
