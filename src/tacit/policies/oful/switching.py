"""How often rarely-switching OFUL makes a new view, at most."""

from __future__ import annotations

import math

from tacit._validate import at_least, positive, whole

#: det V must grow by 1 + C and this much more: where it grows by exactly 1 + C (basis vectors do), rounding must not
#: decide. It is above what the running inverse loses in ten million rows, and nothing to the regret.
SLACK = 1e-9


def switch_bound(dim: int, rounds: int, *, ridge: float = 1.0, switch: float = 1.0, action_norm: float = 1.0) -> float:
    """d·log_{1+C}(1 + T·L²/(λd)): how many times det V can grow by more than 1 + C in T rounds.

    det V starts at λ^d, and ends at most at (λ + TL²/d)^d by the inequality of the means. Abbasi-Yadkori, Pál and
    Szepesvári (2011), Section 5.1. A bound on the number of views, for a line in a figure; `most_views` is a number.
    """
    total = whole("rounds", rounds, low=0) * positive("action_norm", action_norm) ** 2
    return dim * math.log1p(total / (positive("ridge", ridge) * dim)) / math.log1p(positive("switch", switch))


def most_views(dim: int, rounds: int, *, ridge: float, switch: float, action_norm: float) -> int:
    """L_max = ⌈`switch_bound`⌉, and never more than one per round."""
    bound = switch_bound(dim, rounds, ridge=ridge, switch=switch, action_norm=action_norm)
    return max(1, min(rounds, math.ceil(bound)))


def growth_factor(switch: float) -> float:
    """By how much det V must have grown for a new view; C = 0 asks for one after every row."""
    return (1.0 + switch) * (1.0 + SLACK) if at_least("switch", switch, 0) > 0 else 0.0
