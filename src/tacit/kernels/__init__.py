"""How alike two points are, and the boxes they come from.

    kernel = tacit.kernels.Matern(5/2, length_scale=0.2)
    box    = tacit.kernels.Box(((0, 1), (0, 1)))
    kernel(box.grid(5), box.halton(10))                  # (25, 10) numbers in [0, 1]

A point is an action and a context side by side, w = (x, c), the action's coordinates first. Everything here is public:
a kernel and a box are declared before anybody comes.
"""

from tacit.kernels.box import Box
from tacit.kernels.kernel import Kernel, Matern, SquaredExponential, kernel_from_dict, kernel_named

__all__ = ["Box", "Kernel", "Matern", "SquaredExponential", "kernel_from_dict", "kernel_named"]
