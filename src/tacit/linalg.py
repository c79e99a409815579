"""Small dense linear algebra as kernels.

Loops run along rows, so that the compiler can vectorise them without reordering a sum. Symmetric matrices travel
*packed*: the upper triangle, row by row. Matrices are small here (d of 2 to 100); only the whitening of many columns
is worth BLAS, and only from `BLAS_FROM` on (`make bench` measures the crossing).
"""

from __future__ import annotations

import math

import numpy as np

from tacit._kernel import kernel, library_kernel
from tacit._types import Floats

#: From this dimension on, many columns are whitened by BLAS.
BLAS_FROM = 40
#: A product of pivots is folded into the logarithm before it can overflow.
_FOLD = 1e100
#: Jacobi's method squares what is left with each sweep near the end: this many are never used up.
_SWEEPS = 60
#: What may be left beside the diagonal, relative to it.
_LEFT = 1e-14


def packed_size(dim: int) -> int:
    """How many numbers the upper triangle of a d×d matrix has."""
    return dim * (dim + 1) // 2


@kernel
def block_size(dim: int, beside: int = 0) -> int:
    """How many numbers a packed d×d matrix and a d-vector have together, and columns beside the matrix, if any."""
    return dim * (dim + 3) // 2 + dim * beside


@kernel
def add_outer(x: Floats, y: float, dim: int, packed: Floats, beside: int = 0) -> None:
    """packed += (upper triangle of x xᵀ, x·y) for the first d numbers of x; each row of the triangle goes on with what
    they make with the next few, where a block has columns `beside` it."""
    at = 0
    for i in range(dim):
        for j in range(i, dim + beside):
            packed[at] += x[i] * x[j]
            at += 1
    for i in range(dim):
        packed[at + i] += x[i] * y


@kernel
def cholesky(matrix: Floats) -> bool:
    """Overwrite the upper triangle of a symmetric V with U, V = UᵀU. False if a pivot is not positive and finite."""
    dim = matrix.shape[0]
    for j in range(dim):
        pivot = matrix[j, j]
        if not (pivot > 0.0 and pivot < math.inf):
            return False
        root = math.sqrt(pivot)
        inverse = 1.0 / root
        matrix[j, j] = root
        for k in range(j + 1, dim):
            matrix[j, k] *= inverse
        for i in range(j + 1, dim):
            factor = matrix[j, i]
            for k in range(i, dim):
                matrix[i, k] -= factor * matrix[j, k]
    return True


@kernel
def invert_transpose(upper: Floats, out: Floats) -> None:
    """out = U⁻ᵀ, lower triangular (its upper triangle is not touched): the matrix that whitens, ‖out·x‖² = xᵀV⁻¹x."""
    dim = upper.shape[0]
    for row in range(dim):
        for column in range(row):
            out[row, column] = 0.0
        for k in range(row):
            factor = upper[k, row]
            for column in range(k + 1):
                out[row, column] -= factor * out[k, column]
        inverse = 1.0 / upper[row, row]
        for column in range(row):
            out[row, column] *= inverse
        out[row, row] = inverse


@kernel
def lower_root(matrix: Floats, out: Floats) -> bool:
    """out = W, lower triangular, with WᵀW = the symmetric matrix, which is overwritten: ‖Wx‖² = xᵀ(matrix)x. False if a
    pivot is not positive and finite. Cholesky's method from the last row on; the upper triangle of `out` is untouched.
    """
    dim = matrix.shape[0]
    for j in range(dim - 1, -1, -1):
        pivot = matrix[j, j]
        if not (pivot > 0.0 and pivot < math.inf):
            return False
        root = math.sqrt(pivot)
        inverse = 1.0 / root
        for k in range(j):
            out[j, k] = matrix[j, k] * inverse
        out[j, j] = root
        for i in range(j):
            factor = out[j, i]
            for k in range(i + 1):
                matrix[i, k] -= factor * out[j, k]
    return True


@kernel
def log_determinant(upper: Floats) -> float:
    """ln det V = 2·Σ ln U_ii, with few logarithms."""
    total, product = 0.0, 1.0
    for i in range(upper.shape[0]):
        product *= upper[i, i]
        if not (1.0 / _FOLD < product < _FOLD):
            total += math.log(product)
            product = 1.0
    return 2.0 * (total + math.log(product))


@kernel
def dot(left: Floats, right: Floats) -> float:
    """<left, right>."""
    total = 0.0
    for i in range(left.shape[0]):
        total += left[i] * right[i]
    return total


@kernel
def shrink_to_ball(x: Floats, radius: float) -> None:
    """The nearest point of the ball around zero: x itself, or x shortened to the radius."""
    length = math.sqrt(dot(x, x))
    if length > radius:
        shrink = radius / length
        for i in range(x.shape[0]):
            x[i] *= shrink


@kernel
def symmetric_product(matrix: Floats, vector: Floats, out: Floats) -> None:
    """out = matrix·vector for a symmetric matrix that is stored whole, two rows in a pass."""
    dim = matrix.shape[0]
    i = dim % 2
    if i == 1:
        a = vector[0]
        for k in range(dim):
            out[k] = a * matrix[0, k]
    else:
        for k in range(dim):
            out[k] = 0.0
    while i + 2 <= dim:
        a, b = vector[i], vector[i + 1]
        for k in range(dim):
            out[k] += a * matrix[i, k] + b * matrix[i + 1, k]
        i += 2


@kernel
def solve(upper: Floats, vector: Floats) -> None:
    """Overwrite `vector` with V⁻¹·vector, V = UᵀU."""
    dim = upper.shape[0]
    for i in range(dim):
        value = vector[i] / upper[i, i]
        vector[i] = value
        for k in range(i + 1, dim):
            vector[k] -= value * upper[i, k]
    for i in range(dim - 1, -1, -1):
        value = vector[i]
        for k in range(i + 1, dim):
            value -= upper[i, k] * vector[k]
        vector[i] = value / upper[i, i]


@kernel
def add_outer_to_inverse(inverse: Floats, x: Floats, weight: float, out: Floats) -> float:
    """Make V⁻¹, stored whole, (V + w·x xᵀ)⁻¹; `out` becomes the old V⁻¹x, and the factor k that is returned makes k·out
    the new one. w ≥ 0.

    V⁻¹ − w·k·(V⁻¹x)(V⁻¹x)ᵀ with k = 1/(1 + w·xᵀV⁻¹x) (Sherman and Morrison 1950). Both triangles are rounded alike, so
    the inverse stays symmetric to the bit. Rounding errors do not pile up: an update shrinks those of the past along x.
    """
    dim = inverse.shape[0]
    symmetric_product(inverse, x, out)
    share = 1.0 / (1.0 + weight * dot(x, out))
    factor = weight * share
    for i in range(dim):
        a = out[i]
        for k in range(dim):
            inverse[i, k] -= factor * (a * out[k])
    return share


@kernel
def inner_products(vector: Floats, columns: Floats, out: Floats) -> None:
    """out[k] = <vector, column k>."""
    dim, size = columns.shape
    first = vector[0]
    for k in range(size):
        out[k] = first * columns[0, k]
    for i in range(1, dim):
        weight = vector[i]
        for k in range(size):
            out[k] += weight * columns[i, k]


@library_kernel
def _multiply(left: Floats, right: Floats, out: Floats) -> None:
    np.dot(left, right, out)


@kernel
def whitened_norms(whiten: Floats, columns: Floats, out: Floats, scratch: Floats, product: Floats) -> None:
    """out[k] = ‖W·column k‖², W lower triangular. `product` is d×K from `BLAS_FROM` on, and not used below."""
    dim, size = columns.shape
    if dim >= BLAS_FROM:
        _multiply(whiten, columns, product)
        for k in range(size):
            out[k] = 0.0
        for row in range(dim):
            for k in range(size):
                out[k] += product[row, k] * product[row, k]
        return
    w = whiten[0, 0]
    for k in range(size):
        value = w * columns[0, k]
        out[k] = value * value
    for row in range(1, dim):
        # Two columns of W in a pass: half the loads and stores of the running sum.
        a, b = whiten[row, 0], whiten[row, 1]
        if row == 1:
            for k in range(size):
                value = a * columns[0, k] + b * columns[1, k]
                out[k] += value * value
            continue
        for k in range(size):
            scratch[k] = a * columns[0, k] + b * columns[1, k]
        i = 2
        while i + 2 <= row:
            a, b = whiten[row, i], whiten[row, i + 1]
            for k in range(size):
                scratch[k] += a * columns[i, k] + b * columns[i + 1, k]
            i += 2
        a = whiten[row, i]
        if i == row:
            for k in range(size):
                value = scratch[k] + a * columns[i, k]
                out[k] += value * value
        else:
            b = whiten[row, i + 1]
            for k in range(size):
                value = scratch[k] + (a * columns[i, k] + b * columns[i + 1, k])
                out[k] += value * value


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
