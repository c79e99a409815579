"""Random numbers for code that is not compiled: arrays of them, from the operating system or from a seed."""

from __future__ import annotations

import numpy as np

from tacit._types import Floats, Words
from tacit.noise.coins import random_words
from tacit.noise.discrete import DiscreteGaussian
from tacit.noise.tape import uniforms_of


class Numbers:
    """A source of arrays. With a seed, which is for simulation only, it repeats itself; without, nothing can."""

    def __init__(self, seed: int | None, *path: int) -> None:
        self._generator = (
            None if seed is None else np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=path)))
        )

    @property
    def seeded(self) -> bool:
        return self._generator is not None

    @property
    def generator(self) -> np.random.Generator | None:
        """What a mechanism draws from in a simulation; None: from the operating system."""
        return self._generator

    def words(self, count: int) -> Words:
        """Independent words of 64 bits: what exact samplers are made of."""
        if self._generator is None:
            return random_words(count)
        return self._generator.integers(0, 2**64, size=count, dtype=np.uint64)

    def uniforms(self, *shape: int) -> Floats:
        """Independent numbers uniform on [0, 1)."""
        if self._generator is not None:
            return self._generator.random(shape)
        return uniforms_of(random_words(int(np.prod(shape)))).reshape(shape)

    def normals(self, *shape: int) -> Floats:
        """Independent standard normal numbers, in double precision: with a seed alone."""
        if self._generator is None:
            raise RuntimeError("Expected a seed for normal numbers in double precision, got none.")
        return self._generator.standard_normal(shape)

    def discrete(self, scale: float, count: int) -> Floats:
        """Independent discrete Gaussians of this scale, drawn exactly."""
        return DiscreteGaussian(scale).draw(count, self.words)

    def __reduce__(self) -> str:
        raise TypeError("A source of noise cannot be pickled or copied: two would hand out the same numbers.")
