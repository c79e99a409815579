"""Options that several policies share."""

from __future__ import annotations

import math
from typing import Any

from tacit._validate import positive, real, whole
from tacit.errors import BadInput
from tacit.estimators.prior import Prior

#: Failure probability α of the confidence sets where no horizon suggests one.
DEFAULT_FAILURE = 0.001
#: κ₁ of noise-aware widths: how many spreads an action's score is raised by. Privacy noise explores by itself; without
#: it a smaller number than 1 gets stuck on fixed lists of actions.
REACH, REACH_WITHOUT_NOISE = 0.5, 1.0
#: The same of a score that is drawn: the spread of the draw, in spreads.
REACH_OF_A_DRAW = 0.35


def failure_or_default(failure: float | None, horizon: int | None) -> float:
    """α: as given, else 1/horizon, else 0.001."""
    if failure is not None:
        return failure
    return DEFAULT_FAILURE if horizon is None else 1 / horizon


def width_multiplier(width: object) -> float:
    """1 for a proved width, else the number that multiplies it."""
    if width in ("theory", "split"):
        return 1.0
    return positive("width", width, hint='Use "theory" for the proved width.')


def width_word(width: object, *others: str) -> None:
    """Refuse what is no width: neither a word nor a multiple of the proved one."""
    if width not in ("noise-aware", "theory", *others):
        positive("width", width, hint='Use "theory" for the proved width, or "noise-aware".')


def check_shared(config: Any) -> None:
    """Refuse features of actions where arms have no parameters of their own, and where no width is known."""
    if config.shared is None:
        return
    whole("shared", config.shared)
    if config.arms is None:
        raise BadInput(
            f"Expected shared with arms only, got shared={config.shared} without. Say how many arms there are, or put "
            "the features into the actions."
        )
    if config.width != "noise-aware":
        raise BadInput(f'Expected width="noise-aware" with shared, got {config.width!r}: no other width is known.')


def check_interval(low: object, high: object) -> None:
    """Refuse what is no interval of rewards."""
    least, most = real("reward_low", low), real("reward_high", high)
    if not (least < most and math.isfinite(most - least)):
        raise BadInput(
            f"Expected reward_low < reward_high, got reward_low={least!r}, reward_high={most!r}. Rewards are clipped "
            "to this interval, and its length sets the noise."
        )


def check_prior(prior: Any, dim: int) -> Prior | None:
    """The prior, also from the dictionary it travels as; refused if it has another number of features."""
    if prior is None:
        return None
    found = Prior.from_dict(prior) if isinstance(prior, dict) else prior
    if not isinstance(found, Prior):
        raise BadInput(f"Expected prior to be a tacit.Prior, got {type(prior).__name__}. Use Prior.from_rows(…).")
    if found.dim != dim:
        raise BadInput(f"Expected a prior of {dim} features, got one of {found.dim}.")
    return found
