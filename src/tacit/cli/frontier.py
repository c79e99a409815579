"""`tacit frontier`: what privacy costs, at every epsilon that is tried."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tacit.cli.options import build, fields, print_json, read_settings, refuse_unknown, typed
from tacit.errors import BadInput

if TYPE_CHECKING:
    from tacit.frontiers import Asked

#: What is varied, and so not among the options of one policy.
_VARIED = ("epsilon", "rho", "alpha")


def frontier(parsed: argparse.Namespace, rest: list[str]) -> int:
    """`tacit frontier POLICY…`."""
    from tacit.frontiers import frontier as trace
    from tacit.frontiers.page import write

    world, asked = _configure(parsed, rest)
    found = trace(
        asked,
        world,
        epsilons=_numbers(parsed.epsilons),
        delta=parsed.delta,
        rounds=parsed.rounds,
        trials=parsed.trials,
        seed=parsed.seed,
        threads=parsed.threads,
    )
    paths = write(found, parsed.report, parsed.command_line)
    if parsed.json:
        print_json({"command": parsed.command_line, **found.to_dict(), "files": [str(path) for path in paths]})
    else:
        first = found.evenly
        print(f"{world.slug}: {first.rounds:,} rounds, {first.trials} trials, seed {first.seed}\n")
        print(found.text())
        print("epsilon is accounted from the noise and rounded up; the runs are seeded simulations, not deployments.")
        print(f"page    {paths[-1]}")
    return 0


def _configure(parsed: argparse.Namespace, rest: list[str]) -> tuple[Any, list[Asked]]:
    from tacit.environments import FUNCTION_CATALOGUE, environment
    from tacit.frontiers import Asked
    from tacit.policies.catalogue import CATALOGUE, policy

    kind: Any = environment(parsed.environment)
    if kind.slug in FUNCTION_CATALOGUE:
        raise BadInput(
            f"Expected a world with lists of actions, got {kind.slug}. For learners of functions use `tacit compare`."
        )
    common = read_settings(rest, parsed.set)
    for name in _VARIED:
        if name in common:
            raise BadInput(f"Expected no --{name} here, got one: it is what is varied. Use --epsilons 0.1,1,10.")
    kinds, own = [], []
    for name in parsed.policy:
        slug, _, options = name.partition(":")
        kinds.append(policy(slug))
        if slug not in CATALOGUE:
            raise BadInput(f"Expected a policy that chooses from lists, got {slug}, which learns a function.")
        own.append(read_settings([], options.split(",") if options else []))
        refuse_unknown(own[-1], kinds[-1])
    refuse_unknown(common, *kinds, kind)
    world = build(kind, common, f"`tacit environments {kind.slug}` lists the options.")
    shared = {name: text for name, text in common.items() if name not in fields(kind)}
    return world, [
        Asked(
            " ".join([one.slug, *(f"{key}={value}" for key, value in extra.items())]),
            one,
            typed(one, {**shared, **extra}),
        )
        for one, extra in zip(kinds, own, strict=True)
    ]


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in text.split(",") if word.strip())
    except ValueError:
        raise BadInput(f"Expected --epsilons to be numbers like 0.1,1,10, got {text!r}.") from None
