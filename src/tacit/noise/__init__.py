"""Where randomness comes from.

A `Source` made by `stream` is reproducible and fast, in double precision: simulation. One made by `tape` holds values
laid out before the kernel runs, whole numbers of an exact law: production. Kernels call `fill_normals` and
`fill_uniforms` on either; neither the text of an algorithm changes nor its machine code.
"""

from tacit.noise import hand_out as _hand_out
from tacit.noise.discrete import LARGEST_SCALE, Binomial, DiscreteGaussian, DiscreteLaplace, Law
from tacit.noise.laplace import LAPLACE_UNIFORMS, draw_laplace
from tacit.noise.source import Source, fill_normals, fill_uniforms
from tacit.noise.stream import first_normals, stream
from tacit.noise.symmetric import draw_symmetric, draw_vectors
from tacit.noise.tape import is_seeded, is_tape, refill, tape, tape_of

del _hand_out

__all__ = [
    "LAPLACE_UNIFORMS",
    "LARGEST_SCALE",
    "Binomial",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Law",
    "Source",
    "draw_laplace",
    "draw_symmetric",
    "draw_vectors",
    "fill_normals",
    "fill_uniforms",
    "first_normals",
    "is_seeded",
    "is_tape",
    "refill",
    "stream",
    "tape",
    "tape_of",
]
