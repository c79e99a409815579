"""What a policy must know of the run it is in, where its options do not say it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


def told(kind: type, options: Mapping[str, Any], rounds: int) -> dict[str, Any]:
    """The options, and with them the number of rounds where it must be known and was not given, and a failure
    probability of one over it where one may be given and was not: widths are comparable only at the same one."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    values = dict(options)
    if "horizon" in fields and values.get("horizon") is None and _needs_horizon(fields["horizon"], values):
        values["horizon"] = rounds
    if "failure" in fields and fields["failure"].default is None and values.get("failure") is None:
        values["failure"] = min(1 / rounds, 0.5)
    return values


def _needs_horizon(field: dataclasses.Field[Any], values: Mapping[str, Any]) -> bool:
    every_round = values.get("releases") in ("tree", "toeplitz") or values.get("calibration") == "published"
    return field.default is dataclasses.MISSING or every_round or values.get("learner") == "maler"
