"""A draw from a box of actions, by rejection: exact, as long as the bound of the score is one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from tacit._arrays import finite
from tacit._types import Bools, Floats
from tacit._validate import at_least, real
from tacit.errors import BadInput, PrivacyRefusal
from tacit.kernels import Box
from tacit.mechanisms.exponential.uniforms import uniforms
from tacit.noise.coins import ERROR, DrawWords, Uniform, exp_minus_each, random_words
from tacit.noise.tape import uniforms_of

_BLOCK = 256


class Accepted(NamedTuple):
    """A draw, and how many proposals it took. The number depends on the data and is covered by no guarantee."""

    point: Floats
    proposals: int


def draw_by_rejection(
    score: Callable[[Floats], Floats],
    box: Any,
    eta: float,
    upper: float,
    rng: np.random.Generator | None = None,
    *,
    words: DrawWords = random_words,
) -> Accepted:
    """One point of the box (a `Box`, or its sides), drawn with density ∝ exp(η·score(x)).

    `score` maps points (n, d) to n numbers. Proposals are uniform and accepted with probability exp(η·(score − upper)),
    by a coin that is decided for certain (`noise/exact.md`); with `rng`, which is for simulation, in double precision.

    Formal guarantee: that of `draw_candidate`, with ε bounding how far one row moves η·(score(x) − score(x′)) for any
    two points of the box. `proof.md`.
    Requires: `upper` is certified: no point of the box scores more. A proposal that does ends the draw with
    `PrivacyRefusal`; nothing is returned then, and nothing approximate ever. There is no limit on proposals: whether
    one is reached would depend on the data. A draw ends with probability 1; how long it takes depends on the data, and
    may be too long where the box has many dimensions: use candidates there, or where somebody measures time.
    """
    domain = Box.of(box)
    rate, bound = at_least("eta", eta, 0), real("upper", upper)
    made = 0
    while True:
        points = domain.from_unit(uniforms(_BLOCK * domain.dim, rng).reshape(_BLOCK, domain.dim))
        found = finite("the scores of the box", score(points.copy()))
        if found.shape != (_BLOCK,):
            raise BadInput(f"Expected one score per point, ({_BLOCK},), got shape {found.shape}.")
        if np.any(found > bound):
            raise PrivacyRefusal(
                "Expected no point of the box to score above the upper bound, got one that does: the draw would not "
                "have the law its guarantee is proved for. Nothing was drawn. Certify the bound, or use candidates."
            )
        with np.errstate(over="ignore"):
            patience = rate * np.minimum(bound - found, np.finfo(np.float64).max)
        accepted = np.flatnonzero(
            -np.log(uniforms(_BLOCK, rng)) >= patience if rng is not None else _kept(patience, words)
        )
        if accepted.size:
            first = int(accepted[0])
            return Accepted(points[first].copy(), made + first + 1)
        made += _BLOCK


def _kept(x: Floats, words: DrawWords) -> Bools:
    """Independent coins of chance e^−x, exact."""
    drawn, chances = words(len(x)), np.empty(len(x))
    exp_minus_each(x, chances)
    leading = uniforms_of(drawn)
    kept = leading < chances
    for place in np.flatnonzero(np.abs(leading - chances) <= ERROR):
        kept[place] = Uniform(int(drawn[place]), words).below_exp(Fraction(float(x[place])))
    return kept
