"""A learner that goes on elsewhere: once, or as a fork whose price is known.

Two learners that go on from one past release what they know of it twice. So a checkpoint is for single use: it counts
how many learners have gone on from it, and from the second on they are a fork: `copies` learners together are μ·√copies
where one was μ. The proof, and what a file cannot know, are in docs/decisions/0009-checkpoints-and-forks.md.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from pathlib import Path
from threading import Lock

from tacit._validate import flag
from tacit._version import __version__
from tacit.core.learner import Learner
from tacit.core.round import ROWS
from tacit.core.sealed import FORMAT, Header, check_key, locked, new_key, seal, unseal, withdraw, write
from tacit.core.session import FORK
from tacit.core.state import pack, unpack
from tacit.errors import BadCheckpoint, BadInput, CheckpointSpent

__all__ = ["new_key", "resume"]

#: How often each checkpoint went on in this process: a file copied before its first use does not know of the others.
_RESUMED: dict[str, int] = {}
_TURN = Lock()


def save(learner: Learner, path: str | os.PathLike[str], key: bytes, *, keep_running: bool = False) -> Path:
    """What `Learner.checkpoint` does, for a caller that holds the learner's lock."""
    key, keep_running, target = check_key(key), flag("keep_running", keep_running), Path(path)
    if not target.parent.is_dir():
        raise BadInput(f"Expected a folder to write into, got {target.parent}, which is none. Make it first.")
    payload = pack(learner)
    header = Header(
        format=FORMAT,
        tacit=__version__,
        policy=learner.config.slug,
        dim=learner._dim,
        checkpoint=secrets.token_hex(16),
        uses=int(keep_running),
        size=len(payload),
    )
    sealed = seal(header, payload, key)
    # Before the file is there, not after: an interrupt in between must not leave two learners.
    learner._moved = not keep_running
    try:
        with locked(target):
            if target.exists() or target.is_symlink():
                raise BadInput(
                    f"Expected a path where nothing is yet, got {target}, which exists. A checkpoint is never "
                    "overwritten: choose another name."
                )
            write(target, sealed)
    except BaseException:
        withdraw(target, header.checkpoint)
        learner._moved = False
        raise
    # A file of a learner that keeps running may become a copy of it at any time: it counts from now on.
    learner._copies += int(keep_running)
    return target


def resume(path: str | os.PathLike[str], key: bytes, *, fork: bool = False) -> Learner:
    """The learner that went on in the checkpoint at `path`: the same sums, view, decisions and persons.

    Noise from the operating system is drawn afresh; a seeded learner goes on to the bit. The file remembers that it
    was used. A second time is refused with `CheckpointSpent`, which names the price, unless `fork=True` accepts it: the
    new learner's guarantee and card are then those of all copies together.

    If anything fails the file is as it was, and no learner has gone on.
    """
    key, fork, target = check_key(key), flag("fork", fork), Path(path).resolve()
    if not target.is_file():
        raise BadCheckpoint(f"Expected a checkpoint at {target}, got no file there. Check the path.")
    with _TURN, locked(target):
        header, payload = unseal(target.read_bytes(), key)
        learner = unpack(payload)
        uses = max(header.uses, _RESUMED.get(header.checkpoint, 0))
        if uses:
            _fork(learner, uses, agreed=fork)
        # On the disk before anybody is served: a crash from here on costs a learner, never a second one unnoticed.
        write(target, seal(replace(header, uses=uses + 1), payload, key))
        _RESUMED[header.checkpoint] = uses + 1
    return learner


def _fork(learner: Learner, uses: int, *, agreed: bool) -> None:
    """Make one more copy of a learner that has gone on `uses` times already."""
    copies = learner._copies + uses
    if not agreed:
        times = "once" if uses == 1 else f"{uses} times"
        price = learner._plan.guarantee_for(copies)
        raise CheckpointSpent(
            f"Expected a checkpoint nobody has gone on from, got one whose learner went on {times} (resumed, or kept "
            f"running). Going on once more is a fork, with {copies} copies priced together: {price}. "
            "Say fork=True if that is meant; nothing was changed."
        )
    learner._copies = copies
    learner._decisions.turn_key()
    if learner._seed is not None:
        # The rest of the old stream belongs to the first copy: noise of two learners must not be the same.
        session = learner._session
        session.read_anew(learner._seed, 0, FORK, copies, int(session.vault.counters[ROWS]))
