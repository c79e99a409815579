"""The smallest eigenvalue of a small symmetric matrix, from below, as a kernel."""

from __future__ import annotations

import math

from tacit._kernel import kernel
from tacit._types import Floats

#: Jacobi's method squares what is left with each sweep near the end: this many are never used up.
_SWEEPS = 60
#: What may be left beside the diagonal, relative to it.
_LEFT = 1e-14


@kernel
def smallest_eigenvalue(matrix: Floats) -> float:
    """A lower bound on the smallest eigenvalue of a symmetric matrix that is stored whole, tight to about 1e-14 of the
    largest; the matrix is destroyed.

    Jacobi rotations (Golub and Van Loan, Section 8.5). Eigenvalues are within the Frobenius norm of what is left beside
    the diagonal from the diagonal (Weyl), and that norm is subtracted: a confidence set divides by this number.
    """
    dim = matrix.shape[0]
    left = _beside(matrix)
    for _ in range(_SWEEPS):
        if left <= _LEFT * _along(matrix):
            break
        for p in range(dim - 1):
            for q in range(p + 1, dim):
                if matrix[p, q] != 0.0:
                    _rotate(matrix, p, q)
        left = _beside(matrix)
    least = matrix[0, 0]
    for i in range(1, dim):
        least = min(least, matrix[i, i])
    return float(least - left)


@kernel
def _rotate(matrix: Floats, p: int, q: int) -> None:
    """Make the entry (p, q) zero by turning the plane of p and q."""
    cotangent = (matrix[q, q] - matrix[p, p]) / (2.0 * matrix[p, q])
    tangent = 1.0 / (abs(cotangent) + math.sqrt(cotangent * cotangent + 1.0))
    if cotangent < 0.0:
        tangent = -tangent
    cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    moved = tangent * matrix[p, q]
    for k in range(matrix.shape[0]):
        if k != p and k != q:
            a, b = matrix[k, p], matrix[k, q]
            matrix[k, p] = matrix[p, k] = cosine * a - sine * b
            matrix[k, q] = matrix[q, k] = sine * a + cosine * b
    matrix[p, p] -= moved
    matrix[q, q] += moved
    matrix[p, q] = matrix[q, p] = 0.0


@kernel
def _beside(matrix: Floats) -> float:
    """The Frobenius norm of all that is not on the diagonal."""
    total = 0.0
    for i in range(matrix.shape[0]):
        for j in range(i):
            total += matrix[i, j] * matrix[i, j]
    return math.sqrt(2.0 * total)


@kernel
def _along(matrix: Floats) -> float:
    """The length of the diagonal."""
    total = 0.0
    for i in range(matrix.shape[0]):
        total += matrix[i, i] * matrix[i, i]
    return math.sqrt(total)
