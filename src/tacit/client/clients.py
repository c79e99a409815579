"""`tacit serve` from an application: decisions, rewards, deployments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tacit.client import calls
from tacit.client.calls import Choice, Views
from tacit.client.sending import Address, AsyncSender, Sender
from tacit.core.policy import Policy
from tacit.errors import ServiceError

if TYPE_CHECKING:
    import httpx

#: Where a service listens unless it is told otherwise.
URL = "http://127.0.0.1:8420"


class Client:
    """A service over HTTP.

        with tacit.Client("http://127.0.0.1:8420", key) as client:
            choice = client.decide("news", {"a": [0.1, 0.2], "b": [0.3, 0.1]}, person="somebody")
            client.reward("news", choice.decision, 1.0)

    What may safely be asked twice (reading, a decision, a reward, a report) is asked again after a failure, at most
    `retries` times, with pauses that grow. A decision is never made twice: it carries a key, yours or a random one, and
    the service answers a repeated key with the first decision. What cannot be had is a `ServiceError` with `status` and
    `code`; `ServiceUnavailable` if there was no answer.

    Nothing is logged. Safe to use from several threads. `transport` is one of httpx, for proxies and tests.
    """

    def __init__(
        self,
        url: str = URL,
        key: str | None = None,
        timeout: float = 10.0,
        *,
        retries: int = 3,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._address = Address(url, key, timeout, retries)
        self._sender = Sender(self._address, transport)
        self._views = Views()

    # Deployments ----------------------------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        policy: str | Policy,
        *,
        parameters: Mapping[str, Any] | None = None,
        budget: Mapping[str, float] | None = None,
        bounds: Mapping[str, float] | None = None,
        person_rounds: int | None = None,
        closes_after: float | None = None,
        closes_after_decisions: int | None = None,
        default_reward: float | None = None,
        actions: Sequence[str] | None = None,
        seed: int | None = None,
    ) -> dict[str, Any]:
        """A new deployment of a policy, by its name and parameters or by a configuration such as `tacit.JointLinUCB`.

        With arms that share a context `actions` are the names of those that are there ("0", "1" and so on unless told);
        `add_action` names more of them. What is left out is the service's to say; `seed` is for tests, and refused by a
        service that is not for them. Not sent again after a failure: ask `deployment(name)` whether it is there.
        """
        return self._sender.send(calls.create(name, policy, _options(locals())))

    def deployments(self) -> list[dict[str, Any]]:
        """All deployments."""
        return self._sender.send(calls.deployments())

    def deployment(self, deployment: str) -> dict[str, Any]:
        """One of them: what it was asked to be, and how it stands."""
        return self._sender.send(calls.about(deployment))

    def card(self, deployment: str) -> dict[str, Any]:
        """{"text", "card"}: its privacy card, to read and as the JSON that `tacit privacy` writes."""
        return self._sender.send(calls.about(deployment, "card"))

    def ledger(self, deployment: str, *, after: int = 0) -> dict[str, Any]:
        """What it has spent, entry by entry: {"entries", "head", "next"}. There are more entries where `next` is not
        None: ask again `after` it."""
        return self._sender.send(calls.ledger(deployment, after))

    def pause(self, deployment: str) -> dict[str, Any]:
        """Neither decide nor learn until it is resumed."""
        return self._sender.send(calls.act(deployment, "pause"))

    def resume(self, deployment: str) -> dict[str, Any]:
        """Go on."""
        return self._sender.send(calls.act(deployment, "resume"))

    def delete(self, deployment: str) -> None:
        """End it, and forget what it knows. Its ledger stays."""
        self._sender.send(calls.delete(deployment))

    def add_action(self, deployment: str, action: str) -> dict[str, Any]:
        """Name the first arm without a name, of a deployment whose arms share a context: it is offered from now on. It
        costs no privacy; a name that is there already stays what it is."""
        return self._sender.send(calls.add_action(deployment, action))

    def erase_person(self, deployment: str, person: str) -> dict[str, Any]:
        """Forget a person's open decisions. What was learned stays, in noised sums, and so does a hashed count."""
        return self._sender.send(calls.erase_person(deployment, person))

    # Decisions and rewards ------------------------------------------------------------------------------------------

    def decide(
        self,
        deployment: str,
        actions: Any = None,
        *,
        context: Any = None,
        person: str | None = None,
        key: str | None = None,
    ) -> Choice:
        """One of the actions, and the id under which its reward is to be reported.

        `actions`: a mapping of ids to features, a list of {"id", "features"}, an array of shape (K, dim), whose ids are
        "0", "1" and so on, or nothing for a policy over a fixed list. Where arms share a context give `context`, and as
        `actions` the names of those that are there: all unless told. The same `key` again is the same decision.
        """
        return self._sender.send(calls.decide(deployment, actions, context, person, key))

    def decide_many(self, deployment: str, asked: Iterable[Any]) -> list[Choice | ServiceError]:
        """Several decisions in one request, each asked for by its actions, or by {"actions", "context", "person",
        "key"} or some of these. One that is refused has its error in its place."""
        return self._sender.send(calls.decide_many(deployment, asked))

    def reward(self, deployment: str, decision: str, value: float) -> dict[str, Any]:
        """What came of a decision. The first reward counts; the same one again is no error."""
        return self._sender.send(calls.reward(deployment, decision, value))

    def reward_many(self, deployment: str, rewards: Mapping[str, float]) -> list[dict[str, Any]]:
        """Rewards by the ids of their decisions: for each {"decision", "closed"} or {"decision", "error"}."""
        return self._sender.send(calls.reward_many(deployment, rewards))

    # Devices and shufflers ------------------------------------------------------------------------------------------

    def view(self, deployment: str) -> dict[str, Any]:
        """What has been released, as devices `see` it. Downloaded only if it has changed."""
        return self._views.take(deployment, self._sender.send(calls.view(deployment, self._views.tag(deployment))))

    def contract(self, deployment: str) -> dict[str, Any]:
        """{"contract", "sealing_key"}: to compare with what a device was installed with, never to install it from."""
        return self._sender.send(calls.about(deployment, "contract"))

    def report(self, deployment: str, message: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
        """A device's report. It has an id: sent twice it counts once."""
        return self._sender.send(calls.report(deployment, message))

    def batch(self, deployment: str, message: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
        """A shuffler's batch, sealed. A stage has one batch."""
        return self._sender.send(calls.batch(deployment, message))

    # ----------------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close its connections."""
        self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of {self._address.url}>"


class AsyncClient:
    """`Client` for an event loop: the same methods, to be awaited.

    async with tacit.AsyncClient("http://127.0.0.1:8420", key) as client:
        choice = await client.decide("news", actions)
    """

    def __init__(
        self,
        url: str = URL,
        key: str | None = None,
        timeout: float = 10.0,
        *,
        retries: int = 3,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._address = Address(url, key, timeout, retries)
        self._sender = AsyncSender(self._address, transport)
        self._views = Views()

    # Deployments ----------------------------------------------------------------------------------------------------

    async def create(
        self,
        name: str,
        policy: str | Policy,
        *,
        parameters: Mapping[str, Any] | None = None,
        budget: Mapping[str, float] | None = None,
        bounds: Mapping[str, float] | None = None,
        person_rounds: int | None = None,
        closes_after: float | None = None,
        closes_after_decisions: int | None = None,
        default_reward: float | None = None,
        actions: Sequence[str] | None = None,
        seed: int | None = None,
    ) -> dict[str, Any]:
        """A new deployment: see `Client.create`."""
        return await self._sender.send(calls.create(name, policy, _options(locals())))

    async def deployments(self) -> list[dict[str, Any]]:
        """All deployments."""
        return await self._sender.send(calls.deployments())

    async def deployment(self, deployment: str) -> dict[str, Any]:
        """One of them."""
        return await self._sender.send(calls.about(deployment))

    async def card(self, deployment: str) -> dict[str, Any]:
        """Its privacy card."""
        return await self._sender.send(calls.about(deployment, "card"))

    async def ledger(self, deployment: str, *, after: int = 0) -> dict[str, Any]:
        """What it has spent, entry by entry: {"entries", "head", "next"}. There are more entries where `next` is not
        None: ask again `after` it."""
        return await self._sender.send(calls.ledger(deployment, after))

    async def pause(self, deployment: str) -> dict[str, Any]:
        """Neither decide nor learn until it is resumed."""
        return await self._sender.send(calls.act(deployment, "pause"))

    async def resume(self, deployment: str) -> dict[str, Any]:
        """Go on."""
        return await self._sender.send(calls.act(deployment, "resume"))

    async def delete(self, deployment: str) -> None:
        """End it, and forget what it knows."""
        await self._sender.send(calls.delete(deployment))

    async def add_action(self, deployment: str, action: str) -> dict[str, Any]:
        """Name one more of the arms that share a context: see `Client.add_action`."""
        return await self._sender.send(calls.add_action(deployment, action))

    async def erase_person(self, deployment: str, person: str) -> dict[str, Any]:
        """Forget a person: see `Client.erase_person`."""
        return await self._sender.send(calls.erase_person(deployment, person))

    # Decisions and rewards ------------------------------------------------------------------------------------------

    async def decide(
        self,
        deployment: str,
        actions: Any = None,
        *,
        context: Any = None,
        person: str | None = None,
        key: str | None = None,
    ) -> Choice:
        """One of the actions: see `Client.decide`."""
        return await self._sender.send(calls.decide(deployment, actions, context, person, key))

    async def decide_many(self, deployment: str, asked: Iterable[Any]) -> list[Choice | ServiceError]:
        """Several decisions in one request: see `Client.decide_many`."""
        return await self._sender.send(calls.decide_many(deployment, asked))

    async def reward(self, deployment: str, decision: str, value: float) -> dict[str, Any]:
        """What came of a decision."""
        return await self._sender.send(calls.reward(deployment, decision, value))

    async def reward_many(self, deployment: str, rewards: Mapping[str, float]) -> list[dict[str, Any]]:
        """Rewards by the ids of their decisions: see `Client.reward_many`."""
        return await self._sender.send(calls.reward_many(deployment, rewards))

    # Devices and shufflers ------------------------------------------------------------------------------------------

    async def view(self, deployment: str) -> dict[str, Any]:
        """What has been released. Downloaded only if it has changed."""
        answer = await self._sender.send(calls.view(deployment, self._views.tag(deployment)))
        return self._views.take(deployment, answer)

    async def contract(self, deployment: str) -> dict[str, Any]:
        """{"contract", "sealing_key"}: to compare with what a device was installed with."""
        return await self._sender.send(calls.about(deployment, "contract"))

    async def report(self, deployment: str, message: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
        """A device's report. It has an id: sent twice it counts once."""
        return await self._sender.send(calls.report(deployment, message))

    async def batch(self, deployment: str, message: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
        """A shuffler's batch, sealed. A stage has one batch."""
        return await self._sender.send(calls.batch(deployment, message))

    # ----------------------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close its connections."""
        await self._sender.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<AsyncClient of {self._address.url}>"


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `create` that travel under their own names."""
    return {name: value for name, value in given.items() if name not in ("self", "name", "policy")}
