"""Everything tacit raises on purpose.

    TacitError
    ├── BadInput (ValueError)       an argument is not what was expected; nothing was changed
    │   ├── UnknownName             no policy, environment or option of that name (the nearest names are offered)
    │   ├── NoSecureSampler         noise that can only be simulated, asked for without a seed
    │   ├── OutOfBounds             strict mode: an action lies outside the declared bounds
    │   ├── UnknownDeployment       the service has no deployment of that name
    │   ├── UnknownDecision         this learner never made a decision of that id
    │   ├── AlreadyClosed           the decision has had its reward, or has expired: the first one counted
    │   ├── BadCheckpoint           a file is no checkpoint, is damaged, or does not fit this version or this key
    │   └── BadMessage              a message between device, shuffler and server is not what was agreed
    │       ├── RepeatedReport      a report that has been taken already
    │       └── StaleReport         a report or batch made under a view too old to tell whether it is a repeat
    ├── PrivacyRefusal              going on would cost privacy that was not promised
    │   ├── HorizonSpent            every release the noise was calibrated for has been made
    │   ├── BudgetSpent             a release would cost more than is left of the budget
    │   ├── UnknownEvent            the accountant has no price for this event
    │   ├── VaultSealed             something tried to copy, pickle or print secret state
    │   ├── Moved                   this learner went on in a checkpoint
    │   ├── CheckpointSpent         a checkpoint has been resumed before: a second time is a fork, which has a price
    │   ├── LimitReached            the device has made all the reports its guarantee is priced for
    │   ├── BatchNotFull            a shuffler was asked for a batch too small to hide anybody in
    │   └── StoreRefused            a store was restored, copied, or sealed with another key: going on has a price
    ├── Paused                      the deployment is paused: it neither decides nor learns
    ├── DeploymentFailed            the deployment made a mistake nobody expected, and stands still
    ├── StoreUnavailable            the service's store cannot be reached or written; nothing was changed
    ├── ServiceError                a service answered with an error: its status, its code, its words
    │   ├── ServiceNotFound         no deployment, decision or page of that name (404)
    │   ├── ServiceGone             it was there and is closed: a decision that expired (410)
    │   ├── ServiceConflict         it does not go with what came before: another reward, an old view, a pause (409)
    │   ├── ServiceRefused          the service will not: a wrong key, a wrong request, a spent budget
    │   └── ServiceUnavailable      no answer, or not now: the same request may succeed later
    └── Interrupted                 stopped by hand before anything had finished

Every message says what was expected, what came, and what to do.
"""

from __future__ import annotations

from typing import Self


class TacitError(Exception):
    """The root of the tree: catch this to catch everything tacit raises on purpose."""

    field: str | None = None  #: the part of a request that it is about, where a service says so

    def about(self, field: str) -> Self:
        """The same error, about this part of a request."""
        self.field = field
        return self


class BadInput(TacitError, ValueError):
    """An argument is not what was expected. The state is untouched."""


class UnknownName(BadInput):
    """No policy, environment or option of that name."""


class OutOfBounds(BadInput):
    """An action that is offered lies outside the declared bounds, and `strict=True` asked to refuse it."""


class NoSecureSampler(BadInput):
    """Noise that can only be simulated was asked for where people are protected: no exact sampler of it is known."""


class UnknownDeployment(BadInput):
    """The service has no deployment of that name."""


class UnknownDecision(BadInput):
    """This learner never made a decision of that id."""


class AlreadyClosed(BadInput):
    """The decision has had its reward, or has expired: the first one counted. `gone`: closed without a reward."""

    def __init__(self, message: str, *, gone: bool = False) -> None:
        super().__init__(message)
        self.gone = gone


class BadCheckpoint(BadInput):
    """A file is no checkpoint, is damaged, or does not fit this version or this key. The file is untouched."""


class BadMessage(BadInput):
    """A message between device, shuffler and server is not what was agreed. Whoever got it is as before."""


class RepeatedReport(BadMessage):
    """This report has been taken already: the first one counted."""


class StaleReport(BadMessage):
    """A report or batch was made under a view too old to tell whether it is a repeat."""


class PrivacyRefusal(TacitError):
    """Going on would cost privacy that was not promised."""


class HorizonSpent(PrivacyRefusal):
    """Every release the noise was calibrated for has been made."""


class BudgetSpent(PrivacyRefusal):
    """A release would cost more than is left of the budget. Nothing was released, and nothing was spent."""


class UnknownEvent(PrivacyRefusal):
    """The accountant has no price for this event, so it gives none."""


class VaultSealed(PrivacyRefusal, TypeError):
    """Secret state may not be copied, pickled or printed."""


class Moved(PrivacyRefusal):
    """This learner went on in a checkpoint, or in the process it was forked from, and would release the same sums a
    second time."""


class CheckpointSpent(PrivacyRefusal):
    """A checkpoint has been resumed before: a second time is a fork, which has a price."""


class LimitReached(PrivacyRefusal):
    """The device has made all the reports its guarantee is priced for."""


class BatchNotFull(PrivacyRefusal):
    """A batch that is not full hides nobody well enough."""


class StoreRefused(PrivacyRefusal):
    """The service's store was restored, copied, changed, or sealed with another key."""


class Paused(TacitError):
    """The deployment is paused: it neither decides nor learns until it is resumed."""


class DeploymentFailed(TacitError):
    """A deployment made a mistake that it was not prepared for, and stands still so that the others can go on."""


class StoreUnavailable(TacitError):
    """The service's store cannot be reached or written. Nothing was changed."""


class ServiceError(TacitError):
    """A service answered with an error, or not at all.

    `status` is that of HTTP and None where there was no answer; `code` is one word that programs can tell errors apart
    by, `field` the part of the request that it is about, if any.
    """

    def __init__(
        self, message: str, *, status: int | None = None, code: str | None = None, field: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.field = field


class ServiceNotFound(ServiceError):
    """There is no deployment, decision or page of that name."""


class ServiceGone(ServiceError):
    """It was there and is closed: a decision that has expired."""


class ServiceConflict(ServiceError):
    """It does not go with what came before: another reward than the first, a report under an old view, a pause."""


class ServiceRefused(ServiceError):
    """The service will not do it: the key is wrong, the request is, or it would cost privacy that was not promised."""


class ServiceUnavailable(ServiceError):
    """There was no answer, or one that said to try later. The same request may succeed later."""


class Interrupted(TacitError):
    """Stopped by hand before anything had finished."""
