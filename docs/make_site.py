"""`make docs`: the pages of this folder, the proofs and the reference as a site that needs no network.

    python docs/make_site.py site       writes the site
    python docs/make_site.py --check    says whether it could, and writes nothing

Pages are written to be read where they lie, with relative links. They are copied together first, each link pointed at
where its page went, and Sphinx makes HTML of the copy: so nothing is generated into this folder.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from os.path import relpath
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent

_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_FENCE = re.compile(r"(^```.*?^```[^\S\n]*$)", re.S | re.M)
#: What the sidebar shows, in order: a heading, and pages or folders of them.
SIDEBAR: dict[str, tuple[str, ...]] = {
    "Start": ("Overview <overview>", "tutorial", "environments", "online-learners", "protocol"),
    "How to": (
        "how-to/choose-epsilon",
        "how-to/use-your-own-table",
        "how-to/evaluate-on-a-log",
        "how-to/run-in-production",
        "how-to/read-the-card",
        "how-to/audit-a-policy",
        "how-to/*",
    ),
    "Promises": ("guarantees/index", "what-is-public", "what-voids-the-promise", "proofs/index", "errata"),
    "Reference": ("reference/index",),
    "Evidence": ("results/index",),
    "The project": ("the-house", "decisions/index", "contributing", "changelog"),
}


def places() -> dict[Path, str]:
    """Where each page of the repository goes in the site."""
    found = {path: path.relative_to(DOCS).as_posix() for path in sorted(DOCS.rglob("*.md"))}
    found = {path: re.sub(r"README\.md$", "index.md", place) for path, place in found.items()}
    for path in sorted((ROOT / "src/tacit/mechanisms").glob("*/proof.md")):
        found[path] = f"proofs/{path.parent.name.replace('_', '-')}.md"
    for room in ("counters", "estimators", "noise"):
        for path in sorted((ROOT / "src/tacit" / room).glob("*.md")):
            found[path] = f"proofs/{path.name}"
    found[ROOT / "src/tacit/preparation.md"] = "proofs/preparation.md"
    found[ROOT / "README.md"] = "overview.md"
    found[ROOT / "CHANGELOG.md"] = "changelog.md"
    found[ROOT / "CONTRIBUTING.md"] = "contributing.md"
    found[ROOT / "clients/javascript/README.md"] = "device-in-javascript.md"
    return found


def stage(into: Path) -> None:
    """Copy everything together: pages with their links, generated pages, and the tables of contents."""
    from generate import pages  # beside this file

    written: dict[str, str] = {}
    where = places()
    for path, place in where.items():
        written[place] = _relink(path, place, where, into)
    for place, text in pages().items():
        # A page of the folder comes first; what is generated for the same place goes below it.
        written[place] = f"{written[place]}\n{text}" if place in written else text
    for folder, title in (("decisions", "Decisions"), ("proofs", "Proofs")):
        place = f"{folder}/index.md"
        written.setdefault(place, _listing(title, folder, written))
    for place in [place for place in written if place.endswith("/index.md")]:
        written[place] += _toctree(_children(place, written))
    for caption, entries in SIDEBAR.items():
        written["index.md"] += _toctree(entries, caption)
    written["protocol.md"] += _toctree(["device-in-javascript"])
    for place, text in written.items():
        (into / place).parent.mkdir(parents=True, exist_ok=True)
        (into / place).write_text(text, "utf-8")
    for name in ("conf.py", "docstrings.py"):
        shutil.copy(DOCS / name, into / name)
    for folder in ("_static", "images"):
        shutil.copytree(DOCS / folder, into / folder)


def build(into: Path) -> int:
    """The site in the folder `into`; a warning is an error. Returns Sphinx's exit code."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made"
        failed = _sphinx(Path(folder), made, "html")
        if not failed:
            # A site that could not be built leaves the one there was.
            shutil.rmtree(into, ignore_errors=True)
            shutil.copytree(made, into, ignore=shutil.ignore_patterns(".buildinfo"))
    return failed


def check() -> int:
    """Whether the site could be built: everything is read and every reference looked up, and nothing is written."""
    with tempfile.TemporaryDirectory() as folder:
        return _sphinx(Path(folder), Path(folder) / "made", "dummy")


def _sphinx(folder: Path, made: Path, builder: str) -> int:
    from sphinx.cmd.build import main

    source = folder / "pages"
    source.mkdir()
    stage(source)
    words = ["-b", builder, "-q", "-W", "--keep-going", "-j", "auto", "-d", str(folder / "doctrees")]
    return main([*words, str(source), str(made)])


def _relink(path: Path, place: str, where: dict[Path, str], into: Path) -> str:
    """The text of a page, its links pointed at where their pages went."""

    def moved(link: re.Match[str]) -> str:
        target = link.group(2)
        if "://" in target:
            return link.group()
        found = (path.parent / target).resolve()
        if not found.exists():
            raise SystemExit(
                f"{path}: the link to {target} leads nowhere. Links are relative to the page they stand on."
            )
        if found.is_dir():
            goal = f"{found.relative_to(DOCS).as_posix()}/index.md"
        elif found in where:
            goal = where[found]
        elif found.is_relative_to(DOCS):
            goal = found.relative_to(DOCS).as_posix()
        else:
            # A file that is no page is there to be downloaded.
            goal = f"files/{found.name}"
            (into / goal).parent.mkdir(exist_ok=True)
            shutil.copy(found, into / goal)
        return link.group(1) + relpath(goal, Path(place).parent) + link.group(3)

    parts = _FENCE.split(path.read_text("utf-8"))
    return "".join(part if part.startswith("```") else _LINK.sub(moved, part) for part in parts)


def _children(index: str, written: dict[str, str]) -> list[str]:
    """What lies in the folder of an index: folders that have an index of their own, and pages."""
    folder = Path(index).parent
    found = []
    for place in sorted(written):
        within = Path(place)
        if within.parent == folder and place != index:
            # Beside each other, "joint-linucb" says as much as "joint-linucb: what is promised".
            short = f"{within.stem} <{within.stem}>" if folder.name == "guarantees" else within.stem
            found.append(short)
        elif within.name == "index.md" and within.parent.parent == folder:
            found.append(f"{within.parent.name}/index")
    return found


def _toctree(entries: Sequence[str], caption: str = "") -> str:
    if not entries:
        return ""
    head = f":caption: {caption}\n" if caption else ""
    glob = ":glob:\n" if any("*" in entry for entry in entries) else ""
    return f"\n```{{toctree}}\n:hidden:\n{head}{glob}\n" + "\n".join(entries) + "\n```\n"


def _listing(title: str, folder: str, written: dict[str, str]) -> str:
    """A page for a folder that has none of its own: the headings of what is in it."""
    text = f"# {title}\n\n"
    for place in sorted(place for place in written if Path(place).parent == Path(folder)):
        heading = written[place].split("\n", 1)[0].removeprefix("# ")
        text += f"- [{heading}]({Path(place).name})\n"
    return text


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("Expected the folder for the site or --check, as in: python docs/make_site.py site")
    if sys.argv[1] == "--check":
        raise SystemExit(check())
    sys.stdout.write("Making the site: about half a minute.\n")
    sys.stdout.flush()
    goal = Path(sys.argv[1])
    if build(goal):
        raise SystemExit(1)
    sys.stdout.write(f"site    {goal}/index.html\n")
