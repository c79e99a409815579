"""What device and server agree on before anybody comes: bounds, noise, the shape of what they send each other.

A device is *installed* with its contract and never receives one: a server that could send the noise scale could switch
the noise off. A view and a report name the contract they belong to by its fingerprint, and nothing else of it.
"""

from __future__ import annotations

import hashlib
import json
import math
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from tacit._types import Floats
from tacit.core.messages import LARGEST_WHOLE, VERSION, as_array, as_identity, as_stage, opened
from tacit.core.plan import Plan, Reported
from tacit.core.policy import Policy
from tacit.core.round import LARGEST
from tacit.errors import BadInput, BadMessage
from tacit.privacy.event import Event, LatticeEvent, PersonEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Unit

#: The numbers a report, a view and a batch may have at most: what a reader must be ready for.
MOST_IN_REPORT, MOST_IN_VIEW, MOST_IN_BATCH = 2**16, 2**20, 2**26
#: An honest number lies within the bounds plus ten deviations of its noise; a hundred times that is refused.
_ROOM = 1000.0
#: Digits of a number that make the fingerprint: machines differ in the last ones.
_DIGITS = 9


class Report(NamedTuple):
    """A report as the server or the shuffler has checked it."""

    identity: bytes
    stage: int
    values: Floats


@dataclass(frozen=True, eq=False)
class Contract:
    """A plan whose device and server are two programs. `contract_of(config)` makes it."""

    config: Policy
    plan: Plan
    report: Reported
    limit: int  #: reports of one device, unless it is told otherwise

    # What is written down ---------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The contract as a device in any language is installed with it."""
        terms = deepcopy(self._terms)  # what is handed out may be changed, the contract not
        return {**terms, "guarantee": str(self.guarantee(self.limit)), "fingerprint": self.fingerprint}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all terms: sorted keys, no spaces, and nine digits of each number, since the last ones differ
        between machines. The sentence about the guarantee is left out: it follows from the terms, and may be reworded.
        """
        text = json.dumps(_rounded(self._terms), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def _terms(self) -> dict[str, Any]:
        report, promise = self.report, self.config.promise
        arms = {} if report.arms is None else {"arms": deepcopy(dict(report.arms))}
        return {
            "tacit": "contract",
            "version": VERSION,
            "policy": self.config.slug,
            "dim": self.dim,
            **arms,
            "report": {
                "kind": report.kind,
                "size": report.size,
                "action_norm": float(report.action_norm),
                "radius": self.radius,
                "reward_low": float(report.reward_low),
                "reward_high": float(report.reward_high),
                "constants": [float(value) for value in report.constants],
                "noise": {name: float(value) for name, value in report.noise.items()},
                "largest": self.largest,
                "batch": report.batch,
            },
            "view": {name: list(shape) for name, (shape, _) in self.shapes.items()},
            "limit": self.limit,
            "promise": None if promise is None else promise.to_dict(),
        }

    @cached_property
    def dim(self) -> int:
        return self.config.dim

    @cached_property
    def radius(self) -> float:
        """r: what the norm of the private part of an action may be."""
        left = self.report.action_norm**2 - sum(value * value for value in self.report.constants)
        if left <= 0:
            raise BadInput(
                f"Expected constants shorter than action_norm={self.report.action_norm!r}, got "
                f"constants={self.report.constants!r}: nothing would be left to protect."
            )
        return math.sqrt(left)

    @cached_property
    def largest(self) -> float:
        """How far from zero a reported number may be. A count is at most all the steps of its grid and all its ones.

        A report beyond it was not made by an honest device. Whether one is refused depends on the report alone, so it
        costs no privacy; and no single report can fill the sums with numbers that drown or overflow everything else.
        """
        report = self.report
        if self.whole:
            return int(report.noise["steps"] + report.noise["ones"])
        reach = max(1.0, report.action_norm, abs(report.reward_low), abs(report.reward_high))
        return min(_ROOM * (reach * reach + sum(abs(value) for value in report.noise.values())), LARGEST)

    @property
    def whole(self) -> bool:
        """Whether reports are counts, of which a server may only see totals."""
        return self.report.kind == "counts"

    @cached_property
    def shapes(self) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
        """Of each array of a view."""
        view = self.plan.view()
        return {name: (part.shape, part.dtype) for name, part in zip(view._fields, view, strict=True)}

    @cached_property
    def view_numbers(self) -> int:
        return sum(math.prod(shape) for shape, _ in self.shapes.values())

    # What it costs ----------------------------------------------------------------------------------------------

    def event(self, reports: int) -> Event:
        """What is released about somebody whose device makes so many reports."""
        event = self.plan.event
        one: Any = event.event if isinstance(event, LatticeEvent) else event
        if not is_dataclass(one) or "reports" not in (field.name for field in fields(one)):
            return event if reports == 1 else PersonEvent(event, reports)
        repeated: Any = replace(one, reports=reports)  # type: ignore[type-var]
        found: Event = replace(event, event=repeated) if isinstance(event, LatticeEvent) else repeated
        return found

    def guarantee(self, reports: int) -> Guarantee:
        """The guarantee of a person whose device makes at most so many reports."""
        one, event = self.plan.guarantee, self.event(reports)
        if not one.private or event == self.plan.event:
            return replace(one, unit=Unit.person(reports)) if one.private else one
        return Guarantee.priced(
            event,
            trust=one.trust,
            protects=one.protects,
            unit=Unit.person(reports),
            delta=None if one.theorem is not None else one.delta,  # a theorem has a δ of its own
        )

    # How long it lasts ------------------------------------------------------------------------------------------

    @cached_property
    def most(self) -> int | None:
        """Reports that are learned at most; None: no end. Batches are learned whole or not at all, so of a horizon that
        is no multiple of the batch the rest is never learned."""
        limit, batch = self.plan.limit, self.report.batch or 1
        return None if limit is None else limit // batch * batch

    def spent(self, stage: int) -> str | None:
        """Why a server at this stage learns nothing more, if so: stages count reports, or batches."""
        most, batch = self.most, self.report.batch
        if most is None or stage * (batch or 1) < most:
            return None
        within = (
            ""
            if most == self.plan.limit
            else f" that fit into batches of {batch:,} within a horizon of {self.plan.limit:,}"
        )
        return f"All {most:,} reports{within} are learned; {self.plan.limit_hint}"

    # Messages ---------------------------------------------------------------------------------------------------

    def view_message(self, stage: int, view: Any) -> dict[str, Any]:
        """A view for devices: every array of it, under its own name."""
        for name, part in zip(view._fields, view, strict=True):
            if not np.all(np.abs(part) <= LARGEST):
                raise BadMessage(
                    f"Expected a view of finite numbers, got {name} with others in it, which no message can carry. "
                    f"The release of {self.config.slug} must write finite numbers."
                )
        arrays = {name: part.tolist() for name, part in zip(view._fields, view, strict=True)}
        return {**self._head("view"), "policy": self.config.slug, "stage": stage, "arrays": arrays}

    def read_view(self, message: object) -> tuple[int, Any]:
        """Stage and view, checked to the last number: whoever wrote it may wish the device ill."""
        keys = ("policy", "stage", "arrays")
        found = opened(message, "view", keys, contract=self.fingerprint, numbers=self.view_numbers)
        stage, arrays = as_stage(found["stage"]), found["arrays"]
        if found["policy"] != self.config.slug:
            raise BadMessage(f"Expected a view of {self.config.slug}, got one of another policy.")
        if not isinstance(arrays, dict) or arrays.keys() != self.shapes.keys():
            raise BadMessage(f"Expected a view with the arrays {', '.join(self.shapes)}, got others.")
        view = self.plan.view()
        parts = []
        for name, (shape, dtype) in self.shapes.items():
            whole = dtype.kind == "i"
            largest = LARGEST_WHOLE if whole else LARGEST
            parts.append(as_array(name, arrays[name], shape, largest=largest, whole=whole).astype(dtype, copy=False))
        return stage, type(view)(*parts)

    def report_message(self, identity: str, stage: int, values: list[float] | list[int]) -> dict[str, Any]:
        """A report for the server or the shuffler."""
        return {**self._head("report"), "id": identity, "stage": stage, "values": values}

    def read_report(self, message: object) -> Report:
        """A report, checked."""
        keys = ("id", "stage", "values")
        found = opened(message, "report", keys, contract=self.fingerprint, numbers=self.report.size)
        values = self._values("values", found["values"], (self.report.size,))
        return Report(as_identity(found["id"]), as_stage(found["stage"]), values)

    def batch_message(self, stage: int, rows: list[list[float]] | None, ones: list[int] | None) -> dict[str, Any]:
        """A mixed batch for the server: permuted reports, or the totals of counts."""
        content: dict[str, Any] = {"values": rows} if ones is None else {"ones": ones}
        return {**self._head("batch"), "stage": stage, "reports": self.report.batch, **content}

    def read_batch(self, message: object) -> tuple[int, Floats]:
        """Stage and rows of a batch: one per report, or a single row of totals."""
        report, name = self.report, "ones" if self.whole else "values"
        batch = report.batch or 0
        numbers = report.size if self.whole else report.size * batch
        found = opened(
            message, "batch", ("stage", "reports", name), contract=self.fingerprint, numbers=min(numbers, MOST_IN_BATCH)
        )
        if type(found["reports"]) is not int or found["reports"] != batch:
            raise BadMessage(f"Expected a batch of {batch:,} reports, got one that says otherwise.")
        stage = as_stage(found["stage"])
        if self.whole:
            return stage, self._values(name, found[name], (1, report.size), times=batch, row=True)
        return stage, self._values(name, found[name], (batch, report.size))

    def _values(self, name: str, value: object, shape: tuple[int, ...], times: int = 1, row: bool = False) -> Floats:
        largest = min(times * self.largest, LARGEST_WHOLE) if self.whole else self.largest
        least = 0.0 if self.whole else None
        return as_array(name, [value] if row else value, shape, largest=largest, whole=self.whole, least=least)

    def _head(self, kind: str) -> dict[str, Any]:
        return {"tacit": kind, "version": VERSION, "contract": self.fingerprint}


def contract_of(config: Policy) -> Contract:
    """What device and server of this configuration agree on; refused for a policy that has no such two programs."""
    try:
        return _contract_of(config)
    except TypeError:  # an option of somebody's own policy that cannot be hashed
        return _contract_of.__wrapped__(config)


# A plan may take a second to calibrate, and a simulation has many devices.
@lru_cache(maxsize=16)
def _contract_of(config: Policy) -> Contract:
    plan = config.planned()  # in doubles a report would tell more than it is priced for
    report = plan.report
    if report is None:
        raise BadInput(
            f"Expected a policy whose people randomise their own reports, got {config.slug}, whose learner is one "
            "program. Use it from Python, by start()."
        )
    contract = Contract(config, plan, report, limit=config.person_rounds or 1)
    if report.kind not in ("xy", "gram", "counts"):
        raise BadInput(f'Expected a report of kind "xy", "gram" or "counts", got {report.kind!r}.')
    if contract.whole and not (report.batch and {"steps", "ones"} <= report.noise.keys()):
        raise BadInput(
            'Expected counts to have a batch and, as "steps" and "ones" of their noise, how far they can go, got '
            f"batch={report.batch!r} and noise={dict(report.noise)!r}."
        )
    batch = 1 if report.batch is None or contract.whole else report.batch
    for what, numbers, most in (
        ("report", report.size, MOST_IN_REPORT),
        ("view", contract.view_numbers, MOST_IN_VIEW),
        ("batch", report.size * batch, MOST_IN_BATCH),
    ):
        if numbers > most:
            raise BadInput(
                f"Expected a {what} of at most {most:,} numbers, got {numbers:,}: too large for a message. "
                "Use fewer features or smaller batches, or start()."
            )
    return contract


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return f"{value:.{_DIGITS - 1}e}" if isinstance(value, float) else value
