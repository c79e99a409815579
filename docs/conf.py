"""How Sphinx makes the site. `make docs` copies the pages together first: see `make_site.py`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from docstrings import to_rst

from tacit import __version__

project = "tacit"
author = "The tacit developers"
project_copyright = "the tacit developers, Apache-2.0"
version = release = __version__
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["README.md"]
# Indented blocks are commands, drawings and tables: guessing that they are Python colours them at random.
highlight_language = "text"
myst_heading_anchors = 4
# A quotation mark in these pages is one that somebody types: releases="tree".
smartquotes = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Floats", "Ints")}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries_show_parents = "hide"

_BRAND = ("color-brand-primary", "color-brand-content", "color-brand-visited", "color-api-name", "color-api-pre-name")

html_theme = "furo"
html_title = "tacit"
html_static_path = ["_static"]
html_css_files = ["tacit.css"]
html_logo = "_static/mark.svg"
html_favicon = "_static/mark.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options: dict[str, Any] = {
    "light_css_variables": dict.fromkeys(_BRAND, "#0f6b5c"),
    "dark_css_variables": dict.fromkeys(_BRAND, "#5cc8b4"),
    "navigation_with_keys": True,
}


def _docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = to_rst(lines)


def setup(app: Any) -> None:
    """Docstrings are plain text with backticks; Sphinx wants reStructuredText."""
    app.connect("autodoc-process-docstring", _docstring)
