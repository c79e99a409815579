"""What tests of experiments share."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure


@pytest.fixture
def undrawn() -> Iterator[None]:
    """Figures are made and saved blank, for tests of runs and not of pictures: drawing is three quarters of their time.

    That every experiment draws what it says is tested in `test_experiments`.
    """
    yield from _blank({".png", ".svg"})


@pytest.fixture
def drawn_once() -> Iterator[None]:
    """The vector picture is real. The same figure in pixels is left blank: `tacit reproduce` draws one in the tests of
    the command line."""
    yield from _blank({".png"})


def _blank(endings: set[str]) -> Iterator[None]:
    draw = Figure.savefig

    def save(self: Figure, path: Path | io.StringIO, **options: Any) -> None:
        if isinstance(path, io.StringIO):
            # The stills of a page's charts, which tests/report draws: blank in every case.
            path.write("<svg></svg>")
        elif path.suffix in endings:
            path.write_text("<svg></svg>", "utf-8")
        else:
            draw(self, path, **options)

    with pytest.MonkeyPatch.context() as patch:  # of its own: tests undo theirs half-way
        patch.setattr(Figure, "savefig", save)
        yield
