"""A service that only pretends: the pages, and whatever status a test puts in."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from copy import deepcopy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

from tacit.service import dashboard

CARD = "Privacy card: joint-linucb (exact calibration)\n\nPromise\n  accounted     epsilon <= 1.000 at delta = 1e-06\n"

_DEPLOYMENT = {
    "name": "front-page",
    "policy": "joint-linucb",
    "trust": "joint",
    "takes": "decisions",
    "state": "serving",
    "learning": True,
    "why_not": None,
    "dim": 10,
    "view": 17,
    "view_age_seconds": 321.0,
    "decisions": 123_456,
    "rounds_left": 876_544,
    "limit": 1_000_000,
    "actions": None,
    "releases": 17,
    "releases_planned": 1374,
    "epsilon": 1.0,
    "delta": 1e-6,
    "promised_epsilon": 1.0,
    "charged_share": 1.0,
    "copies": 1,
    "sampler": "secure",
    "seeded": False,
    "pending": 42,
    "guarantee": (
        "joint DP: contexts and rewards of one round (replace one) are protected with epsilon <= 1.000 at delta = 1e-06"
    ),
    "released": None,
}


def deployment(**changes):
    return {**deepcopy(_DEPLOYMENT), **changes}


def status(*deployments):
    return {
        "service": {
            **{"version": "0.1.0", "started": 1_790_000_000.0, "now": 1_790_090_123.4, "store": "sqlite"},
            **{"replica": "a1b2c3", "keys": True, "encrypted": True, "available": True},
        },
        "requests": {
            **{"total": 12_345, "errors": 3, "per_second": [float((7 * i) % 23) for i in range(60)]},
            "latency_ms": {"p50": 1.2, "p95": 3.1, "p99": 5.04},
        },
        "deployments": list(deployments),
    }


def spent():
    why = "The horizon of 1,000 rounds is spent: decisions go on from the last view."
    return deployment(
        **{"name": "newsletter", "learning": False, "why_not": why, "decisions": 1040, "rounds_left": 0},
        limit=1000,
        **{"view": 9, "releases": 9, "releases_planned": 9, "pending": 0},
    )


def forked():
    return deployment(name="checkout", epsilon=1.4142135, copies=2, rounds_left=None, limit=None, releases_planned=None)


def local():
    rewards = [{"arm": "left", "value": 0.43}, {"arm": "right", "value": 0.5712}]
    return deployment(
        **{"name": "phones", "policy": "local-linucb", "trust": "local", "takes": "reports", "state": "paused"},
        released={"mean_rewards": rewards, "from": "priced releases"},
    )


class Pretended:
    """Serves on a loopback port until it is stopped; can be started again on the same port."""

    def __init__(self, told):
        self.told = told
        self.key = None
        self.code = 200
        self.card = CARD
        self.pages = {"/": dashboard.page()}
        self.asked = []  # method, path and key of every request
        self.port = 0
        self._server = None

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), _handler(self))
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@contextmanager
def pretended(told):
    service = Pretended(told)
    service.start()
    try:
        yield service
    finally:
        service.stop()


def _handler(service):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            given = self.headers.get("Authorization")
            service.asked.append((self.command, self.path, given))
            if self.path in service.pages:
                self._answer(200, service.pages[self.path], "text/html; charset=utf-8")
            elif service.key is not None and given != f"Bearer {service.key}":
                self._answer(401 if given is None else 403, b"{}", "application/json")
            elif self.path == "/v1/status":
                self._answer(service.code, json.dumps(service.told).encode(), "application/json")
            elif self.path.startswith("/v1/deployments/") and self.path.endswith("/card"):
                name = unquote(self.path.split("/")[3])
                told = {"text": f"{service.card}\n{name}", "card": {}}
                self._answer(200, json.dumps(told).encode(), "application/json")
            else:
                self._answer(404, b"{}", "application/json")

        def _answer(self, code, body, kind):
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler
