"""What a `ShuffleLinUCB` plan says of itself: on the card, and to a device."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tacit.privacy.guarantee import Guarantee, round_up

if TYPE_CHECKING:
    from tacit.policies.shuffle_linucb import ShuffleLinUCB
    from tacit.policies.shuffle_linucb.noise import Noise


def scales(config: ShuffleLinUCB, noise: Noise) -> dict[str, float]:
    """Noise besides that of a batch's sum."""
    batches = max(1, config.horizon // config.batch_size)
    found = {"sums of all batches": noise.deviation * math.sqrt(batches)}
    if not noise.counts:
        found["each report"] = noise.scale
    return found


def noise_terms(noise: Noise) -> dict[str, float]:
    """The numbers a device needs to make its noise."""
    if not noise.counts:
        return {"scale": noise.scale}
    grid = noise.grid
    return {
        "steps": grid.steps,
        "step": grid.step,
        "offset": grid.offset,
        "ones": float(noise.each),
        "probability": noise.probability,
    }


def assumptions(config: ShuffleLinUCB) -> tuple[str, ...]:
    """What the guarantee needs, and what it does not."""
    if config.promise is None:
        return ()
    batch, honest = config.batch_size, config.honest_people
    followed = (
        "Everybody in a batch adds the noise of the protocol (honest=1)."
        if honest == batch
        else f"At least {honest:,} of the {batch:,} people in every batch add the noise of the protocol "
        f"(honest={config.honest:g}); of the others nothing is assumed."
    )
    return (
        *config.said_of_bounds(),
        f"A shuffler mixes {batch:,} reports at a time, hands on full batches only, and keeps who sent what to itself.",
        followed,
        "Who reports, and when, does not depend on what is in the report.",
    )


def notes(config: ShuffleLinUCB, noise: Noise, guarantee: Guarantee) -> tuple[str, ...]:
    """What a reader should know besides the promise."""
    said = []
    if config.calibration == "script":
        said.append(
            "UNCERTIFIED: the noise of a public script, which no theorem covers. No privacy is promised; use it to "
            "reproduce figures, not for people."
        )
    elif config.calibration == "published":
        proved = guarantee.epsilon_at(config.delta)
        said.append(
            'Published constants: they keep what they claim. calibration="exact" keeps it with less noise.'
            if proved <= config.epsilon
            else f"Published constants: nothing proved here shows their claim. The true epsilon is at most "
            f'{round_up(proved, 4)}, as far as is known; calibration="exact" keeps the promise.'
        )
    if guarantee.theorem is not None:
        said.append(f"Priced by: {guarantee.theorem.source}.")
    said.append(
        f"The view changes once per batch, {config.horizon // config.batch_size:,} times in all; in the first batch "
        "arms are drawn evenly."
    )
    said.append(
        {
            "theory": "The width is proved: in every view the true parameter lies in the confidence set, with "
            f"probability {1 - config.failure_probability:g} for all views together.",
            "script": "The width is that of a public script: a heuristic, without a theorem; privacy is unaffected.",
            "least-squares": "The width is a heuristic of ours, without a theorem; privacy is unaffected.",
        }[config.rule]
    )
    if config.multiplier != 1:
        said.append(
            f"Width multiplied by {config.multiplier:g}: no guarantee on the confidence set; privacy is unaffected."
        )
    return tuple(said)
