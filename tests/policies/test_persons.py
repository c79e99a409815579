"""`person_rounds=k`: the noise that protects all rounds of a person, wherever they fall."""

import itertools
import math

import numpy as np
import pytest

import tacit
from tacit.privacy import PersonEvent, ToeplitzEvent, TreeEvent, Unit, price
from tacit.privacy.toeplitz import EIGHT_BUFFERS


def promise(**changes):
    return tacit.JointLinUCB(**({"dim": 5, "epsilon": 1.0, "delta": 1e-6} | changes))


#: Options of a schedule, then M_k for k = 2, 10, 30, and what half of their last digit is.
MULTIPLIERS = {
    "tree": ({"releases": "tree", "horizon": 10**5}, (1.970, 9.184, 26.22), (5e-4, 5e-4, 5e-3)),
    "toeplitz": ({"releases": "toeplitz", "horizon": 2**17 + 1}, (1.9322, 9.0402, 25.889), (5e-5, 5e-5, 5e-4)),
    "geometric": ({}, (2.0, 10.0, 30.0), (1e-9,) * 3),
    "geometric, spread": (
        {"views": 128, "one_row_per_segment": True},
        (1.872, 8.111, 21.50),
        (5e-4, 5e-4, 5e-3),
    ),
    "window": ({"window": 12}, (2.0, 10.0, 30.0), (1e-9,) * 3),
    "window, spread": (
        {"window": 12, "one_row_per_segment": True},
        (math.sqrt(2), math.sqrt(10), math.sqrt(30)),
        (1e-9,) * 3,
    ),
}
each_schedule = pytest.mark.parametrize("name", MULTIPLIERS)


def for_one_round(options):
    return promise(**{name: value for name, value in options.items() if name != "one_row_per_segment"})


@each_schedule
@pytest.mark.parametrize("place", range(3))
def test_noise_grows_by_the_listed_multiplier(name, place):
    options, listed, half_digit = MULTIPLIERS[name]
    rounds = (2, 10, 30)[place]
    person = promise(**options, person_rounds=rounds).plan()
    ratio = person.noise_scale / for_one_round(options).plan().noise_scale
    # Each scale carries the safety of the calibration: a few parts in a million.
    assert ratio == pytest.approx(listed[place], abs=half_digit[place] + 5e-6 * rounds)


@each_schedule
@pytest.mark.parametrize("rounds", [1, 2, 30])
def test_the_promise_is_the_same_and_is_made_to_a_person(name, rounds):
    options = MULTIPLIERS[name][0]
    config = promise(**options, person_rounds=rounds)
    guarantee = config.guarantee
    assert guarantee.unit == Unit.person(rounds)
    assert 1 - 1e-4 <= guarantee.epsilon <= 1.0
    assert guarantee.mu == pytest.approx(for_one_round(options).guarantee.mu, rel=1e-5)
    card = config.card()
    assert card.to_dict()["unit"] == f"one person with at most {rounds} round{'s' if rounds > 1 else ''}"
    assert card.keeps_its_claim is True
    assert "detects a changed person" in " ".join(card.text().split())
    said = " ".join(card.assumptions)
    assert f"at most {rounds} rows of a person are learned" in said
    assert ("at most one of them between two releases" in said) is bool(options.get("one_row_per_segment"))
    assert "The unit is the round" not in said


@each_schedule
def test_a_person_with_one_round_needs_the_noise_of_a_round(name):
    options = MULTIPLIERS[name][0]
    one = promise(**options, person_rounds=1).plan()
    assert one.noise_scale == pytest.approx(for_one_round(options).plan().noise_scale, rel=5e-6)


@each_schedule
def test_the_event_names_the_person_and_its_rule(name):
    options = MULTIPLIERS[name][0]
    event = promise(**options, person_rounds=7).plan().event
    assert isinstance(event, PersonEvent)
    assert (event.rounds, event.one_per_segment) == (7, bool(options.get("one_row_per_segment")))
    assert price(event) > price(event.event)


@each_schedule
def test_noise_for_a_round_breaks_the_promise_to_a_person(name):
    """The broken twin: the scale of one round, priced for two."""
    options = MULTIPLIERS[name][0]
    alone = for_one_round(options).plan().event
    twin = PersonEvent(alone, 2, one_per_segment=bool(options.get("one_row_per_segment")))
    assert not promise().promise.kept_by(price(twin))


def test_views_are_as_noisy_as_the_draws_and_the_width_knows_it():
    one, three = promise(width="theory").plan(), promise(width="theory", person_rounds=3).plan()
    for name in ("first view", "last view"):
        assert three.noise_scales[name] == pytest.approx(3 * one.noise_scales[name], rel=1e-5)
    np.testing.assert_allclose(three.params.estimate.regulariser, 3 * one.params.estimate.regulariser, rtol=1e-5)


# The worst placement ---------------------------------------------------------------------------------------------


def toeplitz_columns(size):
    distance = np.subtract.outer(np.arange(size), np.arange(size))
    return np.where(distance >= 0, EIGHT_BUFFERS.column_coefficients(size)[np.abs(distance)], 0.0)


def tree_columns(horizon):
    """C of the tree that is released: one row per row of data, the node that it closes."""
    rows = np.zeros((horizon - 1, horizon - 1))
    for row in range(1, horizon):
        rows[row - 1, row - (row & -row) : row] = 1.0
    return rows


def move(columns, rows):
    """Of all releases together when these rows are replaced, each by one unit in the same direction."""
    return np.linalg.norm(columns[:, list(rows)].sum(axis=1))


EVERY_ROW = ToeplitzEvent(1.0, 1.0, 64, EIGHT_BUFFERS, "one")
DENSE = {
    "toeplitz": (toeplitz_columns(64), lambda k: price(PersonEvent(EVERY_ROW, k))),
    "tree": (tree_columns(65), lambda k: price(PersonEvent(TreeEvent(1.0, 1.0, 7), k))),
}


@pytest.mark.parametrize("design", DENSE)
@pytest.mark.parametrize("rounds", [2, 3, 10, 30])
def test_no_placement_of_a_persons_rows_exceeds_the_price(design, rounds):
    """A thousand random placements and all bursts: none above the burst at the start, and that one within the price."""
    columns, price_of = DENSE[design]
    rng = np.random.default_rng(26)
    placements = [rng.choice(64, rounds, replace=False) for _ in range(1000)]
    placements += [range(start, start + rounds) for start in range(64 - rounds + 1)]
    burst = move(columns, range(rounds))
    assert max(move(columns, rows) for rows in placements) <= burst * (1 + 1e-12)
    assert burst <= price_of(rounds) * (1 + 1e-12)


@pytest.mark.parametrize("design", DENSE)
def test_of_all_placements_of_three_rows_none_exceeds_the_burst(design):
    columns, price_of = DENSE[design]
    gram = columns.T @ columns
    worst = 0.0
    for i, j, k in itertools.combinations(range(64), 3):
        pairs = gram[i, j] + gram[i, k] + gram[j, k]
        worst = max(worst, gram[i, i] + gram[j, j] + gram[k, k] + 2 * pairs)
    assert math.sqrt(worst) == pytest.approx(move(columns, range(3)), rel=1e-12)
    assert math.sqrt(worst) <= price_of(3) * (1 + 1e-12)


@pytest.mark.parametrize("rounds", [2, 10, 30])
def test_the_toeplitz_price_is_the_burst_itself_and_the_trees_a_bound_a_few_percent_above(rounds):
    assert DENSE["toeplitz"][1](rounds) == pytest.approx(move(DENSE["toeplitz"][0], range(rounds)), rel=1e-12)
    columns = tree_columns(2**10)
    slack = price(PersonEvent(TreeEvent(1.0, 1.0, 10), rounds)) / move(columns, range(rounds))
    assert 1 <= slack < 1.04


def test_a_person_cannot_own_more_rows_than_a_tree_has():
    whole_tree = price(PersonEvent(TreeEvent(1.0, 1.0, 6), 64))
    assert price(PersonEvent(TreeEvent(1.0, 1.0, 6), 10**9)) == whole_tree
    assert move(tree_columns(64), range(63)) <= whole_tree


@pytest.mark.parametrize("rounds", [2, 5])
def test_a_burst_inside_one_segment_costs_what_geometric_releases_are_priced_at(rounds):
    """Any number of rows may share a segment: k rows in the first one move it by k."""
    event = ToeplitzEvent(1.0, 1.0, 64, EIGHT_BUFFERS, "many")
    assert rounds * move(toeplitz_columns(64), [0]) == pytest.approx(price(PersonEvent(event, rounds)), rel=1e-12)
    spread = price(PersonEvent(event, rounds, one_per_segment=True))
    assert spread == pytest.approx(move(toeplitz_columns(64), range(rounds)), rel=1e-12)


# In a learner ----------------------------------------------------------------------------------------------------


@each_schedule
def test_the_rows_of_one_person_are_no_more_than_was_priced(name):
    """However often a person comes: at most three rows are learned, and in a segment at most one if so configured."""
    options = MULTIPLIERS[name][0] | {"dim": 2, "epsilon": 50.0, "delta": 0.1, "person_rounds": 3}
    learner = promise(**options).start(seed=1)
    learned, sums = [], learner._session.vault.sums
    for _ in range(100):
        stage, dropped = int(learner.view.stage[0]), learner.diagnostics().dropped
        learner.learn([1.0, 0.0], 1.0, person="a")
        if learner.diagnostics().dropped == dropped:
            learned.append(stage)
    assert len(learned) == 3
    assert learner.diagnostics().rows == 100  # the clock runs on
    if options.get("one_row_per_segment"):
        assert len(set(learned)) == 3
    if "window" not in name:
        assert sums[0] == 3.0  # Σ x_1², of all rows that were ever summed
