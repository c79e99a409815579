"""Charts as data, and the folder a report leaves behind."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from tacit.data import NOT_PRIVATE
from tacit.errors import BadInput
from tacit.report.charts import MOST_POINTS, Chart, Line, Mark, embedded, frontier, regret_chart, slug
from tacit.report.page import Section, write_page
from tacit.report.reports import Report, settings_section, table_csv

HOSTILE = "</script><script>alert(1)</script><b>$x$ & \"'"


def chart(title="Regret", **changes):
    line = Line(label="LinUCB", xs=[1, 10, 100], ys=[1.0, 5.0, 20.0], low=[0.5, 4.0, 18.0], high=[1.5, 6.0, 22.0])
    return Chart(**{"title": title, "x_label": "rounds", "y_label": "regret", "lines": [line], **changes})


def report(*sections, **changes):
    return Report(**{"title": "A report", "command": "tacit run", "sections": sections, **changes})


# Lines and marks


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ys": [1.0]}, r"as many ys as xs.*'ys': 1.*'a'"),
        ({"xs": [], "ys": []}, "at least one"),
        ({"low": [0.0, 0.0]}, "'low': 2, 'high': 0"),
        ({"xs": [2.0, 1.0]}, r"growing xs for the line 'a', got \[2, 1\]"),
        ({"xs": [1.0, 1.0]}, "growing xs"),
        ({"xs": [1.0, math.nan]}, "finite and growing xs"),
    ],
)
def test_a_line_that_cannot_be_drawn_is_refused_with_its_name(changes, message):
    with pytest.raises(BadInput, match=message):
        Line(**{"label": "a", "xs": [1.0, 2.0], "ys": [1.0, 2.0], **changes})


@pytest.mark.parametrize("where", [{}, {"x": 1.0, "y": 1.0}, {"y": math.inf}, {"y": 1.0, "low": math.nan}])
def test_a_mark_stands_at_one_finite_x_or_y(where):
    with pytest.raises(BadInput, match="the mark 'goal'"):
        Mark(label="goal", **where)


def test_a_chart_needs_a_line_and_a_logarithm_needs_positive_numbers():
    with pytest.raises(BadInput, match="at least one line in the chart 'Regret'"):
        chart(lines=[])
    with pytest.raises(BadInput, match="x > 0 on a logarithmic axis, got x=0 in the line 'a'"):
        chart(lines=[Line(label="a", xs=[0, 1], ys=[0, 1])], log_x=True)


def test_a_line_of_trials_is_their_mean_and_its_standard_error():
    curves = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 10.0]])
    line = Line.of_trials("a", [1, 2], curves, errors=2.0)
    error = 2.0 / math.sqrt(3)
    assert line.ys == [3.0, 6.0]
    np.testing.assert_allclose(line.low, [3.0 - 2 * error, 6.0 - 4 * error])
    np.testing.assert_allclose(line.high, [3.0 + 2 * error, 6.0 + 4 * error])


def test_one_trial_has_no_band():
    line = Line.of_trials("a", [1, 2], np.array([[1.0, 2.0]]))
    assert (list(line.low), list(line.high)) == ([], [])


def test_thinning_keeps_the_ends_alters_nothing_and_serves_both_axes():
    xs = np.arange(1, 100_001)
    line = Line(label="a", xs=xs.tolist(), ys=(xs**0.5).tolist(), low=(xs - 1.0).tolist(), high=(xs + 1.0).tolist())
    thin = line.thinned()
    kept = np.array(thin.xs)
    assert len(kept) <= MOST_POINTS
    assert (kept[0], kept[-1]) == (1, 100_000)
    assert thin.ys == [x**0.5 for x in thin.xs]
    assert (thin.low, thin.high) == ([x - 1 for x in thin.xs], [x + 1 for x in thin.xs])
    # No hole wider than two of a hundred even steps, on either axis (small whole numbers stand apart by themselves).
    assert np.diff(kept).max() <= 2 * 1e5 / 99
    late = kept[kept > 50]
    assert np.diff(np.log(late)).max() <= 2 * math.log(1e5) / 99


def test_a_short_line_is_not_thinned():
    line = Line(label="a", xs=[-1.0, 0.0, 1.0], ys=[1.0, 2.0, 3.0])
    assert line.thinned() is line


def test_thinning_bears_negative_xs():
    xs = np.linspace(-5, -1, 1000).tolist()
    thin = Line(label="a", xs=xs, ys=xs).thinned()
    assert (thin.xs[0], thin.xs[-1]) == (-5, -1)
    assert len(thin.xs) <= MOST_POINTS


# What reaches the script


def test_a_gap_is_null_and_a_round_is_said_in_full():
    line = Line(label="a", xs=[1_234_567, 1_234_568], ys=[math.nan, 1 / 3])
    data = json.loads(embedded(chart(lines=[line]).to_dict()))
    assert data["lines"][0]["xs"] == [1_234_567, 1_234_568]
    assert data["lines"][0]["ys"] == [None, 0.333333]


def test_no_text_can_leave_the_data_of_a_chart():
    text = embedded({"label": HOSTILE})
    assert "<" not in text
    assert json.loads(text) == {"label": HOSTILE}


def test_numbers_of_numpy_are_embedded_like_any_other():
    line = Line(label="a", xs=np.array([1, 2]), ys=np.array([1.0, 2.0]))
    data = chart(lines=[line], marks=[Mark(label="m", y=np.int64(3))]).to_dict()
    assert json.loads(embedded(data))["marks"] == [{"label": "m", "x": None, "y": 3, "low": None, "high": None}]


def test_a_frontier_stands_on_the_true_epsilon_between_no_privacy_and_no_learning():
    line = Line(label="a", xs=[0.1, 1.0], ys=[0.2, 0.9])
    made = frontier("Kept", [line], nonprivate=1.0, uniform=0.0, y_label="share", percent=True)
    assert (made.x_label, made.log_x, made.log_y) == ("true ε", True, False)
    assert [(mark.label, mark.y) for mark in made.marks] == [("without privacy", 1.0), ("without learning", 0.0)]
    assert made.lines[0].points


def test_a_regret_chart_has_a_line_for_each_result():
    results = [
        SimpleNamespace(label=label, trials=2, checkpoints=np.array([1, 10]), curves=np.array([[1.0, 2.0], [3.0, 4.0]]))
        for label in ("a", "b")
    ]
    made = regret_chart(results)
    assert [(line.label, line.ys) for line in made.lines] == [("a", [2.0, 3.0]), ("b", [2.0, 3.0])]
    assert "2 trials" in made.caption


def test_a_title_becomes_a_file_name():
    assert [slug(title) for title in ("Regret, over rounds!", "ε", "../x")] == ["regret-over-rounds", "untitled", "x"]


# What is drawn without a script


def test_the_still_picture_is_the_same_for_the_same_numbers():
    assert chart().svg() == chart().svg()
    assert chart().svg() != chart(percent=True).svg()


def test_two_charts_of_a_page_share_no_name_that_is_pointed_at():
    used = [set(re.findall(r"url\(#([^)]+)\)", chart().svg(name))) for name in ("one", "two")]
    assert used[0]
    assert not used[0] & used[1]


def test_dollars_are_dollars():
    hostile = chart(r"costs in $\frac$", marks=[Mark(label="$", y=2.0), Mark(label=r"\$", x=5.0)], log_y=True)
    assert "frac" in hostile.svg()


# The folder


def test_a_report_writes_the_page_last_and_each_chart_and_table_beside_it(tmp_path):
    table = Section("Final regret", head=("policy", "regret"), rows=[["a", "1,234"], ["b", "–"]])
    paths = report(Section("Over time", chart=chart()), table).write(tmp_path / "new" / "folder")
    assert [path.name for path in paths] == [
        "regret.png",
        "regret.svg",
        "regret.csv",
        "final-regret.csv",
        "report.html",
    ]
    assert all(path.stat().st_size for path in paths)
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert paths[3].read_text("utf-8") == "policy,regret\na,1234\nb,\n"


def test_the_file_of_a_chart_holds_every_point():
    xs = list(range(1, 1001))
    line = Line(label='a, "b"', xs=xs, ys=[math.nan, *(x / 3 for x in xs[1:])])
    rows = list(csv.reader(io.StringIO(chart(lines=[line]).csv())))
    assert rows[0] == ["line", "rounds", "regret"]
    assert rows[1] == ['a, "b"', "1", ""]
    assert [float(y) for _, _, y in rows[2:]] == [x / 3 for x in xs[1:]]


def test_a_line_without_a_band_leaves_its_cells_empty_beside_one_with():
    plain = Line(label="plain", xs=[1], ys=[2.0])
    rows = list(csv.reader(io.StringIO(chart(lines=[*chart().lines, plain]).csv())))
    assert rows[0] == ["line", "rounds", "regret", "low", "high"]
    assert rows[-1] == ["plain", "1", "2", "", ""]


def test_only_what_is_for_the_eye_is_left_out_of_a_table():
    cells = ["1,234.5", "−1,000", "–", "1,2", "a – b", "12"]
    assert table_csv(Section("t", head=("h",), rows=[[cell] for cell in cells])).splitlines()[1:] == [
        "1234.5",
        "-1000",
        '""',
        '"1,2"',
        "a – b",
        "12",
    ]


def test_a_title_that_comes_again_is_numbered_and_replaces_no_file(tmp_path):
    tables = [Section("Settings", head=("h",), rows=[[cell]]) for cell in "abc"]
    paths = report(*tables).write(tmp_path)
    assert [path.name for path in paths] == ["settings.csv", "settings-2.csv", "settings-3.csv", "report.html"]
    assert [path.read_text("utf-8") for path in paths[:-1]] == ["h\na\n", "h\nb\n", "h\nc\n"]


class _Page(HTMLParser):
    """Counts scripts, collects what would be fetched, and the order of banner and first heading."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.fetched, self.order, self.policy = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        if tag == "script":
            self.scripts.append(named.get("type", "code"))
        if tag == "h2" or named.get("class") == "warning":
            self.order.append(tag)
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"]
        self.fetched += [value for name, value in attrs if name in ("src", "href") and not value.startswith("#")]


def test_hostile_names_stay_names(tmp_path):
    line = Line(label=HOSTILE, xs=[1, 2], ys=[1, 2])
    hostile = chart(HOSTILE, lines=[line], caption=HOSTILE, marks=[Mark(label=HOSTILE, y=1.0)], y_label=HOSTILE)
    sections = (
        Section(HOSTILE, chart=hostile, head=(HOSTILE,), rows=[[HOSTILE]], paragraphs=(HOSTILE,)),
        Section("card", text=HOSTILE),
        settings_section({HOSTILE: HOSTILE}),
    )
    made = report(*sections, title=HOSTILE, command=HOSTILE, lead=HOSTILE, warning=HOSTILE)
    text = made.write(tmp_path)[-1].read_text("utf-8")
    page = _Page(text)
    assert page.scripts == ["application/json", "code"]
    assert page.fetched == []
    assert "<b>" not in text


def test_a_page_may_run_its_own_script_and_fetch_nothing(tmp_path):
    page = _Page(write_page(tmp_path / "p.html", "t", [Section("s", chart=chart())]).read_text("utf-8"))
    assert page.policy.startswith("default-src 'none';")
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/]{43}='$", page.policy)


def test_a_page_says_something_without_scripts(tmp_path):
    text = write_page(tmp_path / "p.html", "t", [Section("s", chart=chart())]).read_text("utf-8")
    still = text[text.index('<div class="still">') :]
    assert still[len('<div class="still">') :].startswith("<svg")
    assert "LinUCB" in still[: still.index("</svg>")]


def test_the_warning_stands_above_everything(tmp_path):
    made = report(Section("s", paragraphs=("p",)), warning=NOT_PRIVATE).write(tmp_path)
    text = made[-1].read_text("utf-8")
    assert _Page(text).order[0] == "aside"
    assert "not private, do not publish" in text
    assert 'class="warning"' not in write_page(tmp_path / "q.html", "t", []).read_text("utf-8")


def test_cards_and_settings_are_folded_away(tmp_path):
    sections = [Section("Privacy card: a", text="card"), settings_section({"rounds": 10, "data": "digits"})]
    text = write_page(tmp_path / "p.html", "t", sections).read_text("utf-8")
    assert re.findall(r'<details class="fold"><summary>([^<]+)</summary>', text) == ["Privacy card: a", "Settings"]
    assert "<td>digits</td>" in text


def test_a_page_of_long_lines_stays_small(tmp_path):
    xs = np.arange(1, 20_001)
    noise = np.random.default_rng(1).normal(size=(8, len(xs)))
    lines = [
        Line(label=f"policy {i}", xs=xs.tolist(), ys=(xs + row).tolist(), low=(xs - 9).tolist(), high=(xs + 9).tolist())
        for i, row in enumerate(noise)
    ]
    page = write_page(tmp_path / "p.html", "t", [Section("s", chart=chart(lines=lines))])
    assert page.stat().st_size < 600_000
