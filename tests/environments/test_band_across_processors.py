"""One seed is one world on every processor: tables that decide a draw come from the C library, not from NumPy."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy._core import _multiarray_umath as found

TABLES = """
import hashlib, tacit
from tacit.environments.band import band
import numpy as np
config = tacit.JointLinUCB(dim=5, epsilon=1.0, delta=1e-6, width="theory")
share = 0.01 / np.arange(1.0, 1000.0)
parts = [*band(5, -0.75, 0.65)[1:], *config._regulariser(np.arange(1.0, 1000.0), 1 / share)]
parts += [config.plan().params.estimate.log_term]
print(hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest())
print(hashlib.sha256(np.log(np.linspace(0.01, 2, 100_000)).tobytes()).hexdigest())
"""


def hashes(**environment: str) -> list[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TABLES],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()


def test_tables_do_not_depend_on_the_vectors_a_processor_has() -> None:
    wide = [name for name in found.__cpu_dispatch__ if "512" in name or name == "X86_V4"]
    if not any(found.__cpu_features__.get(name) for name in wide):
        pytest.skip("this processor has no AVX-512, so there is nothing to switch off")
    with_vectors, without = hashes(), hashes(NPY_DISABLE_CPU_FEATURES=" ".join(wide))
    assert with_vectors[0] == without[0]
    assert with_vectors[1] != without[1], f"NumPy {np.__version__} rounds alike: the test shows nothing"
