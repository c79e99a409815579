"""What becomes of noise and secrets when a process forks: gunicorn with preload, multiprocessing, Celery.

A fork copies memory, and with it noise that lies ready and exact sums. Two processes that go on from there would
release one sum under one draw: subtracting what they publish gives a person's row. So whatever holds noise or sums is
told in the child, before any of its code runs, and gives up what belongs to the parent.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class _Forked(Protocol):
    def in_child(self) -> None:
        """Give up what belongs to the parent."""


_WATCHED: WeakSet[_Forked] = WeakSet()


def watch(thing: _Forked) -> None:
    """Call `thing.in_child()` in every child that this process forks, as long as the thing lives."""
    _WATCHED.add(thing)


def _in_child() -> None:
    for thing in list(_WATCHED):
        thing.in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
