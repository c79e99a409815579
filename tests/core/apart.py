"""Policies small enough to be read whole, whose device and server are two programs, and what their tests share.

`LocalExample` noises (x, y), or what they add to the sums of least squares, on the device; the server fits a ridge
regression. `ShuffleExample` averages x·y over batches: each device adds a little Gaussian noise, or rounds to a grid
and adds a few random ones. Their device and their server have params of different types, so that neither can call
the verbs of the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit import linalg
from tacit._kernel import implements, kernel
from tacit.core.plan import Draws, Plan, Reported
from tacit.core.policy import Policy
from tacit.core.round import COUNTERS, ROWS
from tacit.core.settings import option
from tacit.core.verbs import absorb, choose, encode, release
from tacit.counters.counter import ROUNDING, Load, calibrate_lattice
from tacit.estimators.ridge import Confidence, confidence_of, first_view, fit
from tacit.explorations import Optimism, first_best, optimistic_arm
from tacit.mechanisms.report import PersonBounds, noised, person_bounds, report_gram, report_row
from tacit.mechanisms.shuffle import Ones, draw_ones, most_uniforms
from tacit.mechanisms.shuffle.binomial import PROPOSAL
from tacit.noise import Binomial, DiscreteGaussian, fill_normals, fill_uniforms
from tacit.privacy.calibrate import Promise, calibrate
from tacit.privacy.event import LatticeEvent, ReportEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust, Unit


class RowParams(NamedTuple):
    """Everything, for a learner in one process and for a device that reports (x, y)."""

    bounds: PersonBounds
    scale: float
    step: float
    gram: bool
    confidence: Confidence
    exploration: Optimism


class GramParams(NamedTuple):
    """The same for one that reports what (x, y) add to the sums."""

    bounds: PersonBounds
    scale: float
    step: float
    gram: bool
    confidence: Confidence
    exploration: Optimism


class LocalServerParams(NamedTuple):
    """What the server needs: nothing of the noise."""

    gram: bool
    confidence: Confidence


class SumsVault(NamedTuple):
    sums: np.ndarray
    counters: np.ndarray


@dataclass(frozen=True, kw_only=True)
class LocalExample(Policy):
    """Noise on the device, sums and a ridge fit on the server."""

    slug: ClassVar[str] = "example-local"
    summary: ClassVar[str] = "an example of the local model"
    trust: ClassVar[Trust] = Trust.LOCAL
    protects: ClassVar[Protects] = Protects.EVERYTHING
    needs: ClassVar[str] = "nothing"

    dim: int = option("number of features")
    epsilon: float = option("promised epsilon", 2.0)
    delta: float = option("promised delta", 0.1)
    sends: str = option("xy or gram", "xy")
    constants: tuple[float, ...] = option("public coordinates", ())
    reward_low: float = option("least reward", -1.0)
    reward_high: float = option("largest reward", 1.0)
    person_rounds: int | None = option("reports of a person", None)
    horizon: int | None = option("reports at most", None)

    @classmethod
    def examples(cls, dim):
        return (cls(dim=dim), cls(dim=dim, sends="gram"))

    @property
    def promise(self):
        return Promise(self.epsilon, self.delta)

    @property
    def calibrated(self):
        return "exact"

    def plan(self, sampler="double"):
        radius = math.sqrt(1 - sum(value * value for value in self.constants))
        reports = self.person_rounds or 1
        sensitivity = math.sqrt(8.0)  # of both kinds, at most

        def event_at(scale):
            return ReportEvent(scale, sensitivity, reports)

        scale, step, law = calibrate(self.promise, event_at), 0.0, None
        event = event_at(scale)
        size = linalg.packed_size(self.dim) + self.dim
        if sampler == "secure":
            laid = calibrate_lattice(
                self.promise,
                event_at,
                lambda event: event,
                rough=scale,
                sensitivity=sensitivity,
                coordinates=size + 1,
                load=Load(1.0, 1, 1),
            )
            scale, step, event, law = laid.scale, laid.step, laid.event, laid.law
        confidence = confidence_of(
            self.dim,
            noise_level=0.1,
            multiplier=1.0,
            failure=0.1,
            floor=1.0,
            regulariser=np.array([1.0]),
            repair=np.array([1.0]),
            bias=np.array([1.0]),
        )
        gram, zeros = self.sends == "gram", np.zeros(size)
        bounds = person_bounds(radius, self.reward_low, self.reward_high, self.constants)
        return Plan(
            params=(GramParams if gram else RowParams)(bounds, scale, step, gram, confidence, Optimism(1.0)),
            server=LocalServerParams(gram, confidence),
            vault=lambda: SumsVault(np.zeros(size), np.zeros(COUNTERS, np.int64)),
            view=lambda: first_view(self.dim, confidence, zeros),
            report_size=size if gram else self.dim + 1,
            event=event,
            guarantee=Guarantee.priced(
                event,
                trust=self.trust,
                protects=self.protects,
                unit=Unit.round() if self.person_rounds is None else Unit.person(self.person_rounds),
                delta=self.delta,
            ),
            draws=Draws(learn_normals=2 * size + 1),
            law=law,
            limit=self.horizon,
            limit_hint="start anew.",
            noise_scale=scale,
            report=Reported(
                kind=self.sends,
                size=size if gram else self.dim + 1,
                action_norm=1.0,
                reward_low=self.reward_low,
                reward_high=self.reward_high,
                constants=self.constants,
                noise={"scale": scale, "step": step},
            ),
        )


@implements(choose, RowParams, GramParams)
@kernel
def _choose(params, view, slate, noise):
    return optimistic_arm(params.exploration, view, slate, noise)


@implements(encode, RowParams)
@kernel
def _encode(params, view, x, reward, report, noise):
    report_row(params.bounds, params.scale, params.step, 0.0, x, reward, report, noise)


@implements(encode, GramParams)
@kernel
def _encode_gram(params, view, x, reward, report, noise):
    report_gram(params.bounds, params.scale, params.step, x, reward, report, noise)


@implements(absorb, RowParams, GramParams, LocalServerParams)
@kernel
def _absorb(params, vault, report):
    if params.gram:
        for i in range(vault.sums.shape[0]):
            vault.sums[i] += report[i]
    else:
        dim = report.shape[0] - 1
        linalg.add_outer(report, report[dim], dim, vault.sums)
    vault.counters[ROWS] += 1


@implements(release, RowParams, GramParams, LocalServerParams)
@kernel
def _release(params, vault, view, noise):
    fit(params.confidence, vault.sums, view)


class MixedParams(NamedTuple):
    """Of a device whose reports are noised each by itself."""

    scale: float
    step: float


class CountingParams(NamedTuple):
    """Of a device that sends counts."""

    grid: float  # steps per unit
    ones: Ones  # random ones per coordinate


class BatchParams(NamedTuple):
    """Of the server: what it takes off a total, and how."""

    batch: int
    counts: bool
    grid: float
    ones: int


class MeanView(NamedTuple):
    mean: np.ndarray
    stage: np.ndarray


@dataclass(frozen=True, kw_only=True)
class ShuffleExample(Policy):
    """The mean of x·y over batches, and the action that goes with it."""

    slug: ClassVar[str] = "example-shuffle"
    summary: ClassVar[str] = "an example of the shuffle model"
    trust: ClassVar[Trust] = Trust.SHUFFLE
    protects: ClassVar[Protects] = Protects.EVERYTHING
    needs: ClassVar[str] = "nothing"

    dim: int = option("number of features")
    batch: int = option("reports in a batch", 4)
    sends: str = option("xy or counts", "counts")
    scale: float = option("noise of a single report, if it has its own", 0.5)
    grid: int = option("steps per unit", 10)
    ones: int = option("random ones", 8)
    horizon: int | None = option("reports at most", None)

    @classmethod
    def examples(cls, dim):
        return (cls(dim=dim), cls(dim=dim, sends="xy"))

    def plan(self, sampler="double"):
        event = ReportEvent(self.scale, math.sqrt(8.0))
        counts, exact, step = self.sends == "counts", sampler == "secure", 2.0**-30
        size = self.dim if counts else self.dim + 1
        ones = Ones(float(self.ones), 0.5, exact)
        law = Binomial(self.ones, 0.5) if counts else DiscreteGaussian(self.scale / step)
        if exact and not counts:
            event = LatticeEvent(event, step=step, coordinates=size, rounding=ROUNDING)
        return Plan(
            params=CountingParams(float(self.grid), ones)
            if counts
            else MixedParams(self.scale, step if exact else 0.0),
            law=law if exact else None,
            server=BatchParams(self.batch, counts, float(self.grid), self.ones),
            vault=lambda: SumsVault(np.zeros(self.dim), np.zeros(COUNTERS, np.int64)),
            view=lambda: MeanView(np.zeros(self.dim), np.zeros(1, np.int64)),
            report_size=self.dim + 1 + PROPOSAL,
            event=event,
            guarantee=Guarantee.priced(event, trust=self.trust, protects=self.protects, unit=Unit.round(), delta=0.1),
            limit=self.horizon,
            limit_hint="start anew.",
            draws=Draws(learn_normals=self.dim + 1, learn_uniforms=self.dim + most_uniforms(self.dim)),
            report=Reported(
                kind=self.sends,
                size=size,
                action_norm=1.0,
                reward_low=-1.0,
                reward_high=1.0,
                noise={"steps": 2.0 * self.grid, "ones": float(self.ones)}
                if counts
                else {"scale": self.scale, "step": step},
                batch=self.batch,
            ),
        )


@implements(choose, MixedParams, CountingParams)
@kernel
def _choose_mean(params, view, slate, noise):
    linalg.inner_products(view.mean, slate.columns, slate.scores)
    return first_best(slate.scores)


@implements(encode, MixedParams)
@kernel
def _encode_mixed(params, view, x, reward, report, noise):
    dim = x.shape[0]
    fill_normals(noise, report[: dim + 1])
    for i in range(dim):
        report[i] = noised(min(max(x[i], -1.0), 1.0), params.scale, params.step, report[i])
    report[dim] = noised(min(max(reward, -1.0), 1.0), params.scale, params.step, report[dim])


@implements(encode, CountingParams)
@kernel
def _encode_counts(params, view, x, reward, report, noise):
    dim = x.shape[0]
    scratch = report[dim + 1 : dim + 3]
    for i in range(dim):
        fill_uniforms(noise, scratch[:1])
        place = (min(max(x[i] * reward, -1.0), 1.0) + 1.0) * params.grid
        count = np.floor(place)
        if scratch[0] < place - count:
            count += 1.0
        report[i] = count + draw_ones(params.ones, scratch, noise)


@implements(absorb, BatchParams)
@kernel
def _absorb_batch(params, vault, report):
    dim = vault.sums.shape[0]
    if params.counts:
        for i in range(dim):
            vault.sums[i] += (report[i] - 0.5 * params.batch * params.ones) / params.grid - params.batch
        vault.counters[ROWS] += params.batch
    else:
        for i in range(dim):
            vault.sums[i] += report[i] * report[dim]
        vault.counters[ROWS] += 1


@implements(release, BatchParams)
@kernel
def _release_batch(params, vault, view, noise):
    rows = vault.counters[ROWS]
    if rows % params.batch == 0:
        for i in range(vault.sums.shape[0]):
            view.mean[i] = vault.sums[i] / rows
        view.stage[0] += 1


DIM = 3


def actions(count: int, arms: int = 5, dim: int = DIM, seed: int = 1) -> np.ndarray:
    """Action sets on the unit sphere, of shape (count, arms, dim)."""
    found = np.random.default_rng(seed).standard_normal((count, arms, dim))
    return found / np.linalg.norm(found, axis=2, keepdims=True)


def contents(server: Any) -> dict[str, Any]:
    """Everything a server holds, to the bit."""
    found: dict[str, Any] = {
        f"{room}/{name}": part.tobytes()
        for room in ("vault", "view")
        for name, part in zip(getattr(server._session, room)._fields, getattr(server._session, room), strict=True)
    }
    return {**found, "stage": server.stage, "ids": list(server._order), "taken": set(server._taken)}


def reports_of(config: Policy, count: int, seed: int = 1, stage: int = 0) -> list[dict[str, Any]]:
    """Reports of so many people, all made under the first view unless another stage is written into them."""
    found = []
    for person, offered in enumerate(actions(count, seed=seed, dim=config.dim)):  # type: ignore[attr-defined]
        device = config.device(seed=1000 * seed + person)
        arms = config.arms_of_context
        offer = offered if arms is None else offered[0]
        arm = device.choose(offer)
        said = (offered[arm],) if arms is None else (offer, arm)
        found.append({**device.report(*said, float(said[0][0] > 0)), "stage": stage})
    return found
