"""The API page: what an OpenAPI document says, for people."""

from __future__ import annotations

import re
import shlex
from html import unescape
from html.parser import HTMLParser

import pytest

from tacit.service import api_page
from tests.service.browser import BROWSER, MISSING, Browser, Tab
from tests.service.pretending import pretended

EVIL = '"><img src=x onerror="window.hit=1"><script>window.hit=1</script>'

# As Litestar writes it: options as `oneOf` with limits beside them, whole bounds as floats, errors without a name.
ERROR = {
    "properties": {"status_code": {"type": "integer"}, "detail": {"type": "string"}},
    **{"type": "object", "required": ["detail", "status_code"]},
}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "tacit", "version": "0.1.0", "description": "Decisions.\n\n- one\n- two `x`\n\n    code here"},
    "security": [{"key": []}],
    "tags": [{"name": "people", "description": "What people meet."}],
    "paths": {
        "/healthz": {"get": {"summary": "Health", "security": [], "responses": {"200": {"description": "It runs."}}}},
        "/v1/deployments/{name}/decisions": {
            "parameters": [{"$ref": "#/components/parameters/Name"}],
            "post": {
                "tags": ["people"],
                "summary": "Choose an arm",
                "description": "Choose one of `actions`.\n\nLater, send its reward.",
                "parameters": [
                    {
                        **{"name": "limit", "in": "query", "required": False, "description": "How many."},
                        "schema": {"type": "integer", "minimum": 1.0, "maximum": 100.0, "default": 10},
                    },
                    {"name": "Idempotency-Key", "in": "header", "required": True, "schema": {"type": "string"}},
                ],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Decide"}}},
                },
                "responses": {
                    "404": {"description": "No such.", "content": {"application/json": {"schema": ERROR}}},
                    "201": {
                        "description": "Chosen.",
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Decision"}}},
                    },
                },
            },
            "get": {"tags": ["operators"], "deprecated": True, "responses": {}},
        },
    },
    "components": {
        "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        "parameters": {
            "Name": {
                **{"name": "name", "in": "path", "required": True, "description": "It's which."},
                "schema": {"type": "string", "maxLength": 64, "pattern": "^[a-z-]+$", "examples": ["front-page"]},
            }
        },
        "schemas": {
            "Decide": {
                **{"type": "object", "title": "Decide", "required": ["actions", "why"], "additionalProperties": False},
                "properties": {
                    "actions": {
                        "items": {"items": {"type": "number"}, "type": "array"},
                        **{"type": "array", "maxItems": 10_000, "minItems": 2, "description": "One row per candidate."},
                    },
                    "person": {"oneOf": [{"type": "string"}, {"type": "null"}], "maxLength": 200, "minLength": 1},
                    "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
                    "why": {"type": "string", "examples": ["it's"]},
                    "share": {"type": ["null", "number"], "exclusiveMinimum": 0.0, "maximum": 1.0},
                    "inside": {"type": "object", "required": [], "properties": {"deep": {"type": "boolean"}}},
                },
            },
            "Decision": {
                "type": "object",
                "required": ["arm", "parent"],
                "properties": {
                    "arm": {"type": "integer", "minimum": 0.0},
                    "parent": {"$ref": "#/components/schemas/Decision"},
                    "scores": {"type": "object", "additionalProperties": {"type": "number"}},
                    "lost": {"$ref": "#/components/schemas/Nowhere"},
                },
            },
        },
    },
}


def rendered(openapi=DOCUMENT):
    return api_page.page(openapi).decode()


def article(anchor, text=None):
    """The words of one box of the page, without its marks."""
    found = re.search(rf'<article class="\w+" id="{re.escape(anchor)}">(.*?)</article>', text or rendered(), re.S)
    assert found, anchor
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found[1])).split())


def curl(anchor):
    box = re.search(rf'id="{re.escape(anchor)}">.*?<h4>Example</h4>\s*<pre>(.*?)</pre>', rendered(), re.S)
    return shlex.split(unescape(box[1]).replace("\\\n", " "))


DECIDE = "post-v1-deployments-_name-decisions"


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing():
    page = rendered()
    assert not re.search(r"(src|href)=[\"'](?!data:|/docs/openapi\.json\"|/\"|#)", page)
    assert "<script" not in page
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy.startswith("default-src 'none'; ")
    assert "script-src" not in policy
    assert 'href="/docs/openapi.json"' in page


def test_operations_stand_under_their_first_tag_in_the_order_of_the_tags():
    assert re.findall(r'<h2 id="[^"]+">([^<]+)</h2>', rendered()) == ["people", "other", "operators", "Schemas"]


def test_every_link_inside_the_page_has_its_place_and_no_place_is_there_twice():
    places = re.findall(r'\bid="([^"]+)"', rendered())
    assert len(places) == len(set(places))
    assert set(re.findall(r'href="#([^"]+)"', rendered())) <= set(places)


def test_an_operation_says_what_it_takes_and_gives():
    told = article(DECIDE)
    for text in (
        *("POST /v1/deployments/{name}/decisions", "needs a key", "Choose an arm", "Later, send its reward."),
        *("name in the path, required text at most 64 characters, matches ^[a-z-]+$ It's which.",),
        *("limit in the query, optional whole number ≥ 1, ≤ 100, default 10 How many.",),
        *("Body Decide , application/json", "actions required list of lists of numbers 2 to 10,000 items One row"),
        *("person optional text or null 1 to 200 characters", 'mode optional one of "a" , "b" default "a"'),
        *("share optional number or null > 0, ≤ 1", "inside.deep optional true or false"),
        *("Answers 201 Chosen. Decision 404 No such. object with status_code , detail",),
    ):
        assert text in told


def test_a_schema_has_a_table_and_may_hold_itself():
    told = article("schema-Decision")
    assert "arm required whole number ≥ 0" in told
    assert "parent required Decision" in told
    assert "scores optional object of numbers" in told
    assert "lost optional anything" in told


def test_the_example_is_a_command_a_shell_reads_as_meant():
    assert curl(DECIDE) == [
        *("curl", "-X", "POST", "$TACIT_URL/v1/deployments/front-page/decisions"),
        *("-H", "Authorization: Bearer $TACIT_KEY", "-H", "Idempotency-Key: IDEMPOTENCY-KEY"),
        *("-H", "Content-Type: application/json", "-d", '{"actions": [[0.5], [0.5]], "why": "it\'s"}'),
    ]


def test_an_open_operation_needs_no_key():
    assert curl("get-healthz") == ["curl", "$TACIT_URL/healthz"]
    assert "needs a key" not in article("get-healthz")
    assert "deprecated" in article("get-v1-deployments-_name-decisions")


def test_descriptions_are_paragraphs_lists_and_code():
    page = rendered()
    assert "<p>Decisions.</p>\n<ul><li>one</li><li>two <code>x</code></li></ul>\n<pre>code here</pre>" in page


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/components/schemas/A"},
        {
            "allOf": [
                {"$ref": "#/components/schemas/A"},
                {"type": "object", "properties": {"x": True}, "required": ["x"]},
            ]
        },
        {"type": "array", "items": {"$ref": "#/components/schemas/A"}},
        {"anyOf": [{"type": "null"}, {"$ref": "#/components/schemas/A"}]},
        {"$ref": "http://elsewhere.invalid/schema.json"},
        {"prefixItems": [{"type": "integer"}, True], "type": "array"},
        True,
        {},
    ],
)
def test_schemas_in_circles_and_odd_ones_end(schema):
    body = {"content": {"application/json": {"schema": schema}}}
    paths = {"/x": {"put": {"requestBody": body}}}
    openapi = {"paths": paths, "components": {"schemas": {"A": schema, "B": {"$ref": "#/components/schemas/B"}}}}
    assert "/x" in article("put-x", rendered(openapi))


def poisoned(node):
    if isinstance(node, dict):
        return {key: value if key in ("$ref", "in", "type") else poisoned(value) for key, value in node.items()}
    if isinstance(node, list):
        return [poisoned(each) for each in node]
    return EVIL if isinstance(node, str) else node


def hostile():
    """Every text and every name that a document may hold, with markup in it."""
    openapi = poisoned(DOCUMENT)
    openapi["paths"] = {f"/{EVIL}{path}": item for path, item in openapi["paths"].items()}
    openapi["components"]["schemas"][EVIL] = {"type": "object", "properties": {EVIL: {"type": EVIL, "format": EVIL}}}
    return openapi


def test_hostile_texts_stay_text():
    seen = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag, attrs):
            seen.extend([tag, *(name for name, _ in attrs)])

    Tags().feed(rendered(hostile()))
    assert len(seen) > 100
    assert not {"img", "script", "src", "onerror"} & set(seen)


def test_a_real_document_is_read():
    litestar = pytest.importorskip("litestar", reason="needs tacit[serve]")
    params = pytest.importorskip("litestar.params")

    async def thing(name, limit=3):
        return {name: limit}

    thing.__annotations__ = {"name": params.FromPath[str], "limit": params.FromQuery[int], "return": dict[str, float]}
    handler = litestar.get("/v1/things/{name:str}", tags=["things"], summary="One thing")(thing)
    openapi = litestar.Litestar([handler]).openapi_schema.to_schema()
    told = article("get-v1-things-_name", rendered(openapi))
    assert "One thing" in told
    assert "limit in the query, optional whole number default 3" in told
    assert "object of numbers" in told


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    made = Browser(tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.mark.skipif(BROWSER is None, reason=MISSING)
@pytest.mark.parametrize("openapi", [DOCUMENT, hostile()], ids=["plain", "hostile"])
def test_in_a_browser_it_fits_a_phone_and_asks_nobody(browser, openapi):
    with pretended({}) as service:
        service.pages["/docs"] = api_page.page(openapi)
        tab = Tab(browser, width=360, height=740).open(f"{service.origin}/docs")
        assert tab.overflow() == 0
        assert tab.complaints() == []
        assert {address for address in tab.requests() if not address.startswith("data:")} == {f"{service.origin}/docs"}
        assert tab.js("window.hit === undefined && document.querySelectorAll('img, script').length === 0")
        assert tab.js("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        tab.prefer("color-scheme", "dark")
        assert tab.js("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 28)"
        tab.close()
