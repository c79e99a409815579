"""The dashboard in a real browser, against a service that only pretends."""

from __future__ import annotations

import json
import re

import pytest

from tacit.service import dashboard
from tests.service.browser import BROWSER, MISSING, Browser, Tab
from tests.service.pretending import deployment, forked, local, pretended, spent, status

opens = pytest.mark.skipif(BROWSER is None, reason=MISSING)

# Waiting is shortened for the test; how long the page wanted to wait is written down.
HURRY = """
window.waits = [];
const real = window.setTimeout;
window.setTimeout = (call, wait, ...rest) => { window.waits.push(wait); return real(call, wait / 40, ...rest); };
"""
EVIL = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    made = Browser(tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.fixture
def service():
    with pretended(status(deployment(), spent(), forked(), local())) as made:
        yield made


@pytest.fixture
def visit(browser, service):
    """Open the page; at the end it must not have raised anything, nor asked anybody else."""
    tabs = []

    def opened(**options):
        tabs.append(Tab(browser, before=HURRY, **options).open(f"{service.origin}/"))
        return tabs[-1]

    yield opened
    for tab in tabs:
        assert tab.complaints() == []
        asked = {address for address in tab.requests() if not address.startswith("data:")}
        assert all(address.startswith(f"{service.origin}/") for address in asked), asked
        tab.close()


def article(name):
    named = f"(it) => it.querySelector('h3').textContent === {json.dumps(name)}"
    return f"[...document.querySelectorAll('article')].find({named})"


def polls(tab, more=3):
    """Wait until the page has planned so many questions more: it does so when it has written an answer down."""
    tab.until(f"window.waits.length >= {tab.js('window.waits.length') + more}")


def test_the_page_needs_nothing_from_elsewhere():
    page = dashboard.page().decode()
    assert not re.search(r"(src|href)=[\"'](?!data:|/docs\b|#)", page)
    assert not re.search(r"url\(|@import|innerHTML|insertAdjacentHTML|document\.write|eval\(|localStorage|cookie", page)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "connect-src 'self'" in policy


@opens
def test_the_numbers_can_be_read(visit):
    tab = visit()
    tab.sees("front-page", "version 0.1.0", "store sqlite, sealed", "replica a1b2c3", "up 1 d 1 h")
    traffic = tab.text("#operators")
    for text in ("12,345", "0.02 % of all", "1.2 ms", "3.1 ms", "5.04 ms", "at most 22"):
        assert text in traffic
    assert "not covered by the guarantee: for operators" in traffic
    assert tab.text("#pending") == "126"
    assert tab.js("document.querySelector('#spark polyline').getAttribute('points').split(' ').length") == 60
    told = tab.js(f"{article('front-page')}.innerText")
    for text in (
        *("joint-linucb", "joint trust", "takes decisions", "10 dimensions", "secure noise", "serving", "learning"),
        *("ε ≤ 1.000 at δ = 1e-6", "of 1.000 promised", "100 % charged"),
        *("123,456 decisions", "876,544 left of 1,000,000", "17 of 1,374", "view 17, 5 min old"),
        *("joint DP: contexts and rewards of one round", "42 pending"),
    ):
        assert text in told
    meter = f"{article('front-page')}.querySelectorAll('[role=meter]')"
    assert tab.js(f"{meter}[1].querySelector('.fill').style.width") == "12.3456%"
    assert tab.js(f"{meter}[1].getAttribute('aria-valuetext')") == "123,456 decisions, 876,544 left of 1,000,000"


@opens
def test_of_rewards_only_what_was_released_is_shown(visit):
    tab = visit()
    tab.sees("Mean rewards of 2 arms, from priced releases")
    assert re.search(r"left\s+0\.43\s+right\s+0\.571", tab.js(f"{article('phones')}.innerText"))
    assert "reward" not in tab.js(f"{article('newsletter')}.innerText").replace("contexts and rewards", "")


@opens
def test_a_spent_horizon_is_said_in_words(visit):
    tab = visit()
    tab.sees("The horizon of 1,000 rounds is spent: decisions go on from the last view.", "newsletter: not learning")
    told = tab.js(f"{article('newsletter')}.innerText")
    assert "not learning" in told
    assert "1,040 decisions" in told, "decisions go on"
    assert "none left of 1,000" in told
    meter = f"{article('newsletter')}.querySelectorAll('[role=meter]')[1]"
    assert tab.js(f"{meter}.querySelector('.fill').style.width") == "100%"


@opens
def test_reports_in_batches_are_counted_by_the_report(visit, service):
    mixed = {"policy": "shuffle-linucb", "trust": "shuffle", "takes": "batches", "sampler": "none"}
    service.told = status(deployment(**mixed, decisions=2, rounds_left=9900, limit=10_000))
    tab = visit()
    tab.sees("2 batches", "9,900 left of 10,000 reports", "noise on devices")
    meter = f"{article('front-page')}.querySelectorAll('[role=meter]')[1]"
    assert tab.js(f"{meter}.querySelector('.fill').style.width") == "1%"


@opens
def test_a_failure_a_pause_and_a_policy_without_privacy_need_attention(visit, service):
    exact = {"trust": "none", "sampler": "none", "epsilon": None, "delta": None, "promised_epsilon": None}
    service.told = status(
        deployment(name="broken", state="failed", why_not="Resume it to try once more, or delete it."),
        deployment(name="resting", state="paused"),
        deployment(name="plain", **exact, actions=4),
    )
    tab = visit()
    tab.sees("broken: failed", "Resume it to try once more, or delete it.", "resting: paused", "plain: not private")
    for name in ("broken", "resting"):
        assert "not learning" in tab.js(f"{article(name)}.innerText")
    told = tab.js(f"{article('plain')}.innerText")
    for text in ("not private", "4 actions", "no noise", "no ε is accounted"):
        assert text in told
    assert "charged" not in told


@opens
def test_a_store_that_cannot_be_written_is_said_first(visit, service):
    tab = visit()
    assert "its store cannot be written" not in tab.text()
    service.told["service"]["available"] = False
    tab.until("document.querySelector('#attention-list li')?.innerText.startsWith('The service: its store cannot be')")
    tab.until("document.querySelector('#spoken').textContent.includes('The store cannot be written.')")
    service.told["service"]["available"] = True
    tab.until("!document.body.innerText.includes('its store cannot be written')")


@opens
@pytest.mark.parametrize(
    ("epsilon", "shown"), [(0.99999, "1.000"), (1.0, "1.000"), (9.9999, "10.00"), (0.1234561, "0.1235")]
)
def test_an_epsilon_has_four_digits_and_is_rounded_up(visit, service, epsilon, shown):
    service.told = status(deployment(epsilon=epsilon, promised_epsilon=None))
    visit().sees(f"ε ≤ {shown} at δ")


@opens
def test_of_many_arms_it_is_said_how_many_are_shown(visit, service):
    rows = [{"arm": str(arm), "value": 0.5} for arm in range(50)]
    service.told = status(deployment(released={"mean_rewards": rows, "arms": 72, "from": "priced releases"}))
    visit().sees("Mean rewards of 72 arms, the first 50, from priced releases")


@opens
def test_above_the_promise_is_red_and_said_in_words(visit):
    tab = visit()
    tab.sees("checkout: above the promise")
    told = tab.js(f"{article('checkout')}.innerText")
    # An upper bound is rounded up: the square root of two is below 1.415, not below 1.414.
    assert "Above the promise: ε ≤ 1.415 is accounted, ε = 1.000 was promised. 2 copies" in told
    over = f"{article('checkout')}.querySelector('.meter .over')"
    assert tab.js(f"parseFloat({over}.style.width)") == pytest.approx(100 * (1 - 1 / 1.4142135), abs=1e-3)
    assert tab.js(f"getComputedStyle({over}).backgroundColor") == "rgb(168, 32, 26)"
    # The twin: at the promise there is nothing to say.
    assert tab.js(f"{article('front-page')}.querySelectorAll('.says, .bad').length") == 0


@opens
def test_a_seed_is_a_warning(visit, service):
    service.told = status(deployment(seeded=True))
    visit().sees("Seeded: whoever knows the seed can take the noise away.", "front-page: seeded, for tests only")


@opens
def test_without_deployments_the_page_says_how_to_make_one(visit, service):
    service.told = status()
    tab = visit()
    tab.sees("No deployment yet", "tacit deployments create ")
    service.told = status(deployment())
    tab.until("document.querySelector('#empty').hidden")
    tab.until("document.querySelector('#spoken').textContent === 'New: front-page.'")


@opens
def test_what_is_not_known_is_a_dash_or_a_word(visit, service):
    nothing = {"rounds_left": None, "releases_planned": None, "epsilon": None, "delta": None, "promised_epsilon": None}
    service.told = status(deployment(**nothing, dim=None))
    service.told["requests"]["latency_ms"] = {"p50": None, "p95": None, "p99": None}
    tab = visit()
    tab.sees("no ε is accounted", "none is promised", "no horizon")
    assert tab.text("#p99") == "–"
    assert tab.js(
        "[...document.querySelectorAll('.meter')].every((it) => getComputedStyle(it).visibility === 'hidden')"
    )


@opens
def test_a_key_is_asked_for_used_and_forgotten(visit, service):
    service.key = "tk_right"
    tab = visit()
    tab.sees("This service asks for a key")
    assert tab.js("document.activeElement.id") == "key"
    assert "front-page" not in tab.text()
    tab.type("tk_wrong")
    tab.press("Enter")
    tab.sees("This key may not read the status.")
    assert tab.js("document.activeElement.id") == "key"
    tab.type("two words")
    tab.press("Enter")
    tab.sees("A key has no spaces")
    tab.js("document.querySelector('#key').value = ''")
    tab.type("tk_right")
    tab.press("Enter")
    tab.sees("front-page", "Forget key")
    assert tab.js("document.querySelector('#ask').hidden")
    assert service.asked[-1] == ("GET", "/v1/status", "Bearer tk_right")
    assert tab.js("[{...sessionStorage}, {...localStorage}, document.cookie]") == [{"tacit-key": "tk_right"}, {}, ""]
    assert "tk_" not in tab.js("document.documentElement.outerHTML + location.href")

    tab.tab_to("it.id === 'forget'")
    tab.press("Enter")
    tab.sees("This service asks for a key")
    assert tab.js("Object.keys(sessionStorage).length") == 0
    assert tab.js("document.querySelectorAll('article').length") == 0
    assert "12,345" not in tab.text()


@opens
def test_a_kept_key_is_used_when_the_page_is_loaded_again(visit, service):
    service.key = "tk_right"
    tab = visit()
    tab.sees("This service asks for a key")
    tab.type("tk_right")
    tab.press("Enter")
    tab.sees("front-page")
    tab.open(f"{service.origin}/")
    tab.sees("front-page")
    assert service.asked[-1] == ("GET", "/v1/status", "Bearer tk_right")


@opens
def test_a_service_that_is_down_leaves_its_last_numbers_greyed(visit, service):
    tab = visit()
    tab.sees("front-page")
    assert not tab.js("document.querySelector('#numbers').classList.contains('stale')")
    service.stop()
    tab.until("window.waits.includes(16000)")
    tab.sees("The service cannot be reached. These are the last numbers, of ", "Next try in ")
    assert tab.js("document.querySelector('#numbers.stale') !== null")
    assert "12,345" in tab.text()
    assert tab.text("#connection") == "no answer"
    assert tab.js("document.title") == "no answer · tacit"
    # Every try waits twice as long as the one before.
    waits = tab.js("window.waits")
    assert waits[0] == 2000
    assert waits[waits.index(4000) :][:3] == [4000, 8000, 16000]
    service.start()
    tab.js("document.querySelector('#retry').click()")
    tab.until("document.querySelector('#connection').textContent === 'live'")
    assert tab.js("document.querySelector('#down').hidden")
    assert tab.text("#spoken") == "The service answers again."


@opens
@pytest.mark.parametrize(
    ("code", "told", "says"), [(503, {}, "The service answered 503."), (200, {"no": 1}, "cannot read")]
)
def test_an_answer_that_is_no_status_is_said(browser, service, code, told, says):
    service.code, service.told = code, told
    tab = Tab(browser, before=HURRY).open(f"{service.origin}/")
    tab.sees(says)
    tab.close()


@opens
def test_a_tab_that_nobody_looks_at_asks_seldom(visit, service):
    tab = visit()
    tab.sees("front-page")
    tab.js("Object.defineProperty(document, 'hidden', { configurable: true, value: true })")
    tab.js("window.waits.length = 0; document.dispatchEvent(new Event('visibilitychange'))")
    tab.until("window.waits.length > 1")
    assert set(tab.js("window.waits")) == {30000}
    tab.js("Object.defineProperty(document, 'hidden', { configurable: true, value: false })")
    tab.js("window.waits.length = 0; document.dispatchEvent(new Event('visibilitychange'))")
    tab.until("window.waits.length > 1")
    assert set(tab.js("window.waits")) == {2000}


@opens
def test_updates_can_be_paused(visit, service):
    tab = visit()
    tab.sees("front-page")
    tab.tab_to("it.id === 'pause'")
    tab.press(" ")
    tab.sees("updates paused", "Resume updates")
    service.told = status(deployment(name="other"))
    tab.js("new Promise((done) => setTimeout(done, 6000))")
    assert "front-page" in tab.text()
    tab.press(" ")
    tab.sees("other")


@opens
def test_changes_are_spoken_and_ticks_are_not(visit, service):
    tab = visit()
    tab.until("document.querySelector('#spoken').textContent === 'Live: 4 deployments.'")
    tab.js(
        "window.spoken = []; const live = document.querySelector('#spoken');"
        "new MutationObserver(() => window.spoken.push(live.textContent)).observe(live, { childList: true })"
    )
    for decisions in (123_457, 123_458):
        service.told = status(deployment(decisions=decisions, view_age_seconds=322.0), spent(), forked(), local())
        tab.sees(f"{decisions:,} decisions")
    assert tab.js("window.spoken") == []
    service.told = status(
        deployment(epsilon=2.0, copies=4), deployment(name="phones", learning=False, why_not="No plan.")
    )
    tab.until("window.spoken.length > 0")
    said = tab.js("window.spoken.join(' ')")
    for text in ("newsletter is gone.", "front-page: above the promise.", "phones: not learning. No plan."):
        assert text in said


@opens
def test_the_keyboard_reaches_and_opens_everything(visit, service):
    tab = visit()
    tab.sees("front-page")
    tab.press("Tab")
    assert tab.js("document.activeElement.className") == "skip"
    assert tab.js("document.activeElement.getBoundingClientRect().left >= 0"), "the skip link shows itself"
    tab.press("Enter")
    assert tab.js("location.hash") == "#deployments"
    tab.tab_to("it.tagName === 'SUMMARY'")
    assert tab.js("document.activeElement.closest('article').querySelector('h3').textContent") == "front-page"
    outline = tab.js(
        "getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth"
    )
    assert outline == "solid2px"
    tab.press("Enter")
    tab.sees("Privacy card: joint-linucb (exact calibration)")
    assert ("GET", "/v1/deployments/front-page/card", None) in service.asked
    polls(tab)
    assert tab.js("document.activeElement.parentElement.open"), "an update neither closes it nor takes the focus"
    tab.press(" ")
    assert not tab.js("document.activeElement.parentElement.open")


@opens
def test_every_control_comes_in_reading_order(visit):
    tab = visit()
    tab.sees("front-page")
    order = []
    for _ in range(11):
        tab.press("Tab")
        order.append(tab.js("document.activeElement.innerText"))
    assert order[:5] == ["Skip to the deployments", "Pause updates", "newsletter", "checkout", "phones"]
    released = "Mean rewards of 2 arms, from priced releases"
    assert order[5:] == ["Privacy card", "Privacy card", "Privacy card", released, "Privacy card", "API"]


@opens
def test_the_card_is_asked_for_again_when_the_price_changes(visit, service):
    service.told = status(deployment())
    tab = visit()
    tab.sees("front-page")
    tab.js("document.querySelector('summary:not(:empty)').click()")
    tab.sees("accounted     epsilon <= 1.000")
    service.card = "Forked twice."
    service.told = status(deployment(epsilon=2.0, copies=3))
    tab.sees("Forked twice.")


@opens
def test_hostile_names_stay_text(visit, service):
    def poisoned(node):
        if isinstance(node, dict):
            return {key: poisoned(value) for key, value in node.items()}
        if isinstance(node, list):
            return [poisoned(each) for each in node]
        return EVIL if isinstance(node, str) else node

    service.told = poisoned(status(deployment(), local()))
    service.told["deployments"][1]["name"] = "../../" + EVIL
    service.told["deployments"][0]["why_not"] = EVIL
    service.card = EVIL
    tab = visit()
    tab.until("document.querySelectorAll('article').length === 2")
    assert tab.js("document.querySelector('article h3').textContent") == EVIL
    tab.js("document.querySelectorAll('details').forEach((it) => { it.open = true; })")
    tab.until("document.querySelectorAll('pre.card')[1].textContent.includes('onerror')")
    assert tab.js("document.querySelectorAll('img, article script, iframe').length") == 0
    assert tab.js("document.querySelectorAll('script').length") == 1
    assert tab.js("window.hit === undefined")
    assert all(
        path in ("/", "/v1/status") or re.fullmatch(r"/v1/deployments/[^/]+/card", path) for _, path, _ in service.asked
    )


@opens
def test_nothing_sticks_out_on_a_phone(visit, service):
    names = {"name": "a-name-without-any-end-" * 6, "policy": "long" * 30, "guarantee": "x" * 200}
    service.told["deployments"].append(deployment(**names, decisions=10**14, rounds_left=10**15, why_not="y" * 200))
    service.told["deployments"][0]["released"] = {
        "mean_rewards": [{"arm": "z" * 90, "value": -1e-12}],
        "from": "w" * 90,
    }
    service.card = "wide " * 80 + "v" * 300
    tab = visit(width=360, height=740)
    tab.sees("a-name-without-any-end-")
    assert tab.overflow() == 0
    tab.until("[...document.querySelectorAll('pre.card')].every((it) => it.textContent.includes('vvv'))")
    assert tab.overflow() == 0
    # The twin: something that is wider than the phone is noticed.
    tab.js("document.body.append(Object.assign(document.createElement('div'), { id: 'wide', textContent: 'wide' }))")
    tab.js("document.querySelector('#wide').style.width = '600px'")
    assert tab.overflow() > 100


@opens
def test_light_and_dark_are_two_sets_of_colours(visit):
    colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    tab = visit()
    assert tab.js(colours) == ["rgb(255, 255, 255)", "rgb(27, 31, 36)"]
    tab.prefer("color-scheme", "dark")
    assert tab.js(colours) == ["rgb(20, 24, 28)", "rgb(230, 233, 236)"]


@opens
def test_nothing_moves_for_those_who_asked_for_it(visit):
    tab = visit()
    tab.sees("front-page")
    moves = "getComputedStyle(document.querySelector('.meter .fill')).transitionDuration"
    assert tab.js(moves) == "0.3s"
    tab.prefer("reduced-motion", "reduce")
    assert tab.js(moves) == "0s"


@opens
def test_the_browser_lets_the_page_ask_nobody_else(browser, service):
    with pretended(status()) as other:
        tab = Tab(browser).open(f"{service.origin}/")
        tab.sees("front-page")
        tab.js(f"fetch('{other.origin}/v1/status').catch(() => 0)")
        assert other.asked == []
        assert any("Content Security Policy" in line for line in tab.complaints())
        tab.close()


@opens
def test_a_script_that_is_not_the_pages_own_does_not_run(browser, service):
    # The broken twin: one letter of the script is changed, and the browser must refuse all of it, and say so.
    service.pages["/"] = dashboard.page().replace(b"use strict", b"use  strict")
    tab = Tab(browser).open(f"{service.origin}/")
    assert tab.text("#connection") == "connecting"
    assert any("Content Security Policy" in line for line in tab.complaints())
    tab.close()
