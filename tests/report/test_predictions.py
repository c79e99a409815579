"""The page of error rates."""

from __future__ import annotations

from tacit.environments import RKHS
from tacit.policies.usca import USCA
from tacit.report.predictions import PredictionComparison
from tacit.simulation import simulate_predictions

from .test_report import _Balance


def test_a_page_is_whole_and_fetches_nothing(tmp_path):
    config, world = USCA(epsilon=1.0, delta=1e-6, features=49), RKHS(actions=21, queries=3)
    results = [
        simulate_predictions(config, world, 100, trials=2, seed=1, ways=ways, label=label)
        for ways, label in ((("function", "once"), "<one>"), (("mean",), "other"))
    ]
    comparison = PredictionComparison(results, "tacit compare <usca>")
    page = comparison.write(tmp_path)[-1].read_text("utf-8")
    checker = _Balance()
    checker.feed(page)
    assert checker.open == []
    assert checker.links == []
    assert "tacit compare &lt;usca&gt;" in page
    assert "&lt;one&gt;" in page
    assert "epsilon &lt;= 1.000 at delta = 1e-06" in page
    assert "A random action loses" in page
    assert len(page) < 3_000_000


def test_the_table_has_a_row_for_every_way_with_its_own_price():
    config, world = USCA(epsilon=1.0, delta=1e-6, features=49), RKHS(actions=21, queries=3)
    ways = ("function", "once", "mean")
    result = simulate_predictions(config, world, 100, trials=2, seed=1, ways=ways)
    rows = [line.split() for line in PredictionComparison([result], "").text().splitlines()[2:]]
    assert [row[1] for row in rows] == list(ways)
    assert [row[3:5] for row in rows] == [["1.000", "1e-06"], ["1.000", "0"], ["–", "–"]]


def test_without_any_error_there_is_no_ratio():
    config, world = USCA(epsilon=1.0, delta=1e-6, features=49), RKHS(actions=1, queries=3)
    comparison = PredictionComparison([simulate_predictions(config, world, 100, trials=2, seed=1)], "")
    assert comparison.to_dict()["results"][0]["ratio_to_first"] is None
    assert "–" in comparison.text()
