"""What becomes of noise and secrets when a process forks: gunicorn with preload, multiprocessing, Celery.

A fork copies memory, and with it noise that lies ready and exact sums. Two processes that go on from there would
release one sum under one draw: subtracting what they publish gives a person's row. So whatever holds noise or sums is
told in the child, before any of its code runs, and gives up what belongs to the parent.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import NoReturn, Protocol
from weakref import WeakSet

from tacit.errors import Moved


class _Forked(Protocol):
    def in_child(self) -> None:
        """Give up what belongs to the parent."""


_WATCHED: WeakSet[_Forked] = WeakSet()


def watch(thing: _Forked) -> None:
    """Call `thing.in_child()` in every child that this process forks, as long as the thing lives."""
    _WATCHED.add(thing)


class Elsewhere(AbstractContextManager[object]):
    """In place of a lock: what it guards belongs to the parent, and nothing can be done with it here."""

    def __enter__(self) -> NoReturn:
        raise Moved(
            "This learner was at work before its process forked, and its copy here would spend the same budget a "
            "second time. Use it in the process that started it, or start one after the fork."
        )

    def __exit__(self, *_: object) -> None:
        """Never entered."""


def _in_child() -> None:
    for thing in list(_WATCHED):
        thing.in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
