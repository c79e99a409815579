"""The OpenAPI document and the service say the same: whatever is sent, the answer is one that is documented."""

from __future__ import annotations

import copy

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi import checks
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from tacit.service.api.app import application
from tacit.service.api.description import document
from tacit.service.api.roles import Keys
from tests.service.serving import JOINT, serving


def rejected(context, response, case):
    """What is not as documented is refused; that it is too large is as good a reason as any."""
    return None if response.status_code == 413 else checks.negative_data_rejection(context, response, case)


CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
    rejected,
    checks.unsupported_method,
]
DOCUMENT = document(application(None, Keys([])).app, keyed=False)
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPTIONS = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True, "database": None}
SHORT = settings(**OPTIONS, max_examples=12, phases=[Phase.explicit, Phase.generate])
LONG = settings(**OPTIONS, max_examples=300, phases=[Phase.explicit, Phase.generate])

#: What requests are sent to where they name a deployment that is there.
NAMES = ("news", "persons", "arms", "phones", "mixed")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("store") / "tacit.db") as found:
        found.create("news")
        found.create("persons", parameters={**JOINT, "person_rounds": 2})
        found.create("arms", "renyi-ucb", {"arms": 3, "rho": 1.0})
        local = {"dim": 2, "epsilon": 4.0, "delta": 1e-6, "horizon": 100}
        found.create("phones", "local-linucb", local)
        found.create("mixed", "shuffle-linucb", {**local, "batch": 10})
        found.create("spare")
        yield found


@SCHEMA.hook
def map_path_parameters(context, path_parameters):
    """Three of four requests go to a deployment that is there; what deletes or pauses goes to one apart."""
    if path_parameters and isinstance(path_parameters.get("name"), str):
        chosen = sum(map(ord, path_parameters["name"]))
        if chosen % 4:
            path, method = context.operation.path, context.operation.method.upper()
            apart = path.endswith(("/pause", "/resume")) or (method == "DELETE" and path.endswith("{name}"))
            path_parameters["name"] = "spare" if apart else NAMES[chosen % len(NAMES)]
    return path_parameters


def sent(service, case):
    answer = case.call(base_url=service.url, timeout=30)
    case.validate_response(answer, checks=CHECKS)
    assert answer.status_code != 503


@SCHEMA.parametrize()
@SHORT
def test_every_answer_is_documented(service, case):
    sent(service, case)


@pytest.mark.long
@SCHEMA.parametrize()
@LONG
def test_every_answer_is_documented_to_many_requests(service, case):
    sent(service, case)


def test_the_document_is_one():
    assert OPENAPI_31_VALIDATOR.is_valid(DOCUMENT)
    broken = copy.deepcopy(DOCUMENT)
    view = broken["paths"]["/v1/deployments/{name}/view"]["get"]
    assert {"200", "304"} <= {code for code, answer in view["responses"].items() if "ETag" in answer.get("headers", {})}
    del view["responses"]["200"]["headers"]["ETag"]["schema"]
    assert not OPENAPI_31_VALIDATOR.is_valid(broken), "a header without a schema is none"
