"""What every deployment has, whatever it takes: settings, plan, secret, card, and a place in the store."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import replace

from tacit.core.plan import Plan
from tacit.core.policy import Policy
from tacit.errors import DeploymentFailed, StoreUnavailable, UnknownDeployment
from tacit.privacy.card import Card
from tacit.privacy.guarantee import Guarantee
from tacit.service import chain, settings
from tacit.service.logs import place_of
from tacit.service.sealing import Sealer, Secret
from tacit.service.store import Deployment, Store

_log = logging.getLogger("tacit.service")

#: An exclusion on the card of whatever draws its noise here.
UNSEEN_RESTORE = (
    "A restore that rolls back the store together with its witness: nobody can see it, and what was released since "
    "would be released again."
)


def new_row(name: str, asked: settings.Asked, master: bytes | None, uid: str, now: float) -> Deployment:
    """The row of a new deployment. Nothing is written."""
    plan = asked.plan(asked.config())
    sealer, secret = Sealer(master, uid), Secret.new()
    return Deployment(
        uid=uid,
        name=name,
        settings=asked.to_json(),
        planned=settings.planned(plan),
        secret=sealer.seal(b"secret", secret.root),
        state="serving",
        created=now,
        made=0,
        version=0,
        copies=1,
        starts=secret.written,
    )


def add(store: Store, row: Deployment, found: Standing) -> None:
    """Write a new deployment down, charged in the ledger as a whole before anybody comes."""
    store.add_deployment(row)
    guarantee = found.plan.guarantee
    charge = {
        "name": found.name,
        "policy": found.config.slug,
        "event": found.plan.event.to_dict(),
        "epsilon": finite_epsilon(guarantee),
        "delta": guarantee.delta if guarantee.private else None,
    }
    chain.append(store, row.uid, "charged", charge, row.created)


def finite_epsilon(guarantee: Guarantee) -> float | None:
    """ε where the guarantee is read; None without privacy."""
    return guarantee.epsilon if guarantee.private else None


class Standing:
    """A deployment in memory. Its books are in the store; what it changes it writes by `save`, in one transaction."""

    def __init__(self, store: Store, row: Deployment, sealer: Sealer, *, shared: bool) -> None:
        self.store = store
        self.uid, self.name, self.created = row.uid, row.name, row.created
        self.shared = shared  #: other processes serve it too
        self.asked = settings.Asked.from_json(row.settings)
        self.config: Policy = self.asked.config()
        self.settle(row.settings)
        self.plan: Plan = self.asked.plan(self.config)
        #: why it may not go on, whatever anybody does
        self.barred = settings.not_as_planned(self.plan, row.planned, row.name)
        self.takes = settings.takes(self.config)
        self.sealer = sealer
        self.secret = Secret.read(sealer.open(b"secret", row.secret), row.starts)
        self.in_order = settings.in_order(self.config)
        self.state, self.made, self.copies, self.version = row.state, row.made, row.copies, row.version
        self.released_at = row.created
        self._tag = ("", "")  # the text that was published last, and its name
        self.raised = False  #: it has raised what nobody expected
        self.unread = False  #: what is in memory is not what the store holds, and must not be written there

    def settle(self, written: str) -> None:
        """What may change of the settings while it is served: the names of arms that share a context."""
        self.asked = settings.Asked.from_json(written)
        self.actions = self.asked.names(self.config)  #: the arm of each name; None where actions are not named
        self.settings_length = len(written)

    def follow_settings(self) -> None:
        """The names as they are in the store: another process may have given more."""
        row = self.store.deployment(self.uid)
        if row is not None:
            self.settle(row.settings)

    # What the engine calls ----------------------------------------------------------------------------------------

    def load(self) -> None:
        """Everything anew from the store: after a start, or after a transaction that failed."""
        self.unread = True
        self.read()
        self.unread = False

    def read(self) -> None:
        """What `load` does for this kind of deployment."""
        raise TypeError

    def try_to_load(self) -> None:
        """Load it; if it cannot be read it stands still, and nobody else does."""
        try:
            self.load()
        except StoreUnavailable:
            raise
        except Exception as problem:
            self.stand_still(problem)

    def stand_still(self, problem: BaseException) -> None:
        """Be asked nothing more, having raised what nobody expected."""
        _log.error({"deployment failed": self.name, "what": type(problem).__name__, "where": place_of(problem)})
        self.raised = True

    def try_again(self) -> None:
        """Stand still no more, if what the store holds can be read: in memory it may be half of that, or nothing."""
        if self.raised:
            self.load()
            self.raised = False

    def save(self, now: float) -> None:
        """Write what has changed."""
        raise TypeError

    def warm(self) -> None:
        """Find or compile the machine code before anybody waits for it."""

    def committed(self) -> None:
        """What was written is durable: from now on it may be read."""

    @property
    def touched(self) -> bool:
        """Whether there is something to save."""
        return False

    @property
    def failed(self) -> bool:
        """Whether it stands still."""
        return self.raised or self.barred is not None

    def check_there(self) -> None:
        """Refuse whatever waited behind the deletion: what it would write down nobody would ever read."""
        if self.state == "deleted":
            raise UnknownDeployment("Expected the name of a deployment, got one that was deleted meanwhile.")
        if self.failed:
            raise DeploymentFailed(f"{self.trouble} Nothing was changed.")

    def check_read(self) -> None:
        """Refuse to show what was not read from the store."""
        if self.unread and self.raised:  # else it is being read at this moment, and what is shown is what was there
            raise DeploymentFailed(f"{self.trouble} Nothing was changed.")

    @property
    def trouble(self) -> str | None:
        """Why it stands still, if it does."""
        if self.barred is not None or not self.raised:
            return self.barred
        return (
            f"Expected a deployment that works, got {self.name}, which failed at something it has learned or was "
            "asked: the log says where. Resume it to try once more, or delete it."
        )

    # What it is ---------------------------------------------------------------------------------------------------

    @property
    def dim(self) -> int:
        return self.config.dim

    @property
    def clock(self) -> int:
        """Ticks of the clock of releases: decisions, reports or batches."""
        return self.made

    @property
    def releases(self) -> int:
        """Views released."""
        return max(0, self.version - 1)

    @property
    def limit(self) -> int | None:
        """Ticks of that clock after which nothing is learned; None: no end."""
        return self.plan.limit

    @property
    def learning(self) -> bool:
        return self.limit is None or self.clock < self.limit

    @property
    def rounds_left(self) -> int | None:
        """Ticks that are still learned from; None: no end."""
        return None if self.limit is None else max(0, self.limit - self.clock)

    @property
    def why_not(self) -> str | None:
        """Why nothing is learned any more, if so."""
        if self.learning:
            return None
        return (
            f"The horizon of {self.plan.limit:,} rounds is spent: decisions go on from the last view, and nothing more "
            "is learned."
        )

    @property
    def guarantee(self) -> Guarantee:
        """What is promised, with all copies that the ledger knows of."""
        found = self.plan.guarantee_for(self.copies)
        return found.with_seed() if self.asked.seed is not None else found

    def card(self) -> Card:
        """What a privacy officer reads: the policy's card, and what the service adds to it."""
        card = self.config.card(seeded=self.asked.seed is not None, copies=self.copies, sampler="secure")
        return replace(card, notes=(*card.notes, *self.notes()), excluded=(*card.excluded, *self.excluded()))

    def notes(self) -> tuple[str, ...]:
        """What the service adds to the card."""
        return ()

    def excluded(self) -> tuple[str, ...]:
        """What of the service the guarantee says nothing about."""
        return ()

    @property
    def sampler(self) -> str:
        """How the service draws noise: "secure", or "none" where it draws none."""
        return "secure" if settings.draws_noise(self.config) else "none"

    def view_text(self) -> str:
        """The published view as JSON."""
        raise TypeError

    def view_tag(self, text: str) -> str:
        """A name for what was published: of its text, since numbers come again after a restore. Worked out once."""
        if self._tag[0] is not text:
            self._tag = (text, hashlib.sha256(text.encode()).hexdigest()[:32])
        return self._tag[1]
