"""The state that learners, devices, servers and the service share the text of, and never the contents."""

import copy
import pickle

import numpy as np
import pytest

import tacit
from tacit.core.session import POLICY, Session
from tacit.errors import VaultSealed
from tacit.noise import stream, tape
from tests.statistics import checks
from tests.statistics.checks import UNSEEDED_LEVEL

CONFIG = tacit.JointLinUCB(dim=3, epsilon=1.0, delta=1e-6)
ROW = np.full(3, 0.25)


def session(**options):
    return Session(CONFIG.planned(), 3, **options)


@pytest.mark.parametrize("leave", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_session_stays_where_it_is(leave):
    with pytest.raises(VaultSealed):
        leave(session())


def test_what_is_printed_of_a_session_says_nothing():
    one = session()
    one.learn(ROW, 0.5)
    assert not any(character.isdigit() for character in repr(one).split(" at ")[0])


def test_sessions_share_neither_sums_nor_noise():
    one, other = session(), session()
    one.learn(ROW, 0.5)
    assert one.vault.sums.any()
    assert not other.vault.sums.any()
    assert np.isnan(other.noise.normals).all(), "a tape is empty until it is needed"
    other.learn(ROW, 0.5)
    assert not set(one.noise.normals) & set(other.noise.normals)


@pytest.mark.parametrize("seed", [None, 1])
def test_what_lies_ready_has_the_law_of_the_plan(seed):
    """7,380 numbers, with a seed and without: a tenth less noise would pass less than once in 10¹⁰ times."""
    plan = tacit.JointLinUCB(dim=120, epsilon=1.0, delta=1e-6).planned()
    one = Session(plan, 120, seed=seed)
    one.tick()
    laid = one.noise.normals / plan.law.scale
    assert laid.size == 7380
    assert checks.scale(laid, 1.0) > UNSEEDED_LEVEL
    assert checks.law(laid, checks.normal) > UNSEEDED_LEVEL
    assert checks.scale(0.9 * laid, 1.0) < UNSEEDED_LEVEL


def test_machine_code_is_shared_without_what_it_works_on():
    one, other = session(seed=1), session(seed=1)
    one.learn(ROW, 0.5)
    other.share_code(one)
    assert not other.vault.sums.any()
    other.learn(ROW, 0.5)
    for ours, theirs in zip(
        (*one.vault, *one.view, *one.noise), (*other.vault, *other.view, *other.noise), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_a_source_tells_whether_it_is_ever_refilled():
    one = session()
    assert not one.seeded
    one.read_from(stream(1, 0, POLICY))
    assert one.seeded
    before = one.noise.state.copy()
    one.learn(ROW, 0.5)  # a stream is not laid out, which would raise
    assert before.shape == one.noise.state.shape
    assert session(seed=1).seeded, "also where the numbers of a seed are laid on a tape"


def test_nothing_is_laid_out_for_a_report_that_is_taken():
    config = tacit.LocalLinUCB(dim=3, epsilon=1.0, delta=1e-6, horizon=100)
    plan = config.plan()
    one = Session(plan, 3, source=tape(0, 0), params=plan.server, report_size=0)
    one.take(np.zeros(plan.report.size))
    assert len(one.noise.normals) == len(one.noise.uniforms) == 0


def test_a_device_has_no_vault():
    assert tacit.LocalLinUCB(dim=3, epsilon=1.0, delta=1e-6, horizon=100).device()._session.vault is None


def test_slates_are_kept_within_a_bound():
    one = session(seed=1, slates=3)
    for arms in range(1, 20):
        one.choose(one.view, np.zeros((arms, 3)))
        assert len(one._slates) <= 3


def test_a_row_is_owned_before_it_is_looked_at(monkeypatch):
    """Kernels read a row twice, without the interpreter's lock: to measure it, and to sum it. Another thread that wrote
    to the caller's array in between put 1e100 into a sum bounded by 1."""
    seen = []
    for call in ("learn", "encode"):
        real = getattr(Session, call)

        def watched(self, *arguments, real=real):
            seen.append(next(part for part in arguments if isinstance(part, np.ndarray)))
            return real(self, *arguments)

        monkeypatch.setattr(Session, call, watched)
    x = np.array([0.6, 0.0])
    tacit.JointLinUCB(dim=2, epsilon=1.0, delta=1e-6).start(seed=1).learn(x, 1.0)
    tacit.LocalLinUCB(dim=2, epsilon=1.0, delta=1e-6, horizon=10).device(seed=1).report(x, 1.0)
    assert len(seen) == 2
    for row in seen:
        assert np.array_equal(row, x)
        assert not np.shares_memory(row, x)
