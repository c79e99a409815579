"""The real dashboard in a real browser, against the real service."""

from __future__ import annotations

import pytest

from tests.service.browser import BROWSER, MISSING, Browser, Tab
from tests.service.serving import serving

pytestmark = pytest.mark.skipif(BROWSER is None, reason=MISSING)


@pytest.fixture
def tab(tmp_path):
    browser = Browser(tmp_path / "profile")
    found = Tab(browser)
    try:
        yield found
    finally:
        found.close()
        browser.close()


def test_the_dashboard_shows_what_the_service_says(tab, tmp_path):
    with serving(tmp_path / "tacit.db", keys={"boss": "admin", "shop": "decide"}) as service:
        service.create("front-page", "renyi-ucb", {"arms": 3, "rho": 1.0}, key="boss", closes_after_decisions=1)
        for _ in range(8):
            made = service.decide("front-page", None, key="shop").json()
            assert service.reward("front-page", made["decision"], 1.0, key="shop").status_code == 200
        tab.open(f"{service.url}/")
        tab.sees("This service asks for a key")
        # Without a key, and with one of another role, nothing is shown.
        assert "front-page" not in tab.text()
        enter(tab, service.keys["shop"])
        tab.sees("This key may not read the status.")
        assert "front-page" not in tab.text()
        enter(tab, service.keys["boss"])
        tab.sees("front-page", "renyi-ucb", "8 decisions", "secure noise", "serving", "learning")
        found = service.ask("GET", "/v1/deployments/front-page", key="boss").json()
        tab.sees(f"view {found['view']}", "store sqlite, not sealed", "Mean rewards of 3 arms, from priced releases")
        # It follows what happens, also that the deployment is paused.
        assert service.ask("POST", "/v1/deployments/front-page/pause", key="boss").status_code == 200
        tab.sees("paused")
        assert service.keys["boss"] not in tab.js("location.href")
        assert tab.complaints() == []
        asked = {address for address in tab.requests() if not address.startswith("data:")}
        assert all(address.startswith(f"{service.url}/") for address in asked), asked
        assert tab.overflow() <= 0


def enter(tab, key):
    tab.until("document.activeElement.id === 'key'")
    tab.type(key)
    tab.press("Enter")
