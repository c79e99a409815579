"""A page of the service as one HTML document: nothing is loaded from elsewhere, and only its own script runs."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files
from urllib.parse import quote

# A policy inside a page cannot forbid that the page is framed: this has to be said beside it.
HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""What a server should send with every page."""

_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#0072b2"/>'
    '<path d="M4 5h8M8 5v7" stroke="#fff" stroke-width="2" stroke-linecap="round"/></svg>'
)


def document(title: str, body: str, *, style: str, script: str = "") -> bytes:
    """The page. `body` is HTML, escaped where it comes from elsewhere. A page with a script may ask its own origin."""
    code = f'(() => {{\n"use strict";\n{script}}})();\n' if script else ""
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, code)}">\n'
        f'<link rel="icon" href="data:image/svg+xml,{quote(_ICON)}">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style></head>\n"
        f"<body>\n{body}{f'<script>{code}</script>' if code else ''}\n</body></html>\n"
    ).encode()


@cache
def resource(package: str, name: str) -> str:
    """The text of a file that is shipped with a package."""
    return files(package).joinpath(name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    # Names come from whoever makes a deployment: no other script or style is taken, and nothing is sent elsewhere.
    allowed = ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "img-src data:"]
    allowed.append(f"style-src '{_digest(style)}'")
    if script:
        allowed += [f"script-src '{_digest(script)}'", "connect-src 'self'"]
    return "; ".join(allowed)


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
