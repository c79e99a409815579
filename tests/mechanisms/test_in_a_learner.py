"""What a learner publishes is the exact sums plus the mechanism's noise, recomputed from a second stream."""

import numpy as np
import pytest

from tacit import JointLinUCB
from tacit.core.learner import POLICY
from tacit.linalg import packed_size
from tacit.noise import draw_symmetric, stream
from tacit.privacy.toeplitz import EIGHT_BUFFERS
from tests.mechanisms.wishart_reference import packed, slots_after_each_row

DIM, ROWS, SEED = 3, 90, 16
SIZE = packed_size(DIM) + DIM


def fresh_draws(scale, count):
    source, rows = stream(SEED, 0, POLICY), np.empty((count, SIZE))
    for row in rows:
        draw_symmetric(source, scale, DIM, row)
    return rows


def unpacked(packed):
    matrix = np.zeros((DIM, DIM))
    matrix[np.triu_indices(DIM)] = packed[: packed_size(DIM)]
    return matrix + np.triu(matrix, 1).T, packed[packed_size(DIM) :]


def geometric_noise(params):
    count = len(params.schedule.times)
    fresh, coefficients = fresh_draws(params.counter.scale, count), EIGHT_BUFFERS.row_coefficients(count)
    return {
        int(time): sum(coefficients[k - j] * fresh[j] for j in range(k + 1))
        for k, time in enumerate(params.schedule.times)
    }


def tree_noise(params):
    fresh = fresh_draws(params.counter.scale, params.schedule.horizon - 1)
    noise = {0: np.zeros(SIZE)}
    for row in range(1, params.schedule.horizon):
        noise[row] = fresh[row - 1] + noise[row - (row & -row)]
    return noise


def toeplitz_noise(params):
    """B·Z with the whole matrix B, for every row but the last."""
    rows = params.schedule.horizon - 1
    distance = np.subtract.outer(np.arange(rows), np.arange(rows))
    dense = np.where(distance >= 0, EIGHT_BUFFERS.row_coefficients(rows)[np.abs(distance)], 0.0)
    return dict(enumerate(dense @ fresh_draws(params.counter.scale, rows), start=1))


def wishart_noise(params):
    slots = slots_after_each_row(params.counter, DIM, stream(SEED, 0, POLICY), params.schedule.horizon - 1)
    return {row: packed(sum(held)) for row, (held, _) in enumerate(slots, start=1)}


PUBLISHED = {"releases": "tree", "calibration": "published", "horizon": ROWS, "epsilon": 1.0}


@pytest.mark.parametrize("reach", [1.0, 4.0])
@pytest.mark.parametrize(
    ("options", "noise_of"),
    [
        ({"views": 60, "ratio": 1.05, "width": "theory"}, geometric_noise),
        ({"releases": "tree", "horizon": ROWS}, tree_noise),
        ({"releases": "toeplitz", "horizon": ROWS}, toeplitz_noise),
        (PUBLISHED, tree_noise),
        (PUBLISHED | {"noise": "wishart"}, wishart_noise),
        (PUBLISHED | {"noise": "wishart-unshifted"}, wishart_noise),
    ],
    ids=["geometric", "tree", "toeplitz", "published", "wishart", "unshifted"],
)
def test_a_view_is_the_exact_sums_plus_the_noise_of_the_mechanism(options, noise_of, reach):
    """V − regulariser·I and V·θ̃ at every release; between releases the view does not change by a bit."""
    config = JointLinUCB(
        **{"dim": DIM, "epsilon": 20.0, "delta": 0.1, "reward_low": -reach, "reward_high": reach} | options
    )
    params, learner = config.plan().params, config.start(seed=SEED)
    regulariser, noise = params.estimate.regulariser, noise_of(params)
    rng = np.random.default_rng(17)
    gram, vector, stage = np.zeros((DIM, DIM)), np.zeros(DIM), 0
    before = learner.view
    for row in range(1, ROWS + 1):
        x = rng.normal(size=DIM)
        x /= np.linalg.norm(x)
        y = rng.uniform(-reach, reach)
        learner.learn(x, y)
        gram += np.outer(x, x)
        vector += x * y
        view = learner.view
        if row in noise:
            matrix, shift = unpacked(noise[row])
            expected = gram + matrix + regulariser[min(stage, len(regulariser) - 1)] * np.eye(DIM)
            factor = np.triu(view.factor)
            np.testing.assert_allclose(factor.T @ factor, expected, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(
                expected @ view.theta, vector + shift / config.reward_scale, rtol=1e-9, atol=1e-9
            )
            stage += 1
        else:
            assert all(np.array_equal(a, b) for a, b in zip(view, before, strict=True))
        assert view.stage[0] == stage
        before = view
    assert stage > 20
    assert learner.diagnostics().repairs == 0
