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

EVERY_ROUND = {"epsilon": 10.0, "delta": 0.1, "releases": "tree", "horizon": 2}
#: The second decision is made by a view of the first one's row: some thousand numbers, each with one draw. Rewards are
#: neither moved nor scaled.
CONFIGS = {
    "vectors": tacit.JointLinUCB(dim=120, **EVERY_ROUND),
    "arms": tacit.JointLinUCB(
        arms=8, dim=40, preparation="none", width="theory", reward_low=-1.0, reward_weight=2.0, **EVERY_ROUND
    ),
}
#: The first view of discounted sums is the centre of contexts: of one round, here.
CENTRED = tacit.JointLinUCB(arms=2, dim=140, epsilon=10.0, delta=0.1, preparation=tacit.Preparation(centre_rounds=1))


@pytest.fixture(params=["at once", "ahead"])
def store(request, tmp_path, monkeypatch):
    """Of a service that draws noise when it is needed, or before."""
    if request.param == "ahead":
        monkeypatch.setattr(live, "_AT_ONCE", 0)
    return tmp_path / "tacit.db"


def first_view(path, config) -> dict[str, np.ndarray]:
    """The first view of a deployment, as anybody can read it. No reward has come."""
    with serving(path) as service:
        service.create("one", config.slug, {name: value for name, value in config.options().items() if value})
        context = np.zeros(config.dim).tolist()
        for _ in range(2):
            shared = config.arms_of_context is not None
            answer = service.decide("one", None if shared else [context], body={"context": context} if shared else {})
            assert answer.status_code == 201, answer.text
        shown = service.ask("GET", "/v1/deployments/one/view").json()
        assert service.show("one")["seeded"] is False
    assert shown["arrays"]["stage"] == [1]
    return {name: np.array(value) for name, value in shown["arrays"].items()}


def noise_of_a_view(path, config=CONFIGS["vectors"]) -> np.ndarray:
    """The numbers that were added to the first view, over what the plan says they are."""
    plan, arrays = config.planned(), first_view(path, config)
    if config.arms_of_context is None:
        factor = np.triu(arrays["factor"])
        blocks = [(factor.T @ factor, arrays["theta"])]
    else:
        blocks = [
            (np.linalg.inv(spread), theta) for spread, theta in zip(arrays["spread"], arrays["theta"], strict=True)
        ]
    # The sums are zero: what is there is the regulariser and the noise.
    found = []
    for matrix, theta in blocks:
        noise = matrix - plan.params.estimate.regulariser[0] * np.eye(len(matrix))
        found += [noise[np.triu_indices(len(matrix))], matrix @ theta]
    return np.concatenate(found) / plan.params.counter.lattice.steps / plan.law.scale


def fits(noise: np.ndarray) -> bool:
    return min(checks.law(noise, checks.normal), checks.scale(noise, 1.0)) > UNSEEDED_LEVEL


@pytest.mark.parametrize("name", CONFIGS)
def test_the_first_view_of_a_deployment_has_the_noise_of_its_plan(store, name):
    noise = noise_of_a_view(store, CONFIGS[name])
    assert noise.size == CONFIGS[name].size > 6800
    assert fits(noise)
    # A tenth less is eleven standard errors away, and passes less than once in 10¹⁰ times.
    assert checks.scale(0.9 * noise, 1.0) < UNSEEDED_LEVEL


def noise_of_a_centre(path) -> np.ndarray:
    plan = CENTRED.planned()
    return first_view(path, CENTRED)["centre"] / plan.params.centre.step / plan.law.scale


def test_the_centre_of_arms_has_the_noise_of_its_plan(tmp_path, monkeypatch):
    """With half of it the deviation is eight standard errors away."""
    assert fits(noise_of_a_centre(tmp_path / "whole.db"))
    halve(monkeypatch)
    assert not fits(noise_of_a_centre(tmp_path / "half.db"))


def halve(monkeypatch):
    draw = DiscreteGaussian.draw
    monkeypatch.setattr(DiscreteGaussian, "draw", lambda law, *rest: draw(law.scaled(0.5), *rest))


@pytest.mark.parametrize("name", CONFIGS)
def test_half_the_noise_is_found_out(store, monkeypatch, name):
    halve(monkeypatch)
    assert not fits(noise_of_a_view(store, CONFIGS[name]))


def test_no_two_deployments_share_their_noise(store, tmp_path):
    one, other = noise_of_a_view(store), noise_of_a_view(tmp_path / "other.db")
    assert checks.unrelated(one, other) > UNSEEDED_LEVEL
