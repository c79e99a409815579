"""Tables of real data: reading them, refusing what cannot be used, and making public vectors of declared bounds.

Nothing in here is private. What is computed from a table is computed from raw data, and says so.
"""

from tacit.data.bundled import bundled
from tacit.data.preparing import NOT_PRIVATE, Prepared, Recipe, prepare
from tacit.data.ratings import movielens
from tacit.data.reading import BUNDLED, INSTALLED, Raw, read_table
from tacit.data.trial import actg175

_INSTALLED = {"actg175": actg175, "movielens": movielens}


def load(data: str) -> Raw:
    """The set of this name, or else the table in the file at this path."""
    if data in _INSTALLED:
        return _INSTALLED[data]()
    return bundled(data) if data in BUNDLED else read_table(data)


__all__ = [
    "BUNDLED",
    "INSTALLED",
    "NOT_PRIVATE",
    "Prepared",
    "Raw",
    "Recipe",
    "actg175",
    "bundled",
    "load",
    "movielens",
    "prepare",
    "read_table",
]
