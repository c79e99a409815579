"""A real browser for the pages of the service: headless Chromium, spoken to through a pipe, without any driver."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome") if os.name == "posix" else ()
BROWSER = next(filter(None, map(shutil.which, _NAMES)), None)
MISSING = "no Chromium or Chrome on this machine, or no pipe to it: the page was not opened"

_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--remote-debugging-pipe"),
)
# Chromium reads from descriptor 3 and writes to 4.
_START = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
)
_PATIENCE = 20.0

KEYS = {
    "Tab": {"code": "Tab", "windowsVirtualKeyCode": 9},
    "Enter": {"code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"},
    " ": {"code": "Space", "windowsVirtualKeyCode": 32, "text": " "},
}


class Browser:
    """One Chromium. Every tab is opened with cookies and storage of its own."""

    def __init__(self, profile):
        ours, theirs = _pipe(), _pipe()
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-c", _START, str(ours[0]), str(theirs[1])),
                *(BROWSER, *_FLAGS, f"--user-data-dir={profile}", "about:blank"),
            ],
            pass_fds=(ours[0], theirs[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(ours[0])
        os.close(theirs[1])
        self._to, self._from = ours[1], theirs[0]
        self._numbers = count(1)
        self._buffer = b""
        self.events = []

    def call(self, method, session=None, **params):
        """What the browser answers; what it tells meanwhile is kept in `events`."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            for told in self._read(end - time.monotonic()):
                if told.get("id") == number:
                    assert "error" not in told, (method, told["error"])
                    return told["result"]
                self.events.append(told)
        raise TimeoutError(f"Chromium did not answer {method} within {_PATIENCE:g} s.")

    def _read(self, wait):
        while b"\0" not in self._buffer:
            if not select.select([self._from], [], [], max(wait, 0))[0]:
                return
            read = os.read(self._from, 1 << 20)
            if not read:
                raise ConnectionError("Chromium has ended.")
            self._buffer += read
        message, _, self._buffer = self._buffer.partition(b"\0")
        yield json.loads(message)

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, TimeoutError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self._to)
        os.close(self._from)


class Tab:
    """A tab with a phone's or a desk's width, in light colours unless told otherwise."""

    def __init__(self, browser, *, width=1000, height=900, before=""):
        self.browser = browser
        self.context = browser.call("Target.createBrowserContext")["browserContextId"]
        made = browser.call("Target.createTarget", url="about:blank", browserContextId=self.context)
        attached = browser.call("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.prefer("color-scheme", "light")
        if before:
            self.call("Page.addScriptToEvaluateOnNewDocument", source=before)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def resize(self, width, height):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def prefer(self, what, value):
        self.call("Emulation.setEmulatedMedia", features=[{"name": f"prefers-{what}", "value": value}])

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")
        return self

    def js(self, source):
        """The value of an expression, promises awaited."""
        told = self.call("Runtime.evaluate", expression=source, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def until(self, source, wait=8.0):
        """Wait until the expression holds."""
        end = time.monotonic() + wait
        while not self.js(f"Boolean({source})"):
            if time.monotonic() > end:
                raise AssertionError(f"Never came: {source}\n\n{self.text()}")
            time.sleep(0.02)

    def text(self, selector="body"):
        return self.js(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def sees(self, *texts):
        """Wait until all of them can be read on the page."""
        for text in texts:
            self.until(f"document.body.innerText.includes({json.dumps(text)})")

    def press(self, key):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **KEYS[key])
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=KEYS[key]["code"])

    def type(self, text):
        self.call("Input.insertText", text=text)

    def tab_to(self, source, most=60):
        """Press Tab until the expression holds of the focused element `it`."""
        for _ in range(most):
            self.press("Tab")
            if self.js(f"((it) => Boolean({source}))(document.activeElement)"):
                return
        raise AssertionError(f"Tab never came to {source}")

    def overflow(self):
        """By how many pixels the page is wider than its window, everything unfolded."""
        self.js("document.querySelectorAll('details').forEach((folded) => { folded.open = true; })")
        return self.js("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def told(self, method):
        # A call drains what was told before it.
        self.js("0")
        mine = [told for told in self.browser.events if told.get("sessionId") == self.session]
        return [told["params"] for told in mine if told.get("method") == method]

    def requests(self):
        return [told["request"]["url"] for told in self.told("Network.requestWillBeSent")]

    def complaints(self):
        """Errors of scripts and what a policy has blocked; that a service is down is no fault of the page."""
        raised = [str(told["exceptionDetails"]) for told in self.told("Runtime.exceptionThrown")]
        logged = [told["entry"] for told in self.told("Log.entryAdded")]
        said = [told for told in self.told("Runtime.consoleAPICalled") if told["type"] in ("error", "warning")]
        return (
            raised + [entry["text"] for entry in logged if entry["source"] != "network"] + [str(each) for each in said]
        )

    def shot(self, path):
        """A picture of the whole page."""
        height = self.js("document.documentElement.scrollHeight")
        width = self.js("document.documentElement.clientWidth")
        self.resize(width, height)
        Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)
        self.browser.events[:] = [told for told in self.browser.events if told.get("sessionId") != self.session]


def _pipe():
    import fcntl  # not on Windows

    # High numbers: 3 and 4 must be free in the child.
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return high
