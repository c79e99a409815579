"""Whole numbers drawn exactly: what doubles decide is what whole-number arithmetic says, and the laws are as stated.

Numbers from the operating system cannot be fixed by a seed: such checks reject a right law once in 10⁹.
"""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from tacit.errors import BadInput
from tacit.noise import Binomial, DiscreteGaussian, DiscreteLaplace, fill_normals, refill, tape
from tacit.noise import discrete as room
from tacit.noise.coins import ERROR, FAR, WHOLES, Uniform, exp_bounds, exp_minus, falls, random_words, seeded_words
from tests.statistics import checks
from tests.statistics.checks import UNSEEDED_LEVEL

COUNT = 40_000


def given(*words):
    """Draws these words, in this order, and no others."""
    left = list(words)

    def draw(count):
        found, left[:count] = np.array(left[:count], np.uint64), []
        assert len(found) == count, "no more words were expected to be drawn"
        return found

    return draw


# Coins ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [10, 64, 300])
def test_whole_bounds_hold_e_to_the_minus_x_between_them(bits):
    with mpmath.workprec(2000):
        for x in [Fraction(0), Fraction(1), Fraction(1, 10**9), Fraction(371, 100), Fraction(2001, 7), Fraction(10**6)]:
            low, high = exp_bounds(x, bits)
            truth = mpmath.mpf(2) ** bits * mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
            assert low <= truth <= high
            assert high - low <= 2


def test_doubles_are_within_their_error_of_e_to_the_minus_x():
    rng = np.random.default_rng(5)
    edges = [0.0, 5e-324, 1 / 64, np.nextafter(1 / 64, 0), 1.0, np.nextafter(1.0, 0), np.nextafter(FAR, 0), FAR, 1e300]
    with mpmath.workprec(200):
        off = [
            abs(exp_minus(x) - mpmath.exp(-mpmath.mpf(x))) for x in [*edges, *FAR * rng.random(3000), *rng.random(3000)]
        ]
    assert max(off) < 2.0**-49
    assert ERROR >= 8 * 2.0**-49


def test_a_number_close_to_the_chance_is_not_decided_in_doubles():
    chance = exp_minus(0.7)
    at = int(chance * 2.0**64)
    assert falls(np.uint64(at), chance) == -1
    assert falls(np.uint64(at - int(1.01 * ERROR * 2.0**64)), chance) == 1
    assert falls(np.uint64(at + int(1.01 * ERROR * 2.0**64)), chance) == 0


@pytest.mark.parametrize(("more", "below"), [(0, True), (2**64 - 1, False)])
def test_more_bits_decide_what_the_first_ones_leave_open(more, below):
    """The first 64 bits of e^−0.7 itself: the next 64 say on which side a number lies."""
    first = exp_bounds(Fraction(7, 10), 64)[0]
    uniform = Uniform(first, given(more))
    assert uniform.below_exp(Fraction(7, 10)) is below
    assert uniform.bits == 128


# Gaussian and Laplace -------------------------------------------------------------------------------------------------

LAWS = [
    DiscreteGaussian(0.3),
    DiscreteGaussian(1.5),
    DiscreteGaussian(1234.567),
    DiscreteGaussian(2.0**40 + 0.25),
    DiscreteLaplace(1),
    DiscreteLaplace(7),
    DiscreteLaplace(2**43 + 1),
]


def parts(law):
    """t, s and the centre, as the kernel is given them."""
    gaussian = isinstance(law, DiscreteGaussian)
    top, scale = (int(law.scale) + 1, law.scale) if gaussian else (law.scale, 0.0)
    return top, scale, float(Fraction(scale) ** 2 / top)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_what_doubles_decide_is_what_whole_numbers_say(law):
    top, scale, centre = parts(law)
    words = np.random.default_rng(3).integers(0, 2**64, (1500, 4), dtype=np.uint64)
    words[:200, 2] >>= np.uint64(30)  # V large
    decided = kept = 0
    for row in words:
        found = room._proposed(row, 0, top, scale, centre)
        if found == room._UNDECIDED:
            continue
        decided += 1
        exactly = room.proposed_exactly(law, top, row, given())
        assert np.isnan(found) if exactly is None else found == exactly
        kept += exactly is not None
    assert decided >= 1490
    assert kept >= 100


def test_numbers_that_would_come_once_too_often_are_rejected():
    """2⁵³ is no multiple of t: what is left over would make the first few numbers likelier than the others."""
    top = 2**43 + 1
    for number, kept in ((2**53 // top * top, False), (2**53 // top * top - top, True)):
        words = np.array([number << 11, 0, 2**63, 0], np.uint64)
        assert np.isnan(room._proposed(words, 0, top, 0.0, 0.0)) != kept
        assert (room.proposed_exactly(DiscreteLaplace(top), top, words, given()) is None) != kept


def test_an_undecided_proposal_is_decided_by_more_bits():
    law = DiscreteLaplace(8)
    edge = exp_bounds(Fraction(3, 8), 64)[0]  # U = 3 is kept below e^−3/8
    words = np.array([3 << 11, edge, 2**63, 0], np.uint64)
    assert room._proposed(words, 0, 8, 0.0, 0.0) == room._UNDECIDED
    assert room.proposed_exactly(law, 8, words, given(0)) == 3
    assert room.proposed_exactly(law, 8, words, given(2**64 - 1)) is None
    laid = iter([words, np.array([0], np.uint64)])
    assert law.draw(1, lambda count: next(laid)[:count]) == [3.0]


def test_tails_have_no_end_in_doubles():
    """A leading word of zeros is undecided; bit by bit it may be anything: here V = 70, a number of 9e-31."""
    words = np.array([0, 0, 0, 0], np.uint64)
    assert room._proposed(words, 0, 1, 0.0, 0.0) == room._UNDECIDED
    low = exp_bounds(Fraction(70), 128)[0] - 1
    assert room.proposed_exactly(DiscreteLaplace(1), 1, words, given(low & (2**64 - 1))) == 70


def pmf(law, values):
    if isinstance(law, Binomial):
        return stats.binom.pmf(values, law.trials, law.chance)
    exponent = values**2 / (2 * law.scale**2) if isinstance(law, DiscreteGaussian) else np.abs(values) / law.scale
    far = np.arange(-2000, 2001)
    every = far**2 / (2 * law.scale**2) if isinstance(law, DiscreteGaussian) else np.abs(far) / law.scale
    return np.exp(-exponent) / np.exp(-every).sum()


def fit(draws, law):
    """Pearson's χ² of a sample against a law, values with an expectation below 20 put together."""
    low, high = int(draws.min()), int(draws.max())
    values = np.arange(low, high + 1)
    chances = pmf(law, values.astype(float))
    observed = np.bincount((draws - low).astype(int), minlength=len(values))
    big = chances * len(draws) >= 20
    counts = np.append(observed[big], observed[~big].sum())
    return checks.counts(counts, np.append(chances[big], max(1 - chances[big].sum(), 1e-12)))


NARROW = [
    DiscreteGaussian(0.3),
    DiscreteGaussian(0.7),
    DiscreteGaussian(30.0),
    DiscreteLaplace(1),
    DiscreteLaplace(20),
    Binomial(1, 0.5),
    Binomial(37, 0.25),
    Binomial(2000, 0.5),
    Binomial(40_000, 0.25),
]


@pytest.mark.parametrize("law", NARROW, ids=str)
def test_draws_follow_their_law(law):
    assert fit(law.draw(COUNT), law) > UNSEEDED_LEVEL


@pytest.mark.parametrize("law", [law for law in NARROW if law.deviation > 20], ids=str)
def test_the_fit_rejects_a_twentieth_less_noise(law):
    less = law.scaled(0.95)
    moved = round((law.trials - less.trials) * law.chance) if isinstance(law, Binomial) else 0
    assert fit(less.draw(5 * COUNT) + moved, law) < UNSEEDED_LEVEL


@pytest.mark.parametrize("law", [DiscreteGaussian(2.0**40), DiscreteGaussian(1.0e9 / 3)], ids=str)
def test_wide_noise_is_normal_to_the_eye_and_whole_and_its_scale_is_right_to_two_parts_in_a_hundred(law):
    draws = law.draw(5 * COUNT)
    assert (draws == np.rint(draws)).all()
    assert checks.law(draws / law.scale, checks.normal) > UNSEEDED_LEVEL
    assert checks.scale(draws, law.scale) > UNSEEDED_LEVEL
    assert checks.scale(law.scaled(0.98).draw(5 * COUNT), law.scale) < UNSEEDED_LEVEL


def test_signs_sizes_and_neighbours_are_unrelated():
    draws = DiscreteGaussian(2.0**40).draw(COUNT)
    assert checks.unrelated(draws[:-1], draws[1:]) > UNSEEDED_LEVEL
    assert checks.unrelated(np.sign(draws), np.abs(draws) - np.abs(draws).mean()) > UNSEEDED_LEVEL


# Binomial -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "chance"), [(1, 0.5), (16, 0.25), (1024, 0.5)])
def test_tables_give_what_whole_numbers_say(size, chance):
    thresholds = room._thresholds(size, chance)
    for word in np.random.default_rng(2).integers(0, 2**64, 300, dtype=np.uint64):
        if word not in thresholds:
            assert np.searchsorted(thresholds, word, "right") == room.successes_exactly(size, chance, word, given())


def test_a_word_on_a_threshold_is_decided_by_more_bits():
    size, chance = 1024, 0.5
    word = int(room._thresholds(size, chance)[500])  # 2⁶⁴·P(at most 500) rounded down
    assert room.successes_exactly(size, chance, word, given(0)) == 500
    assert room.successes_exactly(size, chance, word, given(2**64 - 1)) == 501
    laid = iter([np.array([word], np.uint64), np.array([0], np.uint64)])
    assert Binomial(size, chance).draw(1, lambda count: next(laid)) == [500.0]


def test_no_trials_are_no_successes():
    assert (Binomial(0, 0.5).draw(5, given()) == 0).all()


# Use ------------------------------------------------------------------------------------------------------------------


def test_a_tape_of_whole_numbers_is_read_once_and_never_repeated():
    source, law, out = tape(50, 1), DiscreteGaussian(2.0**40), np.empty(50)
    seen = []
    for _ in range(3):
        refill(source, 50, 0, law)
        fill_normals(source, out)
        seen.append(out.copy())
        assert np.isnan(source.normals).all()
        assert (out == np.rint(out)).all()
        with pytest.raises(RuntimeError, match="refusing to reuse"):
            fill_normals(source, out[:1])
    assert np.unique(seen).size == 150  # of 10¹³ numbers two are equal with a probability of 10⁻⁹


def test_words_of_a_seed_repeat_and_others_do_not():
    law = DiscreteGaussian(1000.0)
    assert (law.draw(30, seeded_words(1, 2)) == law.draw(30, seeded_words(1, 2))).all()
    assert (law.draw(30, seeded_words(1, 2)) != law.draw(30, seeded_words(1, 3))).any()
    words = seeded_words(7)
    assert len(np.unique(np.concatenate([words(count) for count in (1, 5, 4, 3)]))) == 13
    assert (random_words(4) != random_words(4)).all()


@pytest.mark.parametrize("scale", [0.0, -1.0, 2.0**44.1, float("nan")])
@pytest.mark.parametrize("law", [DiscreteGaussian, DiscreteLaplace])
def test_scales_that_doubles_cannot_hold_are_refused(law, scale):
    with pytest.raises(BadInput, match=r"at most 2\*\*44 steps"):
        law(scale)


def test_laws_that_have_no_table_are_refused():
    with pytest.raises(BadInput, match="whole number of steps"):
        DiscreteLaplace(2.5)
    with pytest.raises(BadInput, match="chance of 1/2 or 1/4"):
        Binomial(3, 0.3)
    with pytest.raises(BadInput, match=r"at most 2\*\*40 trials"):
        Binomial(2**41, 0.5)


def test_a_draw_that_cannot_be_is_not_used(monkeypatch):
    monkeypatch.setattr(
        room, "_fill", lambda words, at, top, scale, centre, out, done: (out.fill(2**52), (4, len(out)))[1]
    )
    with pytest.raises(RuntimeError, match="sampler is broken"):
        DiscreteGaussian(100.0).draw(3)


def test_the_table_of_whole_exponents_is_rounded_once():
    assert all(WHOLES[n] == float(mpmath.exp(-n)) for n in range(len(WHOLES)))
