"""The exponential mechanism: its probabilities, its draws, and how steep they may be.

Error level: each statistical comparison is two-sided at 1e-6, with fixed seeds; where numbers come from the operating
system, at 1e-9.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.spatial.distance import pdist

from tacit.errors import BadInput, PrivacyRefusal
from tacit.kernels import Box
from tacit.mechanisms.exponential import (
    diameter,
    draw_by_rejection,
    draw_candidate,
    probabilities,
    published_rate,
    range_rate,
)
from tacit.mechanisms.exponential.candidates import _placed_exactly, placed
from tacit.mechanisms.exponential.rejection import _kept
from tacit.mechanisms.exponential.uniforms import from_words, uniforms
from tacit.noise.coins import Uniform, exp_bounds
from tests.statistics import checks
from tests.statistics.checks import LEVEL, UNSEEDED_LEVEL

SCORES = [0.3, -1.0, 0.0, 2.0, 2.0, 1.1]
HUGE = 1e300


def brute_force(scores, eta):
    with mpmath.workdps(60):
        weights = [mpmath.exp(mpmath.mpf(eta) * mpmath.mpf(score)) for score in scores]
        return np.array([float(weight / mpmath.fsum(weights)) for weight in weights])


def drawn(scores, eta, count, seed=5):
    rng = np.random.default_rng(seed)
    return np.bincount([draw_candidate(scores, eta, rng) for _ in range(count)], minlength=len(scores))


# Probabilities ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eta", [0.0, 1e-9, 0.5, 3.0, 40.0])
@pytest.mark.parametrize("scores", [SCORES, [5.0], [1e5, 1e5 + 1, 1e5 - 2], [0.0] * 7])
def test_probabilities_are_what_brute_force_gives(scores, eta):
    # η·score carries the rounding of a score of 1e5, and no more.
    np.testing.assert_allclose(probabilities(scores, eta), brute_force(scores, eta), rtol=1e-9, atol=1e-300)


@given(
    scores=st.lists(st.floats(-1e308, 1e308), min_size=1, max_size=20),
    eta=st.floats(0, 1e300),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=200, deadline=None)
def test_no_scores_overflow(scores, eta, seed):
    found = probabilities(scores, eta)
    assert np.all((found >= 0) & (found <= 1))
    assert found.sum() == pytest.approx(1.0)
    assert found[int(np.argmax(scores))] == found.max()
    chosen = draw_candidate(scores, eta, np.random.default_rng(seed))
    assert found[chosen] > 0


def test_huge_scores_decide_and_huge_ties_do_not():
    assert probabilities([HUGE, -HUGE], 1.0).tolist() == [1.0, 0.0]
    assert probabilities([-1.7e308, 1.7e308, 1.7e308], 1.0).tolist() == [0.0, 0.5, 0.5]
    assert probabilities([-1.7e308, 1.7e308], 0.0).tolist() == [0.5, 0.5]
    assert {draw_candidate([HUGE, -HUGE], 1.0) for _ in range(50)} == {0}
    assert set(np.flatnonzero(drawn([-HUGE, HUGE, HUGE], 1.0, 60))) == {1, 2}


def test_one_candidate_is_drawn_always():
    assert probabilities([3.0], 2.0).tolist() == [1.0]
    assert draw_candidate([3.0], 2.0) == 0


@pytest.mark.parametrize("function", [probabilities, draw_candidate])
@pytest.mark.parametrize(
    ("scores", "eta", "word"),
    [
        ([], 1.0, r"K >= 1 candidates, got shape \(0,\)"),
        ([[1.0, 2.0]], 1.0, r"got shape \(1, 2\)"),
        (3.0, 1.0, "shape"),
        ([0.0, -math.inf], 1.0, "an infinity at position 1"),
        ([math.inf], 1.0, "an infinity"),
        ([math.nan, 0.0], 1.0, "NaN at position 0"),
        (["a"], 1.0, "numbers"),
        ([0.0, 1.0], -1.0, "eta >= 0"),
        ([0.0, 1.0], math.inf, "eta"),
        ([0.0, 1.0], math.nan, "eta"),
    ],
)
def test_what_is_no_score_is_refused(function, scores, eta, word):
    with pytest.raises(BadInput, match=word):
        function(scores, eta)


def test_a_refusal_does_not_print_a_score():
    with pytest.raises(BadInput) as caught:
        draw_candidate([0.731, math.nan], 1.0)
    assert "0.731" not in str(caught.value)


# Draws -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eta", [0.0, 0.5, 2.0])
def test_candidates_are_drawn_with_their_probabilities(eta):
    assert checks.counts(drawn(SCORES, eta, 10_000), brute_force(SCORES, eta)) > LEVEL


def test_this_test_rejects_a_rate_off_by_a_fifth():
    assert checks.counts(drawn(SCORES, 0.5 * 1.2, 10_000), brute_force(SCORES, 0.5)) < LEVEL


def test_candidates_drawn_for_people_have_the_same_law():
    counts = np.bincount([draw_candidate(SCORES, 0.5) for _ in range(5_000)], minlength=len(SCORES))
    assert checks.counts(counts, brute_force(SCORES, 0.5)) > UNSEEDED_LEVEL


def test_a_seed_repeats_a_draw_and_the_operating_system_does_not():
    scores = np.zeros(1000)
    seeded = [draw_candidate(scores, 1.0, np.random.default_rng(3)) for _ in range(2)]
    assert seeded[0] == seeded[1]
    # Twelve draws out of a thousand that all agree: 1e-33.
    assert len({draw_candidate(scores, 1.0) for _ in range(12)}) > 1


class Scripted:
    """In the place of a generator: hands out these words."""

    def __init__(self, words):
        self.words = np.array(words, np.uint64)

    def integers(self, low, high, size, dtype):
        assert (low, high, size, dtype) == (0, 2**64, len(self.words), np.uint64)
        return self.words


def test_uniform_numbers_have_their_law_and_reach_far_below_the_usual_53_bits():
    found = uniforms(100_000, np.random.default_rng(7))
    assert checks.law(found, checks.uniform) > LEVEL
    assert np.all((found > 0) & (found < 1))
    largest, half = 2**64 - 1, 2**63
    edges = from_words(np.array([0, 0, largest, half, 0, half, largest, 0], np.uint64))
    assert edges.tolist() == [2.0**-129, 2.0**-65, 1 - 2.0**-53, 0.5]


def test_a_rare_candidate_can_be_drawn():
    """A gap of 60 is a probability of 1e-26: the second candidate wins if its own time is short enough, which 53 bits
    could never show."""
    scores, half = [0.0, -60.0], 2**63
    assert draw_candidate(scores, 1.0, Scripted([half, 0, 0, 2**38])) == 1
    assert draw_candidate(scores, 1.0, Scripted([half, 0, 0, 2**45])) == 0
    # Candidate 1 wins below u = −ln(½)·e⁻⁶⁰ = 2⁻⁸⁷: of the lower word that is 2⁴¹.
    assert math.log(2) * math.exp(-60) == pytest.approx(2**41 * 2.0**-128, rel=0.5)
    assert draw_candidate(scores, 1.0, Scripted([half, 1, 0, 0])) == 0


# How steep -------------------------------------------------------------------------------------------------------

BOUND, LEVERAGE, EPSILON = 1.3, 0.2, 1.0  # B, S, ε


def clipped(rows, leverage):
    """ũ: rows within the leverage."""
    return rows * np.minimum(1, leverage / np.linalg.norm(rows, axis=1))[:, None]


def log_ratio(queries, eta, v, other):
    """The largest |ln P(i)/P′(i)| over candidates, for two values of the secret sum."""
    return float(np.abs(np.log(probabilities(queries @ v, eta) / probabilities(queries @ other, eta))).max())


def worlds(seed):
    """Queries u(x, c), and pairs of neighbours: v, v′ that differ in one record, from random to the worst."""
    rng = np.random.default_rng(seed)
    size, count = int(rng.integers(1, 8)), int(rng.integers(2, 30))
    queries = rng.normal(size=(count, size)) * rng.choice([0.05, 1.0]) + rng.normal(size=size) * rng.choice([0.0, 1.0])
    v = rng.normal(size=size) * rng.choice([0.0, 1.0, 10.0])
    farthest = max(itertools.combinations(queries, 2), key=lambda pair: np.linalg.norm(pair[0] - pair[1]))
    directions = np.vstack([rng.normal(size=(10, size)) * 10, rng.choice(queries, 3) * 10, farthest[0] - farthest[1]])
    if rng.random() < 0.5:
        # One end of the farthest pair is drawn nearly always in both worlds: the other end's odds carry the whole move.
        v = rng.choice([8.0, 40.0]) * (farthest[0] - farthest[1]) / np.linalg.norm(farthest[0] - farthest[1])
    for direction in directions:
        records = clipped(np.vstack([direction, direction if rng.random() < 0.7 else rng.normal(size=size)]) * 1e3, 1.0)
        yield queries, v, records


def worst_ratio(factor, rule):
    """The largest log-ratio over many worlds, when η is what the rule says times `factor`."""
    worst = 0.0
    for seed in range(120):
        for queries, v, records in worlds(seed):
            if rule == "range":
                eta = factor * range_rate(EPSILON, BOUND, LEVERAGE, diameter(queries))
                records = clipped(records, LEVERAGE)
            else:
                # The domain is a ball that holds the queries and the records.
                largest = float(np.linalg.norm(queries, axis=1).max())
                eta = factor * published_rate(EPSILON, BOUND, largest**2)
                records = clipped(1e3 * records, largest)
            base = v - BOUND * records[0]
            worst = max(worst, log_ratio(queries, eta, base + BOUND * records[0], base - BOUND * records[1]))
    return worst


def test_under_the_range_rule_no_record_moves_a_probability_by_more_than_epsilon_and_some_by_as_much():
    assert 0.97 * EPSILON <= worst_ratio(1.0, "range") <= EPSILON


def test_under_the_published_rule_no_record_moves_a_probability_by_more_than_epsilon():
    assert 0.8 * EPSILON <= worst_ratio(1.0, "published") <= EPSILON


@pytest.mark.parametrize(("rule", "factor"), [("range", 2.0), ("range", 1.1), ("published", 2.0)])
def test_a_steeper_rate_breaks_it(rule, factor):
    assert worst_ratio(factor, rule) > EPSILON


def test_records_that_are_not_clipped_break_the_range_rule():
    queries = np.eye(2)
    eta = range_rate(EPSILON, BOUND, LEVERAGE, diameter(queries))
    record = np.array([1.0, -1.0])
    v = np.array([20.0, -20.0])
    assert log_ratio(queries, eta, v + BOUND * record, v - BOUND * record) > EPSILON


def test_a_variance_without_its_factor_breaks_the_published_rule():
    """τ = 0.1: the plain posterior variance is τ·σ², and the rate ten times too steep."""
    queries = np.array([[1.0, 0.0], [-1.0, 0.0]])
    v = np.zeros(2)
    record = queries[0]
    for variance, holds in ((1.0, True), (0.1, False)):
        eta = published_rate(EPSILON, BOUND, variance)
        moved = log_ratio(queries, eta, v + BOUND * record, v - BOUND * record)
        assert (moved <= EPSILON) is holds


def test_the_range_rule_is_never_flatter_than_the_published_one():
    for seed in range(30):
        queries = next(worlds(seed))[0]
        largest = float(np.linalg.norm(queries, axis=1).max())
        ranged = range_rate(EPSILON, BOUND, largest, diameter(queries))
        assert ranged >= published_rate(EPSILON, BOUND, largest**2) * (1 - 1e-9)


def test_rates_are_their_formulas_with_a_millionth_in_reserve():
    assert range_rate(0.5, 1.3, 0.2, 0.4) == pytest.approx(0.5 / (2 * 1.3 * 0.2 * 0.4), rel=2e-6)
    assert range_rate(0.5, 1.3, 0.2, 0.4) < 0.5 / (2 * 1.3 * 0.2 * 0.4)
    assert published_rate(0.5, 1.3, 0.04) == pytest.approx(0.5 / (4 * 1.3 * 0.04), rel=2e-6)
    assert published_rate(0.5, 1.3, 0.04) < 0.5 / (4 * 1.3 * 0.04)


def test_candidates_that_are_alike_are_drawn_evenly():
    assert diameter(np.ones((3, 4))) == 0.0
    assert range_rate(1.0, 1.0, 1.0, 0.0) == 0.0
    assert probabilities([1.0, 1.0, 1.0], 0.0).tolist() == [1 / 3] * 3


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: range_rate(0.0, 1.0, 1.0, 1.0), "epsilon > 0"),
        (lambda: range_rate(1.0, 0.0, 1.0, 1.0), "reward_bound > 0"),
        (lambda: range_rate(1.0, 1.0, -1.0, 1.0), "leverage > 0"),
        (lambda: range_rate(1.0, 1.0, 1.0, -1.0), "diameter >= 0"),
        (lambda: range_rate(1.0, 1.0, 1.0, math.nan), "diameter"),
        (lambda: range_rate(1.0, 1e-200, 1e-200, 1e-200), "next to zero"),
        (lambda: published_rate(1.0, 1.0, 0.0), "largest_variance > 0"),
        (lambda: published_rate(1.0, 1e-200, 1e-200), "next to zero"),
        (lambda: diameter([]), "shape"),
        (lambda: diameter([1.0, 2.0]), "shape"),
        (lambda: diameter([[1.0, math.nan]]), "NaN"),
    ],
)
def test_impossible_bounds_are_refused(build, word):
    with pytest.raises(BadInput, match=word):
        build()


@pytest.mark.parametrize("centre", [0.0, 1.0, 1e6])
@pytest.mark.parametrize("spread", [1e-9, 1e-3, 1.0, 1e150])
@pytest.mark.parametrize(("count", "size"), [(2, 1), (7, 5), (101, 30), (600, 3)])
def test_the_diameter_is_never_too_small_and_hardly_too_large(centre, spread, count, size):
    rows = centre + spread * np.random.default_rng(count).normal(size=(count, size))
    exact = float(pdist(rows / spread).max()) * spread
    found = diameter(rows)
    # Rounding of the rows themselves may be all there is between them.
    assert exact * (1 - 1e-14) <= found <= exact * (1 + 1e-11) + 1e-14 * math.sqrt(size) * (centre + spread)


def test_without_centring_the_diameter_would_be_lost():
    """The twin: |a|² + |b|² − 2aᵀb of rows far from the origin and close to each other."""
    rows = 1.0 + 1e-9 * np.random.default_rng(1).normal(size=(20, 10))
    squares = np.einsum("ij,ij->i", rows, rows)
    careless = np.sqrt(np.maximum(squares[:, None] + squares - 2 * rows @ rows.T, 0)).max()
    exact = pdist(rows).max()
    assert not 0.9 * exact < careless < 1.1 * exact
    assert exact <= diameter(rows) <= 1.001 * exact


# Boxes -----------------------------------------------------------------------------------------------------------


def bumps(points):
    return np.sin(6 * points[:, 0]) + 0.3 * points[:, 0]


def distribution(eta):
    """The distribution function of the density ∝ exp(η·bumps) on [−1, 2], by quadrature."""
    grid = np.linspace(-1, 2, 20_001)
    mass = integrate.cumulative_simpson(np.exp(eta * bumps(grid[:, None])), x=grid, initial=0)
    return lambda values: np.interp(values, grid, mass / mass[-1])


def accepted(eta, count, upper=1.6, seed=11):
    rng = np.random.default_rng(seed)
    return [draw_by_rejection(bumps, Box(((-1, 2),)), eta, upper, rng) for _ in range(count)]


@pytest.mark.parametrize(("eta", "upper"), [(0.0, 1.6), (2.0, 1.6), (2.0, 2.5), (10.0, 1.6)])
def test_accepted_points_have_the_law_of_the_density(eta, upper):
    points = [draw.point[0] for draw in accepted(eta, 2000, upper)]
    assert checks.law(points, distribution(eta)) > LEVEL


def test_this_test_rejects_a_rate_off_by_a_fifth_on_a_box():
    points = [draw.point[0] for draw in accepted(2.0, 4000)]
    assert checks.law(points, distribution(2.4)) < LEVEL


def test_a_false_bound_would_change_the_law_and_so_it_raises():
    """The twin that accepts with min(1, exp(η(score − upper))) cuts off what scores best."""
    rng = np.random.default_rng(13)
    proposals = rng.uniform(-1, 2, 40_000)
    kept = proposals[-np.log(rng.random(40_000)) >= 2.0 * (0.5 - bumps(proposals[:, None]))]
    assert checks.law(kept[:4000], distribution(2.0)) < LEVEL
    with pytest.raises(PrivacyRefusal, match=r"Nothing was drawn\. Certify the bound"):
        draw_by_rejection(bumps, ((-1, 2),), 2.0, 0.5, np.random.default_rng(13))


def test_a_bound_that_is_attained_is_one():
    flat = draw_by_rejection(lambda points: np.full(len(points), 0.7), ((0, 1), (0, 1)), 5.0, 0.7)
    assert flat.proposals == 1
    assert flat.point.shape == (2,)


def test_proposals_are_counted():
    """Each is accepted with probability mean exp(η(score − upper)), so that their number is geometric."""
    numbers = np.array([draw.proposals for draw in accepted(10.0, 2000)])
    grid = np.linspace(-1, 2, 20_001)
    chance = float(integrate.simpson(np.exp(10.0 * (bumps(grid[:, None]) - 1.6)), x=grid) / 3)
    assert checks.centre(numbers, 1 / chance, math.sqrt(1 - chance) / chance) > LEVEL
    assert numbers.min() < 256 < 1000 < numbers.max(), "within a block, and across several"


def test_a_draw_never_gives_up():
    """It did, after a million proposals: whether it does depends on the data, and is an outcome that nothing prices."""
    made = 0

    def score(points):
        nonlocal made
        made += len(points)
        return np.full(len(points), 0.0 if made > 1_100_000 else -700.0)

    draw = draw_by_rejection(score, ((0, 1),), 1.0, 0.0, np.random.default_rng(1))
    assert draw.proposals > 1_000_000
    assert 0 <= draw.point[0] <= 1


def test_points_of_people_lie_in_the_box():
    sides = ((-3, -2), (10, 20), (0, 1e-9))
    found = [draw_by_rejection(lambda points: -points[:, 1], sides, 0.3, -10.0).point for _ in range(30)]
    assert Box(sides).contains(np.array(found))
    assert len({point.tobytes() for point in found}) == 30


def test_huge_gaps_below_the_bound_do_not_overflow():
    def score(points):
        return np.where(points[:, 0] < 0.5, -1.7e308, 1.7e308)

    assert draw_by_rejection(score, ((0, 1),), 1e200, 1.7e308, np.random.default_rng(1)).point[0] >= 0.5


def test_a_score_that_writes_into_its_points_does_not_move_the_draw():
    def score(points):
        points[:] = -5.0
        return np.zeros(len(points))

    assert 0 <= draw_by_rejection(score, ((0, 1),), 1.0, 0.0).point[0] <= 1


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"box": ((1, 0),)}, "low < high"),
        ({"box": ()}, "box"),
        ({"eta": -1.0}, "eta"),
        ({"upper": math.inf}, "upper"),
        ({"upper": math.nan}, "upper"),
        ({"score": lambda points: points}, "one score per point"),
        ({"score": lambda points: 0.0}, "one score per point"),
        ({"score": lambda points: points[:, 0] * math.nan}, "NaN"),
    ],
)
def test_impossible_draws_from_a_box_are_refused(change, word):
    given = {"score": lambda points: points[:, 0], "box": ((0, 1),), "eta": 1.0, "upper": 1.0} | change
    with pytest.raises(BadInput, match=word):
        draw_by_rejection(**given)


# Exact draws ------------------------------------------------------------------------------------------------------


def given_words(*words):
    """These words, and no others."""
    left = list(words)

    def draw(count):
        found, left[:count] = np.array(left[:count], np.uint64), []
        assert len(found) == count
        return found

    return draw


def test_what_doubles_decide_of_a_place_is_what_whole_numbers_say():
    x = np.array([0.0, 0.5, 3.0, 0.25, 40.0, 0.1])
    words = np.random.default_rng(3).integers(0, 2**64, 400, dtype=np.uint64)
    places = [placed(x, given_words(word)) for word in words]
    assert places == [_placed_exactly(x, Uniform(int(word), given_words())) for word in words]
    assert len(set(places)) == 5


def test_a_number_between_two_candidates_is_placed_by_more_bits():
    """Two candidates of one weight: the border is ½, of three it is a third, and later bits tell on which side."""
    x, half = np.zeros(2), 2**63
    assert placed(x, given_words(half - 1, 0)) == 0
    assert placed(x, given_words(half, 2**64 - 1)) == 1
    third = 2**64 // 3
    assert placed(np.zeros(3), given_words(third, 0)) == 0
    assert placed(np.zeros(3), given_words(third, 2**64 - 1)) == 1


def test_a_candidate_of_hardly_any_weight_is_drawn_all_the_same():
    """e^−60 is below the last bit of a double in [0, 1): in whole numbers it has its share."""
    x = np.array([60.0, 0.0])
    share = int(np.exp(-60.0) * 2.0**128)
    assert placed(x, given_words(0, share - 2**20)) == 0
    assert placed(x, given_words(0, share + 2**20)) == 1


def test_live_draws_have_the_law():
    """Error level 1e-9: the operating system cannot be seeded. A rate a tenth too steep is rejected."""
    scores, count = np.array(SCORES), 20_000
    live = np.bincount([draw_candidate(scores, 1.5) for _ in range(count)], minlength=len(scores))
    assert checks.counts(live, probabilities(scores, 1.5)) > UNSEEDED_LEVEL
    steep = np.bincount([draw_candidate(scores, 1.65) for _ in range(count)], minlength=len(scores))
    assert checks.counts(steep, probabilities(scores, 1.5)) < UNSEEDED_LEVEL


def test_coins_of_a_rejection_are_decided_for_certain():
    x = np.array([0.7, 0.7, 5.0])
    edge = exp_bounds(Fraction(0.7), 64)[0]
    laid = iter([np.array([edge, edge, 0], np.uint64), np.array([0], np.uint64), np.array([2**64 - 1], np.uint64)])
    assert _kept(x, lambda count: next(laid)).tolist() == [True, False, True]
