"""One function, learned and released: what `kernel/predictions` shows as a map."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tacit._types import Floats
from tacit.environments.functions import ACTIONS, CONTEXTS, LUCK, drawn
from tacit.policies.usca import USCA
from tacit.policies.usca.learner import USCALearner
from tacit.reproduce.kernel.common import DELTA, SE, world

#: Contexts across the map, and how many of them a budget of draws is shared by.
_WIDE, _DRAWS = 121, 30


class Map(NamedTuple):
    """f, its private image, and actions chosen by each; actions go up, contexts across."""

    actions: Floats  # (K,)
    contexts: Floats  # (n,)
    truth: Floats  # (K, n)
    best: Floats  # (n,): the best action
    private: Floats  # (K, n)
    chosen: Floats  # (n,): by the private function
    asked: Floats  # (k,): contexts that draws were made for
    drawn: Floats  # (k,): what was drawn


@lru_cache(maxsize=4)
def mapped(horizon: int, epsilon: float, each: float, seed: int) -> Map:
    """Trial 0 of a run: a function released at ε, and thirty draws at `each`, both from the whole of one budget."""
    place = world(SE)
    truth = place.start(seed)
    actions = place.candidates[:, 0]
    contexts = np.linspace(0, 1, _WIDE)
    table = truth.table(contexts[:, None], place.candidates)
    function = _learned(USCA(epsilon=epsilon, delta=DELTA), horizon, seed).release_function()
    private = np.array([function.predict([context], place.candidates) for context in contexts])
    config = USCA(epsilon=epsilon, delta=DELTA)
    rule = config.in_world(**place.public(), horizon=horizon).regulariser * epsilon / each
    learner = _learned(USCA(epsilon=epsilon, delta=DELTA, tau=rule), horizon, seed)
    asked = (np.arange(_DRAWS) + 0.5) / _DRAWS
    taken = np.array([learner.predict_once([context], each)[0] for context in asked])
    return Map(
        actions,
        contexts,
        table.T,
        actions[table.argmax(axis=1)],
        private.T,
        actions[private.argmax(axis=1)],
        asked,
        taken,
    )


def draws() -> int:
    """How many draws the map shows."""
    return _DRAWS


def _learned(config: USCA, horizon: int, seed: int) -> USCALearner:
    place = world(SE)
    learner = config.in_world(**place.public(), horizon=horizon).start(seed=seed)
    contexts = place.sample_contexts(drawn(seed, 0, CONTEXTS), horizon)
    actions = place.action_box.uniform(drawn(seed, 0, ACTIONS), horizon)
    learner.learn_many(actions, place.start(seed).pay(actions, contexts, drawn(seed, 0, LUCK)), contexts)
    return learner
