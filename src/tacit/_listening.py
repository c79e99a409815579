"""Where a process of tacit listens: said in the same words by the service and by the shuffler."""

from __future__ import annotations

import ipaddress
import socket

from tacit.errors import BadInput

#: The last port there is.
LAST_PORT = 65_535


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


def listen(host: str, port: int, waiting: int = 128) -> socket.socket:
    """A socket that listens; so many connections may wait to be taken."""
    check_port(port)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's algorithm off only where the protocol is named: 40 ms per request otherwise.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        found.bind((host, port))
        found.listen(waiting)
    except (OSError, ValueError) as problem:
        found.close()
        if isinstance(problem, socket.gaierror | ValueError):
            raise BadInput(
                f"Expected the name or address of this machine to listen on, got {host!r}, which is none. Choose "
                "another --host."
            ) from None
        raise BadInput(
            f"Expected to listen on {host}:{port}, got: {problem.strerror}. Choose another --port, or another --host."
        ) from None
    return found
