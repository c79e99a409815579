"""What privacy costs a learner of functions: error rates against ε."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.environments import RKHS
from tacit.errors import BadInput
from tacit.frontiers import Asked
from tacit.simulation import simulate_predictions

WORLD = RKHS()
ASKED = {"epsilons": (0.1, 100.0), "rounds": 400, "trials": 3, "seed": 2, "progress": False}


@pytest.fixture(scope="module")
def found():
    return tacit.frontier([Asked("usca", tacit.USCA, {"features": 25})], WORLD, **ASKED)


def test_errors_are_those_of_the_simulation_between_a_gaussian_process_and_chance(found):
    mean = simulate_predictions(tacit.GPMean(), WORLD, 400, 3, 2, progress=False)
    assert found.without_privacy.value.mean == mean.error_rate
    assert found.evenly.value.mean == mean.random_error_rate
    for point in found.points:
        config = tacit.USCA(epsilon=point.asked, delta=1e-6, features=25)
        alone = simulate_predictions(config, WORLD, 400, 3, 2, progress=False)
        assert np.array_equal(point.result.by_way, alone.by_way)
        gained = alone.random_errors - alone.errors
        assert point.share.mean == pytest.approx(gained.mean() / (mean.random_errors - mean.errors).mean())
        assert point.true == alone.guarantee.epsilon_at(1e-6)
    assert found.points[0].share.mean < found.points[1].share.mean


def test_words_and_page_are_of_errors_and_records(found, tmp_path):
    assert "error rate" in found.text()
    assert "within" not in found.advice()[0]
    assert "400 records" in found.advice()[0]
    assert found.to_dict()["measure"] == "error"
    page = found.write(tmp_path)[-1].read_text("utf-8")
    assert "Every learner had 400 records" in page
    assert "Privacy card: usca" in page
    assert "do not publish" not in page


def test_finished_runs_are_found_again(found, tmp_path, monkeypatch):
    policies = [Asked("usca", tacit.USCA, {"features": 25})]
    first = tacit.frontier(policies, WORLD, runs=tmp_path, **ASKED)
    assert first.to_dict() == found.to_dict()
    monkeypatch.setattr("tacit.simulation.prediction_job.simulate_predictions", None)  # nothing may be run again
    assert tacit.frontier(policies, WORLD, runs=tmp_path, **ASKED).to_dict() == found.to_dict()


def test_each_kind_of_learner_has_its_kind_of_world():
    with pytest.raises(BadInput, match="Expected a learner of functions in rkhs"):
        tacit.frontier([Asked("joint", tacit.JointLinUCB, {"dim": 3})], WORLD)
    with pytest.raises(BadInput, match="got usca, which learns a function"):
        tacit.frontier([tacit.USCA], tacit.environments.Sphere(dim=3))
    with pytest.raises(BadInput, match="measure='error' in a world of functions, got measure='regret'"):
        tacit.frontier([tacit.USCA], WORLD, measure="regret")
