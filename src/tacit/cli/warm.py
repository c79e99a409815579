"""`tacit warm`: compile now what would otherwise be compiled in front of the first person."""

from __future__ import annotations

import argparse
from typing import Any

from tacit.cli.options import print_json


def warm(parsed: argparse.Namespace, _: list[str]) -> int:
    """Every kind of params in every environment, and the live programs of each."""
    import time

    import numba

    from tacit._kernel import cache_directory, tidy_cache
    from tacit.policies.catalogue import CATALOGUE, policy

    began, compiled, seen = time.perf_counter(), [], set()
    kinds = [policy(slug) for slug in parsed.policies] or list(CATALOGUE.values())
    for kind in kinds:
        # Worlds bring their own number of features; kernels are compiled for types, so one of each is enough.
        for place, config in enumerate(kind.examples(dim=5)):
            plan = _served(config) if parsed.serve else config.plan()
            params = plan.params
            name = f"{kind.slug} ({_words(params)})"
            if numba.typeof(params) not in seen:
                seen.add(numba.typeof(params))
                if parsed.serve:
                    _serve(config, plan)
                else:
                    _play(kind, place)
                    _live(config)
                if plan.report is not None:
                    _live_apart(config)
            if name not in compiled:
                compiled.append(name)
                if not parsed.json:
                    print(f"{name:<74}{time.perf_counter() - began:6.1f} s", flush=True)
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


def _words(params: Any) -> str:
    """What the params are made of: the types that kernels are compiled for."""
    return ", ".join(type(part).__name__ for part in (params, *params) if isinstance(part, tuple))


def _play(kind: Any, place: int) -> None:
    """Example number `place` in every environment, at the environment's own number of features. A policy over a fixed
    list plays plain arms, where it plays at all, by rounds and by episodes: worlds with a list are all of one kind."""
    from dataclasses import replace

    from tacit.environments import CATALOGUE, Arms, SharedContext, Table
    from tacit.policies.episodic.verbs import EpisodeParams
    from tacit.simulation import simulate

    if kind.list_option is not None:
        config = replace(kind.examples(dim=5)[place], **{kind.list_option: None})
        episodic = isinstance(config.offered(Arms().fixed_actions).plan().params, EpisodeParams)
        wide = replace(config, reward_low=-1.0, reward_high=1.0)
        for by in ("rounds", "episodes") if episodic else ("rounds",):
            simulate(wide, Arms(), rounds=2, by=by, progress=False)
        return
    example = kind.examples(dim=5)[place]
    by_arm = example.arms_of_context is not None
    if example.shared is not None:
        featured = SharedContext(features_of_actions=example.shared)
        arms, size = featured.context_shape
        simulate(replace(example, arms=arms, dim=size), featured, rounds=2, progress=False)
        return
    for world_kind in CATALOGUE.values():
        # Small where it can be: what is compiled is the same, and 650 features take their time.
        world = Table(projection=2) if world_kind is Table else world_kind()
        shape = world.by_context.context_shape
        if not by_arm:
            simulate(kind.examples(dim=world.features)[place], world, rounds=2, progress=False)
        elif shape is not None:
            simulate(replace(kind.examples(dim=shape[1])[place], arms=shape[0]), world, rounds=2, progress=False)


def _served(config: Any) -> Any:
    """The plan a service or a learner would run; where noise can only be simulated, that."""
    return config.plan(config.sampler())


def _serve(config: Any, plan: Any) -> None:
    """What `tacit serve` calls for each request."""
    from tacit.service.live import Live

    if plan.report is None and config.shared is None:  # features of actions are not served
        Live(config, plan, seed=0).warm()


def _live(config: Any) -> None:
    learner = config.start(seed=None if config.sampler() == "secure" else 0)  # what cannot be drawn is simulated
    who = {"person": "somebody"} if config.person_rounds else {}
    if config.fixed_actions is not None:
        learner.learn(learner.choose(), 0.5, **who)
        return
    import numpy as np

    offer, taken = _offered(config)
    shared = config.shared
    all_of = {} if shared is None else {"features": np.zeros((config.arms, shared))}
    one_of = {} if shared is None else {"features": np.zeros(shared)}
    learner.choose(offer, **all_of)
    learner.choose_many(offer[None], **all_of)
    learner.learn(*taken, 0.5, **who, **one_of)
    if config.rows_may_come_late:  # a row and its tick apart
        learner.reward(learner.decide(offer, **who, **all_of), 0.5)
        learner.decide(offer, **who, **all_of)


def _offered(config: Any) -> tuple[Any, tuple[Any, ...]]:
    """What is shown in a round, and what is learned of it."""
    import numpy as np

    if config.arms_of_context is None:
        return np.eye(5), (np.eye(5)[0],)
    return np.eye(5)[0], (np.eye(5)[0], 0)


def _live_apart(config: Any) -> None:
    """Device and server, where they are two programs."""
    server, device = config.server(), config.device(limit=config.plan().report.batch or 1)
    device.see(server.view())
    offer, taken = _offered(config)
    device.choose(offer)
    reports = [device.report(*taken, 0.5) for _ in range(device.limit)]
    if config.plan().report.batch is None:
        server.receive(reports[0])
        return
    shuffler = config.shuffler()
    for report in reports:
        shuffler.add(report)
    server.receive_batch(shuffler.batch())
