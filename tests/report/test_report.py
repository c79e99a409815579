"""Tables and pages."""

from __future__ import annotations

from html.parser import HTMLParser

import tacit
from tacit.environments import Sphere
from tacit.report.comparison import Comparison
from tacit.report.page import Section, write_page
from tacit.report.tables import number, table


def test_tables_line_up():
    text = table(("name", "value"), [["a", "1"], ["long name", "1,000"]], right=(1,))
    assert text.splitlines() == ["name       value", "─────────  ─────", "a              1", "long name  1,000"]


def test_numbers_are_for_reading():
    assert [number(value) for value in (None, 0, 1234.5678, 0.12345, 12_345_678.0, 1e-9)] == [
        "–",
        "0.000",
        "1,235",
        "0.123",
        "1.235e+07",
        "1.000e-09",
    ]


class _Balance(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.links = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href") and not value.startswith("#")]

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_page_is_whole_and_fetches_nothing(tmp_path):
    results = [
        tacit.simulate(config, Sphere(dim=3), rounds=50, trials=2, seed=1)
        for config in (tacit.LinUCB(dim=3), tacit.JointLinUCB(dim=3, epsilon=1.0, delta=1e-6))
    ]
    paths = Comparison(results, "tacit compare <linucb>").write(tmp_path)
    page = paths[-1].read_text("utf-8")
    checker = _Balance()
    checker.feed(page)
    assert checker.open == []
    assert checker.links == []
    assert "tacit compare &lt;linucb&gt;" in page
    assert "epsilon &lt;= 1.000 at delta = 1e-06" in page
    assert "No privacy is promised" in page
    assert len(page) < 3_000_000


def test_a_small_error_does_not_read_as_none():
    assert [number(value, 2) for value in (0.03, 0.0312, 0.25, 3.4)] == ["0.030", "0.031", "0.25", "3.4"]


def test_sentences_in_a_table_are_wrapped(tmp_path):
    sections = [Section("s", head=("h",), rows=[["a sentence"]], wrap=wrap) for wrap in (True, False)]
    page = write_page(tmp_path / "p.html", "title", sections).read_text("utf-8")
    assert page.count('<table class="wrap">') == 1


def test_text_in_a_page_is_escaped(tmp_path):
    path = write_page(tmp_path / "p.html", "<b>", [Section("<i>", paragraphs=("`a<b`",), head=("h",), rows=[["<td>"]])])
    page = path.read_text("utf-8")
    assert "<b>" not in page
    assert "<i>" not in page
    assert "<code>a&lt;b</code>" in page
