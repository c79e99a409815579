"""How far replacing one person's action and reward can move that person's own report, before any noise.

An action is x = (v, c): a private part v of norm at most r, and public constants c that are the same for everybody.
A reward y lies in [low, high]. Each function is the exact supremum of the Euclidean distance between the reports of two
such pairs, one theorem each; the noise must be the same on every entry that is not made of constants alone, and those
count for nothing. Clipping to r and to [low, high] is the caller's part, on the device.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import product

from tacit._validate import positive, real
from tacit.errors import BadInput


def private_radius(action_norm: float, constants: Iterable[float]) -> float:
    """r = √(L² − Σ c_i²): what is left of the norm bound L for the private part of an action."""
    norm, taken = positive("action_norm", action_norm), _squared_length(constants)
    square = norm * norm - taken
    if not square > 0:
        raise BadInput(
            f"Expected constants shorter than action_norm={norm:g}, got constants of length {math.sqrt(taken):g}: "
            "nothing is left for the private coordinates. Declare a larger action_norm."
        )
    return math.sqrt(square)


def report_sensitivity(radius: float, reward_low: float, reward_high: float) -> float:
    """Δ of the report (x, y): Δ² = (2r)² + (high − low)².

    Proof: constants cancel, ‖v − w‖ ≤ 2r and |y − y'| ≤ high − low, and w = −v with y, y' at the two ends attains both.
    """
    radius, low, high = _bounds(radius, reward_low, reward_high)
    return math.hypot(2 * radius, high - low)


def gram_sensitivity(radius: float, reward_low: float, reward_high: float, constants: Iterable[float] = ()) -> float:
    """Δ of the report (upper triangle of x xᵀ, x·y). With c0² = Σ c_i²,

        Δ² = max over y, y' ∈ {low, high} of 2r⁴(1 − R²) + 2r²R|k| + r²(2c0² + y² + y'²) + c0²(y − y')²,
        k = c0² + y·y',   R = min(1, |k|/(2r²)).

    Proof. The upper triangle of a symmetric matrix is at most as long as the whole. With A = |v|², B = |w|² and ρ the
    cosine between them, the squared distance of two reports is at most

        f = A² + B² − 2ABρ² − 2√(AB)·ρk + A(c0² + y²) + B(c0² + y'²) + c0²(y − y')².

    Given the rest, f is the squared length of something linear in (y, y'), hence convex: the ends of the interval
    suffice. The best cosine has the sign of −k and size R = min(1, |k|/(2√(AB))). Where R < 1,
    f = A² + B² + k²/2 + A(c0² + y²) + B(c0² + y'²) + c0²(y − y')² grows with A and B. Where R = 1, 2√(AB) ≤ |k| and
    ∂f/∂A = 2(A − B) + |k|√(B/A) + c0² + y² ≥ 2(A − B) + 2B ≥ 0, and likewise for B. Hence A = B = r².

    Attained with two private coordinates or more: turn the plane of v and w until v vᵀ − w wᵀ is diagonal. With one
    private coordinate it is a bound. For r = 1, |y| ≤ 1 and no constants Δ² = 4.5, at an angle of 60° or 120°.
    """
    radius, low, high = _bounds(radius, reward_low, reward_high)
    area, public = radius * radius, _squared_length(constants)
    worst = 0.0
    for y, other in product((low, high), repeat=2):
        cross = abs(public + y * other)  # |k|
        cosine = min(1.0, cross / (2 * area))  # R
        worst = max(
            worst,
            2 * area * area * (1 - cosine * cosine)
            + 2 * area * cosine * cross
            + area * (2 * public + y * y + other * other)
            + public * (y - other) ** 2,
        )
    return math.sqrt(worst)


def row_sensitivity(length: float, reward: float) -> float:
    """L̃² of a row (z, y), ‖z‖ ≤ L and |ζy| ≤ β, in units of symmetric noise: √2·L̃² is how far replacing it moves
    (z zᵀ, √2·ζ·y·z) in the Frobenius norm, in the sums of one arm or of two.

    Proof: counters/sensitivity.md.
    """
    length, reward = positive("length", length), positive("reward", reward)
    return length**2 + reward**2 if reward <= length else 2 * length * reward


def _bounds(radius: float, reward_low: float, reward_high: float) -> tuple[float, float, float]:
    low, high = real("reward_low", reward_low), real("reward_high", reward_high)
    if not low < high:
        raise BadInput(f"Expected reward_low < reward_high, got reward_low={low!r}, reward_high={high!r}.")
    return positive("radius", radius), low, high


def _squared_length(constants: Iterable[float]) -> float:
    if isinstance(constants, str) or not isinstance(constants, Iterable):
        raise BadInput(f"Expected constants to be numbers such as (0.5,), got constants={constants!r}.")
    return math.fsum(real("constants", value) ** 2 for value in constants)
