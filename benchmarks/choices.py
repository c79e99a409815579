"""The measurements behind three decisions: random numbers, hand-over of a generator, loops or BLAS.

python -m benchmarks.choices
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from tacit import linalg
from tacit._kernel import kernel
from tacit._types import Floats
from tacit.noise import fill_normals, stream


@kernel
def _by_stream(source: Any, out: Floats, repeats: int) -> None:
    for _ in range(repeats):
        fill_normals(source, out)


@kernel
def _by_generator(source: Any, out: Floats, repeats: int) -> None:
    for _ in range(repeats):
        for i in range(out.shape[0]):
            out[i] = source.standard_normal()


@kernel
def _by_loops(whiten: Floats, columns: Floats, out: Floats, scratch: Floats) -> None:
    # The text of `linalg.whitened_norms` below BLAS_FROM, one row of W at a time.
    dim, size = columns.shape
    for k in range(size):
        out[k] = 0.0
    for row in range(dim):
        for k in range(size):
            scratch[k] = whiten[row, 0] * columns[0, k]
        for i in range(1, row + 1):
            weight = whiten[row, i]
            for k in range(size):
                scratch[k] += weight * columns[i, k]
        for k in range(size):
            out[k] += scratch[k] * scratch[k]


def _best(task: Callable[[], object], repeats: int = 7) -> float:
    """Seconds of the fastest call, after one that compiles."""
    task()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        task()
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    """Measure and print."""
    out, generator, source = np.zeros(100), np.random.default_rng(1), stream(1)
    for name, task in (
        ("our stream", lambda: _by_stream(source, out, 10_000)),
        ("numpy's Generator", lambda: _by_generator(generator, out, 10_000)),
    ):
        print(f"a normal number inside a kernel, {name}: {_best(task) / 1e6 * 1e9:.1f} ns")
    for name, task in (
        ("our stream", lambda: _by_stream(source, out, 0)),
        ("numpy's Generator", lambda: _by_generator(generator, out, 0)),
    ):
        print(f"an empty call from Python, {name}: {_best(task, 200) * 1e6:.1f} µs")
    rng = np.random.default_rng(2)
    with threadpool_limits(1):
        for dim in (5, 16, 32, 64):
            arms = dim * dim
            whiten, columns = np.tril(rng.standard_normal((dim, dim))), rng.standard_normal((dim, arms))
            norms, scratch, product = np.zeros(arms), np.zeros(arms), np.zeros((dim, arms))

            def blas(w: Floats = whiten, c: Floats = columns, n: Floats = norms, p: Floats = product) -> None:
                linalg._multiply(w, c, p)
                np.einsum("ik,ik->k", p, p, out=n)

            def loops(w: Floats = whiten, c: Floats = columns, n: Floats = norms, s: Floats = scratch) -> None:
                _by_loops(w, c, n, s)

            def ours(
                w: Floats = whiten, c: Floats = columns, n: Floats = norms, s: Floats = scratch, p: Floats = product
            ) -> None:
                linalg.whitened_norms(w, c, n, s, p)

            times = ", ".join(
                f"{name} {_best(task) * 1e6:.1f}"
                for name, task in (("loops", loops), ("BLAS", blas), ("as shipped", ours))
            )
            print(f"squared norms at d = {dim}, K = {arms}, µs: {times}")


if __name__ == "__main__":
    main()
