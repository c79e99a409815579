"""Prices of events: listed values, dense matrices, an independent accountant, and refusals."""

import itertools
import json
import math
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import dp_accounting
import numpy as np
import pytest
from dp_accounting import pld

from tacit.errors import BadInput, UnknownEvent
from tacit.privacy import (
    Event,
    ExactRelease,
    GaussianEvent,
    NothingReleased,
    PersonEvent,
    SegmentsEvent,
    ToeplitzEvent,
    Together,
    TreeEvent,
    gdp,
    price,
    price_for_person,
)
from tacit.privacy.toeplitz import EIGHT_BUFFERS, Design

TREE = TreeEvent(scale=3.0, sensitivity=2.0, nodes=17)
EVERY_ROW = ToeplitzEvent(3.0, 2.0, 2**17, EIGHT_BUFFERS, "one")
GEOMETRIC = ToeplitzEvent(3.0, 2.0, 128, EIGHT_BUFFERS, "many")
SEGMENTS = SegmentsEvent(3.0, 2.0)
ONE = GaussianEvent(4.0, 1.0)
EVENTS = [
    TREE,
    EVERY_ROW,
    GEOMETRIC,
    SEGMENTS,
    ONE,
    NothingReleased(),
    ExactRelease("the sums"),
    Together((TREE, ONE)),
    PersonEvent(GEOMETRIC, 5, one_per_segment=True),
]


def ratio(event: Event, rounds: int, **rule: bool) -> float:
    return price(PersonEvent(event, rounds, **rule)) / price(event)


def tree_nodes(levels: int) -> np.ndarray:
    """One row per node of the lowest `levels` levels over 2^levels leaves: which leaves it sums."""
    size = 2**levels
    return np.array(
        [
            [start <= leaf < start + 2**level for leaf in range(size)]
            for level in range(levels)
            for start in range(0, size, 2**level)
        ],
        dtype=float,
    )


def test_each_price_is_its_formula():
    assert price(TREE) == pytest.approx(2 * math.sqrt(17) / 3)
    assert price(GEOMETRIC) == pytest.approx(math.sqrt(2.598507) * 2 / 3, rel=1e-6)
    assert price(SEGMENTS) == pytest.approx(2 / 3)
    assert price(ONE) == pytest.approx(0.25)
    assert price(NothingReleased()) == 0.0
    assert price(ExactRelease("the sums")) == math.inf


def test_a_tree_of_q_levels_costs_the_longest_column_of_its_nodes():
    for levels in (1, 3, 5):
        longest = np.linalg.norm(tree_nodes(levels), axis=0).max()
        assert price(TreeEvent(1.0, 1.0, levels)) == pytest.approx(longest)


@pytest.mark.parametrize(
    ("power", "all_nodes", "released"),
    [(7, 7.48, 7.0), (10, 10.49, 10.0), (14, 14.49, 14.0), (17, 17.49, 17.0), (20, 20.49, 20.0), (26, 26.50, 26.0)],
)
def test_worst_step_factors_of_the_tree(power, all_nodes, released):
    # At μ = 1 the scale is the price at scale 1; a prefix of n rows adds up to log2 n nodes.
    assert price(TreeEvent(1.0, 1.0, power + 1)) * math.sqrt(power) == pytest.approx(all_nodes, abs=0.006)
    assert price(TreeEvent(1.0, 1.0, power)) * math.sqrt(power) == pytest.approx(released, abs=1e-9)


def published_tree(rows: int, epsilon: float, delta: float) -> TreeEvent:
    levels = 1 + math.ceil(math.log2(rows))
    return TreeEvent(math.sqrt(16 * levels) * 2.0 * math.log(4 / delta) / epsilon, 2.0, levels)


@pytest.mark.parametrize("rows", [100, 10**5, 5 * 10**7])
def test_the_published_tree_gives_far_more_privacy_than_it_claims(rows):
    assert gdp.epsilon_at(price(published_tree(rows, 1.0, 1e-5)), 1e-5) == pytest.approx(0.0566, abs=6e-5)
    assert gdp.mu_for(1.0, 1e-5) / price(published_tree(rows, 1.0, 1e-5)) == pytest.approx(13.8, abs=0.06)
    assert gdp.epsilon_at(price(published_tree(rows, 1.0, 0.1)), 0.1) == 0.0
    assert gdp.mu_for(1.0, 0.1) / price(published_tree(rows, 1.0, 0.1)) == pytest.approx(13.6, abs=0.06)


def test_counting_only_released_nodes_lowers_the_published_trees_price():
    event = published_tree(10**5, 1.0, 1e-5)
    released = TreeEvent(event.scale, event.sensitivity, event.nodes - 1)
    assert gdp.epsilon_at(price(released), 1e-5) == pytest.approx(0.0549, abs=6e-5)


@pytest.mark.parametrize(
    ("epsilon", "delta", "true", "half_digit"),
    [(10, 0.1, 26.95, 5e-3), (10, 1e-5, 16.10, 5e-3), (1, 1e-5, 1.098, 5e-4), (1, 0.1, 0.479, 5e-4)],
)
def test_two_reports_with_full_budget_each_cost_what_they_truly_cost(epsilon, delta, true, half_digit):
    scale = 2 * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    both = Together((GaussianEvent(scale, 2.0), GaussianEvent(scale, 2.0)))
    assert gdp.epsilon_at(price(both), delta) == pytest.approx(true, abs=half_digit)


def test_squares_add_over_independent_releases():
    assert price(Together((ONE, ONE, SEGMENTS))) ** 2 == pytest.approx(2 * 0.25**2 + (2 / 3) ** 2)
    assert price(Together((ONE, NothingReleased()))) == price(ONE)
    assert price(Together((ONE, ExactRelease("the sums")))) == math.inf


def test_an_independent_accountant_agrees_on_a_tree_and_on_a_mixture():
    # Sensitivities are normalised first: the oracle would double them under replace-one.
    for event, parts in [
        (TreeEvent(20.0, 2.0, 7), [20.0 / 2.0] * 7),
        (Together((GaussianEvent(4.0, 1.0), GaussianEvent(9.0, 3.0))), [4.0, 3.0]),
    ]:
        accountant = pld.PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
        for multiplier in parts:
            accountant.compose(dp_accounting.GaussianDpEvent(multiplier))
        assert 0 <= accountant.get_epsilon(1e-5) - gdp.epsilon_at(price(event), 1e-5) < 3e-3


@pytest.mark.parametrize(
    ("event", "rule", "listed"),
    [
        (TREE, {}, [1.970, 9.184, 26.22]),
        (ToeplitzEvent(1.0, 1.0, 2**17, EIGHT_BUFFERS, "one"), {}, [1.932, 9.040, 25.89]),
        (GEOMETRIC, {}, [2, 10, 30]),
        (GEOMETRIC, {"one_per_segment": True}, [1.872, 8.111, 21.50]),
        (SEGMENTS, {}, [2, 10, 30]),
        (SEGMENTS, {"one_per_segment": True}, [1.414, 3.162, 5.477]),
        (ONE, {}, [2, 10, 30]),
        (ONE, {"one_per_segment": True}, [2, 10, 30]),
    ],
)
def test_multipliers_of_a_person_match_the_listed_values(event, rule, listed):
    for rounds, expected in zip((2, 10, 30), listed, strict=True):
        assert ratio(event, rounds, **rule) == pytest.approx(expected, abs=6e-4 if expected < 10 else 6e-3)


@pytest.mark.parametrize("event", [TREE, EVERY_ROW, GEOMETRIC, SEGMENTS, ONE])
@pytest.mark.parametrize("rule", [False, True])
def test_one_round_costs_a_person_the_same_and_more_rounds_cost_more_but_never_beyond_k_times(event, rule):
    multipliers = [ratio(event, rounds, one_per_segment=rule) for rounds in (1, 2, 3, 10, 100)]
    assert multipliers[0] == pytest.approx(1.0)
    assert all(np.diff(multipliers) > 0)
    assert all(value <= rounds * (1 + 1e-12) for value, rounds in zip(multipliers, (1, 2, 3, 10, 100), strict=True))


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 5])
def test_the_tree_multiplier_is_the_worst_of_all_placements(rounds):
    nodes = tree_nodes(4)
    placements = itertools.combinations(range(16), rounds)
    worst = max(np.linalg.norm(nodes[:, list(rows)].sum(axis=1)) for rows in placements)
    assert price(PersonEvent(TreeEvent(1.0, 1.0, 4), rounds)) == pytest.approx(worst)


def test_counting_unreleased_nodes_makes_the_tree_multiplier_a_little_loose_and_never_short():
    levels = 10
    starts = [(level, start) for level in range(levels) for start in range(0, 2**levels, 2**level)]
    # A node that is a right child never appears in a prefix sum: its parent closes at the same row.
    kept = [start // 2**level % 2 == 0 for level, start in starts]
    released = tree_nodes(levels)[kept]
    for rounds in (1, 2, 5, 10, 30):
        burst = np.linalg.norm(released[:, :rounds].sum(axis=1))
        multiplier = price(PersonEvent(TreeEvent(1.0, 1.0, levels), rounds))
        assert burst <= multiplier * (1 + 1e-12)
        assert multiplier < 1.04 * burst


def test_a_persons_price_of_several_releases_adds_in_squares():
    both = PersonEvent(Together((SEGMENTS, ONE)), 4, one_per_segment=True)
    assert price(both) == pytest.approx(math.hypot(2 * price(SEGMENTS), 4 * price(ONE)))
    assert price(PersonEvent(NothingReleased(), 9)) == 0.0
    assert price(PersonEvent(ExactRelease("the sums"), 9)) == math.inf


def test_pricing_a_person_as_one_round_breaks_the_promise():
    # Broken twin: noise for one round, promise per person.
    scale = price(TreeEvent(1.0, 2.0, 17)) / gdp.mu_for(1.0, 1e-5)
    event = TreeEvent(scale, 2.0, 17)
    assert gdp.epsilon_at(price(event), 1e-5) <= 1 + 1e-9
    assert gdp.epsilon_at(price(PersonEvent(event, 2)), 1e-5) > 1.8


@dataclass(frozen=True)
class Wished(Event):
    scale: float = 1.0

    def describe(self) -> str:
        return "Something nobody has proved."

    def to_dict(self) -> dict[str, Any]:
        return {"scale": self.scale}


@pytest.mark.parametrize("event", [None, "tree", 0.5, {}, [TREE], Event, TreeEvent, Wished(), Wished, object()])
def test_everything_unknown_is_refused(event):
    with pytest.raises(UnknownEvent, match=r"no price has been proved.*register"):
        price(event)
    with pytest.raises(UnknownEvent, match=r"no price has been proved.*register"):
        price_for_person(event, 2, False)


def test_unknown_events_are_refused_inside_others_too():
    for event in (Together((ONE, Wished())), PersonEvent(Wished(), 3), PersonEvent(Together((Wished(),)), 3)):
        with pytest.raises(UnknownEvent, match="Wished"):
            price(event)


def test_a_refusal_does_not_print_an_unknown_object():
    class Leaky:
        def __repr__(self) -> str:
            return "reward 0.731"

    with pytest.raises(UnknownEvent) as caught:
        price(Leaky())
    assert "0.731" not in str(caught.value)


def test_a_person_inside_a_person_is_refused():
    with pytest.raises(BadInput, match="PersonEvent"):
        PersonEvent(PersonEvent(TREE, 2), 3)
    with pytest.raises(UnknownEvent, match="PersonEvent"):
        price(PersonEvent(Together((PersonEvent(TREE, 2),)), 3))


def test_events_are_final_so_that_no_subclass_is_priced_as_its_parent():
    with pytest.raises(TypeError, match="final"):

        class Cheaper(TreeEvent):
            pass


def test_the_base_event_cannot_be_built():
    with pytest.raises(TypeError):
        Event()


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_every_event_describes_itself_in_a_sentence_and_in_json(event):
    assert event.describe().endswith(".")
    assert json.loads(json.dumps(event.to_dict(), allow_nan=False))["event"] == event.kind


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_events_state_no_price(event):
    words = event.describe().lower() + json.dumps(event.to_dict()).lower()
    assert "epsilon" not in words
    assert "mu" not in event.to_dict()


def test_events_are_immutable_and_normalised():
    with pytest.raises(FrozenInstanceError):
        TREE.scale = 0.1
    assert type(TreeEvent(np.float64(1), np.int64(2), np.int64(3)).nodes) is int
    assert TreeEvent(1, 2, 3) == TreeEvent(1.0, 2.0, 3)


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: TreeEvent(0.0, 1.0, 3), "scale"),
        (lambda: TreeEvent(-1.0, 1.0, 3), "scale"),
        (lambda: TreeEvent(math.nan, 1.0, 3), "scale"),
        (lambda: TreeEvent(math.inf, 1.0, 3), "scale"),
        (lambda: TreeEvent(1.0, 0.0, 3), "sensitivity"),
        (lambda: TreeEvent(1.0, 1.0, 0), "nodes"),
        (lambda: TreeEvent(1.0, 1.0, 2.5), "nodes"),
        (lambda: ToeplitzEvent(1.0, 1.0, 0, EIGHT_BUFFERS, "one"), "releases"),
        (lambda: ToeplitzEvent(1.0, 1.0, 4, "blt", "one"), "design"),
        (lambda: ToeplitzEvent(1.0, 1.0, 4, EIGHT_BUFFERS, "some"), "rows_per_release"),
        (lambda: SegmentsEvent(1.0, -1.0), "sensitivity"),
        (lambda: GaussianEvent("1", 1.0), "scale"),
        (lambda: ExactRelease(" "), "what"),
        (lambda: Together(()), "at least one"),
        (lambda: Together((TREE, None)), "None"),
        (lambda: PersonEvent(None, 2), "event"),
        (lambda: PersonEvent(TREE, 0), "rounds"),
        (lambda: PersonEvent(TREE, 2, one_per_segment=1), "one_per_segment"),
    ],
)
def test_impossible_facts_are_refused(build, word):
    with pytest.raises(BadInput, match=word):
        build()


def test_a_custom_design_is_priced_by_its_own_norm():
    design = Design((0.1,), (0.5,))
    event = ToeplitzEvent(1.0, 1.0, 50, design, "one")
    assert price(event) == design.column_norm(50)
    assert price(event) != price(ToeplitzEvent(1.0, 1.0, 50, EIGHT_BUFFERS, "one"))
