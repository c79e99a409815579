"""Online LinUCB under local differential privacy (Algorithm 1 of the local paper)."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar

from tacit._validate import at_least, one_of, probability, whole
from tacit.core.settings import option
from tacit.errors import BadInput
from tacit.policies._options import failure_or_default
from tacit.policies.online import words
from tacit.policies.online.combiner import Combiner
from tacit.policies.online.common import Bank, OnlinePolicy, bank_of
from tacit.policies.online.widths import NO_THEORY, practical_growth, published_clip, theory_width

#: c of the practical width, for each estimator: decision 0013.
DEFAULT_WIDTH = {"online": 2.0, "debiased": 0.3}


@dataclass(frozen=True, kw_only=True)
class OnlineLinUCB(OnlinePolicy):
    """LinUCB whose people noise their action and reward themselves, and whose server learns by an online learner.

    Formal guarantee: (ε, δ)-local DP for one replaced (action, reward). The report is μ-GDP with μ = Δ/σ for all
    inputs, and everything the server does is post-processing. With `person_rounds=k` all k reports of a person together
    are.
    Nobody is trusted; whoever reads the server's memory reads noised reports.

    The device sends x̃ and ỹ. The server predicts with the point θ_t of an online learner that descends on the loss
    (<x̃, θ> − ỹ)² − σ²‖θ‖², whose mean is least at the true parameter, and plays optimistically around
    (I + Σ x̃x̃ᵀ)⁻¹ Σ <θ_t, x̃>·x̃. With `estimator="debiased"` (ours) it plays around least squares with the noise's mean
    taken out of Σ x̃x̃ᵀ, without a learner.

    `lambda_min` is what is known of the least eigenvalue of E xxᵀ. Below T^(−1/4) the device perturbs its action by
    Δ² = T^(−1/4) on top of the noise. None assumes that it is above: only the regret theorem depends on it.

    "Improved rate for Locally Differentially Private Linear Bandits", Algorithm 1.
    """

    slug: ClassVar[str] = "online-linucb"
    summary: ClassVar[str] = "LinUCB under local DP: noised actions and rewards, confidence sets from an online learner"
    needs: ClassVar[str] = 'bounds on actions and rewards; a horizon for learner="maler", lambda_min and width="theory"'

    horizon: int | None = option("number of rounds T; it tunes, and more are served", None)
    estimator: str = option(
        '"online": around the learner\'s predictions; "debiased": errors in variables (ours)', "online"
    )
    lambda_min: float | str | None = option(
        'least eigenvalue of E xx\': a number, "unknown" (several guesses, combined), or none: above horizon**(-1/4)',
        None,
    )
    width: float | str = option(
        '"practical": a heuristic that is proved nowhere; a number: the same rule with this constant c (default: 2, '
        'debiased 0.3); "theory": as published, which explores for ever',
        "practical",
    )
    failure: float | None = option(
        'failure probability alpha of width="theory" and of lambda_min="unknown" (default: 1/horizon, or 0.001)', None
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.failure is not None:
            probability("failure", self.failure)
        one_of("estimator", self.estimator, DEFAULT_WIDTH)
        if self.horizon is not None:
            whole("horizon", self.horizon, low=2)
        if isinstance(self.lambda_min, str):
            one_of("lambda_min", self.lambda_min, ("unknown",), hint="Give a number, or leave it out.")
        elif self.lambda_min is not None:
            at_least("lambda_min", self.lambda_min, 0.0)
        self._check_together()
        if self.lambda_min == "unknown":
            self._combined()

    def _check_width(self) -> None:
        if self.width != "theory":
            super()._check_width()

    def _check_together(self) -> None:
        """What each option means nothing without, or with."""
        for name, given in (
            ('learner="maler"', self.learner == "maler"),
            ("lambda_min", self.lambda_min is not None),
            ('width="theory"', self.width == "theory"),
        ):
            if given and self.horizon is None:
                raise BadInput(f"Expected a horizon (number of rounds) with {name}, got none. Give horizon=….")
        if self.estimator == "debiased":
            for name, given in (
                ('learner="maler"', self.learner == "maler"),
                ('lambda_min="unknown"', self.lambda_min == "unknown"),
                ('width="theory"', self.width == "theory"),
            ):
                if given:
                    raise BadInput(
                        f'Expected no {name} with estimator="debiased", got it: that estimator is least squares, with '
                        "no learner and no theorem."
                    )
        if self.width == "theory":
            if self.learner != "maler":
                raise BadInput(
                    f'Expected learner="maler" with width="theory", got learner="{self.learner}": the theorem is '
                    "Maler's."
                )
            if self.lambda_min == "unknown":
                raise BadInput('Expected lambda_min to be known with width="theory", got lambda_min="unknown".')
            if max(self.action_norm, self.reward_size) > 1:
                raise BadInput(
                    f'Expected actions and rewards within 1 with width="theory", got action_norm={self.action_norm:g} '
                    f"and rewards up to {self.reward_size:g}: the theorem is for those. Rescale them."
                )

    @classmethod
    def examples(cls, dim: int) -> tuple[OnlineLinUCB, ...]:
        return (
            cls(dim=dim, epsilon=1.0, delta=1e-6, lambda_min=0.0, horizon=1000),
            cls(dim=dim, epsilon=10.0, delta=0.1, learner="maler", calibration="published", horizon=1000),
            cls(
                dim=dim,
                epsilon=10.0,
                delta=0.1,
                estimator="debiased",
                reward_low=0.0,
                constants=(0.5,),
                person_rounds=3,
            ),
        )

    @property
    def failure_probability(self) -> float:
        """α: as given, else 1/horizon, else 0.001."""
        return failure_or_default(self.failure, self.horizon)

    @property
    def threshold(self) -> float | None:
        """λ̄ = T^(−1/4): a least eigenvalue up to this is helped by perturbing actions. None without a horizon."""
        return None if self.horizon is None else self.horizon**-0.25

    @property
    def perturbation(self) -> float:
        """Δ: the standard deviation of the perturbation, 0 if there is none."""
        if self.lambda_min is None or isinstance(self.lambda_min, str):
            return 0.0
        assert self.threshold is not None
        return math.sqrt(self.threshold) if self.lambda_min <= self.threshold else 0.0

    @property
    def multiplier(self) -> float:
        """c of the practical width."""
        return DEFAULT_WIDTH[self.estimator] if isinstance(self.width, str) else float(self.width)

    def bank(self, scale: float) -> Bank:
        if self.lambda_min == "unknown":
            return self._combined().bank(scale)
        rounds = 1 if self.horizon is None else self.horizon
        growth = practical_growth(self.multiplier, self.reward_noise_level, scale, self.parameter_norm, self.dim)
        clip, theory = None, NO_THEORY
        if self.width == "theory":
            clip = self.published_clip(scale)
            theory = theory_width(
                clip=clip,
                curvature=self._curvature(),
                perturbation=self.perturbation,
                radius=self.parameter_norm,
                noise_level=self.reward_noise_level,
                epsilon=self.epsilon,
                delta=self.delta,
                horizon=rounds,
                failure=self.failure_probability,
            )
        return bank_of(
            self,
            scale,
            horizons=(rounds,),
            longest=rounds,
            growth=[growth],
            perturbation=[self.perturbation],
            clip=clip,
            debiased=self.estimator == "debiased",
            theory=theory,
        )

    def published_clip(self, scale: float | None = None) -> float:
        """G of Corollary C.1, which `width="theory"` clips gradients to."""
        if self.horizon is None:
            raise BadInput("Expected a horizon for the published clip, got none. Give horizon=….")
        found = self.scale if scale is None else scale
        return published_clip(found, self.perturbation, self.parameter_norm, self.horizon, self.failure_probability)

    def _curvature(self) -> float:
        """λ_min + Δ²; an eigenvalue that is only assumed is taken to be the threshold."""
        known = self.threshold if self.lambda_min is None else self.lambda_min
        assert isinstance(known, float | int)
        return known + self.perturbation**2

    def _combined(self) -> Combiner:
        """The combiner that stands in for an eigenvalue nobody knows."""
        names = {field.name for field in dataclasses.fields(Combiner)} & {
            field.name for field in dataclasses.fields(self)
        }
        options: dict[str, Any] = {name: getattr(self, name) for name in names}
        return Combiner(**options)

    def said(self) -> tuple[str, ...]:
        if self.lambda_min == "unknown":
            return self._combined().said()
        said = []
        if self.estimator == "debiased":
            said.append(
                "The debiased estimator is ours, not the paper's: least squares with the noise's mean taken out."
            )
        if self.lambda_min is None:
            bound = "" if self.threshold is None else f" = {self.threshold:.4g}"
            said.append(
                "No perturbation: the least eigenvalue of E xx' is assumed to be above horizon**(-1/4)"
                f"{bound}. Only the regret theorem needs that, privacy does not."
            )
        elif self.perturbation > 0:
            said.append(
                f"Actions are perturbed by noise of variance {self.perturbation**2:.4g} on top of that of the "
                "guarantee: lambda_min is not above horizon**(-1/4)."
            )
        if self.width == "theory":
            said.append(
                "The width is the published one with its unspecified constants set to 1: nothing is proved of its "
                "coverage, and at any noise it explores for ever."
            )
        else:
            said.append(words.of_width(self.multiplier))
        return tuple(said)
