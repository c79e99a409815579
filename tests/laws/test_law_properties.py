"""The laws for settings and inputs that are not chosen by hand: drawn from ranges, the same in every run.

Every policy is varied from its own examples: other bounds, other promises, other dimensions. What a policy refuses
is drawn again.
"""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core.policy import Policy
from tacit.core.state import leaves
from tacit.core.verbs import absorb, encode
from tacit.errors import BadInput, PrivacyRefusal
from tacit.noise import stream
from tacit.policies.catalogue import CATALOGUE
from tacit.privacy.card import Card
from tacit.privacy.event import LaplaceEvent
from tests.offers import ask, row_of

from .conftest import DIM, EXAMPLES, NOISY, PRIVATE, REPORTING, REWARDS, name
from .runs import contents, in_units, learn, past_the_opening, row_event, same

#: The same draws in every run, and no clock: compiling takes what it takes.
FIXED = settings(derandomize=True, deadline=None, database=None, max_examples=5)

#: Numbers at the ends of what doubles can say, and at those of what is taken.
EXTREMES = (0.0, -0.0, 5e-324, -5e-324, 1e-300, 1e-160, 1e-8, 1.0, -1.0, 1 + 1e-15, 1e8, 1e99, -1e99, 1e100, -1e100)
NUMBERS = st.sampled_from(EXTREMES) | st.floats(min_value=-1e100, max_value=1e100)

#: Policies that are asked for an amount of privacy.
PROMISING = [one for one in PRIVATE if {"epsilon", "rho"} & {key for key, value in one.to_dict().items() if value}]

#: What may be varied, where a policy has it and it is set.
VARIED: dict[str, Any] = {
    "epsilon": st.floats(min_value=0.05, max_value=20.0),
    "delta": st.sampled_from([1e-9, 1e-6, 1e-3, 0.1]),
    "rho": st.floats(min_value=0.01, max_value=10.0),
    "action_norm": st.sampled_from([1e-3, 0.5, 1.0, 3.0, 1e3]),
    "reward_low": st.sampled_from([-1e3, -7.0, -1.0, -1e-3, 0.0]),
    "reward_high": st.sampled_from([0.25, 1.0, 7.0, 1e3]),
    "person_rounds": st.integers(min_value=1, max_value=5),
}


@st.composite
def varied(draw: Any, example: Policy) -> Policy:
    """An example of a policy, in other dimensions and with other numbers."""
    place = type(example).examples(DIM).index(example)
    config = type(example).examples(draw(st.integers(min_value=2, max_value=5)))[place]
    stated = config.to_dict()
    changes = {name: draw(values) for name, values in VARIED.items() if stated.get(name) is not None}
    try:
        found: Policy = dataclasses.replace(config, **changes)
        found.plan()
    except (BadInput, PrivacyRefusal):
        return config
    return found


@st.composite
def rows(draw: Any, config: Policy) -> tuple[np.ndarray, float]:
    """A row, however large or small, of an arm if there are arms."""
    x = np.array(draw(st.lists(NUMBERS, min_size=config.dim, max_size=config.dim)))
    if config.arms_of_context is not None:
        x = np.append(x, draw(st.integers(0, config.arms_of_context - 1)))
    return x, draw(NUMBERS)


def summed(config: Policy, x: np.ndarray, reward: float) -> tuple[np.ndarray, np.ndarray]:
    """The report of a row, and the sums there are after it, in a vault of its own."""
    plan = config.plan()
    (vault, view), report = past_the_opening(plan), np.zeros(plan.report_size)
    encode(plan.params, view, row_of(config, view, x), reward, report, stream(1))
    absorb(plan.params, vault, report)
    return report, vault.sums.ravel().copy()


@pytest.mark.parametrize("example", NOISY, ids=name)
@given(data=st.data())
@FIXED
def test_no_pair_of_rows_moves_noised_sums_by_more_than_is_priced(example, data):
    config = data.draw(varied(example))
    (x, reward), (other, _) = (data.draw(rows(config)) for _ in range(2))
    for pair in (((x, reward), (other, data.draw(NUMBERS))), ((x, 1e99), (opposite(config, other), -1e99))):
        (_, one), (_, second) = (summed(config, *row) for row in pair)
        assert np.linalg.norm(in_units(config, one - second)) <= row_event(config).sensitivity * (1 + 1e-9)


def opposite(config: Policy, x: np.ndarray) -> np.ndarray:
    """The row turned round; an arm stays what it is."""
    return np.concatenate([-x[: config.dim], x[config.dim :]])


@pytest.mark.parametrize("example", REWARDS, ids=name)
@given(data=st.data())
@FIXED
def test_no_pair_of_rewards_moves_the_sums_by_more_than_is_priced(example, data):
    config = data.draw(varied(example))
    x, reward = data.draw(rows(config))
    event = row_event(config)
    order = 1 if isinstance(event, LaplaceEvent) else 2
    for pair in ((reward, data.draw(NUMBERS)), (1e99, -1e99)):
        (_, one), (_, other) = (summed(config, x, paid) for paid in pair)
        assert np.linalg.norm(one - other, order) <= event.sensitivity * (1 + 1e-9)


@pytest.mark.parametrize("example", REPORTING, ids=name)
@given(data=st.data())
@FIXED
def test_no_pair_of_inputs_moves_a_report_by_more_than_is_priced(example, data):
    """Counts are rounded to whole steps, which may move each of them by one more."""
    config = data.draw(varied(example))
    plan = config.plan()
    size = plan.report.size
    (one, _), (other, _) = (summed(config, *data.draw(rows(config))) for _ in range(2))
    event = row_event(config)
    slack = math.sqrt(size) if plan.report.kind == "counts" else 1e-9 * (1 + plan.noise_scale)
    assert np.linalg.norm(one[:size] - other[:size]) <= event.sensitivity * (1 + 1e-9) + slack


@pytest.mark.parametrize("example", NOISY + REWARDS, ids=name)
@given(data=st.data())
@FIXED
def test_what_enters_the_sums_is_finite(example, data):
    config = data.draw(varied(example))
    _, sums = summed(config, *data.draw(rows(config)))
    assert np.isfinite(sums).all()


@pytest.mark.parametrize("example", PRIVATE, ids=name)
@given(data=st.data())
@FIXED
def test_a_choice_neither_changes_the_vault_nor_reads_it(example, data):
    """Of policies with bounds: without any, numbers as large as these are no sums."""
    config = data.draw(varied(example))
    learner, twin = config.start(seed=3), config.start(seed=3)
    for row in data.draw(st.lists(rows(config), max_size=3)):
        for one in (learner, twin):
            learn(one, *row)
    for part in twin._session.vault:
        part[...] = 17
    before = contents(learner), contents(twin)
    offered = np.array([data.draw(rows(config))[0] for _ in range(3)])
    assert ask(learner, offered) == ask(twin, offered)
    assert same(before[0], contents(learner))
    assert same(before[1], contents(twin))


def cost(config: Policy) -> float:
    """What a guarantee comes to, in whatever it is stated in."""
    guarantee = config.guarantee
    return guarantee.mu if guarantee.theorem is None else guarantee.theorem.epsilon


@pytest.mark.parametrize("example", PROMISING, ids=name)
@given(data=st.data())
@FIXED
def test_a_larger_promise_costs_no_less_and_takes_no_more_noise(example, data):
    config = data.draw(varied(example))
    stated = config.to_dict()
    option = "epsilon" if stated.get("epsilon") is not None else "rho"
    more = data.draw(st.floats(min_value=1.01, max_value=4.0))
    try:
        larger = dataclasses.replace(config, **{option: stated[option] * more})
        plans = config.plan(), larger.plan()
    except (BadInput, PrivacyRefusal):
        return
    assert cost(config) <= cost(larger) * (1 + 1e-9)
    scales = [plan.noise_scale for plan in plans]
    assert None in scales or scales[0] >= scales[1] * (1 - 1e-9)


@pytest.mark.parametrize("example", EXAMPLES, ids=name)
@given(data=st.data())
@FIXED
def test_a_plan_is_pure(example, data):
    config = data.draw(varied(example))
    one, other = config.plan(), type(config).from_dict(config.to_dict()).plan()
    assert (one.event, one.guarantee, one.draws, one.limit) == (other.event, other.guarantee, other.draws, other.limit)
    assert (one.noise_scale, one.noise_scales) == (other.noise_scale, other.noise_scales)
    for part in ("params", "vault", "view"):
        first, second = (getattr(plan, part) for plan in (one, other))
        arrays = [leaves(part, found() if callable(found) else found) for found in (first, second)]
        assert arrays[0].keys() == arrays[1].keys()
        for leaf, array in arrays[0].items():
            assert np.asarray(array).tobytes() == np.asarray(arrays[1][leaf]).tobytes(), leaf


@pytest.mark.parametrize("example", EXAMPLES, ids=name)
@given(data=st.data())
@FIXED
def test_a_configuration_and_its_card_travel_as_json(example, data):
    config = data.draw(varied(example))
    assert type(config).from_dict(json.loads(json.dumps(config.to_dict()))) == config
    card = config.card()
    written = json.dumps(card.to_dict(), allow_nan=False)
    again = Card.from_dict(json.loads(written))
    assert json.dumps(again.to_dict(), allow_nan=False) == written
    assert again.text() == card.text()


def test_every_policy_is_varied():
    assert {type(config).slug for config in EXAMPLES} == set(CATALOGUE)
    assert len(NOISY) + len(REWARDS) + len(REPORTING) > 20
