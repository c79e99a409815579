"""The addresses of the service. Each does three things: read the request, ask the engine, answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from litestar import Response, Router, delete, get, post, put
from litestar.datastructures import ResponseHeader
from litestar.enums import MediaType
from litestar.params import JSONBody, PathParameter, QueryParameter

from tacit.errors import BadInput, TacitError
from tacit.service import settings
from tacit.service.api import types
from tacit.service.api.answers import Asking, Name, engine_of, responses, spec, summary
from tacit.service.api.failures import described
from tacit.service.api.fast import decided, deciding, rewarded
from tacit.service.api.roles import needs
from tacit.service.engine import Engine
from tacit.service.reporting import Reporting
from tacit.service.standing import Standing

#: Entries of the ledger in one answer at most: a release every round makes one a round.
MOST_ENTRIES = 1000

_ERASED = (
    "What was learned stays in noised sums: subtracting it would be a second release of the same people's data, which "
    "the promise does not pay for. The promise itself covers it."
)


def _card(found: Standing) -> types.Card:
    card = found.card()
    return types.Card(card.text(), card.to_dict())


def _reporting(engine: Engine, name: str) -> Reporting:
    found = engine.find(name)
    if not isinstance(found, Reporting):
        raise BadInput(
            f"Expected a deployment that takes reports, got one of {found.config.slug}. Ask it for decisions."
        )
    return found


#: A tag among several, weak or not: commas may stand inside of one.
_TAG = re.compile(r'(?:W/)?("[^"]*")')


def _known(headers: Sequence[str], tag: str) -> bool:
    """Whether an If-None-Match names this tag: compared weakly, in a list, or as any at all (RFC 9110, 13.1.2)."""
    return any(header.strip() == "*" or tag in _TAG.findall(header) for header in headers)


def _is_admin(request: Asking) -> bool:
    return bool(request.app.state.callers.role(request.headers.get("authorization")) == "admin")


# Deployments --------------------------------------------------------------------------------------------------------


@post(
    "/deployments",
    guards=[needs()],
    summary="Make a deployment",
    responses=responses(409, 415),
    tags=["deployments"],
    raises=[],
)
async def create(request: Asking, data: JSONBody[types.NewDeployment]) -> types.Created:
    """Policy, parameters, budget, bounds and person limit give the privacy card that is answered."""
    engine = engine_of(request)
    if data.seed is not None and not request.app.state.allow_seed:
        raise BadInput(
            "Expected no seed, got one: whoever knows it knows the noise. It is for tests, and needs "
            "`tacit serve --test-seeds`."
        ).about("seed")
    asked = settings.ask(
        data.policy,
        data.parameters,
        budget=data.budget,
        bounds=data.bounds,
        person_rounds=data.person_rounds,
        closes_after=data.closes_after,
        closes_after_decisions=data.closes_after_decisions,
        default_reward=data.default_reward,
        actions=data.actions,
        seed=data.seed,
    )
    found = await engine.create(data.name, asked)
    return types.Created(summary(engine, found, pending=True, names=True), _card(found))


@get(
    "/deployments",
    guards=[needs("decide", "report")],
    summary="All deployments",
    responses=responses(),
    tags=["deployments"],
)
async def deployments(request: Asking) -> types.Deployments:
    """Where each of them stands. Open decisions are counted for administrators only."""
    engine, admin = engine_of(request), _is_admin(request)
    return types.Deployments([summary(engine, found, pending=admin) for found in list(engine.deployments.values())])


@get(
    "/deployments/{name:str}",
    guards=[needs("decide", "report")],
    summary="One deployment",
    responses=responses(404),
    tags=["deployments"],
)
async def deployment(request: Asking, name: Name) -> types.Summary:
    """Where it stands: view, clock, budget."""
    engine = engine_of(request)
    return summary(engine, engine.find(name), pending=_is_admin(request), names=True)


@get(
    "/deployments/{name:str}/card",
    guards=[needs("decide", "report")],
    summary="The privacy card",
    responses=responses(404),
    tags=["deployments"],
)
async def card(request: Asking, name: Name) -> types.Card:
    """What is promised, to whom, and what it rests on."""
    return _card(engine_of(request).find(name))


@get(
    "/deployments/{name:str}/ledger",
    guards=[needs()],
    summary="The ledger",
    responses=responses(404),
    tags=["deployments"],
)
async def ledger(
    request: Asking,
    name: Name,
    after: Annotated[int, QueryParameter(description="Entries after this number.", ge=0, le=2**53)] = 0,
    limit: Annotated[int, QueryParameter(description="So many entries at most.", ge=1, le=MOST_ENTRIES)] = MOST_ENTRIES,
) -> types.Ledger:
    """What was charged and released, entry by entry. Where there are more entries, `next` is the `after` of the next
    request."""
    if not set(request.query_params) <= {"after", "limit"}:
        raise BadInput("Expected after and limit behind the address, got something else. Leave it out.")
    engine = engine_of(request)
    found = engine.find(name)

    def read() -> tuple[list[tuple[int, str, dict[str, Any], str]], str]:
        return engine.store.entries(found.uid, after=after, most=limit + 1), engine.store.head()[1]

    rows, head = await engine.submit(read)
    entries = [types.Entry(seq, entry, digest) for seq, _, entry, digest in rows[:limit]]
    return types.Ledger(entries, head, entries[-1].number if len(rows) > limit else None)


@post(
    "/deployments/{name:str}/pause",
    guards=[needs()],
    status_code=200,
    summary="Pause",
    responses=responses(404),
    tags=["deployments"],
)
async def pause(request: Asking, name: Name) -> types.Summary:
    """No decisions and no reports until it is resumed; rewards of decisions that were made still count."""
    engine = engine_of(request)
    return summary(engine, await engine.set_state(name, "paused"), pending=True)


@post(
    "/deployments/{name:str}/resume",
    guards=[needs()],
    status_code=200,
    summary="Resume",
    responses=responses(404),
    tags=["deployments"],
)
async def resume(request: Asking, name: Name) -> types.Summary:
    """Serve again."""
    engine = engine_of(request)
    return summary(engine, await engine.set_state(name, "serving"), pending=True)


@post(
    "/deployments/{name:str}/actions",
    guards=[needs()],
    status_code=200,
    summary="Name one more action",
    responses=responses(404, 415),
    tags=["deployments"],
)
async def add_action(request: Asking, name: Name, data: JSONBody[types.NewAction]) -> types.Summary:
    """Of a deployment with arms that share a context: the first arm without a name gets this one, and is offered from
    now on. It costs no privacy, since every arm has had its noise from the beginning. May be sent again."""
    engine = engine_of(request)
    found = deciding(engine, name)
    await engine.submit(partial(found.add_action, data.id), found)
    return summary(engine, found, pending=True, names=True)


@delete(
    "/deployments/{name:str}",
    guards=[needs()],
    summary="Delete",
    responses=responses(404),
    tags=["deployments"],
)
async def remove(
    request: Asking,
    name: Name,
    confirm: Annotated[str | None, QueryParameter(description="The name once more, or nothing is deleted.")] = None,
) -> None:
    """Erase vault, view, open decisions and persons. The ledger stays, with a tombstone."""
    engine = engine_of(request)
    engine.find(name)
    # Clients resolve dots before they send: to erase a person called ".." would be to delete the deployment.
    if confirm != name:
        raise BadInput(
            "Expected the name once more, as ?confirm=NAME, got none or another: this erases everything that was "
            "learned, for good. Nothing was changed."
        ).about("confirm")
    await engine.delete(name)


# Decisions and rewards ------------------------------------------------------------------------------------------------


@post(
    "/deployments/{name:str}/decisions",
    guards=[needs("decide")],
    summary="Decide",
    responses={
        **responses(404, 409, 415),
        200: spec(types.Decision, "The decision this key has had before"),
    },
    tags=["decisions"],
)
async def decide(request: Asking, name: Name, data: JSONBody[types.Ask]) -> Response[types.Decision]:
    """The action to take, from the published view. Answered when the decision is durable. Each action comes with its
    features; where arms share a context, send `context` and in `actions` the names of those that are there."""
    engine = engine_of(request)
    repeated, answer = await decided(engine, deciding(engine, name), data)
    return Response(answer, status_code=200 if repeated else 201)


@post(
    "/deployments/{name:str}/decisions/batch",
    guards=[needs("decide")],
    summary="Decide several times",
    responses=responses(404, 415),
    tags=["decisions"],
)
async def decide_many(request: Asking, name: Name, data: JSONBody[types.Asks]) -> types.Decisions:
    """Each is decided or refused by itself; answers are in the order of what was asked."""
    engine = engine_of(request)
    found = deciding(engine, name)

    async def one(ask: types.Ask) -> types.DecisionOrError:
        try:
            _, answer = await decided(engine, found, ask)
        except TacitError as problem:
            return types.DecisionOrError(error=described(problem)[1])
        return types.DecisionOrError(answer.decision, answer.action, answer.index, answer.view)

    return types.Decisions(list(await asyncio.gather(*map(one, data.decisions))))


@put(
    "/deployments/{name:str}/decisions/{identity:str}/reward",
    guards=[needs("decide")],
    summary="Reward",
    responses=responses(404, 409, 410, 415),
    tags=["decisions"],
)
async def reward(
    request: Asking,
    name: Name,
    identity: Annotated[str, PathParameter(description="The id the decision came with.", max_length=64, min_length=1)],
    data: JSONBody[types.Reward],
) -> types.Rewarded:
    """What a decision earned, once: the same may be sent again, another one is refused. Answered when durable."""
    engine = engine_of(request)
    return await rewarded(engine, deciding(engine, name), identity, data.value)


@put(
    "/deployments/{name:str}/rewards",
    guards=[needs("decide")],
    summary="Reward several decisions",
    responses=responses(404, 415),
    tags=["decisions"],
)
async def reward_many(request: Asking, name: Name, data: JSONBody[types.Rewards]) -> types.RewardAnswers:
    """Each counts or is refused by itself; answers are in the order of what was sent."""
    engine = engine_of(request)
    found = deciding(engine, name)

    async def one(item: types.RewardFor) -> types.RewardedOrError:
        try:
            answer = await rewarded(engine, found, item.decision, item.value)
        except TacitError as problem:
            return types.RewardedOrError(item.decision, error=described(problem)[1])
        return types.RewardedOrError(item.decision, closed=answer.closed)

    return types.RewardAnswers(list(await asyncio.gather(*map(one, data.rewards))))


@delete(
    "/deployments/{name:str}/persons/{person:str}",
    guards=[needs()],
    status_code=200,
    summary="Erase a person",
    responses=responses(404),
    tags=["decisions"],
)
async def erase(
    request: Asking,
    name: Name,
    person: Annotated[str, PathParameter(description="As in decisions.", max_length=256, min_length=1)],
) -> types.Erased:
    """Open decisions of the person are erased; the hashed count of rounds is kept, and so is what was learned. An id is
    better sent in a body, as below: what sends requests resolves . and .. in addresses, and proxies log them."""
    return await _erased(engine_of(request), name, person)


@delete(
    "/deployments/{name:str}/persons/erase",
    guards=[needs()],
    status_code=200,
    summary="Erase the person erase",
    responses=responses(404),
    tags=["decisions"],
    include_in_schema=False,
)
async def erase_erase(request: Asking, name: Name) -> types.Erased:
    """Somebody whose id is the last word of the address below."""
    return await _erased(engine_of(request), name, "erase")


@post(
    "/deployments/{name:str}/persons/erase",
    guards=[needs()],
    status_code=200,
    summary="Erase a person named in the body",
    responses=responses(404, 415),
    tags=["decisions"],
)
async def erase_named(request: Asking, name: Name, data: JSONBody[types.Person]) -> types.Erased:
    """The same for ids that do not fit into an address, or should not stand in the logs of a proxy."""
    return await _erased(engine_of(request), name, data.person)


async def _erased(engine: Engine, name: str, person: str) -> types.Erased:
    found = deciding(engine, name)
    erased = await engine.erase(found, person)
    return types.Erased(erased, "a keyed hash and a count of rounds, so that the limit holds", _ERASED)


# What is published, and reports ---------------------------------------------------------------------------------------


@get(
    "/deployments/{name:str}/view",
    guards=[needs("decide", "report")],
    summary="The published view",
    responses={**responses(404), 304: spec(None, "As you have it")},
    response_headers=[
        ResponseHeader(name="ETag", description="Changes with the view", value=None, documentation_only=True)
    ],
    media_type=MediaType.JSON,
    tags=["view and reports"],
)
async def view(request: Asking, name: Name) -> Response[dict[str, Any]]:
    """All that choices depend on. Safe to cache anywhere, unless the policy takes contexts for public: its view holds
    them, and needs the role admin."""
    engine = engine_of(request)
    found = engine.find(name)
    if settings.view_is_for_admins(found.config):
        await needs()(request, None)
    found.check_read()
    text = found.view_text()
    tag = f'"{found.view_tag(text)}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if _known(request.headers.getall("if-none-match", []), tag):
        return Response(b"", status_code=304, headers=headers, media_type=MediaType.JSON)  # type: ignore[arg-type]
    return Response(msgspec.Raw(text.encode()), headers=headers)  # type: ignore[arg-type]


@get(
    "/deployments/{name:str}/contract",
    guards=[needs("decide", "report")],
    summary="The contract of devices",
    responses=responses(404),
    tags=["view and reports"],
)
async def contract(request: Asking, name: Name) -> types.Contract:
    """To compare with what devices were installed with: noise and bounds never come from the network."""
    found = _reporting(engine_of(request), name)
    return types.Contract(found.contract.to_dict(), found.sealing_key)


@post(
    "/deployments/{name:str}/reports",
    guards=[needs("report")],
    status_code=200,
    summary="A device's report",
    responses=responses(404, 409, 415),
    tags=["view and reports"],
)
async def report(request: Asking, name: Name, data: JSONBody[dict[str, Any]]) -> types.Taken:
    """A noised report, as docs/protocol.md describes it. It may be sent again, and counts once."""
    engine = engine_of(request)
    found = _reporting(engine, name)
    return types.Taken(await engine.submit(partial(found.receive, data), found))


@post(
    "/deployments/{name:str}/batches",
    guards=[needs("report")],
    status_code=200,
    request_max_body_size=settings.MOST_BATCH,
    summary="A shuffler's batch",
    responses=responses(404, 409, 415),
    tags=["view and reports"],
)
async def batch(request: Asking, name: Name, data: JSONBody[dict[str, Any]]) -> types.Taken:
    """A batch of sealed reports, mixed by `tacit shuffle`."""
    engine = engine_of(request)
    found = _reporting(engine, name)
    opened = await engine.apart(partial(found.open_batch, data))
    return types.Taken(await engine.submit(partial(found.receive_batch, opened, engine.now()), found))


V1 = Router(
    "/v1",
    route_handlers=[
        create,
        deployments,
        deployment,
        card,
        ledger,
        pause,
        resume,
        add_action,
        remove,
        decide,
        decide_many,
        reward,
        reward_many,
        erase,
        erase_erase,
        erase_named,
        view,
        contract,
        report,
        batch,
    ],
)
