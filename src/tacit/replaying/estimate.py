"""A number with its interval, and the sentence that says what it is a number of."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from scipy import stats

from tacit._types import Floats

#: Of every interval.
CONFIDENCE = 0.95
_Z = float(stats.norm.ppf(0.5 + CONFIDENCE / 2))


@dataclass(frozen=True)
class Estimate:
    """An estimate of a reward per round, with a 95 % interval; no number at all where there was nothing to go by."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    rows: int  #: rows of the log that had a say
    interval: str  #: how the interval was made
    of: str  #: what is estimated

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


def nothing(name: str, of: str) -> Estimate:
    """The estimate where no row had a say."""
    return Estimate(name, None, None, None, 0, "none", of)


def from_influence(name: str, value: float, influence: Floats, rows: int, interval: str, of: str) -> Estimate:
    """value ± z·sd(influence)/√n: the normal interval of an estimate that is a mean, or nearly one.

    `influence` holds by how much each row moves the estimate, with mean zero. No claim is made for a handful of rows.
    """
    count = len(influence)
    reach = _Z * float(influence.std(ddof=1)) / math.sqrt(count) if count > 1 else math.inf
    low, high = (None, None) if math.isinf(reach) else (value - reach, value + reach)
    return Estimate(name, value, low, high, rows, interval, of)


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The interval of a share.

        (p + z²/2n ± z·√(p(1 − p)/n + z²/4n²)) / (1 + z²/n)

    Wilson (1927). Unlike p ± z·√(p(1 − p)/n) it says something sensible when nothing, or everything, succeeded.
    """
    share, square = successes / trials, _Z * _Z
    middle = share + square / (2 * trials)
    reach = _Z * math.sqrt(share * (1 - share) / trials + square / (4 * trials * trials))
    scale = 1 + square / trials
    return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)


def student(variances: tuple[float, ...], degrees: tuple[float, ...]) -> float:
    """Half the length of the interval whose variance is a sum of estimated parts.

    A part with few degrees of freedom lengthens it: t with (Σ v)²/Σ(v²/k) of them (Satterthwaite 1946).
    """
    total = sum(variances)
    if total == 0:
        return 0.0
    freedom = total * total / sum(part * part / each for part, each in zip(variances, degrees, strict=True))
    return float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom)) * math.sqrt(total)
