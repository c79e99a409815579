"""A row that comes in another segment costs no more than one replaced in place: docs/decisions/0024-service.md.

Also that the service's two halves of a round, a row without a tick and a tick without a row, are the round.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit
from tacit.core.round import absorb_checked, learn_checked, tick_checked
from tacit.core.state import leaves
from tacit.noise import stream
from tacit.privacy.toeplitz import EIGHT_BUFFERS

RELEASES = 32


def toeplitz():
    """The encoder C: column j is the design's column from row j on."""
    first = EIGHT_BUFFERS.column_coefficients(RELEASES)
    return np.array([[first[i - j] if i >= j else 0.0 for j in range(RELEASES)] for i in range(RELEASES)])


def tree():
    """One row for each node of a binary tree over the leaves."""
    nodes = []
    size = RELEASES
    while size >= 1:
        nodes += [
            [float(start <= leaf < start + size) for leaf in range(RELEASES)] for start in range(0, RELEASES, size)
        ]
        size //= 2
    return np.array(nodes)


ENCODERS = {"toeplitz": toeplitz(), "tree": tree(), "segments": np.eye(RELEASES)}


def moved(encoder, before, after):
    """What is released changes by this much, if the rows `before` (place, v) become the rows `after`."""
    change = sum(
        (sign * np.multiply.outer(encoder[:, place], np.outer(v, v)))
        for sign, rows in ((-1.0, before), (1.0, after))
        for place, v in rows
    )
    return float(np.linalg.norm(change)) / math.sqrt(2)


def unit(rng, dim=3):
    v = rng.standard_normal(dim)
    return v / np.linalg.norm(v)


@pytest.mark.parametrize("name", ENCODERS)
def test_columns_have_no_negative_inner_products(name):
    assert (ENCODERS[name].T @ ENCODERS[name]).min() >= 0


@pytest.mark.parametrize("name", ENCODERS)
def test_a_row_that_moves_weighs_no_more_than_one_replaced_in_place(name):
    encoder, rng = ENCODERS[name], np.random.default_rng(0)
    longest = np.linalg.norm(encoder, axis=0).max()  # κ
    in_place = moved(encoder, [(0, np.eye(3)[0])], [(0, np.eye(3)[1])])
    assert in_place == pytest.approx(longest)  # the price is met with equality
    for _ in range(500):
        places = rng.integers(RELEASES, size=2)
        assert moved(encoder, [(places[0], unit(rng))], [(places[1], unit(rng))]) <= longest * (1 + 1e-12)
    for place in range(RELEASES):  # one that never comes
        assert moved(encoder, [(place, np.eye(3)[0])], []) <= longest / math.sqrt(2) * (1 + 1e-12)


@pytest.mark.parametrize("name", ENCODERS)
def test_a_person_whose_rows_all_move_weighs_no_more_than_one_whose_rows_are_replaced(name):
    encoder, rng, rows = ENCODERS[name], np.random.default_rng(1), 3
    # M_k: rows of one person at the worst places, one direction before and one after. The encoders' columns overlap
    # most where places coincide.
    worst = rows * np.linalg.norm(encoder, axis=0).max()
    for _ in range(300):
        before = [(place, unit(rng)) for place in rng.integers(RELEASES, size=rows)]
        after = [(place, unit(rng)) for place in rng.integers(RELEASES, size=rng.integers(rows + 1))]
        assert moved(encoder, before, after) <= worst * (1 + 1e-12)


def test_the_bound_needs_rows_that_are_squares():
    """Totals of rewards are not v·vᵀ: one that moves changes two of them by all it is. Such policies learn in order."""
    encoder = ENCODERS["segments"]
    in_place = abs(1.0 - 0.0)  # a reward of 1 in place of 0, in one total
    elsewhere = np.linalg.norm(-1.0 * encoder[:, 3] + 1.0 * encoder[:, 9])
    assert elsewhere == pytest.approx(math.sqrt(2) * in_place)
    assert not tacit.RenyiUCB(arms=3, rho=0.1).rows_may_come_late
    assert tacit.JointLinUCB(dim=3, epsilon=1.0, delta=1e-6).rows_may_come_late
    assert not tacit.JointLinUCB(
        dim=3, epsilon=1.0, delta=1e-6, releases="tree", horizon=100, noise="wishart", calibration="published"
    ).rows_may_come_late


def test_rows_of_a_person_that_come_together_weigh_more_than_a_release_every_round_is_priced_for():
    """So a release every round with several rows to a person learns in order; segments are priced for any number."""
    rows, v, w = 3, np.eye(3)[0], np.eye(3)[1]
    together = moved(ENCODERS["toeplitz"], [(0, v)] * rows, [(0, w)] * rows)
    assert together > EIGHT_BUFFERS.burst_norm(RELEASES, rows) * 1.1
    every = {"dim": 3, "epsilon": 1.0, "delta": 1e-6, "horizon": 100}
    for releases in ("toeplitz", "tree"):
        assert tacit.JointLinUCB(releases=releases, **every).rows_may_come_late
        assert tacit.JointLinUCB(releases=releases, person_rounds=1, **every).rows_may_come_late
        assert not tacit.JointLinUCB(releases=releases, person_rounds=2, **every).rows_may_come_late
    assert tacit.JointLinUCB(dim=3, epsilon=1.0, delta=1e-6, person_rounds=5).rows_may_come_late


def test_an_encoder_with_negative_inner_products_would_break_it():
    encoder = np.array([[1.0, -1.0], [0.0, 1.0]])
    longest = np.linalg.norm(encoder, axis=0).max()
    v = np.eye(3)[0]
    assert moved(encoder, [(0, v)], [(1, v)]) > longest


@pytest.mark.parametrize(
    "config",
    [
        tacit.JointLinUCB(dim=2, epsilon=5.0, delta=1e-2, action_norm=1.0),
        tacit.JointLinUCB(dim=2, epsilon=5.0, delta=1e-2, releases="toeplitz", horizon=500),
    ],
    ids=["geometric", "toeplitz"],
)
def test_a_row_and_a_tick_are_a_round(config):
    plan, rng = config.plan(), np.random.default_rng(2)
    one, two = [(plan.vault(), plan.view(), stream(3, 0, 1), np.zeros(plan.report_size)) for _ in range(2)]
    for _ in range(400):
        x, reward = rng.uniform(-0.7, 0.7, 2), float(rng.uniform(-1, 1))
        vault, view, noise, report = one
        whole = learn_checked(plan.params, vault, view, x, reward, report, noise)
        vault, view, noise, report = two
        absorb_checked(plan.params, vault, view, x, reward, report, noise)
        assert tick_checked(plan.params, vault, view, noise) == whole
    assert one[1].stage[0] > 0
    for part in (0, 1):
        for left, right in zip(leaves("part", one[part]).values(), leaves("part", two[part]).values(), strict=True):
            assert np.array_equal(left, right)


def test_bad_numbers_are_not_absorbed():
    config = tacit.JointLinUCB(dim=2, epsilon=5.0, delta=1e-2)
    plan = config.plan()
    vault, view, noise, report = plan.vault(), plan.view(), stream(3, 0, 1), np.zeros(plan.report_size)
    for x, reward in (([math.nan, 0.0], 0.5), ([0.1, 0.1], math.inf)):
        assert absorb_checked(plan.params, vault, view, np.array(x), reward, report, noise) == 0
    assert not vault.sums.any()
