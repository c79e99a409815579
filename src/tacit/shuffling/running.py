"""A process that shuffles, until it is asked to stop."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tacit._listening import listen, patient_protocol, room_for_connections
from tacit.client.clients import AsyncClient
from tacit.core.policy import Policy
from tacit.core.sealed_reports import sealing
from tacit.errors import BadInput
from tacit.shuffling.app import App
from tacit.shuffling.mixing import Mixing

#: Where a shuffler listens unless it is told otherwise.
HOST, PORT = "127.0.0.1", 8421


def run(
    config: Policy,
    *,
    server: str,
    deployment: str,
    key: str | None = None,
    host: str = HOST,
    port: int = PORT,
    started: Callable[[str], None] | None = None,
) -> None:
    """Listen for sealed reports, mix full batches and send them to `deployment` of the service at `server`.

    Returns when the process is interrupted or told to end. `started` is called with the address it listens at; port 0
    is any that is free. Refuses a policy without batches, and a server under another contract.
    """
    sealing(config)
    uvicorn = _uvicorn()
    room_for_connections()
    listener = listen(host, port)
    try:
        mixing = Mixing(config, AsyncClient(server, key), deployment)
        running = uvicorn.Server(uvicorn.Config(App(mixing), **_options()))

        def stop() -> None:
            running.should_exit = True

        mixing.stopped = stop
        if started is not None:
            shown = f"[{host}]" if ":" in host else host
            started(f"http://{shown}:{listener.getsockname()[1]}")
        with suppress(KeyboardInterrupt):  # raised once more after an orderly end
            running.run(sockets=[listener])
    finally:
        listener.close()
    if mixing.wrong is not None:
        raise BadInput(mixing.wrong)


def _options() -> dict[str, Any]:
    """uvicorn without anything that would write down who came."""
    return {
        "http": patient_protocol(),
        "access_log": False,
        "log_config": None,
        "log_level": "warning",
        "proxy_headers": False,
        "server_header": False,
        "ws": "none",
        "lifespan": "on",
        "timeout_keep_alive": 5,
        "timeout_graceful_shutdown": 5,
    }


def _uvicorn() -> Any:
    try:
        return importlib.import_module("uvicorn")
    except ImportError:
        raise BadInput(
            "Expected uvicorn to be installed for a shuffler, got none. `pip install 'tacit[serve]'`."
        ) from None
