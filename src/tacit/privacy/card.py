"""The privacy card: what a privacy officer reads before a policy goes live, as text and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit._validate import positive
from tacit.errors import BadInput
from tacit.privacy.guarantee import SEEDED, Guarantee, finite_or_none, round_up, short_delta
from tacit.privacy.promise import AnyPromise
from tacit.privacy.scope import Protects, Trust

DELTAS = (1e-3, 1e-5, 1e-6, 1e-9)
FALSE_ALARM = 0.05
WIDTH = 100

NOT_COVERED = (
    "Timing: how long a decision takes, and when people come.",
    "Side channels: logs, memory, crash dumps and anything else that is not an output of the policy.",
)
OWN_ACTION = "The person's own action: it may depend on that person's own context."
FLOATING_POINT = "Floating-point noise: the numbers are drawn in double precision, not by a discrete mechanism."


@dataclass(frozen=True)
class Card:
    """Everything that is claimed about one policy, and what the accountant makes of it.

    μ and the true ε are always derived from the guarantee, so the card cannot disagree with it. `claimed` is what was
    asked for or what a publication states; where the two differ, the true value is printed first.
    """

    policy: str
    calibration: str
    guarantee: Guarantee
    claimed: AnyPromise | None = None
    noise_scale: float | None = None
    noise_scales: Mapping[str, float] = field(default_factory=dict, hash=False)
    events: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, kind in (("policy", str), ("calibration", str), ("guarantee", Guarantee)):
            if not isinstance(getattr(self, name), kind):
                raise BadInput(f"Expected {name} to be a {kind.__name__}, got {name}={getattr(self, name)!r}.")
        if self.claimed is not None:
            if not isinstance(self.claimed, AnyPromise):
                raise BadInput(f"Expected claimed to be a promise or None, got claimed={self.claimed!r}.")
            if not self.guarantee.private:
                raise BadInput(
                    f"Expected no claim for a policy without a guarantee, got claimed={self.claimed!r}. "
                    "Leave claimed out."
                )
        if self.noise_scale is not None:
            object.__setattr__(self, "noise_scale", positive("noise_scale", self.noise_scale))
        scales = {str(name): positive(f"noise_scales[{name!r}]", scale) for name, scale in self.noise_scales.items()}
        object.__setattr__(self, "noise_scales", scales)
        for name in ("events", "assumptions", "notes"):
            object.__setattr__(self, name, _lines(name, getattr(self, name)))

    @property
    def mu(self) -> float | None:
        return self.guarantee.mu if self.guarantee.private else None

    @property
    def delta(self) -> float | None:
        """Where the card reads the curve: the δ of the claim, else the guarantee's own."""
        claimed = None if self.claimed is None else self.claimed.delta
        return self.guarantee.delta if claimed is None else claimed

    @property
    def true_epsilon(self) -> float | None:
        """ε accounted afresh at `delta`; None without privacy, without a δ, or where a theorem gives only a bound."""
        if self.delta is None or self.mu is None:
            return None
        return self.guarantee.epsilon_at(self.delta)

    @property
    def keeps_its_claim(self) -> bool | None:
        """Whether what is accounted, or the theorem's bound, keeps what is claimed; None if nothing is claimed."""
        return None if self.claimed is None else self.claimed.kept(self.guarantee)

    def to_dict(self) -> dict[str, Any]:
        """Ready for standard JSON: no NaN, no infinity."""
        guarantee = self.guarantee
        facts: dict[str, Any] = {
            "policy": self.policy,
            "calibration": self.calibration,
            "private": guarantee.private,
            "claimed": None if self.claimed is None else self.claimed.to_dict(),
            "keeps_its_claim": self.keeps_its_claim,
            "true_epsilon": finite_or_none(self.true_epsilon),
            "delta": self.delta,
            "mu": self.mu,
            "rho": finite_or_none(guarantee.rho),
            "epsilon_at": [
                {"delta": delta, "epsilon": finite_or_none(guarantee.epsilon_at(delta))} for delta in self._deltas()
            ],
            "trust": guarantee.trust.value,
            "protects": guarantee.protects.value,
            "neighbours": guarantee.neighbours.value,
            "unit": str(guarantee.unit),
            "noise_scale": self.noise_scale,
            "noise_scales": dict(self.noise_scales),
            "events": list(self.events),
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
            "not_covered": self._not_covered(),
            "seeded": guarantee.seeded,
        }
        if guarantee.theorem is not None:
            facts["by_theorem"] = guarantee.theorem.to_dict()
        if guarantee.seeded:
            facts["warning"] = SEEDED
        return facts

    def text(self) -> str:
        """Plain text, at most 100 columns wide."""
        lines = _wrapped(f"Privacy card: {self.policy} ({self.calibration} calibration)")
        if self.guarantee.seeded:
            lines += _wrapped(f"WARNING, {SEEDED}.")
        lines += _section("Promise", self._promise())
        if self.guarantee.private:
            lines += _section("In words", self._in_words())
            lines += _section("Price", self._price())
        lines += _section("Noise", self._noise())
        lines += _section("Assumptions", _bullets(self.assumptions))
        lines += _section("Notes", _bullets(self.notes))
        if self.guarantee.private:
            lines += _section("Not covered", _bullets(self._not_covered()))
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.text()

    def _promise(self) -> list[str]:
        guarantee = self.guarantee
        if not guarantee.private:
            return ["No privacy is promised."]
        rows = []
        if self.true_epsilon is not None and self.delta is not None:
            true = f"epsilon <= {round_up(self.true_epsilon, 4)} at delta = {short_delta(self.delta)}"
            rows.append(("accounted", true))
        if guarantee.theorem is not None:
            theorem = guarantee.theorem
            bound = f"epsilon <= {round_up(theorem.epsilon, 4)} at delta = {short_delta(theorem.delta)}"
            rows += [("by theorem", f"{bound}, an upper bound only"), ("source", theorem.source)]
        if self.claimed is not None:
            rows.append(("claimed", self.claimed.text))
        rows += [
            ("trust", guarantee.trust.value),
            ("protects", guarantee.protects.value),
            ("neighbours", guarantee.neighbours.value),
            ("unit", str(guarantee.unit)),
        ]
        lines = _aligned(rows)
        if self.claimed is not None and not self.keeps_its_claim:
            lines = [f"The claim is NOT kept: {self._broken(self.claimed)}.", *lines]
        return lines

    def _broken(self, claimed: AnyPromise) -> str:
        known = "accounted" if self.guarantee.theorem is None else "theorem's"
        if claimed.delta is None and self.guarantee.theorem is None:
            return "it is of pure DP, and Gaussian noise has no epsilon at delta = 0"
        if claimed.currency == "rho" and self.guarantee.theorem is not None:
            return "the theorem's bound does not give the claimed rho"
        return f"the {known} {claimed.currency} is larger than the claimed one"

    def _in_words(self) -> list[str]:
        guarantee = self.guarantee
        detected = guarantee.power(FALSE_ALARM)
        if guarantee.protects is Protects.REWARDS:
            changed = "a changed reward" if guarantee.unit.rounds is None else "changed rewards of a person"
        else:
            changed = "a changed round" if guarantee.unit.rounds is None else "a changed person"
        return [
            guarantee.trust.meaning,
            f"At {FALSE_ALARM * 100:g} % false alarms the best attacker detects {changed} with probability "
            f"at most {round_up(detected, 3)}.",
        ]

    def _price(self) -> list[str]:
        guarantee = self.guarantee
        if guarantee.mu is None:
            if guarantee.theorem is not None and guarantee.theorem.delta == 0:
                return ["Pure DP: the same epsilon at every delta."]
            return ["The theorem gives one point and no curve: mu, rho and the true epsilon are not known."]
        rows = [("mu", round_up(guarantee.mu, 4)), ("rho", round_up(guarantee.rho, 4))]
        concentrated = self.claimed is not None and self.claimed.currency == "rho"
        every_order = ["(alpha, rho·alpha)-RDP for every alpha > 1"] if concentrated else []
        table = [("delta", "epsilon at most")]
        table += [(short_delta(delta), round_up(guarantee.epsilon_at(delta), 4)) for delta in self._deltas()]
        return [*_aligned(rows), *every_order, "", *_aligned(table)]

    def _noise(self) -> list[str]:
        rows = [] if self.noise_scale is None else [("scale", f"{self.noise_scale:.6g}")]
        rows += [(name, f"{scale:.6g}") for name, scale in self.noise_scales.items()]
        return [*_aligned(rows), *_bullets(self.events)]

    def _not_covered(self) -> list[str]:
        joint, noised = self.guarantee.trust is Trust.JOINT, self.noise_scale is not None
        return [*NOT_COVERED, *([OWN_ACTION] if joint else []), *([FLOATING_POINT] if noised else [])]

    def _deltas(self) -> list[float]:
        own = [] if self.delta is None else [self.delta]
        return sorted({*DELTAS, *own}, reverse=True)


def _lines(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise BadInput(f"Expected {name} to be a list of sentences, got {name}={value!r}.")
    lines = tuple(value)
    for line in lines:
        if not isinstance(line, str):
            raise BadInput(f"Expected {name} to hold sentences, got {line!r} among them.")
    return lines


def _section(title: str, lines: list[str]) -> list[str]:
    if not lines:
        return []
    body = [piece for line in lines for piece in _wrapped(line, indent="  ")]
    return ["", title, *body]


def _aligned(rows: list[tuple[str, str]]) -> list[str]:
    width = max((len(name) for name, _ in rows), default=0)
    return [f"{name:<{width}}  {value}" for name, value in rows]


def _bullets(lines: Iterable[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def _wrapped(line: str, indent: str = "") -> list[str]:
    if not line:
        return [""]
    # Runs of spaces are the alignment of a table row, and a table row that fits is left alone.
    if len(indent + line) <= WIDTH and "\n" not in line:
        return [indent + line]
    hanging = indent + ("  " if line.startswith("- ") else "")
    return textwrap.wrap(line, WIDTH, initial_indent=indent, subsequent_indent=hanging)
