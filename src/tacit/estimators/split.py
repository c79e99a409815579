"""The proved width in its parts: each counted along the action as it hurts there, and none in full where it cannot.

`ridge` bounds ‖θ̃ − θ*‖_V once, and pays ‖x‖_{V⁻¹} for everything. With n the noise of the vector, S that of the rewards
and V = G + E, E the noise of the matrix and its regulariser,

    θ̃ − θ* = V⁻¹(S + n − Eθ*),

and on the event of the theorem, which is ρ_min I ⪯ E ⪯ ρ_max I, ‖n‖ ≤ ν and ‖S‖_{(G + ρ_min I)⁻¹} ≤ β_s in every
view, for every x at once

    |<x, θ̃ − θ*>| ≤ β_s‖x‖_{V⁻¹} + min(γ‖x‖_{V⁻¹}, ν‖V⁻¹x‖) + s·min(√ρ_max‖x‖_{V⁻¹}, ρ_max‖V⁻¹x‖)

with γ = ν/√ρ_min, β_s = σ√(2 ln(2/α) + ln det V − d ln ρ_min), and s ≥ ‖θ*‖ what is called S elsewhere.

*Proof.* <x, V⁻¹S> is at most ‖x‖_{V⁻¹}·‖S‖_{V⁻¹}, and V ⪰ G + ρ_min I makes the second factor at most β_s.
<x, V⁻¹n> is at most ‖x‖_{V⁻¹}·‖n‖_{V⁻¹}, where V ⪰ ρ_min I makes the second factor at most γ, and also at most
‖V⁻¹x‖·‖n‖. <x, V⁻¹Eθ*> is at most ‖x‖_{V⁻¹}·‖Eθ*‖_{V⁻¹}, where V ⪰ E makes the second factor at most
‖θ*‖_E ≤ √ρ_max·s, and also at most ‖V⁻¹x‖·‖E‖·‖θ*‖ ≤ ‖V⁻¹x‖·ρ_max·s. Nothing was assumed of x, and no event is new:
the probability is that of the theorem. ∎

The first entries of the minima add up to β‖x‖_{V⁻¹}, Proposition 4 of Shariff and Sheffet (2018): the split width is
never wider, in floating point either, since it is computed as that less what the minima save. So theorems on regret
that rest on β hold for it, with a view in every round. Where a direction has been taken n times the second entries fall
like 1/n and the first like 1/√n: the noise's share of the regret on one fixed list of actions no longer grows like √n.

Narrower is not better everywhere: the second entries rank directions that are not explored higher, and with fresh
actions in every round that costs more than it saves (docs/decisions/0029-widths.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit.estimators.ridge import Confidence, fit, fit_ridge

#: β, and the shares of it that the minima are taken of: γ, ν, s√ρ_max and s·ρ_max.
WIDTHS = 5


class Split(NamedTuple):
    """A regression whose width is told in parts."""

    confidence: Confidence
    shares: Floats  # (stages, 4) γ, ν, s√ρ_max, s·ρ_max; the last stage serves all later ones

    @property
    def repair(self) -> Floats:
        """Υ, as in `Confidence`."""
        return self.confidence.repair


@implements(fit, Split)
@kernel
def fit_split(estimate: Split, published: Floats, view: Any) -> int:
    """θ̃, V and β as ever, and behind β its shares."""
    stage = min(view.stage[0], estimate.shares.shape[0] - 1)
    repairs: int = fit_ridge(estimate.confidence, published, view)
    for k in range(WIDTHS - 1):
        view.width[k + 1] = estimate.shares[stage, k]
    return repairs
