"""Every claim attacked: evidence, before a promise is signed, that the code does what the formula says.

Two neighbouring inputs are fixed in advance, a policy is run on each of them many times, and what can be seen of the
runs is scored: the better the two kinds can be told apart, the larger ε must be. See docs/how-to/audit-a-policy.md.
"""

from __future__ import annotations

from tacit.auditing.attack import Attack, Claim, Twin
from tacit.auditing.black_box import audit_black_box
from tacit.auditing.engine import Finding
from tacit.auditing.result import Audit
from tacit.auditing.run import audit

__all__ = ["Attack", "Audit", "Claim", "Finding", "Twin", "audit", "audit_black_box"]
