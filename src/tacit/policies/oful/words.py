"""What a `RenyiOFUL` plan says of itself on the card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.policies._rewards import ONE_REWARD, PUBLIC

if TYPE_CHECKING:
    from tacit.policies.oful.renyi import RenyiOFUL

HORIZON_HINT = "start a new epoch (its budget adds) or plan for a longer horizon."


def assumptions(config: RenyiOFUL) -> tuple[str, ...]:
    """What the guarantee needs, and what it does not."""
    clipping = (
        f"Actions longer than {config.action_norm:g} are scaled to it and rewards outside [{config.reward_low:g}, "
        f"{config.reward_high:g}] are clipped before they are summed, so the guarantee needs no assumption on them."
    )
    unit = (
        "The unit is the round: somebody with several rounds has several times the exposure."
        if config.person_rounds is None
        else f"The unit is the person: at most {config.person_rounds} rewards of a person are learned; further "
        "rounds are served. Whoever calls `learn` names the same person by the same id."
    )
    scope = () if config.protects_contexts else (PUBLIC, ONE_REWARD)
    return (
        *scope,
        clipping,
        "Whether and when a row arrives does not depend on what is in it, and a reward counts once.",
        f"At most {config.horizon:,} rounds; then the learner refuses.",
        unit,
    )


def notes(config: RenyiOFUL, most: int) -> tuple[str, ...]:
    """What a reader should know besides the promise."""
    said = []
    if config.protects_contexts:
        said.append(
            "NO REGRET THEOREM: contexts are protected by releasing the Gram matrix with noise in every round, and the "
            "view that is played is replaced when the released determinant has grown. Its confidence set is proved; "
            "the analysis of rare switching does not carry over."
        )
    else:
        said.append(
            f"At most {most:,} releases, when the determinant of the public Gram matrix has grown by the factor "
            f"{1 + config.growth:g}; nothing is spent in between."
        )
    if config.calibration == "published":
        said.append(
            "Published constants: the paper states its noise for rewards in [-1, 1] and actions of norm 1. "
            "What it gives here is priced afresh."
        )
    if config.width_kind == "paper":
        said.append(
            "The paper's width assumes contexts drawn at random whose smallest eigenvalue is "
            f"{config.smallest_eigenvalue or 1 / config.dim:.4g}; its condition on their variance fails for uniform "
            'unit vectors, and the width is far too large for long. width="gram" needs neither.'
        )
    if config.width_factor != 1:
        said.append(
            f"Width multiplied by {config.width_factor:g}: no guarantee on the confidence set; privacy is unaffected."
        )
    return tuple(said)
