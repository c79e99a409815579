"""What a service is asked, and what it answers: built and read here, once, whoever sends it and however."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import numpy as np

from tacit import _arrays
from tacit._validate import datum, real, whole
from tacit.core.messages import read, write
from tacit.core.policy import Policy
from tacit.errors import (
    BadInput,
    BadMessage,
    ServiceConflict,
    ServiceError,
    ServiceGone,
    ServiceNotFound,
    ServiceRefused,
    ServiceUnavailable,
)

T = TypeVar("T")

#: Answers that mean: not now.
LATER = (429, 502, 503, 504)
_NOT_CHANGED = 304
_KINDS: dict[int, type[ServiceError]] = {404: ServiceNotFound, 409: ServiceConflict, 410: ServiceGone}
_HEAD = "/v1/deployments"


@dataclass(frozen=True)
class Choice:
    """What to show, and the id under which its reward is to be reported."""

    decision: str  #: the id, for `reward`
    action: str  #: the id of the chosen action
    index: int  #: its place among the actions that were offered
    view: int | str | None  #: the view that chose


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]  #: by names in lower case
    body: bytes = field(repr=False)

    def json(self) -> Any:
        """The JSON object in it; None if there is no body."""
        if not self.body:
            return None
        try:
            return read(self.body)
        except BadMessage:
            raise ServiceError(
                f"Expected an answer in JSON, got status {self.status} with something else. Is this the address of a "
                "tacit service?",
                status=self.status,
            ) from None


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request, and how its answer is read."""

    method: str
    path: str = field(repr=False)  #: may hold the id of a person
    read: Callable[[Answer], T]
    body: Mapping[str, Any] | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False  #: made twice it does what once does
    arrived: frozenset[str] = frozenset()  #: errors that say, on a second try, that the first one arrived

    def content(self) -> bytes | None:
        """The body as it is sent."""
        return None if self.body is None else write(dict(self.body)).encode()

    def result(self, outcome: Answer | ServiceUnavailable, *, again: bool) -> T:
        """What the answer says, or the error it is. `again`: this was not the first try."""
        if isinstance(outcome, ServiceUnavailable):
            raise outcome
        if 200 <= outcome.status < 300 or outcome.status == _NOT_CHANGED:
            return self.read(outcome)
        problem = error_of(outcome)
        if again and problem.code in self.arrived:
            return self.read(Answer(202, {}, b""))
        raise problem


#: What one of several decisions was refused as, where that is no 400: it has no status of its own.
_BY_CODE: dict[str, type[ServiceError]] = {
    "failed": ServiceUnavailable,
    "paused": ServiceConflict,
    "unavailable": ServiceUnavailable,
    "unknown_deployment": ServiceNotFound,
}


def error_of(answer: Answer) -> ServiceError:
    """The error that an answer is, in the words of the service."""
    code = about = None
    message = f"Expected an answer of a tacit service, got status {answer.status} without its words. Check the address."
    try:
        told = json.loads(answer.body)["error"]
        message, code, about = str(told["message"]), str(told["code"]), told.get("field")
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        pass
    return kind_of(answer.status)(message, status=answer.status, code=code, field=about)


def kind_of(status: int) -> type[ServiceError]:
    """The error of a status."""
    if status in LATER:
        return ServiceUnavailable
    return _KINDS.get(status, ServiceRefused if 400 <= status < 500 else ServiceError)


# Deployments --------------------------------------------------------------------------------------------------------


def create(name: str, policy: str | Policy, options: Mapping[str, Any]) -> Call[dict[str, Any]]:
    """`options` are those of `Client.create`; what is None is left to the service."""
    given = {key: value for key, value in options.items() if value is not None}
    for option in ("closes_after", "default_reward"):
        if option in given:
            real(option, given[option])
    if "actions" in given:
        given["actions"] = _names(given["actions"])
    if not isinstance(policy, str):
        if "parameters" in given:
            raise BadInput(
                "Expected a configuration or a policy's name with parameters, got a configuration and parameters. "
                "Change the configuration: dataclasses.replace(config, …)."
            )
        given["parameters"] = _options_of(policy)
        policy = policy.slug
    body = {"name": name, "policy": policy, **given}
    return Call("POST", _HEAD, _object, body)


def deployments() -> Call[list[dict[str, Any]]]:
    return Call("GET", _HEAD, lambda answer: _listed(answer, "deployments"), repeatable=True)


def about(deployment: str, part: str = "") -> Call[dict[str, Any]]:
    """The deployment itself, or its "card" or "contract"."""
    return Call("GET", _path(deployment, *([part] if part else [])), _object, repeatable=True)


def ledger(deployment: str, after: int) -> Call[dict[str, Any]]:
    path = f"{_path(deployment, 'ledger')}?after={whole('after', after, low=0)}"
    return Call("GET", path, _object, repeatable=True)


def act(deployment: str, what: str) -> Call[dict[str, Any]]:
    """ "pause" or "resume"."""
    return Call("POST", _path(deployment, what), _object)


def delete(deployment: str) -> Call[None]:
    path = _path(deployment)
    return Call("DELETE", f"{path}?confirm={segment('deployment', deployment)}", _nothing)


def add_action(deployment: str, action: str) -> Call[dict[str, Any]]:
    # Twice is once: a name that is there stays what it is.
    return Call("POST", _path(deployment, "actions"), _object, {"id": action}, repeatable=True)


def erase_person(deployment: str, person: str) -> Call[dict[str, Any]]:
    # In the body and not in the address: ids may hold anything, and proxies log addresses.
    return Call("POST", _path(deployment, "persons", "erase"), _object, {"person": person})


# Decisions and rewards ----------------------------------------------------------------------------------------------


def decide(deployment: str, actions: Any, context: Any, person: str | None, key: str | None) -> Call[Choice]:
    body = _asked(actions, context, person, key)
    return Call("POST", _path(deployment, "decisions"), _choice_of, body, repeatable=True)


def decide_many(deployment: str, asked: Iterable[Any]) -> Call[list[Choice | ServiceError]]:
    body = {"decisions": [_one_of(one) for one in asked]}
    return Call("POST", _path(deployment, "decisions", "batch"), _choices_of, body, repeatable=True)


def reward(deployment: str, decision: str, value: float) -> Call[dict[str, Any]]:
    path = _path(deployment, "decisions", decision, "reward")
    return Call("PUT", path, _object, {"value": datum("a reward", value)}, repeatable=True)


def reward_many(deployment: str, rewards: Mapping[str, float]) -> Call[list[dict[str, Any]]]:
    body = {
        "rewards": [{"decision": decision, "value": datum("a reward", value)} for decision, value in rewards.items()]
    }
    path = _path(deployment, "rewards")
    return Call("PUT", path, lambda answer: _listed(answer, "rewards"), body, repeatable=True)


# Devices and shufflers ----------------------------------------------------------------------------------------------


def view(deployment: str, tag: str | None) -> Call[Answer]:
    headers = {} if tag is None else {"If-None-Match": tag}
    return Call("GET", _path(deployment, "view"), lambda answer: answer, headers=headers, repeatable=True)


def report(deployment: str, message: Mapping[str, Any] | str | bytes) -> Call[dict[str, Any]]:
    """A report has an id of its own: the service takes it once, however often it comes."""
    return _report(_path(deployment, "reports"), message)


def sealed_report(message: Mapping[str, Any]) -> Call[dict[str, Any]]:
    """The same to a shuffler."""
    return _report("/v1/reports", message)


def batch(deployment: str, message: Mapping[str, Any] | str | bytes) -> Call[dict[str, Any]]:
    return Call("POST", _path(deployment, "batches"), _object, _message(message))


def _report(path: str, message: Mapping[str, Any] | str | bytes) -> Call[dict[str, Any]]:
    return Call("POST", path, _object, _message(message), repeatable=True, arrived=frozenset({"repeated_report"}))


class Views:
    """The last view of each deployment, with the tag that the service knows it by."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, bytes]] = {}

    def tag(self, deployment: str) -> str | None:
        found = self._kept.get(deployment)
        return None if found is None else found[0]

    def take(self, deployment: str, answer: Answer) -> dict[str, Any]:
        """The view in the answer, or the one that is kept if it says that nothing has changed."""
        if answer.status == _NOT_CHANGED:
            kept = self._kept.get(deployment)
            if kept is None:
                raise ServiceError("Expected a view, got an answer that nothing has changed.", status=answer.status)
            answer = Answer(200, {}, kept[1])
        found = _object(answer)
        if "etag" in answer.headers:
            self._kept[deployment] = (answer.headers["etag"], answer.body)
        return found


# Parts of requests --------------------------------------------------------------------------------------------------


def segment(name: str, value: object) -> str:
    """A part of an address."""
    if not isinstance(value, str) or value in ("", ".", ".."):
        raise BadInput(f"Expected {name} to be a text that names something, got something else.")
    return quote(value, safe="")


def _path(deployment: str, *parts: str) -> str:
    names = ("deployment", *("id" for _ in parts))
    return "/".join((_HEAD, *map(segment, names, (deployment, *parts))))


def _options_of(config: Policy) -> dict[str, Any]:
    return {name: _plain(value) for name, value in config.to_dict().items() if name != config.kind}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _asked(actions: Any, context: Any, person: str | None, key: str | None) -> dict[str, Any]:
    """The body of one decision. It always has a key: a request that is sent again must not decide again."""
    for name, value in (("person", person), ("key", key)):
        if value is not None and (not isinstance(value, str) or not value):
            raise BadInput(f"Expected {name} to be a text, got {type(value).__name__}.")
    body: dict[str, Any] = {"key": secrets.token_hex(16) if key is None else key}
    if context is not None:
        body["context"] = _features("context", context)
    if actions is not None:
        body["actions"] = _actions(actions) if context is None else _names(actions)
    if person is not None:
        body["person"] = person
    return body


def _one_of(one: Any) -> dict[str, Any]:
    """One of many decisions: actions, or a mapping with some of `_PARTS`."""
    if not isinstance(one, Mapping) or (one and not one.keys() & set(_PARTS)):
        return _asked(one, None, None, None)
    if one.keys() - set(_PARTS):
        raise BadInput(
            'Expected each decision as actions, or as {"actions", "context", "person", "key"}, got other keys.'
        )
    return _asked(*(one.get(part) for part in _PARTS))


#: What a decision is asked for with.
_PARTS = ("actions", "context", "person", "key")


def _names(actions: Any) -> list[str]:
    """Of actions that share a context."""
    found = [] if isinstance(actions, str) or not isinstance(actions, Iterable) else list(actions)
    if not found or not all(isinstance(one, str) for one in found) or len(set(found)) < len(found):
        raise BadInput(
            "Expected the names of actions that share a context: a list of texts, at least one and each once, got "
            "something else. For all actions leave them out."
        )
    return found


def _actions(actions: Any) -> list[dict[str, Any]]:
    """As the service takes them: a list of {"id", "features"}."""
    if isinstance(actions, Mapping):
        pairs: list[tuple[Any, Any]] = list(actions.items())
    elif isinstance(actions, Sequence) and actions and all(isinstance(one, Mapping) for one in actions):
        if any(one.keys() != {"id", "features"} for one in actions):
            raise BadInput('Expected every action as {"id", "features"}, got one with other keys.')
        pairs = [(one["id"], one["features"]) for one in actions]
    else:
        rows = _arrays.finite("actions", actions)
        if rows.ndim != 2:
            raise BadInput(
                f"Expected actions of shape (K, dim), a mapping of ids to features, or a list of {{id, features}}, got "
                f"an array of shape {rows.shape}."
            )
        pairs = [(str(place), row) for place, row in enumerate(rows)]
    if not pairs:
        raise BadInput("Expected at least one action, got none. For a policy over a fixed list leave actions out.")
    if not all(isinstance(name, str) for name, _ in pairs) or len({name for name, _ in pairs}) != len(pairs):
        raise BadInput("Expected the ids of actions to be texts, each once, got others.")
    return [{"id": name, "features": _features("features", features)} for name, features in pairs]


def _features(name: str, features: Any) -> list[float]:
    found = _arrays.finite(name, features)
    if found.ndim != 1:
        what = "the features of an action" if name == "features" else name
        raise BadInput(f"Expected {what} as a list of numbers, got an array of {found.shape}.")
    numbers_in: list[float] = found.tolist()
    return numbers_in


def _message(message: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
    return read(dict(message) if isinstance(message, Mapping) else message)


# Parts of answers ---------------------------------------------------------------------------------------------------


def _object(answer: Answer) -> dict[str, Any]:
    return answer.json() or {}


def _nothing(_: Answer) -> None:
    return None


def _listed(answer: Answer, name: str) -> list[dict[str, Any]]:
    found = _object(answer).get(name)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise _unexpected(answer, f"a list of {name}")
    return found


def _choice_of(answer: Answer) -> Choice:
    return _choice(answer, _object(answer))


def _choices_of(answer: Answer) -> list[Choice | ServiceError]:
    return [_choice_or_error(answer, one) for one in _listed(answer, "decisions")]


def _choice_or_error(answer: Answer, one: dict[str, Any]) -> Choice | ServiceError:
    told = one.get("error")
    if not isinstance(told, dict):
        return _choice(answer, one)
    code = str(told.get("code"))
    return _BY_CODE.get(code, ServiceRefused)(str(told.get("message")), code=code, field=told.get("field"))


def _choice(answer: Answer, found: dict[str, Any]) -> Choice:
    try:
        return Choice(found["decision"], found["action"], found["index"], found.get("view"))
    except KeyError:
        raise _unexpected(answer, "a decision") from None


def _unexpected(answer: Answer, what: str) -> ServiceError:
    return ServiceError(
        f"Expected {what} in the answer, got something else. Use a client and a service of one version.",
        status=answer.status,
    )
