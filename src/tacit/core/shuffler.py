"""The program between devices and server: it mixes a batch, takes away who sent what, and passes on nothing less.

What it passes on depends on what makes the batch private.

*Reports that are noised each by itself* ("xy", "gram") leave as a list in an order drawn uniformly from the operating
system. That nobody can tell which of the n is whose is what amplifies the noise each of them has.

*Counts* hide only in sums. A device rounds each coordinate to whole steps and adds a few random ones, far too few
to hide anything alone; hidden is a coordinate's total, among the ones of all devices. The protocol's shuffler therefore
mixes single ones, coordinate by coordinate, of everybody, and all that a mixed heap of ones tells is how many there
are. A list of whole vectors, in whatever order, would be another protocol: each vector shows its person's coordinates
side by side under almost no noise. So only the totals leave, which is what the price was worked out for.
"""

from __future__ import annotations

from random import SystemRandom
from threading import Lock
from typing import Any, NoReturn

from tacit._validate import whole
from tacit.core.contract import contract_of
from tacit.core.policy import Policy
from tacit.errors import BadInput, BadMessage, BatchNotFull, RepeatedReport, StaleReport, VaultSealed


class Shuffler:
    """Collects the reports of one batch, all made under one view, and passes them on mixed and without their senders.

    A batch that is not full is never passed on: the guarantee counts on everybody in it. Of past batches nothing is
    kept, since a report names the stage of its view and only those of the current stage are taken.

    Made by `config.shuffler()`. Safe to call from several threads. It holds people's reports one by one: it cannot be
    pickled, copied or printed with its contents, and must not run where the server's operator can look.
    """

    def __init__(self, config: Policy, *, stage: int) -> None:
        self._contract = contract = contract_of(config)
        if contract.report.batch is None:
            raise BadInput(
                f"Expected a policy with batches, got {config.slug}, whose reports are private one by one: give them "
                "to config.server() as they come."
            )
        self._batch = contract.report.batch
        self._stage = whole("stage", stage, low=0)
        self._random = SystemRandom()
        self._lock = Lock()
        self._begin()

    def _begin(self) -> None:
        self._ids: set[bytes] = set()
        self._rows: list[list[float]] = []
        self._ones = [0] * self._contract.report.size

    @property
    def stage(self) -> int:
        """Which batch is being filled: the reports in it are made under the view of this stage."""
        return self._stage

    @property
    def ready(self) -> bool:
        """Whether the batch is full."""
        return len(self._ids) == self._batch

    def add(self, report: dict[str, Any] | str | bytes) -> None:
        """Put a report into the batch. One that is refused, for whatever reason, changes nothing."""
        found = self._read(report)
        with self._lock:
            if found.stage > self._stage:
                raise BadMessage(
                    f"Expected a report made under the view of stage {self._stage:,}, got one of stage "
                    f"{found.stage:,}, which is not there yet. Nothing was changed; is there another shuffler?"
                )
            if found.stage < self._stage:
                raise StaleReport(
                    f"Expected a report made under the view of stage {self._stage:,}, got one of stage "
                    f"{found.stage:,}, whose batch has left. Nothing was changed; see the new view first."
                )
            if self._repeated(found):
                raise RepeatedReport(
                    "Expected a report that is not in this batch, got one that is. Nothing was changed; the first one "
                    "counted."
                )
            if self.ready:
                raise BadInput(
                    f"Expected to be asked for the batch, which is full with {self._batch:,} reports, got another "
                    "report. Nothing was changed; take the batch first."
                )
            self._ids.add(found.identity)
            self._put(found)

    def batch(self) -> dict[str, Any]:
        """The full batch, mixed and without its senders, for `server.receive_batch`; then the next one begins.

        Formal guarantee: what it returns has the same law in whichever order the reports came. It holds no id, and
        nothing of a report but its numbers.
        """
        with self._lock:
            if not self.ready:
                raise BatchNotFull(
                    f"Expected a batch of {self._batch:,} reports, got {len(self._ids):,} so far. It stays here until "
                    "it is full: a smaller one would hide nobody as well as was promised."
                )
            message = self._message()
            self._stage += 1
            self._begin()
            return message

    # What a report is: another kind of shuffler reads and keeps others, by the same rules.

    def _read(self, report: object) -> Any:
        return self._contract.read_report(report)

    def _repeated(self, found: Any) -> bool:
        return found.identity in self._ids

    def _put(self, found: Any) -> None:
        if self._contract.whole:
            self._ones = [total + int(count) for total, count in zip(self._ones, found.values, strict=True)]
        else:
            self._rows.append(found.values.tolist())

    def _message(self) -> dict[str, Any]:
        self._random.shuffle(self._rows)
        if self._contract.whole:
            return self._contract.batch_message(self._stage, None, self._ones)
        return self._contract.batch_message(self._stage, self._rows, None)

    def __repr__(self) -> str:
        return f"<Shuffler of {self._contract.config!r}: stage {self._stage:,}>"

    def __reduce__(self) -> NoReturn:
        raise VaultSealed(
            "A shuffler cannot be pickled or copied: it holds people's reports one by one. Make a new one with "
            "config.shuffler(stage=server.stage)."
        )

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce__()
