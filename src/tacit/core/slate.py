"""The actions on offer in one round, as columns, with room to score them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit._types import Floats
from tacit.linalg import BLAS_FROM


class Slate(NamedTuple):
    """K actions as the columns of a d×K array (so that scores of neighbouring arms are computed side by side)."""

    columns: Floats  # (dim, arms)
    scores: Floats  # (arms,)
    spread: Floats  # (arms,)
    scratch: Floats  # (max(arms, 2·dim),)
    product: Floats  # (dim, arms) where BLAS is worth it, else (1, 1)


def slate(dim: int, arms: int) -> Slate:
    """An empty slate."""
    product = np.zeros((dim, arms) if dim >= BLAS_FROM else (1, 1))
    return Slate(np.zeros((dim, arms)), np.zeros(arms), np.zeros(arms), np.zeros(max(arms, 2 * dim)), product)
