"""What is known in public before anyone arrives: sums of public rows, which cost no privacy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit import linalg
from tacit._arrays import finite
from tacit._types import Floats
from tacit._validate import whole
from tacit.core.round import LARGEST
from tacit.errors import BadInput

#: A Gram matrix may be indefinite by rounding, relative to its largest eigenvalue, but not by more.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Prior:
    """Exact Gram matrix Σ x xᵀ and vector Σ x·y of *public* rows, added to what is learned.

    They cost nothing because nobody's private data is in them: from an open data set, from people who agreed, from a
    simulator. Nothing here can check that. The width stays proved only if these rows follow the same parameter and the
    same level of reward noise as the ones to come.
    """

    gram: tuple[tuple[float, ...], ...]
    vector: tuple[float, ...]
    rows: int

    def __post_init__(self) -> None:
        gram, vector = finite("gram", self.gram, limit=LARGEST), finite("vector", self.vector, limit=LARGEST)
        dim = len(vector) if vector.ndim == 1 else 0
        if dim == 0 or gram.shape != (dim, dim):
            raise BadInput(
                f"Expected a prior's gram of shape (d, d) and vector (d,), got {gram.shape}, {vector.shape}."
            )
        if not np.allclose(gram, gram.T, rtol=1e-12, atol=0):
            raise BadInput("Expected a symmetric gram, got one that is not. Use Prior.from_rows(actions, rewards).")
        values = np.linalg.eigvalsh(gram)
        if values[0] < -_ROUNDING * max(1.0, values[-1]):
            raise BadInput(
                f"Expected a gram without negative eigenvalues, got {values[0]:.4g}: it is no sum of squares."
            )
        # Whatever the rows were, Σ x·y lies in the space that their Σ x xᵀ spans.
        along = gram @ np.linalg.pinv(gram, rcond=1e-10, hermitian=True) @ vector
        if np.linalg.norm(vector - along) > 1e-6 * np.linalg.norm(vector):
            raise BadInput("Expected a vector in the space its gram spans, got one that no rows give: check both sums.")
        object.__setattr__(self, "gram", tuple(tuple(float(entry) for entry in row) for row in gram))
        object.__setattr__(self, "vector", tuple(float(entry) for entry in vector))
        object.__setattr__(self, "rows", whole("rows", self.rows))

    @classmethod
    def from_rows(cls, actions: ArrayLike, rewards: ArrayLike) -> Prior:
        """Sum up public rows: actions of shape (n, d), rewards of shape (n,)."""
        found, paid = finite("actions", actions, limit=LARGEST), finite("rewards", rewards, limit=LARGEST)
        if found.ndim != 2 or paid.shape != found.shape[:1] or found.size == 0:
            raise BadInput(f"Expected actions of shape (n, d) and rewards (n,), got {found.shape} and {paid.shape}.")
        gram = found.T @ found
        return cls(tuple(map(tuple, (gram + gram.T) / 2)), tuple(found.T @ paid), len(found))

    @property
    def dim(self) -> int:
        """d: the length of an action."""
        return len(self.vector)

    def packed(self, reward_scale: float = 1.0) -> Floats:
        """The sums as a vault holds them: packed upper triangle, then the vector times the reward scale ζ."""
        upper = np.array(self.gram)[np.triu_indices(self.dim)]
        sums = np.concatenate([upper, np.array(self.vector) * reward_scale])
        assert len(sums) == linalg.packed_size(self.dim) + self.dim
        return sums

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, and for `from_dict`."""
        return {"gram": [list(row) for row in self.gram], "vector": list(self.vector), "rows": self.rows}

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> Prior:
        """The prior that `to_dict` described."""
        if not isinstance(facts, dict) or set(facts) != {"gram", "vector", "rows"}:
            raise BadInput('Expected a prior with exactly "gram", "vector" and "rows", got something else.')
        try:
            gram = tuple(tuple(row) for row in facts["gram"])
            return cls(gram, tuple(facts["vector"]), facts["rows"])
        except TypeError:
            raise BadInput("Expected gram and vector of a prior to be lists of numbers, got something else.") from None

    def save(self, path: str | Path) -> Path:
        """Write the prior as JSON."""
        target = Path(path)
        target.write_text(json.dumps(self.to_dict()), "utf-8")
        return target

    @classmethod
    def load(cls, path: str | Path) -> Prior:
        """Read what `save` wrote."""
        try:
            facts = json.loads(Path(path).read_text("utf-8"))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as problem:
            raise BadInput(
                f"Expected a prior as JSON in {str(path)!r}, got: {problem}. Write one with Prior.save."
            ) from None
        return cls.from_dict(facts)
