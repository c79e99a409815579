"""An audit as a notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit._html import panel
from tacit.report.tables import number

if TYPE_CHECKING:
    from tacit.auditing.result import Audit


def audit_html(audit: Audit) -> str:
    """The verdict and what it rests on, each finding in a line, and the whole report to unfold."""
    findings = []
    for finding in audit.findings:
        gaussian = "" if finding.gaussian is None else f", {number(finding.gaussian, 3)} if Gaussian"
        findings.append((finding.observed, f"epsilon at least {number(finding.epsilon, 3)}{gaussian}"))
    if audit.live is not None:
        findings.append((audit.live.name, audit.live.verdict))
    twins = [(twin.name, "found out" if twin.caught else "NOT found out") for twin in audit.twins]
    return panel(
        f"Audit of {audit.policy}",
        under=f"{audit.calibration} calibration",
        warnings=["the promise is VIOLATED"] if audit.violated else [],
        headline=f"{audit.verdict}: {audit.sentence()}",
        rows=[("promised", audit.promised), *findings, *((f"broken twin: {name}", how) for name, how in twins)],
        notes=audit.notes,
        folded=[("the whole audit", audit.text())],
    )
