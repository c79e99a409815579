"""The compiled loop: the same verbs a live learner calls, a million times over."""

from __future__ import annotations

from typing import Any

from tacit._kernel import kernel
from tacit._types import Floats, Ints
from tacit.core.slate import take_row
from tacit.core.verbs import absorb, choose, encode, pay, release, show


@kernel
def run(
    params: Any,
    vault: Any,
    view: Any,
    report: Floats,
    noise: Any,
    environment: Any,
    slate: Any,
    means: Floats,
    stream: Any,
    x: Floats,
    checkpoints: Ints,
    curve: Floats,
    clock: Ints,
    total: Floats,
    rounds: int,
) -> None:
    """Run `rounds` more rounds. `clock` = (rounds so far, checkpoints passed), `total` = (regret so far,)."""
    arms = means.shape[0]
    now, passed, regret = clock[0], clock[1], total[0]
    for _ in range(rounds):
        show(environment, slate, means, stream)
        arm = choose(params, view, slate, noise)
        reward = pay(environment, means[arm], stream)
        take_row(slate, arm, x)
        # `learn_round`, written out: as a function of its own it takes a second to compile, here and again inside.
        encode(params, view, x, reward, report, noise)
        absorb(params, vault, report)
        release(params, vault, view, noise)
        best = means[0]
        for k in range(1, arms):
            best = max(best, means[k])
        regret += best - means[arm]
        now += 1
        if now == checkpoints[passed]:
            curve[passed] = regret
            passed += 1
    clock[0], clock[1], total[0] = now, passed, regret
