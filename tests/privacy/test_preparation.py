"""Contexts as they are prepared: never longer than the bound, whatever comes; and the release of their centre."""

from __future__ import annotations

import json
import math

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit.errors import BadInput
from tacit.noise.tape import tape_of
from tacit.preparation import Centre, Preparation, add_context, lattice_centre, prepare, publish_centre
from tacit.privacy import card_schema, compose_cards

KINDS = {
    "standard": Preparation(),
    "no constant": Preparation(constant=0.0),
    "not to one length": Preparation(normalise=False),
    "plain": Preparation(normalise=False, constant=0.0, centre_rounds=0),
    "bounded": Preparation(low=-3.0, high=(1.0, 2.0, 3.0), normalise=False),
}


def prepared(kind: str, x: list[float], centre: list[float], learning: bool = True, length: float = 2.0) -> np.ndarray:
    steps = KINDS[kind].steps(3, length)
    out = np.zeros(KINDS[kind].width(3))
    prepare(steps, np.array(x), np.array(centre), learning, out)
    return out


#: Any size a double can have within what learners take, tiny ones among them.
NUMBERS = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 5e-324, 1.6e-162, 2.7e-162, 1e-154, 1e-100, 1e100, -1e100]),
    st.floats(-1e100, 1e100),
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=200, deadline=None)
@given(x=st.lists(NUMBERS, min_size=3, max_size=3), centre=st.lists(NUMBERS, min_size=3, max_size=3))
def test_no_context_comes_out_longer_than_the_bound(kind: str, x: list[float], centre: list[float]) -> None:
    for learning in (True, False):
        found = prepared(kind, x, centre, learning)
        assert np.all(np.isfinite(found))
        assert np.linalg.norm(found) <= 2.0 * (1 + 1e-12)


def test_squares_too_small_for_a_double_do_not_make_a_context_longer() -> None:
    """As a sum of squares the length would be 2.2e-162 for the first: it came out 1.2 times as long as the bound."""
    for x in ([2.7e-162, 0.0, 0.0], [1.5e-162, 2.7e-162, 1.5e-162], [5e-324, 5e-324, 0.0]):
        assert np.linalg.norm(prepared("no constant", x, [0.0] * 3, length=1.0)) == pytest.approx(1.0, rel=1e-12)
        # Broken twin: the sum of squares as it stands.
        naive = np.array(x) / math.sqrt(max(float(np.sum(np.square(x))), 5e-324))
        assert abs(np.linalg.norm(naive) - 1) > 0.05


def test_bounds_that_a_double_cannot_stretch_are_refused() -> None:
    for low, high in ((0.0, 1e-310), (-1e200, 1e200), (1.0, 1.0)):
        with pytest.raises(BadInput, match="low < high for every feature"):
            Preparation(low=low, high=high).steps(2, 1.0)


def test_a_sum_of_contexts_that_no_double_holds_is_refused() -> None:
    assert lattice_centre(400, 1e-6, 1.0).rounds == 400
    with pytest.raises(BadInput, match="fewer than 4,503,599,627 centre_rounds"):
        lattice_centre(10**10, 1e-6, 1.0)


def test_the_centre_is_the_mean_of_the_rows_it_was_given_over_the_planned_number() -> None:
    centre, sums, out = Centre(4, 0.5), np.zeros((2, 2)), np.zeros(2)
    for row in ([1.0, 0.0], [0.0, 1.0], [0.5, 0.5]):  # one of the four never came
        add_context(centre, np.array(row), sums)
    publish_centre(centre, sums, out, tape_of(np.array([2.0, -4.0]), np.zeros(0)))
    assert out.tolist() == [(1.5 + 1.0) / 4, (1.5 - 2.0) / 4]
    assert not sums.any()


@pytest.mark.parametrize("options", [{}, {"person_rounds": 3}, {"action_norm": 4.0, "reward_weight": 3.0}])
@pytest.mark.parametrize("sampler", ["double", "secure"])
def test_the_centre_costs_a_row_what_the_sums_do_and_the_promise_is_kept(options: dict, sampler: str) -> None:
    config = tacit.JointLinUCB(arms=2, dim=3, epsilon=1.0, delta=1e-6, **options)
    plan = config.plan(sampler)
    event = plan.event if config.person_rounds is None else plan.event.event
    first, second = map(tacit.privacy.price, event.events)
    assert first == pytest.approx(second, rel=1e-3)
    assert tacit.privacy.price(plan.event) <= config.promise.mu
    assert tacit.privacy.price(plan.event) == pytest.approx(config.promise.mu, rel=1e-5)


@pytest.mark.parametrize("options", [{}, {"person_rounds": 3, "one_row_per_segment": True}])
def test_a_card_names_both_releases_and_fits_its_schema(options: dict) -> None:
    config = tacit.JointLinUCB(arms=2, dim=3, epsilon=1.0, delta=1e-6, **options)
    card = config.card()
    facts = json.loads(json.dumps(card.to_dict(), allow_nan=False))
    jsonschema.validate(facts, card_schema())
    assert tacit.Card.from_dict(facts).to_dict() == card.to_dict()
    text = " ".join(card.text().split())
    assert "Gaussian noise on one release, exact, in whole steps" in text
    assert "Gaussian noise on discounted sums, once per release, exact, in whole steps" in text
    assert "A row is in one of these two, and never in both." in text
    both = compose_cards([card, card])
    assert both.mu == pytest.approx(math.sqrt(2) * card.guarantee.mu)


def test_a_checkpoint_goes_on_with_the_same_events_and_price(tmp_path) -> None:
    config = tacit.JointLinUCB(arms=2, dim=2, epsilon=1.0, delta=1e-6, preparation=Preparation(centre_rounds=5))
    learner, key = config.start(), tacit.new_key()
    for t in range(40):
        learner.learn([0.6, 0.8 * (-1) ** t], t % 2, 1.0)
    centre = learner.view.centre.copy()
    assert centre.any()
    said = learner.card()
    resumed = tacit.resume(learner.checkpoint(tmp_path / "arms.tacit", key), key)
    assert resumed.config == config
    assert resumed.card().events == said.events
    assert resumed.card().guarantee == said.guarantee
    assert np.array_equal(resumed.view.centre, centre)
