"""Sealed reports: the shuffler sees dice, the server sees what a plain batch shows, and what was changed is refused.

Error level: its randomness is the operating system's, so a check rejects a right law once in 10⁹ (tests/statistics).
"""

from __future__ import annotations

import base64
import copy
import json
import pickle
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tacit.core import hpke, sealed_reports
from tacit.core.contract import contract_of
from tacit.core.messages import schema, write
from tacit.core.sealed_reports import (
    MODULUS,
    SealedShuffler,
    mask,
    most_in_batch,
    most_in_report,
    new_sealing_key,
    open_batch,
    public_key_of,
    read_sealed_report,
    seal_report,
    sealing,
)
from tacit.errors import BadInput, BadMessage, BatchNotFull, RepeatedReport, StaleReport, VaultSealed
from tests.statistics import checks
from tests.statistics.checks import UNSEEDED_LEVEL

from . import golden
from .apart import DIM, LocalExample, ShuffleExample, contents, reports_of

MIXED = ShuffleExample(dim=DIM, sends="xy")
COUNTS = ShuffleExample(dim=DIM)
BOTH = pytest.mark.parametrize("config", [MIXED, COUNTS], ids=["xy", "counts"])
PRIVATE, PUBLIC = new_sealing_key()


def sealed_of(config, count=4, *, seed=1, stage=0, public=PUBLIC):
    return [seal_report(config, report, public) for report in reports_of(config, count, seed=seed, stage=stage)]


def filled(config, reports, stage=0):
    shuffler = SealedShuffler(config, stage=stage)
    for report in reports:
        shuffler.add(report)
    return shuffler


# The cipher ---------------------------------------------------------------------------------------------------------


def test_sealing_is_the_hpke_of_the_standard():
    theirs = pytest.importorskip("cryptography.hazmat.primitives.hpke")
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    suite = theirs.Suite(theirs.KEM.X25519, theirs.KDF.HKDF_SHA256, theirs.AEAD.AES_256_GCM)
    key = X25519PrivateKey.from_private_bytes(PRIVATE)
    ours = hpke.seal(bytes.fromhex(PUBLIC), b"somebody", info=b"what for", bound=b"")
    assert suite.decrypt(ours, key, b"what for") == b"somebody"
    text = suite.encrypt(b"somebody", key.public_key(), b"what for")
    opened = hpke.open_sealed(PRIVATE, bytes.fromhex(PUBLIC), text, info=b"what for", bound=b"")
    assert opened == b"somebody"


@pytest.mark.parametrize("place", range(32 + 8 + 16))
def test_a_sealed_text_with_one_bit_changed_does_not_open(place):
    """Every bit of every byte, the idle highest one of the public key included."""
    public = bytes.fromhex(PUBLIC)
    sealed = bytearray(hpke.seal(public, b"somebody", info=b"i", bound=b"b"))
    assert len(sealed) == 8 + hpke.OVERHEAD
    for bit in range(8):
        changed = bytearray(sealed)
        changed[place] ^= 1 << bit
        assert hpke.open_sealed(PRIVATE, public, bytes(changed), info=b"i", bound=b"b") is None


def test_a_sealed_text_opens_for_one_key_one_purpose_and_one_place():
    public, (other, other_public) = bytes.fromhex(PUBLIC), new_sealing_key()
    sealed = hpke.seal(public, b"somebody", info=b"i", bound=b"b")
    assert hpke.open_sealed(PRIVATE, public, sealed, info=b"i", bound=b"b") == b"somebody"
    assert hpke.open_sealed(PRIVATE, public, sealed, info=b"j", bound=b"b") is None
    assert hpke.open_sealed(PRIVATE, public, sealed, info=b"i", bound=b"c") is None
    assert hpke.open_sealed(other, bytes.fromhex(other_public), sealed, info=b"i", bound=b"b") is None
    for nothing in (b"", sealed[:47], bytes(100)):  # the last has a public key that leads to no secret
        assert hpke.open_sealed(PRIVATE, public, nothing, info=b"i", bound=b"b") is None


def test_no_two_sealed_texts_are_alike():
    report = reports_of(COUNTS, 1)[0]
    texts = {seal_report(COUNTS, report, PUBLIC)["sealed"] for _ in range(50)}
    assert len({text[:40] for text in texts}) == 50, "a one-time key was used twice"


# What arrives -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", [MIXED, COUNTS, *(golden.CONFIGS[name] for name in ("counts", "mixed"))])
def test_sealed_and_plain_batches_leave_the_server_with_the_same_state(config):
    """To the bit; the rows of a mixed batch are put in one order, which nobody can repeat."""
    plain, sealed = config.server(), config.server()
    for stage in range(2):
        reports = reports_of(config, 4, seed=stage + 3, stage=stage)
        shuffler = config.shuffler(stage=stage)
        for report in reports:
            shuffler.add(report)
        batch = shuffler.batch()
        mixed = filled(config, [seal_report(config, report, PUBLIC) for report in reports], stage).batch()
        opened = open_batch(config, write(mixed), PRIVATE)
        for message in (batch, opened):
            message.get("values", []).sort()
        assert opened == batch
        plain.receive_batch(write(batch))
        sealed.receive_batch(write(opened))
    assert contents(sealed) == contents(plain)
    assert sealed.stage == 2


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, contract_of(COUNTS).largest), min_size=DIM, max_size=DIM), min_size=4, max_size=4)
)
def test_whatever_the_counts_their_totals_arrive(vectors):
    reports = [{**report, "values": vector} for report, vector in zip(reports_of(COUNTS, 4), vectors, strict=True)]
    batch = filled(COUNTS, [seal_report(COUNTS, report, PUBLIC) for report in reports]).batch()
    assert open_batch(COUNTS, batch, PRIVATE)["ones"] == np.sum(vectors, axis=0).tolist()


def test_sealed_numbers_keep_every_bit():
    report = reports_of(MIXED, 1)[0]
    report["values"] = [-2.2250738585072014e-300, 0.1 + 0.2, -0.0, 1 / 3]
    reports = [seal_report(MIXED, report, PUBLIC), *sealed_of(MIXED, 3, seed=5)]
    rows = open_batch(MIXED, filled(MIXED, reports).batch(), PRIVATE)["values"]
    assert np.array(report["values"]).tobytes() in [np.array(row).tobytes() for row in rows]


# What the shuffler sees ---------------------------------------------------------------------------------------------


def cells(masked: list[list[int]]) -> np.ndarray:
    """How often numbers fall into 16 equal parts of what is below 2⁵², by their highest and by their lowest bits."""
    numbers = np.array(masked, np.uint64).ravel()
    return np.concatenate([np.bincount(part.astype(int), minlength=16) for part in (numbers >> 48, numbers & 15)])


def masked_of(report, runs, seed=None):
    return [seal_report(COUNTS, report, PUBLIC, seed=seed)["masked"] for _ in range(runs)]


def law_of(masked):
    found = cells(masked)
    return checks.combined([checks.counts(found[:16]), checks.counts(found[16:])])


@pytest.mark.parametrize("count", [0, 28], ids=["least", "largest"])
def test_a_masked_report_is_uniform_whatever_is_in_it(count):
    report = {**reports_of(COUNTS, 1)[0], "values": [count] * DIM}
    assert law_of(masked_of(report, 1500)) > UNSEEDED_LEVEL


def test_a_twin_without_a_mask_is_rejected(monkeypatch):
    report = reports_of(COUNTS, 1)[0]
    monkeypatch.setattr(sealed_reports, "mask", lambda seed, size: np.zeros(size, np.uint64))
    assert masked_of(report, 1)[0] == report["values"]
    assert law_of(masked_of(report, 1500)) < UNSEEDED_LEVEL


def test_a_twin_with_masks_too_short_is_rejected(monkeypatch):
    """It draws 48 bits of mask: the counts still cannot be read off, and the law is not the one of dice."""
    whole = mask
    monkeypatch.setattr(sealed_reports, "mask", lambda seed, size: whole(seed, size) % np.uint64(2**48))
    assert law_of(masked_of(reports_of(COUNTS, 1)[0], 1500)) < UNSEEDED_LEVEL


def test_a_twin_that_uses_one_seed_twice_is_rejected():
    assert law_of(masked_of(reports_of(COUNTS, 1)[0], 1500, seed=b"s" * 32)) < UNSEEDED_LEVEL


def test_two_coordinates_of_a_mask_have_nothing_to_do_with_each_other():
    rows = np.array([mask(bytes([place % 256, place // 256]) * 16, 2) for place in range(4000)])
    found = np.zeros((8, 8))
    np.add.at(found, tuple((rows >> np.uint64(49)).astype(int).T), 1)
    assert checks.counts(found.ravel()) > UNSEEDED_LEVEL


def test_a_sealed_report_holds_nothing_of_a_report_but_id_and_stage():
    for config in (MIXED, COUNTS):
        report = reports_of(config, 1, stage=3)[0]
        sealed = seal_report(config, report, PUBLIC)
        assert sealed.keys() == {"tacit", "version", "contract", "id", "stage", "masked", "sealed"}
        assert (sealed["id"], sealed["stage"]) == (report["id"], 3)
        assert (sealed["masked"] is None) == (config is MIXED)
        raw = base64.b64decode(sealed["sealed"])
        for value in report["values"]:
            assert np.float64(value).tobytes() not in raw


def test_sealed_reports_of_one_contract_are_of_one_length():
    """A length would tell something of what is in it."""
    for config in (MIXED, COUNTS):
        assert len({len(report["sealed"]) for report in sealed_of(config, 20)}) == 1


# What the server sees -----------------------------------------------------------------------------------------------


def test_a_batch_carries_no_sender():
    for config in (MIXED, COUNTS):
        reports = sealed_of(config)
        text = write(filled(config, reports).batch())
        for report in reports:
            assert report["id"] not in text


def test_masked_counts_leave_as_their_sum_only():
    reports = sealed_of(COUNTS)
    shuffler = filled(COUNTS, reports)
    assert shuffler._rows == []
    assert len(shuffler._ones) == DIM  # even inside no single vector is kept
    batch = shuffler.batch()
    assert batch["masked"] == (np.sum([report["masked"] for report in reports], axis=0) % MODULUS).tolist()
    for order in permutations(reports):
        assert filled(COUNTS, order).batch()["masked"] == batch["masked"]
    for report in reports:
        assert report["masked"] != batch["masked"]


def test_what_the_server_sees_can_be_made_from_a_plain_batch():
    """The simulator of the argument: fresh seeds on top of plain totals open to the same batch."""
    reports = reports_of(COUNTS, 4)
    shuffler = COUNTS.shuffler()
    for report in reports:
        shuffler.add(report)
    plain = shuffler.batch()
    blank = [seal_report(COUNTS, {**report, "values": [0] * DIM}, PUBLIC) for report in reports_of(COUNTS, 4, seed=9)]
    made = filled(COUNTS, blank).batch()
    made["masked"] = [(a + b) % MODULUS for a, b in zip(made["masked"], plain["ones"], strict=True)]
    assert open_batch(COUNTS, made, PRIVATE) == plain


def orders(config, runs):
    """How often each of the 24 orders of sealed texts came out."""
    reports = sealed_of(config)
    sender = {report["sealed"]: number for number, report in enumerate(reports)}
    place = {order: number for number, order in enumerate(permutations(range(4)))}
    counts = np.zeros(24)
    for _ in range(runs):
        counts[place[tuple(sender[text] for text in filled(config, reports).batch()["sealed"])]] += 1
    return counts


@BOTH
def test_every_order_of_a_batch_is_equally_likely(config):
    assert checks.counts(orders(config, 1200)) > UNSEEDED_LEVEL


def test_a_server_cannot_be_given_a_single_sealed_report():
    report = sealed_of(COUNTS, 1)[0]
    server = COUNTS.server()
    before = contents(server)
    with pytest.raises(BadInput, match="protects people only in batches of 4"):
        server.receive(report)
    for thing in (report, {**report, "tacit": "batch"}):
        with pytest.raises(BadMessage, match="Expected"):
            server.receive_batch(thing)
        with pytest.raises(BadMessage, match="Expected"):
            open_batch(COUNTS, thing, PRIVATE)
    assert contents(server) == before


@BOTH
def test_a_sealed_batch_of_fewer_reports_does_not_open(config):
    batch = filled(config, sealed_of(config)).batch()
    for change in (
        {"sealed": batch["sealed"][:1], "reports": 1},
        {"sealed": batch["sealed"][:3]},
        {"sealed": [*batch["sealed"], batch["sealed"][0]]},
        {"reports": 4.0},
        {"sealed": batch["sealed"][0]},
    ):
        with pytest.raises(BadMessage, match="Expected"):
            open_batch(config, {**batch, **change}, PRIVATE)


@BOTH
def test_one_report_twice_in_a_batch_is_refused(config):
    batch = filled(config, sealed_of(config)).batch()
    batch["sealed"][1] = batch["sealed"][0]
    with pytest.raises(RepeatedReport, match="Expected every report once in a batch, got one twice"):
        open_batch(config, batch, PRIVATE)


# Tampering ----------------------------------------------------------------------------------------------------------


@BOTH
def test_a_batch_that_was_tampered_with_is_refused(config):
    batch = filled(config, sealed_of(config)).batch()
    open_batch(config, batch, PRIVATE)
    raw = bytearray(base64.b64decode(batch["sealed"][2]))
    raw[40] ^= 1
    changed = [*batch["sealed"][:2], base64.b64encode(raw).decode(), batch["sealed"][3]]
    for change in ({"sealed": changed}, {"stage": 1}):
        with pytest.raises(BadMessage, match="got one that does not open") as caught:
            open_batch(config, {**batch, **change}, PRIVATE)
        assert batch["sealed"][2] not in str(caught.value)


@BOTH
def test_another_key_opens_nothing(config):
    batch = filled(config, sealed_of(config)).batch()
    with pytest.raises(BadMessage, match="Expected reports sealed to this server's key"):
        open_batch(config, batch, new_sealing_key()[0])
    mine = sealed_of(config, 3)
    strange = sealed_of(config, 1, seed=8, public=new_sealing_key()[1])
    with pytest.raises(BadMessage, match="got one that does not open"):
        open_batch(config, filled(config, [*mine, *strange]).batch(), PRIVATE)


def test_a_report_sealed_under_one_contract_opens_under_no_other():
    other = ShuffleExample(dim=DIM, ones=9)
    batch = filled(COUNTS, sealed_of(COUNTS)).batch()
    with pytest.raises(BadMessage, match="under the contract"):
        open_batch(other, batch, PRIVATE)
    batch["contract"] = contract_of(other).fingerprint
    with pytest.raises(BadMessage, match="got one that does not open"):
        open_batch(other, batch, PRIVATE)


def test_totals_that_no_devices_could_have_are_refused_by_the_server():
    """A shuffler, or a device that lies, can shift totals modulo 2⁵²; nearly every shift is out of bounds."""
    batch = filled(COUNTS, sealed_of(COUNTS)).batch()
    batch["masked"][0] = (batch["masked"][0] + 10**6) % MODULUS
    server = COUNTS.server()
    with pytest.raises(BadMessage, match="Expected ones to be whole numbers from 0 to"):
        server.receive_batch(open_batch(COUNTS, batch, PRIVATE))
    assert server.stage == 0


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_numbers_no_device_sends_are_refused_after_they_were_opened(value):
    contract, reports = contract_of(MIXED), sealed_of(MIXED, 3)
    plain = np.array([0.0, 0.0, 0.0, value]).tobytes()
    sealed = hpke.seal(
        bytes.fromhex(PUBLIC), plain, info=b"tacit sealed report 1", bound=sealed_reports._bound(contract, 0)
    )
    lie = {**sealed_of(MIXED, 1, seed=4)[0], "sealed": base64.b64encode(sealed).decode()}
    batch = open_batch(MIXED, filled(MIXED, [*reports, lie]).batch(), PRIVATE)
    with pytest.raises(BadMessage, match="Expected values to be numbers from"):
        MIXED.server().receive_batch(batch)


# The shuffler's rules -----------------------------------------------------------------------------------------------


@BOTH
def test_an_unfilled_batch_never_leaves(config):
    shuffler = SealedShuffler(config)
    for count, report in enumerate(sealed_of(config)):
        assert not shuffler.ready
        with pytest.raises(BatchNotFull, match=f"Expected a batch of 4 reports, got {count} so far"):
            shuffler.batch()
        shuffler.add(report)
    assert shuffler.ready
    with pytest.raises(BadInput, match="which is full with 4 reports, got another report"):
        shuffler.add(sealed_of(config, 1, seed=2)[0])
    assert shuffler.batch()["reports"] == 4
    assert (shuffler.ready, shuffler.stage) == (False, 1)


@BOTH
def test_a_repeat_is_refused_by_its_id_and_by_its_text(config):
    reports = sealed_of(config, 3)
    shuffler = filled(config, reports)
    fresh = sealed_of(config, 1, seed=2)[0]
    for repeat in (reports[0], {**fresh, "id": reports[0]["id"]}, {**reports[0], "id": "0" * 32}):
        with pytest.raises(RepeatedReport, match="got one that is"):
            shuffler.add(write(repeat))
    shuffler.add(fresh)
    assert shuffler.ready


@BOTH
def test_reports_of_a_batch_are_made_under_one_view(config):
    shuffler = filled(config, sealed_of(config))
    shuffler.batch()
    late, right, early = (sealed_of(config, 1, seed=9, stage=stage)[0] for stage in (0, 1, 2))
    with pytest.raises(StaleReport, match="got one of stage 0, whose batch has left"):
        shuffler.add(late)
    with pytest.raises(BadMessage, match="got one of stage 2, which is not there yet"):
        shuffler.add(early)
    shuffler.add(right)


@BOTH
def test_a_shuffler_follows_its_server(config):
    shuffler = filled(config, sealed_of(config, 2))
    shuffler.follow(0)
    assert len(shuffler._ids) == 2, "at the same stage nothing is dropped"
    shuffler.follow(5)
    assert (shuffler.stage, shuffler._ids, shuffler._texts) == (5, set(), [])
    shuffler.add(sealed_of(config, 1, stage=5)[0])
    with pytest.raises(BadInput, match="stage"):
        shuffler.follow(-1)


@BOTH
def test_reports_of_a_refused_batch_are_not_taken_a_second_time(config):
    """The server has seen their total: in a second one a person would pay twice."""
    first, second = sealed_of(config), sealed_of(config, seed=2)
    shuffler = SealedShuffler(config)
    for reports in (first, second):
        for report in reports:
            shuffler.add(report)
        shuffler.batch()
        shuffler.follow(0)
    for report in [*first, *second]:
        with pytest.raises(RepeatedReport):
            shuffler.add({**report, "id": "0" * 32})
    for report in sealed_of(config, seed=3):
        shuffler.add(report)
    shuffler.batch()
    shuffler.follow(1)
    assert shuffler._left == (-1, frozenset()), "a batch that arrived is forgotten"


@BOTH
def test_nothing_of_a_past_batch_is_kept(config):
    shuffler = filled(config, sealed_of(config))
    shuffler.batch()
    shuffler.follow(1)
    assert (shuffler._ids, shuffler._texts, shuffler._rows, shuffler._seals) == (set(), [], [], set())
    assert shuffler._ones == [0] * config.plan().report.size


@pytest.mark.parametrize("way", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_sealed_shuffler_cannot_be_copied(way):
    with pytest.raises(VaultSealed, match="it holds people's reports one by one"):
        way(SealedShuffler(COUNTS))


def test_printing_a_sealed_shuffler_shows_no_report():
    assert repr(filled(COUNTS, sealed_of(COUNTS, 3))) == repr(SealedShuffler(COUNTS))


# Messages -----------------------------------------------------------------------------------------------------------


@BOTH
def test_bad_sealed_reports_are_refused_and_not_shown(config):
    *taken, last = sealed_of(config)
    shuffler = filled(config, taken)
    text = last["sealed"]
    bad = [{**last, "sealed": value} for value in (text[:-4], text + "AAAA", text.replace("=", "") + "A", None, "é", 7)]
    bad += [{**last, "sealed": " " + text}, {**last, "sealed": text[:50] + "\n" + text[50:]}, {**last, "version": 2}]
    bad += [{**last, "masked": [0]}, {**last, "masked": [MODULUS] * DIM}, {**last, "masked": [-1] * DIM}]
    bad += [
        {**last, "masked": [0.5] * DIM},
        {**last, "masked": True},
        {**last, "sender": "somebody"},
        None,
        "[" * 10**6,
    ]
    bad += [{**last, "masked": [1] * DIM if config is MIXED else None}, reports_of(config, 1)[0]]
    for report in bad:
        with pytest.raises(BadMessage, match="Expected") as caught:
            shuffler.add(report)
        assert "somebody" not in str(caught.value)
        assert text not in str(caught.value)
        assert len(shuffler._ids) == 3
    shuffler.add(last)
    assert shuffler.ready


def test_a_text_has_one_spelling():
    """The last character of base64 has idle bits: with them a repeat could be spelled anew."""
    last = sealed_of(COUNTS, 1)[0]
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    assert last["sealed"].endswith("=")
    letter = alphabet[alphabet.index(last["sealed"][-2]) + 1]
    again = last["sealed"][:-2] + letter + "="
    assert base64.b64decode(again) == base64.b64decode(last["sealed"])
    with pytest.raises(BadMessage, match="Expected sealed to be 80 bytes in base64"):
        SealedShuffler(COUNTS).add({**last, "sealed": again})


@BOTH
def test_honest_messages_are_never_too_long_and_keep_their_schema(config):
    contract, reports = contract_of(config), sealed_of(config)
    batch = filled(config, reports).batch()
    assert len(json.dumps(reports[0], indent=8)) <= most_in_report(contract)
    assert len(json.dumps(batch, indent=8)) <= most_in_batch(contract)
    Draft202012Validator(schema("sealed-report")).validate(reports[0])
    Draft202012Validator(schema("sealed-batch")).validate(batch)


def test_the_golden_batch_opens_to_the_golden_batch():
    stored = golden.stored()
    keys = stored["counts-sealing"]
    private = bytes.fromhex(keys["private"])
    assert public_key_of(private) == keys["public"]
    config = golden.CONFIGS["counts"]
    assert open_batch(config, stored["counts-sealed-batch"], private) == stored["counts-batch"]
    once, seed = bytes.fromhex(keys["once"]), bytes.fromhex(keys["seed"])
    again = seal_report(config, stored["counts-report"], keys["public"], once=once, seed=seed)
    assert again == stored["counts-sealed-report"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
STORED = golden.stored()


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["sealed-report", "sealed-batch"]),
    st.sampled_from(["tacit", "version", "contract", "id", "stage", "reports", "masked", "sealed"]),
    JSON,
)
def test_whatever_stands_in_a_message_it_is_read_or_refused(kind, key, value):
    contract = contract_of(golden.CONFIGS["counts"])
    message = {**STORED[f"counts-{kind}"], key: value}
    try:
        if kind == "sealed-report":
            read_sealed_report(contract, message)
        else:
            open_batch(contract, message, bytes(range(32)))
    except BadMessage:
        return
    assert Draft202012Validator(schema(kind)).is_valid(json.loads(write(message)))


# What cannot be sealed ----------------------------------------------------------------------------------------------


def test_policies_without_batches_have_nothing_to_seal():
    config = LocalExample(dim=DIM)
    for act in (sealing, SealedShuffler, lambda config: seal_report(config, {}, PUBLIC)):
        with pytest.raises(BadInput, match="whose reports are private one by one"):
            act(config)


def test_totals_that_would_not_fit_under_a_mask_are_refused():
    @dataclass(frozen=True, kw_only=True)
    class Fine(ShuffleExample):
        def plan(self, sampler="double"):
            plan = super().plan(sampler)
            return replace(plan, report=replace(plan.report, noise={"steps": 2.0**50, "ones": 0.0}))

    with pytest.raises(BadInput, match=r"Expected totals below 4,503,599,627,370,496, got up to"):
        sealing(Fine(dim=DIM))
    sealing(Fine(dim=DIM, batch=3))


def test_a_batch_too_long_for_a_message_is_refused():
    assert sealing(ShuffleExample(dim=3, batch=10**6))
    with pytest.raises(BadInput, match="Use smaller batches"):
        sealing(ShuffleExample(dim=3, batch=10**8))


@pytest.mark.parametrize("key", [None, 7, "", "ab" * 31, "AB" * 32, "ab" * 32 + "0", b"x" * 32], ids=range(7))
def test_what_is_no_key_is_refused_and_not_shown(key):
    with pytest.raises(BadInput, match="Expected the sealing key of the server as 64 hexadecimal digits") as caught:
        seal_report(COUNTS, reports_of(COUNTS, 1)[0], key)
    assert not isinstance(key, str) or len(key) < 2 or key not in str(caught.value)
    with pytest.raises(BadInput, match="Expected the private key to be 32 bytes"):
        open_batch(COUNTS, {}, PRIVATE[:31] if key == b"x" * 32 else key)


def test_a_key_that_leads_to_no_secret_is_refused():
    with pytest.raises(BadInput, match="got a number that is no key"):
        seal_report(COUNTS, reports_of(COUNTS, 1)[0], "00" * 32)
