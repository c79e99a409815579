"""The golden messages in `tacit/protocol/golden`: what the programs write for fixed seeds.

`python -m tests.core.golden` writes them again, after a change of the protocol or of a policy that is meant.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit.core.sealed_reports import SealedShuffler, public_key_of, seal_report

from .apart import actions, reports_of

FOLDER = Path(tacit.__file__).parent / "protocol" / "golden"

_COMMON: dict[str, Any] = {"dim": 3, "epsilon": 10.0, "delta": 0.1, "horizon": 1000, "reward_low": 0.0}
#: By what they send: reports of both kinds, each on its own way, and in batches.
CONFIGS = {
    "xy": tacit.OnlineLinUCB(**_COMMON, constants=(0.5,)),
    "gram": tacit.LocalLinUCB(**_COMMON, constants=(0.5,), person_rounds=3),
    "counts": tacit.ShuffleLinUCB(**_COMMON, batch=4),
    "mixed": tacit.ShuffleLinUCB(**_COMMON, batch=4, protocol="amplification"),
    "arms": tacit.ShuffleLinUCB(**_COMMON, batch=4, arms=2),
}


def messages() -> dict[str, Any]:
    """Every golden message by its name. The rows of a mixed batch are in an order nobody can repeat: sorted here."""
    return {
        **_apart("xy"),
        **_apart("gram"),
        **_mixed("counts"),
        **_mixed("mixed"),
        **_sealed("counts"),
        **_mixed("arms"),
    }


def _apart(name: str) -> dict[str, Any]:
    """Twenty people, the last of whose reports is kept, and the view after them with a choice by it."""
    config = CONFIGS[name]
    server, report = config.server(), None
    offers = actions(20, dim=3, seed=7) * np.sqrt(0.75)
    offers[:, :, 2] = 0.5
    for seed, offered in enumerate(offers):
        device = config.device(seed=seed)
        device.see(server.view())
        arm = device.choose(offered)
        report = device.report(offered[arm], float(offered[arm, 0] > 0))
        server.receive(report)
    device = config.device(seed=0)
    device.see(server.view())
    return {
        f"{name}-contract": config.contract(),
        f"{name}-report": report,
        f"{name}-view": server.view(),
        f"{name}-choice": {"actions": offers[0].tolist(), "arm": device.choose(offers[0])},
    }


def _mixed(name: str) -> dict[str, Any]:
    """One batch, one of the reports in it, and the view after it."""
    config = CONFIGS[name]
    shuffler, server = config.shuffler(), config.server()
    reports = reports_of(config, 4, seed=7)
    for report in reports:
        shuffler.add(report)
    batch = shuffler.batch()
    if "values" in batch:
        batch["values"].sort()
    server.receive_batch(batch)
    return {
        f"{name}-contract": config.contract(),
        f"{name}-report": reports[0],
        f"{name}-batch": batch,
        f"{name}-view": server.view(),
    }


def _sealed(name: str) -> dict[str, Any]:
    """The batch of `_mixed`, sealed with secrets that are none: what another language can check its sealing by.

    Counts only. Gaussian numbers differ between machines in their last digits, and sealed in every one.
    """
    config = CONFIGS[name]
    private = bytes(range(32))
    reports, shuffler = reports_of(config, 4, seed=7), SealedShuffler(config)
    secrets = [{"once": bytes([1 + place]) * 32, "seed": bytes([101 + place]) * 32} for place in range(4)]
    sealed = [
        seal_report(config, report, public_key_of(private), **secret)
        for report, secret in zip(reports, secrets, strict=True)
    ]
    for report in sealed:
        shuffler.add(report)
    batch = shuffler.batch()
    batch["sealed"].sort()
    first = {name: value.hex() for name, value in secrets[0].items()}
    return {
        f"{name}-sealing": {"private": private.hex(), "public": public_key_of(private), **first},
        f"{name}-sealed-report": sealed[0],
        f"{name}-sealed-batch": batch,
    }


def stored() -> dict[str, Any]:
    """What is shipped."""
    return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, message in messages().items():
        (FOLDER / f"{name}.json").write_text(json.dumps(message, indent=2) + "\n", "utf-8")
