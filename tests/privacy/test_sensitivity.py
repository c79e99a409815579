"""The replace-one sensitivities that events are recorded with, by random search and by the pairs that attain them."""

import math

import numpy as np
import pytest

import tacit
from tacit.errors import BadInput
from tacit.privacy import GaussianEvent, gdp, price
from tacit.privacy.sensitivity import gram_sensitivity, private_radius, report_sensitivity


def row(x: np.ndarray, y: float) -> np.ndarray:
    joined = np.append(x, y)
    return np.outer(joined, joined)


def normalised(change: np.ndarray, *, corner: bool = True, diagonal_variance: float = 2.0) -> float:
    """Length of a symmetric change in units of symmetric noise: variance 1 off the diagonal, as given on it."""
    square = np.sum(np.triu(change, 1) ** 2) + np.sum(np.diag(change) ** 2) / diagonal_variance
    if not corner:
        square -= change[-1, -1] ** 2 / diagonal_variance
    return math.sqrt(square)


def random_rows(rng: np.random.Generator, count: int, dim: int, length: float, bound: float):
    for _ in range(count):
        x = rng.standard_normal(dim)
        # Extremes lie on the boundary; a few rows inside keep the search honest.
        x *= length * rng.choice([1.0, 1.0, rng.random()]) / np.linalg.norm(x)
        yield row(x, bound * rng.choice([-1.0, 1.0, rng.uniform(-1, 1)]))


@pytest.mark.parametrize(("length", "bound"), [(1.0, 1.0), (1.0, 0.5), (2.0, 1.0), (1.0, 3.0)])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_no_pair_of_rows_exceeds_the_normalised_sensitivity(length, bound, dim):
    rng = np.random.default_rng(7)
    limit = length**2 + bound**2
    rows = list(random_rows(rng, 300, dim, length, bound))
    worst = max(normalised(a - b) for a in rows for b in rows[:60])
    assert worst <= limit * (1 + 1e-12)
    assert worst > 0.5 * limit


def test_orthogonal_rows_attain_it():
    a, b = row(np.array([1.0, 0.0]), 1.0), row(np.array([1.0, 0.0]), -1.0)
    assert normalised(a - b) == pytest.approx(2.0)
    assert np.linalg.norm(a - b) == pytest.approx(math.sqrt(2) * 2)


@pytest.mark.parametrize("bound", [0.3, 0.8, 1.0])
def test_leaving_out_the_corner_changes_nothing_while_the_reward_bound_is_at_most_the_context_bound(bound):
    angle = math.acos(bound**2)
    a, b = row(np.array([1.0, 0.0]), bound), row(np.array([math.cos(angle), math.sin(angle)]), -bound)
    assert normalised(a - b, corner=False) == pytest.approx(1 + bound**2, rel=1e-12)


def test_leaving_out_the_corner_helps_when_the_reward_bound_is_larger():
    rng = np.random.default_rng(8)
    rows = list(random_rows(rng, 400, 2, 1.0, 3.0))
    assert max(normalised(a - b, corner=False) for a in rows for b in rows[:80]) < 0.75 * (1 + 9)


def test_a_row_replaced_by_nothing_costs_less():
    a = row(np.array([0.6, 0.8]), 1.0)
    assert normalised(a) == pytest.approx(2.0 / math.sqrt(2))


def test_single_variance_on_the_diagonal_is_the_root_two_trap():
    # Broken twin: the same rows against noise whose diagonal variance was not doubled.
    a, b = row(np.array([1.0, 0.0]), 0.0), row(np.array([0.0, 1.0]), 0.0)
    honest, trapped = normalised(a - b), normalised(a - b, diagonal_variance=1.0)
    assert honest == pytest.approx(1.0)
    assert trapped == pytest.approx(math.sqrt(2))
    sigma = 1 / gdp.mu_for(1.0, 1e-5)
    assert gdp.epsilon_at(price(GaussianEvent(sigma, trapped)), 1e-5) > 1.4
    assert gdp.epsilon_at(price(GaussianEvent(sigma, honest)), 1e-5) <= 1.0 + 1e-12


# Rows of any weight, in sums that are kept apart by arm: counters/sensitivity.md --------------------------------------


def image(arm: int, z: np.ndarray, y: float, scale: float, arms: int = 2) -> np.ndarray:
    """What a row adds to the sums of all arms, in the unit of symmetric noise."""
    found = np.zeros((arms, len(z) ** 2 + len(z)))
    found[arm] = np.append(np.outer(z, z).ravel() / math.sqrt(2), scale * y * z)
    return found.ravel()


def configured(weight: float, length: float = 1.0, reach: float = 0.5) -> tacit.JointLinUCB:
    return tacit.JointLinUCB(
        arms=2, dim=3, epsilon=1.0, delta=1e-6, reward_weight=weight, action_norm=length, reward_high=2 * reach
    )


@pytest.mark.parametrize("weight", [0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0])
@pytest.mark.parametrize(("length", "reach"), [(1.0, 0.5), (2.0, 3.0)])
def test_no_two_rows_of_any_arms_lie_further_apart_than_the_sensitivity(
    weight: float, length: float, reach: float
) -> None:
    config, rng = configured(weight, length, reach), np.random.default_rng(3)
    assert config.sensitivity == pytest.approx(
        length**2 * math.sqrt(max(1 + weight + weight**2 / 4, 0) if weight <= 2 else 2 * weight)
    )
    worst = {True: 0.0, False: 0.0}
    for _ in range(4000):
        # Two rows at a random angle, most of them as long as they may be; rewards at the ends or within.
        angle, sizes = rng.uniform(0, math.pi), length * np.where(rng.random(2) < 0.7, 1.0, rng.random(2))
        one, two = np.array([1.0, 0, 0]) * sizes[0], np.array([math.cos(angle), math.sin(angle), 0]) * sizes[1]
        rewards = reach * np.where(rng.random(2) < 0.7, rng.choice([-1.0, 1.0], 2), rng.uniform(-1, 1, 2))
        arms = rng.integers(2, size=2)
        apart = image(arms[0], one, rewards[0], config.reward_scale) - image(
            arms[1], two, rewards[1], config.reward_scale
        )
        same = bool(arms[0] == arms[1])
        worst[same] = max(worst[same], float(np.linalg.norm(apart)))
    assert max(worst.values()) <= config.sensitivity * (1 + 1e-12)
    assert worst[True] > 0.97 * config.sensitivity
    assert worst[False] == pytest.approx(length**2 * math.sqrt(1 + weight), rel=0.05)
    assert worst[False] <= length**2 * math.sqrt(1 + weight) * (1 + 1e-12)


@pytest.mark.parametrize("weight", [0.25, 1.0, 2.0, 3.0])
def test_one_arm_opposite_rewards_and_cosine_half_q_attain_it(weight: float) -> None:
    config = configured(weight)
    cosine = min(1.0, weight / 2)
    one, two = np.array([1.0, 0, 0]), np.array([cosine, math.sqrt(1 - cosine**2), 0])
    apart = image(0, one, 0.5, config.reward_scale) - image(0, two, -0.5, config.reward_scale)
    assert np.linalg.norm(apart) == pytest.approx(config.sensitivity, rel=1e-12)
    # What two arms weigh is less: noise for them alone would not do.
    assert math.sqrt(1 + weight) < 0.995 * config.sensitivity


def hybrid_image(arm: int, w: np.ndarray, y: float, scale: float, shared: int) -> np.ndarray:
    """The same where the first numbers of a row are features of the action: blocks of two arms, what stands beside
    them, and the block that both have in common."""
    u, z, root = w[:shared], w[shared:], math.sqrt(2)
    found, own = np.zeros((2, len(z) ** 2 + len(z) * shared + len(z))), [np.outer(z, z).ravel() / root, np.outer(z, u)]
    found[arm] = np.concatenate([own[0], own[1].ravel(), scale * y * z])
    return np.concatenate([found.ravel(), np.outer(u, u).ravel() / root, scale * y * u])


@pytest.mark.parametrize("weight", [0.25, 1.0, 2.0, 3.0])
def test_no_two_rows_with_a_part_in_common_lie_further_apart(weight: float) -> None:
    """Of one arm or of two, whatever share of them is features: neither weighs more than the worst pair of one arm, and
    both come as close to it as a search does. A row by itself weighs what it did."""
    config, rng, shared = configured(weight), np.random.default_rng(6), 2
    worst = {True: 0.0, False: 0.0}
    for _ in range(3000):
        share = rng.choice([0.3, 0.7, 1.0, rng.random()])
        rows = []
        for _ in range(2):
            u, z = rng.standard_normal(shared), rng.standard_normal(2)
            if rng.random() < 0.5 and rows:  # features at a small angle to those of the other row
                u = rows[0][:shared] + 0.3 * rng.random() * u
            u, z = share * u / max(np.linalg.norm(u), 1e-9), math.sqrt(1 - share**2) * z / np.linalg.norm(z)
            rows.append(np.append(u, z) * (1.0 if rng.random() < 0.7 else rng.random()))
        rewards = 0.5 * np.where(rng.random(2) < 0.8, rng.choice([-1.0, 1.0], 2), rng.uniform(-1, 1, 2))
        arms = rng.integers(2, size=2)
        one, two = (
            hybrid_image(int(arm), w, y, config.reward_scale, shared)
            for arm, w, y in zip(arms, rows, rewards, strict=True)
        )
        alone = math.sqrt(rows[0] @ rows[0] * (rows[0] @ rows[0] / 2 + (config.reward_scale * rewards[0]) ** 2))
        assert math.isclose(np.linalg.norm(one), alone, rel_tol=1e-12)
        same = bool(arms[0] == arms[1])
        worst[same] = max(worst[same], float(np.linalg.norm(one - two)))
    assert max(worst.values()) <= config.sensitivity * (1 + 1e-12)
    assert min(worst.values()) > 0.97 * config.sensitivity
    if weight >= 1:  # what two arms without a part in common weigh would not do
        assert worst[False] > 1.005 * math.sqrt(1 + weight)


@pytest.mark.parametrize("weight", [0.25, 1.0, 2.0, 3.0])
def test_a_row_that_only_comes_or_goes_weighs_at_most_one_by_root_two_of_it(weight: float) -> None:
    config = configured(weight)
    alone = np.linalg.norm(image(0, np.array([1.0, 0, 0]), 0.5, config.reward_scale))
    assert alone == pytest.approx(math.sqrt((1 + weight) / 2))
    assert alone <= config.sensitivity / math.sqrt(2) * (1 + 1e-12)


@pytest.mark.parametrize("weight", [0.5, 1.0, 2.0, 3.0])
def test_rows_that_come_at_other_times_and_of_other_arms_weigh_no_more(weight: float) -> None:
    """One row, and three rows of one person, in discounted sums, also where rewards weigh more than contexts."""
    config, rng, releases = configured(weight), np.random.default_rng(4), 6
    encoder = np.array([[0.8 ** (k - j) if k >= j else 0.0 for j in range(releases)] for k in range(releases)])
    longest = np.linalg.norm(encoder, axis=0).max()

    def rows(count: int, reward: float) -> np.ndarray:
        found = np.zeros((releases, 2 * 12))
        for _ in range(count):
            z = np.append(rng.standard_normal(2), 0.0)
            row = image(int(rng.integers(2)), z / np.linalg.norm(z), reward, config.reward_scale)
            found += np.multiply.outer(encoder[:, rng.integers(releases)], row)
        return found

    for count in (1, 3):
        for _ in range(1500):
            apart = rows(count, 0.5) - rows(int(rng.integers(count + 1)), -0.5)
            assert np.linalg.norm(apart) <= count * longest * config.sensitivity * (1 + 1e-12)


def test_gram_and_vector_released_side_by_side_have_sensitivity_root_four_and_a_half():
    def side_by_side(c: float, y: float, other: float) -> float:
        return math.sqrt(2 * (1 - c * c) + y * y + other * other - 2 * c * y * other)

    worst = max(side_by_side(c, y, -1.0) for c in np.linspace(-1, 1, 401) for y in (-1.0, 0.0, 1.0))
    assert worst == pytest.approx(math.sqrt(4.5), rel=1e-12)


# Reports of one person -------------------------------------------------------------------------------------------

HALF = math.sqrt(0.5)

#: norm bound, rewards from and to, public constants; each is a way people declare their bounds.
BOUNDS = [
    (1.0, -1.0, 1.0, ()),
    (1.0, 0.0, 1.0, ()),
    (1.0, 0.0, 1.0, (HALF,)),
    (1.0, -0.5, 0.5, (HALF,)),
    (2.0, -0.5, 3.0, (0.3, -0.4)),
    (0.1, -1.0, 1.0, ()),
    (3.0, 1.0, 2.0, (2.5,)),
    (1.0, -2.0, -1.0, (0.2, 0.1, 0.3)),
]


def person_rows(v, constants, y):
    """Reports (x, y), one per row, without the public coordinates, which are equal on both sides."""
    return np.column_stack([v, y])


def person_grams(v, constants, y):
    """Upper triangles of x xᵀ, then x·y, one report per row."""
    x = np.column_stack([v, np.tile(constants, (len(v), 1))])
    above = np.triu_indices(x.shape[1])
    return np.column_stack([x[:, above[0]] * x[:, above[1]], x * y[:, None]])


def worst_pair(reports, case, *, dim=3, starts=2000, steps=60):
    """The longest change that a random search with refinement finds, over many starts at once.

    Most trials are on the boundary, where extremes lie; some inside keep the search honest.
    """
    norm, low, high, constants = case
    radius = private_radius(norm, constants)
    rng = np.random.default_rng(11)
    pairs = rng.standard_normal((2, starts, dim))
    ends = rng.choice([low, high], (2, starts))
    best, size = np.zeros(starts), 1.0
    for _ in range(steps):
        trial = pairs + size * rng.standard_normal(pairs.shape)
        length = np.linalg.norm(trial, axis=2, keepdims=True)
        trial *= np.where(rng.random(length.shape) < 0.2, np.minimum(1.0, radius / length), radius / length)
        rewards = np.where(rng.random(ends.shape) < 0.1, rng.uniform(low, high, ends.shape), ends)
        here, there = (reports(v, constants, y) for v, y in zip(trial, rewards, strict=True))
        change = np.linalg.norm(here - there, axis=1)
        better = change > best
        best[better], pairs[:, better] = change[better], trial[:, better]
        size *= 0.88
    return best.max()


@pytest.mark.parametrize("case", BOUNDS, ids=str)
def test_no_pair_of_reports_is_further_apart_than_its_sensitivity_and_some_pair_is_as_far(case):
    norm, low, high, constants = case
    radius = private_radius(norm, constants)
    for report, limit in (
        (person_rows, report_sensitivity(radius, low, high)),
        (person_grams, gram_sensitivity(radius, low, high, constants)),
    ):
        found = worst_pair(report, case)
        assert found <= limit * (1 + 1e-12)
        assert found >= limit * (1 - 1e-3)


def test_the_search_rejects_a_sensitivity_that_forgets_the_products_with_constants():
    # Broken twin: the products of private and public coordinates left out.
    case = (1.0, 0.0, 1.0, (HALF,))
    radius = private_radius(1.0, (HALF,))
    assert worst_pair(person_grams, case) > gram_sensitivity(radius, 0.0, 1.0) * 1.05


@pytest.mark.parametrize(
    ("square", "listed"),
    [
        (lambda: report_sensitivity(1.0, -1.0, 1.0) ** 2, 8.0),
        (lambda: report_sensitivity(1.0, 0.0, 1.0) ** 2, 5.0),
        (lambda: report_sensitivity(private_radius(1.0, (HALF,)), 0.0, 1.0) ** 2, 3.0),
        (lambda: gram_sensitivity(1.0, -1.0, 1.0) ** 2, 4.5),
        (lambda: gram_sensitivity(1.0, -1.0, 1.0, ()) ** 2, 4.5),
    ],
)
def test_listed_sensitivities_of_reports(square, listed):
    assert square() == pytest.approx(listed, rel=1e-14)


def test_a_wider_bound_is_never_less_sensitive():
    rng = np.random.default_rng(3)
    for _ in range(200):
        radius, low, width, c = rng.uniform(0.05, 2), rng.uniform(-2, 2), rng.uniform(0.01, 2), rng.uniform(0, 2)
        more = rng.uniform(1, 2)
        one = gram_sensitivity(radius, low, low + width, (c,))
        assert gram_sensitivity(radius * more, low, low + width, (c,)) >= one
        assert gram_sensitivity(radius, low - more, low + width, (c,)) >= one
        assert gram_sensitivity(radius, low, low + width + more, (c,)) >= one


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: private_radius(1.0, (0.6, 0.8)), "nothing is left"),
        (lambda: private_radius(1.0, (2.0,)), "larger action_norm"),
        (lambda: private_radius(0.0, ()), "action_norm"),
        (lambda: private_radius(1.0, (math.nan,)), "constants"),
        (lambda: private_radius(1.0, "0.5"), "constants"),
        (lambda: private_radius(1.0, 0.5), "constants"),
        (lambda: report_sensitivity(0.0, -1.0, 1.0), "radius"),
        (lambda: report_sensitivity(1.0, 1.0, 1.0), "reward_low < reward_high"),
        (lambda: gram_sensitivity(1.0, 1.0, -1.0), "reward_low < reward_high"),
        (lambda: gram_sensitivity(1.0, -1.0, math.inf), "reward_high"),
    ],
)
def test_impossible_bounds_are_refused(build, word):
    with pytest.raises(BadInput, match=word):
        build()
