"""What would a policy have earned, asked of a log that another policy wrote.

A log holds, for every round, the context, the action that was taken, the probability with which it was taken, and the
reward. `replay` runs a learner over it by rejection, and judges what it has learned from the first half on the second:
by inverse propensities, self-normalised, and doubly robust. See docs/how-to/evaluate-on-a-log.md.

Everything here is computed from raw data. It is not private, and no ε of a policy covers it.
"""

from __future__ import annotations

from tacit.data import NOT_PRIVATE
from tacit.replaying.estimate import Estimate
from tacit.replaying.log import Log
from tacit.replaying.reading import read_log
from tacit.replaying.result import Evaluation
from tacit.replaying.run import replay

__all__ = ["NOT_PRIVATE", "Estimate", "Evaluation", "Log", "read_log", "replay"]
