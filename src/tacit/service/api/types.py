"""What is sent and answered. Bounds stand in the types: they are checked before anything else, and documented."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from tacit.service.settings import LONGEST, MOST_ARMS, MOST_FEATURES

Name = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=63,
        pattern="^[a-z0-9]([a-z0-9-]*[a-z0-9])?$",
        description="1 to 63 lower-case letters, digits and hyphens, beginning and ending with a letter or a digit",
    ),
]
Label = Annotated[str, Meta(min_length=1, max_length=128)]
Who = Annotated[str, Meta(min_length=1, max_length=256)]
Identity = Annotated[str, Meta(min_length=1, max_length=64)]

#: Actions of one decision, and items of one batch at most.
MOST_ACTIONS, MOST_ITEMS = MOST_ARMS, 1000


class Error(Struct):
    """What went wrong: a code for programs, a sentence for people, and the field it is about. Never a value."""

    code: str
    message: str
    field: str | None = None


class Failed(Struct):
    """Every answer that is not a success."""

    error: Error


class NewDeployment(Struct, forbid_unknown_fields=True):
    """A deployment to make. Budget, bounds and person limit may stand apart or among the parameters. `actions`: with
    arms that share a context the names of those that are there; the others are named later."""

    name: Name
    policy: Label
    parameters: dict[str, Any] = {}
    budget: dict[str, Any] | None = None
    bounds: dict[str, Any] | None = None
    person_rounds: Annotated[int, Meta(ge=1, le=2**31)] | None = None
    closes_after: Annotated[float, Meta(gt=0, le=LONGEST)] | None = None
    closes_after_decisions: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    default_reward: float | None = None
    actions: Annotated[list[Label], Meta(min_length=1, max_length=MOST_ACTIONS)] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**53)] | None = None


class Summary(Struct):
    """A deployment as everybody with a key may see it. `pending` is for administrators only."""

    name: str
    policy: str
    trust: str
    takes: str
    state: str
    learning: bool
    why_not: str | None
    dim: int
    actions: int | None  #: how many there are, where the policy has a list of its own or they are arms with names
    view: int
    view_age_seconds: float
    decisions: int  #: or reports, or batches: what it takes
    rounds_left: int | None
    limit: int | None  #: rounds, or reports, after which nothing is learned; null: no end
    releases: int
    epsilon: float | None
    delta: float | None
    promised_epsilon: float | None
    copies: int
    sampler: str
    seeded: bool
    in_order: bool
    closes_after: float
    guarantee: str
    pending: int | None = None
    arms: int | None = None  #: arms that share a context; those without a name yet are not among `actions`
    action_ids: list[str] | None = None  #: their names, in an answer about this deployment alone


class NewAction(Struct, forbid_unknown_fields=True):
    """A name for the first arm that has none."""

    id: Label


class Deployments(Struct):
    """All deployments."""

    deployments: list[Summary]


class Card(Struct):
    """The privacy card: as a text to read, and as the JSON that `tacit privacy` writes."""

    text: str
    card: dict[str, Any]


class Created(Struct):
    """A new deployment and its card."""

    deployment: Summary
    card: Card


class Entry(Struct):
    """One entry of the ledger."""

    number: int
    entry: dict[str, Any]
    hash: str


class Ledger(Struct):
    """What was charged and released: every entry holds the hash of the one before it in the store. `next` is null at
    the end."""

    entries: list[Entry]
    head: str
    next: int | None


class Action(Struct, forbid_unknown_fields=True):
    """A candidate."""

    id: Label
    features: Annotated[list[float], Meta(max_length=MOST_FEATURES)]


class Ask(Struct, forbid_unknown_fields=True):
    """A decision to make. A client's key makes it safe to send again. Actions come with their features; of a deployment
    with arms they share a context, and are the names of those that are there: all, where none are sent."""

    actions: Annotated[list[Action | Label], Meta(min_length=1, max_length=MOST_ACTIONS)] | None = None
    context: Annotated[list[float], Meta(max_length=MOST_FEATURES)] | None = None
    person: Who | None = None
    key: Label | None = None


class Decision(Struct, omit_defaults=True):
    """The action to take, and the id under which its reward is to be sent."""

    decision: str
    action: str
    index: int
    view: int


class Asks(Struct, forbid_unknown_fields=True):
    """Several decisions to make."""

    decisions: Annotated[list[Ask], Meta(min_length=1, max_length=MOST_ITEMS)]


class DecisionOrError(Struct, omit_defaults=True):
    """One of several answers."""

    decision: str | None = None
    action: str | None = None
    index: int | None = None
    view: int | None = None
    error: Error | None = None


class Decisions(Struct):
    """Several answers, in the order of what was asked."""

    decisions: list[DecisionOrError]


class Reward(Struct, forbid_unknown_fields=True):
    """What a decision earned."""

    value: float


class Rewarded(Struct):
    """A decision that is closed now."""

    decision: str
    closed: str


class RewardFor(Struct, forbid_unknown_fields=True):
    """What one of several decisions earned."""

    decision: Identity
    value: float


class Rewards(Struct, forbid_unknown_fields=True):
    """What several decisions earned."""

    rewards: Annotated[list[RewardFor], Meta(min_length=1, max_length=MOST_ITEMS)]


class RewardedOrError(Struct, omit_defaults=True):
    """One of several answers."""

    decision: str
    closed: str | None = None
    error: Error | None = None


class RewardAnswers(Struct):
    """Several answers, in the order of what was sent."""

    rewards: list[RewardedOrError]


class Taken(Struct):
    """A report or a batch was learned from; `stage` is how many there are now."""

    stage: int


class Contract(Struct):
    """What devices are installed with, and the key their reports are sealed to where there is a shuffler."""

    contract: dict[str, Any]
    sealing_key: str | None


class Person(Struct, forbid_unknown_fields=True):
    """Somebody, by the id that decisions were made for."""

    person: Who


class Erased(Struct):
    """What was erased, what was kept, and why."""

    erased_decisions: int
    kept: str
    why: str


class Health(Struct):
    """Whether the service can do its work."""

    status: str
    store: str
    replica: str
    holding: int


class Status(Struct):
    """What operators watch. Counts of requests and open decisions are not covered by any guarantee."""

    service: dict[str, Any]
    requests: dict[str, Any]
    deployments: list[dict[str, Any]]
