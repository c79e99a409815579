"""A person's number never shows in an error: not in its words, not in its arguments, not in what it came from."""

from __future__ import annotations

import json
import traceback
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import cli
from tacit.adapters import TacitMAB, TacitPolicy
from tacit.client import calls
from tacit.core.device import Device
from tacit.core.messages import read
from tacit.data import Recipe, prepare, read_table
from tacit.errors import BadInput, TacitError
from tacit.kernels import SquaredExponential
from tacit.policies.usca import USCA
from tacit.replaying import Log, read_log
from tests.service.serving import serving

DIM = 2
#: The number that must not be seen, and digits of it that no message has by chance.
SECRET, DIGITS = 0.7312931, "7312931"


class Strange:
    """What cannot be converted, and says why."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ValueError(f"cannot convert {SECRET}")

    def __repr__(self) -> str:
        return f"Strange({SECRET})"


#: What may be given where one number is wanted.
SCALARS: dict[str, Any] = {
    "array of no axes": np.array(SECRET),
    "array of one": np.array([SECRET]),
    "array of two": np.array([SECRET, SECRET]),
    "list": [SECRET],
    "text": str(SECRET),
    "bytes": str(SECRET).encode(),
    "Decimal": Decimal(str(SECRET)),
    "complex": complex(SECRET),
    "NumPy text": np.str_(SECRET),
    "masked": np.ma.masked_array([SECRET], mask=[True]),
    "masked, of no axes": np.ma.masked_array(SECRET, mask=True),
    "mapping": {"value": SECRET},
    "strange": Strange(),
    "too large": int(DIGITS) * 10**400,
    "too large a fraction": Fraction(int(DIGITS) * 10**400),
}
#: What may be given where two numbers are wanted.
ROWS: dict[str, Any] = {
    "too short": np.array([SECRET]),
    "too long": [SECRET] * 3,
    "texts": [str(SECRET)] * 2,
    "a text": str(SECRET),
    "Decimals": [Decimal(str(SECRET))] * 2,
    "complex": [complex(SECRET)] * 2,
    "objects": np.array([SECRET, str(SECRET)], dtype=object),
    "a record": np.array([(SECRET, SECRET)], dtype=[(f"f{DIGITS}", float), ("y", float)]),
    "ragged": [[SECRET], [SECRET, SECRET]],
    "masked": np.ma.masked_array([SECRET, SECRET], mask=[True, False]),
    "masked in a list": [np.ma.masked_array(SECRET, mask=True), 0.5],
    "NaN": [SECRET, np.nan],
    "infinite": [np.inf, SECRET],
    "beyond": [int(DIGITS) * 1e150, 0.0],
    "beyond doubles": [int(DIGITS) * 10**400, 0.0],
    "strange": Strange(),
    "a mapping": {str(SECRET): SECRET},
}

JOINT = tacit.JointLinUCB(dim=DIM, epsilon=1.0, delta=1e-6, horizon=100)
STRICT = tacit.JointLinUCB(dim=DIM, epsilon=1.0, delta=1e-6, horizon=100, strict=True)
PERSONS = tacit.JointLinUCB(dim=DIM, epsilon=1.0, delta=1e-6, horizon=100, person_rounds=2)
LOCAL = tacit.LocalLinUCB(dim=DIM, epsilon=1.0, delta=1e-6, horizon=100)
LISTED = tacit.RenyiUCB(arms=3, rho=1.0)
FUNCTION = USCA(
    epsilon=1.0,
    delta=1e-6,
    action_box=((0, 1),) * DIM,
    context_box=((0, 1),) * DIM,
    kernel=SquaredExponential(length_scale=2.0),
    reward_bound=1.0,
    horizon=100,
    features=256,
    candidates=4,
)
MAB = tacit.JointLinUCB(dim=2 * DIM, epsilon=1.0, delta=1e-6, horizon=100)


@cache
def at_work(config: Any) -> Any:
    """One learner of each: what is refused changes nothing."""
    return config.start(seed=1)


def numbers_in(problem: BaseException, seen: frozenset[int] = frozenset()) -> list[str]:
    """All an error says, and what the errors say that it was raised from or while handling, shown or not."""
    if id(problem) in seen:
        return []
    said = [str(problem), repr(problem), repr(problem.args), repr(vars(problem))]
    said += traceback.format_exception(type(problem), problem, None)
    for other in (problem.__cause__, problem.__context__):
        if other is not None:
            said += numbers_in(other, seen | {id(problem)})
    return said


def refused(call: Any, *given: Any, **named: Any) -> None:
    """The call is refused on purpose, in one line that says nothing of what was given."""
    with pytest.raises(TacitError) as caught:
        call(*given, **named)
    assert "\n" not in str(caught.value)
    for said in numbers_in(caught.value):
        assert DIGITS not in said.replace(",", "").replace("_", "")


def learned_or_refused(call: Any, *given: Any, **named: Any) -> None:
    """A number that is not finite, or too large, is learned or reported as nothing, so that how many there are does not
    say so; others are refused."""
    try:
        call(*given, **named)
    except TacitError:
        refused(call, *given, **named)
    else:
        one = call.__self__
        assert one.made == 1 if isinstance(one, Device) else one.diagnostics().unfit > 0


@pytest.mark.parametrize("name", SCALARS)
def test_a_reward_that_is_refused_is_not_shown(name):
    bad, x = SCALARS[name], [0.1, 0.2]
    learned_or_refused(at_work(JOINT).learn, x, bad)
    learned_or_refused(at_work(LISTED).learn, 0, bad)
    learned_or_refused(LOCAL.device(seed=1).report, x, bad)
    learned_or_refused(at_work(PERSONS).learn, x, bad, person="a")
    learned_or_refused(at_work(FUNCTION).learn, x, bad, x)
    refused(at_work(FUNCTION).learn_many, [x, x], [bad, 0.5, 0.5], [x, x])
    refused(calls.reward, "news", "0" * 32, bad)
    refused(calls.reward_many, "news", {"0" * 32: bad})
    learner = JOINT.start(seed=1)
    refused(learner.reward, learner.decide([x]), bad)
    assert learner.pending == 1
    if name not in ("array of no axes", "array of one", "list"):  # the other library's rewards come so
        policy = TacitPolicy(MAB, n_actions=2)
        action = policy.select_action([x])
        refused(policy.update_params, action, bad, [x])
        refused(policy.update_params, bad if name != "masked" else np.ma.masked_array([0], mask=[True]), 0.5, [x])
    refused(TacitMAB(MAB, ["a", "b"]).partial_fit, ["a"], bad if name == "array of two" else [bad, bad], [x])


@pytest.mark.parametrize("name", SCALARS)
def test_an_arm_or_a_name_that_is_refused_is_not_shown(name):
    bad = SCALARS[name]
    refused(at_work(LISTED).learn, bad, 0.5)
    refused(at_work(LISTED).choose, bad)
    refused(TacitMAB(MAB, ["a", "b"]).partial_fit, [bad], [0.5], [[0.1, 0.2]])
    refused(at_work(JOINT).reward, bad, 0.5)
    if not isinstance(bad, str | bytes | int):
        refused(at_work(PERSONS).learn, [0.1, 0.2], 0.5, person=bad)
        refused(at_work(PERSONS).decide, [[0.1, 0.2]], person=bad)
    refused(at_work(JOINT).learn, [0.1, 0.2], 0.5, person=bad)


def test_a_whole_number_that_is_no_arm_is_not_shown():
    refused(at_work(LISTED).learn, int(DIGITS), 0.5)


@pytest.mark.parametrize("name", ROWS)
def test_features_that_are_refused_are_not_shown(name):
    bad = ROWS[name]
    for config in (JOINT, STRICT):
        learned_or_refused(at_work(config).learn, bad, 0.5)
        refused(at_work(config).choose, bad)
        refused(at_work(config).choose, [bad, bad])
        refused(at_work(config).decide, [bad, bad])
        refused(at_work(config).choose_many, [[bad, bad]])
    learned_or_refused(LOCAL.device(seed=1).report, bad, 0.5)
    refused(LOCAL.device(seed=1).choose, [bad, bad])
    if name != "beyond":  # the service knows the limit, not its client
        refused(calls.decide, "news", {"a": bad if name not in ("too short", "too long") else [bad]}, None, None, None)
        refused(calls.decide, "news", None, bad if name not in ("too short", "too long") else [bad], None, None)
    learner = at_work(FUNCTION)
    refused(learner.choose, bad)
    learned_or_refused(learner.learn, bad, 0.5, [0.1, 0.2])
    learned_or_refused(learner.learn, [0.1, 0.2], 0.5, bad)
    learned_or_refused(learner.learn_many, [bad, bad], [0.5, 0.5], [[0.1, 0.2]] * 2)
    learned_or_refused(learner.learn_many, [[0.1, 0.2]] * 2, [0.5, 0.5], [bad, bad])
    refused(learner.predict_once, bad, 0.5)
    refused(FUNCTION.start(seed=1).release_function().predict, bad, [[0.1, 0.2]])
    if name not in ("NaN", "infinite", "beyond"):  # learned as zeros
        refused(TacitMAB(MAB, ["a", "b"]).partial_fit, ["a"] * 2, [0.5, 0.5], [bad, bad])
    refused(TacitMAB(MAB, ["a", "b"]).predict, [bad, bad])
    refused(TacitPolicy(MAB, n_actions=2).select_action, bad)


def test_what_lies_outside_declared_bounds_is_not_shown():
    learner = STRICT.start(seed=1)
    far = float(DIGITS)
    refused(learner.choose, [[far, far]])
    refused(learner.decide, [[far, far]])


def test_a_mask_says_that_a_value_is_missing_and_one_without_masked_entries_is_an_array():
    learner = JOINT.start(seed=1)
    with pytest.raises(BadInput, match="Expected x without a mask, got MaskedArray with masked entries"):
        learner.learn(np.ma.masked_array([0.1, 0.2], mask=[False, True]), 0.5)
    learner.learn(np.ma.masked_array([0.1, 0.2]), 0.5)
    assert learner.diagnostics().rows == 1


@pytest.mark.parametrize(
    "text",
    [f'{{"values": [{SECRET}]', f'{{"values": {SECRET}, "values": 1}}', f"[{SECRET}, NaN]", f"[{SECRET}]", str(SECRET)],
)
def test_a_message_that_is_refused_is_not_shown(text):
    for message in (text, text.encode(), text.encode() + b"\xff"):
        refused(read, message)
        refused(LOCAL.server().receive, message)
        refused(LOCAL.device().see, message)


@pytest.mark.parametrize("place", ["values", "id", "contract", "stage", "tacit", "version", "more"])
def test_a_report_that_is_refused_is_not_shown(place):
    report = LOCAL.device(seed=1).report([0.1, 0.2], 0.5)
    for bad in (str(SECRET), [SECRET], SECRET, {str(SECRET): SECRET}):
        refused(LOCAL.server().receive, {**report, place: bad})


def table(folder, name: str = "log.csv", **changes: Any):
    """A log, or a table of classes, with a column that is somehow wrong."""
    plain = {"action": [0, 1] * 10, "reward": [0.5] * 20, "propensity": [0.5] * 20, "x_age": [30.0, 40.0] * 10}
    path = folder / name
    pd.DataFrame({**plain, **changes}).to_csv(path, index=False)
    return path


WRONG_COLUMNS = {
    "words among numbers": {"reward": [str(SECRET), "x"] * 10},
    "infinite": {"reward": [SECRET, float("inf")] * 10},
    "missing": {"reward": [SECRET, None] * 10},
    "no probability": {"propensity": [float(DIGITS)] * 20},
    "a negative probability": {"propensity": [-float(DIGITS), 0.5] * 10},
    "an action that is none": {"action": [int(DIGITS), -1] * 10},
    "a feature in words": {"x_age": [f"age {SECRET}", "b"] * 10},
    "an infinite feature": {"x_age": [SECRET, float("inf")] * 10},
}


@pytest.mark.parametrize("name", WRONG_COLUMNS)
def test_a_cell_of_a_log_is_not_shown(tmp_path, name, capsys):
    path = table(tmp_path, **WRONG_COLUMNS[name])
    refused(read_log, path, low=0, high=100, arms=2)
    arguments = ["--log", str(path), "--low", "0", "--high", "100", "--arms", "2", "--report", str(tmp_path / "out")]
    assert cli.main(["replay", "linucb", *arguments]) != 0
    told = capsys.readouterr()
    assert told.err.startswith("tacit: ")
    assert DIGITS not in told.err + told.out


def test_a_file_that_cannot_be_read_is_not_quoted(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(b"action,reward,propensity\n0,1,2\n" + f"0,1,2,{SECRET}\n".encode() * 3)
    refused(read_log, path)
    refused(read_table, path)
    path.write_bytes(f"action,reward\n{SECRET}\xff,1\n".encode("latin-1"))
    refused(read_log, path)
    refused(read_table, path)


def test_a_cell_of_a_table_is_not_shown(tmp_path):
    for number, changes in enumerate(WRONG_COLUMNS.values()):
        raw = read_table(table(tmp_path, f"t{number}.csv", **changes))
        recipe = Recipe(target="action", low=0.0, high=0.1)
        try:
            prepare(raw, recipe)
        except TacitError:
            refused(prepare, raw, recipe)


def test_an_array_of_a_log_is_not_shown():
    good = {
        "actions": np.array([0, 1]),
        "rewards": np.array([0.5, 0.5]),
        "propensities": np.array([0.5, 0.5]),
        "contexts": np.array([[0.1], [0.2]]),
    }
    for column in good:
        for name, bad in ROWS.items():
            if name not in ("too long", "too short", "beyond"):
                refused(Log, **{**good, column: bad}, arms=2)


#: Bodies in which a person's number is where something else should be, or is not a number.
ACTION = {"id": "a", "features": [0.1, 0.2, 0.3]}
BODIES: dict[str, Any] = {
    "a text": {"value": str(SECRET)},
    "a list": {"value": [SECRET]},
    "an unknown field": {"value": 0.5, str(SECRET): SECRET},
    "no object": [SECRET],
    "no field": {str(SECRET): 1},
    "features in words": {"actions": [{**ACTION, "features": [str(SECRET)] * 3}]},
    "too few features": {"actions": [{**ACTION, "features": [SECRET]}]},
    "beyond": {"actions": [{**ACTION, "features": [int(DIGITS) * 1e150, 0, 0]}]},
    "no actions": {"actions": SECRET},
    "an id that is none": {"actions": [{**ACTION, "id": SECRET}]},
    "a person that is none": {"actions": [ACTION], "person": SECRET},
    "a person": {"actions": [ACTION], "person": str(SECRET)},
    "no JSON": f'{{"value": {SECRET}',
    "no UTF-8": f'{{"value": "{SECRET}'.encode() + b'\xff"}',
}


def test_a_service_does_not_say_what_it_refused(tmp_path, caplog):
    caplog.set_level("DEBUG")
    with serving(tmp_path / "tacit.db") as service:
        service.create("news")
        service.create("phones", "local-linucb", {"dim": 2, "epsilon": 4.0, "delta": 1e-6, "horizon": 100})
        head = "/v1/deployments"
        places = [("POST", f"{head}/news/decisions"), ("PUT", f"{head}/news/decisions/{'0' * 32}/reward")]
        places += [("POST", f"{head}/news/decisions/batch"), ("PUT", f"{head}/news/rewards")]
        places += [("POST", f"{head}/phones/reports"), ("POST", f"{head}/news/persons/erase")]
        for method, path in places:
            for name, body in BODIES.items():
                content = body if isinstance(body, str | bytes) else json.dumps(body)
                answer = service.http.request(
                    method, path, content=content, headers={"Content-Type": "application/json"}
                )
                assert 400 <= answer.status_code < 500, (path, name)
                assert DIGITS not in answer.text, (path, name)
    assert DIGITS not in caplog.text


def test_the_check_finds_a_number_in_the_words_the_arguments_and_the_past_of_an_error():
    def shown() -> None:
        raise BadInput(f"got {SECRET}")

    def hidden() -> None:
        try:
            float(f"x{SECRET}")
        except ValueError:
            raise BadInput("got another") from None

    for twin in (shown, hidden):
        with pytest.raises(AssertionError):
            refused(twin)
