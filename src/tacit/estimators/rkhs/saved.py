"""Feature maps from what `to_dict` wrote."""

from __future__ import annotations

from typing import Any

from tacit.errors import BadInput
from tacit.estimators.rkhs.features import FeatureMap
from tacit.estimators.rkhs.fourier import QuadratureFourier
from tacit.estimators.rkhs.nystrom import Nystrom


def feature_map_from_dict(facts: dict[str, Any]) -> FeatureMap:
    """The feature map that `to_dict` described."""
    kind = facts.get("features") if isinstance(facts, dict) else None
    if kind == Nystrom.slug:
        return Nystrom.from_dict(facts)
    if kind == QuadratureFourier.slug:
        return QuadratureFourier.from_dict(facts)
    raise BadInput(
        f'Expected a feature map with "features" {Nystrom.slug!r} or {QuadratureFourier.slug!r}, got {kind!r}.'
    )
