"""Rényi-private bandits over K arms: AdaR-UCB, and the wrapper that makes any index private the same way."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from tacit._validate import one_of, positive
from tacit.core.plan import Plan
from tacit.core.settings import option
from tacit.errors import BadInput
from tacit.policies._rewards import ONE_REWARD, PUBLIC, RenyiPolicy
from tacit.policies.episodic.arms import PRACTICAL, THEOREM, ArmsPolicy, index_plan
from tacit.policies.episodic.index import KLUCBIndex, UCBIndex
from tacit.privacy.event import Event, SegmentsEvent

#: The indices that have a name.
INDICES: dict[str, Any] = {"ucb1": UCBIndex(), "kl-ucb": KLUCBIndex()}


@dataclass(frozen=True, kw_only=True)
class _GaussianIndexPolicy(ArmsPolicy, RenyiPolicy):
    """Doubling, forgetting, and Gaussian noise once per episode, around an index."""

    optimism: float = option(
        f"beta, which multiplies ln t in the index: {THEOREM} (the theorem asks for more than 3) or {PRACTICAL:g} "
        "(practical, no theorem)",
        THEOREM,
    )

    def __post_init__(self) -> None:
        ArmsPolicy.__post_init__(self)
        RenyiPolicy.__post_init__(self)
        positive("optimism", self.optimism)

    @property
    def noise_of_total(self) -> float:
        """s: the standard deviation of the noise of one total."""
        if self.calibration == "published":
            return self.published_scale
        return self.scale_for(lambda scale: SegmentsEvent(scale, self.reward_range))

    @abstractmethod
    def _index(self) -> tuple[Any, str]:
        """The index, and what the card says of it."""

    def plan(self, sampler: str = "double") -> Plan:
        scale = self.noise_of_total
        if sampler != "secure":
            return self._plan(scale, self.for_unit(SegmentsEvent(scale, self.reward_range)))
        laid = self.calibrate_total(lambda scale: SegmentsEvent(scale, self.reward_range), scale)
        return self._plan(laid.scale, laid.event, laid=laid)

    def _plan(self, scale: float, event: Event, **rest: Any) -> Plan:
        index, note = self._index()
        return index_plan(
            self,
            index,
            optimism=self.optimism,
            scale=scale,
            event=event,
            guarantee=self.priced(event),
            assumptions=(PUBLIC, ONE_REWARD),
            notes=(note,),
            **rest,
        )

    def _optimism_note(self) -> str:
        if self.optimism > 3:
            return f"beta = {self.optimism:g}: the regret theorem holds for beta above 3 and rewards in [0, 1]."
        return f"beta = {self.optimism:g}: no regret theorem holds, which asks for beta above 3. Privacy is the same."


@dataclass(frozen=True, kw_only=True)
class RenyiUCB(_GaussianIndexPolicy):
    """AdaR-UCB: an upper-confidence policy whose choices reveal almost nothing of any one reward.

    An arm is played for as long as all its episodes before together; then the total of that episode alone is published
    with Gaussian noise of standard deviation s, drawn once and kept, and its mean m enters the index

        m + √((Δ²/2n + 2s²/n²)·β·ln(t + 1)),   n = 1, 1, 2, 4, 8, …

    until the arm's next episode ends. Everything older is forgotten; the episode that the end of the run cuts off is
    never published.

    Formal guarantee: all actions together are μ-GDP in the rewards, μ = Δ/s, for one replaced reward (or all of one
    person, `person_rounds=k`): ρ-zCDP with ρ = μ²/2, (α, ρα)-RDP for every α at once, and (ε, δ) on the exact curve. It
    holds for every finite reward; those outside the interval are clipped before they are summed. Contexts, actions and
    the number of rounds are not protected.

    `calibration="published"` draws the paper's noise √(α/2ε), stated for rewards in [0, 1]; the card says what it gives
    for yours. Needs no horizon. Azize and Basu, *Rényi differentially private bandits*, Algorithm 2; privacy is proved
    in mechanisms/episode/proof.md.
    """

    slug: ClassVar[str] = "renyi-ucb"
    summary: ClassVar[str] = "AdaR-UCB: arms in doubling episodes, one noised total each"
    needs: ClassVar[str] = "the interval of rewards"

    @classmethod
    def examples(cls, dim: int) -> tuple[RenyiUCB, ...]:
        return (
            cls(arms=dim, rho=0.1),
            cls(arms=dim, epsilon=1.0, delta=1e-6, reward_low=-1.0, reward_high=3.0, optimism=1.0, person_rounds=2),
            cls(arms=dim, alpha=2.0, epsilon=0.1, calibration="published", reward_high=2.0),
        )

    def _index(self) -> tuple[Any, str]:
        return UCBIndex(), self._optimism_note()


@dataclass(frozen=True, kw_only=True)
class Episodic(_GaussianIndexPolicy):
    """Any index policy over K arms, made private by doubling, forgetting and noise once per episode.

    `index` names one of ours, "ucb1" (then it is `RenyiUCB`) or "kl-ucb", or is a NamedTuple of your own for which a
    kernel is registered with `implements(upper_bound, YourIndex)`: it is given the noised mean, how many rewards are in
    it and the noise's scale, and nothing else, so nothing it does can cost privacy.

    Formal guarantee: as for `RenyiUCB`; the index is post-processing. There is a regret theorem for "ucb1" alone.
    """

    slug: ClassVar[str] = "episodic"
    summary: ClassVar[str] = "any index policy made private by episodes: UCB1, KL-UCB or your own"
    needs: ClassVar[str] = "the interval of rewards"

    index: Any = option('"ucb1", "kl-ucb", or a NamedTuple with a kernel for `upper_bound`', "kl-ucb")

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.index, str):
            one_of("index", self.index, INDICES)
        elif not isinstance(self.index, tuple) or not hasattr(self.index, "_fields"):
            raise BadInput(
                f'Expected index to be "ucb1", "kl-ucb" or a NamedTuple with a kernel for upper_bound, got '
                f"{type(self.index).__name__}."
            )

    @classmethod
    def examples(cls, dim: int) -> tuple[Episodic, ...]:
        return (cls(arms=dim, rho=0.1, index="kl-ucb"),)

    def _index(self) -> tuple[Any, str]:
        index = INDICES[self.index] if isinstance(self.index, str) else self.index
        note = self._optimism_note() if self.index == "ucb1" else "No regret theorem is known for this index here."
        return index, note
