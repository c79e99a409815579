"""Plays every example of the catalogue and prints what came of it: `python -m tests.kernel.plain`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core.policy import Policy
from tacit.errors import NoSecureSampler
from tacit.estimators.hybrid import Hybrid
from tacit.estimators.noise_aware import NoiseAware
from tacit.estimators.pooled import Pooled
from tacit.policies.catalogue import CATALOGUE
from tests.laws.runs import play

ROUNDS, DIM, SEED = 60, 4, 7

#: Estimates that take eigenvalues of what was published.
BY_LAPACK = (NoiseAware, Pooled, Hybrid)


def everything() -> dict[str, Any]:
    """Arms and views of every example, from one seed; of the first of each policy with the exact sampler too."""
    return {
        f"{config.slug} {place} {noise}": played(config, noise)
        for kind in CATALOGUE.values()
        for place, config in enumerate(kind.examples(DIM))
        for noise in ("double", "secure")
        if has(config, noise) and (noise == "double" or place == 0)
    }


def uncompiled(module: str) -> Any:
    """What a module prints as JSON when its kernels run as plain Python."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-m", module],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def has(config: Policy, noise: str) -> bool:
    """Whether there is such a sampler for it."""
    try:
        config.planned(noise)
    except NoSecureSampler:
        return False
    return True


def same(name: str, compiled: dict[str, Any], uncompiled: dict[str, Any]) -> bool:
    """To the bit; where eigenvalues come from LAPACK, of which NumPy and the compiler have builds of their own, the
    arms, and the view to ten digits."""
    slug, place, noise = name.split()
    params = CATALOGUE[slug].examples(DIM)[int(place)].planned(noise).params
    if compiled == uncompiled or not isinstance(getattr(params, "estimate", None), BY_LAPACK):
        return bool(compiled == uncompiled)
    views = [[float.fromhex(number) for part in found["view"] for number in part] for found in (compiled, uncompiled)]
    return compiled["arms"] == uncompiled["arms"] and bool(np.allclose(*views, rtol=1e-10, atol=1e-12))


def played(config: Policy, sampler: str) -> dict[str, Any]:
    """Arms, and the view to the bit."""
    learner = config.start(seed=SEED, sampler=sampler)
    arms, _ = play(learner, ROUNDS, SEED)
    view = [[float(number).hex() for number in part.reshape(-1)] for part in learner.view]
    return {"arms": arms, "view": view}


if __name__ == "__main__":
    json.dump(everything(), sys.stdout)
