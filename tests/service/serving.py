"""A real service for tests: uvicorn in a thread of this process, a store in a temporary directory, a clock to turn."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from contextlib import contextmanager

import httpx
import pytest
import uvicorn

from tacit._listening import listen, patient_protocol
from tacit.service import engine
from tacit.service.api.app import MOST_BYTES, application
from tacit.service.api.roles import Keys, new_key
from tacit.service.deciding import Deciding
from tacit.service.engine import Engine
from tacit.service.opening import open_store
from tacit.service.reporting import Reporting

#: Seconds that anything here may take before a test gives up on it.
PATIENCE = 30.0
DAY = 86_400.0
#: Little privacy, so that views are released within a few decisions.
JOINT = {"dim": 3, "epsilon": 100.0, "delta": 0.1, "horizon": 1000}
#: Three actions, the second of which is the longest.
ACTIONS = [[0.1, 0.2, 0.3], [0.5, 0.5, 0.5], [-0.3, 0.1, 0.0]]


class Clock:
    """A time that goes on only when told."""

    def __init__(self, now=1_800_000_000.0):
        self.now = now

    def __call__(self):
        return self.now

    def forward(self, seconds):
        self.now += seconds


class Service:
    """A service that can be stopped and started again on the same store."""

    def __init__(self, store, *, keys=None, now=time.time, master=None, allow_seed=True, most_bytes=MOST_BYTES):
        self.store, self.now, self.master = store, now, master
        self.keys = {}
        self._wanted = keys or {}  # name to role
        self._options = {"allow_seed": allow_seed, "most_bytes": most_bytes}
        self.http = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        opened = open_store(str(self.store), key=self.master)
        for name, role in self._wanted.items():
            if name not in self.keys:
                self.keys[name] = new_key(opened.store, name, role)
        self.engine = Engine(opened, now=self.now)
        self.app = application(self.engine, Keys(opened.store.api_keys()), **self._options)
        listener = listen("127.0.0.1", 0, 2048)
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            *(self.app,),
            http=patient_protocol(),
            **{"log_config": None, "access_log": False, "ws": "none", "lifespan": "on", "backlog": 2048},
            timeout_graceful_shutdown=20,
        )
        self._server = uvicorn.Server(config)
        self.loop = None
        self._thread = threading.Thread(target=self._run, args=(listener,), daemon=True)
        self._thread.start()
        until(lambda: self._server.started or not self._thread.is_alive())
        assert self._server.started
        self.http = httpx.Client(base_url=self.url, timeout=PATIENCE)
        return self

    def _run(self, listener):
        with listener:
            asyncio.run(self._serve(listener))

    async def _serve(self, listener):
        self.loop = asyncio.get_running_loop()
        await self._server.serve(sockets=[listener])

    def ask_to_stop(self):
        self._server.should_exit = True

    def stop(self):
        if self.http is not None:
            self.http.close()
            self.http = None
            self.ask_to_stop()
            self._thread.join(PATIENCE)
            assert not self._thread.is_alive()

    def restart(self):
        self.stop()
        return self.start()

    # Asking -----------------------------------------------------------------------------------------------------------

    def ask(self, method, path, body=None, *, key=None, **rest):
        headers = {**({} if key is None else {"Authorization": f"Bearer {self.keys.get(key, key)}"})}
        if body is not None:
            rest["json"] = body
        return self.http.request(method, path, headers={**headers, **rest.pop("headers", {})}, **rest)

    def create(self, name, policy="joint-linucb", parameters=None, *, key=None, **rest):
        parameters = JOINT if parameters is None else parameters
        body = {"name": name, "policy": policy, "parameters": parameters, **rest}
        answer = self.ask("POST", "/v1/deployments", body, key=key)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def decide(self, name, actions=ACTIONS, *, key=None, **rest):
        """The answer to a decision. `key` is the caller's; the client's own key of a decision is among `rest`."""
        body = {**({} if actions is None else {"actions": named(actions)}), **rest.pop("body", {})}
        return self.ask("POST", f"/v1/deployments/{name}/decisions", body, key=key, **rest)

    def reward(self, name, decision, value, *, key=None):
        return self.ask("PUT", f"/v1/deployments/{name}/decisions/{decision}/reward", {"value": value}, key=key)

    def show(self, name):
        answer = self.ask("GET", f"/v1/deployments/{name}")
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextmanager
def serving(store, *, sweep=0.02, warm=False, **options):
    """A service until the end of the block. It looks every `sweep` seconds for decisions whose time is over. Without
    `warm` machine code is compiled when it is needed, and what no test needs is not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_SWEEP", sweep)
        if not warm:
            for kind in (Deciding, Reporting):
                patch.setattr(kind, "warm", lambda _: None)
        service = Service(store, **options)
        try:
            service.start()
            yield service
        finally:
            service.stop()


def named(rows):
    return [{"id": f"a{place}", "features": [float(value) for value in row]} for place, row in enumerate(rows)]


def until(true, wait=PATIENCE, pause=0.005):
    """Wait until it holds."""
    end = time.monotonic() + wait
    while not true():
        assert time.monotonic() < end, "never came"
        time.sleep(pause)


def refused(answer, status, code, field=None):
    """An answer that is an error has this one shape; its sentence."""
    assert answer.status_code == status, (answer.status_code, answer.text)
    assert answer.headers["content-type"].split(";")[0] == "application/json"
    found = answer.json()
    assert found.keys() == {"error"}
    assert found["error"].keys() == {"code", "message", "field"}
    assert found["error"]["code"] == code, found
    assert found["error"]["field"] == field, found
    assert found["error"]["message"].endswith((".", "?")), found
    return found["error"]["message"]


def digest(service, name):
    """Everything secret and public that a deployment has learned, in one hash."""
    found = service.engine.deployments[name]
    parts = found.live.parts() | {"view": found.live.view} if hasattr(found, "live") else found._parts()
    made = hashlib.sha256()
    for part in parts.values():
        for leaf in part:
            made.update(leaf.tobytes())
    return made.hexdigest()
