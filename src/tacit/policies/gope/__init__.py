"""Phased elimination with G-optimal designs over a public list of actions, private and not.

What is computed: `rule`; how long phases are, and why that is enough: `widths`; what is released, and what it costs:
`policies/episodic` and `mechanisms/episode/proof.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from tacit._validate import one_of, positive, probability, whole
from tacit.core.plan import Plan
from tacit.core.settings import option
from tacit.counters.counter import ROWS_HINT, rows_within
from tacit.errors import BadInput
from tacit.policies._options import failure_or_default
from tacit.policies._rewards import ONE_REWARD, PUBLIC, RenyiPolicy, RewardPolicy
from tacit.policies.episodic.verbs import episode_plan
from tacit.policies.gope.listed import Actions, ListedPolicy
from tacit.policies.gope.rule import GopeRule, GopeView, first_view
from tacit.privacy.event import Event, ExactRelease, LaplaceEvent, SegmentsEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.promise import AnyPromise, PurePromise
from tacit.privacy.scope import Protects, Trust

__all__ = ["GOPE", "RenyiGOPE"]

#: Designs are within one per cent of the best: a tighter one hardly shortens phases, and spreads over more actions.
DEFAULT_TOLERANCE = 0.01

_HORIZON_HINT = "start anew with a longer horizon, or without one."


@dataclass(frozen=True, kw_only=True)
class _PhasedElimination(ListedPolicy, RewardPolicy):
    """Options of both, and the plan."""

    reward_low: float = option("least reward; smaller ones are clipped", -1.0)
    reward_high: float = option("largest reward; larger ones are clipped", 1.0)
    horizon: int | None = option(
        "number of rounds, if known: the limit, and the default failure probability is 1/horizon", None
    )
    failure: float | None = option(
        "probability delta that any estimate is off by more than its width (default: 1/horizon, or 0.001)", None
    )
    tolerance: float = option("how far from optimal a design may be", DEFAULT_TOLERANCE)

    def __post_init__(self) -> None:
        ListedPolicy.__post_init__(self)
        if self.horizon is not None:
            whole("horizon", self.horizon, low=2)
        if self.failure is not None:
            probability("failure", self.failure)
        if positive("tolerance", self.tolerance) >= 1:
            raise BadInput(f"Expected 0 < tolerance < 1, got tolerance={self.tolerance!r}. 0.01 is one per cent.")

    @property
    def failure_probability(self) -> float:
        """δ: as given, else 1/horizon, else 0.001."""
        return failure_or_default(self.failure, self.horizon)

    def _plan(self, scale: float, laplace: bool, published: bool, event: Event, **rest: Any) -> Plan:
        actions, level = self.listed, self.reward_range / 2
        rule = _rule(actions, self.failure_probability, level, scale, laplace, published, float(self.tolerance))
        return episode_plan(
            self,
            np.array(actions),
            rule,
            _view_maker(rule, actions),
            scale=scale,
            laplace=laplace,
            event=event,
            **({"limit": self.horizon, "limit_hint": _HORIZON_HINT} | rest),
        )


@dataclass(frozen=True, kw_only=True)
class RenyiGOPE(_PhasedElimination, RenyiPolicy):
    """AdaR-GOPE: elimination in phases over a public list of actions, whose rewards are linear in their features.

    In phase l a G-optimal design on the actions still in play says which of them to play, and the lengths how often, so
    that least squares on noised totals is off by b = 2⁻ˡ·Δ/2 at most; who is behind the best by more than 2b is out.
    Each action of a phase is one episode: the total of its rewards is published once, with noise of its own.

    Formal guarantee: all actions together are μ-GDP in the rewards, μ = Δ/s, for one replaced reward (or all of one
    person, `person_rounds=k`): ρ-zCDP with ρ = μ²/2, (α, ρα)-RDP for every α at once, and (ε, δ) on the exact curve.
    With `noise="laplace"` they are (ε, 0)-DP, and the promise is epsilon alone. Both hold for every finite reward, also
    where rewards are not linear, and for actions of any length: a total is one of rewards, and actions only enter what
    is computed from it. Actions and the number of rounds are not protected.

    The best action stays with probability 1 − δ (`failure`) if rewards are linear, <θ, a> plus noise, in their
    interval; the regret theorem also wants actions and θ of length 1 at most.

    `phases="exact"` takes the shortest phases for which that is proved (`widths`), `"published"` those of Equation 8.
    `calibration="published"` draws the paper's noise of variance 2α/ε, stated for rewards in [−1, 1]; the card says
    what it gives for yours. No noise depends on a horizon. Azize and Basu, *Rényi differentially private bandits*,
    Algorithm 3; proof of privacy in mechanisms/episode/proof.md.
    """

    slug: ClassVar[str] = "renyi-gope"
    summary: ClassVar[str] = "AdaR-GOPE: a list of actions, eliminated in phases of G-optimal design"
    needs: ClassVar[str] = "a public list of actions, the interval of rewards; a horizon or a failure probability"
    published_range: ClassVar[float] = 2.0

    noise: str = option('"gaussian", or "laplace" for pure DP: then the promise is epsilon alone', "gaussian")
    phases: str | None = option(
        '"exact": the shortest that are proved; "published": Equation 8 (default: as the calibration)', None
    )

    def __post_init__(self) -> None:
        one_of("noise", self.noise, ("gaussian", "laplace"))
        if self.phases is not None:
            one_of("phases", self.phases, ("exact", "published"))
        _PhasedElimination.__post_init__(self)
        if self.noise == "laplace" and "published" in (self.calibration, self.phases):
            raise BadInput(
                f'Expected calibration and phases "exact" with noise="laplace", got calibration="{self.calibration}", '
                f"phases={self.phases!r}: nothing is published for Laplace noise. Leave them out."
            )
        RenyiPolicy.__post_init__(self)

    @classmethod
    def examples(cls, dim: int) -> tuple[RenyiGOPE, ...]:
        actions: Any = example_actions(dim)
        return (
            cls(actions=actions, rho=5.0, failure=0.5),
            cls(
                actions=actions,
                alpha=2.0,
                epsilon=8.0,
                calibration="published",
                reward_low=0.0,
                failure=0.5,
                horizon=10_000,
            ),
            cls(actions=actions, epsilon=4.0, noise="laplace", failure=0.5, person_rounds=2),
        )

    @property
    def promise(self) -> AnyPromise:
        if self.noise == "gaussian":
            return super().promise
        others = {"rho": self.rho, "delta": self.delta, "alpha": self.alpha}
        given = ", ".join(f"{name}={value!r}" for name, value in others.items() if value is not None)
        if self.epsilon is None or given:
            raise BadInput(
                f'Expected epsilon alone with noise="laplace", got {given or "none"}: Laplace noise keeps a pure '
                'epsilon, at delta = 0. Give epsilon, or use noise="gaussian".'
            )
        return PurePromise(self.epsilon)

    @property
    def published_phases(self) -> bool:
        """Whether phases are as long as Equation 8 has them."""
        return (self.phases or self.calibration) == "published"

    @property
    def noise_of_total(self) -> float:
        """s: the noise of one total, a standard deviation, or the scale of Laplace noise."""
        return self.published_scale if self.calibration == "published" else self.scale_for(self._event)

    def _event(self, scale: float) -> Event:
        kind = LaplaceEvent if self.noise == "laplace" else SegmentsEvent
        return kind(scale, self.reward_range)

    def plan(self, sampler: str = "double") -> Plan:
        scale = self.noise_of_total
        if sampler != "secure":
            return self._phases(scale, self.for_unit(self._event(scale)))
        rows = rows_within(self.horizon)
        laid = self.calibrate_total(self._event, scale, rows)
        hint = _HORIZON_HINT if rows == self.horizon else ROWS_HINT
        return self._phases(laid.scale, laid.event, laid=laid, limit=rows, limit_hint=hint)

    def _phases(self, scale: float, event: Event, **rest: Any) -> Plan:
        return self._plan(
            scale,
            self.noise == "laplace",
            self.published_phases,
            event,
            **rest,
            guarantee=self.priced(event),
            assumptions=(PUBLIC, ONE_REWARD),
            notes=(_failure_note(self), _PHASES_NOTE[self.published_phases]),
        )


@dataclass(frozen=True, kw_only=True)
class GOPE(_PhasedElimination):
    """Elimination in phases of G-optimal design, as `RenyiGOPE` without its noise: the baseline over a list of actions.

    Lattimore and Szepesvári, *Bandit Algorithms*, Chapter 22. Not private: who is eliminated depends on everybody's
    exact rewards.
    """

    slug: ClassVar[str] = "gope"
    summary: ClassVar[str] = "phased elimination with G-optimal designs, without privacy: the baseline over a list"
    trust: ClassVar[Trust] = Trust.NONE
    protects: ClassVar[Protects] = Protects.NOTHING
    needs: ClassVar[str] = "a list of actions, the interval of rewards; a horizon or a failure probability"

    phases: str = option('"exact": the shortest that are proved; "published": Equation 8 of renyi-gope', "exact")

    def __post_init__(self) -> None:
        one_of("phases", self.phases, ("exact", "published"))
        _PhasedElimination.__post_init__(self)
        RewardPolicy.__post_init__(self)

    @classmethod
    def examples(cls, dim: int) -> tuple[GOPE, ...]:
        return (cls(actions=example_actions(dim), failure=0.5),)  # type: ignore[arg-type]

    def plan(self, sampler: str = "double") -> Plan:
        return self._plan(
            0.0,
            False,
            self.phases == "published",
            ExactRelease("choices computed from everybody's exact rewards"),
            guarantee=Guarantee.none(),
            notes=(_failure_note(self), _PHASES_NOTE[self.phases == "published"]),
        )


_PHASES_NOTE = {
    False: "Phases are as short as is proved to be enough for the width they aim at.",
    True: "Phases are as long as Equation 8 has them, which is several times what is needed.",
}


def _failure_note(config: _PhasedElimination) -> str:
    return (
        f"The best action stays in play with probability {1 - config.failure_probability:.7g} at least, if rewards are "
        "linear in the features of actions. Privacy does not need that."
    )


def example_actions(dim: int) -> np.ndarray[Any, Any]:
    """d + 2 actions of R^d, not all of one length: the basis, its mean, and half a difference."""
    rows = np.eye(dim + 2, dim)
    rows[dim] = 1.0 / dim
    rows[dim + 1, 0], rows[dim + 1, -1] = 0.5, -0.5
    return rows


def _rule(
    actions: Actions, failure: float, level: float, scale: float, laplace: bool, published: bool, tolerance: float
) -> GopeRule:
    rows = np.array(actions)
    largest = np.abs(rows).max()
    return GopeRule(rows / largest if largest > 0 else rows, failure, level, scale, laplace, published, tolerance)


def _view_maker(rule: GopeRule, actions: Actions) -> Callable[[], GopeView]:
    """The first phase is laid out on first use, once for all trials: a plan may be made only to be read."""

    def view() -> GopeView:
        first = _first_view(actions, *rule[1:])
        return GopeView._make(part.copy() for part in first)

    return view


@lru_cache(maxsize=32)
def _first_view(actions: Actions, *numbers: Any) -> GopeView:
    return first_view(_rule(actions, *numbers))
