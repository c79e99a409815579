"""Reproducible randomness for simulation: sixteen xoshiro256++ generators side by side, drawn in blocks.

numpy's generators can be used inside kernels, but cost 10 µs per call to hand over and 10 ns per normal number. Here
the state is plain arrays, and a block of normals is one vectorised pass (Box and Muller 1958) at half of that;
`docs/decisions/0003-own-random-stream.md` has the measurement. Seeds are spread by numpy's SeedSequence.

Not for production: whoever knows the seed knows the noise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from tacit._kernel import PLAIN, kernel
from tacit._types import Floats, Words
from tacit.noise.source import NORMALS, Source

#: Generators that run side by side, so that one step of all of them is a handful of vector instructions.
LANES = 16
#: Numbers drawn at a time; even, and a multiple of LANES.
BLOCK = 1024
_HALF = BLOCK // 2


def stream(seed: int, *path: int) -> Source:
    """The stream of `seed` at `path` (say: trial, purpose). Different paths are independent for all practical ends."""
    sequence = np.random.SeedSequence(entropy=seed, spawn_key=path)
    return Source(
        state=np.asarray(sequence.generate_state(4 * LANES, np.uint64), np.uint64).reshape(4, LANES),
        words=np.zeros(BLOCK, np.uint64),
        normals=np.zeros(BLOCK),
        uniforms=np.zeros(BLOCK),
        at=np.full(2, BLOCK, np.int64),
    )


@intrinsic  # type: ignore[untyped-decorator]
def _compiled_float_of_bits(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _compiled_bits_of_float(typing_context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.uint64))

    return types.uint64(types.float64), generate


_float_of_bits: Any = (lambda word: word.view(np.float64)) if PLAIN else _compiled_float_of_bits
_bits_of_float: Any = (lambda number: np.float64(number).view(np.uint64)) if PLAIN else _compiled_bits_of_float

_W = np.uint64
_17, _19, _23, _41, _45, _12, _52 = _W(17), _W(19), _W(23), _W(41), _W(45), _W(12), _W(52)
_ONE = _W(0x3FF0000000000000)  # the bits of 1.0
_MANTISSA = _W(0x000FFFFFFFFFFFFF)
_SQRT_HALF = _W(0x3FE6A09E667F3BCD)  # the bits of √½
_TO_SQRT_HALF = _W(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
_EXPONENT = _W(0x4330000000000000)  # the bits of 2⁵²
_BIAS = 2.0**52 + 1023.0
_LN2 = math.log(2.0)
_QUARTER_TURN = math.pi / 2


@kernel
def _draw_words(state: Words, words: Words) -> None:
    """One step of every lane at a time: xoshiro256++ (Blackman and Vigna 2021)."""
    for start in range(0, BLOCK, LANES):
        for lane in range(LANES):
            s0, s1, s2, s3 = state[0, lane], state[1, lane], state[2, lane], state[3, lane]
            total = s0 + s3
            words[start + lane] = ((total << _23) | (total >> _41)) + s0
            shifted = s1 << _17
            s2 ^= s0
            s3 ^= s1
            s1 ^= s2
            s0 ^= s3
            s2 ^= shifted
            s3 = (s3 << _45) | (s3 >> _19)
            state[0, lane], state[1, lane], state[2, lane], state[3, lane] = s0, s1, s2, s3


@kernel
def _draw_uniforms(words: Words, uniforms: Floats) -> None:
    for i in range(BLOCK):
        uniforms[i] = _float_of_bits((words[i] >> _12) | _ONE) - 1.0


@kernel
def _draw_normals(words: Words, normals: Floats) -> None:
    """Box–Muller in plain arithmetic, so that the compiler can run it in vector registers.

    ln u: u = m·2ᵉ with m in [√½, √2), ln m = 2·artanh((m − 1)/(m + 1)) by its series (|argument| < 0.172: the first
    term left out is below 1e-17). sin and cos of a quarter of the angle by their series on [−π/4, π/4], then doubled
    twice.
    """
    for i in range(_HALF):
        u = 2.0 - _float_of_bits((words[i] >> _12) | _ONE)  # (0, 1]
        turn = _float_of_bits((words[i + _HALF] >> _12) | _ONE) - 1.5  # [−½, ½)
        shifted = _bits_of_float(u) + _TO_SQRT_HALF
        exponent = _float_of_bits((shifted >> _52) | _EXPONENT) - _BIAS
        m = _float_of_bits((shifted & _MANTISSA) + _SQRT_HALF)
        s = (m - 1.0) / (m + 1.0)
        z = s * s
        p = z * (1 / 19) + 1 / 17
        p = z * p + 1 / 15
        p = z * p + 1 / 13
        p = z * p + 1 / 11
        p = z * p + 1 / 9
        p = z * p + 1 / 7
        p = z * p + 1 / 5
        p = z * p + 1 / 3
        p = z * p + 1.0
        radius = math.sqrt(-2.0 * (exponent * _LN2 + 2.0 * s * p))

        angle = _QUARTER_TURN * turn
        y = angle * angle
        sine = y * (1 / 6227020800) - 1 / 39916800
        sine = y * sine + 1 / 362880
        sine = y * sine - 1 / 5040
        sine = y * sine + 1 / 120
        sine = y * sine - 1 / 6
        sine = angle * (y * sine + 1.0)
        cosine = y * (1 / 479001600) - 1 / 3628800
        cosine = y * cosine + 1 / 40320
        cosine = y * cosine - 1 / 720
        cosine = y * cosine + 1 / 24
        cosine = y * cosine - 0.5
        cosine = y * cosine + 1.0
        sine_2 = 2.0 * sine * cosine
        cosine_2 = 1.0 - 2.0 * sine * sine
        normals[i] = radius * (1.0 - 2.0 * sine_2 * sine_2)
        normals[i + _HALF] = radius * (2.0 * sine_2 * cosine_2)


@kernel
def draw_block(source: Source, which: int, block: Floats) -> None:
    """Draw a block of normals or uniforms anew."""
    _draw_words(source.state, source.words)
    if which == NORMALS:
        _draw_normals(source.words, block)
    else:
        _draw_uniforms(source.words, block)
    source.at[which] = 0


def first_normals(source: Source, count: int) -> Floats:
    """The first numbers of a fresh stream: what `fill_normals` would give, for use outside kernels.

    Called from Python, `fill_normals` would be compiled a second time for nothing but a handful of numbers.
    """
    if source.at[NORMALS] != BLOCK or count > BLOCK:
        raise ValueError(f"Expected a fresh stream and count <= {BLOCK}, got count={count}.")
    _draw_words(source.state, source.words)
    _draw_normals(source.words, source.normals)
    source.at[NORMALS] = count
    return source.normals[:count].copy()
