"""What a deployment is asked to be: a policy, its budget and bounds, and when its decisions close."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, Literal

import numpy as np

from tacit._validate import positive, real, whole
from tacit._version import __version__
from tacit.core.contract import contract_of
from tacit.core.functions import FunctionPolicy
from tacit.core.plan import Plan
from tacit.core.policy import Policy
from tacit.core.round import LARGEST
from tacit.core.sealed_reports import batch_length, sealing
from tacit.core.state import clock_of, leaves, same
from tacit.errors import (
    BadInput,
    BadMessage,
    NoSecureSampler,
    PrivacyRefusal,
    TacitError,
    UnknownName,
)
from tacit.policies.catalogue import policy as policy_of
from tacit.privacy.scope import Protects, Trust

Takes = Literal["decisions", "reports", "batches"]

#: A day: how long a decision waits for its reward unless told otherwise.
DAY = 86_400.0
#: A year: the longest.
LONGEST = 366 * DAY
#: Numbers of one action at most.
MOST_FEATURES = 4096
#: Arms that share a context at most.
MOST_ARMS = 4096
#: Bytes of a shuffler's batch at most: it holds the reports of many people.
MOST_BATCH = 64 * 2**20
#: Bytes of sums, noise and view of a deployment at most: what has changed of them is written with every transaction.
MOST_STATE = 256 * 2**20
#: Views that noise is calibrated for at most: each takes 30 µs.
MOST_VIEWS = 100_000

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
#: What is said about decisions that wait for their rewards.
_REWARDS = ("closes_after", "closes_after_decisions", "default_reward")
_GROUPS = {
    "budget": ("epsilon", "delta", "rho", "alpha"),
    "bounds": ("action_norm", "reward_low", "reward_high", "parameter_norm", "noise_level"),
}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Settings of a deployment, checked and ready to be stored as JSON."""

    policy: dict[str, Any]  #: the configuration, as `to_dict` writes it
    closes_after: float = DAY  #: seconds after which a decision without a reward closes
    closes_after_decisions: int | None = None  #: or the number of decisions that follow it, whichever is first
    default_reward: float | None = None  #: what a decision earns that closes without a reward; None: a row of zeros
    actions: tuple[str, ...] | None = None  #: names of arms that share a context, the first ones; None: their numbers
    seed: int | None = None  #: for tests only: whoever knows it knows the noise

    def __post_init__(self) -> None:
        positive("closes_after", self.closes_after)
        if self.closes_after > LONGEST:
            raise BadInput(f"Expected closes_after of at most a year ({LONGEST:.0f} seconds), got more.")
        if self.closes_after_decisions is not None:
            whole("closes_after_decisions", self.closes_after_decisions, low=1)
        if self.default_reward is not None:
            real("default_reward", self.default_reward)
            if abs(self.default_reward) > LARGEST:
                raise BadInput("Expected default_reward to be within 1e100 of zero, got another.")
        if self.actions is not None:
            object.__setattr__(self, "actions", tuple(self.actions))
            if len(set(self.actions)) < len(self.actions):
                raise BadInput("Expected actions with names of their own, got the same name twice. Name each once.")
        if self.seed is not None:
            whole("seed", self.seed, low=0)

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Asked:
        return cls(**json.loads(text))

    def config(self) -> Policy:
        """The policy's configuration."""
        found: Policy = _kind(self.policy["policy"]).from_dict(self.policy)
        return found

    def names(self, config: Policy) -> dict[str, int] | None:
        """The actions of arms that share a context: the number of the arm of each name, in their order. None elsewhere,
        where actions come with each request or the policy has a list."""
        arms = config.arms_of_context
        if arms is None:
            return None
        names = self.actions or tuple(map(str, range(arms)))
        return {name: arm for arm, name in enumerate(names)}

    def plan(self, config: Policy) -> Plan:
        """What follows from it before anyone comes; refused where noise can only be simulated."""
        return config.planned("secure")


def draws_noise(config: Policy) -> bool:
    """Whether the service, and not a device, adds the noise of this policy."""
    return config.trust in (Trust.JOINT, Trust.CENTRAL)


def in_order(config: Policy) -> bool:
    """Whether rows must be learned in the order of their decisions (docs/decisions/0024-service.md)."""
    return not config.rows_may_come_late


def takes(config: Policy) -> Takes:
    """What people, or their devices, send."""
    found: dict[Trust, Takes] = {Trust.LOCAL: "reports", Trust.SHUFFLE: "batches"}
    return found.get(config.trust, "decisions")


def view_is_for_admins(config: Policy) -> bool:
    """Whether the view holds more than noised sums: contexts as they came, where the policy takes them for public, or
    everything, where it is not private."""
    return config.trust is Trust.NONE or (config.protects is Protects.REWARDS and config.fixed_actions is None)


def check_name(name: str) -> str:
    """A deployment's name, if it is one: it stands in addresses, logs and file names."""
    if not _NAME.fullmatch(name):
        raise BadInput(
            "Expected name to be 1 to 63 lower-case letters, digits and hyphens, beginning and ending with a letter or "
            "a digit, got something else."
        ).about("name")
    return name


def ask(
    policy: str,
    parameters: Mapping[str, Any],
    *,
    budget: Mapping[str, Any] | None = None,
    bounds: Mapping[str, Any] | None = None,
    person_rounds: int | None = None,
    **rest: Any,
) -> Asked:
    """Settings from what a request says. Budget, bounds and person limit may stand among the parameters or apart."""
    options = {name: value for name, value in parameters.items() if name != "policy"}
    if parameters.get("policy", policy) != policy:
        raise BadInput("Expected one policy, got another among the parameters. Leave it out there.").about("policy")
    groups = {"budget": budget or {}, "bounds": bounds or {}}
    for group, given in groups.items():
        for name, value in given.items():
            if name not in _GROUPS[group]:
                raise BadInput(f"Expected {group} with {', '.join(_GROUPS[group])}, got another name in it.")
            _put(options, name, value, group)
    if person_rounds is not None:
        _put(options, "person_rounds", person_rounds, "person_rounds")
    kind = _kind(policy)
    chosen = {name: value for name, value in rest.items() if value is not None}
    about: Iterable[str] = ("parameters",)
    try:
        config = kind.from_dict({"policy": kind.slug, **options})
        described = json.loads(json.dumps(config.to_dict(), allow_nan=False))
        if config.dim > MOST_FEATURES:
            raise BadInput(f"Expected at most {MOST_FEATURES:,} features, got more. Project actions first.")
        _refuse_arms(config)
        if config.views is not None and config.views > MOST_VIEWS:
            raise BadInput(f"Expected views to be at most {MOST_VIEWS:,}, got more. Leave it out, or give a horizon.")
        about = chosen
        _refuse_rewards(config, chosen)
        _refuse_actions(config, chosen.get("actions"))
        return Asked(policy=described, **chosen)
    except BadInput as problem:
        text = str(problem)
        field = next((name for name in about if name == "parameters" or name in text), "parameters")
        raise _discreet(problem, {**options, **chosen}).about(field) from None
    except (TypeError, AttributeError, ArithmeticError, ValueError):  # a list for a number, a number without end
        raise BadInput(
            f"Expected the options of {kind.slug} with values of their kinds, got {_got(kind, options)}. "
            f"`tacit policies {kind.slug}` lists them."
        ).about("parameters") from None


def _refuse_arms(config: Policy) -> None:
    """Before anything is made of them: more arms than a request may name, or than there is room for."""
    arms = config.arms_of_context
    if arms is None:
        return
    if config.shared is not None:
        raise BadInput(
            "Expected no `shared` over HTTP, got it: requests have one context, and no features of actions. Put what "
            "is known of an action into vectors of features, and leave arms out."
        )
    if arms > MOST_ARMS:
        raise BadInput(f"Expected at most {MOST_ARMS:,} arms, got more. Offer them as vectors: leave arms out.")
    if 8 * arms * config.dim * (config.dim + 1) // 2 > MOST_STATE:
        raise _too_large()


def _refuse_actions(config: Policy, actions: Sequence[str] | None) -> None:
    """Names are of arms that share a context, and not of more than there are."""
    if actions is None:
        return
    arms = config.arms_of_context
    if arms is None:
        raise BadInput(
            f"Expected no actions for {config.slug} without arms, got names: requests bring their own actions, or the "
            "policy has a list. Leave them out, or give arms."
        )
    if not 1 <= len(actions) <= arms:
        raise BadInput(f"Expected names of 1 to {arms} actions, as many as there are arms at most, got {len(actions)}.")


def _too_large() -> BadInput:
    return BadInput(
        f"Expected a deployment of at most {MOST_STATE // 2**20:,} MB, got sums and noise that are larger. Project "
        "actions to fewer features first."
    )


def _refuse_rewards(config: Policy, chosen: Mapping[str, Any]) -> None:
    """What is said about waiting for rewards means nothing where nobody asks for decisions."""
    given = [name for name in _REWARDS if name in chosen]
    if given and takes(config) != "decisions":
        raise BadInput(
            f"Expected no {' and no '.join(given)} for {config.slug}, got one: people decide on their own devices, and "
            "no decision waits for a reward. Leave it out."
        )


def _got(kind: Any, options: Mapping[str, Any]) -> str:
    """What is wrong with options that no policy can be made of: the names of those that are missing, if any are."""
    missing = [
        one.name
        for one in fields(kind)
        if one.init and one.default is MISSING and one.default_factory is MISSING and one.name not in options
    ]
    return f"no {' and no '.join(missing)}" if missing else "others"


def plan_of(asked: Asked) -> Plan:
    """The plan of settings that are new: what none can be made of, or none that can be served, is refused."""
    try:
        config = asked.config()
        plan = asked.plan(config)
        _check_size(config, plan)
        _check_view(config, plan)
        return plan
    except NoSecureSampler:
        raise
    except (BadInput, PrivacyRefusal) as problem:
        raise _discreet(problem, asked.policy) from None
    except TacitError:
        raise
    except (MemoryError, ArithmeticError, ValueError, TypeError, AttributeError):
        raise BadInput(
            "Expected numbers that noise can be calibrated for, got some that are too large or too small, or none."
        ) from None


def _check_size(config: Policy, plan: Plan) -> None:
    size = sum(
        leaf.nbytes for part in (plan.vault(), plan.view(), plan.view()) for leaf in leaves("part", part).values()
    )
    if size > MOST_STATE:
        raise _too_large()
    if takes(config) == "batches" and batch_length(sealing(config)) > MOST_BATCH:
        raise BadInput(f"Expected batches of at most {MOST_BATCH // 2**20:,} MB, got larger ones. Use a smaller batch.")


def _check_view(config: Policy, plan: Plan) -> None:
    """What is published must be numbers that a message can carry, from the first view on."""
    view = plan.view()
    if takes(config) != "decisions":
        try:
            contract_of(config).view_message(0, view)
        except BadMessage:
            raise FloatingPointError from None
    elif not all(np.all(np.isfinite(leaf)) for leaf in leaves("view", view).values()):
        raise FloatingPointError


def _discreet(problem: BadInput | PrivacyRefusal, options: Mapping[str, Any]) -> BadInput | PrivacyRefusal:
    """The same refusal without what was sent: from Python it helps to see the value, in logs of others it does not."""
    text = str(problem)
    for name, value in options.items():
        text = text.replace(f"{name}={value!r}", f"another {name}").replace(f" {name!r}.", " of that name.")
    if isinstance(problem, PrivacyRefusal) and any(letter.isdigit() for letter in text):
        return type(problem)("Expected a promise that noise can be calibrated for, got one that none is known for.")
    expected, got, found = text.partition(", got ")
    if got and any(letter.isdigit() for letter in found):
        text = f"{expected}, got something else."
    return type(problem)(text)


def _put(options: dict[str, Any], name: str, value: Any, group: str) -> None:
    if name in options and options[name] != value:
        raise BadInput(f"Expected {name} once, got it among the parameters and in {group}, with different values.")
    options[name] = value


def _kind(slug: str) -> Any:
    try:
        found = policy_of(slug)
    except UnknownName as problem:
        raise _discreet(problem, {slug: None}) from None
    if issubclass(found, FunctionPolicy):
        raise BadInput(
            f"Expected a policy that chooses among actions, got {slug}, which learns a function of a continuous "
            "action. Use it from Python: its release_function() may be asked, stored and shared without a service."
        )
    return found


def planned(plan: Plan) -> str:
    """What a later start must find again: the priced event and every whole number of the plan."""
    return json.dumps({"event": plan.event.to_dict(), "clock": clock_of(plan), "tacit": __version__})


def not_as_planned(plan: Plan, stored: str, name: str) -> str | None:
    """Why a deployment may not go on, if this plan has other noise, or another clock, than was charged."""
    before = json.loads(stored)
    if same(json.loads(json.dumps(plan.event.to_dict())), before["event"]) and clock_of(plan) == before["clock"]:
        return None
    return (
        f"Expected the noise that was charged for the deployment {name}, got another plan from this version of tacit "
        f"({__version__}). Serve it with version {before['tacit']}, or delete the deployment."
    )
