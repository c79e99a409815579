"""What the documentation shows of cards is what is printed."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from tacit.cli import main

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("errata.md", "how-to/read-the-card.md")
SHOWN = re.compile(r"^    \$ (.+)\n((?:    (?!\$ ).*\n)*)", re.M)


def examples() -> list[tuple[str, str, list[str]]]:
    """Page, command and the lines shown under it."""
    found = []
    for page in PAGES:
        for command, lines in SHOWN.findall((DOCS / page).read_text("utf-8")):
            found.append((page, command, [line.strip() for line in lines.splitlines()]))
    return found


def printed(command: str) -> str:
    """What a command prints, with its spaces made single."""
    words = shlex.split(command)
    target = words[words.index(">") + 1] if ">" in words else None
    words = words[: words.index(">")] if target else words
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        if words[0] == "tacit":
            main(words[1:])
        else:
            assert words[:2] == ["python", "-c"]
            exec(words[2], {})
    if target:
        Path(target).write_text(out.getvalue(), "utf-8")
    return " ".join(out.getvalue().split())


def test_there_are_examples_on_every_page():
    assert {page for page, _, _ in examples()} == set(PAGES)


@pytest.mark.filterwarnings("ignore")  # a peer that is compared with may warn
@pytest.mark.parametrize("page", PAGES)
def test_every_command_prints_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _, command, lines in (one for one in examples() if one[0] == page):
        text = printed(command)
        for line in lines:
            assert " ".join(line.split()) in text, (command, line, text)


def test_every_row_of_the_errata_says_what_shows_it():
    rows = [line for line in (DOCS / "errata.md").read_text("utf-8").splitlines() if line.startswith("| ")]
    letters = set(re.findall(r"^\(([a-z])\)", (DOCS / "errata.md").read_text("utf-8"), re.M))
    assert len(rows) > 50
    for row in rows:
        shown = re.split(r"(?<!\\)\|", row)[3]
        assert shown.strip() not in ("", "–"), row
        assert set(re.findall(r"\(([a-z])\)", shown)) <= letters, row
    for name in re.findall(r"`(tests/[\w/]+\.py)", " ".join(rows)):
        assert (DOCS.parent / name).exists(), name
