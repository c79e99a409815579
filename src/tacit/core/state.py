"""Everything a learner is, as plain bytes and back. Vault: these bytes never leave the process unencrypted.

Not among them: noise from the operating system that lies ready on a tape. Two learners must never share it, so whoever
is restored lays out its own. A seeded learner's stream is kept, and goes on to the bit.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from tacit.core.arms import learner_of
from tacit.core.decisions import Decisions
from tacit.core.learner import Learner
from tacit.core.people import TOKEN, People
from tacit.core.plan import Plan
from tacit.core.policy import Policy
from tacit.core.round import ROWS
from tacit.core.sealed import MOST
from tacit.errors import BadCheckpoint, BadInput

Arrays = dict[str, np.ndarray[Any, Any]]

#: The last digits of a planned number may differ between machines; calibration leaves a thousand times that much room.
_CLOSE = 1e-9

#: What has a row for each decision that is kept, and for each person.
_PER_DECISION = tuple(f"decisions/{name}" for name in ("ids", "numbers", "actions", "open", "rewards", "persons"))
_PER_PERSON = ("people/tokens", "people/rows", "people/last")
#: Digits of a secret count at most.
_DIGITS = 20
#: Up to this many bytes the length of a state follows from public numbers alone.
_PADDED = 2**24


def pack(learner: Learner) -> bytes:
    """The learner's state."""
    config, people, session = learner._config, learner._people, learner._session
    facts = {
        "module": _home(type(config)),
        "class": type(config).__qualname__,
        "config": config.to_dict(),
        "event": learner._plan.event.to_dict(),
        "clock": clock_of(learner._plan),
        "seed": learner._seed,
        "sampler": learner._sampler,
        "served": learner._served,
        "dropped": learner._dropped,
        "expired": learner._expired,
        "unfit": learner._unfit,
        "owed": learner._owed,
        "closes_after": learner._closes_after,
        "released_at": learner._released_at,
        "copies": learner._copies,
    }
    try:
        text = json.dumps(facts, allow_nan=False)
        text += " " * sum(_DIGITS - len(str(facts[name])) for name in ("dropped", "expired", "unfit"))
        described = json.loads(text)["config"]
        faithful = json.loads(json.dumps(type(config).from_dict(described).to_dict())) == described
    except (TypeError, ValueError) as problem:
        raise BadInput(
            f"Expected a configuration that travels as JSON, got one that does not ({problem}). "
            f"Check to_dict and from_dict of {type(config).__name__}."
        ) from None
    if not faithful:
        raise BadInput(
            "Expected a configuration that from_dict rebuilds from its to_dict, got another one back. "
            f"Check both of {type(config).__name__}."
        )
    arrays = {
        "facts": np.frombuffer(text.encode(), np.uint8),
        **leaves("vault", session.vault),
        **leaves("view", session.view),
        **(leaves("noise", session.noise) if session.seeded else {}),
        **_under("decisions", learner._decisions.arrays(len(config.empty_row))),
        **(_under("people", people.arrays()) if people is not None else {}),
    }
    bare = _written({**arrays, "padding": np.zeros(0, np.uint8)})
    return _written({**arrays, "padding": np.zeros(_length(learner, arrays, len(bare)) - len(bare), np.uint8)})


def _written(arrays: Arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def _length(learner: Learner, arrays: Arrays, bare: int) -> int:
    """How long the state is to be: as long as if every decision were open and every row of another person, which
    follows from public counts; from `_PADDED` on the next power of two, which does not."""
    made, after = learner._decisions.made, learner._closes_after
    kept = made if after is None else min(made, after)
    rows = int(learner._session.vault.counters[ROWS]) + learner._owed
    secret = sum(arrays[name].nbytes for name in (*_PER_DECISION, *_PER_PERSON) if name in arrays)
    person = learner._people is not None
    each = (
        16 + 8 + 8 * len(learner._config.empty_row) + 1 + 8 + TOKEN * person
    )  # an id, a number, a row, open, reward, person
    rest = (TOKEN + 8 + 8 * learner._people.one_per_segment) * rows if learner._people is not None else 0
    public = bare - secret + each * kept + rest
    wanted = public if public <= _PADDED else max(_PADDED, min(1 << (bare - 1).bit_length(), MOST))
    return max(bare, wanted)


def unpack(payload: bytes) -> Learner:
    """The learner whose state `pack` wrote. The bytes must have been authenticated."""
    with np.load(io.BytesIO(payload), allow_pickle=False) as file:
        arrays: Arrays = {name: file[name] for name in file.files}
    facts = json.loads(arrays["facts"].tobytes())
    learner = learner_of(
        _config(facts), seed=facts["seed"], sampler=facts["sampler"], closes_after=facts["closes_after"]
    )
    plan, session = learner._plan, learner._session
    if not same(json.loads(json.dumps(plan.event.to_dict())), facts["event"]) or clock_of(plan) != facts["clock"]:
        raise BadCheckpoint(
            "Expected the noise this version of tacit plans for the configuration, got a checkpoint that was planned "
            "otherwise. Resume it with the version that wrote it: its header names it."
        )
    fill("vault", session.vault, arrays)
    fill("view", session.view, arrays)
    if session.seeded:
        fill("noise", session.noise, arrays)
    learner._decisions = Decisions.from_arrays(_below("decisions", arrays))
    if learner._people is not None:
        learner._people = People.from_arrays(
            learner._people.limit, learner._people.one_per_segment, _below("people", arrays)
        )
    learner._served, learner._dropped, learner._expired = facts["served"], facts["dropped"], facts["expired"]
    learner._unfit, learner._owed = facts["unfit"], facts["owed"]
    learner._released_at, learner._copies = facts["released_at"], facts["copies"]
    return learner


def _home(kind: type) -> str:
    """Where a policy will be found again: its package if that shows it, as the modules inside may move."""
    for module in (kind.__module__.split(".")[0], kind.__module__):
        if _class(module, kind.__qualname__) is kind:
            return module
    raise BadInput(
        f"Expected a policy that can be found by its name, got {kind.__qualname__}, which cannot. "
        "Define it at the top of a module."
    )


def _class(module: str, name: str) -> Any:
    """What goes by this name, or None. Found where it was: rooms below the policies do not know their list."""
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    return found


def _config(facts: dict[str, Any]) -> Policy:
    found = _class(facts["module"], facts["class"])
    if not (isinstance(found, type) and issubclass(found, Policy)):
        raise BadCheckpoint(
            f"Expected a policy {facts['class']} in the module {facts['module']}, where it was when the checkpoint was "
            "written, got none. Install that module."
        )
    try:
        return found.from_dict(facts["config"])
    except BadInput as problem:
        raise BadCheckpoint(
            f"Expected a configuration this version of tacit knows, got one it refuses: {problem} "
            "Resume it with the version that wrote it: its header names it."
        ) from None


def clock_of(plan: Plan) -> str:
    """A fingerprint of every whole number in the plan: release times, horizons, sizes. A row learned under one clock
    must not be released under another."""
    digest = hashlib.blake2b(f"{type(plan.params).__name__} {plan.limit} {plan.report_size}".encode(), digest_size=16)
    for name, leaf in _walk("params", plan.params):
        value = np.asarray(leaf)
        if value.dtype.kind in "iu":
            digest.update(f" {name} {value.shape} ".encode() + value.astype("<i8").tobytes())
    return digest.hexdigest()


def same(planned: Any, stored: Any) -> bool:
    if isinstance(planned, dict) and isinstance(stored, dict):
        return planned.keys() == stored.keys() and all(same(value, stored[name]) for name, value in planned.items())
    if isinstance(planned, list) and isinstance(stored, list):
        return len(planned) == len(stored) and all(map(same, planned, stored))
    if isinstance(planned, float) and isinstance(stored, float):
        return math.isclose(planned, stored, rel_tol=_CLOSE)
    return type(planned) is type(stored) and bool(planned == stored)


def _walk(name: str, part: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(part, tuple):
        for field, inner in zip(getattr(part, "_fields", range(len(part))), part, strict=True):
            yield from _walk(f"{name}/{field}", inner)
    else:
        yield name, part


def leaves(name: str, part: Any) -> Arrays:
    return {place: leaf for place, leaf in _walk(name, part) if isinstance(leaf, np.ndarray)}


def fill(name: str, part: Any, arrays: Arrays) -> None:
    """Write what was stored into arrays of exactly its shape and type."""
    for place, leaf in leaves(name, part).items():
        stored = arrays.get(place)
        if stored is None or stored.shape != leaf.shape or stored.dtype != leaf.dtype:
            got = "nothing" if stored is None else f"{stored.dtype} of shape {stored.shape}"
            raise BadCheckpoint(
                f"Expected {place} to be {leaf.dtype} of shape {leaf.shape}, got {got}. Resume the checkpoint with the "
                "version of tacit that wrote it: its header names it."
            )
        leaf[...] = stored


def _under(name: str, arrays: Arrays) -> Arrays:
    return {f"{name}/{inner}": value for inner, value in arrays.items()}


def _below(name: str, arrays: Arrays) -> Arrays:
    return {place.removeprefix(f"{name}/"): value for place, value in arrays.items() if place.startswith(f"{name}/")}
