"""The site: made without a warning, every page reached, nothing fetched."""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
import runpy
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path

import pytest

import tacit
from tacit.cli.parser import parser
from tacit.policies.catalogue import CATALOGUE, FUNCTIONS

pytest.importorskip("sphinx", reason="the site needs the extra docs")

ROOT = Path(__file__).parents[2]


class Page(HTMLParser):
    """What a page fetches by itself, and where its links lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "a":
            self.links.append(given.get("href") or "")
        elif tag == "link" and given.get("rel") not in ("index", "search", "next", "prev", "canonical"):
            self.fetched.append(given.get("href") or "")
        else:
            self.fetched += [given[name] for name in ("src", "srcset", "data", "poster") if given.get(name)]


def make_site(*words: str) -> str:
    """What the program says. It is quiet on the error stream unless there is a warning, and a warning is an error."""
    command = [sys.executable, str(ROOT / "docs" / "make_site.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert not done.stderr.strip(), done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    made = tmp_path_factory.mktemp("docs") / "site"
    assert "index.html" in make_site(str(made))
    return made


def test_the_site_could_be_made_without_a_warning():
    """Reads all pages and looks up all references; the tests below, which write the site, take thrice as long."""
    make_site("--check")


def test_docstrings_become_what_they_look_like():
    to_rst = runpy.run_path(str(ROOT / "docs" / "docstrings.py"))["to_rst"]
    text = [
        "The norm |x|, `code`s and *other* people; θ_k.",
        "",
        "    a * b",
        "",
        "- one",
        "  more",
        "- two",
        "",
        ">>> 1",
        "1",
    ]
    assert to_rst(text) == [
        "The norm \\|x\\|, ``code``\\ s and *other* people; θ\\_k.",
        "",
        "::",
        "",
        "    a * b",
        "",
        "- one",
        "  more",
        "",
        "- two",
        "",
        ">>> 1",
        "1",
        "",
    ]


def test_a_link_that_leads_nowhere_stops_the_build(tmp_path):
    tools = runpy.run_path(str(ROOT / "docs" / "make_site.py"))
    page = ROOT / "docs" / "README.md"
    moved = tools["_relink"](page, "index.md", tools["places"](), tmp_path)
    assert "](guarantees/index.md)" in moved
    assert "](overview.md)" in moved
    broken = tmp_path / "page.md"
    broken.write_text("[nowhere](nowhere.md)", "utf-8")
    with pytest.raises(SystemExit, match="leads nowhere"):
        tools["_relink"](broken, "page.md", {}, tmp_path)


@pytest.mark.long
def test_every_page_can_be_reached_and_no_link_is_broken(site):
    every = {path.relative_to(site).as_posix(): Page(path.read_text("utf-8")) for path in site.rglob("*.html")}
    reached, ahead = set(), ["index.html"]
    while ahead:
        name = ahead.pop()
        if name in reached:
            continue
        reached.add(name)
        for link in every[name].links:
            target = link.partition("#")[0]
            if not target or "://" in target or target.startswith("mailto:"):
                continue
            path = ((site / name).parent / target).resolve()
            assert path.exists(), f"{name} leads to {target}"
            if path.suffix == ".html":
                ahead.append(path.relative_to(site).as_posix())
    unlinked = {"search.html", "genindex.html", "py-modindex.html"}
    assert set(every) - reached <= unlinked
    written = list((ROOT / "docs").rglob("*.md"))
    assert len(reached) > len(written)
    for page in written:
        name = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix().replace("README", "index")
        assert name in reached, name


@pytest.mark.long
def test_the_site_fetches_nothing(site):
    for path in site.rglob("*.html"):
        for source in Page(path.read_text("utf-8")).fetched:
            assert not re.match(r"(https?:)?//", source), f"{path.name} fetches {source}"
    for path in site.rglob("*.css"):
        for source in re.findall(r"(?:url\(|@import\s+)[\"']?([^\"')]+)", path.read_text("utf-8")):
            assert not re.match(r"(https?:)?//", source), f"{path.name} fetches {source}"


@pytest.mark.long
def test_everything_public_is_in_the_reference(site):
    inventory = (site / "objects.inv").read_bytes()
    listed = zlib.decompress(inventory.split(b"\n", 4)[4]).decode()
    names = {line.split(" ", 1)[0] for line in listed.splitlines()}
    values = {"calibrations", "explorations", "releases"}
    modules = {"adapters", "environments", "errors", "features", "kernels", "reproduce", *values}
    for name in set(tacit.__all__) - modules - {"__version__"}:
        assert f"tacit.{name}" in names, name
    for module in ("environments", "privacy", *values):
        for name in importlib.import_module(f"tacit.{module}").__all__:
            if name[0].isupper() and not name.isupper():
                assert f"tacit.{module}.{name}" in names or f"tacit.{name}" in names, name


@pytest.mark.long
def test_every_command_and_every_option_is_in_the_reference(site):
    text = (site / "reference" / "command-line.html").read_text("utf-8")
    commands = next(action.choices for action in parser()._actions if isinstance(action.choices, dict))
    for command in commands:
        assert f'id="tacit-{command}"' in text
    for slug, kind in {**CATALOGUE, **FUNCTIONS}.items():
        page = (site / "reference" / "policies" / f"{slug}.html").read_text("utf-8")
        for field in dataclasses.fields(kind):
            assert f"--{field.name.replace('_', '-')}" in page, (slug, field.name)


@pytest.mark.long
def test_the_search_knows_the_pages(site):
    text = (site / "searchindex.js").read_text("utf-8")
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    assert {"tutorial", "guarantees/joint-linucb", "proofs/tree", "changelog"} <= set(index["docnames"])
