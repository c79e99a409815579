"""`tacit.audit`: attack a configuration and its broken twins."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tacit._validate import flag, probability, whole
from tacit._version import __version__
from tacit.auditing.attack import Attack, Claim, Twin
from tacit.auditing.attacks.last_bits import doubles, last_bits
from tacit.auditing.claim import claim_of
from tacit.auditing.engine import Work, fit_runs
from tacit.auditing.engine import run as run_attack
from tacit.auditing.families import family_of
from tacit.auditing.live import LEVEL, Live, LiveFinding, live_of, run_live
from tacit.auditing.result import Audit, Caught
from tacit.errors import BadInput, Interrupted
from tacit.privacy.guarantee import finite_or_none

#: Runs per neighbour unless told.
RUNS = 100_000
#: Fewer than that cannot be fitted, let alone show anything.
FEWEST = 100
#: Bounds per observable: either direction, and the Gaussian curve.
_BOUNDS = 3
#: Twins are grossly wrong: a fifth of the runs, or this many, is enough for them.
_TWIN_SHARE, _TWIN_RUNS = 5, 20_000
#: And they are found out, where many audits share their confidence, if each bound fails once in a thousand times.
_TWIN_MISS = 0.001
#: Where in the numbers of a seed the runs are that live ones are compared with: beyond all attacks and twins.
_LIVE = 10**6


def audit(
    config: Any,
    *,
    runs: int = RUNS,
    confidence: float = 0.95,
    seed: int = 0,
    twins: bool = True,
    as_it_is: bool = False,
    sampler: str | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Audit:
    """Attack what a configuration promises: `runs` runs on each of two neighbouring inputs for everything that can be
    seen, and the same attack on broken twins of it, which must be found out.

    What a row hides in a thousand releases shows after a thousand rounds, and an audit has a hundred thousand runs. So
    a shorter form is attacked, with a few releases that can all be watched: the same code calibrates it to the same
    promise, and the audit says what is shorter. `as_it_is=True` attacks the configuration itself, as far as its first
    releases go. What is attacked is drawn as for people, by the exact sampler where there is one; `sampler="double"`
    attacks what simulations draw.

    One more attack is on the live program, a few hundred runs of `config.start()` or `config.device()` without a seed:
    `found.live`. It is different every time; what a seed fixes is all the rest.

    And one is on the last bits of what is released in numbers: a single run in which they rule an input out for certain
    refutes any promise. In doubles there are such runs; drawn exactly, there are none.

    Lower bounds on ε hold together with `confidence`, for all observables and directions. The same seed gives the same
    audit on any number of threads. Refutes, and never proves.
    """
    flag("twins", twins)
    flag("as_it_is", as_it_is)
    claim = claim_of(config)
    family = family_of(type(config))
    notes: tuple[str, ...] = ()
    sampler = config.sampler() if sampler is None else sampler
    config.planned(sampler)  # refused, where there is no such sampler, before anything is attacked
    if not as_it_is:
        config, shorter = family.shrunk(config)
        if shorter:
            listed = ", ".join(f"{name}={new:,} for {old:,}" for name, (old, new) in shorter.items())
            notes += (f"A shorter form was attacked, calibrated to the same promise by the same code: {listed}.",)
    attacks = family.attacks(config, sampler)
    bits = last_bits(config, attacks, sampler)
    live = live_of(config, attacks, sampler, bits)
    if live is None:
        notes += (
            "No live program was attacked: one run of it takes too long. A shorter form of the policy is quicker.",
        )
    return attack_all(
        config.slug,
        claim,
        attacks if bits is None else (*attacks, bits),
        (*family.twins(config, sampler), *(() if bits is None else doubles(bits))) if twins else (),
        calibration=config.calibrated,
        settings={**config.to_dict(), "sampler": sampler},
        told={**_told(config), "sampler": sampler},
        promised=_promised(config, claim),
        accounted=finite_or_none(config.planned(sampler).guarantee.epsilon_at(claim.delta)),
        runs=runs,
        confidence=confidence,
        seed=seed,
        threads=threads,
        progress=progress,
        notes=notes,
        live=live,
    )


def attack_all(
    name: str,
    claim: Claim,
    attacks: Sequence[Attack],
    twins: Sequence[Twin] = (),
    *,
    calibration: str = "unknown",
    settings: Mapping[str, Any] | None = None,
    told: Mapping[str, Any] | None = None,
    promised: str,
    accounted: float | None = None,
    runs: int = RUNS,
    confidence: float = 0.95,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | None = None,
    notes: tuple[str, ...] = (),
    live: Live | None = None,
) -> Audit:
    """Run these attacks against this claim, or their own, and the first of them against each twin; and the attack on
    the live program, if there is one."""
    whole("runs", runs, low=FEWEST, hint="Fewer runs cannot show anything.")
    probability("confidence", confidence)
    whole("seed", seed, low=0)
    if not attacks:
        raise BadInput(f"Expected an attack on {name}, got none.")
    began = time.perf_counter()
    # Last bits are certain or say nothing: they take no part of the confidence.
    miss = (1 - confidence) / (_BOUNDS * max(1, sum(not attack.certain for attack in attacks)))
    twin_runs = max(runs // _TWIN_SHARE, min(runs, _TWIN_RUNS))
    total = 2 * (len(attacks) * (runs + fit_runs(runs)) + len(twins) * (twin_runs + fit_runs(twin_runs)))
    try:
        with Work(total, threads, progress) as work:
            findings = []
            for place, attack in enumerate(attacks):
                work.named(f"{name}: {attack.observed}")
                findings.append(run_attack(work, attack, claim, runs, seed, (0, place), miss))
            shown: LiveFinding | None = None
            if live is not None:
                work.named(f"{name}: live program")
                shown = run_live(work, live, claim, seed, (_LIVE,), min(LEVEL, miss))
            caught = []
            for place, twin in enumerate(twins):
                work.named(f"{name}: twin, {twin.name}")
                spoiled = twin.spoil(attacks[0])
                finding = run_attack(work, spoiled, claim, twin_runs, seed, (1 + place, 0), max(miss, _TWIN_MISS))
                caught.append(Caught(twin.name, twin.says, finding, finding.refuted))
    except KeyboardInterrupt:
        raise Interrupted(f"Stopped in the middle of the audit of {name}: half an audit says nothing.") from None
    return Audit(
        policy=name,
        calibration=calibration,
        settings=settings or {},
        claim=claim,
        promised=promised,
        accounted=accounted,
        findings=tuple(findings),
        twins=tuple(caught),
        runs=runs,
        confidence=confidence,
        miss=miss,
        seed=seed,
        seconds=time.perf_counter() - began,
        date=datetime.now(UTC).date().isoformat(),
        version=__version__,
        told=told or {},
        notes=notes,
        live=shown,
    )


def _promised(config: Any, claim: Claim) -> str:
    if config.promise is not None:
        return str(config.promise.text)
    return f"epsilon = {claim.epsilon:.4g} at delta = {claim.delta:g}"


def _told(config: Any) -> dict[str, Any]:
    default = {option.name: option.default for option in dataclasses.fields(config)}
    return {name: value for name, value in config.options().items() if value != default.get(name)}
