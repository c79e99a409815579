"""The JSON Schema of a card, for whoever reads cards with another program."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def card_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) that every card's `to_dict` keeps, as it is shipped."""
    found: dict[str, Any] = json.loads((files("tacit") / "privacy" / "card.schema.json").read_text("utf-8"))
    return found
