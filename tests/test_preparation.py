"""What contexts go through, as NumPy has it, and the one release that centres them. That they are never longer than L:
tests/privacy/test_preparation.py.

Error level: the comparison of variances is at 1e-6 (chi-square); seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.errors import BadInput
from tacit.noise import stream, tape_of
from tacit.preparation import Centre, LatticeCentre, NoCentre, Preparation, add_context, prepare, publish_centre
from tests.statistics import checks
from tests.statistics.checks import LEVEL

DIM, LENGTH = 3, 2.0
FORMS = {
    "standard": Preparation(),
    "plain": Preparation(normalise=False, constant=0.0, centre_rounds=0),
    "bounds": Preparation(low=(-1.0, 0.0, 2.0), high=(1.0, 5.0, 2.5), normalise=False, centre_rounds=0),
    "bounds, centred": Preparation(low=-2.0, high=2.0, constant=0.3, centre_rounds=7),
    "centred and no more": Preparation(normalise=False, constant=0.0, centre_rounds=7),
    "one length": Preparation(constant=0.0, centre_rounds=0),
}
each_form = pytest.mark.parametrize("form", FORMS)


def prepared(form, x, centre=None, learning=True):
    """The context as the kernel prepares it, and whether it was clipped."""
    found = FORMS[form]
    out = np.full(found.width(DIM), np.nan)
    out[DIM:] = 0.0
    mean = np.zeros(DIM) if centre is None else centre
    clipped = prepare(found.steps(DIM, LENGTH), np.asarray(x, float), mean, learning, out)
    return out, clipped


def by_hand(form, x, centre, learning):
    found = FORMS[form]
    out = np.array(x, float)
    if found.low is not None:
        low, high = np.asarray(found.low, float), np.asarray(found.high, float)
        out = np.clip((2 * out - low - high) / (high - low), -1, 1)

    def brought_to(vector, length):
        norm = np.linalg.norm(vector)
        return vector * length / norm if norm > 0 and (found.normalise or norm > length) else vector

    out = brought_to(out, LENGTH)
    if learning:
        if found.centre_rounds:
            out = out - centre
        out = brought_to(out, LENGTH * np.sqrt(1 - found.constant**2))
    return np.append(out, [LENGTH * found.constant * learning] if found.constant else [])


@each_form
@pytest.mark.parametrize("learning", [True, False])
def test_a_prepared_context_is_what_is_said(form, learning):
    rng = np.random.default_rng(4)
    for size in (0.0, 0.1, 1.0, 30.0):
        x, centre = size * rng.normal(size=DIM), 0.4 * rng.normal(size=DIM)
        found, _ = prepared(form, x, centre, learning)
        np.testing.assert_allclose(found, by_hand(form, x, centre, learning), rtol=1e-12, atol=1e-15)


def test_a_row_without_its_shrinking_would_be_longer():
    """The twin: what a centre is taken off from is longer than L again, unless it is brought to its length anew."""
    x, centre = np.array([2.0, 0.0, 0.0]), np.array([-1.0, 0.5, 0.0])
    assert np.linalg.norm(by_hand("centred and no more", x, np.zeros(3), True) - centre) > LENGTH
    assert np.linalg.norm(prepared("centred and no more", x, centre)[0]) <= LENGTH * (1 + 1e-12)


def test_what_is_clipped_is_said_and_what_is_normalised_is_not():
    assert prepared("plain", [3.0, 0, 0])[1]
    assert not prepared("plain", [2.0, 0, 0])[1]
    assert prepared("bounds", [1.5, 0, 2.2])[1]
    assert not prepared("bounds", [0.5, 2.5, 2.25])[1]
    assert not prepared("one length", [30.0, 0, 0])[1]


# The centre -----------------------------------------------------------------------------------------------------------


def centre_of(kernels, contexts, noise):
    """What is published, and the secret sum behind it afterwards."""
    sums, out = np.zeros((2, DIM)), np.full(DIM, np.nan)
    for context in contexts:
        add_context(kernels, np.append(context, 7.0), sums)  # what is behind a context is none of it
    publish_centre(kernels, sums, out, noise)
    return out, sums


def test_without_noise_the_centre_is_the_mean_and_the_sum_is_gone():
    contexts = np.random.default_rng(1).normal(size=(50, DIM))
    found, sums = centre_of(Centre(50, 0.0), contexts, stream(1))
    np.testing.assert_allclose(found, contexts.mean(axis=0), rtol=1e-12)
    assert not sums.any()
    found, sums = centre_of(LatticeCentre(50, 2.0**-20), contexts, tape_of(np.zeros(DIM), np.zeros(1)))
    np.testing.assert_allclose(found, contexts.mean(axis=0), atol=0.51 * 2.0**-20 / 50)
    assert not sums.any()


def test_the_centre_has_the_noise_that_is_said():
    noise = np.array([centre_of(Centre(10, 5.0), [], stream(seed))[0] for seed in range(5000)])
    assert checks.scale(noise, 0.5) > LEVEL
    assert checks.scale(noise, 0.47) < LEVEL


def test_on_a_lattice_the_centre_is_a_whole_number_of_steps_with_its_noise_added_once():
    contexts, step = np.random.default_rng(1).normal(size=(8, DIM)), 0.37
    draws = np.array([3.0, -200.0, 10.0])
    quiet, _ = centre_of(LatticeCentre(8, step), contexts, tape_of(np.zeros(DIM), np.zeros(1)))
    found, _ = centre_of(LatticeCentre(8, step), contexts, tape_of(draws.copy(), np.zeros(1)))
    steps = found * 8 / step
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-9)
    np.testing.assert_allclose((found - quiet) * 8 / step, draws, atol=1e-9)


def test_without_a_centre_nothing_is_kept_or_published():
    sums, out = np.zeros((2, DIM)), np.zeros(DIM)
    add_context(NoCentre(), np.ones(DIM), sums)
    publish_centre(NoCentre(), sums, out, stream(1))
    assert not sums.any()
    assert not out.any()


# As an option ---------------------------------------------------------------------------------------------------------


@each_form
def test_a_preparation_travels(form):
    config = tacit.JointLinUCB(arms=3, dim=DIM, epsilon=1, delta=1e-6, preparation=FORMS[form])
    again = tacit.JointLinUCB.from_dict(config.to_dict())
    assert again == config
    assert again.prepared == FORMS[form]
    assert FORMS[form].describe() in " ".join(config.card().assumptions)


def test_words_are_preparations():
    def made(word):
        return tacit.JointLinUCB(arms=3, dim=DIM, epsilon=1, delta=1e-6, preparation=word).preparation

    assert made("standard") == made(None) == Preparation()
    assert made("none") == Preparation(normalise=False, constant=0.0, centre_rounds=0)
    assert "taken as they come" in made("none").describe()


BAD = {
    "one bound": (lambda: Preparation(low=0.0), "low and high together"),
    "no number": (lambda: Preparation(low="0", high=1.0), "low"),
    "a share of one": (lambda: Preparation(constant=1.0), "0 <= constant < 1"),
    "a negative share": (lambda: Preparation(constant=-0.1), "0 <= constant < 1"),
    "half a round": (lambda: Preparation(centre_rounds=0.5), "centre_rounds"),
    "yes": (lambda: Preparation(normalise="yes"), "normalise"),
    "upside down": (lambda: Preparation(low=1.0, high=0.0).steps(DIM, 1.0), "low < high for every feature"),
    "too few": (lambda: Preparation(low=(0.0, 0.0), high=1.0).steps(DIM, 1.0), "low to be one number or 3 of them"),
    "a word": (lambda: tacit.JointLinUCB(arms=2, dim=2, epsilon=1, delta=0.1, preparation="all"), "preparation to be"),
    "a field": (
        lambda: tacit.JointLinUCB(arms=2, dim=2, epsilon=1, delta=0.1, preparation={"length": 1}),
        "the fields of tacit.Preparation",
    ),
    "without arms": (
        lambda: tacit.JointLinUCB(dim=2, epsilon=1, delta=0.1, preparation="none"),
        "preparation with arms only",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_preparation_is_refused_in_one_line(case):
    make, message = BAD[case]
    with pytest.raises(BadInput, match=message) as refused:
        make()
    assert "\n" not in str(refused.value)
