"""All of a learner's state in one piece of memory, so that thousands of runs can begin alike without Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._types import Floats, Ints
from tacit.core.plan import Plan


@dataclass(frozen=True)
class Rooms:
    """Vault, view and report whose arrays are parts of `floats` and `ints`; the first contents of both."""

    vault: Any
    view: Any
    report: Floats
    floats: Floats
    ints: Ints
    first_floats: Floats
    first_ints: Ints
    shown: Floats  #: view and report: what an attacker may be shown of `floats`
    places: dict[str, tuple[slice, tuple[int, ...]]]  #: of each array in `shown`, and its shape


def rooms_of(plan: Plan) -> Rooms:
    """Fresh rooms for one thread."""
    parts = {"vault": plan.vault(), "view": plan.view(), "report": (np.zeros(plan.report_size),)}
    arrays = [array for part in parts.values() for array in part]
    floats = np.zeros(sum(array.size for array in arrays if array.dtype == np.float64))
    ints = np.zeros(sum(array.size for array in arrays if array.dtype == np.int64), np.int64)
    if floats.size + ints.size != sum(array.size for array in arrays):
        raise TypeError(f"Expected vault and view of {type(plan.params).__name__} to hold float64 and int64 only.")
    used = {"f": 0, "i": 0}
    moved: dict[str, Any] = {}
    shown_from, places = 0, {}
    for name, part in parts.items():
        if name == "view":
            shown_from = used["f"]
        inner = []
        for field, array in zip(getattr(part, "_fields", ("report",)), part, strict=True):
            kind = array.dtype.kind
            whole: Any = floats if kind == "f" else ints
            at = used[kind]
            used[kind] = at + array.size
            piece = whole[at : at + array.size].reshape(array.shape)
            piece[...] = array
            inner.append(piece)
            if name != "vault" and kind == "f":
                places[field] = (slice(at - shown_from, at - shown_from + array.size), array.shape)
        moved[name] = type(part)(*inner) if hasattr(part, "_fields") else inner[0]
    return Rooms(
        moved["vault"],
        moved["view"],
        moved["report"],
        floats,
        ints,
        floats.copy(),
        ints.copy(),
        floats[shown_from:],
        places,
    )
