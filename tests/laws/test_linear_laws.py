"""What must hold of every policy on the linear machine: `publish` is the last function that sees a secret."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from tacit._kernel import implements, kernel
from tacit.core.plan import Plan
from tacit.core.policy import Policy
from tacit.core.session import Session
from tacit.errors import NoSecureSampler
from tacit.explorations import explore, explore_arms
from tacit.noise import stream
from tacit.policies.by_arm import ByArm
from tacit.policies.linear import Linear
from tacit.policies.switching import Switching
from tests.kernel.plain import uncompiled
from tests.offers import laid_out

from .conftest import EXAMPLES, name

SAMPLERS = ("double", "secure")


@cache
def planned(config: Policy, sampler: str) -> Plan | None:
    try:
        return config.planned(sampler)
    except NoSecureSampler:
        return None


@pytest.fixture(scope="module")
def without_secrets():
    """What came of every linear example whose vault was emptied between `publish` and `fit`, in every release."""
    return uncompiled("tests.laws.poisoned")


def test_what_follows_publish_depends_on_published_numbers_alone(without_secrets):
    examples = without_secrets["examples"]
    linear = [
        (config, sampler)
        for config in EXAMPLES
        for sampler in SAMPLERS
        if (plan := planned(config, sampler)) is not None and isinstance(plan.params, ByArm | Linear | Switching)
    ]
    assert len(examples) == len(linear) > 30
    for name_of, (same, releases) in examples.items():
        assert releases > 0, name_of
        assert same, name_of


def test_the_law_notices_a_view_that_is_fitted_on_something_else(without_secrets):
    assert "stayed indefinite" in without_secrets["twin"]


# One plan for both samplers ---------------------------------------------------------------------------------------


class LastArm(NamedTuple):
    """The last of the actions on offer."""

    unused: float = 0.0


@implements(explore, LastArm)
@kernel
def _last_arm(exploration, view, slate, noise):
    return slate.scores.shape[0] - 1


@implements(explore_arms, LastArm)
@kernel
def _last_of_arms(exploration, view, slate, noise):
    return slate.scores.shape[0] - 1


#: Types of params whose choice has been compiled, and seen.
PLAYED: set[Any] = set()


class PlaysTheLast:
    """What a subclass does that has an exploration of its own."""

    def plan(self, sampler: str = "double") -> Plan:
        made = super().plan(sampler)
        return dataclasses.replace(made, params=made.params._replace(exploration=LastArm()))


@pytest.mark.parametrize(
    "config", [config for config in EXAMPLES if hasattr(config.plan().params, "exploration")], ids=name
)
def test_an_overridden_exploration_is_in_both_plans_and_plays(config):
    own = type("Own", (PlaysTheLast, type(config)), {})
    subclass = own.from_dict(config.to_dict())
    samplers = [sampler for sampler in SAMPLERS if planned(config, sampler) is not None]
    assert "secure" in samplers or config.calibrated != "exact"
    for sampler in samplers:
        plan = subclass.planned(sampler)
        assert isinstance(plan.params.exploration, LastArm)
        if sampler != samplers[0]:
            continue  # the same code chooses, and what is compiled for a class of ours is not kept on disk
        if isinstance(plan.params, ByArm | Linear) and numba.typeof(plan.params) not in PLAYED:
            PLAYED.add(numba.typeof(plan.params))
            session = Session(plan, config.dim, seed=1, source=stream(1))
            session.view.width[0] = 1.0
            assert session.choose(session.view, laid_out(config, np.eye(config.dim)[:3])) == 2
