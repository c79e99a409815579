"""One step of a device: `choose` and `report` called from Python, inputs validated, noise from the operating system."""

from __future__ import annotations

import numpy as np

from benchmarks.report import Cell, Goal, Report, best_of, seconds
from benchmarks.settings import ARMS, DIM
from tacit import Policy
from tacit.core.device import Device
from tacit.core.messages import write
from tacit.policies.catalogue import CATALOGUE

#: µs that choose and report may take together.
STEP = 100.0
#: Steps before the first measured one: all code is compiled.
WARM = 200


def measure(quick: bool) -> Report:
    """µs per step of every policy in the catalogue that has a device, and of what a device and a server do besides."""
    title = f"µs per step of a device from Python at d = {DIM}, K = {ARMS}, OS noise"
    report = Report("device", title)
    report.begin()
    steps, repeats = (300, 3) if quick else (2000, 8)
    rows: list[dict[str, Cell]] = []
    for name, config in devices().items():
        rows.append({"policy": name, **per_step(config, steps, repeats)})
    if not rows:
        report.note("No policy of the catalogue has a device.")
        return report
    report.table(rows)
    for row in rows:
        value = row["choose + report"]
        assert isinstance(value, float)
        report.goal(Goal.at_most(f"{row['policy']}: choose + report", STEP, value, " µs"))
    return report


def devices() -> dict[str, Policy]:
    """The first example of each policy whose people randomise their own reports."""
    found = {}
    for slug, kind in CATALOGUE.items():
        config = kind.examples(DIM)[0]
        if config.plan().report is not None:
            found[slug] = config
    return found


def per_step(config: Policy, steps: int, repeats: int) -> dict[str, Cell]:
    """µs of choose and report together, of writing the report as JSON, and of seeing a view that came as JSON."""
    rng = np.random.default_rng(1)
    offers = rng.standard_normal((64, ARMS, DIM))
    offers /= np.linalg.norm(offers, axis=2, keepdims=True)
    device = config.device(limit=10**9)
    text = config.server().view_json()
    _walk(device, offers, WARM)
    message = device.report(offers[0, 0], 0.5)
    best = best_of(
        repeats,
        step=lambda: seconds(lambda: _walk(device, offers, steps)),
        write=lambda: seconds(lambda: [write(message) for _ in range(steps)]),
        see=lambda: seconds(lambda: _see(device, text, steps)),
    )
    names = {"step": "choose + report", "write": "write JSON", "see": "see a view in JSON"}
    return {names[part]: best[part] / steps * 1e6 for part in names}


def _walk(device: Device, offers: np.ndarray[tuple[int, int, int], np.dtype[np.float64]], steps: int) -> None:
    for step in range(steps):
        actions = offers[step % len(offers)]
        arm = device.choose(actions)
        device.report(actions[arm], 0.5)


def _see(device: Device, text: str, steps: int) -> None:
    for _ in range(steps):
        device.see(text)
