"""Randomness laid out before a kernel runs.

A kernel cannot call the operating system, so a session lays out what one call may need and the kernel reads it once,
front to back. A value that has been read is overwritten, and a tape that runs out raises: noise is never used twice.

On the side of `normals` lies the noise that protects people, whole numbers of an exact law (`discrete`); uniform
numbers decide what protects nothing, such as the arm of the first round.
"""

from __future__ import annotations

import numpy as np

from tacit._types import Floats
from tacit.noise.coins import DrawWords, RepeatedWords, first_place, random_words
from tacit.noise.discrete import Law
from tacit.noise.source import NORMALS, UNIFORMS, Source


def tape(normals: int, uniforms: int, *path: int) -> Source:
    """An empty tape with room for so many values: `refill` lays them out before it runs out.

    With a path, whose first part is a seed, what is laid out can be recomputed: for simulation and tests.
    """
    source = tape_of(np.full(normals, np.nan), np.full(uniforms, np.nan))
    source.at[:] = normals, uniforms
    return source._replace(words=first_place(*path)) if path else source


def tape_of(normals: Floats, uniforms: Floats) -> Source:
    """A tape with these values on it. For tests: values that are known protect nothing."""
    return Source(
        state=np.zeros((4, 0), np.uint64),
        words=np.zeros(0, np.uint64),
        normals=normals,
        uniforms=uniforms,
        at=np.zeros(2, np.int64),
    )


def is_tape(source: Source) -> bool:
    """Whether it hands out what is laid on it, and nothing else."""
    return bool(source.state.shape[1] == 0)


def is_seeded(source: Source) -> bool:
    """Whether what it hands out can be recomputed: a stream, or a tape whose words are those of a seed."""
    return not is_tape(source) or len(source.words) > 0


def refill(source: Source, normals: int, uniforms: int, law: Law | None = None) -> None:
    """Make sure that so many values can be read. What is left over of a tape too short is thrown away, unread.

    `law` is that of the normals; a tape without one has none.
    """
    if not is_tape(source):
        raise ValueError("Expected a tape to lay noise on, got a stream: it draws its own, from its seed.")
    if source.at[NORMALS] + normals > len(source.normals):
        if law is None:
            raise RuntimeError("Expected a law for what is laid on the tape, got none: it would be no noise.")
        source.normals[:] = law.draw(len(source.normals), _words_of(source))
        source.at[NORMALS] = 0
    if source.at[UNIFORMS] + uniforms > len(source.uniforms):
        source.uniforms[:] = uniforms_of(_words_of(source)(len(source.uniforms)))
        source.at[UNIFORMS] = 0


def _words_of(source: Source) -> DrawWords:
    return RepeatedWords(source.words) if len(source.words) else random_words


def uniforms_of(words: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> Floats:
    """Numbers uniform on [0, 1), of 53 bits each."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
