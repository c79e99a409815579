"""What a deployment without a seed shows over HTTP has the noise of its plan: the first view, as anybody can read it.

Error level: noise of the operating system is checked at 1e-9.
"""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.noise import DiscreteGaussian
from tacit.service import live
from tests.service.serving import serving
from tests.statistics import checks
from tests.statistics.checks import UNSEEDED_LEVEL

DIM = 120
#: The second decision is made by a view of the first one's row: 7,380 numbers, each with one draw.
CONFIG = tacit.JointLinUCB(dim=DIM, epsilon=10.0, delta=0.1, releases="tree", horizon=2)


@pytest.fixture(params=["at once", "ahead"])
def store(request, tmp_path, monkeypatch):
    """Of a service that draws noise when it is needed, or before."""
    if request.param == "ahead":
        monkeypatch.setattr(live, "_AT_ONCE", 0)
    return tmp_path / "tacit.db"


def noise_of_a_view(path) -> np.ndarray:
    """The numbers that were added to the first view, over what the plan says they are."""
    plan = CONFIG.planned()
    with serving(path) as service:
        service.create("one", CONFIG.slug, {name: value for name, value in CONFIG.options().items() if value})
        for _ in range(2):
            answer = service.decide("one", [np.eye(DIM)[0]])
            assert answer.status_code == 201, answer.text
        shown = service.ask("GET", "/v1/deployments/one/view").json()
        assert service.show("one")["seeded"] is False
    assert shown["arrays"]["stage"] == [1]
    arrays = {name: np.array(value) for name, value in shown["arrays"].items()}
    factor = np.triu(arrays["factor"])
    matrix = factor.T @ factor
    # No reward came, so the sums are zero: what is there is the regulariser and the noise.
    noise = matrix - plan.params.estimate.regulariser[0] * np.eye(DIM)
    vector = matrix @ arrays["theta"]
    steps = np.concatenate([noise[np.triu_indices(DIM)], vector]) / plan.params.counter.lattice.steps
    return steps / plan.law.scale


def fits(noise: np.ndarray) -> bool:
    return min(checks.law(noise, checks.normal), checks.scale(noise, 1.0)) > UNSEEDED_LEVEL


def test_the_first_view_of_a_deployment_has_the_noise_of_its_plan(store):
    noise = noise_of_a_view(store)
    assert noise.size == 7380
    assert fits(noise)
    # A tenth less is eleven standard errors away, and passes less than once in 10¹⁰ times.
    assert checks.scale(0.9 * noise, 1.0) < UNSEEDED_LEVEL


def test_half_the_noise_is_found_out(store, monkeypatch):
    draw = DiscreteGaussian.draw
    monkeypatch.setattr(DiscreteGaussian, "draw", lambda law, *rest: draw(law.scaled(0.5), *rest))
    assert not fits(noise_of_a_view(store))


def test_no_two_deployments_share_their_noise(store, tmp_path):
    one, other = noise_of_a_view(store), noise_of_a_view(tmp_path / "other.db")
    assert checks.unrelated(one, other) > UNSEEDED_LEVEL
