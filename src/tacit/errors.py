"""Everything tacit raises on purpose.

    TacitError
    ├── BadInput (ValueError)       an argument is not what was expected; nothing was changed
    │   ├── UnknownName             no policy, environment or option of that name (the nearest names are offered)
    │   ├── OutOfBounds             strict mode: an action or reward lies outside the declared bounds
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
    │   └── BatchNotFull            a shuffler was asked for a batch too small to hide anybody in
    └── Interrupted                 stopped by hand before anything had finished

Every message says what was expected, what came, and what to do.
"""


class TacitError(Exception):
    """The root of the tree: catch this to catch everything tacit raises on purpose."""


class BadInput(TacitError, ValueError):
    """An argument is not what was expected. The state is untouched."""


class UnknownName(BadInput):
    """No policy, environment or option of that name."""


class OutOfBounds(BadInput):
    """An action or a reward lies outside the declared bounds, and `strict=True` asked to refuse it."""


class UnknownDecision(BadInput):
    """This learner never made a decision of that id."""


class AlreadyClosed(BadInput):
    """The decision has had its reward, or has expired: the first one counted."""


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
    """This learner went on in a checkpoint, and would release the same sums a second time."""


class CheckpointSpent(PrivacyRefusal):
    """A checkpoint has been resumed before: a second time is a fork, which has a price."""


class LimitReached(PrivacyRefusal):
    """The device has made all the reports its guarantee is priced for."""


class BatchNotFull(PrivacyRefusal):
    """A batch that is not full hides nobody well enough."""


class Interrupted(TacitError):
    """Stopped by hand before anything had finished."""
