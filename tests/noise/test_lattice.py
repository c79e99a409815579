"""Discrete Gaussians for the tape: whole numbers of the right law, from OpenDP, and a clear word where it is missing.

The numbers come from the operating system: each check rejects a right law once in 10⁹.
"""

import subprocess
import sys

import numpy as np
import pytest

from tacit.errors import BadInput, NoSecureSampler
from tacit.noise import discrete_gaussians, fill_normals, refill, tape
from tacit.noise import lattice as room
from tests.statistics import checks
from tests.statistics.checks import UNSEEDED_LEVEL

COUNT = 4000


def probabilities(scale, reach):
    """Of −reach, …, reach, with what lies beyond added to the ends."""
    far = np.arange(-60, 61)
    mass = np.exp(-(far**2) / (2 * scale**2))
    mass /= mass.sum()
    inside = mass[60 - reach : 60 + reach + 1].copy()
    inside[[0, -1]] += mass[: 60 - reach].sum()
    return inside


def fit(draws, scale):
    """Does a sample follow the discrete Gaussian of this scale? Pearson's χ² over 2·⌈2·scale⌉ + 1 values."""
    reach = int(np.ceil(2 * scale))
    observed = np.bincount((np.clip(draws, -reach, reach) + reach).astype(int), minlength=2 * reach + 1)
    return checks.counts(observed, probabilities(scale, reach))


@pytest.mark.parametrize("scale", [0.7, 3.0])
def test_draws_follow_the_discrete_law(scale):
    assert fit(discrete_gaussians(scale)(COUNT), scale) > UNSEEDED_LEVEL


def test_the_fit_rejects_a_tenth_less_noise():
    assert fit(discrete_gaussians(2.7)(5 * COUNT), 3.0) < UNSEEDED_LEVEL


def test_wide_noise_is_normal_to_the_eye_and_whole():
    draws = discrete_gaussians(2.0**40)(COUNT)
    assert (draws == np.rint(draws)).all()
    assert checks.law(draws / 2.0**40, checks.normal) > UNSEEDED_LEVEL
    assert checks.scale(draws, 2.0**40) > UNSEEDED_LEVEL
    assert checks.scale(draws, 0.9 * 2.0**40) < UNSEEDED_LEVEL


def test_a_tape_of_whole_numbers_is_read_once_and_never_repeated():
    source, draw, out = tape(50, 1), discrete_gaussians(2.0**40), np.empty(50)
    seen = []
    for _ in range(3):
        refill(source, 50, 0, draw)
        fill_normals(source, out)
        seen.append(out.copy())
        assert np.isnan(source.normals).all()
        assert (out == np.rint(out)).all()
        with pytest.raises(RuntimeError, match="refusing to reuse"):
            fill_normals(source, out[:1])
    assert np.unique(seen).size == 150  # of 10¹³ numbers two are equal with a probability of 10⁻⁹


@pytest.mark.parametrize("scale", [0.0, -1.0, 2.0**44.1, float("nan")])
def test_scales_that_doubles_cannot_hold_are_refused(scale):
    with pytest.raises(BadInput, match=r"at most 2\*\*44 steps"):
        discrete_gaussians(scale)


def test_a_draw_that_cannot_be_is_not_used(monkeypatch):
    monkeypatch.setattr(room, "_sampler", lambda scale: lambda zeros: [2**52] * len(zeros))
    with pytest.raises(RuntimeError, match="sampler is broken"):
        discrete_gaussians(100.0)(3)


def test_without_opendp_there_is_a_word_on_what_to_install(monkeypatch):
    room._opendp.cache_clear()
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(NoSecureSampler, match=r"Expected OpenDP.*got none\. Run pip install 'tacit\[secure\]'"):
        discrete_gaussians(100.0)
    room._opendp.cache_clear()


def test_importing_tacit_does_not_load_opendp():
    done = subprocess.run(
        [sys.executable, "-c", "import sys, tacit; tacit.JointLinUCB; print('opendp' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"
