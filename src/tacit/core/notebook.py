"""Configurations as a notebook shows them."""

from __future__ import annotations

import dataclasses
from typing import Any

from tacit._html import panel, short
from tacit.core.functions import FunctionPolicy
from tacit.core.policy import Policy
from tacit.core.settings import Settings
from tacit.errors import TacitError


def config_html(config: Settings) -> str:
    """What was asked for, what it gives, and the options that were left as they are."""
    given: list[tuple[str, str]] = []
    left: list[tuple[str, str]] = []
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        (left if _untold(config, field) else given).append((field.name, short(value)))
    defaults = "\n".join(f"{name} = {value}" for name, value in left)
    return panel(
        type(config).__name__,
        under=config.summary,
        rows=[*given, *_gives(config)],
        folded=[("left at their defaults", defaults)],
    )


def _gives(config: Settings) -> list[tuple[str, str]]:
    if not isinstance(config, Policy | FunctionPolicy):
        return []  # an environment promises nothing
    try:
        guarantee = config.guarantee
    except TacitError as problem:
        # Some policies learn their list of actions later; a cell that only shows one must not fail for it.
        return [("gives", f"not known yet: {problem}")]
    return [("gives", str(guarantee))]


def _untold(config: Settings, field: dataclasses.Field[Any]) -> bool:
    """Whether an option is as it would be if nobody had given it: what is None may follow from the others."""
    value = getattr(config, field.name)
    if field.default is dataclasses.MISSING or _same(value, field.default):
        return field.default is not dataclasses.MISSING
    if field.default is not None:
        return False
    try:
        return _same(value, getattr(dataclasses.replace(config, **{field.name: None}), field.name))
    except TacitError:
        return False


def _same(value: object, default: object) -> bool:
    # An array beside a default has no single truth value; by kind first, so that none is asked for.
    return type(value) is type(default) and bool(value == default)
