"""What a `JointLinUCB` plan says of itself on the card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from tacit.policies.joint_linucb import JointLinUCB


def assumptions(config: JointLinUCB, limit: int) -> tuple[str, ...]:
    """What the guarantee needs, and what it does not."""
    handling = "refused" if config.strict else "clipped"
    return (
        f"Inputs with |x| > {config.action_norm:g} or |reward| > {config.reward_bound:g} are {handling} before they "
        "are summed, so the guarantee needs no assumption on the data.",
        "Whether and when a row arrives does not depend on what is in it: a reward that never comes is learned as "
        "a row of zeros, and a reward counts once.",
        f"At most {limit:,} rounds; then the learner refuses.",
        _unit(config),
    )


def _unit(config: JointLinUCB) -> str:
    if config.person_rounds is None:
        return "The unit is the round: somebody with several rounds has several times the exposure."
    spacing = ", and at most one of them between two releases" if config.one_row_per_segment else ""
    return (
        f"The unit is the person: at most {config.person_rounds} rows of a person are learned{spacing}; further ones "
        "are served and learned as zeros. Whoever calls `learn` names the same person by the same id."
    )


def notes(config: JointLinUCB, guarantee: Guarantee) -> tuple[str, ...]:
    """What a reader should know besides the promise."""
    said = []
    if config.calibration == "published":
        said += _published(config, guarantee)
    if config.releases == "geometric":
        ratio = float(config.release_ratio)
        said.append(
            "Geometric releases give up adversarially chosen contexts: a direction first seen inside a segment is "
            f"learned only when it ends (regret up to {1 - 1 / ratio:.1%} of the rounds)."
        )
    if config.window is not None:
        share = 1 - float(config.release_ratio) ** -config.window
        said.append(
            f"Only the last {config.window} segments are learned from: about the last {share:.0%} of all rounds so far."
        )
        if config.window < 2 * config.dim:
            said.append(
                f"A window below {2 * config.dim} segments (twice the number of features) explores too little: about "
                "one direction is tried per segment."
            )
    if config.prior is not None:
        said.append(
            f"Warm start from {config.prior.rows:,} rows declared public: they cost nothing and are not protected. The "
            "width stays proved only if they follow the same parameter and level of noise."
        )
    if config.exploration == "thompson":
        said.append("Thompson exploration costs no privacy and has no regret theorem here.")
    if config.width != "theory":
        said.append(f"Width multiplied by {config.width:g}: no guarantee on the confidence set; privacy is unaffected.")
    if config.noise_level is not None and config.noise_level < config.reward_bound:
        said.append("noise_level below reward_bound is the user's claim; only the width depends on it.")
    return tuple(said)


def _published(config: JointLinUCB, guarantee: Guarantee) -> list[str]:
    if guarantee.mu is None:
        return [
            "Published constants with Wishart noise: the claim rests on the paper's quoted theorem for one node, which "
            "is not proved again here. The true epsilon is not known."
        ]
    excess = config.promise.mu / guarantee.mu
    return [
        f"Published constants: {excess:.1f} times the noise that the same promise needs. "
        'calibration="exact" keeps it with the least.'
    ]
