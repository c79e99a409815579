"""The documentation is held to the code."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import tacit
from tacit.policies.catalogue import CATALOGUE, FUNCTIONS
from tacit.privacy import Trust

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


OUTPUTS = runpy.run_path(str(ROOT / "docs" / "outputs.py"))
#: Their examples read data from packages that need not be installed.
SPECIAL = [page for page in PAGES if OUTPUTS["NEEDS"].search(page.read_text("utf-8"))]
USUAL = [page for page in PAGES if page not in SPECIAL]
FOLDERS = sorted({page.parent for page in USUAL if OUTPUTS["EXAMPLE"].search(page.read_text("utf-8"))})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_python_example_runs(folder, tmp_path):
    """One process per folder: starting one takes longer than most examples."""
    printed = OUTPUTS["run_examples"]([page for page in USUAL if page.parent == folder], tmp_path)
    assert printed
    for page, outputs in printed.items():
        text = page.read_text("utf-8")
        if page == ROOT / "README.md":
            for output in outputs:
                assert output.strip() in text, "README shows another output than the example prints"
        if page.name == "tutorial.md":
            assert OUTPUTS["with_outputs"](text, outputs) == text, "run python docs/outputs.py docs/tutorial.md"


@pytest.mark.parametrize("page", SPECIAL, ids=lambda page: page.stem)
def test_a_page_on_a_real_problem_shows_what_its_examples_print(page, tmp_path):
    package = OUTPUTS["missing"](page)
    if package is not None:
        pytest.skip(f"{package} is not installed: `pip install --no-deps {package}`")
    [outputs] = OUTPUTS["run_examples"]([page], tmp_path).values()
    text = page.read_text("utf-8")
    assert OUTPUTS["with_outputs"](text, outputs) == text, f"run python docs/outputs.py docs/how-to/{page.name}"


def test_a_page_that_needs_a_package_is_told_from_one_that_does_not(tmp_path):
    page = tmp_path / "page.md"
    for text, expected in (
        ("<!-- examples need numpy -->\n", None),
        ("<!-- examples need no_such_package -->\n", "no_such_package"),
        ("Examples need a package.\n", None),
    ):
        page.write_text(text, "utf-8")
        assert OUTPUTS["missing"](page) == expected
    assert len(SPECIAL) == 2


def test_an_output_that_is_not_what_was_printed_is_noticed():
    page = "A sum.\n\n```python\nprint(1 + 1)\n```\n\n```\n3\n```\n\n```python\nx = 1\n```\n"
    assert OUTPUTS["with_outputs"](page, ["3\n", ""]) == page
    assert "```\n2\n```" in OUTPUTS["with_outputs"](page, ["2\n", ""])
    assert "```\nmore\n```" in OUTPUTS["with_outputs"](page, ["3\n", "more\n"])


def test_the_readme_shows_both_commands_with_their_output():
    for command in ("make demo", "make test"):
        assert f"    {command}\n" in README
    assert "page    demo/sphere/report.html" in README
    assert re.search(r"\d+ passed", README)
    assert "@@" not in README


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+?)\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_policy_has_its_page_of_guarantees():
    for slug, kind in {**CATALOGUE, **FUNCTIONS}.items():
        page = (ROOT / "docs" / "guarantees" / f"{slug}.md").read_text("utf-8")
        assert f"tacit.{kind.__name__}" in page


def test_the_table_of_guarantees_says_what_the_policies_say():
    text = (ROOT / "docs" / "guarantees" / "README.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| \[([a-z0-9-]+)\]\(\1\.md\) \| (.*)$", text, re.M))
    every = {**CATALOGUE, **FUNCTIONS}
    assert set(rows) == {slug for slug, kind in every.items() if kind.trust is not Trust.NONE}
    for slug, kind in every.items():
        if slug not in rows:
            assert f"[{slug}]({slug}.md)" in text
            continue
        trust, protects, unit, promised, _ = rows[slug].split(" | ")
        assert (trust, protects) == (kind.trust.value, kind.protects.value), slug
        names = kind.__dataclass_fields__
        assert ("person" in unit) == ("person_rounds" in names), slug
        assert ("ρ" in promised) == ("rho" in names), slug
        assert ("δ" in promised) == ("delta" in names), slug


def test_the_index_names_every_page_that_a_reader_may_look_for():
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    for page in [
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs").glob("how-to/*.md"),
        *(ROOT / "docs").glob("guarantees/*.md"),
    ]:
        if page != ROOT / "docs" / "README.md":
            assert f"]({page.relative_to(ROOT / 'docs').as_posix()})" in index, page.name


def test_every_mechanism_has_its_proof_beside_it():
    rooms = [path.parent for path in (ROOT / "src/tacit/mechanisms").glob("*/__init__.py")]
    assert rooms
    for room in rooms:
        assert "μ" in (room / "proof.md").read_text("utf-8")


def test_every_counter_has_its_proof_beside_it():
    counters = {path for path in (ROOT / "src/tacit/counters").glob("*.py") if "publish" in path.read_text("utf-8")}
    without = {path.stem for path in counters if not path.with_suffix(".md").exists()}
    # The verbs themselves; sums as they are; batches, whose proof is that of the shuffle protocol.
    assert without == {"__init__", "counter", "exact", "batches"}
    for path in counters:
        if path.stem not in without:
            assert "μ" in path.with_suffix(".md").read_text("utf-8"), path.name


def test_every_public_name_is_documented():
    for name in tacit.__all__:
        if name != "__version__":
            assert getattr(tacit, name).__doc__, name


def test_decisions_are_numbered_without_gaps():
    numbers = sorted(int(path.name[:4]) for path in (ROOT / "docs" / "decisions").glob("*.md"))
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_version_is_the_same_everywhere():
    assert f"## {tacit.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"version: {tacit.__version__}" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_constraints_pin_versions_and_record_no_address():
    lines = (ROOT / "constraints.txt").read_text("utf-8").split()
    assert lines
    for line in lines:
        assert re.fullmatch(r"[A-Za-z0-9_.\-]+==[A-Za-z0-9_.+\-]+", line), line
