"""Sets known by name."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import numpy as np
import pytest

import tacit.data
from tacit.data import BUNDLED, Recipe, bundled, prepare
from tacit.data.bundled import _BOUNDS
from tacit.errors import BadInput, UnknownName


def test_the_digits_ship_with_tacit_and_are_all_there():
    raw = bundled("digits")
    assert raw.frame.shape == (1797, 65)
    pixels = raw.frame.drop(columns="target").to_numpy()
    assert pixels.min() == 0
    assert pixels.max() == 16
    assert (pixels == pixels.round()).all()
    # How many there are of each digit, as published with the set.
    assert np.bincount(raw.frame["target"]).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    # The first picture is a nought: dark at the sides, white in the middle.
    first = pixels[0].reshape(8, 8)
    assert raw.frame["target"][0] == 0
    assert first[3:5, 3:5].sum() == 0
    assert (first[3:5, 1:3].max(axis=1) >= 8).all()
    assert not raw.own


def test_the_source_and_the_licence_stand_beside_the_digits():
    page = (Path(tacit.data.__file__).parent / "README.md").read_text("utf-8")
    for word in ("digits.npz", "Alpaydin", "CC BY 4.0", *BUNDLED[:1]):
        assert word in page


def test_the_digits_keep_their_fingerprint():
    """Stored runs name it: another one would make all of them again."""
    assert bundled("digits").fingerprint.startswith("b5541b17a8")


def test_without_scikit_learn_the_other_sets_say_what_to_install(monkeypatch):
    bundled.cache_clear()
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)  # an import of it fails
    for name in set(BUNDLED) - {"digits"}:
        with pytest.raises(BadInput, match="pip install scikit-learn"):
            bundled(name)
    assert len(bundled("digits").frame) == 1797


@pytest.mark.parametrize("name", sorted(set(BUNDLED) - {"digits"}))
def test_a_set_of_scikit_learn_comes_with_its_bounds(monkeypatch, name):
    """A stand-in with the columns of the real one, which need not be installed here."""
    names = [column + " (cm)" if name == "iris" else column for column in _BOUNDS[name]]
    rng = np.random.default_rng(3)
    found = types.SimpleNamespace(
        feature_names=np.array(names), data=rng.uniform(0, 1, (30, len(names))), target=np.arange(30) % 3
    )
    stand_in = types.SimpleNamespace(**{f"load_{name}": lambda: found})
    bundled.cache_clear()
    monkeypatch.setitem(sys.modules, "sklearn.datasets", stand_in)
    raw = bundled(name)
    bundled.cache_clear()
    assert set(raw.bounds) == set(raw.frame.columns) - {"target"}
    prepared = prepare(raw, Recipe(target="target"))
    assert prepared.actions == ("0", "1", "2")
    assert any("built-in bounds" in note for note in prepared.notes)


@pytest.mark.parametrize("name", sorted(set(BUNDLED) - {"digits"}))
def test_the_built_in_bounds_hold_for_nearly_all_rows_of_the_real_set(name):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed: its sets cannot be read")
    raw = bundled(name)
    assert set(raw.bounds) == set(raw.frame.columns) - {"target"}
    outside = [(raw.frame[column] < low) | (raw.frame[column] > high) for column, (low, high) in raw.bounds.items()]
    assert np.mean(np.any(outside, axis=0)) < 0.05


def test_an_unknown_set_is_answered_with_the_nearest_ones():
    with pytest.raises(UnknownName, match="wine"):
        bundled("vine")
