"""A world small enough for every value in it to be known: four contexts, three arms, rewards of 0 or 1."""

from __future__ import annotations

import math

import numpy as np

from tacit.features import per_arm
from tacit.replaying import Log
from tacit.replaying.choosing import Chooser
from tacit.replaying.fixed import Judged
from tacit.replaying.teaching import started, teach

ARMS = 3
SIGNS = np.array([[0.7, 0.7], [0.7, -0.7], [-0.7, 0.7], [-0.7, -0.7]])
#: With a constant last, as a log that was read from a file has it.
CONTEXTS = np.column_stack([SIGNS, np.ones(4)]) / math.sqrt(2)
#: Linear in the contexts, by context and arm.
MEANS = np.array([0.3, 0.5, 0.45]) + SIGNS @ np.array([[0.3, 0.0, 0.0], [0.0, -0.4, 0.0]])
#: How a logging policy that is not uniform chooses, by context: rarely well where much is to be had.
LEANING = np.array([[0.6, 0.3, 0.1], [0.6, 0.1, 0.3], [0.1, 0.3, 0.6], [0.5, 0.1, 0.4]])
#: The best arm of each context.
BEST = MEANS.argmax(axis=1)


def write(rows, seed, leaning=False):
    """A log, and the context number of each row."""
    rng = np.random.default_rng(seed)
    shown = rng.integers(0, len(CONTEXTS), rows)
    law = LEANING if leaning else np.full_like(LEANING, 1 / ARMS)
    taken = (rng.random(rows)[:, None] > law.cumsum(axis=1)[shown][:, :-1]).sum(axis=1)
    paid = (rng.random(rows) < MEANS[shown, taken]).astype(float)
    log = Log(actions=taken, rewards=paid, propensities=law[shown, taken], contexts=CONTEXTS[shown], arms=ARMS)
    return log, shown


def best_of(log, shown):
    """The policy that always takes the best arm, judged on a log. Its value is `MEANS.max(axis=1).mean()`."""
    return Judged(log, BEST[shown], learned=0, views=1)


#: What each of the four contexts is offered.
OFFERS = per_arm(CONTEXTS, ARMS)


def value_of(chooser, view):
    """What a policy earns at a view, exactly: of each context it is asked once."""
    return MEANS[np.arange(len(OFFERS)), chooser.choose_of(view, OFFERS)].mean()


def value_of_run(config, log, run, seed, number=0):
    """The mean of what the policy was expected to earn in the rounds that counted: its learner is taught them again."""
    learner, chooser = started(config, seed, number), Chooser(config, log, seed, number)
    values = []
    for row in run.rows.tolist():
        values.append(value_of(chooser, learner.view))
        arm = int(log.actions[row])
        x = log.taken(np.array([row]), np.array([arm]))[0]
        teach(learner, log, row, x)
    return float(np.mean(values))
