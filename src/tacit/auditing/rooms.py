"""All of a session's state in one piece of memory, so that thousands of runs can begin alike without Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._types import Floats, Ints
from tacit.core.session import Session


@dataclass(frozen=True)
class Rooms:
    """What vault, view and report of a session are parts of: `floats` and `ints`; the first contents of both."""

    floats: Floats
    ints: Ints
    first_floats: Floats
    first_ints: Ints
    shown: Floats  #: what is published, view and report: what an attacker may be shown of `floats`
    places: dict[str, tuple[slice, tuple[int, ...]]]  #: of each array in `shown`, and its shape


def rooms_of(session: Session) -> Rooms:
    """The one piece of memory that a session's arrays are in from now on."""
    vault, view, report = session.vault, session.view, session.report
    arrays = [*vault, *view, report]
    floats = np.zeros(sum(array.size for array in arrays if array.dtype == np.float64))
    ints = np.zeros(sum(array.size for array in arrays if array.dtype == np.int64), np.int64)
    if floats.size + ints.size != sum(array.size for array in arrays):
        raise TypeError(f"Expected vault and view of {type(session.params).__name__} to hold float64 and int64 only.")
    used = {"f": 0, "i": 0}

    def moved(array: Any) -> Any:
        """The same numbers in the next free place."""
        kind = array.dtype.kind
        whole: Any = floats if kind == "f" else ints
        at = used[kind]
        used[kind] = at + array.size
        piece = whole[at : at + array.size].reshape(array.shape)
        piece[...] = array
        return piece

    # Last of all secrets a counter's memory, whose last row is what it has published: `fit` is given nothing else.
    kept = {name: moved(getattr(vault, name)) for name in sorted(vault._fields, key=lambda name: name == "memory")}
    session.vault = type(vault)(**kept)
    memory = kept.get("memory")
    published = 0 if memory is None or memory.ndim != 2 or memory.dtype != np.float64 else memory.shape[1]
    shown_from = used["f"] - published
    places: dict[str, tuple[slice, tuple[int, ...]]] = {"published": (slice(0, published), (published,))}
    shown = []
    for name, array in zip((*view._fields, "report"), (*view, report), strict=True):
        at = used["f"] - shown_from
        shown.append(moved(array))
        if array.dtype.kind == "f":
            places[name] = (slice(at, at + array.size), array.shape)
    *parts, session.report = shown
    session.view = type(view)(*parts)
    return Rooms(floats, ints, floats.copy(), ints.copy(), floats[shown_from:], places)
