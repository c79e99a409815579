"""The exact privacy curve of a Gaussian mechanism, and its inverses.

A mechanism is μ-GDP when telling two neighbouring inputs apart from its output is no easier than telling N(0, 1) from
N(μ, 1). That is the same as (ε, δ(ε))-DP for every ε at once, with

    δ(ε) = Φ(μ/2 − ε/μ) − e^ε · Φ(−μ/2 − ε/μ)

Dong, Roth and Su (2022), Corollary 1; Balle and Wang (2018), Theorem 8. The curve is an equality for one Gaussian
release, so nothing here is a bound that could be improved. It says nothing about mechanisms that are not Gaussian.

Every inverse answers on the safe side: what it returns satisfies the curve as this module evaluates it. The evaluation
itself agrees with 500-digit arithmetic to 1e-12 relative in ln δ for 1e-4 ≤ ε ≤ 1e3 and 1e-300 ≤ δ ≤ 0.5.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable

from scipy.special import erfcx, ndtri  # type: ignore[import-untyped,unused-ignore]

from tacit._validate import positive, probability
from tacit.errors import BadInput

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
_ROOT_HALF_PI = math.sqrt(math.pi / 2)
_ROOT_TWO = math.sqrt(2)
_SMALLEST = math.ulp(0.0)
_LARGEST_MU = 1e160


def cost(name: str, value: object) -> float:
    """A number ≥ 0 as a float; 0 (nothing released) and ∞ (released exactly) are both meaningful."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise BadInput(f"Expected {name} to be a number, got {name}={value!r}.")
    number = float(value)
    if not number >= 0:
        raise BadInput(f"Expected {name} >= 0 (0: nothing released, inf: released exactly), got {name}={value!r}.")
    return number


def log_delta(mu: float, epsilon: float) -> float:
    """ln δ(ε) of a μ-GDP mechanism; −∞ for μ = 0 and 0 for μ = ∞.

    With x = ε/μ − μ/2, y = ε/μ + μ/2 and the Mills ratio R(t) = Φ(−t)/φ(t), the identity φ(x) = e^ε φ(y) gives
    δ = φ(x)·(R(x) − R(y)): no e^ε that could overflow.
    """
    return _log_delta(cost("mu", mu), positive("epsilon", epsilon))


def delta_at(mu: float, epsilon: float) -> float:
    """The smallest δ for which a μ-GDP mechanism is (ε, δ)-DP. Underflows to 0 below 1e-323: see `log_delta`."""
    return math.exp(log_delta(mu, epsilon))


def mu_for(epsilon: float, delta: float) -> float:
    """The largest μ whose curve passes under (ε, δ): `delta_at(mu_for(ε, δ), ε) <= δ`."""
    epsilon, delta = positive("epsilon", epsilon), _valid_delta(delta)
    limit = math.log(delta)

    def private(mu: float) -> bool:
        value = _log_delta(mu, epsilon)
        return value <= limit and math.exp(value) <= delta

    # The smallest double is private for every pair of doubles, 1e160 for none.
    return _boundary(_SMALLEST, _LARGEST_MU, private)


def epsilon_at(mu: float, delta: float) -> float:
    """The smallest ε ≥ 0 for which a μ-GDP mechanism is (ε, δ)-DP: `delta_at(μ, epsilon_at(μ, δ)) <= δ`.

    It is 0 when δ alone covers the mechanism, 2Φ(μ/2) − 1 ≤ δ, and ∞ for μ = ∞.
    """
    mu, delta = cost("mu", mu), _valid_delta(delta)
    if math.erf(mu / math.sqrt(8)) <= delta:
        return 0.0
    limit = math.log(delta)

    def private(epsilon: float) -> bool:
        value = _log_delta(mu, epsilon)
        return value <= limit and math.exp(value) <= delta

    # δ(ε) < Φ(−x) ≤ exp(−x²/2), so x = sqrt(2 ln 1/δ) is enough in exact arithmetic.
    enough = mu * (mu / 2 + math.sqrt(-2 * limit))
    while math.isfinite(enough) and not private(enough):
        enough *= 2
    if not math.isfinite(enough):
        return math.inf
    return _SMALLEST if private(_SMALLEST) else _boundary(enough, _SMALLEST, private)


def power(mu: float, false_alarm: float) -> float:
    """Φ(Φ⁻¹(a) + μ): the best attacker's probability of detection when it may raise false alarms at rate a.

    One minus the trade-off function of Dong, Roth and Su (2022). Exact for one Gaussian release, an
    upper bound for everything that is μ-GDP.
    """
    shift, rate = cost("mu", mu), probability("false_alarm", false_alarm)
    if shift == 0:
        return rate  # guessing, exactly
    quantile = float(ndtri(rate))
    return 0.5 * math.erfc(-(quantile + shift) / _ROOT_TWO)


def _log_delta(mu: float, epsilon: float) -> float:
    if mu == 0:
        return -math.inf
    if math.isinf(mu):
        return 0.0
    ratio = epsilon / mu
    x, y = ratio - mu / 2, ratio + mu / 2
    if math.isinf(x):
        return -math.inf
    log_density = -x * x / 2 - _HALF_LOG_TWO_PI
    if mu < 0.02 * max(1.0, x):
        # R(x) − R(y) would cancel: integrate −R′(t) = 1 − t·R(t) over [x, y] instead. Three Gauss–Legendre points are
        # exact to 1e-13 on an interval this narrow.
        step = mu / 2 * math.sqrt(0.6)
        centre = _log_slope(ratio)
        if math.isinf(centre):
            return -math.inf
        sides = math.exp(_log_slope(ratio - step) - centre) + math.exp(_log_slope(ratio + step) - centre)
        return log_density + math.log(mu) + centre + math.log((8 + 5 * sides) / 18)
    if x > 0:
        return log_density + math.log(_mills(x) - _mills(y))
    # δ may be close to 1 here: 1 − δ = φ(x)·(R(−x) + R(y)).
    return math.log1p(-math.exp(log_density) * (_mills(-x) + _mills(y)))


def _mills(t: float) -> float:
    """R(t) = Φ(−t)/φ(t), for t ≥ 0 or a little below."""
    return _ROOT_HALF_PI * float(erfcx(t / _ROOT_TWO))


def _log_slope(t: float) -> float:
    """ln(1 − t·R(t)); the asymptotic series 1/t² − 3/t⁴ + 15/t⁶ − … where the subtraction would lose digits."""
    if t < 50:
        return math.log1p(-t * _mills(t))
    u = 1 / t / t
    return -2 * math.log(t) + math.log1p(-3 * u * (1 - 5 * u * (1 - 7 * u * (1 - 9 * u))))


def _boundary(inside: float, outside: float, holds: Callable[[float], bool]) -> float:
    """The double next to where `holds` stops holding between `inside` (it holds) and `outside` (it does not).

    Bisection of the logarithm until the two are within a factor of 2, then of the number itself, down to neighbouring
    doubles. What is returned has been tested to hold.
    """
    while True:
        low, high = min(inside, outside), max(inside, outside)
        middle = math.sqrt(low) * math.sqrt(high) if high > 2 * low else low + (high - low) / 2
        if not low < middle < high:
            return inside
        if holds(middle):
            inside = middle
        else:
            outside = middle


def _valid_delta(delta: object) -> float:
    return probability("delta", delta, hint="A Gaussian release has no delta of 0: choose a small one, such as 1e-6.")
