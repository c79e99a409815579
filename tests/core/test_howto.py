"""The page on production runs as it stands, and does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tacit
from tacit.errors import Moved

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "run-in-production.md"


def test_the_page_on_production_does_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "page"}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S):
        exec(compile(block, PAGE.name, "exec"), scope)
    said = capsys.readouterr().out
    assert "its first reward, or its expiry, counted" in said
    assert "10 expired, 10 still open" in said
    assert "not private, do not publish" in said
    assert "with 2 copies priced together" in said
    assert "one person with at most 5 rounds" in said
    assert [found.name for found in tmp_path.iterdir()] == ["learner.tacit"]
    found = scope["learner"].diagnostics()
    assert (found.rows, found.expired, found.pending, found.people) == (91, 10, 9, 30)


def test_every_name_the_page_uses_exists():
    text = PAGE.read_text("utf-8")
    for name in re.findall(r"tacit\.errors\.(\w+)", text):
        assert hasattr(tacit.errors, name)
    for name in re.findall(r"learner\.(\w+)\(", text):
        assert hasattr(tacit.Learner, name)
    assert Moved.__name__ in text
    with pytest.raises(AttributeError):
        tacit.no_such_name  # noqa: B018
