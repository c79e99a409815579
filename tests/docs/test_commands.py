"""Every command that a page shows is one that tacit understands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tacit.cli.log_options import NAMES
from tacit.cli.options import read_settings, refuse_unknown, typed
from tacit.cli.parser import parser
from tacit.environments import environment
from tacit.errors import BadInput
from tacit.policies.catalogue import policy

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: A line of its own, in an indented or a fenced block; a backslash goes on with the next line.
COMMAND = re.compile(r"^[ \t]*(?:\$ )?(tacit (?:[^\n]*\\\n)*[^\n]*)$", re.M)
BLOCK = re.compile(r"^```[a-z]*\n(.*?)^```|((?:^(?: {4,}|\t)[^\n]*\n|^[ \t]*\n)+)", re.S | re.M)


def commands(text: str) -> list[list[str]]:
    """The words of each command in a page, without explanations set apart by spaces, pipes and redirections."""
    found = []
    for fenced, indented in BLOCK.findall(text):
        for line in COMMAND.findall(fenced or indented):
            joined = re.sub(r"\s*\\\n\s*", " ", line)
            told = re.split(r" {2,}| [|>] ", joined)[0]
            if "…" not in told:
                found.append(shlex.split(told, comments=True)[1:])
    return found


def understand(words: list[str]) -> None:
    """Refuse what `tacit` would refuse before it begins to work."""
    if words in (["--help"], ["--version"]):
        return
    parsed, rest = parser().parse_known_args(words)
    if not parsed.takes_options:
        if rest:
            raise BadInput(f"There is no option {rest[0]!r}.")
        if parsed.command in ("policies", "environments") and parsed.name:
            (policy if parsed.command == "policies" else environment)(parsed.name)
        return
    if getattr(parsed, "what", None) == "add-action":
        return  # what follows is the name of an action
    if getattr(parsed, "policy", None) in (None, "compose"):
        # Files, or everything there is: no policy whose options these would be.
        assert parsed.command in ("audit", "deployments", "privacy")
        return
    asked = [parsed.policy] if isinstance(parsed.policy, str) else parsed.policy
    given = read_settings(rest, parsed.set)
    given.pop("ways", None)
    kinds = []
    for name in asked:
        slug, _, options = name.partition(":")
        kinds.append(policy(slug))
        own = read_settings([], options.split(",") if options else [])
        own.pop("ways", None)
        refuse_unknown(own, kinds[-1])
        typed(kinds[-1], own)
    if hasattr(parsed, "environment"):
        kinds.append(environment(parsed.environment or "sphere"))
    if getattr(parsed, "log", None) is not None:
        given = {name: text for name, text in given.items() if name not in NAMES}
    refuse_unknown(given, *kinds)
    for kind in kinds:
        typed(kind, given)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_that_is_shown_is_understood(page):
    for words in commands(page.read_text("utf-8")):
        try:
            understand(words)
        except BadInput as refusal:
            pytest.fail(f"tacit {shlex.join(words)}: {refusal}")


def test_commands_are_found_in_pages():
    page = "Try\n\n    $ tacit run linucb \\\n        --rounds 10  ten of them\n\n"
    page += "```\ntacit policies > all\n```\n\ntacit is a word.\n"
    assert commands(page) == [["run", "linucb", "--rounds", "10"], ["policies"]]
    assert sum(len(commands(path.read_text("utf-8"))) for path in PAGES) > 60


@pytest.mark.parametrize(
    "line",
    [
        "run linucbb",
        "run linucb --epsilons 1",
        "run joint-linucb --environment spheer",
        "run joint-linucb --epsilon one",
        "compare linucb joint-linucb:release=tree",
        "policies linucbb",
        "reproduce list --quick",
        "frontier",
    ],
)
def test_a_command_that_would_be_refused_is_noticed(line):
    with pytest.raises(BadInput):
        understand(shlex.split(line))
