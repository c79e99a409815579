"""`tacit warm`: compile now what would otherwise be compiled in front of the first person."""

from __future__ import annotations

import argparse
from typing import Any

from tacit.cli.options import print_json


def warm(parsed: argparse.Namespace, _: list[str]) -> int:
    """Every kind of params in every environment, and the live learner of each."""
    import time

    import numba

    from tacit._kernel import cache_directory, tidy_cache
    from tacit.policies.catalogue import CATALOGUE

    began, compiled = time.perf_counter(), []
    for kind in CATALOGUE.values():
        seen = set()
        # Worlds bring their own number of features; kernels are compiled for types, so one of each is enough.
        for place, config in enumerate(kind.examples(dim=5)):
            params = config.plan().params
            if numba.typeof(params) in seen:
                continue
            seen.add(numba.typeof(params))
            _play(kind, place)
            _live(config)
            explorer = getattr(params, "exploration", None)
            words = [type(params).__name__, *([] if explorer is None else [type(explorer).__name__.lower()])]
            compiled.append(f"{kind.slug} ({', '.join(words)})")
            if not parsed.json:
                print(f"{compiled[-1]:<50}{time.perf_counter() - began:6.1f} s", flush=True)
    removed = tidy_cache()
    if parsed.json:
        print_json(
            {
                "compiled": compiled,
                "seconds": time.perf_counter() - began,
                "cache": str(cache_directory()),
                "removed": [str(path) for path in removed],
            }
        )
    else:
        print(f"cache   {cache_directory()}")
    return 0


def _play(kind: Any, place: int) -> None:
    """Example number `place` in every environment, at the environment's own number of features."""
    from tacit.environments import CATALOGUE
    from tacit.simulation import simulate

    for world_kind in CATALOGUE.values():
        world = world_kind()
        simulate(kind.examples(dim=world.features)[place], world, rounds=2, progress=False)


def _live(config: Any) -> None:
    import numpy as np

    learner = config.start()
    learner.choose(np.eye(5))
    learner.choose_many(np.eye(5)[None])
    if getattr(config, "person_rounds", None):
        learner.learn(np.eye(5)[0], 0.5, person="somebody")
    else:
        learner.learn(np.eye(5)[0], 0.5)
