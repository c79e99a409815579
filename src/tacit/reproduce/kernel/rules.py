"""The claims of `kernel/rates`, and the rules they are judged by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tacit._types import Floats
from tacit.reproduce.experiment import By, Claim, Verdict
from tacit.reproduce.judge import SIGMAS, Sample, at_least_times, found, lower, untested
from tacit.reproduce.kernel import methods
from tacit.reproduce.kernel.common import KERNELS, SE, Slope, fitted
from tacit.reproduce.kernel.operators import known, largest_loss

#: An error above this share of a random action's: nothing much has been learned.
LEARNED = 0.5
#: How much less steeply than γ_T/T the supremum of σ² may fall: both are known exactly, over finitely many T.
SLACK = 0.1
#: Where numbers of before are compared with: ε, T, kernel, functions at least.
EPSILON, HORIZON, FUNCTIONS = 1.0, 30_000, 20
#: Error rates of before at most, and that of the published rule, which may be off by a share of it.
DRAW_AT_MOST, FUNCTION_AT_MOST, PUBLISHED_NEAR, SHARE = 0.006, 0.003, 0.10, 0.15
#: Slopes of before, from T = 500 to T = 30,000, and how far off they may be beside two standard errors.
SLOPES = {methods.FUNCTION: -0.98, methods.DRAW: -0.74, methods.PUBLISHED: -0.25}
SLOPE_ROOM = 0.1
#: How many records stand beside the one that is replaced.
_RECORDS = 500


class Measured(NamedTuple):
    """Error rates by method, ε and kernel: one array per horizon, one number per function."""

    horizons: Sequence[int]
    errors: Mapping[tuple[str, float, str], Sequence[Floats]]
    random: Mapping[str, Sequence[float]]  # by kernel, at each horizon
    seed: int

    @property
    def budgets(self) -> list[float]:
        return sorted({epsilon for _, epsilon, _ in self.errors if math.isfinite(epsilon)})

    @property
    def privacy_at(self) -> float:
        """The ε that comparisons are made at."""
        return EPSILON if EPSILON in self.budgets else self.budgets[0]

    def last(self, method: str, epsilon: float, kernel: str) -> Sample:
        """At the largest number of records."""
        return Sample(method, self.errors[method, epsilon, kernel][-1])


def verdicts(measured: Measured) -> list[Verdict]:
    """Every claim, one by one."""
    return [
        *(estimate_falls(measured, kernel) for kernel in KERNELS),
        *(draw_falls(measured, kernel) for kernel in KERNELS),
        *(supremum_falls(measured.horizons, kernel) for kernel in KERNELS),
        keeps(measured),
        *as_before(measured),
        *slopes_as_before(measured),
        *against(measured),
        default_keeps(measured),
        posterior_variance(measured),
    ]


def estimate_falls(measured: Measured, kernel: str) -> Verdict:
    """The rate without privacy."""
    claim = Claim(f"The error of the estimate, without noise, falls at least like √(γ_T/T), {kernel}.")
    return _falls(claim, measured, kernel, {"without noise": (methods.ARGMAX_SMALL, math.inf, kernel)})


def draw_falls(measured: Measured, kernel: str) -> Verdict:
    """The slower of the two rates, at every budget: how the constants of the two relate the theorem does not say."""
    claim = Claim(f"The error of a draw by the published rule falls at least like √(γ_T/T), {kernel}.")
    keys = {f"ε = {epsilon:g}": (methods.PUBLISHED, epsilon, kernel) for epsilon in measured.budgets}
    return _falls(claim, measured, kernel, keys)


def _falls(claim: Claim, measured: Measured, kernel: str, keys: Mapping[str, tuple[str, float, str]]) -> Verdict:
    criterion = (
        f"slope of ln(mean error/√(γ_T/T)) in ln T, at τ = 0.1, at most {SIGMAS:g} standard errors above 0, over at "
        f"least two T with an error of at most {LEARNED:.0%} of a random action's"
    )
    parts, without, worst = [], [], -math.inf
    for name, key in keys.items():
        used = [
            place
            for place, (values, most) in enumerate(zip(measured.errors[key], measured.random[kernel], strict=True))
            if values.mean() <= LEARNED * most
        ]
        sizes = [measured.horizons[place] for place in used]
        rates = [math.sqrt(known(kernel, horizon).gain / horizon) for horizon in sizes]
        slope = fitted(sizes, [measured.errors[key][place] / rate for place, rate in zip(used, rates, strict=True)])
        if slope is None or slope.error is None:
            without.append(name)
            continue
        worst = max(worst, slope.estimate - SIGMAS * slope.error)
        parts.append(f"{name}, T ≥ {sizes[0]:,}: {slope}")
    if not parts:
        return untested(claim, criterion, "too little was learned, at fewer than two T, or there is a single trial")
    if without:
        parts.append(f"too little learned to say: {', '.join(without)}")
    return found(claim, worst <= 0, criterion, "; ".join(parts), largest_lower_end=worst)


def supremum_falls(horizons: Sequence[int], kernel: str) -> Verdict:
    """What the paper's γ_T/(Tε) comes from."""
    claim = Claim(f"The supremum of σ², which a draw pays for, falls at least like γ_T/T, {kernel}.")
    criterion = f"slope of ln(sup σ²·T/γ_T) in ln T at τ = 0.1, the supremum over a grid, at most {SLACK:g}"
    numbers = [known(kernel, horizon) for horizon in horizons]
    ratios = [np.array([one.supremum * T / one.gain]) for one, T in zip(numbers, horizons, strict=True)]
    slope = fitted(horizons, ratios)
    if slope is None:
        return untested(claim, criterion, "a slope needs two T")
    seen = ", ".join(f"{float(ratio[0]):.2f}" for ratio in ratios)
    text = f"slope {slope}; sup σ²·T/γ_T = {seen}"
    return found(claim, slope.estimate <= SLACK, criterion, text, slope=slope.estimate)


def keeps(measured: Measured) -> Verdict:
    """The published rule, against the worst replaced record that was found."""
    claim = Claim("A draw by the published rule is ε-DP.")
    return _loss(claim, measured, "published", at_most=True)


def default_keeps(measured: Measured) -> Verdict:
    """The same of the range rule and its clipped leverage."""
    claim = Claim("A draw by the default rule is ε-DP.", By.OURS)
    return _loss(claim, measured, "default", at_most=True)


def posterior_variance(measured: Measured) -> Verdict:
    """What becomes of it if σ² is read as what the paper calls it."""
    claim = Claim("With σ² read as a posterior variance, which lacks 1/τ, the published rule is not ε-DP.", By.OURS)
    return _loss(claim, measured, "posterior variance", at_most=False)


def _loss(claim: Claim, measured: Measured, rule: str, *, at_most: bool) -> Verdict:
    epsilon, records = measured.privacy_at, min(_RECORDS, max(measured.horizons))
    losses = {kernel: largest_loss(rule, kernel, records, epsilon, measured.seed) for kernel in KERNELS}
    return judged_loss(claim, losses, epsilon, at_most=at_most)


def judged_loss(claim: Claim, losses: Mapping[str, float], epsilon: float, *, at_most: bool) -> Verdict:
    """Losses that stay within ε everywhere, or exceed it somewhere."""
    largest = max(losses.values())
    side = "at most ε for every kernel" if at_most else "above ε for some kernel"
    criterion = f"largest |ln P(x)/P'(x)| over one replaced record, at ε = {epsilon:g}, {side}"
    numbers = ", ".join(f"{kernel}: {loss:.3f}" for kernel, loss in losses.items())
    return found(claim, (largest <= epsilon) == at_most, criterion, numbers, largest=largest, epsilon=epsilon)


def as_before(measured: Measured) -> list[Verdict]:
    """The three numbers that were found before this was written."""
    found_before = {
        methods.DRAW: (f"a default draw errs by at most {DRAW_AT_MOST:g}", 0.0, DRAW_AT_MOST),
        methods.FUNCTION: (f"a released function errs by at most {FUNCTION_AT_MOST:g}", 0.0, FUNCTION_AT_MOST),
        methods.PUBLISHED: (
            f"the published rule at τ = 0.1 errs by about {PUBLISHED_NEAR:.2f}",
            (1 - SHARE) * PUBLISHED_NEAR,
            (1 + SHARE) * PUBLISHED_NEAR,
        ),
    }
    found_now = []
    for method, (words, low, high) in found_before.items():
        claim = Claim(f"At ε = {EPSILON:g}, T = {HORIZON:,}, {SE}, {words}.", By.OURS)
        criterion = f"mean error rate in [{low:.3f}, {high:.3f}], over at least {FUNCTIONS} functions"
        sample = _there(measured, method)
        if sample is None:
            found_now.append(untested(claim, criterion, f"not run with {HORIZON:,} records and {FUNCTIONS} functions"))
            continue
        found_now.append(found(claim, low <= sample.mean <= high, criterion, str(sample), mean=sample.mean))
    return found_now


def _there(measured: Measured, method: str) -> Sample | None:
    """The numbers at the one place that is compared with those of before, if it was run."""
    if HORIZON not in measured.horizons or EPSILON not in measured.budgets:
        return None
    values = measured.errors[method, EPSILON, SE][list(measured.horizons).index(HORIZON)]
    return Sample(method, values) if len(values) >= FUNCTIONS else None


def slopes_as_before(measured: Measured) -> list[Verdict]:
    """Slopes over the whole range of T."""
    judged = []
    for method, before in SLOPES.items():
        claim = Claim(f"The error of the {method} falls like T^{before:g}, ε = {EPSILON:g}, {SE}.", By.OURS)
        criterion = (
            f"slope from T = 500 to {HORIZON:,} within {SLOPE_ROOM:g} and {SIGMAS:g} standard errors of {before:g}, "
            f"over at least {FUNCTIONS} functions"
        )
        slope: Slope | None = None
        if _there(measured, method) is not None and min(measured.horizons) == 500:
            slope = fitted(measured.horizons, measured.errors[method, EPSILON, SE])
        if slope is None or slope.error is None:
            judged.append(untested(claim, criterion, "not run at all of these T"))
            continue
        near = abs(slope.estimate - before) <= SLOPE_ROOM + SIGMAS * slope.error
        judged.append(found(claim, near, criterion, f"slope {slope}", slope=slope.estimate, error=slope.error))
    return judged


def against(measured: Measured) -> list[Verdict]:
    """One method against another, at the largest number of records."""
    epsilon, most = measured.privacy_at, max(measured.horizons)
    judged = []
    for kernel in KERNELS:
        at = f"ε = {epsilon:g}, T = {most:,}, {kernel}"
        published, draw, function, linear = (
            measured.last(method, epsilon, kernel)
            for method in (methods.PUBLISHED, methods.DRAW, methods.FUNCTION, methods.LINEAR)
        )
        plain, usca = (measured.last(method, math.inf, kernel) for method in (methods.GP_SMALL, methods.ARGMAX_SMALL))
        judged += [
            at_least_times(
                Claim(f"The default draw errs by a fifth of the published one at τ = 0.1, or less: {at}.", By.OURS),
                draw,
                published,
                5,
            ),
            lower(
                Claim(f"A released function errs less than a noised Gram matrix at the same price: {at}.", By.OURS),
                function,
                linear,
                of="error rate",
            ),
            lower(
                Claim(
                    f"Also without noise USCA pays for not using the records' own covariance: T = {most:,}, {kernel}.",
                    By.OURS,
                ),
                plain,
                usca,
                of="error rate",
            ),
        ]
    return judged
