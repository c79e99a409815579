"""The OpenAPI document, completed: the framework knows addresses and types, and leaves out much of what bounds them.

Schemas come from msgspec, which checks by the same types, so that a bound that holds is a bound that is documented.
Keys, roles and examples that work are added here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler

from tacit.service.api import types

Document = dict[str, Any]

_REF = "#/components/schemas/{name}"
_KEY = "key"
_ACTIONS = [{"id": "article-1", "features": [0.1, 0.4, 0.2]}, {"id": "article-2", "features": [0.5, -0.1, 0.3]}]
_DECISION = "0123456789abcdef0123456789abcdef"

#: A body for each operation that takes one and could not be guessed from its types.
_EXAMPLES: dict[tuple[str, str], Any] = {
    ("post", "/v1/deployments"): {
        "name": "front-page",
        "policy": "joint-linucb",
        "parameters": {"dim": 3},
        "budget": {"epsilon": 1.0, "delta": 1e-6},
        "bounds": {"action_norm": 1.0, "reward_low": 0.0, "reward_high": 1.0},
    },
    ("post", "/v1/deployments/{name}/decisions"): {"actions": _ACTIONS, "key": "visit-17"},
    ("post", "/v1/deployments/{name}/decisions/batch"): {"decisions": [{"actions": _ACTIONS, "key": "visit-17"}]},
    ("post", "/v1/deployments/{name}/actions"): {"id": "article-3"},
    ("put", "/v1/deployments/{name}/decisions/{identity}/reward"): {"value": 1.0},
    ("put", "/v1/deployments/{name}/rewards"): {"rewards": [{"decision": _DECISION, "value": 1.0}]},
    ("post", "/v1/deployments/{name}/persons/erase"): {"person": "somebody"},
}
_IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "ETags of views that you have: 304 if what is published is one of them",
    "schema": {"type": "string"},
}
_SUCCESS = {"200": "As asked", "201": "Made", "204": "Gone"}


def document(app: Litestar, *, keyed: bool) -> Document:
    """The document of an application; `keyed`: whoever asks needs a key."""
    # As JSON: what the framework holds are objects that look like texts.
    found: Document = json.loads(json.dumps(app.openapi_schema.to_schema()))
    components = found.setdefault("components", {})
    components["schemas"] = {**components.get("schemas", {}), **_schemas()}
    components["securitySchemes"] = {
        _KEY: {
            "type": "http",
            "scheme": "bearer",
            "description": "A key of the service, made by `tacit keys add`. Without any key only this machine is "
            "served, and may do everything.",
        }
    }
    found["security"] = [{_KEY: []}] if keyed else [{_KEY: []}, {}]
    roles = dict(_roles(app))
    for path, item in found["paths"].items():
        for method, operation in item.items():
            if method in ("get", "post", "put", "delete"):
                _complete(operation, method, path, roles.get((method, path)))
    return found


def _schemas() -> Document:
    kinds = [
        one
        for one in vars(types).values()
        if isinstance(one, type) and issubclass(one, msgspec.Struct) and one is not msgspec.Struct
    ]
    _, found = msgspec.json.schema_components(kinds, ref_template=_REF)
    return dict(found)


def _roles(app: Litestar) -> Iterable[tuple[tuple[str, str], tuple[str, ...]]]:
    """The roles that each operation asks for; admin may do everything."""
    for route in app.routes:
        for handler in getattr(route, "route_handlers", ()):
            if isinstance(handler, HTTPRouteHandler):
                for guard in handler.resolve_guards():
                    for method in handler.http_methods:
                        yield (method.lower(), route.path_format), getattr(guard, "roles", ())


def _complete(operation: Document, method: str, path: str, roles: tuple[str, ...] | None) -> None:
    if roles is None:
        operation["security"] = []
    else:
        who = " or ".join((*roles, "admin"))
        operation["description"] = f"{operation.get('description', '')}\n\nRole: {who}.".strip()
    for status, answer in operation.get("responses", {}).items():
        if status in _SUCCESS and answer.get("description") in _FRAMEWORK:
            answer["description"] = _SUCCESS[status]
        for header in answer.get("headers", {}).values():
            header.setdefault("schema", {"type": "string"})
    for one in operation.get("parameters", []):
        if one["name"] == "confirm":  # asked for by us, and in words that help
            one.update(required=True, schema={"type": "string"}, example="NAME")
    if path.endswith("/view"):
        responses = operation["responses"]
        responses["304"]["headers"] = {"ETag": responses["200"]["headers"]["ETag"]}
        operation["parameters"].append(_IF_NONE_MATCH)
    example = _EXAMPLES.get((method, path))
    if example is not None:
        operation["requestBody"]["content"]["application/json"]["example"] = example


#: What the framework says of an answer that nobody has described.
_FRAMEWORK = (
    "Document created, URL follows",
    "Request fulfilled, document follows",
    "Request fulfilled, nothing follows",
)
