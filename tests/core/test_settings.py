"""Configurations under scikit-learn's conventions, and what objects show of themselves in a notebook."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import tacit
from tacit.core.round import COUNTERS
from tacit.environments import Sphere
from tacit.errors import BadInput, UnknownName
from tacit.policies.catalogue import CATALOGUE, FUNCTIONS

from .worlds import EXAMPLES, name_of

CONFIG = tacit.JointLinUCB(dim=3, epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize("config", EXAMPLES, ids=name_of)
def test_the_params_of_a_configuration_make_it_again(config):
    assert type(config)(**config.get_params(deep=False)) == config
    assert config.set_params(**config.get_params()) is config


def test_params_are_values_and_not_their_json():
    prior = tacit.Prior.from_rows(np.eye(3), np.zeros(3))
    assert tacit.LinUCB(dim=3, prior=prior).get_params()["prior"] is prior


def test_a_change_is_refused_loudly():
    with pytest.raises(BadInput, match=r"dataclasses.replace\(config, epsilon=...\)"):
        CONFIG.set_params(epsilon=0.1)
    with pytest.raises(UnknownName, match="epsilon"):
        CONFIG.set_params(epsilom=0.1)
    assert CONFIG.epsilon == 1.0


def test_a_clone_of_something_immutable_is_itself():
    for config in (CONFIG, Sphere(dim=3), *(kind.examples()[0] for kind in FUNCTIONS.values())):
        assert config.__sklearn_clone__() is config


def test_the_real_clone_takes_every_configuration():
    base = pytest.importorskip("sklearn.base", reason="scikit-learn is not installed: protocol tests only")

    class Holder(base.BaseEstimator):
        def __init__(self, config=None):
            self.config = config

    for kind in CATALOGUE.values():
        config = kind.examples(4)[0]
        assert base.clone(config) is config
        assert base.clone(Holder(config)).config is config
    holder = Holder(CONFIG)
    assert holder.get_params()["config__epsilon"] == 1.0
    with pytest.raises(BadInput, match="immutable"):
        holder.set_params(config__epsilon=0.1)
    assert holder.set_params(config=dataclasses.replace(CONFIG, epsilon=0.1)).config.epsilon == 0.1


def test_objects_show_themselves_in_a_notebook():
    zeros = np.zeros((1, COUNTERS), np.int64)
    result = tacit.Result(
        CONFIG, Sphere(dim=3), 10, 1, 1, "a run", (0,), np.array([10]), np.ones((1, 1)), zeros, CONFIG.guarantee, 1.0
    )
    for shown, title in (
        (CONFIG, "JointLinUCB"),
        (Sphere(dim=3), "Sphere"),
        (CONFIG.guarantee, "Guarantee"),
        (CONFIG.card(), "Privacy card: joint-linucb"),
        (result, "a run"),
    ):
        assert f"<strong>{title}</strong>" in shown._repr_html_()
    assert result.to_pandas().equals(result.frame())
    assert hasattr(tacit.Audit, "_repr_html_")


# What may be asked of every policy -----------------------------------------------------------------------------------


@pytest.mark.parametrize("config", EXAMPLES, ids=name_of)
def test_a_policy_answers_what_it_has_no_option_for(config):
    assert config.dim > 0
    for name, otherwise in (
        ("strict", False),
        ("person_rounds", None),
        ("one_row_per_segment", False),
        ("views", None),
    ):
        assert config.has_option(name) == (name in config.options())
        assert getattr(config, name) == config.options().get(name, otherwise)


def test_what_is_declared_for_all_is_an_option_of_none():
    assert "strict" not in tacit.LinUCB(dim=3).to_dict()
    with pytest.raises(UnknownName, match="strict"):
        tacit.LinUCB.from_dict({"policy": "linucb", "dim": 3, "strict": True})


def test_an_option_without_a_default_must_be_given_whatever_is_declared_for_all():
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Careful(tacit.LinUCB):
        strict: bool
        person_rounds: int = 7

    with pytest.raises(TypeError, match="strict"):
        Careful(dim=3)
    found = Careful(dim=3, strict=True)
    assert (found.strict, found.person_rounds) == (True, 7)

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class More(Careful):
        strict: bool

    with pytest.raises(TypeError, match="strict"):
        More(dim=3)
