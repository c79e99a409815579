"""The examples of a page, run in order, and the outputs it shows for them.

    python docs/outputs.py docs/tutorial.md

writes into the page what its examples print. Every Python block that prints something is followed by a block without a
language that holds the output; a test fails when the two differ.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

#: A Python block, and the block of output right below it if there is one.
EXAMPLE = re.compile(r"^```python\n(?P<code>.*?)^```\n(?P<shown>\n```\n(?P<output>.*?)^```\n)?", re.S | re.M)

#: Says on top of a page which package its examples read data from.
NEEDS = re.compile(r"^<!-- examples need (\w+) -->$", re.M)

# Blocks of one page go on from each other, as a reader would type them. Each is a file of its own, since code that is
# compiled wants to know where it stands.
_RUNNER = """
import runpy, sys
page, names = None, {}
for script in sys.argv[1:]:
    before, _, _ = script.rpartition("_")
    names = names if before == page else {}
    page = before
    print("@@", script, flush=True)
    names = runpy.run_path(script, init_globals=names, run_name="__main__")
"""


def run_examples(pages: Iterable[Path], folder: Path) -> dict[Path, list[str]]:
    """What each example of each page prints, from one process that works in `folder`."""
    scripts: dict[str, Path] = {}
    for number, page in enumerate(pages):
        for count, example in enumerate(EXAMPLE.finditer(page.read_text("utf-8"))):
            script = folder / f"{number}-{page.stem}_{count}.py"
            script.write_text(example["code"], "utf-8")
            scripts[str(script)] = page
    command = [sys.executable, "-c", _RUNNER, *scripts]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        raise RuntimeError(f"An example failed.\n{done.stdout[-500:]}{done.stderr}")
    outputs = dict(part.split("\n", 1) for part in done.stdout.split("@@ ")[1:])
    found: dict[Path, list[str]] = {page: [] for page in scripts.values()}
    for script, page in scripts.items():
        found[page].append(outputs[script])
    return found


def missing(page: Path) -> str | None:
    """The package that a page needs and that is not installed, if there is one."""
    needed = NEEDS.search(page.read_text("utf-8"))
    return needed[1] if needed and find_spec(needed[1]) is None else None


def with_outputs(text: str, outputs: list[str]) -> str:
    """The page with these outputs in it."""
    left = iter(outputs)

    def filled(example: re.Match[str]) -> str:
        output = next(left)
        shown = f"\n```\n{output}```\n" if output else ""
        return f"```python\n{example['code']}```\n{shown}"

    return EXAMPLE.sub(filled, text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(name).resolve()
            [printed] = run_examples([path], Path(scratch)).values()
            path.write_text(with_outputs(path.read_text("utf-8"), printed), "utf-8")
