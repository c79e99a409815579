"""Every error as one JSON shape, with the status that fits it. Messages of ours hold no values."""

from __future__ import annotations

import logging
import re
from typing import Any

from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException

from tacit.errors import (
    AlreadyClosed,
    BadInput,
    BadMessage,
    DeploymentFailed,
    HorizonSpent,
    Paused,
    PrivacyRefusal,
    RepeatedReport,
    StaleReport,
    StoreUnavailable,
    TacitError,
    UnknownDecision,
    UnknownDeployment,
    UnknownName,
)
from tacit.service.api import wording
from tacit.service.api.reading import BadBody, body_kind
from tacit.service.api.types import Error, Failed
from tacit.service.logs import place_of

_log = logging.getLogger("tacit.service")

#: The first that fits is taken.
_STATUS: tuple[tuple[type[TacitError], int, str], ...] = (
    (UnknownDeployment, 404, "unknown_deployment"),
    (UnknownDecision, 404, "unknown_decision"),
    (RepeatedReport, 409, "repeated_report"),
    (StaleReport, 409, "stale_report"),
    (BadMessage, 400, "bad_message"),
    (UnknownName, 400, "unknown_name"),
    (BadInput, 400, "bad_input"),
    (Paused, 409, "paused"),
    (HorizonSpent, 409, "horizon_spent"),
    (PrivacyRefusal, 403, "privacy_refusal"),
    (DeploymentFailed, 503, "failed"),
    (StoreUnavailable, 503, "unavailable"),
)
#: The bounds of a part of an address, in the words of msgspec.
_LENGTH = re.compile(r"Expected `str` of length (<=|>=) ([0-9]+)")
#: What came, where that was a number or a name with digits in it.
_NUMBERS = re.compile(r", got [^;:]*?[0-9].*?(?=[;:.] |[.]$)")
_NUMBER = re.compile(r"Expected `int`(?: (<=|>=) ([0-9]+))?|Number out of range")
_CODES = {
    400: "bad_request",
    401: "no_key",
    403: "wrong_role",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "wrong_media_type",
    503: "unavailable",
}


def described(problem: TacitError) -> tuple[int, Error]:
    """Status and error of something tacit raised on purpose."""
    if isinstance(problem, AlreadyClosed):
        return (410, Error("closed", str(problem))) if problem.gone else (409, Error("rewarded", str(problem)))
    for kind, status, code in _STATUS:
        if isinstance(problem, kind):
            # Messages of the protocol are read by the same code as in Python, where it helps to see what came.
            told = isinstance(problem, BadMessage | StaleReport)
            return status, Error(
                code, _NUMBERS.sub(", got another", str(problem)) if told else str(problem), problem.field
            )
    return 500, Error("internal", "Expected to do this, and could not. Nothing was acknowledged.")


def bad_body(problem: BaseException, kind: Any) -> Error:
    """A body that is not of this kind: where, and what it should be there, not what it was instead."""
    message, field = wording.refused(problem, kind)
    return Error("bad_request", message, field)


def on_bad_body(_: Request[Any, Any, Any], problem: BadBody) -> Response[Failed]:
    """A body that is not what its type says."""
    return Response(Failed(bad_body(problem.__cause__ or problem, problem.kind)), status_code=400)


def on_tacit_error(_: Request[Any, Any, Any], problem: TacitError) -> Response[Failed]:
    """What tacit raised on purpose."""
    status, error = described(problem)
    return Response(Failed(error), status_code=status)


def on_http_error(request: Request[Any, Any, Any], problem: HTTPException) -> Response[Failed]:
    """What the framework refused: a body that is not what the types say, an address there is nothing at."""
    status = problem.status_code
    code = _CODES.get(status, "refused" if status < 500 else "internal")
    field: str | None = None
    if isinstance(problem, ValidationException):
        code, message = "bad_request", "Expected a request as documented at /docs, got another."
        extra = problem.extra if isinstance(problem.extra, list) else []
        if extra and isinstance(extra[0], dict):
            field = str(extra[0].get("key") or "") or None
            if field == "data":  # the framework's word for a body
                message, field = bad_body(ValueError(), body_kind(request)).message, None
            if field is not None:
                message = _in_address(field, str(extra[0].get("message"))) or message
    elif status in (401, 403):
        message = str(problem.detail)
    elif status == 413:
        message = "Expected a smaller body, got more bytes than are read."
    elif status == 404:
        message = "Expected an address of the service, got another. /docs lists them."
    elif status == 405:
        message = "Expected a method this address has, got another. /docs lists them."
    elif status < 500:
        message = "Expected a body in JSON as documented at /docs, got something else: it was not read."
    else:
        message = "Expected to do this, and could not. Nothing was acknowledged."
    return Response(Failed(Error(code, message, field)), status_code=status, headers=problem.headers or {})


def _in_address(field: str, problem: str) -> str | None:
    """What a part of an address should be, from the framework's words."""
    words = {"<=": ("at most", "more"), ">=": ("at least", "fewer")}
    if bound := _LENGTH.match(problem):
        least, got = words[bound[1]]
        wanted = f"{least} {int(bound[2]):,} characters long"
    elif bound := _NUMBER.match(problem):
        got = "something else"
        wanted = f"a whole number{'' if bound[1] is None else f' of {words[bound[1]][0]} {int(bound[2]):,}'}"
    else:
        return None
    return f"Expected {field} in the address to be {wanted}, got {got}. Change it and send it again."


def on_any_error(_: Request[Any, Any, Any], problem: Exception) -> Response[Failed]:
    """A mistake of ours: its text may hold anything, so only its kind and its place are logged."""
    _log.error({"unexpected": type(problem).__name__, "where": place_of(problem)})
    error = Error("internal", "Expected to do this, and could not. Nothing was acknowledged.")
    return Response(Failed(error), status_code=500)
