"""An audit of everything: each form of each policy, stored when it is done, and gone on with after a stop."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit import _kernel
from tacit._validate import flag, one_of, probability, whole
from tacit.auditing.families import all_forms, secure_forms
from tacit.auditing.run import FEWEST, RUNS, audit
from tacit.core.settings import SAMPLERS
from tacit.report.tables import number, table


@dataclass(frozen=True)
class Audits:
    """The audits of many configurations, whose bounds hold together."""

    found: tuple[dict[str, Any], ...]  #: as `Audit.to_dict` has them
    confidence: float
    runs: int
    seed: int

    @property
    def verdicts(self) -> tuple[str, ...]:
        """One per audit."""
        return tuple(str(one["verdict"]) for one in self.found)

    def text(self) -> str:
        """One line per observable."""
        head = (
            "policy",
            "promised",
            "what is seen",
            "eps >=",
            "if Gaussian",
            "detected",
            "at best",
            "twins",
            "verdict",
        )
        rows = []
        for one in self.found:
            record = one["record"]
            name = f"{record['policy']} {_short(one['told'])}".strip()
            twins = f"{len(record['caught'])}/{len(record['twins'])}"
            for place, finding in enumerate(lines_of(one)):
                power = finding["best_power"]
                best = "–" if power is None else f"{100 * power:.1f} %"
                rows.append(
                    [
                        name if place == 0 else "",
                        one["promised"] if place == 0 else "",
                        finding["observed"],
                        number(finding["epsilon_at_least"], 3),
                        number(finding["gaussian_epsilon_at_least"], 3),
                        f"{100 * finding['detected']:.1f} %",
                        best,
                        twins if place == 0 else "",
                        one["verdict"] if place == 0 else "",
                    ]
                )
        seconds = sum(one["seconds"] for one in self.found)
        return (
            f"{table(head, rows, right=(3, 4, 5, 6, 7))}\n\n{len(self.found)} audits of {self.runs:,} runs per "
            f"neighbour, seed {self.seed}, {seconds:,.0f} s; all lower bounds hold together with confidence "
            f"{self.confidence:.4g}. Detected: at 5 % false alarms.\n"
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "confidence": self.confidence,
            "runs": self.runs,
            "seed": self.seed,
            "audits": list(self.found),
        }


def audit_all(
    forms: Sequence[Any] | None = None,
    *,
    runs: int = RUNS,
    confidence: float = 0.95,
    seed: int = 0,
    twins: bool = True,
    sampler: str | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    output: Path | str | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Audits:
    """Audit these configurations (default: every form of every policy), with bounds that hold together. Each is
    drawn as for people where there is an exact sampler, or as `sampler` says, if it can be drawn so.

    With `output`, every audit is written there when it is done, and one that is there already, of the same
    configuration, numbers and sources, is not done again.
    """
    whole("runs", runs, low=FEWEST)
    probability("confidence", confidence)
    whole("seed", seed, low=0)
    flag("twins", twins)
    if sampler is not None:
        one_of("sampler", sampler, SAMPLERS)
    every = tuple(forms) if forms is not None else secure_forms() if sampler == "secure" else all_forms()
    each = 1 - (1 - confidence) / max(1, len(every))
    folder = None if output is None else Path(output)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    found = []
    for place, config in enumerate(every):
        path = (
            None if folder is None else folder / f"{config.slug}-{_key(config, runs, each, seed, twins, sampler)}.json"
        )
        known = None if path is None else _read(path)
        if known is None:
            one = audit(
                config,
                runs=runs,
                confidence=each,
                seed=seed,
                twins=twins,
                as_it_is=True,
                sampler=sampler,
                threads=threads,
                progress=progress,
            ).to_dict()
            if path is not None:
                _store(path, one)
        else:
            one = known
        found.append(one)
        again = "" if known is None else " (done before)"
        told = f"{config.slug} {_short(one['told'])}".strip()
        say(f"{place + 1} of {len(every)}: {told}: {one['verdict']}{again}")
    return Audits(tuple(found), confidence, runs, seed)


def lines_of(one: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A line for each attack, and one for the live program."""
    live = one["live"]
    return list(one["findings"]) if live is None else [*one["findings"], {**live, "observed": live["name"]}]


def _short(told: dict[str, Any]) -> str:
    """What tells a form from others, without the promise, which has a column of its own."""
    left_out = {"epsilon", "delta", "dim", "rho", "alpha", "actions", "arms", "action_box", "kernel", "reward_bound"}
    return " ".join(
        str(value) if isinstance(value, str) else f"{name}={value}"
        for name, value in told.items()
        if name not in left_out
    )


def _key(config: Any, runs: int, confidence: float, seed: int, twins: bool, sampler: str | None) -> str:
    facts = [config.to_dict(), runs, f"{confidence:.12g}", seed, twins, sampler, _kernel.source_hash()]
    return hashlib.blake2b(json.dumps(facts, sort_keys=True, default=str).encode(), digest_size=6).hexdigest()


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "record" in found else None


def _store(path: Path, one: dict[str, Any]) -> None:
    """Whole or not at all."""
    beside = path.with_suffix(".tmp")
    beside.write_text(json.dumps(one, indent=2, allow_nan=False, ensure_ascii=False) + "\n", "utf-8")
    beside.replace(path)
