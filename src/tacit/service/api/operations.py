"""What operators watch: status, health, metrics. Nothing about rewards or arms but what priced releases say."""

from __future__ import annotations

import time
from typing import Any

import msgspec
from litestar import Response, get
from litestar.enums import MediaType

from tacit._version import __version__
from tacit.service.api import types
from tacit.service.api.answers import Asking, engine_of, responses, spec, summary
from tacit.service.api.roles import needs
from tacit.service.deciding import Deciding
from tacit.service.engine import Engine
from tacit.service.metrics import Metrics
from tacit.service.standing import Standing


def _watched(engine: Engine, found: Standing) -> dict[str, Any]:
    """A deployment for the dashboard: about arms only what its priced releases say."""
    facts: dict[str, Any] = msgspec.to_builtins(summary(engine, found, pending=True))
    means = found.released_means() if isinstance(found, Deciding) else []
    shown = [{"arm": str(arm), "value": round(value, 4)} for arm, value in means[:50]]
    return {
        **facts,
        "charged_share": 1.0,  # a plan is charged as a whole, before anybody comes
        "releases_planned": None,
        "released": {"mean_rewards": shown, "arms": len(means), "from": "priced releases"} if shown else None,
    }


# Operations -----------------------------------------------------------------------------------------------------------


@get("/v1/status", guards=[needs()], summary="What operators watch", responses=responses(), tags=["operations"])
async def status(request: Asking) -> types.Status:
    """Requests, latencies and where each deployment stands. Counts are not covered by any guarantee."""
    engine, metrics = engine_of(request), request.app.state.metrics
    found = [_watched(engine, one) for one in list(engine.deployments.values())]
    service = {
        "version": __version__,
        "started": metrics.started,
        "now": time.time(),
        "store": engine.store.db.kind,
        "replica": engine.replica,
        "keys": bool(request.app.state.callers),
        "encrypted": engine.encrypted,
        "available": engine.available,
    }
    return types.Status(service, metrics.requests(), found)


@get(
    "/health",
    summary="Health",
    responses={
        **{status: found for status, found in responses().items() if status in (403, 413)},
        503: spec(types.Health, "The store is away"),
    },
    tags=["operations"],
)
async def health(request: Asking) -> Response[types.Health]:
    """200 while the store can be written."""
    engine = engine_of(request)
    word = "ok" if engine.available else "store unavailable"
    found = types.Health(word, engine.store.db.kind, engine.replica, engine.leases)
    return Response(found, status_code=200 if engine.available else 503)


@get(
    "/metrics",
    guards=[needs()],
    summary="Prometheus",
    media_type=MediaType.TEXT,
    responses=responses(),
    tags=["operations"],
)
async def prometheus(request: Asking) -> str:
    """Counts and gauges in the text format of Prometheus."""
    engine = engine_of(request)
    metrics: Metrics = request.app.state.metrics
    for gauge in metrics.gauges.values():
        gauge.clear()  # of deployments that are no more
    for found in list(engine.deployments.values()):
        facts = summary(engine, found, pending=True)
        values = {
            "tacit_decisions": facts.decisions,
            "tacit_view_version": facts.view,
            "tacit_view_age_seconds": facts.view_age_seconds,
            "tacit_learning": float(facts.learning and facts.state == "serving"),
            "tacit_rounds_left": facts.rounds_left,
            "tacit_epsilon": facts.epsilon,
            "tacit_pending": facts.pending,
            "tacit_holds_lease": float(engine.holds(found.uid)),
        }
        for name, value in values.items():
            if value is not None:
                metrics.gauges[name].labels(found.name).set(value)
    metrics.available.set(float(engine.available))
    return metrics.text().decode()
