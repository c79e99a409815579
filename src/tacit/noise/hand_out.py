"""Handing out numbers: each once, from a stream or from a tape."""

from __future__ import annotations

import numpy as np

from tacit._kernel import implements, kernel
from tacit._types import Floats
from tacit.noise.source import NORMALS, UNIFORMS, Source, fill_normals, fill_uniforms
from tacit.noise.stream import BLOCK, draw_block


@implements(fill_normals, Source)
@kernel
def _fill_normals(source: Source, out: Floats) -> None:
    if source.state.shape[1] == 0:
        _read(source, NORMALS, source.normals, out)
    else:
        _draw(source, NORMALS, source.normals, out)


@implements(fill_uniforms, Source)
@kernel
def _fill_uniforms(source: Source, out: Floats) -> None:
    if source.state.shape[1] == 0:
        _read(source, UNIFORMS, source.uniforms, out)
    else:
        _draw(source, UNIFORMS, source.uniforms, out)


@kernel
def _read(source: Source, which: int, values: Floats, out: Floats) -> None:
    """From a tape: what was read is overwritten, and a tape that has run out raises."""
    at = source.at[which]
    if at + out.shape[0] > values.shape[0]:
        raise RuntimeError("The tape of secure noise ran out: refusing to reuse noise.")
    source.at[which] = at + out.shape[0]
    for i in range(out.shape[0]):
        out[i] = values[at + i]
        values[at + i] = np.nan


@kernel
def _draw(source: Source, which: int, block: Floats, out: Floats) -> None:
    """From a stream: a stretch of its block at a time, drawing the block anew whenever it has been handed out."""
    size, done = len(out), 0
    while done < size:
        if source.at[which] >= BLOCK:
            draw_block(source, which, block)
        at = source.at[which]
        take = min(size - done, BLOCK - at)
        _copy(block[at : at + take], out[done : done + take])
        source.at[which] = at + take
        done += take


@kernel
def _copy(source: Floats, target: Floats) -> None:
    # Loop variables are known not to be negative, so this loop is vectorised; with offsets added it would not be.
    for i in range(target.shape[0]):
        target[i] = source[i]
