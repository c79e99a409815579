"""A function that has been released: public, to be asked anything, stored and shared."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike

from tacit._arrays import numbers
from tacit._types import Floats
from tacit._version import __version__
from tacit.core.functions import PrivateFunction
from tacit.errors import BadInput
from tacit.estimators.rkhs import FeatureMap, feature_map_from_dict
from tacit.kernels import Box
from tacit.kernels.points import as_points
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Neighbours, Protects, Trust, Unit

_FORMAT = 1


@dataclass(frozen=True, eq=False)
class FeatureFunction(PrivateFunction):
    """f̃(x, c) = middle + ψ(x, c)ᵀ·coefficients. Everything in it has been released or was public before.

    Formal guarantee: `guarantee`, for whoever's records it was made from; asking, storing and sharing it cost nothing
    more. Its values are estimates with noise in them, and mean nothing outside the boxes.
    """

    features: FeatureMap  #: ψ
    coefficients: Floats  #: (m,) of the features
    actions: Box  #: where actions lie
    contexts: Box | None  #: where contexts lie, where there are any
    middle: float  #: of the interval of rewards
    rows: int  #: records it was made from
    guarantee: Guarantee  #: of this release

    def predict(self, context: ArrayLike | None, actions: ArrayLike) -> Floats:
        """The estimated reward of each of `actions`, of shape (K, d), in this context. Points outside their boxes are
        moved to the nearest one inside."""
        return self.middle + self.features.psi(pairs(actions, context, self.actions, self.contexts)) @ self.coefficients

    def save(self, path: str | Path) -> Path:
        """Write it to a new file ending in .npz: what is in there is public."""
        target = Path(path)
        if target.suffix != ".npz":
            raise BadInput(f"Expected a path ending in .npz, got {target.name!r}.")
        facts = {
            "tacit": "private function",
            "format": _FORMAT,
            "version": __version__,
            "features": self.features.to_dict(),
            "action_box": self.actions.sides,
            "context_box": None if self.contexts is None else self.contexts.sides,
            "middle": self.middle,
            "rows": self.rows,
            "guarantee": self.guarantee.to_dict(),
        }
        try:
            with target.open("xb") as file:
                np.savez(file, facts=np.array(json.dumps(facts)), coefficients=self.coefficients)
        except FileExistsError:
            raise BadInput(f"Expected a new file, got {target.name!r}, which exists. Nothing was written.") from None
        except FileNotFoundError:
            raise BadInput(f"Expected an existing folder for {target.name!r}, got {str(target.parent)!r}.") from None
        return target

    @classmethod
    def load(cls, path: str | Path) -> FeatureFunction:
        """The function that `save` wrote."""
        try:
            # Opened here: numpy leaves a damaged file open.
            with Path(path).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                facts, coefficients = json.loads(str(file["facts"])), np.array(file["coefficients"], dtype=np.float64)
            if facts["tacit"] != "private function" or facts["format"] != _FORMAT:
                raise KeyError
            features = feature_map_from_dict(facts["features"])
            if coefficients.shape != (features.size,) or not np.isfinite(coefficients).all():
                raise ValueError
            return cls(
                features=features,
                coefficients=coefficients,
                actions=Box.of(facts["action_box"]),
                contexts=None if facts["context_box"] is None else Box.of(facts["context_box"]),
                middle=float(facts["middle"]),
                rows=int(facts["rows"]),
                guarantee=_guarantee(facts["guarantee"]),
            )
        except (OSError, KeyError, ValueError, TypeError, EOFError, BadZipFile):
            raise BadInput(
                f"Expected a file that PrivateFunction.save wrote, got {Path(path).name!r}, which is none or damaged."
            ) from None

    def __repr__(self) -> str:
        return f"<FeatureFunction of {self.rows:,} records: {self.guarantee}>"


def pairs(actions: ArrayLike, context: ArrayLike | None, box: Box, contexts: Box | None) -> Floats:
    """The points (x, c) for each action x and one context c, moved into their boxes."""
    rows, _ = box.clip(as_actions(actions, box.dim))
    if contexts is None:
        if context is not None:
            raise BadInput("Expected no context, got one: there are none here (context_box=None).")
        return rows
    return np.hstack([rows, np.repeat(as_context(context, contexts)[0], len(rows), axis=0)])


def as_actions(actions: ArrayLike, dim: int) -> Floats:
    """A set of actions of shape (K, d)."""
    found = numbers("actions", actions)
    single = found[:, None] if found.ndim == 1 else found
    rows = as_points("actions", np.atleast_2d(found) if dim > 1 else single, dim)
    if len(rows) == 0:
        raise BadInput("Expected at least one action to choose from, got an empty set.")
    return rows


def as_context(context: ArrayLike | None, contexts: Box) -> tuple[Floats, int]:
    """One context as a row of the box, and 1 if it had to be moved there."""
    if context is None:
        raise BadInput(f"Expected a context of {contexts.dim} numbers, got none.")
    row = np.atleast_1d(numbers("context", context))
    if row.shape != (contexts.dim,):
        raise BadInput(f"Expected a context of shape ({contexts.dim},), got {row.shape}.")
    return contexts.clip(row[None, :])


def _guarantee(facts: dict[str, Any]) -> Guarantee:
    """The guarantee as it was written down: by its μ, or none."""
    if not facts["private"]:
        return Guarantee.none()
    return Guarantee(
        Trust(facts["trust"]),
        Protects(facts["protects"]),
        Neighbours(facts["neighbours"]),
        Unit.round(),
        facts["mu"],
        facts["delta"],
        seeded=facts["seeded"],
    )
