"""Tables of real data: reading them, refusing what cannot be used, and making public vectors of declared bounds.

Nothing in here is private. What is computed from a table is computed from raw data, and says so.
"""

from tacit.data.bundled import bundled
from tacit.data.preparing import NOT_PRIVATE, Prepared, Recipe, prepare
from tacit.data.reading import BUNDLED, Raw, read_table


def load(data: str) -> Raw:
    """The bundled set of this name, or else the table in the file at this path."""
    return bundled(data) if data in BUNDLED else read_table(data)


__all__ = ["BUNDLED", "NOT_PRIVATE", "Prepared", "Raw", "Recipe", "bundled", "load", "prepare", "read_table"]
