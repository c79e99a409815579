"""A table from a file: CSV or Parquet, with a fingerprint of its bytes."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tacit._validate import known
from tacit.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

#: The data sets that need no file.
BUNDLED = ("breast_cancer", "digits", "iris", "wine")
#: Those that another package brings with it.
INSTALLED = ("actg175", "movielens")
#: How the names of files that can be read end.
CSV, PARQUET = (".csv", ".csv.gz"), (".parquet", ".pq")
_KINDS = "a CSV file (.csv, .csv.gz) or a Parquet file (.parquet, .pq)"
#: How a Parquet file begins.
_MAGIC = b"PAR1"


@dataclass(frozen=True)
class Raw:
    """A table as it came. Its cells may be personal: they are in no repr and in no message."""

    name: str
    frame: pd.DataFrame = field(repr=False)
    fingerprint: str  #: SHA-256 of the data
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)  #: built in; of a file, none
    own: bool = True  #: somebody's file, and not a bundled set


def read_table(path: str | Path) -> Raw:
    """Read the table in a file. A file that has not changed since is not read again."""
    file = Path(path).expanduser()
    if not file.name.lower().endswith((*CSV, *PARQUET)):
        if not file.exists() and len(file.parts) == 1 and not file.suffix:
            known("data set", str(path), [*BUNDLED, *INSTALLED], see=f"Or give the path of {_KINDS}.")
        raise BadInput(f"Expected {_KINDS}, got {file.name!r}. Export the table as one of them.")
    if not file.is_file():
        raise BadInput(f"Expected {_KINDS}, got {str(path)!r}, which does not exist. Check the path.")
    facts = file.stat()
    return _read(str(file.resolve()), facts.st_mtime_ns, facts.st_size)


@lru_cache(maxsize=4)
def _read(path: str, changed: int, size: int) -> Raw:
    """`changed` and `size` are there for the cache: another file under the same name is another table."""
    import pandas as pd

    file = Path(path)
    parquet = file.name.lower().endswith(PARQUET)
    if parquet != _begins_like_parquet(file):
        found = "something else" if parquet else "a Parquet file"
        raise BadInput(f"Expected {file.name!r} to hold what its name says, got {found}. Rename or export it again.")
    try:
        if parquet:
            names = _parquet_names(file)
        else:
            # Column names as written: pandas would tell equal ones apart by a number, and nobody would notice.
            names = pd.read_csv(file, header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0].tolist()
        _refuse_repeated(file.name, names)
        frame = pd.read_parquet(file) if parquet else pd.read_csv(file)
    except BadInput:
        raise
    except (ValueError, OSError) as error:  # pandas' and pyarrow's own errors are of these kinds
        frame, kind = None, type(error).__name__
    if frame is None:
        # Their text may quote the cell that was in the way: only the kind is passed on, and not as a context either.
        raise BadInput(
            f"Expected {file.name!r} to be {_KINDS}, got a file that cannot be read ({kind}). "
            "A CSV file must be UTF-8, with a header and the same number of cells in every line."
        )
    frame.columns = [str(name) for name in frame.columns]
    return Raw(file.name, frame, _digest(file))


def _begins_like_parquet(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(_MAGIC)) == _MAGIC


def _parquet_names(file: Path) -> list[str]:
    import pyarrow.parquet

    names: list[str] = pyarrow.parquet.read_schema(file).names
    return names


def _refuse_repeated(file: str, names: list[str]) -> None:
    repeated = sorted(name for name, times in Counter(names).items() if times > 1)
    if repeated:
        raise BadInput(
            f"Expected every column of {file!r} to have a name of its own, got {', '.join(map(repr, repeated))} more "
            "than once. Rename them."
        )


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
