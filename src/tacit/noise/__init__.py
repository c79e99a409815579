"""Where randomness comes from.

A `Source` made by `stream` is reproducible and fast: simulation. One made by `tape` holds values drawn from the
operating system before the kernel runs: production, with normal numbers in double precision or with whole numbers from
`discrete_gaussians`. Kernels call `fill_normals` and `fill_uniforms` on either; neither
the text of an algorithm changes nor its machine code.
"""

from tacit.noise import hand_out as _hand_out
from tacit.noise.laplace import LAPLACE_UNIFORMS, draw_laplace
from tacit.noise.lattice import LARGEST_SCALE, discrete_gaussians
from tacit.noise.source import Source, fill_normals, fill_uniforms
from tacit.noise.stream import first_normals, stream
from tacit.noise.symmetric import draw_symmetric
from tacit.noise.tape import refill, tape, tape_of

del _hand_out

__all__ = [
    "LAPLACE_UNIFORMS",
    "LARGEST_SCALE",
    "Source",
    "discrete_gaussians",
    "draw_laplace",
    "draw_symmetric",
    "fill_normals",
    "fill_uniforms",
    "first_normals",
    "refill",
    "stream",
    "tape",
    "tape_of",
]
