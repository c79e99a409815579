"""What an audit found, and what may be said of it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tacit.auditing import bounds
from tacit.auditing.attack import Claim
from tacit.auditing.engine import FALSE_ALARM, Counted, Finding
from tacit.auditing.live import LiveFinding
from tacit.privacy.audited import Audited
from tacit.report.tables import number, table

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

CONSISTENT, VIOLATED, POWERLESS = "consistent", "violated", "not audited with power"
#: An audit whose best attack could not even be expected to show this share of the promise refutes too little.
ENOUGH = 0.5
_MOST_RUNS = 10**9


@dataclass(frozen=True)
class Caught:
    """A twin, and what the same attack found of it."""

    name: str
    says: str
    finding: Finding
    caught: bool


@dataclass(frozen=True)
class Audit:
    """Evidence about one promise. It can refute a promise, and never prove one.

    `verdict`: "violated" if a lower bound exceeds what was promised; "not audited with power" if a broken twin was not
    found out, or the runs are too few for any attack to refute much; else "consistent".
    """

    policy: str
    calibration: str
    settings: Mapping[str, Any]  #: of the configuration that was attacked
    claim: Claim
    promised: str
    accounted: float | None  #: ε at the claim's δ as the accountant has it
    findings: tuple[Finding, ...]
    twins: tuple[Caught, ...]
    runs: int
    confidence: float
    miss: float  #: the chance that one single bound fails
    seed: int
    seconds: float
    date: str
    version: str
    told: Mapping[str, Any] = field(default_factory=dict)  #: those of the settings that are not as they are by default
    notes: tuple[str, ...] = ()
    live: LiveFinding | None = None  #: the live program; None where none was attacked

    @property
    def violated(self) -> bool:
        """Whether anything seen refutes the promise, with the stated confidence for all of it together."""
        return any(finding.refuted for finding in self.every) or (self.live is not None and self.live.refuted)

    @property
    def every(self) -> tuple[Finding, ...]:
        """What all attacks found, that on the live program last if it says anything against the promise: else its few
        runs, which no seed repeats, would be among numbers that a seed fixes."""
        live = self.live
        return (*self.findings, live.finding) if live is not None and live.finding.refuted else self.findings

    @property
    def verdict(self) -> str:
        """In one of three words."""
        return VIOLATED if self.violated else POWERLESS if self.weaknesses else CONSISTENT

    @property
    def lower_bound(self) -> float:
        """ε: the largest lower bound without assumptions."""
        return max(finding.epsilon for finding in self.every)

    @property
    def gaussian_lower_bound(self) -> float | None:
        """ε: the largest lower bound for a Gaussian curve; None where none is promised."""
        found = [finding.gaussian for finding in self.every if finding.gaussian is not None]
        return max(found) if found else None

    @property
    def within_reach(self) -> float:
        """ε that the best attack on exactly what is promised could be expected to show in so many runs."""
        return self._reach(self.runs)

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """Why nothing follows from nothing having been found; empty if something does."""
        said = []
        missed = [twin.name for twin in self.twins if not twin.caught]
        if missed:
            said.append(f"a broken twin was not found out: {', '.join(missed)}")
        if self.claim.epsilon > 0 and self.within_reach < ENOUGH * self.claim.epsilon:
            needed = self.runs_needed()
            least = "no number of runs that is practical" if needed is None else f"about {needed:,} runs"
            said.append(
                f"with {self.runs:,} runs the best attack could be expected to show epsilon >= "
                f"{number(self.within_reach, 3)} of the promised {number(self.claim.epsilon, 4)}; for half of it "
                f"{least} would be needed"
            )
        return tuple(said)

    def _reach(self, runs: int) -> float:
        claims = {finding.claim for finding in self.findings}
        return max(max(bounds.within_reach(one.mu, one.epsilon, one.delta, runs, self.miss)) for one in claims)

    def runs_needed(self) -> int | None:
        """Runs per neighbour from which half of what is promised is within reach; None if more than 10⁹."""
        runs = 100
        while runs <= _MOST_RUNS:
            if self._reach(runs) >= ENOUGH * self.claim.epsilon:
                return runs
            runs = int(float(f"{1.3 * runs:.2g}"))
        return None

    @property
    def record(self) -> Audited:
        """What of this goes on a privacy card."""
        return Audited(
            verdict=self.verdict,
            policy=self.policy,
            form=dict(self.settings),
            epsilon=self.claim.epsilon,
            delta=self.claim.delta,
            mu=self.claim.mu,
            lower_bound=self.lower_bound,
            gaussian_lower_bound=self.gaussian_lower_bound,
            confidence=self.confidence,
            runs=self.runs,
            seed=self.seed,
            date=self.date,
            version=self.version,
            observed=(*(finding.observed for finding in self.findings), *(["live program"] if self.live else [])),
            twins=tuple(twin.name for twin in self.twins),
            caught=tuple(twin.name for twin in self.twins if twin.caught),
        )

    def sentence(self) -> str:
        """The verdict and what it rests on."""
        if self.verdict == VIOLATED:
            if self.live is not None and self.live.wrong:
                return (
                    f"the live program ({self.live.face}) is not what was planned: {' and '.join(self.live.wrong)}, by "
                    f"{self.live.finding.runs:,} runs per neighbour; a right one is found wrong once in 10^9 audits."
                )
            telling = next((one for one in self.findings if one.certain), None)
            if telling is not None:
                return (
                    f"the last bits of what is released rule one of two inputs out for certain in "
                    f"{telling.certain:,} of {2 * telling.runs:,} runs; where noise is drawn exactly they never do."
                )
            worst = max((one for one in self.every if one.refuted), key=lambda one: one.largest)
            if worst.epsilon > self.claim.epsilon:
                shown, how = worst.epsilon, "without any assumption"
            else:
                curve = "the promised Gaussian curve" if worst.odds is None else "the promised odds"
                shown, how = worst.largest, f"as no mechanism with {curve} could"
            known = ""
            if self.accounted is not None and self.accounted > self.claim.epsilon:
                known = f" The accountant agrees: it has epsilon = {number(self.accounted, 4)} for this noise."
            found = f"epsilon >= {number(shown, 4)} where {number(self.claim.epsilon, 4)} was promised"
            sure = f"with confidence {_share(self.confidence)}"
            return f"an attack on {worst.observed} shows {found}, {how}, {sure}.{known}"
        if self.verdict == POWERLESS:
            return f"nothing was found, and nothing follows from that: {'; '.join(self.weaknesses)}."
        caught = f", while {len(self.twins)} broken twins were all found out" if self.twins else ""
        return f"nothing was found against the promise{caught}. This can refute a promise, and never prove one."

    def text(self) -> str:
        """For reading, at most 100 columns wide."""
        lines = [f"Audit of {self.policy} ({self.calibration} calibration)", ""]
        at_delta = f"at delta = {self.claim.delta:g}"
        facts = [("promised", self.promised)]
        mu = next((one.claim.mu for one in self.findings if one.claim.mu is not None), None)
        if mu is not None:
            promised = f"mu = {mu:.4g}, epsilon = {number(self.claim.epsilon, 4)} {at_delta}"
            facts.append(("as a curve", promised))
        if self.accounted is not None:
            facts.append(("accounted", f"epsilon = {number(self.accounted, 4)} {at_delta}"))
        if self.told:
            facts.append(("attacked", ", ".join(f"{name}={value}" for name, value in self.told.items())))
        facts.append(("neighbours", self.findings[0].neighbours))
        for name, value in facts:
            lines += textwrap.wrap(value, 100, initial_indent=f"  {name:<12}", subsequent_indent=" " * 14)
        rows = [
            [
                finding.observed,
                number(finding.epsilon, 3),
                number(finding.gaussian, 3),
                f"{100 * finding.detected:.2f} %",
                at_best(finding.claim),
            ]
            for finding in self.findings
        ]
        if self.live is not None:
            rows.append(live_row(self.live))
        head = ("what is seen", "epsilon at least", "if Gaussian", "detected", "at best")
        lines += ["", textwrap.indent(table(head, rows, right=(1, 2, 3, 4)), "  "), ""]
        lines += _wrapped(
            f"Lower bounds hold together with confidence {_share(self.confidence)}; detected: at "
            f"{100 * FALSE_ALARM:g} % false alarms, and at best with what is promised."
        )
        if self.live is not None:
            lines += _wrapped(f"Live program: {self.live.verdict}.")
        if self.twins:
            rows = [
                [
                    twin.name,
                    "found out" if twin.caught else "NOT found out",
                    number(twin.finding.epsilon, 3),
                    number(twin.finding.gaussian, 3),
                    twin.says,
                ]
                for twin in self.twins
            ]
            head = ("broken twin", "", "epsilon", "if Gaussian", "what is wrong")
            lines += ["", textwrap.indent(table(head, rows, right=(2, 3)), "  ")]
        for note in self.notes:
            lines += ["", *_wrapped(note)]
        for bits in (one for one in self.findings if one.certain is not None):
            lines += _wrapped(
                f"Last bits rule one of the two inputs out for certain in {bits.certain:,} of {2 * bits.runs:,} runs."
            )
        fitted = self.findings[0].fitted_on
        lines += ["", *textwrap.wrap(f"{self.verdict.upper()}: {self.sentence()}", 100)]
        lines += textwrap.wrap(
            f"{self.runs:,} runs per neighbour and {fitted:,} more to fit the score; {self.seconds:.1f} s; "
            f"seed {self.seed}; tacit {self.version}; {self.date}",
            100,
        )
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from tacit.auditing.notebook import audit_html

        return audit_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; `record` is the part that `tacit privacy --audit` reads."""
        return {
            "record": self.record.to_dict(),
            "verdict": self.verdict,
            "sentence": self.sentence(),
            "promised": self.promised,
            "told": dict(self.told),
            "accounted": self.accounted,
            "within_reach": self.within_reach,
            "fitted_on": self.findings[0].fitted_on,
            "seconds": self.seconds,
            "findings": [_finding(finding) for finding in self.findings],
            "twins": [
                {"name": twin.name, "says": twin.says, "caught": twin.caught, **_finding(twin.finding, brief=True)}
                for twin in self.twins
            ],
            "live": None if self.live is None else _live(self.live),
            "notes": list(self.notes),
        }

    def plot(self, path: Path | str | None = None) -> Figure:
        """The two score distributions of every observable; written to `path` if one is given (.png, .svg or .pdf)."""
        from tacit.auditing.figure import draw

        figure = draw(self)
        if path is not None:
            figure.savefig(path, dpi=150)
        return figure


def live_row(live: LiveFinding) -> list[str]:
    """The live program as one more line of a table of attacks."""
    found = live.finding
    bounds_found = number(found.epsilon, 3), number(found.gaussian, 3)
    return [live.name, *bounds_found, f"{100 * found.detected:.2f} %", at_best(found.claim)]


def _live(live: LiveFinding) -> dict[str, Any]:
    facts = {"name": live.name, "face": live.face, "refuted": live.refuted, "wrong": list(live.wrong)}
    found = {**_finding(live.finding), "certain": live.certain}
    return {**facts, "law": live.law, "ids": live.ids, "seeded": live.seeded, **found}


def at_best(claim: Claim) -> str:
    """How often an attacker detects at most, in words."""
    power = claim.power(FALSE_ALARM)
    return "–" if power is None else f"{100 * power:.2f} %"


def _share(confidence: float) -> str:
    """As one would write it: a row of nines is hard to count."""
    return f"{confidence:.4g}" if confidence <= 0.999 else f"1 - {1 - confidence:.2g}"


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, 100, initial_indent="  ", subsequent_indent="  ")


def _finding(finding: Finding, brief: bool = False) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "observed": finding.observed,
        "epsilon_at_least": finding.epsilon,
        "gaussian_epsilon_at_least": finding.gaussian,
        "mu_at_least": None if finding.curve is None or finding.claim.mu is None else finding.curve.bound,
        "log_odds_at_least": finding.odds,
        "detected": finding.detected,
        "best_power": finding.claim.power(FALSE_ALARM),
        "runs": finding.runs,
        "certain": finding.certain,
    }
    if brief:
        return facts
    return facts | {
        "neighbours": finding.neighbours,
        "forward": _counted(finding.forward),
        "backward": _counted(finding.backward),
        "curve": None if finding.curve is None else _counted(finding.curve),
        "scores": {
            "edges": [float(f"{edge:.9g}") for edge in finding.edges],
            "first": finding.first.tolist(),
            "second": finding.second.tolist(),
        },
    }


def _counted(counted: Counted) -> dict[str, Any]:
    return {
        "threshold": counted.threshold,
        "hits": counted.hits,
        "false_hits": counted.false_hits,
        "at_least": counted.bound,
    }
