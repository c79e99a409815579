"""`tacit run` and `tacit compare`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tacit.cli.options import build, fields, files, print_json, read_settings, refuse_unknown
from tacit.cli.predictions import Asked, compare_predictions, read_ways, run_predictions

if TYPE_CHECKING:
    from tacit.core.policy import Policy
    from tacit.environments import Environment
    from tacit.simulation import Result


def run(parsed: argparse.Namespace, rest: list[str]) -> int:
    """`tacit run POLICY`."""
    from tacit.report.run import write_run
    from tacit.report.tables import number
    from tacit.simulation.result import check_table_path

    world, asked = _configure(parsed, rest, [parsed.policy], comparable=False)
    if isinstance(asked[0], Asked):
        return run_predictions(parsed, world, asked[0])
    [(label, config)] = asked
    if parsed.output:
        check_table_path(parsed.output)
    result = _simulate(parsed, world, label, config)
    if parsed.output:
        result.save(parsed.output)
    paths = write_run(result, parsed.report, parsed.command_line) if parsed.report else []
    if parsed.json:
        print_json({**result.to_dict(), **files(paths)})
    else:
        error = "" if result.regret_se is None else f" ± {number(result.regret_se, 2)}"
        print(f"{label} in {world.slug}: {result.rounds:,} rounds, {result.trials} trials, seed {result.seed}")
        print(f"  regret     {number(result.regret_mean)}{error}")
        print(f"  speed      {result.rounds_per_second:,.0f} rounds/s ({result.seconds:.1f} s)")
        print(f"  guarantee  {result.guarantee}")
        for note in result.notes:
            print(f"  note       {note}")
        if parsed.output:
            print(f"  curves     {parsed.output}")
        if paths:
            print(f"  page       {paths[-1]}")
    return 130 if result.interrupted else 0


def compare(parsed: argparse.Namespace, rest: list[str]) -> int:
    """`tacit compare POLICY…`. One policy after the other: the speed of each is its own, with nothing beside it."""
    from tacit.report.comparison import Comparison

    world, asked = _configure(parsed, rest, parsed.policy, comparable=True)
    if isinstance(asked[0], Asked):
        return compare_predictions(parsed, world, asked)
    results = []
    for label, config in asked:
        results.append(_simulate(parsed, world, label, config))
        if results[-1].interrupted:
            break
    comparison = Comparison(results, parsed.command_line)
    paths = comparison.write(parsed.report)
    if parsed.json:
        print_json({**comparison.to_dict(), **files(paths)})
    else:
        first = results[0]
        print(f"{world.slug}: {first.rounds:,} rounds, {first.trials} trials, seed {first.seed}\n")
        print(comparison.text())
        for result in results:
            for note in result.notes:
                print(f"\n{result.label}: {note}")
        print("\nepsilon is accounted from the noise and rounded up; the runs are seeded simulations, not deployments.")
        print(f"figure  {paths[0]}\npage    {paths[-1]}")
    return 130 if results[-1].interrupted else 0


def _configure(
    parsed: argparse.Namespace, rest: list[str], names: Sequence[str], *, comparable: bool
) -> tuple[Any, list[Any]]:
    """The environment that a command line asks for, and its policies: with their labels, or as `Asked` where they are
    learners of functions. `comparable`: widths at one failure probability, unless one was given."""
    from tacit.environments import FUNCTION_CATALOGUE, environment, refuse_other_world
    from tacit.policies.catalogue import policy
    from tacit.simulation.configured import configured

    def make(kind: Any, values: dict[str, Any]) -> Any:
        return configured(kind, values, parsed.rounds, comparable=comparable)

    world_kind: Any = environment(parsed.environment)
    functions = world_kind.slug in FUNCTION_CATALOGUE
    common = read_settings(rest, parsed.set)
    ways = common.pop("ways", None) if functions else None
    kinds: list[Any] = []
    own, own_ways = [], []
    for name in names:
        slug, _, options = name.partition(":")
        kinds.append(policy(slug))
        refuse_other_world(kinds[-1], world_kind)
        own.append(read_settings([], options.split(",") if options else []))
        own_ways.append(own[-1].pop("ways", ways) if functions else None)
        refuse_unknown(own[-1], kinds[-1])
    refuse_unknown(common, *kinds, world_kind)
    world = build(world_kind, common, f"`tacit environments {world_kind.slug}` lists the options.")
    # What a world of functions has too (kernel, contexts) is the world's, and the policy is told by it; a policy that
    # shall believe something else is given it after a colon.
    common = {name: text for name, text in common.items() if not (functions and name in fields(world_kind))}
    asked: list[Any] = []
    for kind, extra, its_ways in zip(kinds, own, own_ways, strict=True):
        said = {**common, **extra}
        told = {} if functions else {name: str(size) for name, size in world.shape(kind, said).items()}
        settings = {**told, **said}
        label = " ".join([kind.slug, *(f"{key}={value}" for key, value in extra.items())])
        hint = f"`tacit policies {kind.slug}` lists the options."
        config = build(kind, settings, hint) if functions else build(kind, settings, hint, make=make)
        asked.append(Asked(label, config, read_ways(its_ways)) if functions else (label, config))
    return world, asked


def _simulate(parsed: argparse.Namespace, world: Environment, label: str, config: Policy) -> Result:
    from tacit.simulation import simulate

    return simulate(
        config, world, parsed.rounds, parsed.trials, parsed.seed, label=label, by=parsed.by, threads=parsed.threads
    )
