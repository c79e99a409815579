"""From what was asked for to the runs: every policy at every budget in every environment under every seed."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from tacit._validate import known
from tacit.core.functions import FunctionPolicy
from tacit.core.policy import Policy
from tacit.data import BUNDLED, INSTALLED
from tacit.environments import FUNCTION_CATALOGUE, environment, refuse_other_world
from tacit.environments.table import Table
from tacit.errors import BadInput
from tacit.policies.catalogue import policy
from tacit.privacy.guarantee import Guarantee
from tacit.simulation import Job
from tacit.simulation.configured import configured
from tacit.simulation.prediction_job import PredictionJob
from tacit.simulation.predictions import default_ways
from tacit.simulation.store import AnyJob, key
from tacit.sweeping.spec import Budget, Entry, Spec, at


@dataclass(frozen=True)
class PlannedJob(Job):
    """A job whose plan is worked out once: naming, checking, storing and finding a run all ask for it, and to
    calibrate noise takes longer than a short run."""

    planned: Policy = dataclasses.field(kw_only=True, compare=False, repr=False)

    @property
    def bound(self) -> Policy:
        return self.planned


@dataclass(frozen=True)
class Run:
    """One policy at one budget in one environment under one seed."""

    label: str  #: of the policy
    world: str  #: the environment's label
    budget: Budget | None  #: as it was asked for; None where the policy takes none, or names its own
    job: AnyJob
    settings: Mapping[str, Any]  #: of the policy
    world_settings: Mapping[str, Any]  #: with paths as they were written

    @cached_property
    def key(self) -> str:
        """The name of the run in the store."""
        return key(self.job)

    @property
    def name(self) -> str:
        """What tells it from the others in messages."""
        return f"{self.job.name} in {self.world}, seed {self.job.seed}"

    @property
    def raw(self) -> bool:
        """Computed from people's data."""
        return self.job.environment.raw

    def guarantee(self) -> Guarantee | None:
        """What is known of it before the run; None for learners of functions, who work long for it."""
        return self.job.bound.plan().guarantee.with_seed() if isinstance(self.job, Job) else None


def runs_of(spec: Spec) -> tuple[Run, ...]:
    """All of them, in the order of the file: by environment, policy, budget, seed. Whatever an option, a name or a
    combination has wrong is refused here, with its place."""
    runs: list[Run] = []
    crossed = False
    for place in spec.environments:
        with at(place.place):
            world = _world(place, spec.folder)
        for entry in spec.policies:
            with at(entry.place):
                budgets = _budgets(entry, spec)
                crossed |= budgets != (None,)
                for budget in budgets:
                    runs += _seeded(spec, entry, budget, place, world)
    if spec.budgets and not crossed:
        raise BadInput(
            f"{spec.title}: Expected a policy that takes budgets, got none: all are without privacy, or name their "
            "own. Leave the budgets out."
        )
    return tuple(runs)


def _world(entry: Entry, folder: Path) -> Any:
    kind: Any = environment(entry.name)
    options = _checked(kind, entry.options, folder)
    if kind is Table and "data" in options and options["data"] not in (*BUNDLED, *INSTALLED):
        # Wherever the command is called from: paths in a file are meant from where the file is.
        options["data"] = str(folder / Path(str(options["data"])).expanduser())
    _refuse_missing(kind, options)
    return kind(**options)


def _budgets(entry: Entry, spec: Spec) -> tuple[Budget | None, ...]:
    """The budgets that a policy is run at: None where it takes none, or has said its own."""
    kind: Any = policy(entry.name)
    options = {field.name for field in dataclasses.fields(kind)}
    if "epsilon" not in options or {"epsilon", "rho"} & set(entry.options):
        return (None,)
    if not spec.budgets:
        raise BadInput(
            f"Expected budgets for {entry.name}, such as epsilons = [0.3, 1, 3] and delta = 1e-6 at the top of the "
            "file, got none."
        )
    return spec.budgets


def _seeded(spec: Spec, entry: Entry, budget: Budget | None, place: Entry, world: Any) -> list[Run]:
    kind: Any = policy(entry.name)
    refuse_other_world(kind, type(world))
    options = _checked(kind, entry.options, spec.folder)
    if budget is not None:
        options.update(_promised(kind, options, budget))
    if world.slug not in FUNCTION_CATALOGUE:
        options = {**world.shape(kind, options), **options}
    _refuse_missing(kind, {"horizon": None, **options})
    config = configured(kind, options, spec.rounds)
    label = entry.label if budget is None else f"{entry.label} {budget.text}"
    settings, facts = config.options(), world.options()
    if "data" in place.options:
        facts["data"] = place.options["data"]
    jobs: list[AnyJob]
    if isinstance(config, FunctionPolicy):
        jobs = _predictions(spec, entry, config, world, label)
    else:
        if entry.ways is not None:
            raise BadInput(f"Expected ways for a learner of functions, got ways for {entry.name}.")
        jobs = _plays(spec, entry, config, world, label)
    return [Run(entry.label, place.label, budget, job, settings, facts) for job in jobs]


def _plays(spec: Spec, entry: Entry, config: Policy, world: Any, label: str) -> list[AnyJob]:
    actions = world.fixed_actions
    twin = copy.copy(config if actions is None else config.offered(actions))
    object.__setattr__(twin, "plan", cache(twin.plan))
    twin.plan()  # what is refused there is refused here, where its place is known
    return [
        PlannedJob(config, world, spec.rounds, spec.trials, seed, label, entry.by, planned=twin) for seed in spec.seeds
    ]


def _predictions(spec: Spec, entry: Entry, config: FunctionPolicy, world: Any, label: str) -> list[AnyJob]:
    if entry.by != "rounds":
        raise BadInput(f'Expected by="rounds" for {entry.name}, got by={entry.by!r}: its records have no episodes.')
    first = PredictionJob(config, world, spec.rounds, spec.trials, spec.seeds[0], (), label)
    ways = entry.ways or default_ways(first.told)
    return [dataclasses.replace(first, seed=seed, ways=ways) for seed in spec.seeds]


def _promised(kind: Any, options: Mapping[str, Any], budget: Budget) -> dict[str, float]:
    """The budget as options of this policy."""
    names = _fields(kind)
    given = budget.given
    if "delta" not in names or options.get("noise") == "laplace" or "delta" in options:
        # Pure privacy at the same epsilon promises more; and a policy may have said where its own is read.
        given.pop("delta", None)
    for name in given:
        if name not in names:
            raise BadInput(
                f"Expected budgets that {kind.slug} can promise, got {budget.text}: it has no {name}. Give the policy "
                "a budget of its own, such as epsilon = 1, or a list of them under [policy.vary]."
            )
    if "epsilon" in given and "delta" not in {*given, *options} and names.get("delta") is dataclasses.MISSING:
        raise BadInput(
            f"Expected delta for {kind.slug}, got {budget.text} alone. Say delta = 1e-6 at the top of the file."
        )
    return given


def _checked(kind: Any, options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Options that this configuration has, each of one value."""
    types = {field.name: str(field.type) for field in dataclasses.fields(kind)}
    found = dict(options)
    for name, value in options.items():
        known(f"option of {kind.slug}", name, types, see=f"`tacit {_LISTED[kind.kind]} {kind.slug}` lists them.")
        if isinstance(value, tuple) and not any(word in types[name] for word in ("tuple", "Sides", "Any")):
            raise BadInput(
                f"Expected one value of {name}, got {list(value)}. For a run with each of them, write the list under "
                f"[{kind.kind}.vary]."
            )
        if "Prior" in types[name] and isinstance(value, str):
            from tacit.estimators.prior import Prior

            found[name] = Prior.load(folder / value)
    return found


_LISTED = {"policy": "policies", "environment": "environments"}


def _fields(kind: Any) -> dict[str, Any]:
    return {field.name: field.default for field in dataclasses.fields(kind)}


def _refuse_missing(kind: Any, options: Mapping[str, Any]) -> None:
    for name, default in _fields(kind).items():
        if default is dataclasses.MISSING and name not in options:
            raise BadInput(
                f"Expected {name} for {kind.slug}, got none. `tacit {_LISTED[kind.kind]} {kind.slug}` lists all."
            )
