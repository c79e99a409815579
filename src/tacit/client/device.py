"""One person's own program, with a service at the other end: it chooses and adds noise here, and sends reports."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from tacit._validate import at_least
from tacit.client import calls
from tacit.client.clients import Client
from tacit.client.count import Count
from tacit.client.sending import Address, Sender
from tacit.core.contract import contract_of
from tacit.core.policy import Policy
from tacit.core.sealed_reports import check_sealing_key, seal_report
from tacit.errors import BadInput, BadMessage, HorizonSpent, ServiceError, ServiceUnavailable
from tacit.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    import httpx


class DeviceClient:
    """A device that reports to a service: it downloads views, chooses, and sends reports that are noised already.

        device = tacit.DeviceClient(config, "https://example.org", "news", made_file="made.json")
        arm = device.choose(actions)  # here, by the published view
        device.report(actions[arm], reward)  # clipped, noised, counted, and only then sent

    It is installed with `config` and takes neither bounds nor noise from the network. With the service it compares the
    fingerprint of the contract, and refuses one that means other noise.

    A device makes at most `limit` reports (default: as the configuration says). Their number outlives the program in
    `made_file`, which is on the disk *before* a report leaves: a crash in between costs a report, never a count.
    Without a file pass what was `made` before, and keep `device.made` yourself.

    Where a policy has a shuffler, reports are sealed to the server's key and sent to the `shuffler`'s address, without
    the `key`, which would say who is asking. `sealing_key` is best installed too. Without it the service is asked, and
    one that gave every device a key of its own could tell their reports apart.

    A report that could not be sent is kept in memory; `send_again` tries once more. Safe to use from several threads.
    """

    def __init__(
        self,
        config: Policy,
        url: str,
        deployment: str,
        *,
        key: str | None = None,
        limit: int | None = None,
        made: int = 0,
        made_file: str | Path | None = None,
        sealing_key: str | None = None,
        shuffler: str | None = None,
        refresh: float = 60.0,
        timeout: float = 10.0,
        retries: int = 3,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._contract = contract_of(config)
        calls.segment("deployment", deployment)
        self._deployment = deployment
        self._refresh = at_least("refresh", refresh, 0.0)
        batches = self._contract.report.batch is not None
        if batches and shuffler is None:
            raise BadInput(
                f"Expected the address of a shuffler, got none: {config.slug} protects people only in batches. Pass "
                "shuffler=…, where `tacit shuffle` listens."
            )
        if not batches and (shuffler is not None or sealing_key is not None):
            raise BadInput(
                f"Expected no shuffler and no sealing_key, got one: reports of {config.slug} are private one by one, "
                "and go to the service itself. Leave it out."
            )
        self._sealing_key = None if sealing_key is None else check_sealing_key(sealing_key)
        self._count = None if made_file is None else Count(Path(made_file), self._contract.fingerprint)
        if self._count is not None:
            if made:
                raise BadInput("Expected made or made_file, got both. The file says how many reports were made.")
            made = self._count.read()
        self._device = config.device(limit=limit, made=made)
        self._client = Client(url, key, timeout, retries=retries, transport=transport)
        self._shuffler = None if shuffler is None else Sender(Address(shuffler, None, timeout, retries), transport)
        self._agreed = False
        self._seen: float | None = None  # when the last view came
        self._stage = 0  # of that view
        self._spent: str | None = None  # why the service learns nothing more, if so
        self._unsent: list[dict[str, Any]] = []
        self._lock = Lock()

    @property
    def made(self) -> int:
        """How many reports it has made, those included that could not be sent."""
        return self._device.made

    @property
    def limit(self) -> int:
        """How many it makes at most."""
        return self._device.limit

    @property
    def unsent(self) -> int:
        """How many reports wait to be sent again."""
        return len(self._unsent)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to the person who holds this device, for all its reports together."""
        return self._device.guarantee

    def refresh(self) -> None:
        """Download the view, if it has changed."""
        self._agree()
        view = self._client.view(self._deployment)
        self._device.see(view)
        if view["stage"] < self._stage:  # restored, or another deployment of the same name, with another key
            self._agreed = False
            self._agree()
        self._stage = view["stage"]
        self._spent = self._contract.spent(self._stage)
        self._seen = time.monotonic()

    def choose(self, actions: ArrayLike, *allowed: ArrayLike) -> int:
        """The index of the action to take, of `actions` of shape (K, dim); where arms share a context, the number of
        the arm for that context, of those `allowed`. It stays on the device.

        The view is downloaded when the last one is older than `refresh` seconds. If the service cannot be reached the
        device goes on with the view it has; only the first one must come.
        """
        self._look()
        return self._device.choose(actions, *allowed)

    def report(self, x: ArrayLike, *earned: float) -> None:
        """Say, under noise, that the action `x` of shape (dim,) earned a reward: `report(x, reward)`; or, where arms
        share a context, `report(context, arm, reward)`.

        The report is counted first, in `made_file` too, and sent then. `ServiceUnavailable` means that it is kept for
        `send_again`, and so does a refusal with the code "paused". Any other `ServiceError` means that it was refused;
        it has left the device, and counts all the same. Raises `LimitReached` when all reports are made, and
        `HorizonSpent` when the service learns nothing more: then no report is made, and none counted.

        As in `choose`, an old view is renewed first: the newest one says which stage the service is at. Where there are
        batches that is asked in any case: a report for one that is full already would be made, and counted, in vain.
        """
        self._look(always=self._shuffler is not None)
        if self._spent is not None:
            raise HorizonSpent(
                "Expected a deployment that learns from reports, got one that no longer does. Nothing was reported or "
                f"counted; go on choosing. {self._spent}"
            )
        with self._lock:
            if self._count is None:
                message = self._device.report(x, *earned)
            else:
                with self._count.held(self._device.made):
                    message = self._device.report(x, *earned)
                    self._count.put(self._device.made)
            if self._shuffler is not None:
                message = seal_report(self._contract, message, self._sealing_key or "")
            self._unsent.append(message)
        self._send(message)

    def _look(self, *, always: bool = False) -> None:
        """Renew a view that is old, or whichever, if the service can be reached; only the first one must come."""
        if self._seen is None:
            self.refresh()
        elif always or time.monotonic() - self._seen >= self._refresh:
            try:
                self.refresh()
            except ServiceUnavailable:
                self._seen = time.monotonic()  # not asked again with every choice

    def send_again(self) -> int:
        """Send what could not be sent; how many reports that were. Raises as `report` does."""
        with self._lock:
            waiting = list(self._unsent)
        for message in waiting:
            self._send(message)
        return len(waiting)

    def _send(self, message: dict[str, Any]) -> None:
        try:
            if self._shuffler is None:
                self._client.report(self._deployment, message)
            else:
                self._shuffler.send(calls.sealed_report(message))
        except ServiceUnavailable:
            raise
        except ServiceError as problem:
            if problem.code == "paused":
                raise  # it is kept, and may be taken later
            if problem.code == "repeated_report":  # an answer was lost: it had arrived
                self._forget(message)
                return
            if problem.code == "horizon_spent":  # after the view was seen: the next report is not made for nothing
                self._spent = str(problem)
            self._forget(message)
            raise
        self._forget(message)

    def _forget(self, message: dict[str, Any]) -> None:
        with self._lock:
            if message in self._unsent:
                self._unsent.remove(message)

    def _agree(self) -> None:
        """Compare the contract with the service's, once."""
        if self._agreed:
            return
        found = self._client.contract(self._deployment)
        theirs = found.get("contract")
        if not isinstance(theirs, dict) or theirs.get("fingerprint") != self._contract.fingerprint:
            raise BadMessage(
                f"Expected a service under the contract {self._contract.fingerprint[:12]}…, got another. Nothing was "
                "sent; install the configuration that the service has, or ask another deployment."
            )
        if self._shuffler is not None:
            offered = found.get("sealing_key")
            if self._sealing_key is None:
                self._sealing_key = check_sealing_key(offered)
            elif offered is not None and offered != self._sealing_key:
                raise BadMessage(
                    "Expected the sealing key that this device was installed with, got another from the service, which "
                    "could not open its reports. Nothing was sent; install the key of this deployment."
                )
        self._agreed = True

    def close(self) -> None:
        """Close its connections."""
        self._client.close()
        if self._shuffler is not None:
            self._shuffler.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<DeviceClient of {self._contract.config!r}: at most {self.limit:,} reports>"
