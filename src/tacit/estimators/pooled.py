"""The estimate of the arms model: how far arms and features can be told apart is learned from all arms together.

One arm's block is little under privacy noise. What all blocks have in common is known far better, and says how much of
an arm to believe. With G and v the published matrix and vector of an arm, τ and τ_v the deviations of their noise, σ
that of rewards, p features and a constant coordinate as the last one:

1. *What arms have in common*: c, the mean of the arms' v/G in the last coordinate, each with weight (G/(G + λ))², λ the
   least ridge κτ√(p+1) + least: arms with many rows count alike, and those without hardly. It is the mean reward of an
   arm. r = v − G·(0, c) is what an arm has besides.
2. *How much there is to learn*: with g the mean eigenvalue of an arm's features, E‖r_f‖² = ‖G θ_f‖² + p·n_f for a known
   n_f = τ_v² + τ²c² + σ²g, so that with weights w = 1/(g + λ)² per arm

       s_f² = (Σ w(‖r_f‖² − p·n_f) + 2√(2p Σ w²n_f²))₊ / Σ w(‖G_f‖² − p(p+1)τ²)

   is about the mean square of a coefficient of a feature, and two deviations more: too much shrinking costs more than
   too little, and an arm that was not shown may be any. For σ² stands what rewards of that mean can vary at most,
   (B + m)(B − m) with m the mean about the middle of the interval. The same of the last coordinate gives s_c².
3. *Ridges*: λ_f = max(λ, (τ_v² + τ²c²)/(g·s_f²)), about the least squared error where privacy noise is all there is,
   and never less than what the noise of the matrix needs. λ_c likewise, with 2τ²c².
4. *What an arm without rows is worth*: c and a deviation of what differs between rows, up to the middle of the interval
   of rewards. With clicks of 2 to 20 % that is a popular arm, and no arm with a click of every second.

    θ̃ = t + H⁻¹(v − G₊t),   H = G₊ + diag(λ_f, …, λ_f, λ_c),   t = (0, …, 0, what an arm is worth),

G₊ with eigenvalues clipped at 0, and a spread as in `noise_aware`. Where there is much to learn, or little noise, s is
large, ridges are the least ones and t is the middle: nothing is pooled. No theorem on regret is claimed. Everything is
computed from what was published, so the promise does not depend on it. Constants: docs/decisions/0028-arms.md.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel, library_kernel
from tacit._types import Floats
from tacit.estimators.by_arm import ArmsView, fit_arms
from tacit.estimators.noise_aware import NoiseAware

#: Below these nothing is told apart: sums of squares, and what they are divided by.
_NONE, _LEAST = 1e-12, 1e-9
#: How many deviations of its noise are added to what there seems to be to learn.
CAUTION = 2.0
#: How many deviations of what differs between rows an arm without rows is presumed better than the mean.
HOPE = 1.0


class Pooled(NamedTuple):
    """The numbers of the estimate. Arrays have one entry per stage; the last one serves all later ones."""

    unscale: float  # 1/ζ
    ridge: Floats  # κτ√(p+1) + least
    reward_variance: float  # σ²
    parameter_variance: Floats  # τ_v² + S²τ²
    multiplier: float  # κ₁
    matrix_variance: Floats  # τ²
    vector_variance: Floats  # τ_v²
    constant: float  # the last coordinate of every row, b·L
    length: float  # of the features of a row, √(1 − b²)·L
    reach: float  # B: half the interval of rewards


def pooled(
    own: NoiseAware, *, matrix: Floats | float, vector: Floats, share: float, norm: float, reach: float
) -> NoiseAware | Pooled:
    """For sums whose entries have noise of standard deviations `matrix`, τ, and `vector`, τ_v, of rows no longer than
    `norm`, whose constant coordinate has this `share` of their length. It is 0 without one, or where contexts are not
    centred: then nothing is pooled, since the mean of contexts would stand for what arms have in common."""
    if share == 0.0:
        return own
    return Pooled(
        *own,
        matrix_variance=np.broadcast_to(matrix, vector.shape) ** 2,
        vector_variance=vector**2,
        constant=share * norm,
        length=math.sqrt(1 - share**2) * norm,
        reach=float(reach),
    )


@implements(fit_arms, Pooled)
@kernel
def _fit_pooled(estimate: Pooled, published: Floats, stage: int, view: ArmsView) -> int:
    at = min(stage, estimate.ridge.shape[0] - 1)
    pool(
        published,
        estimate.unscale,
        estimate.ridge[at],
        estimate.reward_variance,
        estimate.parameter_variance[at],
        estimate.matrix_variance[at],
        estimate.vector_variance[at],
        estimate.constant,
        estimate.length,
        estimate.reach,
        view,
    )
    for arm in range(view.width.shape[0]):
        view.width[arm] = estimate.multiplier
    return 0  # clipping is what is meant, and no repair


@library_kernel
def pool(
    published: Floats,
    unscale: float,
    ridge: float,
    reward_variance: float,
    parameter_variance: float,
    matrix_variance: float,
    vector_variance: float,
    constant: float,
    length: float,
    reach: float,
    view: Any,
) -> None:
    """Write θ̃ and M of each arm."""
    arms, width = view.theta.shape
    features, last, size = width - 1, width - 1, linalg.block_size(width)
    # What arms have in common. The last entries of a block are its vector's; before them is the last diagonal entry.
    total, weights = 0.0, 0.0
    for arm in range(arms):
        corner = max(published[(arm + 1) * size - width - 1], 0.0)
        weight = (corner + ridge) ** -2
        total += published[(arm + 1) * size - 1] * unscale * corner * weight
        weights += corner * corner * weight
    most = reach / constant
    common = max(-most, min(most, total / max(weights, _LEAST)))

    # No reward in an interval with this mean varies more (Bhatia and Davis 2000); clicks vary as much.
    mean_reward = common * constant
    at_most = min(reward_variance, (reach + mean_reward) * (reach - mean_reward))

    # How much there is to learn: squares of what arms have besides, and of what it is read through.
    of_noise = vector_variance + matrix_variance * common * common
    of_corner = vector_variance + 2.0 * matrix_variance * common * common
    gain_f, gain_c, doubt_f, doubt_c, read_f, read_c = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for arm in range(arms):
        at, vector = arm * size, (arm + 1) * size - width
        square_f, square_g, trace, corner = 0.0, 0.0, 0.0, 0.0
        for i in range(width):
            for j in range(i, width):
                entry = published[at]
                at += 1
                if j < last:
                    square_g += entry * entry * (1.0 if i == j else 2.0)
                    trace += entry if i == j else 0.0
                elif i < last:
                    square_f += (published[vector + i] * unscale - entry * common) ** 2
                else:
                    corner = max(entry, 0.0)
                    square_c = (published[vector + i] * unscale - entry * common) ** 2
        mean = max(trace / max(features, 1), 0.0)
        noise_f, noise_c = of_noise + at_most * mean, of_corner + at_most * corner
        weight_f, weight_c = (mean + ridge) ** -2, (corner + ridge) ** -2
        gain_f += weight_f * (square_f - features * noise_f)
        gain_c += weight_c * (square_c - noise_c)
        doubt_f += (weight_f * noise_f) ** 2
        doubt_c += (weight_c * noise_c) ** 2
        read_f += weight_f * (square_g - features * (features + 1.0) * matrix_variance)
        read_c += weight_c * (corner * corner - 2.0 * matrix_variance)
    gain_f += CAUTION * math.sqrt(2.0 * features * doubt_f)
    gain_c += CAUTION * math.sqrt(2.0 * doubt_c)
    learn_f = max(gain_f, _NONE) / max(read_f, _LEAST)
    learn_c = max(gain_c, _NONE) / max(read_c, _LEAST)
    hope = HOPE * math.sqrt(learn_f * length * length + learn_c * constant * constant) / constant
    worth = min(common + hope, max(0.0, common))

    matrix, own = np.zeros((width, width)), np.zeros(width)
    floor = math.sqrt(matrix_variance) + _LEAST
    for arm in range(arms):
        at = arm * size
        trace = 0.0
        for i in range(width):
            for j in range(i, width):
                matrix[i, j] = matrix[j, i] = published[at]
                at += 1
            if i < last:
                trace += matrix[i, i]
        for i in range(width):
            own[i] = published[at + i] * unscale
        ridge_f = max(ridge, of_noise / (max(trace / max(features, 1), floor) * learn_f))
        ridge_c = max(ridge, of_corner / (max(matrix[last, last], floor) * learn_c))
        values, vectors = np.linalg.eigh(matrix)
        matrix[:] = np.dot(vectors * np.maximum(values, 0.0), vectors.T)
        for i in range(width):
            own[i] -= matrix[i, last] * worth
        for i in range(width):
            matrix[i, i] += ridge_f if i < last else ridge_c
        inverse = np.linalg.inv(matrix)
        view.theta[arm] = np.dot(inverse, own)
        view.theta[arm, last] += worth
        view.spread[arm] = reward_variance * inverse + parameter_variance * np.dot(inverse, inverse)
