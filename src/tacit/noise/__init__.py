"""Where randomness comes from is a type.

`Stream` is reproducible and fast: simulation. `Tape` holds values drawn from the operating system before the kernel
runs: production. Kernels call `fill_normals` and `fill_uniforms` on either; the text of an algorithm does not change.
"""

from tacit.noise.laplace import LAPLACE_UNIFORMS, draw_laplace
from tacit.noise.source import fill_normals, fill_uniforms
from tacit.noise.stream import Stream, first_normals, stream
from tacit.noise.symmetric import draw_symmetric
from tacit.noise.tape import Tape, refill, tape

__all__ = [
    "LAPLACE_UNIFORMS",
    "Stream",
    "Tape",
    "draw_laplace",
    "draw_symmetric",
    "fill_normals",
    "fill_uniforms",
    "first_normals",
    "refill",
    "stream",
    "tape",
]
