"""Sums of public rows: what they hold, how they travel, and what is refused."""

import json
import math

import numpy as np
import pytest

from tacit import Prior
from tacit.errors import BadInput

RNG = np.random.default_rng(31)
ACTIONS, REWARDS = RNG.normal(size=(50, 3)), RNG.normal(size=50)


def prior():
    return Prior.from_rows(ACTIONS, REWARDS)


def test_rows_are_summed_exactly():
    found = prior()
    np.testing.assert_allclose(found.gram, ACTIONS.T @ ACTIONS, rtol=1e-14)
    np.testing.assert_allclose(found.vector, ACTIONS.T @ REWARDS, rtol=1e-14)
    assert (found.rows, found.dim) == (50, 3)
    assert np.array_equal(found.gram, np.transpose(found.gram))


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_sums_are_packed_as_a_vault_holds_them(scale):
    """Upper triangle row by row, then the vector times ζ."""
    gram, vector = np.array(prior().gram), np.array(prior().vector)
    packed = prior().packed(scale)
    np.testing.assert_array_equal(packed[:6], [gram[i, j] for i in range(3) for j in range(i, 3)])
    np.testing.assert_array_equal(packed[6:], scale * vector)


def test_one_public_row_is_enough_though_its_gram_is_singular():
    assert Prior.from_rows([[1.0, 2.0]], [0.5]).gram == ((1.0, 2.0), (2.0, 4.0))


def test_a_prior_can_neither_be_changed_nor_share_memory_with_what_it_was_made_of():
    actions = ACTIONS.copy()
    made = Prior.from_rows(actions, REWARDS)
    actions[:] = 0.0
    assert made == prior()
    assert hash(made) == hash(prior())
    with pytest.raises(AttributeError):
        made.rows = 3


def test_a_prior_travels_as_a_dictionary_and_as_a_file(tmp_path):
    facts = json.loads(json.dumps(prior().to_dict(), allow_nan=False))
    assert Prior.from_dict(facts) == prior()
    path = prior().save(tmp_path / "public.json")
    assert Prior.load(path) == prior()
    assert Prior.load(str(path)).to_dict() == prior().to_dict()


BAD = {
    "NaN": ([[math.nan, 0.0], [0.0, 1.0]], [0.0, 0.0], 3, "gram to be finite numbers, got NaN at position 0"),
    "an infinity": ([[1.0, 0.0], [0.0, 1.0]], [0.0, math.inf], 3, "finite numbers"),
    "not square": ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0.0, 0.0], 3, r"gram of shape \(d, d\).*got \(2, 3\), \(2,\)"),
    "another length": ([[1.0, 0.0], [0.0, 1.0]], [0.0], 3, r"got \(2, 2\), \(1,\)"),
    "no features": ([], [], 3, "of shape"),
    "a matrix as vector": ([[1.0]], [[1.0]], 3, "of shape"),
    "not symmetric": ([[1.0, 0.5], [0.0, 1.0]], [0.0, 0.0], 3, r"symmetric gram.*Prior\.from_rows"),
    "indefinite": ([[1.0, 2.0], [2.0, 1.0]], [0.0, 0.0], 3, "without negative eigenvalues, got -1"),
    "words": ([["a", 0.0], [0.0, 1.0]], [0.0, 0.0], 3, "array of numbers, got list of str_"),
    "ragged": ([[1.0], [0.0, 1.0]], [0.0, 0.0], 3, "got a ragged list"),
    "complex": ([[1j]], [0.0], 3, "of complex128"),
    "beyond reach": ([[1.0, 0.0], [0.0, 0.0]], [0.0, 5.0], 3, "one that no rows give"),
    "no rows": ([[1.0]], [0.0], 0, "rows"),
    "half a row": ([[1.0]], [0.0], 1.5, "rows"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_sum_of_rows_is_refused(case):
    gram, vector, rows, message = BAD[case]
    with pytest.raises(BadInput, match=message):
        Prior(gram, vector, rows)


def test_rounding_may_leave_a_gram_a_hair_indefinite():
    rows = np.outer(np.ones(40), [1.0, 1 / 3, 1e-9])
    assert Prior.from_rows(rows, np.ones(40)).rows == 40


@pytest.mark.parametrize(
    ("actions", "rewards", "message"),
    [
        ([[1.0, 0.0]], [1.0, 2.0], r"actions of shape \(n, d\) and rewards \(n,\), got \(1, 2\) and \(2,\)"),
        ([1.0, 0.0], [1.0, 2.0], "of shape"),
        (np.empty((0, 3)), [], "of shape"),
        ([["a"]], [1.0], "numbers"),
        ([[math.nan]], [1.0], "finite"),
        ([[1e200]], [1.0], "a number beyond 1e100"),
        ([[1j]], [1.0], "complex"),
    ],
)
def test_rows_of_another_shape_are_refused(actions, rewards, message):
    with pytest.raises(BadInput, match=message):
        Prior.from_rows(actions, rewards)


@pytest.mark.parametrize(
    "facts",
    [
        None,
        {},
        {"gram": [[1.0]], "vector": [0.0]},
        {"gram": [[1.0]], "vector": [0.0], "rows": 1, "more": 2},
        {"gram": 1.0, "vector": [0.0], "rows": 1},
        {"gram": [[1.0]], "vector": None, "rows": 1},
    ],
)
def test_dictionaries_that_describe_no_prior_are_refused(facts):
    with pytest.raises(BadInput, match="prior"):
        Prior.from_dict(facts)


def test_a_file_that_is_no_prior_is_refused_by_name(tmp_path):
    path = tmp_path / "public.json"
    with pytest.raises(BadInput, match=r"public\.json.*Prior\.save"):
        Prior.load(path)
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(BadInput, match=r"public\.json"):
        Prior.load(path)
    path.write_text("[1, 2]")
    with pytest.raises(BadInput, match="prior"):
        Prior.load(path)
    path.write_text('{"gram": [[NaN]], "vector": [0.0], "rows": 1}')
    with pytest.raises(BadInput, match="finite"):
        Prior.load(path)
