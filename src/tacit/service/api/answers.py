"""What the addresses have in common: which answers are documented, and how a deployment is summed up."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Request
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import PathParameter

from tacit.privacy.promise import Promise, PurePromise
from tacit.service.api import types
from tacit.service.engine import Engine
from tacit.service.standing import Standing, finite_epsilon

Name = Annotated[str, PathParameter(description="The deployment's name.", max_length=63, min_length=1)]

Asking = Request[Any, Any, Any]


def responses(*statuses: int) -> dict[int, ResponseSpec]:
    texts = {
        400: "Not what was expected",
        401: "No key",
        403: "Not allowed with this key, or for privacy's sake",
        404: "Nothing of that name",
        409: "Refused as things stand",
        410: "Closed, without a reward",
        413: "Too large",
        415: "Not JSON, or does not say so",
        503: "The store cannot be written: nothing was changed",
    }
    every = {401, 403, 413, 400, 503, *statuses}
    return {status: spec(types.Failed, texts[status]) for status in sorted(every)}


def spec(kind: Any, text: str) -> ResponseSpec:
    # Examples would be made of random letters, others at every start.
    return ResponseSpec(kind, generate_examples=False, description=text)


def engine_of(request: Asking) -> Engine:
    found: Engine = request.app.state.engine
    return found


def summary(engine: Engine, found: Standing, *, pending: bool, names: bool = False) -> types.Summary:
    """A deployment for whoever may see it; `names`: with the names of its actions, where it has some."""
    guarantee, promise = found.guarantee, found.config.promise
    listed = found.config.fixed_actions if found.actions is None else found.actions
    return types.Summary(
        name=found.name,
        policy=found.config.slug,
        trust=found.config.trust.value,
        takes=found.takes,
        state="failed" if found.failed else found.state,
        learning=found.learning,
        why_not=found.trouble or found.why_not,
        dim=found.dim,
        actions=None if listed is None else len(listed),
        view=found.version,
        view_age_seconds=round(max(0.0, engine.now() - found.released_at), 3),
        decisions=found.made,
        rounds_left=found.rounds_left,
        limit=found.limit,
        releases=found.releases,
        epsilon=finite_epsilon(guarantee),
        delta=guarantee.delta if guarantee.private else None,
        promised_epsilon=None if promise is None else _promised(found),
        copies=found.copies,
        sampler=found.sampler,
        seeded=found.asked.seed is not None,
        in_order=found.in_order,
        closes_after=found.asked.closes_after,
        guarantee=str(guarantee),
        pending=engine.pending.get(found.uid, 0) if pending else None,
        arms=found.config.arms_of_context,
        action_ids=list(found.actions) if names and found.actions is not None else None,
    )


def _promised(found: Standing) -> float | None:
    """The promise as an ε: its own, or in other currencies what it comes to without forks."""
    promise = found.config.promise
    if isinstance(promise, Promise | PurePromise):
        return promise.epsilon
    return finite_epsilon(found.plan.guarantee)
