"""The table of slips fits the sources and the tests as they are."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.mutants.table import MUTANTS

ROOT = Path(__file__).parents[2]


@cache
def names_in(path: Path) -> frozenset[str]:
    return frozenset(node.name for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_slip_can_be_made_and_would_be_looked_for(mutant):
    text = (ROOT / "src" / "tacit" / mutant.file).read_text("utf-8")
    assert text.count(mutant.old) == 1
    assert mutant.old != mutant.new
    compile(text.replace(mutant.old, mutant.new), mutant.file, "exec")
    assert mutant.tests
    for test in mutant.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).is_file(), path
        assert not name or name.partition("[")[0] in names_in(ROOT / path), test


def test_every_slip_has_a_name_of_its_own_and_there_are_many():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 190
