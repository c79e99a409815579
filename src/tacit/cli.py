"""The command line: parse, call, print.

`tacit --help` must answer at once, so everything that needs numpy or the compiler is imported where it is used.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tacit._validate import known
from tacit._version import __version__
from tacit.errors import BadInput, Interrupted, TacitError

if TYPE_CHECKING:
    from tacit.core.policy import Policy
    from tacit.environments import Environment
    from tacit.simulation import Result

_DESCRIPTION = "Contextual bandits that learn from people without revealing them."
_EPILOG = """\
examples:
  tacit policies
  tacit privacy joint-linucb --epsilon 1 --delta 1e-6
  tacit run joint-linucb --environment sphere --epsilon 1 --delta 0.1 --rounds 1000000 --trials 4 --seed 1
  tacit compare linucb joint-linucb joint-linucb:releases=tree --epsilon 1 --delta 0.1 --horizon 100000 --rounds 100000

`tacit COMMAND --help` explains one command."""

#: The dimension of a card that is asked for without one: noise and price do not depend on it.
_CARD_DIM = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code (2: bad input or a refusal; 130: interrupted)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        parsed, rest = _parser().parse_known_args(given)
        if parsed.command is None:
            _parser().print_help()
            return 0
        if rest and not parsed.takes_options:
            raise BadInput(f"There is no option {rest[0]!r} here. See `tacit {parsed.command} --help`.")
        parsed.command_line = "tacit " + shlex.join(given)
        action: Callable[[argparse.Namespace, list[str]], int] = parsed.action
        return action(parsed, rest)
    except Interrupted as stopped:
        print(f"tacit: {stopped}", file=sys.stderr)
        return 130
    except TacitError as problem:
        print(f"tacit: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tacit: interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader went away (`tacit policies | head`): not an error of ours, and nobody is left to tell.
        sys.stderr.close()
        return 0
    except OSError as problem:
        print(f"tacit: {problem}", file=sys.stderr)
        return 2


# Parsing ---------------------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message}. See `{self.prog} --help`.")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tacit", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"tacit {__version__}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=_Parser)

    def command(name: str, action: Any, text: str, example: str, *, options: bool = False) -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name,
            help=text,
            description=text[0].upper() + text[1:] + ".",
            epilog=f"example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        sub.set_defaults(action=action, command=name, takes_options=options)
        sub.add_argument("--json", action="store_true", help="print one JSON object instead of text")
        return sub

    sub = command("policies", _policies, "list the policies, or the options of one", "tacit policies joint-linucb")
    sub.add_argument("name", nargs="?", help="a policy: show its options")
    sub = command("environments", _environments, "list the environments, or the options of one", "tacit environments")
    sub.add_argument("name", nargs="?", help="an environment: show its options")

    sub = command(
        "privacy",
        _privacy,
        "print the privacy card: what is promised, mu, epsilon at several delta, noise scales",
        "tacit privacy joint-linucb --epsilon 1 --delta 1e-6",
        options=True,
    )
    sub.add_argument("policy", help="see `tacit policies`; its own options are flags, `tacit policies NAME` lists them")
    _add_set(sub)

    sub = command(
        "run",
        _run,
        "simulate one policy and print its regret",
        "tacit run joint-linucb --environment sphere --dim 5 --gap 0.1 --epsilon 1 --delta 0.1 --rounds 1000000",
        options=True,
    )
    sub.add_argument("policy", help="see `tacit policies`; options of policy and environment are flags of their own")
    _add_simulation(sub)
    sub.add_argument("--output", type=Path, metavar="FILE", help="write the curves to FILE (.parquet or .csv)")

    sub = command(
        "compare",
        _compare,
        "simulate several policies on the same contexts: a table, a regret figure and a report page",
        "tacit compare linucb joint-linucb joint-linucb:releases=tree --epsilon 1 --delta 0.1 --horizon 100000",
        options=True,
    )
    sub.add_argument(
        "policy",
        nargs="+",
        help="policies; options of one alone after a colon, as in joint-linucb:releases=tree,width=0.5",
    )
    _add_simulation(sub)
    sub.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        default=Path("tacit-compare"),
        help="where to write figure, page and tables",
    )

    command("warm", _warm, "compile every policy in every environment, so that nothing has to later", "tacit warm")
    return parser


def _add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="any option of the policy, by its name"
    )


def _add_simulation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--environment", default="sphere", help="see `tacit environments` (default: sphere)")
    parser.add_argument("--rounds", type=_whole, default=100_000, help="rounds per trial (default: 100000)")
    parser.add_argument("--trials", type=_whole, default=10, help="independent trials (default: 10)")
    parser.add_argument("--seed", type=_whole, default=0, help="makes the run reproducible (default: 0)")
    parser.add_argument("--threads", type=_whole, help="trials at a time (default: all cores)")
    _add_set(parser)


def _whole(text: str) -> int:
    """A whole number, also as 1e6 or 1_000_000."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
        whole = int(number)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}") from None
    if whole != number:
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}")
    return whole


def _settings(rest: Sequence[str], sets: Sequence[str]) -> dict[str, str]:
    """`--key value`, `--key=value`, `--flag` and `--set key=value`, as written."""
    settings: dict[str, str] = {}
    words = list(rest)
    while words:
        word = words.pop(0)
        if not word.startswith("--") or len(word) == 2:
            raise BadInput(f"Expected an option like --epsilon 1, got {word!r}.")
        key, equals, value = word[2:].partition("=")
        if not equals:
            value = words.pop(0) if words and not _is_flag(words[0]) else "true"
        settings[key.replace("-", "_")] = value
    for pair in sets:
        key, equals, value = pair.partition("=")
        if not equals:
            raise BadInput(f"Expected --set KEY=VALUE, got --set {pair!r}.")
        settings[key.strip().replace("-", "_")] = value.strip()
    return settings


def _is_flag(word: str) -> bool:
    return word.startswith("--")


def _value(name: str, annotation: str, text: str) -> Any:
    """Read an option's text as its type says."""
    kinds = [kind.strip() for kind in annotation.split("|")]
    if text.lower() == "none" and "None" in kinds:
        return None
    if "bool" in kinds:
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if text.lower() in words:
            return words[text.lower()]
        raise BadInput(f"Expected {name} to be true or false, got {name}={text!r}.")
    readers: tuple[tuple[str, Callable[[str], Any], str], ...] = (
        ("int", _whole, "a whole number"),
        ("float", float, "a number"),
    )
    for kind, reader, words_for in readers:
        if kind in kinds:
            try:
                return reader(text)
            except (ValueError, argparse.ArgumentTypeError):
                if "str" not in kinds:
                    raise BadInput(f"Expected {name} to be {words_for}, got {name}={text!r}.") from None
    return text


def _fields(kind: type) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(kind)}


def _build(kind: Any, settings: dict[str, str], required_hint: str) -> Any:
    """Make a configuration of the settings it knows."""
    fields = _fields(kind)
    values = {name: _value(name, str(fields[name].type), text) for name, text in settings.items() if name in fields}
    for name, field in fields.items():
        if field.default is dataclasses.MISSING and name not in values:
            raise BadInput(f"Expected --{name.replace('_', '-')}, got none. {required_hint}")
    return kind(**values)


def _refuse_unknown(settings: dict[str, str], *kinds: type[Policy] | type[Environment]) -> None:
    names = {name for kind in kinds for name in _fields(kind)}
    for name in settings:
        where = " or ".join(dict.fromkeys(kind.slug for kind in kinds))
        flags = {f"--{option.replace('_', '-')}" for option in names}
        known(
            f"option of {where}",
            f"--{name.replace('_', '-')}",
            flags,
            see=f"`tacit policies {kinds[0].slug}` lists them.",
        )


# Commands --------------------------------------------------------------------------------------------------------


def _print_json(facts: object) -> None:
    print(json.dumps(facts, indent=2, allow_nan=False, ensure_ascii=False))


def _describe_options(kind: type[Policy] | type[Environment]) -> list[dict[str, Any]]:
    return [
        {
            "option": f"--{name.replace('_', '-')}",
            "type": str(field.type),
            "default": None if field.default is dataclasses.MISSING else field.default,
            "required": field.default is dataclasses.MISSING,
            "help": field.metadata.get("help", ""),
        }
        for name, field in _fields(kind).items()
    ]


def _print_options(kind: type[Policy] | type[Environment]) -> None:
    from tacit.report.tables import table

    print(f"{kind.slug}: {kind.summary}\n")
    rows = [
        [
            option["option"],
            option["type"],
            "required" if option["required"] else "" if option["default"] is None else str(option["default"]),
            option["help"],
        ]
        for option in _describe_options(kind)
    ]
    print(table(("option", "type", "default", "meaning"), rows))


def _policies(parsed: argparse.Namespace, _: list[str]) -> int:
    from tacit.policies.catalogue import CATALOGUE, policy

    if parsed.name:
        kind = policy(parsed.name)
        if parsed.json:
            _print_json({**_policy_facts(kind), "options": _describe_options(kind)})
        else:
            _print_options(kind)
        return 0
    if parsed.json:
        _print_json({"policies": [_policy_facts(kind) for kind in CATALOGUE.values()]})
        return 0
    groups: dict[tuple[str, str, str], list[type[Policy]]] = {}
    for kind in CATALOGUE.values():
        groups.setdefault((kind.trust.value, kind.protects.value, kind.trust.meaning), []).append(kind)
    for (trust, protects, meaning), kinds in groups.items():
        print(f"trust: {trust}; protects: {protects}")
        print(textwrap.fill(meaning, 100, initial_indent="  ", subsequent_indent="  "))
        for kind in kinds:
            print(f"    {kind.slug:<16}{kind.summary}\n{'':20}needs: {kind.needs}")
        print()
    print("`tacit policies NAME` lists the options of one.")
    return 0


def _policy_facts(kind: type[Policy]) -> dict[str, Any]:
    return {
        "name": kind.slug,
        "class": f"tacit.{kind.__name__}",
        "summary": kind.summary,
        "trust": kind.trust.value,
        "protects": kind.protects.value,
        "needs": kind.needs,
    }


def _environments(parsed: argparse.Namespace, _: list[str]) -> int:
    from tacit.environments import CATALOGUE, environment

    if parsed.name:
        kind = environment(parsed.name)
        if parsed.json:
            _print_json({"name": kind.slug, "summary": kind.summary, "options": _describe_options(kind)})
        else:
            _print_options(kind)
        return 0
    if parsed.json:
        _print_json({"environments": [{"name": kind.slug, "summary": kind.summary} for kind in CATALOGUE.values()]})
        return 0
    for kind in CATALOGUE.values():
        print(f"{kind.slug:<16}{kind.summary}")
    print("\n`tacit environments NAME` lists the options of one.")
    return 0


def _privacy(parsed: argparse.Namespace, rest: list[str]) -> int:
    from tacit.policies.catalogue import policy

    kind = policy(parsed.policy)
    settings = {"dim": str(_CARD_DIM), **_settings(rest, parsed.set)}
    _refuse_unknown(settings, kind)
    config: Policy = _build(kind, settings, f"`tacit policies {kind.slug}` lists the options.")
    card = config.card()
    if parsed.json:
        _print_json({**card.to_dict(), "settings": config.to_dict()})
    else:
        print(card.text())
    return 0


def _configure(
    parsed: argparse.Namespace, rest: list[str], names: Sequence[str]
) -> tuple[Environment, list[tuple[str, Policy]]]:
    """The environment and the labelled policies that a command line asks for."""
    from tacit.environments import environment
    from tacit.policies.catalogue import policy

    world_kind = environment(parsed.environment)
    kinds, own = [], []
    for name in names:
        slug, _, options = name.partition(":")
        kinds.append(policy(slug))
        own.append(_settings([], options.split(",") if options else []))
        _refuse_unknown(own[-1], kinds[-1])
    common = _settings(rest, parsed.set)
    _refuse_unknown(common, *kinds, world_kind)
    world: Environment = _build(world_kind, common, f"`tacit environments {world_kind.slug}` lists the options.")
    policies = []
    for kind, extra in zip(kinds, own, strict=True):
        settings = {"dim": str(world.features), **common, **extra}
        label = " ".join([kind.slug, *(f"{key}={value}" for key, value in extra.items())])
        policies.append((label, _build(kind, settings, f"`tacit policies {kind.slug}` lists the options.")))
    return world, policies


def _simulate(parsed: argparse.Namespace, world: Environment, label: str, config: Policy) -> Result:
    from tacit.simulation import simulate

    return simulate(config, world, parsed.rounds, parsed.trials, parsed.seed, label=label, threads=parsed.threads)


def _run(parsed: argparse.Namespace, rest: list[str]) -> int:
    from tacit.report.tables import number
    from tacit.simulation.result import check_table_path

    world, [(label, config)] = _configure(parsed, rest, [parsed.policy])
    if parsed.output:
        check_table_path(parsed.output)
    result = _simulate(parsed, world, label, config)
    if parsed.output:
        result.save(parsed.output)
    if parsed.json:
        _print_json(result.to_dict())
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
    return 130 if result.interrupted else 0


def _compare(parsed: argparse.Namespace, rest: list[str]) -> int:
    from tacit.report.comparison import Comparison

    world, policies = _configure(parsed, rest, parsed.policy)
    results = []
    for label, config in policies:
        # Widths are comparable only at the same failure probability: the paper's 1/n, unless one was given.
        fair = config if getattr(config, "failure", 0.0) is not None else _with_failure(config, 1 / parsed.rounds)
        results.append(_simulate(parsed, world, label, fair))
        if results[-1].interrupted:
            break
    comparison = Comparison(results, parsed.command_line)
    paths = comparison.write(parsed.output)
    if parsed.json:
        _print_json({**comparison.to_dict(), "files": [str(path) for path in paths]})
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


def _with_failure(config: Policy, failure: float) -> Policy:
    changed: Policy = dataclasses.replace(config, failure=min(failure, 0.5))  # type: ignore[call-arg]
    return changed


def _warm(parsed: argparse.Namespace, _: list[str]) -> int:
    import time

    import numba
    import numpy as np

    from tacit._kernel import cache_directory, tidy_cache
    from tacit.environments import CATALOGUE as ENVIRONMENTS
    from tacit.policies.catalogue import CATALOGUE
    from tacit.simulation import simulate

    began, compiled = time.perf_counter(), []
    for kind in CATALOGUE.values():
        seen = set()
        for config in kind.examples(dim=5):
            params = config.plan().params
            if numba.typeof(params) in seen:
                continue
            seen.add(numba.typeof(params))
            for world_kind in ENVIRONMENTS.values():
                simulate(config, world_kind(), rounds=2, progress=False)
            learner = config.start()
            learner.choose(np.eye(5))
            learner.learn(np.eye(5)[0], 0.5)
            explorer = type(params.exploration).__name__.lower()
            compiled.append(f"{kind.slug} ({type(params).__name__}, {explorer})")
            if not parsed.json:
                print(f"{compiled[-1]:<50}{time.perf_counter() - began:6.1f} s", flush=True)
    removed = tidy_cache()
    if parsed.json:
        _print_json(
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


if __name__ == "__main__":
    sys.exit(main())
