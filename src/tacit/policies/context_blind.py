"""The policy that looks at nothing: what plain differential privacy leaves as ε goes to zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats, Ints
from tacit._validate import whole
from tacit.core.plan import Draws, Plan
from tacit.core.policy import Policy
from tacit.core.round import COUNTERS, ROWS
from tacit.core.settings import option
from tacit.core.slate import Slate
from tacit.core.verbs import absorb, choose, encode, release
from tacit.explorations import uniform_arm
from tacit.privacy.event import NothingReleased
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust, Unit

#: ε is 0 at every δ; a guarantee is printed at one of them.
_SHOWN_DELTA = 1e-9


class ContextBlindParams(NamedTuple):
    """Params of `ContextBlind`: there is nothing to know."""


class CountsOnly(NamedTuple):
    """The vault of a policy that never learns."""

    counters: Ints


class NoView(NamedTuple):
    """The view of a policy that never releases one."""

    stage: Ints  # (1,) always 0


@dataclass(frozen=True, kw_only=True)
class ContextBlind(Policy):
    """Any arm, evenly, whatever the context and whatever came before.

    Formal guarantee: 0-DP. All arms together, a person's own arm included, have one law for all inputs.

    It is a reference line. Under *plain* DP this round's arm must not reveal this round's context either, and as ε
    goes to 0 nothing better is left; on `TwoContexts` it pays 1 per round on average (Shariff and Sheffet 2018,
    Claim 13).
    """

    slug: ClassVar[str] = "context-blind"
    summary: ClassVar[str] = "any arm, evenly: what plain DP leaves as epsilon goes to 0"
    trust: ClassVar[Trust] = Trust.CENTRAL
    protects: ClassVar[Protects] = Protects.EVERYTHING
    needs: ClassVar[str] = "nothing"

    dim: int = option("number of features d")

    def __post_init__(self) -> None:
        whole("dim", self.dim)

    @classmethod
    def examples(cls, dim: int) -> tuple[ContextBlind, ...]:
        return (cls(dim=dim),)

    @property
    def calibrated(self) -> str:
        return "exact"

    def plan(self, sampler: str = "double") -> Plan:
        event = NothingReleased()
        return Plan(
            params=ContextBlindParams(),
            vault=empty_vault,
            view=empty_view,
            report_size=1,
            event=event,
            guarantee=Guarantee.priced(
                event, trust=self.trust, protects=self.protects, unit=Unit.round(), delta=_SHOWN_DELTA
            ),
            draws=Draws(choose_uniforms=1),
            notes=(
                "epsilon is 0 at every delta, also at delta = 0: every arm is drawn evenly, and nothing is learned.",
                "A person's own action is covered too: it does not depend on that person's context.",
            ),
        )


def empty_vault() -> CountsOnly:
    """Before anyone has come."""
    return CountsOnly(np.zeros(COUNTERS, np.int64))


def empty_view() -> NoView:
    """The view, for good."""
    return NoView(np.zeros(1, np.int64))


@implements(choose, ContextBlindParams)
@kernel
def _choose(params: ContextBlindParams, view: NoView, slate: Slate, noise: Any) -> int:
    """Nothing is read of the slate but the number of arms."""
    return uniform_arm(slate, noise)


@implements(encode, ContextBlindParams)
@kernel
def send_nothing(params: Any, view: Any, x: Floats, reward: float, report: Floats, noise: Any) -> None:
    """Neither action nor reward leaves the person's side."""
    report[0] = 0.0


@implements(absorb, ContextBlindParams)
@kernel
def count_only(params: Any, vault: CountsOnly, report: Floats) -> None:
    """A row came; there is nothing in it."""
    vault.counters[ROWS] += 1


@implements(release, ContextBlindParams)
@kernel
def release_nothing(params: Any, vault: CountsOnly, view: NoView, noise: Any) -> None:
    """There is nothing to release."""
