"""Several jobs on one pool: the same bits, handed over as they finish, and a clean stop."""

from __future__ import annotations

import _thread
import threading

import numpy as np
import pytest

import tacit
from tacit.environments import Sphere
from tacit.errors import BadInput, Interrupted
from tacit.simulation import Job, engine, simulate, simulate_all

WORLD = Sphere(dim=3)
LINUCB = tacit.LinUCB(dim=3)
PRIVATE = tacit.JointLinUCB(dim=3, epsilon=1.0, delta=0.1)
JOBS = [
    Job(LINUCB, WORLD, 5_000, 3, 1, "first"),
    Job(PRIVATE, WORLD, 300, 1, 2),
    Job(LINUCB, WORLD, 2_000, 4, 3, "third"),
]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_job_gets_the_bits_it_would_get_alone(threads):
    for job, result in zip(JOBS, simulate_all(JOBS, threads=threads), strict=True):
        alone = simulate(job.config, job.environment, job.rounds, job.trials, job.seed, label=job.label)
        np.testing.assert_array_equal(result.curves, alone.curves)
        np.testing.assert_array_equal(result.counters, alone.counters)
        assert (result.label, result.trial_numbers) == (alone.label, alone.trial_numbers)
        assert result.seconds > 0


def test_jobs_are_handed_over_once_in_order_and_in_the_calling_thread():
    handed, threads = [], set()

    def finished(index, result):
        handed.append((index, result.label))
        threads.add(threading.current_thread())

    simulate_all(JOBS, threads=1, finished=finished)
    assert handed == [(0, "first"), (1, "joint-linucb"), (2, "third")]
    assert threads == {threading.current_thread()}


def test_no_jobs_give_no_results():
    assert simulate_all([]) == []


def test_a_refusal_comes_before_the_first_round(monkeypatch):
    monkeypatch.setattr(engine, "_trial", lambda *_: pytest.fail("a round was run"))
    with pytest.raises(BadInput, match="environment's 3, got dim=4"):
        simulate_all([JOBS[0], Job(tacit.LinUCB(dim=4), WORLD, 5)])
    for name in ("rounds", "trials", "seed"):
        with pytest.raises(BadInput, match=name):
            Job(LINUCB, WORLD, **{"rounds": 5, name: -1})


def test_numbers_of_numpy_are_plain_numbers():
    job = Job(LINUCB, WORLD, np.int64(5), np.int32(2), np.int64(3))
    assert [type(value) for value in (job.rounds, job.trials, job.seed)] == [int, int, int]


def interrupt_when(monkeypatch, wanted):
    real = engine._trial

    def trial(one, rounds, *rest):
        if wanted(rounds, one.job.seed):
            _thread.interrupt_main()
        return real(one, rounds, *rest)

    monkeypatch.setattr(engine, "_trial", trial)


def test_an_interrupt_hands_over_what_is_complete(monkeypatch):
    interrupt_when(monkeypatch, lambda rounds, seed: rounds and seed == 7)
    long, handed = Job(LINUCB, WORLD, 10**9, 2, 7, "long"), {}
    with pytest.raises(Interrupted, match="2 of 3 runs had finished"):
        simulate_all([JOBS[0], JOBS[1], long], threads=1, finished=handed.__setitem__)
    assert list(handed) == [0, 1]
    assert not any(result.interrupted for result in handed.values())


def test_an_interrupt_inside_the_callback_hands_that_job_over_again():
    calls = []

    def finished(index, result):
        calls.append(index)
        if len(calls) == 1:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        simulate_all([JOBS[1], Job(LINUCB, WORLD, 10**9, 1, 7)], threads=1, finished=finished)
    assert calls == [0, 0]


@pytest.mark.parametrize("becomes", [None, RuntimeError("no compiled object yet")], ids=["nothing", "an error"])
def test_an_interrupt_that_the_compiler_swallows_still_stops_the_run(monkeypatch, becomes):
    """numba calls back through C in places: what is raised there is printed and forgotten, or comes out as an error."""
    real = engine._trial

    def trial(one, rounds, *rest):
        if not rounds:
            try:
                _thread.interrupt_main()
                for _ in range(1000):
                    pass
            except KeyboardInterrupt:
                if becomes is not None:
                    raise becomes from None
        return real(one, rounds, *rest)

    monkeypatch.setattr(engine, "_trial", trial)
    with pytest.raises(Interrupted, match="nothing to keep"):
        simulate(LINUCB, WORLD, rounds=10**9, trials=2, seed=5)


def test_an_error_of_the_compiler_itself_is_no_interrupt(monkeypatch):
    def broken(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr(engine, "_trial", broken)
    with pytest.raises(RuntimeError, match="broken"):
        simulate(LINUCB, WORLD, rounds=10)


def test_the_handler_of_before_is_put_back():
    import signal

    before = signal.getsignal(signal.SIGINT)
    simulate_all(JOBS[1:2])
    assert signal.getsignal(signal.SIGINT) is before


def test_a_failing_callback_stops_everything():
    def finished(index, result):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        simulate_all([JOBS[1], Job(LINUCB, WORLD, 10**9, 1, 7)], threads=2, finished=finished)


def test_jobs_can_be_run_from_another_thread():
    found = []
    thread = threading.Thread(target=lambda: found.extend(simulate_all(JOBS[1:2])))
    thread.start()
    thread.join()
    assert len(found) == 1


def test_a_person_is_a_round_in_simulation_and_the_result_says_so():
    config = tacit.JointLinUCB(dim=3, epsilon=1.0, delta=0.1, person_rounds=2)
    assert any("every round is a different person" in note for note in simulate(config, WORLD, rounds=20).notes)


def test_a_prior_is_one_cell_of_the_table():
    from tacit.estimators.prior import Prior

    prior = Prior.from_rows(np.eye(3), np.ones(3))
    config = tacit.JointLinUCB(dim=3, epsilon=1.0, delta=0.1, prior=prior)
    cells = set(simulate(config, WORLD, rounds=5).frame()["policy_prior"])
    assert len(cells) == 1
    assert '"gram"' in cells.pop()
