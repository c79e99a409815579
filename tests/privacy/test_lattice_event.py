"""Discrete Gaussians on a lattice: what the accountant says of them is never less than what exact sums say."""

import itertools
import json
import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from tacit.errors import BadInput, UnknownEvent
from tacit.privacy import (
    DiscountedEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    LatticeEvent,
    PersonEvent,
    RootToeplitzEvent,
    SegmentsEvent,
    ShuffledReportsEvent,
    ToeplitzEvent,
    TreeEvent,
    gdp,
    price,
    theorem_for,
)
from tacit.privacy.accountant import LEAK, SMOOTHING
from tacit.privacy.toeplitz import EIGHT_BUFFERS

TREE = TreeEvent(300.0, 2.0, 17)
ROWS = ToeplitzEvent(300.0, 2.0, 128, EIGHT_BUFFERS, "many")
EVENTS = [
    TREE,
    ROWS,
    SegmentsEvent(300.0, 2.0),
    GaussianEvent(300.0, 2.0),
    RootToeplitzEvent(300.0, 2.0, 72),
    DiscountedEvent(300.0, 2.0, 60, 0.9),
]


def on_lattice(event, step=1.0, coordinates=20, rounding=0.51):
    return LatticeEvent(event, step=step, coordinates=coordinates, rounding=rounding)


# The curve of the discrete law itself ----------------------------------------------------------------------------


def exact_delta(scale: float, shift: int, epsilon: float) -> float:
    """δ(ε) of one discrete Gaussian and its shift by so many steps: Σ_k max(0, P(k) − e^ε·P(k + shift)).

    All terms are positive, and the sums are over twelve deviations: right to 1e-12, relative.
    """
    reach, total, mass = math.ceil(12 * scale) + shift, 0.0, 0.0
    for start in range(-reach, reach + 1, 2**20):
        k = np.arange(start, min(start + 2**20, reach + 1), dtype=float)
        probability = np.exp(-k * k / (2 * scale * scale))
        # The log of how much likelier the shifted one is, e^ε included.
        excess = epsilon - shift * (2 * k + shift) / (2 * scale * scale)
        total += float((probability * np.where(excess < 0, -np.expm1(np.minimum(excess, 0.0)), 0.0)).sum())
        mass += float(probability.sum())
    return total / mass


def priced_delta(scale: float, shift: int, epsilon: float) -> float:
    return gdp.delta_at(price(on_lattice(GaussianEvent(scale, shift), coordinates=1, rounding=0.0)), epsilon)


@pytest.mark.parametrize(
    ("scale", "shift"),
    [(64.0, 1), (64.0, 40), (64.0, 200), (100.5, 64), (777.25, 1), (777.25, 3000), (2.0**14, 2**13)],
)
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0, 10.0])
def test_the_true_curve_never_exceeds_the_priced_one(scale, shift, epsilon):
    true = exact_delta(scale, shift, epsilon)
    assert true <= priced_delta(scale, shift, epsilon) * (1 + 1e-11) + 1e-300


def test_the_comparison_notices_noise_that_is_priced_as_more_than_it_is():
    """Broken twin: the price of a scale larger by a hundredth is below the true curve."""
    assert exact_delta(100.5, 64, 1.0) > priced_delta(101.5, 64, 1.0)


@pytest.mark.parametrize(("share", "epsilon"), [(0.25, 0.3), (1.0, 1.0)])
def test_at_a_million_steps_the_price_is_tight_to_a_millionth(share, epsilon):
    scale = 2.0**20
    shift = int(share * scale)
    true, priced = exact_delta(scale, shift, epsilon), priced_delta(scale, shift, epsilon)
    assert true <= priced * (1 + 1e-11)
    assert priced <= true * (1 + 1e-6)


# The two lemmas of the proof -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("smoothing", "scale"), [(0.5, 0.6), (0.6, 0.65), (0.8, 4.0)])
def test_a_discrete_gaussian_is_a_smoothed_continuous_one(smoothing, scale):
    """Lemma 1, at a smoothing so small that its η can be seen."""
    leak, width = 4 * math.exp(-2 * (math.pi * smoothing) ** 2), math.sqrt(scale**2 - smoothing**2)
    y, k = np.linspace(-12, 12, 24_001) * width, np.arange(-60, 61)
    weights = np.exp(-((k[:, None] - y) ** 2) / (2 * smoothing**2))
    smoothed = (np.exp(-(y**2) / (2 * width**2)) * weights / weights.sum(axis=0)).sum(axis=1)
    discrete = np.exp(-(k**2) / (2 * scale**2))
    inside = abs(k) <= 5 * scale
    ratio = np.log((smoothed / smoothed.sum())[inside] / (discrete / discrete.sum())[inside])
    assert abs(ratio).max() <= leak + 1e-12
    if smoothing == 0.6:
        assert abs(ratio).max() > leak / 4, "and the bound is not for nothing"


def test_small_factors_on_probabilities_move_mu_by_six_times_their_size():
    """Lemma 2: a, b as close to a', b' as e^{±τ} allows, on a grid, in high precision."""
    tau, mu = mpmath.mpf("1e-3"), mpmath.mpf("0.7")

    def quantile(probability):
        return mpmath.sqrt(2) * mpmath.erfinv(2 * probability - 1)

    def moved(probability, up):
        if up:
            return min(probability * mpmath.exp(tau), 1 - (1 - probability) * mpmath.exp(-tau))
        return max(probability * mpmath.exp(-tau), 1 - (1 - probability) * mpmath.exp(tau))

    worst = 0
    for power in itertools.chain(range(-60, 0, 3), [-1, -0.5]):
        for alarm in (mpmath.mpf(10) ** power, 1 - mpmath.mpf(10) ** power, mpmath.mpf("0.5")):
            detected = mpmath.ncdf(quantile(alarm) + mu)
            if 0 < alarm < 1 and detected < 1:
                worst = max(worst, quantile(moved(detected, True)) - quantile(moved(alarm, False)) - mu)
    assert 0 < worst <= 6 * tau


def test_the_smoothing_costs_nothing_that_could_be_seen():
    assert SMOOTHING == 2.0
    assert LEAK < 1e-33


# The price -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_a_lattice_costs_its_rounding_and_little_else(event):
    unrounded, rounded = price(on_lattice(event, rounding=0.0)), price(on_lattice(event))
    assert price(event) < unrounded < price(event) * (1 + 1e-4)
    held = {"tree": 34, "toeplitz": 128, "segments": 2, "gaussian": 1, "root-toeplitz": 72, "discounted": 60}
    assert rounded - unrounded == pytest.approx(1.02 * math.sqrt(held[event.kind] * 20) / 300, rel=1e-4)
    finer = on_lattice(event, step=1e-6)
    assert price(finer) == pytest.approx(price(event), rel=1e-4)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_a_person_pays_for_rows_and_for_roundings(event, rounds):
    one = price(PersonEvent(on_lattice(event), rounds))
    assert one >= price(PersonEvent(event, rounds))
    assert one <= price(PersonEvent(event, rounds)) * (1 + 1e-4) + 1.02 * math.sqrt(rounds * 128 * 20) / 299


def test_laplace_sums_and_mixed_reports_pay_for_their_rounding():
    """Each of 20 numbers by 1.02 steps at most: by their L1 norm as a sum, by their length as a report."""
    sums = LaplaceEvent(300.0, 2.0)
    assert theorem_for(on_lattice(sums)).epsilon == pytest.approx(theorem_for(sums).epsilon + 1.02 * 20 / 300)
    mixed = ShuffledReportsEvent(300.0, 300.0, batch=1000, honest=1.0, delta=1e-6)
    longer = replace(mixed, sensitivity=300.0 + 1.02 * math.sqrt(20))
    found = theorem_for(on_lattice(mixed)).epsilon
    assert found == pytest.approx(theorem_for(longer).epsilon, rel=1e-3)
    assert found > theorem_for(mixed).epsilon * (1 + 5e-3)


def test_the_event_says_what_is_rounded_and_travels_as_json():
    event = on_lattice(ROWS, step=0.5)
    facts = json.loads(json.dumps(event.to_dict()))
    assert facts["of"] == ROWS.to_dict()
    assert facts["step"] == 0.5
    assert "discrete Gaussian of 600 steps on each of 20 numbers" in event.describe()
    assert theorem_for(event) is None


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: on_lattice(ExponentialEvent(1.0)), "Gaussian or Laplace noise, got ExponentialEvent"),
        (lambda: on_lattice(PersonEvent(TREE, 2)), "got PersonEvent"),
        (lambda: on_lattice(TREE, step=5.0), "at least 64 steps, got 60"),
        (lambda: on_lattice(TREE, step=0.0), "step"),
        (lambda: on_lattice(TREE, coordinates=0), "coordinates"),
        (lambda: on_lattice(TREE, rounding=-0.1), "rounding"),
    ],
)
def test_impossible_facts_are_refused(build, words):
    with pytest.raises(BadInput, match=words):
        build()


def test_what_has_no_price_inside_has_none_on_a_lattice():
    class Unpriced:
        pass

    with pytest.raises(UnknownEvent):
        price(Unpriced())
    assert price(replace(on_lattice(TREE), rounding=1.0)) > price(on_lattice(TREE))
