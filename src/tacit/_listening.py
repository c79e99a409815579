"""Where a process of tacit listens: said in the same words by the service and by the shuffler."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import socket
from contextlib import suppress
from typing import Any

from tacit.errors import BadInput

#: The last port there is.
LAST_PORT = 65_535
#: Seconds in which a request must have come whole.
PATIENCE = 60.0
#: Bytes of the head of a request at most.
MOST_HEAD = 65_536
#: Files, and so connections, a process asks for.
_FILES = 65_536


def check_port(port: int, where: str = "") -> int:
    """A port, if it is one; `where` says where it was given."""
    if not 0 <= port <= LAST_PORT:
        raise BadInput(
            f"Expected port{where and ' ' + where} to be from 0 to {LAST_PORT}, got {port}. Choose another; 0 is any "
            "that is free."
        )
    return port


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int) -> socket.socket:
    """A socket with this address, at which nobody is heard yet."""
    check_port(port)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's algorithm off only where the protocol is named: 40 ms per request otherwise.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        found.bind((host, port))
    except (socket.gaierror, ValueError):
        found.close()
        raise BadInput(
            f"Expected the name or address of this machine to listen on, got {host!r}, which is none. Choose "
            "another --host."
        ) from None
    except OSError as problem:
        found.close()
        raise _in_use(host, port, problem) from None
    return found


def hear(found: socket.socket, waiting: int) -> None:
    """Listen; so many connections may wait to be taken."""
    host, port = found.getsockname()[:2]
    try:
        found.listen(waiting)
    except OSError as problem:
        raise _in_use(host, port, problem) from None


def listen(host: str, port: int, waiting: int = 128) -> socket.socket:
    """A socket that listens; so many connections may wait to be taken."""
    found = bind(host, port)
    try:
        hear(found, waiting)
    except BadInput:
        found.close()
        raise
    return found


def _in_use(host: str, port: int, problem: OSError) -> BadInput:
    return BadInput(
        f"Expected to listen on {host}:{port}, got: {problem.strerror}. Choose another --port, or another --host."
    )


def room_for_connections() -> None:
    """Let this process have as many connections as the system allows it: of the usual 1,024 files, a burst of clients
    that hold on to theirs leaves none for anybody else."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # a system with limits of its own
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def patient_protocol() -> type[Any]:
    """uvicorn's protocol with an end to its patience, and with one shape for errors.

    By itself it waits for ever for the rest of a request, reads heads of any length, and keeps answers for whoever does
    not read them: none of which needs a key, and each of which keeps everybody else out. And what is not HTTP is
    answered in JSON too.
    """
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class Patient(HttpToolsProtocol):
        _whole = True  # no request has begun that has not come whole
        _headed = False  # the head of this one has
        _head = 0  # bytes of a head that has not
        _deadline: asyncio.TimerHandle | None = None
        _unread: asyncio.TimerHandle | None = None  # while answers wait to be read

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._deadline = self.loop.call_later(PATIENCE, self._end)

        def connection_lost(self, exc: Exception | None) -> None:
            self._no_deadline()
            self._is_read()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            while data and not self.transport.is_closing():
                room = len(data) if self._headed else MOST_HEAD - self._head
                if room == 0:
                    text = f"Expected the head of a request to have at most {MOST_HEAD:,} bytes, got more."
                    self.transport.write(_refusal("431 Request Header Fields Too Large", "too_large", text))
                    self.transport.close()
                    return
                piece, data = data[:room], data[room:]
                if not self._headed:
                    self._head += len(piece)
                super().data_received(piece)
            if self._whole:
                self._no_deadline()
            elif self._deadline is None:
                self._deadline = self.loop.call_later(PATIENCE, self._end)

        def on_message_begin(self) -> None:
            self._whole = False
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._headed = True
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._whole, self._headed, self._head = True, False, 0
            super().on_message_complete()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._watch(self.transport.get_write_buffer_size())

        def resume_writing(self) -> None:
            self._is_read()
            super().resume_writing()

        def _watch(self, waiting: int) -> None:
            self._unread = self.loop.call_later(PATIENCE, self._look, waiting)

        def _look(self, before: int) -> None:
            waiting = self.transport.get_write_buffer_size()
            if waiting < before:
                self._watch(waiting)  # slowly, but it is read
            else:
                self.transport.abort()

        def _is_read(self) -> None:
            if self._unread is not None:
                self._unread.cancel()
                self._unread = None

        def _no_deadline(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _end(self) -> None:
            self._deadline = None
            if not self.transport.is_closing():
                if not self._whole and not self._headed:
                    text = f"Expected a request within {PATIENCE:g} seconds, got half of one."
                    self.transport.write(_refusal("408 Request Timeout", "too_slow", text))
                self.transport.close()

        def send_400_response(self, msg: str) -> None:
            text = "Expected a request in HTTP/1.1, got something else. It was not read."
            self.transport.write(_refusal("400 Bad Request", "bad_request", text))
            self.transport.close()

    return Patient


def _refusal(status: str, code: str, message: str) -> bytes:
    body = json.dumps({"error": {"code": code, "message": message, "field": None}}).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return f"{head}connection: close\r\n\r\n".encode() + body
