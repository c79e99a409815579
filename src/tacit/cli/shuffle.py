"""`tacit shuffle`: mix sealed reports between devices and a service."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path

from tacit._listening import is_loopback
from tacit.cli.options import Once, build, print_json, read_settings, refuse_unknown, whole_number
from tacit.errors import BadInput

#: The environment's name for the key of the service.
KEY_VARIABLE = "TACIT_KEY"


def add_shuffle(sub: argparse.ArgumentParser) -> None:
    """The flags of `tacit shuffle`; those of the policy come on top."""
    sub.add_argument("policy", help="a policy with batches, such as shuffle-linucb; its own options are flags")
    sub.add_argument(
        "--server",
        "--url",
        dest="server",
        action=Once,
        required=True,
        metavar="URL",
        help="the service that batches go to",
    )
    sub.add_argument("--deployment", required=True, metavar="NAME", help="which of its deployments")
    sub.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: 127.0.0.1)")
    sub.add_argument("--port", type=whole_number, default=8421, help="the port to listen at; 0: any (default: 8421)")
    sub.add_argument(
        "--key-file",
        type=Path,
        metavar="FILE",
        help=f"a file with the key of the service (default: the environment variable {KEY_VARIABLE}, if it is set)",
    )
    sub.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="any option of the policy, by its name"
    )


def shuffle(parsed: argparse.Namespace, rest: list[str]) -> int:
    """`tacit shuffle POLICY --server URL --deployment NAME`."""
    from tacit.core.sealed_reports import sealing
    from tacit.policies.catalogue import FUNCTIONS, policy
    from tacit.shuffling.running import run

    kind = policy(parsed.policy)
    if kind.slug in FUNCTIONS:
        raise BadInput(f"Expected a policy with batches, got {kind.slug}, which has none. Use shuffle-linucb.")
    settings = read_settings(rest, parsed.set)
    refuse_unknown(settings, kind)
    config = build(kind, settings, f"`tacit policies {kind.slug}` lists the options.")
    contract = sealing(config)
    facts = {"contract": contract.fingerprint, "batch": contract.report.batch, "deployment": parsed.deployment}

    def started(url: str) -> None:
        if parsed.json:
            print_json({"command": parsed.command_line, "url": url, "server": parsed.server, **facts})
        else:
            print(f"shuffler  {url}")
            print(f"server    {parsed.server}, deployment {parsed.deployment}")
            print(f"contract  {contract.fingerprint}, batches of {contract.report.batch:,}")
        sys.stdout.flush()
        if not is_loopback(parsed.host):
            print(
                "tacit: listening to other machines without TLS. Put a proxy with TLS in front, and let it log neither "
                "addresses nor times.",
                file=sys.stderr,
            )

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    logging.getLogger("tacit.shuffling").setLevel(logging.INFO)
    run(
        config,
        server=parsed.server,
        deployment=parsed.deployment,
        key=_key(parsed.key_file),
        host=parsed.host,
        port=parsed.port,
        started=started,
    )
    return 0


def _key(path: Path | None) -> str | None:
    if path is None:
        return os.environ.get(KEY_VARIABLE) or None
    try:
        return path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise BadInput(f"Expected the key of the service in {path}, got a file that cannot be read.") from None
