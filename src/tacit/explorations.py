"""How a linear policy picks an arm from what has been released: rules that cost no privacy.

A rule is a NamedTuple with a kernel for `explore`. It is given the view, the actions on offer and a source of random
numbers, and never the vault: whatever it does is post-processing, with doubles and with exact noise alike.

    exploration=tacit.explorations.Thompson()        # or the word: exploration="thompson"

A rule that draws more than one uniform number for a choice says how many as `uniforms`; one that draws normal numbers
says how many for d features as `normals(dim)`, and has a field `deviation`, by which it divides them: the plan sets it
to the deviation of what the source hands out as normal, which with exact noise is the scale of that noise.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tacit import linalg
from tacit._kernel import implementation, implemented, implements, kernel, verb
from tacit._types import Floats
from tacit._validate import one_of, real
from tacit.core.settings import from_fields
from tacit.core.slate import ArmsSlate, HybridSlate, Slate
from tacit.errors import BadInput
from tacit.noise import fill_normals, fill_uniforms

__all__ = ["Optimism", "Thompson", "explore"]


@verb
def explore(exploration: Any, view: Any, slate: Slate, noise: Any) -> int:  # type: ignore[empty-body]
    """Pick an arm from the view."""


@verb
def explore_arms(exploration: Any, view: Any, slate: Any, noise: Any) -> int:  # type: ignore[empty-body]
    """Pick an arm from the view of an arms model, whose slate has one prepared context for all."""


class Optimism(NamedTuple):
    """Score an action by the best it may be: argmax <θ̃, x> + β·‖x‖_{V⁻¹}.

    >>> import tacit
    >>> tacit.JointLinUCB(dim=2, epsilon=1, delta=1e-6, exploration=tacit.explorations.Optimism()).exploration
    'optimism'
    """

    reach: float = 1.0  # in widths: 1 is the confidence set


class Thompson(NamedTuple):
    """Score an action by a parameter drawn around the estimate. A proved width is √d deviations of the draw, so that a
    typical one lies at the edge of the confidence set; a noise-aware width is one.

    >>> import tacit
    >>> tacit.JointLinUCB(dim=2, epsilon=1, delta=1e-6, exploration=tacit.explorations.Thompson()).exploration
    'thompson'
    """

    deviation: float = 1.0  # of the numbers that the source hands out as normal
    edge: float = 1.0  # a width is so many deviations of the draw: √d where widths are those of a confidence set

    @staticmethod
    def normals(dim: int) -> int:
        """Normal numbers that one choice draws: one for each feature, or in the arms model for each arm."""
        return dim


@implements(explore, Optimism)
@kernel
def optimistic_arm(exploration: Optimism, view: Any, slate: Slate, noise: Any) -> int:
    """argmax <θ̃, x> + β·‖x‖_{V⁻¹}."""
    linalg.inner_products(view.theta, slate.columns, slate.scores)
    linalg.whitened_norms(view.whiten, slate.columns, slate.spread, slate.scratch, slate.product)
    width = exploration.reach * view.width[0]
    for k in range(slate.scores.shape[0]):
        slate.scores[k] += width * math.sqrt(slate.spread[k])
    return first_best(slate.scores)


class SplitOptimism(NamedTuple):
    """The best an action may be by a width in parts: proof in `estimators.split`. `width="split"` plays it."""

    reach: float = 1.0  # in widths


@implements(explore, SplitOptimism)
@kernel
def best_by_parts(exploration: SplitOptimism, view: Any, slate: Slate, noise: Any) -> int:
    """argmax <θ̃, x> + β·‖x‖_{V⁻¹} less what the second entries of the minima save."""
    dim, solved = view.theta.shape[0], slate.scratch
    beta, gamma, tail, root, most = view.width[0], view.width[1], view.width[2], view.width[3], view.width[4]
    linalg.inner_products(view.theta, slate.columns, slate.scores)
    for k in range(slate.scores.shape[0]):
        for i in range(dim):
            solved[i] = 0.0
        steep = 0.0
        for row in range(dim):  # x, whitened; and whitened again with the transpose, which makes it V⁻¹x
            total = 0.0
            for i in range(row + 1):
                total += view.whiten[row, i] * slate.columns[i, k]
            steep += total * total
            for i in range(row + 1):
                solved[i] += view.whiten[row, i] * total
        flat = 0.0
        for i in range(dim):
            flat += solved[i] * solved[i]
        steep, flat = math.sqrt(steep), math.sqrt(flat)
        saved = max(0.0, gamma * steep - tail * flat) + max(0.0, root * steep - most * flat)
        slate.scores[k] += exploration.reach * (beta * steep - saved)
    return first_best(slate.scores)


@implements(explore, Thompson)
@kernel
def sampled_arm(exploration: Thompson, view: Any, slate: Slate, noise: Any) -> int:
    """argmax <θ, x> for one θ = θ̃ + (β/e)·Wᵀz, z standard normal, e = √d for the width of a confidence set."""
    dim = view.theta.shape[0]
    z, theta = slate.scratch[:dim], slate.scratch[dim : 2 * dim]
    fill_normals(noise, z)
    scale = view.width[0] / (exploration.edge * exploration.deviation)
    for i in range(dim):
        theta[i] = view.theta[i]
    for row in range(dim):
        for i in range(row + 1):
            theta[i] += scale * view.whiten[row, i] * z[row]
    linalg.inner_products(theta, slate.columns, slate.scores)
    return first_best(slate.scores)


@implements(explore_arms, Optimism)
@kernel
def optimistic_of_arms(exploration: Optimism, view: Any, slate: Any, noise: Any) -> int:
    """argmax of <θ̃_k, z> + β_k·√(zᵀM_k z), with what the features of each arm add to both."""
    z, out = slate.prepared, slate.scratch[: slate.prepared.shape[0]]
    for k in range(slate.scores.shape[0]):
        if slate.allowed[k] == 0.0:
            slate.scores[k] = -math.inf
            continue
        linalg.symmetric_product(view.spread[k], z, out)
        mean, square = of_features(slate, view, k)
        spread = math.sqrt(max(linalg.dot(z, out) + square, 0.0))
        slate.scores[k] = linalg.dot(view.theta[k], z) + mean + exploration.reach * view.width[k] * spread
    return first_best(slate.scores)


@implements(explore_arms, Thompson)
@kernel
def sampled_of_arms(exploration: Thompson, view: Any, slate: Any, noise: Any) -> int:
    """argmax of one draw per arm from the normal law around the same: parameters of different arms are drawn apart, and
    of each only its score is needed."""
    z, out = slate.prepared, slate.scratch[: slate.prepared.shape[0]]
    fill_normals(noise, slate.scores)
    scale = 1.0 / (exploration.edge * exploration.deviation)
    for k in range(slate.scores.shape[0]):
        if slate.allowed[k] == 0.0:
            slate.scores[k] = -math.inf
            continue
        linalg.symmetric_product(view.spread[k], z, out)
        mean, square = of_features(slate, view, k)
        spread = math.sqrt(max(linalg.dot(z, out) + square, 0.0))
        slate.scores[k] = linalg.dot(view.theta[k], z) + mean + scale * view.width[k] * spread * slate.scores[k]
    return first_best(slate.scores)


@verb
def of_features(slate: Any, view: Any, arm: int) -> tuple[float, float]:  # type: ignore[empty-body]
    """What features of an arm add to what it is estimated to earn, and to the square of how far that may be off."""


@implements(of_features, ArmsSlate)
@kernel
def _of_none(slate: ArmsSlate, view: Any, arm: int) -> tuple[float, float]:
    return 0.0, 0.0


@implements(of_features, HybridSlate)
@kernel
def _of_features(slate: HybridSlate, view: Any, arm: int) -> tuple[float, float]:
    """They count by what is left of them when their regression on the context z is taken off, r = u − Tᵀz: <θ̃_0, r>,
    and rᵀM_0r − 2zᵀCr (estimators/hybrid.md)."""
    z, rest, out = slate.prepared, slate.residual[0], slate.residual[1]
    left_over(view.ties[arm], z, slate.shared[arm], rest)
    linalg.symmetric_product(view.shared_spread, rest, out)
    square = linalg.dot(rest, out)
    for i in range(z.shape[0]):
        square -= 2.0 * z[i] * linalg.dot(view.cross[arm, i], rest)
    return linalg.dot(view.shared, rest), square


@kernel
def left_over(ties: Floats, z: Floats, features: Floats, out: Floats) -> None:
    """out = u − Tᵀz."""
    for j in range(out.shape[0]):
        out[j] = features[j]
    for i in range(z.shape[0]):
        for j in range(out.shape[0]):
            out[j] -= ties[i, j] * z[i]


@kernel
def first_best(scores: Floats) -> int:
    """The first maximum: ties are certain in round 1 (all norms are equal), and runs must be comparable."""
    best, arm = scores[0], 0
    for k in range(1, scores.shape[0]):
        if scores[k] > best:
            best, arm = scores[k], k
    return arm


@kernel
def uniform_arm(slate: Slate, noise: Any) -> int:
    """Any arm, evenly: the choice before the first view."""
    fill_uniforms(noise, slate.scratch[:1])
    arms = len(slate.scores)
    return min(int(slate.scratch[0] * arms), arms - 1)


# As an option ---------------------------------------------------------------------------------------------------------

#: Rules that have a word.
WORDS: dict[str, type] = {"optimism": Optimism, "thompson": Thompson}


def as_option(value: Any) -> Any:
    """A rule as a configuration keeps it: its word, where it has one and nothing else to say; else itself. A rule of
    your own may also come as it travels, {its name: its fields}."""
    if isinstance(value, dict) and len(value) == 1:
        # Rules of this package that have no word belong to one policy, and read what only its view has.
        mine = [kind for kind in implemented(explore) if not kind.__module__.startswith("tacit.")]
        value = from_fields({kind.__name__: kind for kind in (*WORDS.values(), *mine)}, value, "exploration")
        for field, number in zip(value._fields, value, strict=True):
            real(field, number)
    for word, kind in WORDS.items():
        if type(value) is kind and value == kind():
            return word
    if not isinstance(value, tuple) or implementation(explore, type(value)) is None:
        one_of("exploration", value, WORDS, hint="Or give a NamedTuple with a kernel for `explore`.")
    return value


def as_dict(value: Any) -> Any:
    """An option, ready for JSON."""
    return value if isinstance(value, str) else {type(value).__name__: value._asdict()}


def rule_of(value: Any) -> Any:
    """The rule behind an option."""
    return WORDS[value]() if isinstance(value, str) else value


def draws_of(rule: Any, dim: int) -> tuple[int, int]:
    """Normal and uniform numbers that one choice draws at most: one uniform before there is a view."""
    normals: int = rule.normals(dim) if hasattr(rule, "normals") else 0
    return normals, max(1, rule.uniforms if hasattr(rule, "uniforms") else 0)


def with_deviation(rule: Any, dim: int, deviation: float, edge: float) -> Any:
    """The rule for a source whose normal numbers have this deviation, and for widths of so many deviations."""
    if hasattr(rule, "edge"):
        rule = rule._replace(edge=edge)
    if hasattr(rule, "deviation"):
        return rule._replace(deviation=deviation)
    if deviation != 1.0 and draws_of(rule, dim)[0]:
        raise BadInput(
            f"Expected a field `deviation` of {type(rule).__name__}, got none: it draws normal numbers, which with "
            "exact noise have a deviation that only the plan knows."
        )
    return rule
