"""One policy at several promises: the same options, another ε each time."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit._validate import positive, probability
from tacit.core.functions import FunctionPolicy
from tacit.core.policy import Policy
from tacit.errors import BadInput
from tacit.privacy.scope import Trust
from tacit.simulation.configured import configured

#: Tested unless told: a factor of about three from one to the next.
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


@dataclass(frozen=True)
class Asked:
    """A kind of policy and its options, without what it promises."""

    label: str
    kind: type[Policy] | type[FunctionPolicy]
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind.trust is Trust.NONE:
            raise BadInput(
                f"Expected a private policy, got {self.kind.slug}, which promises nothing at any epsilon. "
                "Policies without privacy are drawn as a line of their own."
            )
        if "epsilon" not in _options(self.kind):
            raise BadInput(f"Expected a policy with an epsilon, got {self.kind.slug}, which has none to vary.")

    def at(self, epsilon: float, delta: float, rounds: int) -> Policy | FunctionPolicy:
        """The configuration that promises (ε, δ), or ε where its promise is pure. Where a number of rounds must be
        known and is not, it is that of the run; where a failure probability may be given and is not, one over it. A
        learner of functions is told both by its world."""
        known = _options(self.kind)
        values: dict[str, Any] = dict(self.options)
        values["epsilon"] = epsilon
        if "delta" in known and not _pure(self.kind, values):
            values.setdefault("delta", delta)
        if issubclass(self.kind, FunctionPolicy):
            return self.kind(**values)
        config: Policy = configured(self.kind, values, rounds)
        return config


def epsilons_of(epsilons: Sequence[float]) -> tuple[float, ...]:
    """Tested values in ascending order, each once."""
    if isinstance(epsilons, str) or not isinstance(epsilons, Sequence) or not epsilons:
        raise BadInput(f"Expected epsilons to be numbers such as (0.1, 1, 10), got {epsilons!r}.")
    return tuple(sorted({positive("epsilon", value) for value in epsilons}))


def delta_of(delta: float) -> float:
    """δ at which every ε is read."""
    return probability("delta", delta)


def _options(kind: type[Policy] | type[FunctionPolicy]) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(kind)}


def _pure(kind: type[Policy] | type[FunctionPolicy], values: Mapping[str, Any]) -> bool:
    return values.get("noise") == "laplace"
