"""What can be asked: the commands and their flags."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NoReturn

from tacit._version import __version__
from tacit.cli.audit import audit
from tacit.cli.catalogue import environments, policies
from tacit.cli.deployments import deployments
from tacit.cli.frontier import frontier
from tacit.cli.log_options import add_log_flags
from tacit.cli.options import Once, report_folder, whole_number
from tacit.cli.privacy import privacy
from tacit.cli.replay import replay
from tacit.cli.reproduce import reproduce
from tacit.cli.serve import keys, ledger, serve
from tacit.cli.shuffle import add_shuffle, shuffle
from tacit.cli.simulation import compare, run
from tacit.cli.sweep import sweep
from tacit.cli.warm import warm
from tacit.errors import BadInput

_DESCRIPTION = "Contextual bandits that learn from people without revealing them."
_EPILOG = """\
examples:
  tacit policies
  tacit privacy joint-linucb --epsilon 1 --delta 1e-6
  tacit run joint-linucb --environment sphere --epsilon 1 --delta 0.1 --rounds 1000000 --trials 4 --seed 1
  tacit compare linucb joint-linucb joint-linucb:releases=tree --epsilon 1 --delta 0.1 --horizon 100000 --rounds 100000
  tacit audit joint-linucb --epsilon 1 --delta 1e-5 --releases tree
  tacit reproduce joint-dp/figure-4 --scale quick

`tacit COMMAND --help` explains one command."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message}. See `{self.prog} --help`.")


def parser() -> argparse.ArgumentParser:
    """All commands. Options of policies and environments are not among them: they are read from what is left over."""
    found = _Parser(
        prog="tacit", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    found.add_argument("--version", action="version", version=f"tacit {__version__}")
    found.set_defaults(command=None)
    commands = found.add_subparsers(metavar="COMMAND", parser_class=_Parser)

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

    sub = command("policies", policies, "list the policies, or the options of one", "tacit policies joint-linucb")
    sub.add_argument("name", nargs="?", help="a policy: show its options")
    sub = command("environments", environments, "list the environments, or the options of one", "tacit environments")
    sub.add_argument("name", nargs="?", help="an environment: show its options")

    sub = command(
        "privacy",
        privacy,
        "print the privacy card: what is promised, mu, epsilon at several delta, noise scales; or add cards up",
        "tacit privacy joint-linucb --epsilon 1 --delta 1e-6 --page card.html\n"
        "  tacit privacy joint-linucb --epsilon 1 --delta 1e-6 --json > a.json\n"
        "  tacit privacy compose a.json b.json",
        options=True,
    )
    sub.add_argument(
        "policy",
        help="see `tacit policies`; its own options are flags, `tacit policies NAME` lists them. Or `compose` with two "
        "or more JSON cards: what all of them cost people who are in each deployment",
    )
    sub.add_argument("--audit", type=Path, metavar="FILE", help="put the record of an audit (JSON) on the card")
    sub.add_argument("--page", type=Path, metavar="FILE", help="write the card as an HTML page that fits on one sheet")
    _add_sampler(sub)
    _add_report(sub, "write a page with the curves of the promise, the sheet and the JSON card; also of compose")
    _add_set(sub)

    sub = command(
        "run",
        run,
        "simulate one policy and print its regret",
        "tacit run joint-linucb --environment sphere --dim 5 --gap 0.1 --epsilon 1 --delta 0.1 --rounds 1000000",
        options=True,
    )
    sub.add_argument("policy", help="see `tacit policies`; options of policy and environment are flags of their own")
    _add_simulation(sub)
    sub.add_argument("--output", type=Path, metavar="FILE", help="write the curves to FILE (.parquet or .csv)")
    _add_report(sub)

    sub = command(
        "compare",
        compare,
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
    _add_report(
        sub,
        "where page, figure and tables go (default: tacit-compare); --output is the same option under its older name",
        also="--output",
        default="tacit-compare",
    )

    _add_frontier(
        command(
            "frontier",
            frontier,
            "what privacy costs: regret, reward or error against epsilon, and the smallest that is enough",
            "tacit frontier joint-linucb local-linucb --environment sphere --epsilons 0.1,1,10 --rounds 20000\n"
            "  tacit frontier joint-linucb --environment table --data digits --projection 4 --report digits\n"
            "  tacit frontier usca --environment rkhs --epsilons 1,10 --trials 5\n"
            "  tacit frontier joint-linucb --log log.csv --reward click --low 0 --high 1",
            options=True,
        )
    )
    _add_replay(
        command(
            "replay",
            replay,
            "estimate what policies would have earned on a log of another one (not private)",
            "tacit replay log.csv linucb joint-linucb --epsilon 1 --delta 1e-6 --low 0 --high 1",
            options=True,
        )
    )
    _add_audit(
        command(
            "audit",
            audit,
            "attack a policy's promise, and broken twins of it that must be found out",
            "tacit audit joint-linucb --epsilon 1 --delta 1e-5 --releases tree\n"
            "  tacit audit online-linucb --epsilon 10 --delta 0.1 --calibration published --runs 1000000\n"
            "  tacit audit --all --runs 1000000 --output audits",
            options=True,
        )
    )
    _add_reproduce(
        command(
            "reproduce",
            reproduce,
            "run an experiment of a paper again, and judge its claims one by one",
            "tacit reproduce list\n  tacit reproduce joint-dp/figure-4 --scale quick",
        )
    )
    _add_sweep(
        command(
            "sweep",
            sweep,
            "run every policy at every budget in every environment under every seed; goes on where it stopped",
            "tacit sweep spec.toml --report page\n"
            "  tacit sweep spec.toml --status\n"
            "  tacit sweep spec.toml --engine dask --scheduler tcp://10.0.0.1:8786",
        )
    )
    _add_service(command)
    sub = command(
        "warm",
        warm,
        "compile policies in every environment, so that nothing has to later",
        "tacit warm joint-linucb\n  tacit warm --serve joint-linucb",
    )
    sub.add_argument("policies", nargs="*", metavar="policy", help="see `tacit policies` (default: all of them)")
    sub.add_argument("--serve", action="store_true", help="only what `tacit serve` runs")
    return found


def _add_service(command: Any) -> None:
    sub = command(
        "serve",
        serve,
        "serve decisions over HTTP: durable, and private when things go wrong",
        "tacit serve\n"
        "  tacit serve --new-key store.key && tacit serve --store data/tacit.db --key-file store.key\n"
        "  tacit serve --store postgresql://tacit@localhost/tacit --port 8420",
    )
    _add_store(sub)
    sub.add_argument("--host", help="the address to listen at (default: 127.0.0.1; others need a key)")
    sub.add_argument("--port", type=whole_number, help="the port to listen at; 0: any (default: 8420)")
    sub.add_argument("--log-requests", action="store_true", default=None, help="a line for each request, without ids")
    sub.add_argument("--most-bytes", type=whole_number, help="of a body (default: 4194304)")
    sub.add_argument(
        "--test-seeds", action="store_true", default=None, help="allow seeded deployments, which protect nobody"
    )
    sub.add_argument("--new-key", type=Path, metavar="FILE", help="write a fresh key for a store, and stop")

    sub = command(
        "deployments",
        deployments,
        "make, list, show, pause, resume or delete what a running service serves, or name an action of it",
        "tacit deployments create front-page joint-linucb --dim 10 --epsilon 1 --delta 1e-6\n"
        "  tacit deployments create shop joint-linucb --arms 10 --dim 20 --epsilon 1 --delta 1e-6 --actions red,green\n"
        "  tacit deployments add-action shop blue\n  tacit deployments list",
        options=True,
    )
    sub.add_argument(
        "what",
        choices=("create", "list", "show", "add-action", "pause", "resume", "delete"),
        metavar="create|list|show|add-action|pause|resume|delete",
    )
    sub.add_argument("name", nargs="?", help="of the deployment")
    sub.add_argument(
        "policy", nargs="?", help="to create, see `tacit policies`; its own options are flags. Or the action to add"
    )
    sub.add_argument(
        "--url",
        "--server",
        dest="url",
        action=Once,
        metavar="URL",
        help="of the service (default: TACIT_URL, or http://127.0.0.1:8420)",
    )
    sub.add_argument("--key", help="with the role admin (default: TACIT_KEY)")
    sub.add_argument("--closes-after", type=float, metavar="SECONDS", help="how long rewards may take (default: a day)")
    sub.add_argument(
        "--closes-after-decisions", type=whole_number, metavar="N", help="or how many decisions later at most"
    )
    sub.add_argument("--default-reward", type=float, help="of a decision that closes without one (default: none)")
    sub.add_argument(
        "--actions", metavar="A,B", help="names of arms that share a context, at most as many (default: 0,1,…)"
    )
    _add_set(sub)

    sub = command(
        "keys",
        keys,
        "add, list or remove the keys of callers, in a store that nobody serves from",
        "tacit keys add web-shop --role decide",
    )
    sub.add_argument("what", choices=("add", "list", "remove"), metavar="add|list|remove")
    sub.add_argument("name", nargs="?", help="whose key it is")
    sub.add_argument("--role", default="decide", metavar="decide|report|admin", help="what it may do (default: decide)")
    _add_store(sub)

    sub = command(
        "ledger",
        ledger,
        "show or verify the ledger of a store, or accept the price of one that was restored or copied",
        "tacit ledger verify\n  tacit ledger fork --store restored.db",
    )
    sub.add_argument("what", choices=("show", "verify", "fork"), metavar="show|verify|fork")
    sub.add_argument(
        "--anyway",
        action="store_true",
        help="fork a store that is in order, because a copy of it has gone on elsewhere",
    )
    sub.add_argument("--last", type=whole_number, metavar="N", help="entries to show, the newest (default: 1000)")
    _add_store(sub)

    add_shuffle(
        command(
            "shuffle",
            shuffle,
            "mix sealed reports between devices and a service, in other hands than the service",
            "tacit shuffle shuffle-linucb --dim 5 --epsilon 1 --delta 1e-6 --horizon 10000 "
            "--server http://127.0.0.1:8420 --deployment news",
            options=True,
        )
    )


def _add_store(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--config", type=Path, metavar="FILE", help="options in TOML; flags and TACIT_… win over it")
    sub.add_argument("--store", metavar="URL", help="a file, or postgresql://… (default: tacit.db)")
    sub.add_argument("--key-file", metavar="FILE", help="what the store is sealed with (default: TACIT_STORE_KEY)")
    sub.add_argument("--witness", metavar="FILE", help="outside the store (default: beside it)")


_REPORT = "write a page with charts, tables, cards and settings into this folder, and PNG, SVG and CSV beside it"


def _add_report(
    sub: argparse.ArgumentParser, text: str = _REPORT, *, also: str | None = None, default: str | None = None
) -> None:
    flags = ["--report", *([] if also is None else [also])]
    sub.add_argument(*flags, dest="report", type=_folder, action=Once, metavar="DIR", default=default, help=text)


def _folder(text: str) -> Path:
    try:
        return report_folder(text)
    except BadInput as problem:
        raise argparse.ArgumentTypeError(str(problem).rstrip(".")) from None


def _add_set(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="any option of the policy, by its name"
    )


def _add_simulation(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--environment", default="sphere", help="see `tacit environments` (default: sphere)")
    sub.add_argument("--rounds", type=whole_number, default=100_000, help="rounds per trial (default: 100000)")
    sub.add_argument("--trials", type=whole_number, default=10, help="independent trials (default: 10)")
    sub.add_argument("--seed", type=whole_number, default=0, help="makes the run reproducible (default: 0)")
    sub.add_argument("--threads", type=whole_number, help="trials at a time (default: all cores)")
    sub.add_argument(
        "--by",
        default="rounds",
        metavar="rounds|episodes",
        help="simulate round by round, or draw the rewards of an episode at once where there are episodes",
    )
    _add_set(sub)


def _add_frontier(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("policy", nargs="+", help="private policies; options of one alone after a colon")
    sub.add_argument("--environment", help="see `tacit environments` (default: sphere)")
    sub.add_argument(
        "--log",
        type=Path,
        metavar="FILE",
        help="a log (or actg175) in place of an environment; `tacit replay --help` lists the flags for its columns",
    )
    sub.add_argument("--epsilons", default="0.1,0.3,1,3,10,30", metavar="A,B", help="promises to try")
    sub.add_argument("--delta", type=float, default=1e-6, help="where every epsilon is read (default: 1e-6)")
    sub.add_argument("--rounds", type=whole_number, help="rounds, or records, per trial (default: 20000)")
    sub.add_argument("--trials", type=whole_number, default=10, help="independent trials; on a log, runs (default: 10)")
    sub.add_argument("--seed", type=whole_number, default=0, help="makes the run reproducible (default: 0)")
    sub.add_argument(
        "--measure",
        metavar="regret|reward|error",
        help="what is measured (default: regret; of functions error; on a log reward, also had on a table of classes)",
    )
    sub.add_argument(
        "--against",
        metavar="POLICY",
        help="the line without privacy, options after a colon (default: linucb; for functions gp-mean)",
    )
    sub.add_argument("--threads", type=whole_number, help="trials at a time (default: all cores)")
    sub.add_argument(
        "--report",
        type=Path,
        metavar="DIR",
        default=Path("tacit-frontier"),
        help="where the page and its files go, and finished runs, from which a stopped call goes on",
    )
    _add_set(sub)


def _add_replay(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("log", type=Path, help="a CSV or Parquet file: action, reward, propensity, features; or actg175")
    sub.add_argument("policy", nargs="+", help="policies; options of one alone after a colon")
    add_log_flags(sub)
    sub.add_argument("--runs", type=whole_number, default=1, help="replays with fresh noise (default: 1)")
    sub.add_argument("--rounds", type=whole_number, help="accepted rounds per replay at most")
    sub.add_argument("--seed", type=whole_number, default=0, help="makes the estimates reproducible (default: 0)")
    sub.add_argument("--output", type=Path, metavar="FILE", help="write the estimates (.parquet or .csv)")
    _add_report(sub)
    _add_set(sub)


def _add_audit(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "policy",
        nargs="?",
        help="see `tacit policies`; its own options are flags. Those left out are set to a small form, in which all "
        "that is released can be watched",
    )
    sub.add_argument("--all", action="store_true", help="every form of every private policy")
    sub.add_argument("--runs", type=whole_number, default=100_000, help="per neighbour (default: 100000)")
    sub.add_argument("--confidence", type=float, default=0.95, help="of all bounds together (default: 0.95)")
    sub.add_argument("--seed", type=whole_number, default=0, help="makes the audit reproducible (default: 0)")
    sub.add_argument("--no-twins", action="store_true", help="leave the broken twins out: the audit says less then")
    _add_sampler(sub)
    sub.add_argument("--threads", type=whole_number, help="batches at a time (default: all cores)")
    sub.add_argument("--plot", type=Path, metavar="FILE", help="draw the score distributions (.png, .svg or .pdf)")
    sub.add_argument(
        "--output",
        type=Path,
        metavar="PATH",
        help="write the audit to this JSON file, for `tacit privacy --audit`; with --all a folder, in which a stopped "
        "audit is gone on with (default: tacit-audit)",
    )
    _add_report(sub)
    _add_set(sub)


def _add_sampler(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--sampler",
        metavar="secure|double",
        help="how noise is drawn: exactly, as for people, or in double precision, as in simulations (default: secure "
        "where there is an exact sampler)",
    )


def _add_reproduce(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("experiment", help="a name from `tacit reproduce list`, or `list`")
    sub.add_argument("--scale", default="quick", metavar="quick|paper", help="how much is run (default: quick)")
    sub.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="where runs, figures and pages go (default: tacit-reproduce/PAPER/SCALE)",
    )
    _add_report(sub, "put page, figure and tables into this folder too; stored runs stay where they are")
    sub.add_argument("--seed", type=whole_number, default=1, help="below 1000000 (default: 1)")
    sub.add_argument("--trials", type=whole_number, help="trials per run (default: the scale's own)")
    sub.add_argument("--threads", type=whole_number, help="trials at a time (default: all cores)")
    sub.add_argument("--fresh", action="store_true", help="ignore runs that were stored by an earlier call")


def _add_sweep(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("spec", type=Path, help="a TOML file: rounds, seeds, epsilons, [[policy]], [[environment]]")
    sub.add_argument(
        "--output", type=Path, metavar="DIR", help="where runs and table go (default: tacit-sweep/NAME-OF-THE-FILE)"
    )
    sub.add_argument("--engine", default="threads", metavar="threads|dask", help="where it runs (default: threads)")
    sub.add_argument("--scheduler", metavar="ADDRESS|FILE", help="of a Dask cluster (default: processes started here)")
    sub.add_argument("--workers", type=whole_number, help="Dask processes started here (default: one for each core)")
    sub.add_argument("--threads", type=whole_number, help="trials at a time (default: all cores)")
    sub.add_argument("--status", action="store_true", help="print what is there, and run nothing")
    sub.add_argument("--dry-run", action="store_true", help="list the runs and which of them are found")
    sub.add_argument("--fresh", action="store_true", help="ignore runs that were stored by an earlier call")
    _add_report(sub)
