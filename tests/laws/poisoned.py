"""Plays every linear example twice, as plain Python: as it is, and with every secret of its vault NaN between `publish`
and `fit`. Prints whether both are the same to the bit, and how many releases there were:

    NUMBA_DISABLE_JIT=1 python -m tests.laws.poisoned
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tacit._kernel import PLAIN
from tacit.policies import by_arm, linear, switching
from tacit.policies.by_arm import ByArm
from tacit.policies.catalogue import CATALOGUE
from tacit.policies.linear import Linear
from tacit.policies.switching import Switching
from tests.kernel.plain import DIM, SEED, has
from tests.laws.runs import play

#: Rounds of a run; where nothing has been released by then, so many that something is.
FEW, MANY = 60, 260


@contextmanager
def secrets_gone(published_too: bool = False) -> Iterator[None]:
    """Between publishing and fitting there is nothing in the vault but what was published; for the broken twin, which
    fits something else, not even that."""
    kept: list[tuple[np.ndarray, np.ndarray]] = []

    def poison(*secret: np.ndarray) -> None:
        for array in secret:
            kept.append((array, array.copy()))
            array[...] = np.nan

    def after(real: Callable[..., Any], hide: Callable[..., None]) -> Callable[..., Any]:
        def published(*arguments: Any) -> Any:
            found = real(*arguments)
            hide(found, *arguments)
            return found

        return published

    def before(real: Callable[..., Any]) -> Callable[..., Any]:
        def fitted(*arguments: Any) -> Any:
            found = real(*arguments)
            while kept:  # rows to come are added to the exact sums
                array, contents = kept.pop()
                array[...] = contents
            return found

        return fitted

    def hide_linear(at: int, counter: Any, dim: int, row: int, stage: int, sums: Any, memory: Any, noise: Any) -> None:
        published = memory[at].copy()
        poison(sums, memory)
        if not published_too:
            memory[at] = published

    def hide_switching(_: None, params: Any, vault: Any, stage: int, noise: Any) -> None:
        poison(vault.sums, vault.memory, vault.inverse, vault.product)  # what is left is public: the actions taken

    def hide_contexts(_: None, centre: Any, contexts: Any, out: Any, noise: Any) -> None:
        contexts[...] = np.nan  # for good: nothing after the centre depends on them

    changes = (
        (by_arm, "publish_centre", after(by_arm.publish_centre, hide_contexts)),
        (by_arm, "publish", after(by_arm.publish, hide_linear)),
        (by_arm, "fit_arms", before(by_arm.fit_arms)),
        (linear, "publish", after(linear.publish, hide_linear)),
        (linear, "fit", before(linear.fit)),
        (switching, "publish_sum", after(switching.publish_sum, hide_switching)),
        (switching, "fit_published", before(switching.fit_published)),
    )
    real = [(module, name, getattr(module, name)) for module, name, _ in changes]
    try:
        for module, name, changed in changes:
            setattr(module, name, changed)
        yield
    finally:
        for module, name, function in real:
            setattr(module, name, function)


def played(config: Any, sampler: str, rounds: int) -> tuple[list[int], list[bytes], int]:
    learner = config.start(seed=SEED, sampler=sampler)
    arms, _ = play(learner, rounds, SEED)
    return arms, [part.tobytes() for part in learner.view], int(learner.view.stage[0])


def everything() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind in CATALOGUE.values():
        for place, config in enumerate(kind.examples(DIM)):
            for sampler in ("double", "secure"):
                if not has(config, sampler) or not isinstance(
                    config.planned(sampler).params, ByArm | Linear | Switching
                ):
                    continue
                rounds = FEW
                whole = played(config, sampler, rounds)
                if not whole[2]:
                    rounds = MANY
                    whole = played(config, sampler, rounds)
                with secrets_gone():
                    found[f"{config.slug} {place} {sampler}"] = (whole == played(config, sampler, rounds), whole[2])
    return found


def twin() -> str:
    """What a view says that is fitted on what has been made NaN."""
    try:
        with secrets_gone(published_too=True):
            played(CATALOGUE["linucb"].examples(DIM)[0], "double", FEW)
    except RuntimeError as problem:
        return str(problem)
    return "nothing"


if __name__ == "__main__":
    assert PLAIN, "kernels that are compiled cannot be changed"
    json.dump({"examples": everything(), "twin": twin()}, sys.stdout)
