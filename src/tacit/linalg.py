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


def packed_size(dim: int) -> int:
    """How many numbers the upper triangle of a d×d matrix has."""
    return dim * (dim + 1) // 2


@kernel
def add_outer(x: Floats, y: float, dim: int, packed: Floats) -> None:
    """packed += (upper triangle of x xᵀ, x·y)."""
    at = 0
    for i in range(dim):
        for j in range(i, dim):
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
