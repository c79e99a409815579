"""`tacit frontier`: what privacy costs, at every epsilon that is tried."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tacit.cli.log_options import NAMES, read_log_as
from tacit.cli.options import build, fields, print_json, read_settings, refuse_unknown, report_folder, typed
from tacit.errors import BadInput

if TYPE_CHECKING:
    from tacit.frontiers import Asked

#: What is varied, and so not among the options of one policy.
_VARIED = ("epsilon", "rho", "alpha")


def frontier(parsed: argparse.Namespace, rest: list[str]) -> int:
    """`tacit frontier POLICY…`."""
    from tacit.frontiers import frontier as trace

    report_folder(parsed.report)
    epsilons = _numbers(parsed.epsilons)
    place, asked, line = _configure(parsed, rest)
    found = trace(
        asked,
        place,
        epsilons=epsilons,
        delta=parsed.delta,
        rounds=parsed.rounds,
        trials=parsed.trials,
        seed=parsed.seed,
        measure=parsed.measure,
        without_privacy=line,
        runs=parsed.report / "runs",
        threads=parsed.threads,
    )
    paths = found.write(parsed.report, parsed.command_line)
    if parsed.json:
        print_json({"command": parsed.command_line, **found.to_dict(), "files": [str(path) for path in paths]})
    else:
        print(f"{found.setting}\n")
        print(found.text())
        print("epsilon is accounted from the noise and rounded up; the runs are seeded simulations, not deployments.")
        print(f"page    {paths[-1]}")
    return 0


def _configure(parsed: argparse.Namespace, rest: list[str]) -> tuple[Any, list[Asked], Any]:
    """Where the policies play, what is asked of them, and the line without privacy (None: the usual one)."""
    from tacit.frontiers import Asked
    from tacit.policies.catalogue import policy

    common = read_settings(rest, parsed.set)
    for name in _VARIED:
        if name in common:
            raise BadInput(f"Expected no --{name} here, got one: it is what is varied. Use --epsilons 0.1,1,10.")
    kinds, own = [], []
    for name in parsed.policy:
        slug, _, options = name.partition(":")
        kinds.append(policy(slug))
        own.append(read_settings([], options.split(",") if options else []))
        refuse_unknown(own[-1], kinds[-1])
    place, left = _log(parsed, common, kinds) if parsed.log else _world(parsed, common, kinds)
    asked = [
        Asked(
            " ".join([kind.slug, *(f"{key}={value}" for key, value in extra.items())]),
            kind,
            typed(kind, {**left, **extra}),
        )
        for kind, extra in zip(kinds, own, strict=True)
    ]
    return place, asked, None if parsed.against is None else _line(parsed.against, place)


def _world(parsed: argparse.Namespace, common: dict[str, str], kinds: list[Any]) -> tuple[Any, dict[str, str]]:
    """The environment, and the options that are left for policies."""
    from tacit.environments import environment, refuse_other_world

    kind: Any = environment(parsed.environment or "sphere")
    for one in kinds:
        refuse_other_world(one, kind)
    refuse_unknown(common, *kinds, kind)
    world = build(kind, common, f"`tacit environments {kind.slug}` lists the options.")
    return world, {name: text for name, text in common.items() if name not in fields(kind)}


def _log(parsed: argparse.Namespace, common: dict[str, str], kinds: list[Any]) -> tuple[Any, dict[str, str]]:
    """The log, and the options that are left for policies: flags that name its columns are the log's."""
    from tacit.policies.catalogue import CATALOGUE

    if parsed.environment is not None:
        raise BadInput(f"Expected either --log or --environment, got both ({parsed.environment}).")
    for kind in kinds:
        if kind.slug not in CATALOGUE:
            raise BadInput(f"Expected a policy that chooses from actions, got {kind.slug}, which learns a function.")
    left = {name: text for name, text in common.items() if name not in NAMES}
    refuse_unknown(left, *kinds)
    return read_log_as(parsed.log, {name: text for name, text in common.items() if name in NAMES}), left


def _line(name: str, place: Any) -> Any:
    """The policy without privacy that `--against` names, in the shape of the place."""
    from tacit.policies.catalogue import policy

    slug, _, options = name.partition(":")
    kind = policy(slug)
    settings = read_settings([], options.split(",") if options else [])
    refuse_unknown(settings, kind)
    shape = {name: str(size) for name, size in place.shape(kind, settings).items()}
    return build(kind, {**shape, **settings}, f"`tacit policies {slug}` lists the options.")


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in text.split(",") if word.strip())
    except ValueError:
        raise BadInput(f"Expected --epsilons to be numbers like 0.1,1,10, got {text!r}.") from None
