"""Messages: read strictly, written to the bit, held to their schemas, and never shown when they are refused."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import tacit
from tacit.core import messages
from tacit.core.contract import contract_of
from tacit.core.messages import KINDS, VERSION, read, schema, write
from tacit.errors import BadInput, BadMessage
from tacit.privacy.accountant import price
from tacit.privacy.event import GaussianEvent, PersonEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust, Unit

from . import golden
from .apart import LocalExample, ShuffleExample, reports_of

CONFIG = LocalExample(dim=3)
EXAMPLES = [CONFIG, LocalExample(dim=2, constants=(0.6,), person_rounds=4), ShuffleExample(dim=3)]


# Text ---------------------------------------------------------------------------------------------------------------


def test_a_message_is_the_same_as_dict_text_and_bytes():
    message = CONFIG.device(seed=1).report([0.1, 0.2, 0.3], 0.5)
    text = write(message)
    assert read(message) == read(text) == read(text.encode()) == read(bytearray(text.encode())) == message
    assert "\n" not in text


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_keep_every_bit(numbers):
    found = read(write({"numbers": numbers}))["numbers"]
    assert np.array(found, np.float64).tobytes() == np.array(numbers, np.float64).tobytes()


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_json_does_not_have_is_neither_written_nor_read(number):
    with pytest.raises(BadInput, match="Expected a message of strings, finite numbers"):
        write({"number": number})
    with pytest.raises(BadMessage, match="NaN or an infinity, which JSON does not have"):
        read(json.dumps({"number": number}))


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 1}', '{"a": {"b": 1, "c": 2, "b": 3}}', '{"values": [{"a": 1, "\\u0061": 2}]}'],
)
def test_a_key_that_comes_twice_is_refused(text):
    """Two readers might take different ones: a check by one would then say nothing to the other."""
    with pytest.raises(BadMessage, match="Expected every key of a message once, got one twice"):
        read(text)


def test_text_that_is_too_long_is_refused_before_it_is_parsed(monkeypatch):
    most = messages._ENVELOPE + 4 * messages._PER_NUMBER

    def parse(*_args, **_options):
        raise AssertionError("parsed")

    monkeypatch.setattr(messages.json, "loads", parse)
    for text in ("[" * (most + 1), b" " * (most + 1), "9" * 10**7):
        with pytest.raises(BadMessage, match=rf"at most {most:,} characters, got .* It was not parsed"):
            read(text, numbers=4)


def test_an_honest_message_is_never_too_long():
    """The longest numbers there are, spelled in full."""
    contract = contract_of(CONFIG)
    report = CONFIG.device(seed=1).report([0.1, 0.2, 0.3], 0.5)
    report["values"] = [-2.2250738585072014e-300] * 4
    contract.read_report(json.dumps(report, indent=8))
    view = CONFIG.server().view()
    view["arrays"]["theta"] = [-2.2250738585072014e-300] * 3
    contract.read_view(json.dumps(view, indent=8))


NOT_JSON = ["", "{", "somebody", "{'a': 1}", '{"a": 1,}', b"\xff\xfe{\x00", b'{"a": "\xe9"}', "[" * 900, '{"a":' * 180]


@pytest.mark.parametrize("text", [*NOT_JSON, "1" * 5000], ids=range(len(NOT_JSON) + 1))
def test_what_is_not_json_is_refused_and_not_shown(text):
    with pytest.raises(BadMessage, match="Expected a message in JSON") as caught:
        read(text)
    assert "somebody" not in str(caught.value)
    assert caught.value.__context__ is None, "the parser's own words would show what was sent"


@pytest.mark.parametrize(
    ("text", "kind"),
    [("[]", "a list"), ("7", "a number"), ("7.5", "a number"), ('"7"', "a string"), ("null", "null"), ("true", "true")],
)
def test_what_is_not_an_object_is_refused(text, kind):
    with pytest.raises(BadMessage, match=f"Expected a message to be a JSON object, got {kind}"):
        read(text)


@pytest.mark.parametrize("thing", [None, 7, [("tacit", "report")], object()])
def test_what_is_no_message_at_all_is_refused(thing):
    with pytest.raises(BadMessage, match="Expected a message as a dict, text or bytes, got"):
        read(thing)


def test_only_messages_are_written():
    with pytest.raises(BadInput, match="pass on what device, shuffler or server returned"):
        write({"values": np.zeros(3)})


# Schemas ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_are_schemas_and_of_this_version(kind):
    found = schema(kind)
    Draft202012Validator.check_schema(found)
    assert found["properties"]["version"]["const"] == VERSION
    assert found["$id"] == f"urn:tacit:{kind}:{VERSION}"
    assert found["additionalProperties"] is False


def test_there_is_no_schema_of_anything_else():
    with pytest.raises(BadInput, match=r"Expected one of 'contract', 'view', .*'sealed-batch', got 'letter'"):
        schema("letter")


def test_schemas_and_golden_messages_are_shipped_with_the_package():
    folder = files("tacit") / "protocol"
    assert {f"{kind}.schema.json" for kind in KINDS} <= {path.name for path in folder.iterdir()}
    assert len([path for path in (folder / "golden").iterdir() if path.name.endswith(".json")]) == 23


@pytest.mark.parametrize("name", [name for name in golden.stored() if not name.endswith(("choice", "sealing"))])
def test_golden_messages_keep_their_schema(name):
    message = golden.stored()[name]
    Draft202012Validator(schema(message["tacit"])).validate(message)


def test_golden_messages_are_what_the_programs_write():
    made, stored = golden.messages(), golden.stored()
    assert made.keys() == stored.keys()
    for name, message in made.items():
        assert same(message, stored[name]), f"{name}: if that is meant, run python -m tests.core.golden"


def same(made, stored) -> bool:
    """Equal, but for the last digits, in which machines differ."""
    if isinstance(made, dict):
        return made.keys() == stored.keys() and all(same(value, stored[key]) for key, value in made.items())
    if isinstance(made, list):
        return len(made) == len(stored) and all(map(same, made, stored))
    if isinstance(made, float):
        return isinstance(stored, float) and math.isclose(made, stored, rel_tol=1e-9, abs_tol=1e-12)
    return type(made) is type(stored) and made == stored


def test_the_comparison_with_golden_messages_can_fail():
    message = golden.stored()["xy-report"]
    assert same(message, golden.stored()["xy-report"])
    for change in ({"version": 2}, {"stage": 1}, {"values": message["values"][::-1]}, {"more": 1}, {"version": 1.0}):
        assert not same({**message, **change}, message)


@pytest.mark.parametrize("config", [*EXAMPLES, ShuffleExample(dim=3, sends="xy")], ids=repr)
def test_whatever_the_programs_write_keeps_its_schema(config):
    written = [config.contract(), config.server().view(), *reports_of(config, 4)]
    if config.slug == "example-shuffle":
        shuffler = config.shuffler()
        for report in written[2:]:
            shuffler.add(report)
        written.append(shuffler.batch())
    for message in written:
        Draft202012Validator(schema(message["tacit"])).validate(json.loads(write(message)))


@pytest.mark.parametrize("name", [name for name in golden.stored() if not name.endswith(("choice", "sealing"))])
def test_schemas_refuse_what_the_programs_refuse(name):
    message = golden.stored()[name]
    validator = Draft202012Validator(schema(message["tacit"]))
    changes = [{**message, "sender": "somebody"}, {**message, "version": 2}, {**message, "tacit": "letter"}]
    # Contracts without arms say nothing of them.
    changes += [{key: value for key, value in message.items() if key != gone} for gone in message if gone != "arms"]
    if "arms" in message:
        changes += [{**message, "arms": {**message["arms"], **wrong}} for wrong in ({"count": 1}, {"names": ["a"]})]
    if message["tacit"] == "report":
        changes += [{**message, "id": message["id"].upper() + "A"}, {**message, "stage": -1}]
        changes += [{**message, "values": values} for values in ([], [None], ["1"], [True], [1e300], [[1.0]])]
    for changed in changes:
        assert not validator.is_valid(changed), changed


# The contract -------------------------------------------------------------------------------------------------------


def test_a_contract_holds_everything_a_device_must_know():
    config = LocalExample(dim=3, constants=(0.6,), reward_low=0.0, person_rounds=5)
    contract = config.contract()
    plan = config.plan("secure")
    assert contract["report"] == {
        "kind": "xy",
        "size": 4,
        "action_norm": 1.0,
        "radius": 0.8,
        "reward_low": 0.0,
        "reward_high": 1.0,
        "constants": [0.6],
        "noise": {"scale": plan.params.scale, "step": plan.params.step},
        "largest": 1000 * (1 + plan.params.scale + plan.params.step),
        "batch": None,
    }
    assert contract["view"] == {"theta": [3], "factor": [3, 3], "whiten": [3, 3], "width": [1], "stage": [1]}
    assert (contract["policy"], contract["dim"], contract["limit"]) == ("example-local", 3, 5)
    assert contract["promise"] == {"epsilon": 2.0, "delta": 0.1}
    assert contract["guarantee"] == str(plan.guarantee)
    assert "at most 5 rounds" in contract["guarantee"]


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 2.1},
        {"delta": 0.2},
        {"dim": 4},
        {"sends": "gram"},
        {"constants": (0.1,)},
        {"reward_low": -0.9},
        {"reward_high": 0.9},
        {"person_rounds": 2},
    ],
)
def test_two_configurations_have_two_fingerprints(change):
    assert replace(CONFIG, **change).contract()["fingerprint"] != CONFIG.contract()["fingerprint"]


def test_a_fingerprint_does_not_hang_on_last_digits_or_on_words(monkeypatch):
    """Two machines plan the same noise but for the last digits; a later version may say the same in other words."""
    before = CONFIG.contract()
    contract = replace(contract_of(CONFIG))
    noise = contract.report.noise
    scale = noise["scale"]
    near = replace(contract, report=replace(contract.report, noise={**noise, "scale": scale * (1 + 1e-14)}))
    assert near.fingerprint == before["fingerprint"]
    far = replace(contract, report=replace(contract.report, noise={**noise, "scale": scale * (1 - 1e-6)}))
    assert far.fingerprint != before["fingerprint"]
    monkeypatch.setattr(Guarantee, "__str__", lambda self: "in other words")
    again = contract.to_dict()
    assert again["guarantee"] == "in other words"
    assert again["fingerprint"] == before["fingerprint"]


def test_a_configuration_that_cannot_be_hashed_has_a_contract_too():
    listed = LocalExample(dim=3, constants=[0.5])  # as it may come from JSON
    assert listed.contract() == LocalExample(dim=3, constants=(0.5,)).contract()


@pytest.mark.parametrize("part", ["contract", "device", "server", "shuffler"])
def test_a_policy_that_is_one_program_says_so(part):
    config = tacit.JointLinUCB(dim=3, epsilon=1.0, delta=1e-6)
    with pytest.raises(BadInput, match=r"got joint-linucb, whose learner is one program\. Use it from Python"):
        getattr(config, part)()


def test_a_policy_without_batches_has_no_shuffler():
    with pytest.raises(BadInput, match=r"got example-local, whose reports are private one by one"):
        CONFIG.shuffler()


def test_honest_numbers_are_far_within_the_largest():
    """A Gaussian number from the operating system is at most 9.2 deviations from its mean (tests/noise)."""
    for config in EXAMPLES[:2]:
        contract = contract_of(config)
        assert contract.largest >= 50 * (1 + 10 * contract.report.noise["scale"])


def test_the_largest_count_is_all_steps_and_all_ones():
    config = ShuffleExample(dim=3, grid=7, ones=5)
    assert contract_of(config).largest == 2 * 7 + 5
    values = [config.device(seed=seed).report([1.0, -1.0, 1.0], 1.0)["values"] for seed in range(200)]
    assert np.max(values) == 19
    assert np.min(values) == 0


@pytest.mark.parametrize("change", [{"noise": {"scale": 1.0}}, {"batch": None}, {"kind": "heads"}])
def test_a_report_nobody_could_check_is_refused(change):
    @dataclass(frozen=True, kw_only=True)
    class Odd(ShuffleExample):
        def plan(self, sampler="double"):
            plan = super().plan(sampler)
            return replace(plan, report=replace(plan.report, **change))

    with pytest.raises(BadInput, match="Expected"):
        Odd(dim=3).contract()


def test_a_report_too_large_for_a_message_is_refused_with_its_size():
    with pytest.raises(BadInput, match=r"Expected a report of at most 65,536 numbers, got 80,600"):
        LocalExample(dim=400, sends="gram").contract()
    with pytest.raises(BadInput, match=r"Expected a batch of at most 67,108,864 numbers, got 80,000,000"):
        ShuffleExample(dim=79, batch=10**6, sends="xy").contract()
    assert ShuffleExample(dim=79, batch=10**6).contract()["report"]["batch"] == 10**6  # totals do not grow


def test_an_event_without_a_number_of_reports_is_priced_for_the_person():
    """As if all the person's reports were in one release: never too little."""
    event = GaussianEvent(2.0, 1.0)
    guarantee = Guarantee.priced(event, trust=Trust.LOCAL, protects=Protects.EVERYTHING, unit=Unit.round(), delta=0.1)
    contract = contract_of(CONFIG)
    contract = replace(contract, plan=replace(contract.plan, event=event, guarantee=guarantee))
    assert contract.guarantee(1).mu == 0.5
    assert contract.guarantee(3).mu == price(PersonEvent(event, 3)) == 1.5


# Fuzz ---------------------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
STORED = golden.stored()
ENVELOPE = ["tacit", "version", "contract", "id", "stage", "values", "arrays", "policy", "reports", "ones"]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["report", "view", "batch"]), st.sampled_from(ENVELOPE), JSON)
def test_whatever_stands_in_a_message_it_is_read_or_refused(kind, key, value):
    """Never any other error: a server must not fall over a message."""
    contract = contract_of(golden.CONFIGS["counts"])
    message = {**STORED["counts-" + kind], key: value}
    reader = {"report": contract.read_report, "view": contract.read_view, "batch": contract.read_batch}[kind]
    try:
        reader(message)
    except BadMessage:
        return
    assert key in STORED["counts-" + kind], "a message with a key too many was read"
    assert Draft202012Validator(schema(kind)).is_valid(json.loads(write(message)))
