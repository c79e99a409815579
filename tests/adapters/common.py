"""What the tests of adapters share: a configuration that releases soon, contexts, and the number of rows learned."""

from __future__ import annotations

from typing import Any

import numpy as np

import tacit
from tacit.adapters import TacitMAB, TacitPolicy

ARMS, FEATURES = 3, 2


def config(**changes: Any) -> tacit.JointLinUCB:
    """Two features, three arms, and releases soon: after 10 rows or so."""
    dim = tacit.features.per_arm_dim(features=FEATURES, arms=ARMS)
    return tacit.JointLinUCB(**{"dim": dim, "epsilon": 10.0, "delta": 0.1, "ratio": 1.5, "views": 32, **changes})


def contexts(count: int, seed: int = 0) -> np.ndarray:
    """In the unit ball."""
    return np.random.default_rng(seed).uniform(-0.7, 0.7, (count, FEATURES))


def rows_of(adapter: TacitMAB | TacitPolicy) -> int:
    """As the learner itself counts them."""
    return adapter._deployed.learner.diagnostics().rows
