"""The numbers of the local paper, one function each: scales of gradients, the published noise and widths.

"Improved rate for Locally Differentially Private Linear Bandits" (under review). What is printed there and cannot be
right is read as in docs/errata.md.
"""

from __future__ import annotations

import math

from tacit.policies.online.params import TheoryWidth

#: The clip of gradients and the first step of descent, in units of the typical gradient: decision 0013.
CLIP, STEP = 3.0, 6.0


def published_scale(epsilon: float, delta: float, size: float) -> float:
    """σ = 2B·√(2 ln(1.25/δ))/ε, B the larger of the bounds on ‖x‖ and |y|; the paper has B = 1.

    Theorem 3.2. It prices action and reward apart, with a formula that is proved for ε < 1: what it truly gives is
    worked out by the accountant.
    """
    return 2 * size * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def typical_gradient(action: float, reward: float, scale: float, noisy: int, radius: float) -> float:
    """2·√(L² + d′σ²)·√(Y² + σ² + σ²D²): the root-mean-square size of a gradient, whatever the data are.

    d′ is the number of coordinates that are noised.
    """
    return 2 * math.hypot(action, scale * math.sqrt(noisy)) * math.sqrt(reward**2 + scale**2 * (1 + radius**2))


def published_clip(scale: float, perturbation: float, radius: float, horizon: int, failure: float) -> float:
    """G of Corollary C.1, for ‖x‖ ≤ 1 and |y| ≤ 1, with its unspecified constant C set to 1:

        2√(2λ)·(2Dσ + 2σ + DΔ + Δ) + 2λ·(2DΔ² + 4DΔσ + 2Δσ + 2Dσ² + 2σ² + Dσ²) + 2D + 2,   λ = ln(2T/α).

    It lacks the dimension that its own events need (docs/errata.md): no bound on a gradient follows from it.
    """
    log = math.log(2 * horizon / failure)
    s, extra, d = scale, perturbation, radius
    linear = 2 * d * s + 2 * s + d * extra + extra
    square = 2 * d * extra**2 + 4 * d * extra * s + 2 * extra * s + 2 * d * s**2 + 2 * s**2 + d * s**2
    return 2 * math.sqrt(2 * log) * linear + 2 * log * square + 2 * d + 2


def theory_width(
    *,
    clip: float,
    curvature: float,
    perturbation: float,
    radius: float,
    noise_level: float,
    epsilon: float,
    delta: float,
    horizon: int,
    failure: float,
) -> TheoryWidth:
    """β² = M_N + K_N + D² of Theorem C.2 and Lemma 3.3, with μ = 2·curvature, curvature = λ_min + Δ²:

        M_N = (40GD + 18G²/μ)·(2 ln(√3(½ log2 N + 3)) + 1 + ln N) + 32G² ln(1/α)/μ,   S_N = 2M_N/μ,
        K_N = DΔ² ln(T/α)·√(N·S_N) + (R + D√ln(1/δ)/ε + DΔ)² ln(T/α) + (ln(1/δ)/ε² + Δ²)·ln(T/α)·S_N.

    As printed, with the lemma's "sufficiently large" constant set to 1; D² for ‖θ*‖², which the lemma leaves out. With
    constants that are not known nothing is proved of these numbers.
    """
    mu, extra, log = 2 * curvature, perturbation, math.log(horizon / failure)
    middle = noise_level + radius * math.sqrt(math.log(1 / delta)) / epsilon + radius * extra
    return TheoryWidth(
        used=1,
        regret_slope=40 * clip * radius + 18 * clip**2 / mu,
        regret_offset=32 * clip**2 * math.log(1 / failure) / mu,
        distance=2 / mu,
        cross=radius * extra**2 * log,
        fixed=middle**2 * log + radius**2,
        squares=(math.log(1 / delta) / epsilon**2 + extra**2) * log,
    )


NO_THEORY = TheoryWidth(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def practical_growth(multiplier: float, noise_level: float, scale: float, radius: float, dim: int) -> float:
    """c(R + σ + Dσ)·√d, the factor of √ln(1 + t) in the practical width.

    The middle term of K_N with σ in place of √ln(1/δ)/ε and d·ln t in place of ln(T/α); the rest of β is left out. No
    coverage is proved: a heuristic.
    """
    return multiplier * (noise_level + scale + radius * scale) * math.sqrt(dim)
