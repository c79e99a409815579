"""From a table to vectors: the steps are what they say, depend on nothing undeclared, and refuse with reasons."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from tacit.data import NOT_PRIVATE, Recipe, bundled, prepare
from tacit.data.categories import as_mapping, read_categories
from tacit.errors import BadInput, UnknownName

from .tables import ROWS, labelled, offers, raw_of

COLOURS = {"colour": ("red", "green", "blue")}


def recipe(**changes) -> Recipe:
    return Recipe(**{"target": "bought", "low": 0.0, "high": 10.0, "categories": COLOURS, **changes})


def vectors(frame, **changes):
    """(rows, m)"""
    return prepare(raw_of(frame), recipe(**changes)).contexts[:, 0]


# What is done ----------------------------------------


def test_numbers_are_scaled_by_the_declared_bounds_and_words_become_columns():
    frame = labelled()
    found = vectors(frame, intercept=False)
    by_hand = np.column_stack(
        [
            (frame["age"] - 5) / 5,
            (frame["height"] - 5) / 5,
            *(frame["colour"] == colour for colour in ("red", "green", "blue")),
        ]
    ) / math.sqrt(3)
    np.testing.assert_allclose(found, by_hand, rtol=0, atol=1e-15)
    with_constant = vectors(frame)
    np.testing.assert_allclose(with_constant[:, :-1] * math.sqrt(2), by_hand, rtol=0, atol=1e-15)
    np.testing.assert_allclose(with_constant[:, -1], 1 / math.sqrt(2), rtol=1e-15)


def test_the_vector_of_a_row_does_not_depend_on_the_other_rows():
    """Scaling by the rows' own range, which would tell on whoever holds it, fails this."""
    frame = labelled()
    extreme = frame.copy()
    extreme.loc[0, ["age", "height"]] = [1e6, -1e6]
    for projection in (None, 2):
        before, after = vectors(frame, projection=projection), vectors(extreme, projection=projection)
        np.testing.assert_array_equal(before[1:], after[1:])
        assert (before[0] != after[0]).any()

    def scaled_by_the_rows(table):
        values = table[["age", "height"]].to_numpy()
        return (values - values.min(axis=0)) / np.ptp(values, axis=0)

    assert (scaled_by_the_rows(frame)[1:] != scaled_by_the_rows(extreme)[1:]).any()


@pytest.mark.parametrize("projection", [None, 1, 2, 4])
@pytest.mark.parametrize("intercept", [True, False])
def test_no_vector_is_longer_than_one_whatever_the_rows_hold(projection, intercept):
    frame = labelled()
    frame["age"] *= 1e9
    frame["height"] *= -1e300
    lengths = np.linalg.norm(vectors(frame, projection=projection, intercept=intercept), axis=1)
    assert lengths.max() <= 1 + 1e-12
    assert lengths.min() > 0


def test_rows_outside_the_bounds_are_clipped_and_counted():
    frame = labelled()
    frame.loc[[1, 2, 3], "age"] = [11.0, -1.0, 11.0]
    frame.loc[3, "height"] = 99.0
    prepared = prepare(raw_of(frame), recipe(intercept=False))
    assert f"3 of {ROWS} rows held a value outside the bounds, and were clipped." in prepared.notes
    assert "No row held a value outside the bounds." in prepare(raw_of(labelled()), recipe()).notes
    assert prepared.contexts[1:4, 0, 0].tolist() == pytest.approx([3**-0.5, -(3**-0.5), 3**-0.5])


def test_a_projection_is_public_keeps_lengths_on_average_and_is_left_out_where_there_is_nothing_to_shorten():
    raw = bundled("digits")
    plain = prepare(raw, Recipe(target="target", intercept=False)).contexts[:, 0]
    ratios = []
    for seed in range(60):
        found = prepare(raw, Recipe(target="target", intercept=False, projection=8, projection_seed=seed))
        ratios.append((found.contexts[0, 0] ** 2).sum() / (plain[0] ** 2).sum())
    # χ²_8/8 has mean 1 and standard deviation 1/2; shortening takes some of it. Five standard errors: level 1e-6.
    assert 1 - 5 * 0.5 / math.sqrt(60) - 0.25 < np.mean(ratios) < 1 + 5 * 0.5 / math.sqrt(60)
    matrix = np.random.default_rng(7).standard_normal((64, 8)) / math.sqrt(8)
    seven = prepare(raw, Recipe(target="target", intercept=False, projection=8, projection_seed=7)).contexts[:, 0]
    short = np.linalg.norm(plain @ matrix, axis=1) < 1
    assert short.any()
    np.testing.assert_allclose(seven[short], (plain @ matrix)[short], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(vectors(labelled(), projection=5), vectors(labelled(), projection=None))


def test_rewards_are_one_for_the_right_class_and_zero_for_the_others():
    prepared = prepare(raw_of(labelled()), recipe())
    assert prepared.actions == ("milk", "tea")
    np.testing.assert_array_equal(prepared.rewards[:, 1], np.arange(ROWS) % 2 == 0)
    np.testing.assert_array_equal(prepared.rewards.sum(axis=1), 1)


def test_a_table_of_actions_has_a_round_for_each_group_wherever_its_rows_stand():
    frame = offers()
    options = {"target": "click", "group": "visit", "low": 0.0, "high": 1.0, "intercept": False}
    straight = prepare(raw_of(frame), Recipe(**options))
    assert straight.contexts.shape == (12, 3, 2)
    np.testing.assert_array_equal(straight.rewards, np.tile([1.0, 0.0, 0.0], (12, 1)))
    by_hand = (frame[["price", "age"]].to_numpy().reshape(12, 3, 2) * 2 - 1) / math.sqrt(2)
    np.testing.assert_allclose(straight.contexts, by_hand, rtol=0, atol=1e-15)
    interleaved = frame.iloc[np.arange(36).reshape(12, 3).T.ravel()].reset_index(drop=True)
    again = prepare(raw_of(interleaved), Recipe(**options))
    np.testing.assert_array_equal(again.contexts, straight.contexts)


def test_a_star_takes_the_values_that_were_not_declared():
    found = vectors(labelled(), categories={"colour": ("red", "*")}, intercept=False)[:, 2:] * math.sqrt(3)
    np.testing.assert_allclose(found[:, 0], np.arange(ROWS) % 3 == 0, rtol=0, atol=1e-15)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-15)


def test_whole_numbers_are_categories_as_one_writes_them_even_if_read_as_floats():
    frame = labelled()
    frame["colour"] = (np.arange(ROWS) % 2).astype(float)
    found = vectors(frame, categories={"colour": ("0", "1")}, intercept=False)
    assert (found[:, 2:].sum(axis=1) > 0).all()


def test_every_step_is_stated_and_the_first_sentence_is_the_warning():
    notes = prepare(raw_of(labelled()), recipe(projection=3, projection_seed=9)).notes
    assert notes[0] == NOT_PRIVATE == "Computed from raw data: not private, do not publish."
    text = " ".join(notes)
    for words in (
        "declared bounds",
        "outside the bounds",
        "'colour'",
        "seed 9",
        "constant coordinate",
        "round, not the row",
    ):
        assert words in text


def test_prepared_data_does_not_print_its_rows():
    text = repr(prepare(raw_of(labelled()), recipe()))
    assert "array" not in text


@pytest.mark.parametrize(
    "given",
    [
        {"colour": ["red", "green"], "size": ["S", "*"]},
        "colour=red|green;size=S|*",
        ["colour=red|green", "size=S|*"],
        ("colour=red|green", " size=S|* "),
    ],
)
def test_categories_may_be_given_as_a_mapping_a_text_or_texts(given):
    written = read_categories(given)
    assert written == ("colour=red|green", "size=S|*")
    assert as_mapping(written) == {"colour": ("red", "green"), "size": ("S", "*")}


@pytest.mark.parametrize("given", ["colour", "colour=red", "colour=red|red", "colour=red|", [3], "a=b|c;a=d|e"])
def test_categories_in_another_form_are_refused(given):
    with pytest.raises(BadInput, match="categories"):
        read_categories(given)


# What is refused ----------------------------------------


def refusal(frame, **changes) -> str:
    with pytest.raises(BadInput) as caught:
        prepare(raw_of(frame), recipe(**changes))
    return str(caught.value)


def changed(frame: pd.DataFrame, **cells) -> pd.DataFrame:
    """The same table with other contents in some columns."""
    return frame.assign(**cells)


def test_missing_values_are_counted_by_column():
    frame = labelled()
    frame.loc[[1, 5], "age"] = np.nan
    frame.loc[7, "bought"] = None
    message = refusal(frame, missing=False)
    assert "2 missing in 'age', 1 missing in 'bought' (of 40 rows)" in message
    assert "height" not in message
    refusal(frame, ignore=("age",))
    vectors(frame.drop(index=7).reset_index(drop=True), ignore=("age",), missing=False)
    answers = refusal(frame)
    assert "1 missing in 'bought' (of 40 rows)" in answers, "a row without an answer is no round"
    assert "age" not in answers


def test_a_missing_number_is_the_middle_and_a_missing_word_none_with_a_column_that_says_so():
    frame = labelled()
    whole = vectors(frame, intercept=False)
    frame.loc[[1, 5], "age"] = np.nan
    frame.loc[[5, 8], "colour"] = None
    prepared = prepare(raw_of(frame), recipe(intercept=False))
    found = prepared.contexts[:, 0]
    by_hand = np.insert(np.insert(whole, 5, 0.0, axis=1), 1, 0.0, axis=1)  # age, its hole, height, colours, their hole
    by_hand[[1, 5], 0], by_hand[[1, 5], 1] = 0.0, 1 / math.sqrt(3)
    by_hand[[5, 8], 3:6], by_hand[[5, 8], 6] = 0.0, 1 / math.sqrt(3)
    np.testing.assert_allclose(found, by_hand, rtol=0, atol=1e-15)
    assert np.linalg.norm(found, axis=1).max() <= 1 + 1e-12
    [note] = [note for note in prepared.notes if note.startswith("Missing values")]
    assert "3 of 40 rows" in note
    assert "for 'age', 'colour'." in note
    assert not any("Missing" in note for note in prepare(raw_of(labelled()), recipe()).notes)


def test_a_missing_value_does_not_count_as_clipped_and_hides_no_infinity():
    frame = labelled()
    frame.loc[1, "age"] = np.nan
    assert "No row held a value outside the bounds." in prepare(raw_of(frame), recipe()).notes
    frame.loc[2, "age"] = -np.inf
    assert "column 'age', got 1 that are not" in refusal(frame)
    whole = changed(labelled(), age=pd.array([None, *range(1, 10)] * 4, dtype="Int64"))
    assert vectors(whole, intercept=False)[0, 0] == 0.0


def test_strings_are_refused_by_column_with_the_categories_to_declare():
    message = refusal(labelled(), categories={})
    assert "in 'colour'" in message
    assert "categories=('colour=first|second',)" in message
    dates = changed(labelled(), seen=pd.date_range("2020-01-01", periods=ROWS))
    assert "'seen'" in refusal(dates)


def test_undeclared_categories_are_counted_and_not_shown():
    message = refusal(labelled(), categories={"colour": ("red", "green")})
    assert "in 13 of 40 rows" in message
    assert "blue" not in message


def test_constant_columns_are_left_out_with_a_note():
    frame = changed(labelled(), country="NO", shop=1.0, empty=np.nan)
    prepared = prepare(raw_of(frame), recipe())
    np.testing.assert_array_equal(prepared.contexts, prepare(raw_of(labelled()), recipe()).contexts)
    assert "Left out, as the same value stands in every row: 'country', 'shop', 'empty'." in prepared.notes
    each = recipe(low=(0.0, 0.0, 1.0), high=(10.0, 10.0, 1.0), ignore=("empty",))
    np.testing.assert_array_equal(prepare(raw_of(frame), each).contexts, prepared.contexts)
    words = prepare(raw_of(frame), recipe(categories={**COLOURS, "country": ("NO", "*")}))
    np.testing.assert_array_equal(words.contexts, prepared.contexts)


def test_a_table_in_which_nothing_varies_is_refused():
    message = refusal(changed(labelled(), age=1.0), columns=("age",), categories={})
    assert "got the same value in all 40 rows of 'age'" in message


def test_one_class_only_is_refused():
    assert "got one in all 40 rows" in refusal(changed(labelled(), bought="tea"))


def test_a_measured_quantity_as_target_is_refused():
    assert "got 40 different values in 40 rows" in refusal(labelled(), target="age", columns=("height",), categories={})
    many = pd.DataFrame({"x": np.linspace(0, 1, 2000), "y": np.arange(2000) % 600})
    assert "got 600 different values" in refusal(many, target="y", categories={})


def test_a_target_of_lists_is_refused():
    assert "single values in column 'bought'" in refusal(changed(labelled(), bought=[[row] for row in range(ROWS)]))


def test_too_few_rows_are_refused():
    assert "at least 10 rows, got 9" in refusal(labelled(rows=9))


@pytest.mark.parametrize(
    ("changes", "near"),
    [
        ({"target": "baught"}, "bought"),
        ({"columns": ("aeg",)}, "age"),
        ({"ignore": ("hight",)}, "height"),
        ({"categories": {"color": ("red", "*")}}, "colour"),
    ],
)
def test_an_unknown_column_is_answered_with_the_nearest_names(changes, near):
    with pytest.raises(UnknownName, match=f"Did you mean {near}"):
        prepare(raw_of(labelled()), recipe(**changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"low": None}, "Expected `low`"),
        ({"high": None}, "Expected `high`"),
        ({"low": 10.0, "high": 0.0}, "low=10.0, high=0.0"),
        ({"low": (0.0, 5.0), "high": (1.0, 5.0)}, "low < high for column 'height'"),
        ({"low": (0.0, 0.0, 0.0)}, "each of the 2 columns of numbers ('age', 'height'), got 3"),
        ({"columns": ("age", "bought")}, "'bought' among them"),
        ({"columns": ("age",)}, "'colour', which is not among the features"),
        ({"ignore": ("age", "height", "colour"), "categories": {}}, "at least one feature column"),
        ({"target": "age", "group": "age"}, "two columns"),
    ],
)
def test_recipes_that_do_not_fit_the_table_are_refused(changes, words):
    assert words in refusal(labelled(), **changes)


def test_infinite_numbers_are_counted_by_column():
    frame = labelled()
    frame.loc[4, "height"] = np.inf
    assert "column 'height', got 1 that are not" in refusal(frame)


def actions_refusal(frame) -> str:
    return refusal(frame, target="click", group="visit", low=0.0, high=1.0, categories={})


def test_groups_of_other_numbers_of_actions_are_refused_with_what_came():
    message = actions_refusal(offers().drop(index=[0, 5, 6, 7]).reset_index(drop=True))
    assert "got groups of 1 to 3: 9 of 3, and 3 of another number" in message
    assert "got one" in actions_refusal(changed(offers(), visit=np.arange(36)))
    assert "at least 10 groups, got 4" in actions_refusal(offers(groups=4))


def test_rewards_beyond_one_or_of_words_are_refused_with_their_number():
    frame = offers()
    frame.loc[[0, 3], "click"] = 5.0
    assert "got 2 beyond (of 36 rows)" in actions_refusal(frame)
    assert "'click'" in actions_refusal(changed(frame, click="yes"))
