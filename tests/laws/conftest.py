"""The laws hold for every example of every policy in the catalogue, without special cases."""

from __future__ import annotations

import pytest

from tacit.core.policy import Policy
from tacit.policies.catalogue import CATALOGUE

DIM = 4


def _name(config: Policy) -> str:
    place = type(config).examples(DIM).index(config)
    return f"{config.slug}-{place}"


EXAMPLES = [config for kind in CATALOGUE.values() for config in kind.examples(DIM)]
PRIVATE = [config for config in EXAMPLES if config.guarantee.private]


@pytest.fixture(params=EXAMPLES, ids=_name)
def config(request: pytest.FixtureRequest) -> Policy:
    """Each example of each policy."""
    return request.param


@pytest.fixture(params=PRIVATE, ids=_name)
def private_config(request: pytest.FixtureRequest) -> Policy:
    """Each example of each private policy."""
    return request.param
