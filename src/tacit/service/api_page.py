"""The API page: an OpenAPI 3.1 document as one HTML page for people, without any script.

Knows what a JSON API needs: tags, parameters, bodies, responses, references, keys. Webhooks, callbacks and links are
left out.
"""

from __future__ import annotations

import inspect
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import quote, urlencode

from tacit.service.pages import document, resource

Node = Mapping[str, Any]

_METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")
_OTHER = "other"
_DEEPEST = 3  # nested fields shown in one table; what lies deeper is named by its type


def page(openapi: dict[str, Any]) -> bytes:
    """The document as a page, in UTF-8."""
    style = resource("tacit.service", "look.css") + resource("tacit.service", "api_page.css")
    info = openapi.get("info", {})
    return document(f"{info.get('title', 'API')}: API", _Reader(openapi).body(), style=style)


@dataclass(frozen=True)
class _Operation:
    method: str
    path: str
    anchor: str
    says: Node
    parameters: Sequence[Node]


class _Reader:
    def __init__(self, root: Node) -> None:
        self.root = root
        self.schemas: Node = root.get("components", {}).get("schemas", {})

    def body(self) -> str:
        info = self.root.get("info", {})
        groups = self._groups()
        tags = {tag["name"]: tag.get("description", "") for tag in self.root.get("tags", ())}
        parts = [
            '<a class="skip" href="#operations">Skip to the operations</a>',
            f"<header><h1>{escape(str(info.get('title', 'API')))} API</h1>",
            f'<p class="quiet">version {escape(str(info.get("version", "?")))} · '
            f'OpenAPI {escape(str(self.root.get("openapi", "?")))} · <a href="/docs/openapi.json">openapi.json</a> · '
            '<a href="/">dashboard</a></p>',
            _prose(info.get("description", "")),
            self._keys(),
            "</header>",
            _contents(groups),
            '<main id="operations">',
        ]
        for name, operations in groups.items():
            parts += [f'<h2 id="{_anchor("tag", name)}">{escape(name)}</h2>', _prose(tags.get(name, ""))]
            parts += [self._operation(operation) for operation in operations]
        if self.schemas:
            parts.append('<h2 id="schemas">Schemas</h2>')
            parts += [self._schema(name, self.schemas[name]) for name in sorted(self.schemas, key=_name)]
        parts.append("</main>\n")
        return "\n".join(part for part in parts if part)

    def resolved(self, node: Any) -> Node:
        """What a reference inside the document stands for. One that leads nowhere is an empty schema: anything."""
        for _ in range(8):  # a chain of references; a circle of them ends here too
            if not isinstance(node, Mapping):
                return {}
            ref = node.get("$ref")
            if not isinstance(ref, str):
                return node
            found: Any = self.root if ref.startswith("#/") else {}
            for step in ref.removeprefix("#/").split("/"):
                found = found.get(step.replace("~1", "/").replace("~0", "~"), {}) if isinstance(found, Mapping) else {}
            node = found
        return {}

    # ── operations

    def _groups(self) -> dict[str, list[_Operation]]:
        groups: dict[str, list[_Operation]] = {tag["name"]: [] for tag in self.root.get("tags", ())}
        for operation in self._operations():
            groups.setdefault(next(iter(operation.says.get("tags") or ()), _OTHER), []).append(operation)
        return {name: operations for name, operations in groups.items() if operations}

    def _operations(self) -> Iterator[_Operation]:
        for path, unresolved in self.root.get("paths", {}).items():
            item = self.resolved(unresolved)
            for method in _METHODS:
                if method not in item:
                    continue
                says = item[method]
                given = [self.resolved(one) for one in (*item.get("parameters", ()), *says.get("parameters", ()))]
                # What an operation says of a parameter counts more than what its path says.
                parameters = {(one.get("name"), one.get("in")): one for one in given}
                yield _Operation(method, path, _anchor(method, path), says, list(parameters.values()))

    def _operation(self, operation: _Operation) -> str:
        says = operation.says
        marks = '<span class="mark">needs a key</span>' if self._secured(operation) else ""
        marks += '<span class="mark alarm">deprecated</span>' if says.get("deprecated") else ""
        parts = [
            f'<article class="operation" id="{operation.anchor}">',
            f"<h3>{_verb(operation.method)}<code>{escape(operation.path)}</code>{marks}</h3>",
            f'<p class="summary">{_inline(says["summary"])}</p>' if says.get("summary") else "",
            _prose(says.get("description", "")),
        ]
        if operation.parameters:
            rows = [self._parameter(one) for one in operation.parameters]
            parts += ["<h4>Parameters</h4>", _table(rows)]
        parts += [self._body(says), self._answers(says)]
        parts += ["<h4>Example</h4>", f"<pre>{escape(self._curl(operation))}</pre>", "</article>"]
        return "\n".join(part for part in parts if part)

    def _parameter(self, one: Node) -> tuple[str, str]:
        name = f"<code>{escape(str(one.get('name')))}</code>"
        place = f"in the {escape(str(one.get('in', '?')))}, {'required' if one.get('required') else 'optional'}"
        schema = one.get("schema", {})
        told = one.get("description") or self.resolved(schema).get("description", "")
        return f'{name}<span class="must">{place}</span>', self._described(schema, told)

    def _body(self, says: Node) -> str:
        body = self.resolved(says.get("requestBody") or {})
        parts = []
        for kind, media in body.get("content", {}).items():
            schema = media.get("schema", {})
            must = "" if body.get("required") else ", optional"
            parts.append(f'<h4>Body <span class="quiet">{self.type(schema)}, {escape(kind)}{must}</span></h4>')
            parts.append(_prose(body.get("description", "")))
            rows = self._rows(schema)
            parts.append(_table(rows) if rows else _limits(self.limits(self.resolved(schema))))
        return "\n".join(part for part in parts if part)

    def _answers(self, says: Node) -> str:
        rows = []
        for code, unresolved in says.get("responses", {}).items():
            answer = self.resolved(unresolved)
            told = _prose(answer.get("description", ""))
            for kind, media in (answer.get("content") or {}).items():
                shown = self.type(media.get("schema", {}))
                told += f'<p class="limits">{shown}{"" if kind == "application/json" else f", {escape(kind)}"}</p>'
            for name in answer.get("headers") or {}:
                told += f'<p class="limits">header <code>{escape(name)}</code></p>'
            rows.append((escape(str(code)), told))
        rows.sort(key=lambda row: row[0])
        return f"<h4>Answers</h4>\n{_table(rows, 'answers')}" if rows else ""

    # ── keys

    def _secured(self, operation: _Operation) -> bool:
        asked = operation.says.get("security", self.root.get("security")) or ()
        return bool(asked) and {} not in asked

    def _keys(self) -> str:
        schemes = self.root.get("components", {}).get("securitySchemes", {})
        bearer = any(self.resolved(one).get("scheme") == "bearer" for one in schemes.values())
        how = "Where a key is needed, send it as <code>Authorization: Bearer …</code>. " if bearer else ""
        return (
            f"<p>{how}The examples read the address of the service from <code>TACIT_URL</code>"
            f"{' and the key from <code>TACIT_KEY</code>' if bearer else ''}.</p>"
        )

    # ── schemas

    def _schema(self, name: str, schema: Any) -> str:
        rows = self._rows(schema)
        parts = [
            f'<article class="schema" id="{_anchor("schema", name)}">',
            f"<h3>{escape(_name(name))}</h3>",
            _prose(_open(schema).get("description", "")),
            _table(rows) if rows else f"<p>{self.type(schema)}</p>{_limits(self.limits(schema))}",
            "</article>",
        ]
        return "\n".join(part for part in parts if part)

    def _rows(self, schema: Any, before: str = "", depth: int = 1) -> list[tuple[str, str]]:
        """The fields of an object and of objects written inside it; a schema with a name has a table of its own."""
        schema = self.resolved(schema)
        rows = []
        for part in schema.get("allOf", ()) if depth < _DEEPEST else ():
            rows += self._rows(part, before, depth + 1)
        needed = schema.get("required", ())
        for name, field in schema.get("properties", {}).items():
            must = "required" if name in needed else "optional"
            left = f'<code>{escape(before + name)}</code><span class="must">{must}</span>'
            rows.append((left, self._described(field, self.resolved(field).get("description", ""))))
            inside, mark = (field["items"], "[].") if "items" in _open(field) else (field, ".")
            if "properties" in _open(inside) and depth < _DEEPEST:
                rows += self._rows(inside, f"{before}{name}{mark}", depth + 1)
        return rows

    def _described(self, schema: Any, told: str) -> str:
        limits = self.limits(schema)
        return f"{self.type(schema)}{_limits(limits)}{_prose(told)}"

    def type(self, schema: Any) -> str:
        """What a value is, in words, with links to the schemas that have a name."""
        if not isinstance(schema, Mapping):
            return "anything" if schema is not False else "nothing"
        if "$ref" in schema:
            name = str(schema["$ref"]).rsplit("/", 1)[-1]
            if name in self.schemas:
                return f'<a href="#{_anchor("schema", name)}">{escape(_name(name))}</a>'
            return self.type(self.resolved(schema))
        for key, word in (("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")):
            if schema.get(key):
                return word.join(dict.fromkeys(self._member(part) for part in schema[key]))
        if "const" in schema:
            return f"always {_value(schema['const'])}"
        if schema.get("enum"):
            return "one of " + ", ".join(_value(value) for value in schema["enum"])
        kinds = schema.get("type")
        if isinstance(kinds, str):
            kinds = [kinds]
        elif not kinds:
            kinds = ["object"] if "properties" in schema else ["array"] if "items" in schema else ["anything"]
        # null is said last, as one says it.
        return " or ".join(self._kind(kind, schema) for kind in sorted(kinds, key=lambda kind: kind == "null"))

    def _member(self, part: Any) -> str:
        limits = self.limits(part)
        return self.type(part) + (f' <span class="limits">({", ".join(limits)})</span>' if limits else "")

    def _kind(self, kind: str, schema: Node) -> str:
        if kind == "array":
            if schema.get("prefixItems"):
                return "list of " + ", ".join(self._member(item) for item in schema["prefixItems"])
            return f"list of {_plural(self._member(schema['items']))}" if schema.get("items") else "list"
        if kind == "object":
            if isinstance(schema.get("additionalProperties"), Mapping) and not schema.get("properties"):
                return f"object of {_plural(self._member(schema['additionalProperties']))}"
            names = [f"<code>{escape(name)}</code>" for name in schema.get("properties", ())]
            return f"object with {', '.join(names)}" if names else "object"
        name = {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(kind, kind)
        return escape(f"{name} ({schema['format']})" if schema.get("format") and kind != "null" else name)

    def limits(self, schema: Any) -> list[str]:
        """What a value must hold to, each as HTML."""
        schema = _open(schema)
        said = []
        bounds = (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<"))
        said += [f"{sign} {_number(schema[key])}" for key, sign in bounds if key in schema]
        if "multipleOf" in schema:
            said.append(f"a multiple of {_number(schema['multipleOf'])}")
        for unit, least, most in (
            ("characters", "minLength", "maxLength"),
            ("items", "minItems", "maxItems"),
            ("fields", "minProperties", "maxProperties"),
        ):
            said += _between(schema.get(least), schema.get(most), unit)
        if schema.get("uniqueItems"):
            said.append("all different")
        if "pattern" in schema:
            said.append(f"matches <code>{escape(str(schema['pattern']))}</code>")
        if schema.get("default") is not None:
            said.append(f"default {_value(schema['default'])}")
        if schema.get("additionalProperties") is False:
            said.append("no other fields")
        said += [word for key, word in (("readOnly", "read only"), ("deprecated", "deprecated")) if schema.get(key)]
        return said

    # ── examples

    def _curl(self, operation: _Operation) -> str:
        path, query, headers = operation.path, {}, []
        for one in operation.parameters:
            name, value = str(one.get("name")), self._filled(one)
            if one.get("in") == "path":
                path = path.replace(f"{{{name}}}", quote(value, safe=""))
            elif one.get("required") and one.get("in") == "query":
                query[name] = value
            elif one.get("required") and one.get("in") == "header":
                headers.append(f"{name}: {value}")
        asked = path + (f"?{urlencode(query)}" if query else "")
        method = "" if operation.method == "get" else f"-X {operation.method.upper()} "
        lines = [f'curl {method}"$TACIT_URL"{shlex.quote(asked)}']
        if self._secured(operation):
            lines.append('-H "Authorization: Bearer $TACIT_KEY"')
        lines += [f"-H {shlex.quote(header)}" for header in headers]
        content = self.resolved(operation.says.get("requestBody") or {}).get("content") or {}
        for kind, media in list(content.items())[:1]:
            lines.append(f"-H {shlex.quote(f'Content-Type: {kind}')}")
            lines.append(f"-d {shlex.quote(json.dumps(self._media_example(media), ensure_ascii=False))}")
        return " \\\n  ".join(lines)

    def _filled(self, one: Node) -> str:
        schema = self.resolved(one.get("schema", {}))
        given = _given(one) or _given(schema)
        value = given[0] if given else self.example(schema, str(one.get("name")))
        return value if isinstance(value, str) else json.dumps(value)

    def _media_example(self, media: Node) -> Any:
        given = _given(media)
        return given[0] if given else self.example(media.get("schema", {}))

    def example(self, schema: Any, name: str = "", above: tuple[str, ...] = ()) -> Any:
        """A value of the right shape: what the document gives as an example, or the least that fits."""
        if not isinstance(schema, Mapping):
            return None
        ref = schema.get("$ref")
        if isinstance(ref, str):
            # A schema that holds itself ends where it would begin again.
            return None if ref in above else self.example(self.resolved(schema), name, (*above, ref))
        given = _given(schema) or [schema[key] for key in ("const", "default") if schema.get(key) is not None]
        given = given or list(schema.get("enum") or ())[:1]
        if given:
            return given[0]
        for key in ("oneOf", "anyOf"):
            parts = [part for part in schema.get(key, ()) if self.resolved(part).get("type") != "null"]
            if parts:
                return self.example(parts[0], name, above)
        merged: dict[str, Any] = {}
        for part in schema.get("allOf", ()):
            value = self.example(part, name, above)
            merged |= value if isinstance(value, dict) else {}
        kinds = schema.get("type")
        kind = next((one for one in kinds if one != "null"), "null") if isinstance(kinds, list) else kinds
        if kind == "object" or "properties" in schema or merged:
            fields = schema.get("properties", {})
            return merged | {
                one: self.example(fields[one], one, above) for one in fields if one in schema.get("required", ())
            }
        if kind == "array":
            one = self.example(schema.get("items", {}), name, above)
            return [] if one is None else [one] * min(max(int(schema.get("minItems", 1)), 1), 3)
        return _least(kind, schema, name)


def _least(kind: str | None, schema: Node, name: str) -> Any:
    if kind == "string":
        known = {
            "date-time": "2030-01-31T12:00:00Z",
            "date": "2030-01-31",
            "uuid": "0" * 8 + "-0000-4000-8000-" + "0" * 12,
        }
        return known.get(str(schema.get("format")), name.upper() or "TEXT")
    if kind == "boolean":
        return True
    if kind in ("integer", "number"):
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        if kind == "integer":
            least = 1 if low is None else max(int(low) + ("exclusiveMinimum" in schema), 0)
            return least if high is None else min(least, int(high))
        if low is not None and high is not None:
            return (low + high) / 2
        return low + 0.5 if low is not None else min(0.5, high) if high is not None else 0.5
    return None


def _open(schema: Any) -> Node:
    # A schema may be `true` or `false`, which has nothing inside.
    return schema if isinstance(schema, Mapping) else {}


def _given(node: Node) -> list[Any]:
    """The examples a node carries, in either of the two ways a document may write them."""
    if "example" in node:
        return [node["example"]]
    examples = node.get("examples") or ()
    if isinstance(examples, Mapping):
        return [one["value"] for one in examples.values() if isinstance(one, Mapping) and "value" in one]
    return [one["value"] if isinstance(one, Mapping) and set(one) <= {"value", "summary"} else one for one in examples]


def _contents(groups: Mapping[str, Sequence[_Operation]]) -> str:
    parts = ['<nav aria-label="Operations">']
    for name, operations in groups.items():
        rows = "\n".join(
            f'<li>{_verb(each.method)}<a href="#{each.anchor}"><code>{escape(each.path)}</code></a></li>'
            for each in operations
        )
        parts.append(f"<h2>{escape(name)}</h2>\n<ul>{rows}</ul>")
    return "\n".join([*parts, "</nav>"])


def _verb(method: str) -> str:
    return f'<span class="verb {method}">{method.upper()}</span>'


def _table(rows: Sequence[tuple[str, str]], kind: str = "") -> str:
    mark = f' class="{kind}"' if kind else ""
    lines = "\n".join(f'<tr><th scope="row">{left}</th><td>{right}</td></tr>' for left, right in rows)
    return f"<table{mark}><tbody>\n{lines}\n</tbody></table>"


def _plural(words: str) -> str:
    return re.sub(r"^(list|object|text|number|whole number)\b", r"\1s", words)


def _limits(said: Sequence[str]) -> str:
    return f'<div class="limits">{", ".join(said)}</div>' if said else ""


def _between(least: Any, most: Any, unit: str) -> list[str]:
    if least is not None and most is not None:
        return [f"{_number(least)} {unit}" if least == most else f"{_number(least)} to {_number(most)} {unit}"]
    if most is not None:
        return [f"at most {_number(most)} {unit}"]
    return [f"at least {_number(least)} {unit}"] if least else []


def _number(value: Any) -> str:
    whole = isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
    return f"{int(value):,}" if whole and abs(value) < 1e15 else escape(str(value))


def _value(value: Any) -> str:
    return f"<code>{escape(json.dumps(value, ensure_ascii=False))}</code>"


def _name(key: str) -> str:
    # Dots would come from the name of a module: the class is what a reader looks for.
    return key.rsplit(".", 1)[-1]


def _anchor(kind: str, name: str) -> str:
    """A name as the address of a place in the page, different for different names."""
    text = f"{kind}/{name.removeprefix('/')}"
    spelled = {"/": "-", "{": "_", "}": "", "_": "__"}
    return re.sub(r"[^A-Za-z0-9]", lambda sign: spelled.get(sign[0], f".{ord(sign[0]):x}."), text)


def _prose(text: Any) -> str:
    """Paragraphs, lists and code set off by four spaces; nothing else of Markdown."""
    parts = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(str(text or ""))):
        lines = [line for line in block.splitlines() if line.strip()]
        if not lines:
            continue
        if all(line.startswith("    ") for line in lines):
            parts.append(f"<pre>{escape(inspect.cleandoc(block))}</pre>")
        elif lines[0].lstrip().startswith(("- ", "* ")):
            items = re.split(r"(?m)^\s*[-*] ", block)[1:]
            parts.append("<ul>" + "".join(f"<li>{_inline(item.strip())}</li>" for item in items) + "</ul>")
        else:
            parts.append(f"<p>{_inline(' '.join(line.strip() for line in lines))}</p>")
    return "\n".join(parts)


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(str(text), quote=False))
