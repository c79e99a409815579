"""A configuration for a run of so many rounds: what it must know of the run, and its options do not say."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from tacit.core.policy import Policy
from tacit.errors import BadInput


def configured(kind: type, options: Mapping[str, Any], rounds: int, *, comparable: bool = True) -> Any:
    """The configuration of these options, for a run of so many rounds.

    `horizon` is the number of rounds where it was not given and the policy is refused without one; a policy that can do
    without is left alone, as its widths would change. With `comparable` a failure probability that may be given and was
    not is one over the rounds: widths are comparable only at the same one.
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}
    values = dict(options)
    if comparable and "failure" in fields and fields["failure"].default is None and values.get("failure") is None:
        values["failure"] = min(1 / rounds, 0.5)
    config = _with_horizon(kind, values, rounds, fields.get("horizon"))
    return config.for_rounds(rounds) if isinstance(config, Policy) else config


def _with_horizon(kind: type, values: dict[str, Any], rounds: int, horizon: dataclasses.Field[Any] | None) -> Any:
    if horizon is None or values.get("horizon") is not None:
        return kind(**values)
    known = {**values, "horizon": max(2, rounds)}  # a horizon of one is no horizon
    if horizon.default is dataclasses.MISSING:
        return kind(**known)
    try:
        return kind(**values)
    except BadInput:
        return kind(**known)  # what is wrong besides is refused again
