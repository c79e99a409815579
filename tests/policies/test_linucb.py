"""LinUCB without privacy, against the textbook."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit
from tacit.errors import BadInput


def test_it_is_the_textbook_algorithm():
    """Arm for arm against ten lines of numpy, with actions of different lengths."""
    rng = np.random.default_rng(4)
    dim, ridge, sigma, bound, alpha = 3, 0.7, 0.5, 1.3, 0.01
    learner = tacit.LinUCB(
        dim=dim, ridge=ridge, noise_level=sigma, parameter_norm=bound, failure=alpha, width="theory"
    ).start(seed=0)
    theta = rng.standard_normal(dim)
    gram, vector = ridge * np.eye(dim), np.zeros(dim)
    for _ in range(300):
        actions = rng.standard_normal((8, dim))
        inverse = np.linalg.inv(gram)
        grown = math.log(np.linalg.det(gram) / ridge**dim)
        width = sigma * math.sqrt(2 * math.log(2 / alpha) + grown) + bound * math.sqrt(ridge)
        scores = actions @ inverse @ vector + width * np.sqrt(np.einsum("ki,ij,kj->k", actions, inverse, actions))
        arm = learner.choose(actions)
        assert arm == scores.argmax()
        reward = float(actions[arm] @ theta + sigma * rng.standard_normal())
        learner.learn(actions[arm], reward)
        gram += np.outer(actions[arm], actions[arm])
        vector += actions[arm] * reward
    np.testing.assert_allclose(learner.view.theta, np.linalg.solve(gram, vector), rtol=1e-9)


def test_inputs_are_not_clipped():
    learner = tacit.LinUCB(dim=2).start(seed=0)
    learner.learn([3.0, 4.0], 100.0)
    assert learner.diagnostics().clipped_actions == learner.diagnostics().clipped_rewards == 0
    np.testing.assert_allclose(learner.view.theta, np.array([300, 400]) / 26)


@pytest.mark.parametrize("changes", [{"dim": 0}, {"ridge": 0}, {"noise_level": -1}, {"failure": 2}, {"width": "wide"}])
def test_nonsense_is_refused(changes):
    with pytest.raises(BadInput, match=next(iter(changes))):
        tacit.LinUCB(**{"dim": 2, **changes})
