"""Data sets known by name, with bounds built in.

The digits ship with tacit. The others are scikit-learn's, which is needed only for them.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from tacit._types import Floats, Ints
from tacit._validate import known
from tacit.data.reading import BUNDLED, Raw
from tacit.errors import BadInput

_GRID = 8  # a digit is so many pixels wide and high
_DARKEST = 16.0

#: Round numbers about the ranges published of these public sets: anybody's own table has none, and must declare them.
#: A value beyond is clipped like anybody's.
_BOUNDS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "iris": dict.fromkeys(("sepal length", "sepal width", "petal length", "petal width"), (0.0, 8.0)),
    "wine": {
        "alcohol": (10.0, 16.0),
        "malic_acid": (0.0, 6.0),
        "ash": (1.0, 4.0),
        "alcalinity_of_ash": (10.0, 30.0),
        "magnesium": (50.0, 200.0),
        "total_phenols": (0.0, 4.0),
        "flavanoids": (0.0, 6.0),
        "nonflavanoid_phenols": (0.0, 1.0),
        "proanthocyanins": (0.0, 4.0),
        "color_intensity": (0.0, 15.0),
        "hue": (0.0, 2.0),
        "od280/od315_of_diluted_wines": (1.0, 4.0),
        "proline": (0.0, 2000.0),
    },
    "breast_cancer": {
        f"{prefix}{name}{suffix}": (0.0, high)
        for prefix, suffix, highs in (
            ("mean ", "", (30.0, 40.0, 200.0, 2500.0, 0.2, 0.4, 0.5, 0.25, 0.4, 0.1)),
            ("", " error", (3.0, 5.0, 25.0, 600.0, 0.04, 0.15, 0.4, 0.06, 0.08, 0.03)),
            ("worst ", "", (40.0, 50.0, 300.0, 5000.0, 0.25, 1.0, 1.25, 0.3, 0.7, 0.2)),
        )
        for name, high in zip(
            (
                "radius",
                "texture",
                "perimeter",
                "area",
                "smoothness",
                "compactness",
                "concavity",
                "concave points",
                "symmetry",
                "fractal dimension",
            ),
            highs,
            strict=True,
        )
    },
}


@cache
def bundled(name: str) -> Raw:
    """The data set of this name; its classes are in the column "target"."""
    known("bundled data set", name, BUNDLED, see="Or give the path of a CSV or Parquet file.")
    if name == "digits":
        pixels, target = _digits()
        names = [f"pixel_{row}_{column}" for row in range(_GRID) for column in range(_GRID)]
        return _raw(name, names, pixels, target, dict.fromkeys(names, (0.0, _DARKEST)))
    found: Any = getattr(_scikit_learn(name), f"load_{name}")()
    # Iris names its columns with their unit.
    names = [str(column).removesuffix(" (cm)") for column in found.feature_names]
    values: Floats = np.asarray(found.data, np.float64)
    return _raw(name, names, values, np.asarray(found.target, np.int64), _BOUNDS[name])


def _digits() -> tuple[Floats, Ints]:
    with resources.files("tacit.data").joinpath("digits.npz").open("rb") as file, np.load(file) as arrays:
        return arrays["pixels"].astype(np.float64), arrays["target"].astype(np.int64)


def _scikit_learn(name: str) -> Any:
    try:
        return importlib.import_module("sklearn.datasets")
    except ImportError:
        raise BadInput(
            f"Expected scikit-learn to be installed, from which {name!r} is read, got none. "
            "`pip install scikit-learn`, or use data='digits', which ships with tacit."
        ) from None


def _raw(name: str, names: list[str], values: Floats, target: Ints, bounds: Mapping[str, tuple[float, float]]) -> Raw:
    import pandas as pd

    # Of the numbers and not of a file: the same set has one fingerprint however it is stored.
    digest = hashlib.sha256("\0".join(names).encode())
    for array in (values, target):
        digest.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes())
    frame = pd.DataFrame(values, columns=names)
    frame["target"] = target
    return Raw(name, frame, digest.hexdigest(), bounds, own=False)
