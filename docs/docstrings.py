"""From docstrings as this project writes them to reStructuredText.

They are plain text for a terminal: single backticks around code, indented blocks for formulas and examples, lists with
dashes, and letters such as ‖x‖ or θ_k that mean nothing but themselves. Read as reStructuredText half of it would be
taken for references, substitutions and quotations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_CODE = re.compile(r"(`+)(.+?)\1(\w?)", re.S)
_SPECIAL = re.compile(r"([\\*|_`])")
_STRESSED = re.compile(r"(?<![\w*\\])\*([^\s*`](?:[^*`]*[^\s*`])?)\*(?![\w*])")
_ITEM = re.compile(r"(-|\d+\.) +")


def to_rst(lines: Iterable[str]) -> list[str]:
    """The docstring, with code as code, indented blocks as they stand, and everything else as plain words."""
    out: list[str] = []
    for block in _blocks([line.rstrip() for line in lines]):
        if out:
            out.append("")
        out += block
    return [*out, ""] if out else []


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    paragraph: list[str] = []
    while lines:
        line = lines.pop(0)
        if not line:
            yield from _paragraph(paragraph)
            paragraph = []
        elif not paragraph and line.startswith("    "):
            block = [line]
            while lines and (not lines[0] or lines[0].startswith("    ")):
                block.append(lines.pop(0))
            while not block[-1]:
                block.pop()
            yield ["::", "", *block]
        else:
            paragraph.append(line)
    yield from _paragraph(paragraph)


def _paragraph(lines: list[str]) -> Iterator[list[str]]:
    if not lines:
        return
    if lines[0].lstrip().startswith(">>>"):
        yield lines  # reStructuredText knows examples of a session
        return
    found: list[str] = []
    pieces: list[list[str]] = [[]]
    for line in lines:
        if _ITEM.match(line) and (pieces[-1] or len(pieces) > 1 or line is lines[0]):
            pieces.append([])
        pieces[-1].append(line.strip())
    for number, piece in enumerate(pieces):
        if not piece:
            continue
        text = "\n".join(piece)
        marker = _ITEM.match(text) if number else None
        lead = marker.group(1) + " " if marker else ""
        words = _inline(text[marker.end() :] if marker else text).split("\n")
        if found:
            found.append("")
        found += [lead + words[0], *(" " * len(lead) + word for word in words[1:])]
    yield found


def _inline(text: str) -> str:
    out, at = [], 0
    for code in _CODE.finditer(text):
        out.append(_plain(text[at : code.start()]))
        before = "\\ " if code.start() and (text[code.start() - 1].isalnum()) else ""
        # A letter right after the code, as in `x`s, would hide its end.
        out.append(f"{before}``{code.group(2).strip()}``" + ("\\ " + code.group(3) if code.group(3) else ""))
        at = code.end()
    out.append(_plain(text[at:]))
    return "".join(out)


def _plain(text: str) -> str:
    """Words with nothing in them but a stressed one here and there."""
    parts = [_SPECIAL.sub(r"\\\1", part) for part in _STRESSED.split(text)]
    return "".join(f"*{part}*" if number % 2 else part for number, part in enumerate(parts))
