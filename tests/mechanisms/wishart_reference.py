"""The Wishart tree once more, in plain numpy and as the paper tells it: m slots, each with a node's mask or a pad."""

import math

import numpy as np

from tacit.linalg import packed_size
from tacit.noise import fill_normals, fill_uniforms


def chi(degrees, normal, uniform, source):
    """Marsaglia and Tsang (2000), without the squeeze that saves a logarithm: it must not change a decision."""
    shape = degrees / 2 - 1 / 3
    while True:
        cube = (1 + normal / math.sqrt(9 * shape)) ** 3
        if cube > 0 and math.log(uniform) < normal**2 / 2 + shape - shape * cube + shape * math.log(cube):
            return math.sqrt(2 * shape * cube)
        normal, uniform = drawn(fill_normals, source, 1)[0], drawn(fill_uniforms, source, 1)[0]


def drawn(fill, source, count):
    values = np.empty(count)
    fill(source, values)
    return values


def mask(parameter, degrees, dim, source):
    """The first d columns of one W_{d+1}(parameter·I, degrees), by Bartlett, from the same draws as the kernel."""
    normals = drawn(fill_normals, source, packed_size(dim) + dim)
    uniforms = drawn(fill_uniforms, source, dim)
    lower = np.zeros((dim + 1, dim))
    lower[np.tril_indices(dim + 1, 0, dim)] = normals
    for i in range(dim):
        lower[i, i] = chi(degrees - i, lower[i, i], uniforms[i], source)
    return parameter * lower @ lower[:dim].T


def slots_after_each_row(masks, dim, source, rows):
    """The m slots after rows 1, 2, …: lists of masks, of which those of the active levels were drawn for a node."""
    pads = [mask(masks.parameter, masks.degrees, dim, source) for _ in range(masks.slots)]
    nodes = {}
    for row in range(1, rows + 1):
        closed = (row & -row).bit_length() - 1
        nodes = {level: node for level, node in nodes.items() if level > closed}
        nodes[closed] = mask(masks.parameter, masks.degrees, dim, source)
        assert sum(2**level for level in nodes) == row  # the active nodes cover the rows so far
        yield [nodes.get(level, pad) for level, pad in enumerate(pads)], nodes


def packed(matrix):
    """As the mechanism keeps it: upper triangle of the d×d block, then the last row."""
    dim = matrix.shape[1]
    return np.concatenate([matrix[:dim][np.triu_indices(dim)], matrix[dim]])


def unpacked(numbers, dim):
    """(…, d + 1, d): the block above the vector."""
    whole = np.empty((*numbers.shape[:-1], dim + 1, dim))
    for place, (i, j) in enumerate(zip(*np.triu_indices(dim), strict=True)):
        whole[..., i, j] = whole[..., j, i] = numbers[..., place]
    whole[..., dim, :] = numbers[..., packed_size(dim) :]
    return whole
