"""What the tests of the live learner share: configurations, persons, and everything a learner holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

import tacit
from tacit.core.learner import Learner
from tacit.policies.catalogue import CATALOGUE

DIM = 4
EXAMPLES = [config for kind in CATALOGUE.values() for config in kind.examples(DIM)]
#: Those that can be put to work for people; the others can only be simulated.
LIVE = [config for config in EXAMPLES if config.sampler() == "secure"]


def name_of(config: Any) -> str:
    """The slug, and which of its examples."""
    return f"{config.slug}-{type(config).examples(DIM).index(config)}"


def config(**changes: Any) -> tacit.JointLinUCB:
    """Three features, and releases soon: after 10 rows or so."""
    return tacit.JointLinUCB(**{"dim": 3, "epsilon": 10.0, "delta": 0.1, "ratio": 1.5, "views": 32, **changes})


def counts_people(config: Any) -> bool:
    return getattr(config, "person_rounds", None) is not None


def sets(count: int, arms: int, dim: int, seed: int) -> np.ndarray:
    """Action sets on the unit sphere, of shape (count, arms, dim)."""
    found = np.random.default_rng(seed).standard_normal((count, arms, dim))
    return found / np.linalg.norm(found, axis=2, keepdims=True)


def contents(learner: Learner) -> dict[str, bytes]:
    """Everything a learner holds, to the bit, noise included."""
    found = {
        f"{room}/{name}": np.array(part).tobytes()
        for room in ("vault", "view", "noise")
        for name, part in zip(getattr(learner._session, room)._fields, getattr(learner._session, room), strict=True)
    }
    names = ("served", "dropped", "unfit", "expired", "owed", "closes_after", "released_at", "copies")
    facts = [getattr(learner, f"_{name}") for name in names]
    found["facts"] = repr((facts, learner._moved)).encode()
    books = learner._decisions.arrays(len(learner.config.empty_row))
    people = {} if learner._people is None else learner._people.arrays()
    for room, arrays in (("decisions", books), ("people", people)):
        found.update({f"{room}/{name}": array.tobytes() for name, array in arrays.items()})
    return found


def behaviour(learner: Learner) -> dict[str, Any]:
    """What `contents` says, without secrets that differ between any two learners: keys, tokens, ids."""
    found: dict[str, Any] = dict(contents(learner))
    for place in ("keys", "ids", "persons"):
        del found[f"decisions/{place}"]
    for place in ("secret", "tokens"):
        found.pop(f"people/{place}", None)
    return {**found, **asdict(learner.diagnostics())}
