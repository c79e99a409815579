"""What must hold of every policy on the linear machine: `publish` is the last function that sees a secret."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from tacit._kernel import entry, implements, kernel
from tacit.core.plan import Plan
from tacit.core.policy import Policy
from tacit.core.round import ROWS, learn_checked
from tacit.core.slate import slate
from tacit.core.verbs import absorb, choose, encode
from tacit.counters.counter import publish
from tacit.errors import NoSecureSampler
from tacit.estimators.ridge import fit
from tacit.explorations import explore
from tacit.noise import stream
from tacit.policies.linear import Linear
from tacit.policies.switching import Switching, fit_published, publish_sum
from tacit.privacy.scope import Trust

from .conftest import EXAMPLES, name

SAMPLERS = ("float", "secure")
#: Rows within which every example has made a second release.
MOST_ROWS = 5000


@cache
def planned(config: Policy, sampler: str) -> Plan | None:
    try:
        return config.planned(sampler)
    except NoSecureSampler:
        return None


def kinds() -> list[Any]:
    """One example for each type of what is published and fitted: kernels depend on nothing else."""
    found: dict[Any, Any] = {}
    for config in EXAMPLES:
        for sampler in SAMPLERS:
            plan = planned(config, sampler)
            if plan is not None and isinstance(plan.params, Linear | Switching):
                parts = tuple(part for field, part in plan.params._asdict().items() if field != "exploration")
                found.setdefault(numba.typeof(parts), pytest.param(config, sampler, id=f"{name(config)} {sampler}"))
    return list(found.values())


class Run:
    """A plan fed with random rows from one seed."""

    def __init__(self, config: Policy, sampler: str) -> None:
        plan = planned(config, sampler)
        assert plan is not None
        self.plan, self.params = plan, plan.params
        self.vault, self.view, self.report = plan.vault(), plan.view(), np.zeros(plan.report_size)
        self.noise, self.rng = stream(5), np.random.default_rng(6)
        self.dim = config.dim
        self.learn = entry(learn_checked, *self._arguments(np.zeros(self.dim), 0.0))

    def _arguments(self, x: np.ndarray, reward: float) -> tuple[Any, ...]:
        return self.params, self.vault, self.view, x, reward, self.report, self.noise

    def row(self) -> tuple[np.ndarray, float]:
        x = self.rng.normal(size=self.dim)
        return x / np.linalg.norm(x), float(self.rng.choice([-1.0, 1.0]))

    def feed(self, rows: int) -> None:
        for _ in range(rows):
            self.learn(*self._arguments(*self.row()))


def row_of_release(config: Policy, sampler: str, release: int) -> int:
    run = Run(config, sampler)
    for number in range(1, MOST_ROWS):
        run.feed(1)
        if run.view.stage[0] == release:
            return number
    raise AssertionError(f"{config!r} has made {run.view.stage[0]} releases in {MOST_ROWS} rows")


def poison(vault: Any, spared: tuple[str, ...] = ()) -> None:
    """Make every secret number of the vault NaN."""
    for field, part in zip(vault._fields, vault, strict=True):
        if part.dtype == np.float64 and field not in spared:
            part[...] = np.nan


def released_without_secrets(run: Run) -> None:
    """The next row and its release, with every exact sum and every draw of noise gone after `publish`."""
    params, vault, view = run.params, run.vault, run.view
    x, reward = run.row()
    encode(params, view, x, reward, run.report, run.noise)
    absorb(params, vault, run.report)
    rows, stage = int(vault.counters[ROWS]), int(view.stage[0])
    if isinstance(params, Switching):
        publish_sum(params, vault, stage, run.noise)
        poison(vault, spared=("published",))  # public: the actions taken, and what has just been published
        fit_published(params, vault.published, rows, np.zeros((run.dim, run.dim)), view)
        return
    at = publish(params.counter, run.dim, rows, stage, vault.sums, vault.memory, run.noise)
    published = vault.memory[at].copy()
    poison(vault)
    vault.memory[at] = published
    fit(params.estimate, vault.memory[at], view)


@pytest.mark.parametrize(("config", "sampler"), kinds())
@pytest.mark.parametrize("release", [1, 2])
def test_what_follows_publish_depends_on_published_numbers_alone(config, sampler, release):
    rows = row_of_release(config, sampler, release)
    whole, careful = Run(config, sampler), Run(config, sampler)
    whole.feed(rows)
    careful.feed(rows - 1)
    released_without_secrets(careful)
    assert whole.view.stage[0] == careful.view.stage[0] == release
    for field, one, other in zip(whole.view._fields, whole.view, careful.view, strict=True):
        assert one.tobytes() == other.tobytes(), field


def test_the_law_notices_a_view_that_is_fitted_on_the_exact_sums():
    """Broken twin: `fit` is handed the vault's sums, as it once was."""
    config = next(config for config in EXAMPLES if config.slug == "linucb")
    run = Run(config, "float")
    run.feed(3)
    poison(run.vault)
    with pytest.raises(RuntimeError, match="stayed indefinite"):
        fit(run.params.estimate, run.vault.sums, run.view)


# One plan for both samplers ---------------------------------------------------------------------------------------


class LastArm(NamedTuple):
    """The last of the actions on offer."""

    unused: float = 0.0


@implements(explore, LastArm)
@kernel
def _last_arm(exploration, view, slate, noise):
    return slate.scores.shape[0] - 1


#: Types of params whose choice has been compiled, and seen.
PLAYED: set[Any] = set()


class PlaysTheLast:
    """What a subclass does that has an exploration of its own."""

    def plan(self, sampler: str = "float") -> Plan:
        made = super().plan(sampler)
        return dataclasses.replace(made, params=made.params._replace(exploration=LastArm()))


@pytest.mark.parametrize(
    "config", [config for config in EXAMPLES if hasattr(config.plan().params, "exploration")], ids=name
)
def test_an_overridden_exploration_plays_with_both_samplers(config):
    own = type("Own", (PlaysTheLast, type(config)), {})
    subclass = own.from_dict(config.to_dict())
    samplers = [sampler for sampler in SAMPLERS if planned(config, sampler) is not None]
    assert "secure" in samplers or config.calibrated != "exact" or config.trust is not Trust.JOINT
    for sampler in samplers:
        plan = subclass.planned(sampler)
        assert isinstance(plan.params.exploration, LastArm)
        if isinstance(plan.params, Linear) and numba.typeof(plan.params) not in PLAYED:
            PLAYED.add(numba.typeof(plan.params))
            view = plan.view()
            view.width[0] = 1.0
            assert choose(plan.params, view, slate(config.dim, 3), stream(1)) == 2
