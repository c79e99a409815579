"""The two things a kernel may ask of any source of randomness.

Both fill an array: a draw at a time would spend more on the call than on the number.
"""

from __future__ import annotations

from typing import Any

from tacit._kernel import verb
from tacit._types import Floats


@verb
def fill_normals(source: Any, out: Floats) -> None:
    """Fill `out` with independent standard normal numbers, never handed out again."""


@verb
def fill_uniforms(source: Any, out: Floats) -> None:
    """Fill `out` with independent numbers uniform on [0, 1), never handed out again."""
