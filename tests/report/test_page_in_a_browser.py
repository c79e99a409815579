"""The page in a real browser: it is opened with #selftest, uses itself, and says on its root element what it saw."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from tacit.report.charts import Chart, Line, Mark, frontier
from tacit.report.dots import Dot, Dots, Group
from tacit.report.page import Section
from tacit.report.reports import Report, settings_section

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium or Chrome on this machine: the page was not opened"
)

XS = [1, 10, 100, 1000]
ROWS = [
    ["LinUCB", "–", "1,000"],
    ["<b>joint</b>", "0.5", "−20"],
    ["local, noisy", "≤ 12", "300"],
    ["uniform", "–", "–"],
]


class _Root(HTMLParser):
    """The data attributes of the root element."""

    def __init__(self, text):
        super().__init__()
        self.seen = {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "html":
            self.seen = {name.removeprefix("data-"): value for name, value in attrs if name.startswith("data-")}


def opened(page, profile, *flags, fragment="#selftest"):
    """What the page saw of itself, and what the console said."""
    done = subprocess.run(
        [
            *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"),
            *(f"--user-data-dir={profile}", *flags, "--dump-dom", f"{page.as_uri()}{fragment}"),
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return _Root(done.stdout).seen, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def dots():
    """Two rows, two groups; one dot without an interval, one that is not there."""
    wide = Dot(value=0.5, low=0.4, high=0.6, trials=[0.45, 0.55])
    groups = [
        Group(label="joint", dots=[wide, Dot(value=0.3)]),
        Group(label="<i>local</i>", dots=[Dot(value=0.2, low=0.1, high=0.25), None]),
    ]
    return Dots(
        title="Estimates",
        x_label="reward",
        rows=["IPS", "doubly robust, with a name that is longer than a phone is wide " * 2],
        groups=groups,
        marks=[Mark(label="the log itself", x=0.35)],
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    regret = Chart(
        title="Regret",
        x_label="rounds",
        y_label="pseudo-regret",
        lines=[
            Line(label="LinUCB", xs=XS, ys=[0.0, 5.0, 20.0, 60.0], low=[0, 4, 18, 50], high=[0, 6, 22, 70]),
            Line(label="</script>", xs=XS, ys=[1.0, 10.0, float("nan"), 1000.0], dashed=True),
        ],
        log_x=True,
        log_y=True,
    )
    kept = frontier(
        "Kept",
        [Line(label="joint", xs=[0.1, 1.0, 10.0], ys=[0.1, 0.5, 0.95])],
        nonprivate=1.0,
        uniform=0.0,
        y_label="share",
        percent=True,
        marks=[Mark(label="useful", x=8.0)],
    )
    sections = [
        Section("Over time", chart=regret),
        Section("Frontier", chart=kept),
        Section("Estimates", chart=dots()),
        Section("Final", head=("policy", "epsilon", "regret"), rows=ROWS, right=(1, 2)),
        Section("Card", text="a line that is much wider than any phone " * 10),
        settings_section({"rounds": 1000}),
    ]
    made = Report(title="A page", command="tacit run " + "--option " * 40, sections=sections)
    return made.write(tmp_path_factory.mktemp("page"))[-1]


@pytest.fixture(scope="module")
def visit(page, tmp_path_factory):
    return opened(page, tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def seen(visit):
    assert visit[0].get("selftest") == "done", visit
    return visit[0]


def test_nothing_goes_wrong(seen, visit):
    assert "error" not in seen
    assert visit[1] == []


def test_every_line_is_drawn(seen):
    assert (seen["charts"], seen["lines"]) == ("3", "2 1 2")


def test_pointing_at_the_end_reads_every_line_there_and_leaving_ends_it(seen):
    assert [line.strip() for line in seen["readout"].splitlines() if line.strip()] == [
        "rounds: 1,000",
        "</script>",
        "1,000",
        "LinUCB",
        "60",
        "50 to 70",
    ]
    assert seen["left"] == "true"


def test_the_keyboard_reads_aloud_what_the_axis_can_show(seen):
    # LinUCB has no regret in round 1, which a logarithmic axis cannot show.
    assert seen["spoken"] == "rounds 1; </script>: 1"


def test_a_legend_entry_hides_its_line(seen):
    assert (seen["toggled"], seen["pressed"]) == ("1", "false")


def test_an_axis_can_be_switched(seen):
    assert (seen["scale"], seen["switched"]) == ("y: log", "y: linear")


def test_a_table_sorts_by_number_both_ways_and_back_with_the_empty_last(seen):
    assert seen["unsorted"] == "1,000 | −20 | 300 | –"
    assert seen["ascending"] == "−20 | 300 | 1,000 | –"
    assert seen["descending"] == "1,000 | 300 | −20 | –"
    assert seen["restored"] == seen["unsorted"]


def test_a_downloaded_table_is_the_one_beside_the_page(seen, page):
    assert seen["csv"].splitlines() == (page.parent / "final.csv").read_text("utf-8").splitlines()


def test_the_button_saves_that_table_under_its_name(seen):
    assert seen["download"] == "final.csv"
    # A line ends in two bytes in the file, and in one where the browser prints its page.
    assert int(seen["bytes"]) == len(seen["csv"].replace("\n", "\r\n").encode())


def test_dots_are_read_by_row(dotted):
    assert [line.strip() for line in dotted["readout"].splitlines() if line.strip()] == [
        "IPS",
        "joint",
        "0.5",
        "0.4 to 0.6",
        "<i>local</i>",
        "0.2",
        "0.1 to 0.25",
    ]
    assert dotted["spoken"] == "IPS; joint: 0.5; <i>local</i>: 0.2"
    assert dotted["toggled"] == "1"
    assert "error" not in dotted


@pytest.fixture(scope="module")
def dotted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dots")
    page = Report(title="Dots", command="tacit", sections=[Section("s", chart=dots())]).write(folder)[-1]
    seen, said = opened(page, tmp_path_factory.mktemp("profile"))
    assert said == []
    return seen


def test_light_and_dark_are_two_sets_of_colours(seen, page, tmp_path):
    dark, said = opened(page, tmp_path / "profile", "--blink-settings=preferredColorScheme=0")
    assert said == []
    assert (seen["paper"], dark["paper"]) == ("rgb(255, 255, 255)", "rgb(20, 24, 28)")
    assert seen["ink"] != dark["ink"]
    assert seen["stroke"] != dark["stroke"]


def on_a_phone(page, folder):
    """No window is as narrow as a phone, but a frame is. The page tells it what it saw."""
    frame = folder / "frame.html"
    frame.write_text(
        f'<html><body><iframe src="{page.as_uri()}#selftest" width="390" height="844"></iframe><script>\n'
        "onmessage = ({ data }) => Object.assign(document.documentElement.dataset, data);</script></body></html>",
        "utf-8",
    )
    seen, said = opened(frame, folder / "profile", "--virtual-time-budget=5000", "--hide-scrollbars", fragment="")
    assert said == []
    assert (seen["selftest"], seen["width"]) == ("done", "390")
    return seen


def test_nothing_sticks_out_on_a_phone(page, tmp_path):
    seen = on_a_phone(page, tmp_path)
    assert seen["overflow"] == "0"
    assert seen["readout"], "what is pointed at is read out on a phone too"


def test_what_sticks_out_on_a_phone_is_noticed(page, tmp_path):
    # The broken twin: something that is wider than the phone.
    wide = tmp_path / "wide.html"
    wide.write_text(page.read_text("utf-8").replace("<h1>", '<div style="width: 600px">wide</div><h1>'), "utf-8")
    assert int(on_a_phone(wide, tmp_path)["overflow"]) > 100


def test_a_script_that_is_not_the_pages_own_does_not_run(page, tmp_path):
    # The broken twin: one letter of the script is changed, and the browser must refuse all of it, and say so.
    altered = tmp_path / "altered.html"
    altered.write_text(page.read_text("utf-8").replace("use strict", "use  strict"), "utf-8")
    seen, said = opened(altered, tmp_path / "profile")
    assert seen == {}
    assert any("Content Security Policy" in line for line in said)
