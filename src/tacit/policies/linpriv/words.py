"""What a `LinPriv` plan says of itself on the card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.policies._rewards import ONE_REWARD, PUBLIC

if TYPE_CHECKING:
    from tacit.policies.linpriv import LinPriv

HORIZON_HINT = "start a new epoch (its budget adds) or plan for a longer horizon."


def assumptions(config: LinPriv) -> tuple[str, ...]:
    """What the guarantee needs, and what it does not."""
    unit = (
        "The unit is the round: somebody with several rounds has several times the exposure."
        if config.person_rounds is None
        else f"The unit is the person: at most {config.person_rounds} rewards of a person are learned. Whoever calls "
        "`learn` names the same person by the same id."
    )
    return (
        PUBLIC,
        ONE_REWARD,
        f"Contexts longer than {config.action_norm:g} are scaled to it and rewards outside [{config.reward_low:g}, "
        f"{config.reward_high:g}] are clipped before they are summed, so the guarantee needs no assumption on them.",
        "An action is the context of one arm in that arm's block of features, and zero elsewhere; of anything else the "
        "first block that is not zero counts.",
        "Rows are learned in the order of decisions, whatever came of them, and a reward counts once. A caller of "
        "`learn` calls it once for each choice.",
        f"At most {config.horizon:,} rounds; then the learner refuses.",
        unit,
    )


def notes(config: LinPriv) -> tuple[str, ...]:
    """What a reader should know besides the promise."""
    said = [
        "OUR READING of Neel and Roth (2018), from what others write of it: a tree of reward sums for each arm, and "
        "optimism on each arm apart. Constants are ours."
    ]
    if config.width_kind == "published":
        said.append(
            "The published form of the width weighs all noise by the norm of the context in the inverse Gram matrix: "
            "valid, and the cost of privacy grows like the square root of the rounds. "
            'width="gram" is never wider.'
        )
    if config.width_factor != 1:
        said.append(
            f"Width multiplied by {config.width_factor:g}: no guarantee on the confidence set; privacy is unaffected."
        )
    return tuple(said)
