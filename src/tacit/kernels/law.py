"""The laws of contexts that have a name: public, like the box they fill."""

from __future__ import annotations

import re
from typing import Any

from tacit._validate import positive
from tacit.errors import BadInput

_BETA = re.compile(r"beta\(\s*([\d.eE+-]+)\s*[,;]\s*([\d.eE+-]+)\s*\)")


def beta_of(contexts: Any) -> tuple[float, float]:
    """a and b of the Beta distribution that a name gives to every coordinate, in units of its side: "uniform" is
    (1, 1), "beta(2,5)" is (2, 5)."""
    if contexts == "uniform":
        return 1.0, 1.0
    found = _BETA.fullmatch(contexts) if isinstance(contexts, str) else None
    try:
        first, second = (float(word) for word in found.groups()) if found else (0.0, 0.0)
    except ValueError:
        found = None
    if found is None:
        raise BadInput(f'Expected contexts to be "uniform" or like "beta(2,5)", got contexts={contexts!r}.')
    return positive("a of beta(a,b)", first), positive("b of beta(a,b)", second)
