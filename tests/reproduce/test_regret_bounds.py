"""The regret theorems as functions: their shape, and that what is measured lies below them."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import tacit
from tacit.environments import Sphere
from tacit.errors import BadInput
from tacit.policies import regret_bounds as bounds

HORIZON = 2000
EVERY = {"dim": 3, "epsilon": 1.0, "delta": 0.1, "horizon": HORIZON}
TREE = tacit.JointLinUCB(**EVERY, releases="tree")
TOEPLITZ = tacit.JointLinUCB(**EVERY, releases="toeplitz")
PUBLISHED = tacit.JointLinUCB(**EVERY, releases="tree", calibration="published")
CONFIGS = [TREE, TOEPLITZ, PUBLISHED]
IDS = ["tree", "toeplitz", "published"]
ROUNDS = np.array([1, 10, 100, 1000, HORIZON])


@pytest.mark.parametrize("config", CONFIGS, ids=IDS)
def test_bounds_grow_with_rounds_and_proofs_are_sharper_than_statements(config):
    for printed, sharper in (
        (bounds.theorem_5(config, ROUNDS), bounds.theorem_5_sharper(config, ROUNDS)),
        (bounds.theorem_6(config, ROUNDS, 0.1), bounds.theorem_6_sharper(config, ROUNDS, 0.1)),
    ):
        assert (np.diff(printed) > 0).all()
        assert (np.diff(sharper) > 0).all()
        assert (sharper <= printed).all()


def test_theorem_5_is_its_formula():
    """Written out once more, from the paper, for d = 3 and all norms 1."""
    low, high, gamma = TREE.regulariser_bounds()
    n, d, alpha = HORIZON, 3, 1 / HORIZON
    logs = 2 * math.log(2 / alpha) + d * math.log(high / low + n / (d * low))
    expected = math.sqrt(8 * n) * (logs + (math.sqrt(high) + gamma) * math.sqrt(d * math.log(1 + n / (d * low))))
    assert bounds.theorem_5(TREE, n) == pytest.approx(expected, rel=1e-12)
    ratio = bounds.theorem_6(TREE, n, 0.1) / (8 / 0.1 * (expected / math.sqrt(8 * n)) ** 2)
    assert ratio == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("rate", [bounds.corollary_10, bounds.corollary_12])
def test_rates_grow_with_rounds_and_shrink_with_epsilon(rate):
    assert (np.diff(rate(PUBLISHED, ROUNDS)) > 0).all()
    assert (np.diff(rate(PUBLISHED, ROUNDS, 0.1)) > 0).all()
    easier = dataclasses.replace(PUBLISHED, epsilon=2.0)
    assert (rate(easier, ROUNDS[1:]) < rate(PUBLISHED, ROUNDS[1:])).all()
    assert rate(PUBLISHED, 100, 0.1) == pytest.approx(2 * rate(PUBLISHED, 100, 0.2))


@pytest.mark.parametrize("config", [TREE, TOEPLITZ], ids=IDS[:2])
@pytest.mark.parametrize("gap", [0.0, 0.1])
def test_measured_regret_lies_below_the_theorem(config, gap):
    """Every trial at every checkpoint. The theorems fail with probability at most 1/2000 per trial."""
    result = tacit.simulate(config, Sphere(dim=3, gap=gap), HORIZON, trials=3, seed=4)
    line = bounds.theorem_5_sharper(config, result.checkpoints)
    if gap:
        line = np.minimum(line, bounds.theorem_6_sharper(config, result.checkpoints, gap))
    assert (result.curves < line).all()


def test_what_no_theorem_covers_is_refused():
    with pytest.raises(BadInput, match="a view every round"):
        bounds.theorem_5(tacit.JointLinUCB(**EVERY, width="theory"), 10)
    for change in ({"width": 0.5}, {"exploration": "thompson"}):
        with pytest.raises(BadInput, match="the proved width, optimism and no prior"):
            bounds.theorem_5(dataclasses.replace(TREE, **change), 10)
    with pytest.raises(BadInput, match="up to the horizon of 2,000, got 2,001"):
        bounds.theorem_5(TREE, HORIZON + 1)
    for rounds in (0, math.nan, [5, -1]):
        with pytest.raises(BadInput, match="rounds >= 1"):
            bounds.theorem_5(TREE, rounds)
    with pytest.raises(BadInput, match="Expected gap > 0"):
        bounds.theorem_6(TREE, 10, 0)
