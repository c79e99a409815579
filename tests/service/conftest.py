"""What tests of the service share."""

from __future__ import annotations

import pytest

from tests.service.postgres_server import postgres_server


@pytest.fixture(scope="session")
def server():
    """One PostgreSQL for all tests that take a database each: it is slower to start and to stop than most of them."""
    with postgres_server() as found:
        yield found
