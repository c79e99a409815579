"""Kernels as plain Python: the same arms and the same views, to the bit where no library computes in them."""

import os
import subprocess
import sys

import pytest

from tests.kernel import plain


@pytest.fixture(scope="module")
def uncompiled():
    return plain.uncompiled("tests.kernel.plain")


def test_every_example_plays_the_same_without_a_compiler(uncompiled):
    compiled = plain.everything()
    assert compiled.keys() == uncompiled.keys()
    assert len(compiled) > 50
    assert [name for name in compiled if not plain.same(name, compiled[name], uncompiled[name])] == []


def test_nothing_is_compiled_then(tmp_path):
    """A debugger stops in a kernel only if the kernel is Python."""
    script = (
        "from tacit import JointLinUCB, _kernel\n"
        "from tacit.core.round import learn_checked\n"
        "learner = JointLinUCB(dim=2, epsilon=1, delta=1e-6).start(seed=1)\n"
        "learner.learn([1.0, 0.0], 1.0)\n"
        "print(_kernel.PLAIN, hasattr(learn_checked, 'overloads'), len(list(_kernel.cache_directory().rglob('*.nbc'))))"
    )
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "TACIT_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["True", "False", "0"]
