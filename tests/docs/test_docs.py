"""The documentation is held to the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tacit
from tacit.policies.catalogue import CATALOGUE, FUNCTIONS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def python_blocks(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.S)


#: Runs files one after the other, each in a namespace of its own, and says where the output of each begins.
RUNNER = """
import runpy, sys
for path in sys.argv[1:]:
    print("@@", path)
    runpy.run_path(path, run_name="__main__")
"""
FOLDERS = sorted({page.parent for page in PAGES if python_blocks(page)})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_python_example_runs(folder, tmp_path):
    """One process per folder: starting one takes longer than most examples."""
    scripts = {}
    for page in PAGES:
        for number, block in enumerate(python_blocks(page) if page.parent == folder else []):
            script = tmp_path / f"{page.stem}_{number}.py"
            script.write_text(block, "utf-8")
            scripts[str(script)] = page
    command = [sys.executable, "-c", RUNNER, *scripts]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr
    outputs = dict(part.split("\n", 1) for part in done.stdout.split("@@ ")[1:])
    assert list(outputs) == list(scripts)
    for script, output in outputs.items():
        if scripts[script].name == "README.md":
            assert output.strip() in README, "README shows another output than the example prints"


def test_the_readme_shows_both_commands_with_their_output():
    for command in ("make demo", "make test"):
        assert f"    {command}\n" in README
    assert "joint-linucb releases=tree" in README
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


def test_every_mechanism_has_its_proof_beside_it():
    rooms = [path.parent for path in (ROOT / "src/tacit/mechanisms").glob("*/__init__.py")]
    assert rooms
    for room in rooms:
        assert "μ" in (room / "proof.md").read_text("utf-8")


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
