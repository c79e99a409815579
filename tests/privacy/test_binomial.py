"""Binomial noise under randomly rounded sums: no neighbours are easier to tell apart than certified.

The truth is worked out by convolution where the numbers are small; nothing here is random.
"""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from tacit.errors import BadInput, PrivacyRefusal
from tacit.privacy import Promise, gdp
from tacit.privacy import binomial as module
from tacit.privacy.binomial import binomial_epsilon, binomial_trials


def law(trials: int, chance: float, rows: tuple[float, ...]) -> tuple[int, np.ndarray]:
    """The sum of randomly rounded rows and the noise: where it starts, and the probabilities from there."""
    weights, start = binom.pmf(np.arange(trials + 1), trials, chance), 0
    for row in rows:
        below = math.floor(row)
        weights, start = np.convolve(weights, [1 - (row - below), row - below]), start + below
    return start, weights


def side_by_side(trials, chance, here, there) -> tuple[np.ndarray, np.ndarray]:
    """The laws of one coordinate in both worlds, on the same places."""
    laws = [law(trials, chance, rows) for rows in (here, there)]
    first = min(start for start, _ in laws)
    size = max(start + len(weights) for start, weights in laws) - first
    padded = np.zeros((2, size))
    for line, (start, weights) in zip(padded, laws, strict=True):
        line[start - first : start - first + len(weights)] = weights
    return padded[0], padded[1]


def true_delta(epsilon: float, coordinates) -> float:
    """The hockey stick between products of the coordinates' laws, the worse of both directions."""
    p = q = np.ones(1)
    for here, there in coordinates:
        p, q = np.outer(p, here).ravel(), np.outer(q, there).ravel()
    factor = math.exp(epsilon)
    return float(max(np.maximum(p - factor * q, 0).sum(), np.maximum(q - factor * p, 0).sum()))


def neighbours(sensitivity: float, dim: int, count: int):
    """Rows at the full distance: along an axis, along the diagonal and in between, from whole and broken places."""
    directions = [np.eye(dim)[0], np.full(dim, dim**-0.5)]
    if dim == 2:
        directions += [np.array([math.cos(angle), math.sin(angle)]) for angle in (0.2, 0.5, -0.6)]
    starts = (0.0, 0.25, 0.5, 0.9)
    for start, direction, sign in itertools.product(starts, directions, (1, -1) if count > 1 else (1,)):
        here = np.full((count, dim), start)
        shifts = np.tile(direction, (count, 1))
        shifts[-1] *= sign  # the rows of one person may move apart
        yield here, here + sensitivity * shifts


def worst_delta(epsilon, trials, chance, sensitivity, dim, count) -> float:
    worst = 0.0
    for here, there in neighbours(sensitivity, dim, count):
        coordinates = [side_by_side(trials, chance, here[:, j], there[:, j]) for j in range(dim)]
        worst = max(worst, true_delta(epsilon, coordinates))
    return worst


# The certificate -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("trials", "chance"), [(20, 0.5), (41, 0.5), (80, 0.5), (80, 0.25), (200, 0.5)])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("dim", [1, 2])
def test_no_neighbours_are_easier_to_tell_apart_than_certified(trials, chance, count, dim):
    certified = 0
    for sensitivity, delta in itertools.product((0.3, 1.0, 1.7, 3.0), (1e-6, 1e-3, 0.05, 0.3)):
        epsilon = binomial_epsilon(trials, sensitivity, dim, delta, count, chance)
        if epsilon < 40:
            certified += 1
            assert worst_delta(epsilon, trials, chance, sensitivity, dim, count) <= delta
    assert certified >= (1 if trials < 80 else 5)


def test_the_certificate_is_not_idle():
    """One coordinate: the truth is within a factor of the certified δ that shrinks as trials grow."""
    for trials, sensitivity, factor in ((400, 10.0, 2.5), (4000, 30.0, 1.15)):
        for delta in (1e-5, 1e-2):
            epsilon = binomial_epsilon(trials, sensitivity, 1, delta)
            assert delta / factor < worst_delta(epsilon, trials, 0.5, sensitivity, 1, 1) <= delta


def test_leaving_out_the_rounding_would_be_wrong():
    # Broken twin: r = 0, as if a quarter of a step cost a quarter of a whole one everywhere.
    trials, sensitivity, tail, epsilon = 60, 0.25, 1e-10, 0.5
    scores = module._scores(trials, 0.5, 2, tail)
    step, extent = module._largest_step(scores, 2, tail)
    slack = min(extent * step * step / 4, step)
    truth = worst_delta(epsilon, trials, 0.5, sensitivity, 1, 1)
    assert truth > 100 * (2 * tail + gdp.delta_at(step * sensitivity, epsilon))
    assert truth <= 2 * tail + gdp.delta_at(step * sensitivity + slack, epsilon)


def test_gaussian_noise_of_the_same_variance_is_no_substitute():
    # Broken twin: μ = S/σ. The tails of a binomial are thinner than those of a Gaussian.
    trials, sensitivity, delta = 60, 3.0, 1e-8
    naive = gdp.epsilon_at(sensitivity / math.sqrt(trials / 4), delta)
    assert worst_delta(naive, trials, 0.5, sensitivity, 1, 1) > 2 * delta


def test_rounding_to_the_nearest_would_be_wrong():
    # Broken twin: 0.49 and 0.51 are a fiftieth of a step apart, and a whole one once rounded without chance.
    epsilon = binomial_epsilon(1000, 0.02, 1, 1e-3)
    assert worst_delta(epsilon, 1000, 0.5, 0.02, 1, 1) <= 1e-3
    assert true_delta(epsilon, [side_by_side(1000, 0.5, (0.0,), (1.0,))]) > 1e-3


@pytest.mark.parametrize("sensitivity", [2.0, 30.0])
def test_half_the_trials_break_the_promise(sensitivity):
    # Broken twin: half of the devices add no ones, but were counted.
    promise = Promise(1.0, 1e-3)
    trials = binomial_trials(promise, sensitivity, 1)
    assert worst_delta(1.0, trials, 0.5, sensitivity, 1, 1) <= 1e-3
    assert worst_delta(1.0, trials // 2, 0.5, sensitivity, 1, 1) > 1e-3


def test_rounding_at_random_is_interpolation():
    """Step 1 of the proof: the sum is ≤ x with probability F(x − a), F interpolated."""
    cumulated = np.append(0.0, binom.cdf(np.arange(31), 30, 0.3))
    for row in (0.0, 0.25, 2.7, -1.4):
        start, weights = law(30, 0.3, (row,))
        places = np.arange(start, start + len(weights))
        assert np.cumsum(weights) == pytest.approx(np.interp(places - row, np.arange(-1, 31), cumulated), abs=1e-14)


# The numbers behind it -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("trials", "chance"), [(300, 0.5), (301, 0.25), (10**5, 0.5), (10**5, 0.1)])
def test_scores_agree_with_many_digits(trials, chance):
    tail = 1e-12
    scores = module._scores(trials, chance, 5, tail)
    first = int(np.searchsorted(scores.below, 1e-15))
    mode = int(np.argmax(scores.weights))
    offset = math.floor((trials + 1) * chance) - mode  # the count that stands at index 0
    for index in (first, (first + mode) // 2):
        with mpmath.workdps(40):
            p, count = mpmath.mpf(chance), offset + index
            term = mpmath.binomial(trials, count) * p**count * (1 - p) ** (trials - count)
            exact = mpmath.mpf(0)
            while count >= 0 and term > exact * mpmath.mpf(10) ** -30:
                exact += term
                term *= count / (trials - mpmath.mpf(count) + 1) * (1 - p) / p
                count -= 1
            assert abs(scores.below[index] / exact - 1) < 1e-11
            assert abs(mpmath.ncdf(mpmath.mpf(float(scores.score[index]))) / exact - 1) < 1e-11


@pytest.mark.parametrize(("trials", "chance"), [(10**5, 0.5), (10**6, 0.25), (10**7, 0.5)])
def test_the_closed_form_is_above_the_scores_by_the_share_it_states(trials, chance):
    for reach, tail in ((3, 1e-3), (200, 1e-9)):
        step, extent = module._largest_step(module._scores(trials, chance, reach, tail), reach, tail)
        closed_step, closed_extent = module._closed_form(trials, chance, reach, tail)
        assert step <= closed_step <= step * (1 + 3 * closed_extent * step)
        assert extent <= closed_extent


def test_normal_scores_lie_where_the_closed_form_takes_them_to_be():
    """Zubkov and Serov (2013): h(i) ≤ ζ(i) ≤ h(i + 1)."""
    for trials, chance in ((50, 0.5), (400, 0.5), (400, 0.25), (1000, 0.9)):
        counts = np.arange(1, trials - 1)
        share = np.arange(1, trials) / trials
        divergence = share * np.log(share / chance) + (1 - share) * np.log((1 - share) / (1 - chance))
        line = np.sign(share - chance) * np.sqrt(2 * trials * np.maximum(divergence, 0))
        below, above = binom.cdf(counts, trials, chance), binom.sf(counts, trials, chance)
        scores = np.where(below < 0.5, ndtri(below), -ndtri(above))
        inside = (below > 1e-250) & (above > 1e-250)
        assert np.all(line[:-1][inside] <= scores[inside] + 1e-9)
        assert np.all(scores[inside] <= line[1:][inside] + 1e-9)


def test_a_score_that_is_linear_in_probability_stays_near_its_chord():
    """Step 3 of the proof: within Zc²/8, and a tenth of that would be wrong."""
    worst = 0.0
    for low in (-8.0, -3.0, -0.1, 0.05, 2.0, 7.5):
        for width in (0.02, 0.2, 0.5):
            shares = np.linspace(0, 1, 201)
            # In the upper half read from the other side, where digits are not lost.
            u, v = (low, low + width) if low < 0 else (-low - width, -low)
            scores = ndtri((1 - shares) * ndtr(u) + shares * ndtr(v))
            distance = np.abs(scores - (u + shares * width)).max()
            limit = max(abs(u), abs(v)) * width**2 / 8
            assert distance <= limit * (1 + 1e-9)
            worst = max(worst, distance / limit)
    assert worst > 0.5


# Against a Gaussian ----------------------------------------------------------------------------------------------

PROMISES = [(1.0, 1e-6), (1.0, 0.1), (10.0, 0.1), (0.2, 0.1), (50.0, 1e-6), (0.01, 1e-6)]


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
@pytest.mark.parametrize("sensitivity", [300.0, 10**5])
def test_twenty_coordinates_on_a_fine_grid_need_hardly_more_noise_than_gaussian_ones(epsilon, delta, sensitivity):
    promise = Promise(epsilon, delta)
    trials = binomial_trials(promise, sensitivity, 20)
    overhead = math.sqrt(trials) / 2 / (sensitivity / promise.mu) - 1
    assert 0 < overhead < (2e-3 if epsilon <= 10 else 7e-3)


def test_a_coarse_grid_costs_noise():
    promise = Promise(1.0, 0.1)
    scales = [math.sqrt(binomial_trials(promise, steps, 20)) / 2 / steps for steps in (3.0, 10.0, 30.0, 100.0)]
    assert scales == sorted(scales, reverse=True)
    assert scales[0] > 1.2 * scales[-1]


# The least number of trials --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
@pytest.mark.parametrize(
    ("sensitivity", "dim", "count", "chance"),
    [(10.0, 3, 1, 0.5), (40.0, 20, 1, 0.25), (40.0, 20, 6, 0.5), (0.5, 1, 1, 0.5)],
)
def test_trials_keep_the_promise_as_accounted_and_one_less_does_not(epsilon, delta, sensitivity, dim, count, chance):
    trials = binomial_trials(Promise(epsilon, delta), sensitivity, dim, count, chance)
    assert binomial_epsilon(trials, sensitivity, dim, delta, count, chance) <= epsilon
    if trials > 1:
        assert binomial_epsilon(trials - 1, sensitivity, dim, delta, count, chance) > epsilon


@pytest.mark.parametrize(("sensitivity", "dim", "delta"), [(1.0, 1, 0.1), (5.0, 2, 1e-6), (30.0, 20, 1e-3)])
def test_more_ones_are_never_a_worse_certificate(sensitivity, dim, delta):
    counts = [round(20 * 1.25**step) for step in range(60)]
    epsilons = [binomial_epsilon(trials, sensitivity, dim, delta) for trials in counts]
    assert epsilons == sorted(epsilons, reverse=True)
    assert epsilons[0] > epsilons[-1]


def test_more_steps_coordinates_rows_and_less_delta_cost_more():
    base = {"trials": 10**5, "sensitivity": 20.0, "coordinates": 10, "delta": 1e-6}
    for changes in (
        [{"sensitivity": s} for s in (0.5, 5.0, 20.0, 60.0)],
        [{"coordinates": d} for d in (1, 10, 100, 10**4)],
        [{"reports": k} for k in (1, 2, 5, 20)],
        [{"delta": d} for d in (0.1, 1e-3, 1e-6, 1e-12)],
        [{"chance": p} for p in (0.5, 0.3, 0.1, 0.02)],
    ):
        epsilons = [binomial_epsilon(**(base | change)) for change in changes]
        assert epsilons == sorted(epsilons)
        assert epsilons[0] < epsilons[-1]


def test_chance_counts_by_its_variance_and_either_side_is_alike():
    quarter, half = (binomial_trials(Promise(1.0, 1e-6), 100.0, 20, 1, chance) for chance in (0.25, 0.5))
    assert quarter * 0.75 / half == pytest.approx(1.0, rel=1e-2)
    assert binomial_epsilon(10**4, 10.0, 5, 1e-6, 1, 0.25) == pytest.approx(
        binomial_epsilon(10**4, 10.0, 5, 1e-6, 1, 0.75), rel=1e-9
    )


def test_several_rows_of_a_person_count_as_if_all_were_in_one_batch():
    one, five = binomial_epsilon(10**7, 200.0, 20, 1e-6), binomial_epsilon(10**7, 40.0, 20, 1e-6, 5)
    assert five == pytest.approx(one, rel=2e-3)


def test_too_little_noise_is_not_certified():
    for trials, sensitivity in ((1, 1.0), (10, 8.0), (100, 100.0), (100, 1e300), (1000, 450.0)):
        assert binomial_epsilon(trials, sensitivity, 5, 1e-6) == math.inf


def test_a_promise_beyond_what_doubles_can_count_is_refused():
    with pytest.raises(PrivacyRefusal, match=r"epsilon=0\.01 .* 1e\+09 grid steps.*coarser grid"):
        binomial_trials(Promise(0.01, 1e-9), 1e9, 5)
    with pytest.raises(PrivacyRefusal, match="coarser grid"):
        binomial_trials(Promise(0.01, 1e-9), 1e300, 5)
    assert binomial_epsilon(2**60, 1e6, 5, 1e-6) == binomial_epsilon(2**53, 1e6, 5, 1e-6)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: binomial_epsilon(0, 1.0, 1, 0.1), "trials"),
        (lambda: binomial_epsilon(10.0, 1.0, 1, 0.1), "trials"),
        (lambda: binomial_epsilon(10, 0.0, 1, 0.1), "sensitivity"),
        (lambda: binomial_epsilon(10, 1.0, 0, 0.1), "coordinates"),
        (lambda: binomial_epsilon(10, 1.0, 1, 0.0), "delta"),
        (lambda: binomial_epsilon(10, 1.0, 1, 0.1, 0), "reports"),
        (lambda: binomial_epsilon(10, 1.0, 1, 0.1, 1, 1.0), "chance"),
        (lambda: binomial_trials(Promise(1.0, 0.1), -1.0, 1), "sensitivity"),
    ],
)
def test_impossible_sums_are_refused(call, word):
    with pytest.raises(BadInput, match=word):
        call()


def test_the_tails_of_all_coordinates_and_rows_stay_within_their_share_of_delta(monkeypatch):
    """Each coordinate has two tails, in every batch that a person may be in."""
    seen, largest_step = [], module._largest_step

    def looked_at(scores, reach, tail):
        seen.append(tail)
        return largest_step(scores, reach, tail)

    monkeypatch.setattr(module, "_largest_step", looked_at)
    module._epsilon.cache_clear()
    binomial_epsilon(4096, 8.0, 5, 1e-6, reports=2)
    module._epsilon.cache_clear()
    assert 2 * 2 * 5 * max(seen) <= max(module._SHARES) * 1e-6 * (1 + 1e-12)
