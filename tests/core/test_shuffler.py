"""The shuffler: full batches or none, in no order, from nobody.

Error level: its randomness is the operating system's, so a check rejects a right law once in 10⁹ (tests/statistics).
"""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import numpy as np
import pytest

from tacit.core.messages import write
from tacit.errors import BadInput, BadMessage, BatchNotFull, RepeatedReport, StaleReport, VaultSealed
from tests.statistics import checks
from tests.statistics.checks import UNSEEDED_LEVEL

from .apart import DIM, LocalExample, ShuffleExample, reports_of

MIXED = ShuffleExample(dim=DIM, sends="xy")
COUNTS = ShuffleExample(dim=DIM)
BOTH = pytest.mark.parametrize("config", [MIXED, COUNTS], ids=["xy", "counts"])


def filled(config, reports):
    shuffler = config.shuffler()
    for report in reports:
        shuffler.add(report)
    return shuffler


@BOTH
def test_an_unfilled_batch_never_leaves(config):
    shuffler = config.shuffler()
    for count, report in enumerate(reports_of(config, 4)):
        assert not shuffler.ready
        with pytest.raises(BatchNotFull, match=f"Expected a batch of 4 reports, got {count} so far"):
            shuffler.batch()
        shuffler.add(report)
    assert shuffler.ready
    assert shuffler.batch()["reports"] == 4
    assert not shuffler.ready
    with pytest.raises(BatchNotFull, match="got 0 so far"):
        shuffler.batch()


@BOTH
def test_a_batch_carries_no_sender(config):
    reports = reports_of(config, 4)
    batch = filled(config, reports).batch()
    content = "ones" if config is COUNTS else "values"
    assert batch.keys() == {"tacit", "version", "contract", "stage", "reports", content}
    text = write(batch)
    for report in reports:
        assert report["id"] not in text


def test_a_mixed_batch_holds_the_numbers_of_its_reports_and_nothing_else():
    reports = reports_of(MIXED, 4)
    batch = filled(MIXED, reports).batch()
    assert sorted(batch["values"]) == sorted(report["values"] for report in reports)


def orders(shuffle, runs: int) -> np.ndarray:
    """How often each of the 24 orders came out."""
    reports = reports_of(MIXED, 4)
    sender = {tuple(report["values"]): number for number, report in enumerate(reports)}
    place = {order: number for number, order in enumerate(permutations(range(4)))}
    counts = np.zeros(24)
    for _ in range(runs):
        shuffler = filled(MIXED, reports)
        shuffle(shuffler)
        counts[place[tuple(sender[tuple(values)] for values in shuffler.batch()["values"])]] += 1
    return counts


def test_every_order_of_a_batch_is_equally_likely():
    """So the law of a batch is the same whoever came first: it is exchangeable."""
    assert checks.counts(orders(lambda shuffler: None, 2400)) > UNSEEDED_LEVEL


class OnlyTurns:
    """A broken twin: it cuts the pack at a random place, which leaves everybody behind the same neighbour."""

    def __init__(self):
        self.random = np.random.default_rng(1)

    def shuffle(self, rows):
        at = self.random.integers(len(rows))
        rows[:] = rows[at:] + rows[:at]


class SometimesLazy(OnlyTurns):
    """Another: it leaves every tenth batch as it came."""

    def shuffle(self, rows):
        if self.random.random() > 0.1:
            self.random.shuffle(rows)


@pytest.mark.parametrize("twin", [OnlyTurns(), SometimesLazy()], ids=lambda twin: type(twin).__name__)
def test_a_twin_that_mixes_badly_is_rejected(twin):
    def spoil(shuffler):
        shuffler._random = twin

    assert checks.counts(orders(spoil, 2400)) < UNSEEDED_LEVEL


def test_counts_leave_as_totals_only():
    """Not a vector of anybody is in the message, and the order of arrival is not either."""
    reports = reports_of(COUNTS, 4)
    batch = filled(COUNTS, reports).batch()
    assert batch["ones"] == np.sum([report["values"] for report in reports], axis=0).tolist()
    assert all(type(total) is int for total in batch["ones"])
    for order in permutations(reports):
        assert filled(COUNTS, order).batch() == batch


def test_counts_are_added_up_at_once():
    """Even inside the shuffler no single vector is kept."""
    shuffler = filled(COUNTS, reports_of(COUNTS, 3))
    assert shuffler._rows == []
    assert len(shuffler._ones) == DIM


@BOTH
def test_a_repeat_within_a_batch_is_refused(config):
    reports = reports_of(config, 3)
    shuffler = filled(config, reports)
    for report in reports:
        with pytest.raises(RepeatedReport, match="got one that is"):
            shuffler.add(write(report))
    assert not shuffler.ready
    shuffler.add(reports_of(config, 1, seed=2)[0])
    assert shuffler.ready


@BOTH
def test_reports_of_a_batch_are_made_under_one_view(config):
    shuffler = filled(config, reports_of(config, 4))
    shuffler.batch()
    late, right, early = (reports_of(config, 1, seed=9, stage=stage)[0] for stage in (0, 1, 2))
    with pytest.raises(StaleReport, match="under the view of stage 1, got one of stage 0, whose batch has left"):
        shuffler.add(late)
    with pytest.raises(BadMessage, match="under the view of stage 1, got one of stage 2, which is not there yet"):
        shuffler.add(early)
    shuffler.add(right)
    assert shuffler.stage == 1


@BOTH
def test_nothing_of_a_past_batch_is_kept(config):
    shuffler = filled(config, reports_of(config, 4))
    batch = json.loads(write(shuffler.batch()))
    assert (shuffler._ids, shuffler._rows, shuffler._ones) == (set(), [], [0] * config.plan().report.size)
    for report in reports_of(config, 4, seed=2, stage=1):
        shuffler.add(report)
    other = shuffler.batch()
    assert other != batch
    assert (batch["stage"], other["stage"]) == (0, 1)


@BOTH
def test_a_full_batch_takes_no_more(config):
    shuffler = filled(config, reports_of(config, 4))
    with pytest.raises(BadInput, match="which is full with 4 reports, got another report"):
        shuffler.add(reports_of(config, 1, seed=2)[0])
    assert shuffler.batch()["reports"] == 4


@BOTH
def test_bad_reports_are_refused_and_the_batch_untouched(config):
    *taken, last = reports_of(config, 4)
    shuffler = filled(config, taken)
    before = (set(shuffler._ids), list(shuffler._rows), list(shuffler._ones))
    other = ShuffleExample(dim=DIM, batch=5).contract()["fingerprint"]
    bad = [{**last, "values": last["values"][:-1]}, {**last, "version": 3}, {**last, "contract": other}, None, "{}"]
    bad += [{**last, "sender": "somebody"}, {**last, "values": [float("nan"), *last["values"][1:]]}, "[" * 10**6]
    for report in bad:
        with pytest.raises(BadMessage, match="Expected"):
            shuffler.add(report)
        assert (shuffler._ids, shuffler._rows, shuffler._ones) == before
    shuffler.add(last)
    assert shuffler.ready


def test_a_shuffler_can_begin_where_a_server_stands():
    config = ShuffleExample(dim=DIM, batch=2)
    shuffler, server = config.shuffler(), config.server()
    for stage in range(3):
        if stage == 2:
            shuffler = config.shuffler(stage=server.stage)
        for report in reports_of(config, 2, seed=stage + 1, stage=stage):
            shuffler.add(report)
        server.receive_batch(shuffler.batch())
    assert server.stage == 3
    with pytest.raises(BadInput, match="stage"):
        config.shuffler(stage=-1)


def test_three_programs_learn_together():
    """Devices, shuffler and server through JSON: each person reports under the view of the batch they are in."""
    config = ShuffleExample(dim=DIM, batch=50)
    shuffler, server = config.shuffler(), config.server()
    truth = np.array([1.0, 0.0, 0.0])
    rng = np.random.default_rng(1)
    for _ in range(20):
        while not shuffler.ready:
            device = config.device()
            device.see(server.view_json())
            offered = rng.standard_normal((5, DIM))
            offered /= np.linalg.norm(offered, axis=1, keepdims=True)
            x = offered[device.choose(offered)] if server.stage else offered[0]
            shuffler.add(write(device.report(x, float(x @ truth))))
        server.receive_batch(write(shuffler.batch()))
    mean = np.array(server.view()["arrays"]["mean"])
    assert mean[0] > 5 * np.abs(mean[1:]).max()


def test_reports_from_many_threads_are_each_taken_once():
    config = ShuffleExample(dim=DIM, batch=100)
    shuffler, reports = config.shuffler(), reports_of(config, 100)

    def work(_):
        for report in reports:
            try:
                shuffler.add(report)
            except RepeatedReport:
                continue

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert shuffler.batch()["ones"] == np.sum([report["values"] for report in reports], axis=0).tolist()


@pytest.mark.parametrize("way", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_shuffler_cannot_be_copied(way):
    with pytest.raises(VaultSealed, match="it holds people's reports one by one"):
        way(MIXED.shuffler())


def test_printing_a_shuffler_shows_no_report():
    shuffler = filled(MIXED, reports_of(MIXED, 3))
    assert repr(shuffler) == repr(MIXED.shuffler())


def test_only_policies_with_batches_have_a_shuffler():
    with pytest.raises(BadInput, match=r"give them to config\.server"):
        LocalExample(dim=DIM).shuffler()
