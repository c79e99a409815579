"""Dots with whiskers as data."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pytest

from tacit.errors import BadInput
from tacit.report.charts import Mark, embedded
from tacit.report.dots import Dot, Dots, Group


def dots(**changes):
    groups = [
        Group(label="a", dots=[Dot(value=1.0, low=0.5, high=2.0), None]),
        Group(label="b", dots=[Dot(value=3.0), Dot(value=4.0)]),
    ]
    return Dots(**{"title": "Dots", "x_label": "value", "rows": ["one", "two"], "groups": groups, **changes})


def test_a_dot_of_trials_is_their_mean_with_one_standard_error_either_way():
    dot = Dot.of_trials(np.array([1.0, 3.0, 5.0]))
    error = 2.0 / math.sqrt(3)
    assert dot.value == 3.0
    np.testing.assert_allclose((dot.low, dot.high), (3.0 - error, 3.0 + error))
    assert list(dot.trials) == [1.0, 3.0, 5.0]
    assert Dot.of_trials(np.array([2.0])) == Dot(value=2.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": []}, "got 0 rows"),
        ({"groups": []}, "Expected rows, and groups"),
        ({"rows": ["one"]}, r"got 1 rows and groups of \[2, 2\] in the chart 'Dots'"),
        ({"groups": [Group(label="a", dots=[None, Dot(value=math.nan)])]}, "at least one finite value"),
        ({"marks": [Mark(label="goal", y=1.0)]}, "got y of 'goal'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(changes, message):
    with pytest.raises(BadInput, match=message):
        dots(**changes)


def test_half_an_interval_is_refused():
    with pytest.raises(BadInput, match=r"low=1\.0 and high=None"):
        Dot(value=1.0, low=1.0)


def test_what_is_not_there_is_null_and_an_endless_interval_is_none():
    endless = Dot(value=1.0, low=-math.inf, high=2.0)
    data = json.loads(embedded(dots(groups=[Group(label="a", dots=[None, endless])]).to_dict()))
    assert data["kind"] == "dots"
    [line] = data["lines"]
    assert (line["xs"], line["low"], line["high"]) == ([None, 1], [None, None], [None, None])


def test_the_file_has_every_dot_row_by_row():
    assert list(csv.reader(io.StringIO(dots().csv()))) == [
        ["row", "group", "value", "low", "high"],
        ["one", "a", "1", "0.5", "2"],
        ["one", "b", "3", "", ""],
        ["two", "b", "4", "", ""],
    ]


@pytest.mark.parametrize("changes", [{}, {"log_x": True}, {"zero": True}, {"percent": True}])
def test_the_still_picture_names_rows_and_groups(changes):
    made = dots(rows=["one", "$two$"], marks=[Mark(label="goal", x=2.0)], **changes)
    for name in (">one<", ">$two$<", ">a<", ">b<", ">goal<"):
        assert name in made.svg()
    assert made.svg() == made.svg()


def test_a_row_with_a_long_name_leaves_room_for_the_picture():
    made = dots(rows=["one", "two " * 60])
    assert f">{'two ' * 10}two…<" in made.svg()
    assert "two " * 60 in made.csv()


def test_a_chart_may_have_a_name_for_its_files():
    assert (dots().slug, dots(name="errors").slug) == ("dots", "errors")
