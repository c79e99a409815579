"""What is sealed opens for its owner, in its place and under its key, and for nothing else."""

from __future__ import annotations

import pytest

from tacit.errors import StoreRefused
from tacit.service.sealing import Sealer, Secret

KEY, DATA = bytes(range(32)), b"exact sums of people"


def test_what_is_sealed_opens_again_and_shows_nothing():
    sealer = Sealer(KEY, "news")
    sealed = sealer.seal(b"vault", DATA)
    assert sealer.open(b"vault", sealed) == DATA
    assert DATA not in sealed
    assert sealer.seal(b"vault", DATA) != sealed


@pytest.mark.parametrize(
    ("key", "owner", "what"),
    [(bytes(32), "news", b"vault"), (KEY, "shop", b"vault"), (KEY, "news", b"view"), (None, "news", b"vault")],
    ids=["another key", "another owner", "another place", "no key"],
)
def test_nothing_else_opens_it(key, owner, what):
    sealed = Sealer(KEY, "news").seal(b"vault", DATA)
    with pytest.raises(StoreRefused):
        Sealer(key, owner).open(what, sealed)


def test_what_is_not_sealed_is_not_taken_where_there_is_a_key():
    with pytest.raises(StoreRefused):
        Sealer(KEY, "news").open(b"vault", Sealer(None, "news").seal(b"vault", DATA))


def test_two_deployments_cannot_be_joined_by_what_they_keep():
    one, other = Secret.new(), Secret.new()
    for kept in ("person", "client_key"):
        assert getattr(one, kept)("zoe") == getattr(one, kept)("zoe")
        assert getattr(one, kept)("zoe") != getattr(other, kept)("zoe")
    assert one.reward(7, 0.5) != other.reward(7, 0.5)
    assert one.person("zoe") != one.client_key("zoe")
