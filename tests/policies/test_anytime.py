"""AnytimeLinUCB: epochs that double, each of which begins with nothing and knows its own length."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.environments import Bias
from tacit.errors import BadInput
from tests.policies.online_reference import Base, offers

DIM = 3


def anytime(**changes):
    return tacit.AnytimeLinUCB(**({"dim": DIM, "epsilon": 10.0, "delta": 0.1} | changes))


def views(config, rounds, seed=1):
    """The view after each of so many reports, and the report."""
    server, device = config.server(), config.device(limit=rounds, seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        device.see(server.view())
        message = device.report(offers(rng, 1, DIM)[0], float(rng.uniform(-1, 1)))
        server.receive(message)
        yield np.array(message["values"]), {name: np.array(part) for name, part in server.view()["arrays"].items()}


@pytest.mark.parametrize("decay", [0.25, 0.125])
def test_it_begins_anew_after_1_3_7_15_reports(decay):
    config = anytime(decay=decay)
    first = config.plan("secure").view()
    for round_, (_, view) in enumerate(views(config, 40), 1):
        epoch = (round_ + 1).bit_length() - 1  # of the next round
        assert view["perturbation"][0] == pytest.approx(2 ** (-epoch * decay / 2))
        begins = (round_ + 1).bit_count() == 1
        assert np.array_equal(view["whiten"], np.eye(DIM)) == begins
        assert (view["width"][0] == first.width[0]) == begins
        if begins:
            assert not view["theta"].any()
        assert view["plays"][0] == round_, "the count of reports goes on"


@pytest.mark.parametrize("learner", ["ogd", "maler"])
def test_an_epoch_is_algorithm_1_for_its_own_length(learner):
    """Epoch m is a fresh learner for T_m = 2^m rounds on the reports of that epoch alone."""
    config = anytime(learner=learner)
    base = Base(config, config.scale, horizon=1)
    for round_, (values, view) in enumerate(views(config, 63), 1):
        base.take(values[:DIM], values[DIM])
        if (round_ + 1).bit_count() == 1:
            base = Base(config, config.scale, horizon=round_ + 1)
        matrix, theta = base.estimate()
        np.testing.assert_allclose(view["theta"], theta, rtol=1e-6, atol=1e-10)
        np.testing.assert_allclose(view["whiten"].T @ view["whiten"], np.linalg.inv(matrix), rtol=1e-6, atol=1e-12)
        assert view["width"][0] == pytest.approx(base.width(1.0))


def test_what_is_forgotten_costs_the_same():
    """Epochs are the server's affair: the price of a report is that of online-linucb."""
    config = anytime()
    assert config.guarantee == tacit.OnlineLinUCB(dim=DIM, epsilon=10.0, delta=0.1).guarantee
    assert config.plan().draws.learn_normals == DIM + 1
    assert "begins anew" in config.card().text()


@pytest.mark.parametrize("changes", [{"decay": 0.0}, {"width": "theory"}, {"learner": "adam"}])
def test_nonsense_is_refused(changes):
    with pytest.raises(BadInput, match=next(iter(changes))):
        anytime(**changes)


@pytest.mark.long
def test_forgetting_costs_regret():
    """Reference at ε = 10, published σ: 2,099 to 2,244 with k = 1/4 against 580 to 820 with a known horizon."""
    common = {"dim": 5, "epsilon": 10.0, "delta": 0.1, "calibration": "published", "noise_level": 0.5}
    run = {"rounds": 20_000, "trials": 20, "seed": 1}
    regret = tacit.simulate(tacit.AnytimeLinUCB(**common), Bias(), **run).regret_mean
    known = tacit.simulate(tacit.OnlineLinUCB(**common), Bias(), **run).regret_mean
    assert 1500 < regret < 3500
    assert known < 0.6 * regret
