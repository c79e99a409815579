"""Attacks on `JointLinUCB`: the pair is the worst one, all of it is seen, and nothing is left out but time."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

import tacit
from tacit.auditing.attacks import joint
from tacit.auditing.claim import claim_of
from tacit.auditing.engine import Work, run
from tacit.privacy.accountant import price_for_person
from tacit.privacy.event import TreeEvent

RUNS = 100_000


@pytest.mark.parametrize(
    "options", [{}, {"action_norm": 2.0}, {"reward_low": -3.0, "reward_high": 3.0}, {"reward_low": 0.4}]
)
def test_the_two_rows_are_orthogonal_and_as_long_as_rows_may_be(options: dict[str, float]) -> None:
    config = tacit.JointLinUCB(dim=3, epsilon=1.0, delta=1e-5, **options)
    rows = [np.append(x, config.reward_scale * y) / joint.BEYOND for x, y in joint._rows(config)]
    assert rows[0] @ rows[1] == pytest.approx(0, abs=1e-12)
    for row in rows:
        assert row @ row == pytest.approx(config.sensitivity)


@pytest.mark.parametrize("schedule", [{}, {"window": 2}, {"person_rounds": 2}])
def test_a_run_that_begins_late_shows_what_a_whole_one_does(schedule: dict[str, int]) -> None:
    config = tacit.JointLinUCB(dim=2, epsilon=1.0, delta=1e-5, views=4, width="theory", **schedule)
    whole, late = (joint.attacks(config, late=late)[0].sampler for late in (False, True))
    assert len(late.scripts[0].rewards) < len(whole.scripts[0].rewards) / 5
    for world in (0, 1):
        seen = [sampler.sample(world, 50, 1, (world,)) for sampler in (whole, late)]
        assert np.allclose(seen[0], seen[1], rtol=0, atol=1e-4 * np.abs(seen[0]).max())


@pytest.mark.parametrize("options", [{"views": 8}, {"releases": "tree", "horizon": 8}], ids=["geometric", "tree"])
def test_released_statistics_show_four_fifths_of_what_is_promised(options: dict[str, object]) -> None:
    """At 100,000 runs, with bounds at 95 % for two observables of three bounds each. Expected is 0.94, with a standard
    deviation of 0.02."""
    config = tacit.JointLinUCB(dim=2, epsilon=1.0, delta=1e-5, **options)
    claim = claim_of(config)
    with Work(0, 2, False) as work:
        found = run(work, joint.attacks(config)[0], claim, RUNS, 0, (0,), 0.05 / 6)
    assert 0.8 <= found.gaussian <= 1.0


def test_rows_of_a_person_stand_where_the_tree_shows_most_of_them() -> None:
    """Of eight rows, the first two: they are in nodes of one, of two and of two, and √(1 + 4 + 4) is a little less than
    what the accountant has for any two rows."""
    config = tacit.JointLinUCB(dim=2, epsilon=1.0, delta=1e-5, releases="tree", horizon=8, person_rounds=2)
    watched = joint.release_rounds(config, config.plan())
    assert joint._places(config, watched).tolist() == [0, 1]
    nodes = [range(row - (row & -row), row) for row in range(1, 8)]

    def weight(pair: tuple[int, int]) -> float:
        return math.sqrt(sum(sum(place in node for place in pair) ** 2 for node in nodes))

    most = max(weight(pair) for pair in combinations(range(7), 2))
    assert weight((0, 1)) == most == 3
    assert most <= price_for_person(TreeEvent(scale=1.0, sensitivity=1.0, nodes=3), 2, False)
