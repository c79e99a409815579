"""The dashboard: what the service is doing, as one page that asks for `/v1/status` again and again.

It shows what an operator may see: traffic, promises, clocks. Of rewards and arms it shows only what was released.
"""

from __future__ import annotations

from functools import cache

from tacit.service.pages import document, resource


@cache
def page() -> bytes:
    """The page, in UTF-8."""
    style = resource("tacit.service", "look.css") + resource(__name__, "dashboard.css")
    return document("tacit", resource(__name__, "page.html"), style=style, script=resource(__name__, "dashboard.js"))
