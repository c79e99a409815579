"""The laws hold for every example of every policy in the catalogue, without special cases."""

from __future__ import annotations

import pytest

from tacit.core.policy import Policy
from tacit.policies.catalogue import CATALOGUE
from tacit.privacy.scope import Protects, Trust

DIM = 4


def name(config: Policy) -> str:
    """What a test calls an example."""
    place = type(config).examples(DIM).index(config)
    return f"{config.slug}-{place}"


EXAMPLES = [config for kind in CATALOGUE.values() for config in kind.examples(DIM)]
PRIVATE = [config for config in EXAMPLES if config.guarantee.private]
#: Those that can be put to work for people; the others can only be simulated.
LIVE = [config for config in EXAMPLES if config.sampler() == "secure"]
#: Private policies that publish noised sums of exact rows; those whose people send noised reports; those that publish
#: noised sums of rewards; and the rest, which publish nothing of what they are told.
NOISY = [config for config in PRIVATE if config.trust is Trust.JOINT]
REPORTING = [config for config in PRIVATE if config.plan().report is not None]
REWARDS = [config for config in PRIVATE if config.protects is Protects.REWARDS]
SILENT = [config for config in PRIVATE if config not in NOISY + REPORTING + REWARDS]
#: Those that are shown something in every round, actions or the context that all arms have; and those with a list.
SHOWN = [config for config in EXAMPLES if config.fixed_actions is None]
LISTED = [config for config in EXAMPLES if config not in SHOWN]
VECTORS = [config for config in SHOWN if config.arms_of_context is None]
CONTEXTS = [config for config in SHOWN if config not in VECTORS]
#: Those whose noise is the least that keeps a promise.
EXACT = [config for config in PRIVATE if config.promise is not None and config.calibrated == "exact"]


@pytest.fixture(params=EXAMPLES, ids=name)
def config(request: pytest.FixtureRequest) -> Policy:
    """Each example of each policy."""
    return request.param


@pytest.fixture(params=LIVE, ids=name)
def live_config(request: pytest.FixtureRequest) -> Policy:
    """Each example that can be put to work for people."""
    return request.param


@pytest.fixture(params=[config for config in PRIVATE if config in LIVE], ids=name)
def live_private_config(request: pytest.FixtureRequest) -> Policy:
    """Each of them that is private."""
    return request.param


@pytest.fixture(params=PRIVATE, ids=name)
def private_config(request: pytest.FixtureRequest) -> Policy:
    """Each example of each private policy."""
    return request.param


@pytest.fixture(params=NOISY, ids=name)
def noisy_config(request: pytest.FixtureRequest) -> Policy:
    """Each example that publishes noised sums."""
    return request.param


@pytest.fixture(params=REPORTING, ids=name)
def reporting_config(request: pytest.FixtureRequest) -> Policy:
    """Each example whose people send noised reports."""
    return request.param


@pytest.fixture(params=SILENT, ids=name)
def silent_config(request: pytest.FixtureRequest) -> Policy:
    """Each example that publishes nothing of what it is told."""
    return request.param


@pytest.fixture(params=EXACT, ids=name)
def exact_config(request: pytest.FixtureRequest) -> Policy:
    """Each example with the least noise that keeps its promise."""
    return request.param


@pytest.fixture(params=SHOWN, ids=name)
def shown_config(request: pytest.FixtureRequest) -> Policy:
    """Each example that is shown something in every round."""
    return request.param


@pytest.fixture(params=VECTORS, ids=name)
def vectors_config(request: pytest.FixtureRequest) -> Policy:
    """Each example that is shown actions in every round."""
    return request.param


@pytest.fixture(params=CONTEXTS, ids=name)
def context_config(request: pytest.FixtureRequest) -> Policy:
    """Each example whose arms share a context."""
    return request.param


@pytest.fixture(params=LISTED, ids=name)
def listed_config(request: pytest.FixtureRequest) -> Policy:
    """Each example that has a list of actions."""
    return request.param


@pytest.fixture(params=REWARDS, ids=name)
def reward_config(request: pytest.FixtureRequest) -> Policy:
    """Each example that protects rewards only."""
    return request.param
