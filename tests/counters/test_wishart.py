"""Wishart masks: the law of one, the slots of the tree, and why every empty slot needs a pad."""

import math
from functools import lru_cache

import numpy as np
import pytest
from scipy import special, stats

from tacit import JointLinUCB
from tacit._kernel import entry
from tacit.counters.wishart import SPARE, Masks, draw_mask, empty_memory, wishart_noise
from tacit.errors import NoSecureSampler
from tacit.linalg import packed_size
from tacit.noise import stream, tape_of
from tests.mechanisms.wishart_reference import mask, packed, slots_after_each_row, unpacked
from tests.statistics import checks
from tests.statistics.checks import LEVEL

# One mask --------------------------------------------------------------------------------------------------------

DIM, PARAMETER, DRAWS = 3, 2.6, 20_000


@lru_cache
def sample(degrees, parameter=PARAMETER, dim=DIM):
    """Independent masks, each (d + 1)×d."""
    size = packed_size(dim) + dim
    factor, scratch, found = np.empty(size), np.empty(size), np.empty((DRAWS, size))
    arguments = (Masks(parameter, degrees, 1), dim, factor, scratch)
    source = stream(degrees)
    draw = entry(draw_mask, *arguments, found[0], source)
    for one in found:
        draw(*arguments, one, source)
    return unpacked(found, dim)


def triangles(masks):
    """T of W = L̃²·TTᵀ, for the true L̃²: its law is the one Bartlett (1933) gives, and no other W has it."""
    dim = masks.shape[2]
    block = np.linalg.cholesky(masks[:, :dim] / PARAMETER)
    last = np.linalg.solve(block, masks[:, dim, :, None] / PARAMETER)[..., 0]
    return block, last


def chi_square(degrees):
    return lambda values: special.chdtr(degrees, values)


def law_of(masks, degrees):
    """One probability for the whole law of a mask. Errs with probability at most LEVEL = 1e-6."""
    block, last = triangles(masks)
    diagonal = [checks.law(block[:, i, i] ** 2, chi_square(degrees - i)) for i in range(masks.shape[2])]
    below = block[:, *np.tril_indices(masks.shape[2], -1)]
    normal = np.hstack([below, last])
    shapes = [checks.law(normal[:, j], checks.normal) for j in range(normal.shape[1])]
    return checks.combined([*diagonal, *shapes, checks.covariance(normal, np.eye(normal.shape[1]))])


@pytest.mark.parametrize("degrees", [5, 40, 139_115])
def test_a_mask_has_the_law_of_bartlett(degrees):
    """χ²(k), χ²(k − 1), … on the diagonal of T, standard normal below it and in the vector, all independent."""
    assert law_of(sample(degrees), degrees) > LEVEL


@pytest.mark.parametrize("degrees", [2, 3, 5, 40, 139_115])
def test_the_first_entry_is_exactly_chi_square(degrees):
    """Down to the two degrees that the sampler is made for. Errs with probability LEVEL = 1e-6."""
    first = sample(degrees, dim=1)[:, 0, 0] / PARAMETER
    assert checks.law(first, chi_square(degrees)) > LEVEL


@pytest.mark.parametrize("degrees", [36, 44])
def test_the_test_of_masks_rejects_degrees_off_by_ten_percent(degrees):
    assert law_of(sample(degrees), 40) < LEVEL


def test_the_test_of_masks_rejects_the_parameter_that_one_line_of_the_paper_prints():
    """L̃·I instead of L̃²·I."""
    assert law_of(sample(40, math.sqrt(PARAMETER)), 40) < LEVEL


def test_the_test_of_masks_rejects_a_vector_that_does_not_belong_to_its_block():
    mixed = sample(40).copy()
    mixed[:, DIM] = np.roll(mixed[:, DIM], 1, axis=0)
    assert law_of(mixed, 40) < LEVEL


def test_moments_are_those_of_an_independent_implementation():
    """Mean (z, asymptotic) and variance (within five standard errors) of every entry: error level below 1e-5 in all."""
    found, other = sample(40), stats.wishart(40, PARAMETER * np.eye(DIM + 1))
    mean, variance = other.mean()[:, :DIM], other.var()[:, :DIM]
    deviation = np.sqrt(variance / DRAWS)
    assert (np.abs(found.mean(axis=0) - mean) < 5 * deviation).all()
    np.testing.assert_allclose(found.var(axis=0), variance, rtol=5 * math.sqrt(2.5 / DRAWS))


def test_the_trace_and_the_vector_follow_an_independent_sampler():
    """Two-sample Kolmogorov–Smirnov; each of two checks errs with probability LEVEL/2."""
    found = sample(40)
    other = stats.wishart(40, PARAMETER * np.eye(DIM + 1)).rvs(DRAWS, random_state=7)
    pairs = [
        (np.trace(found[:, :DIM], axis1=1, axis2=2), np.trace(other[:, :DIM, :DIM], axis1=1, axis2=2)),
        (np.linalg.norm(found[:, DIM], axis=1), np.linalg.norm(other[:, DIM, :DIM], axis=1)),
    ]
    assert checks.combined([stats.ks_2samp(*pair).pvalue for pair in pairs]) > LEVEL


@pytest.mark.parametrize("degrees", [5, 40, 139_115])
def test_the_kernel_decides_as_the_textbook_does(degrees):
    """The same draws in the same order, rejected ones included: at five degrees there are some among 3,000."""
    masks, size = Masks(PARAMETER, degrees, 1), packed_size(DIM) + DIM
    source, twin = stream(3), stream(3)
    factor, scratch, out = np.empty(size), np.empty(size), np.empty(size)
    for _ in range(3000):
        draw_mask(masks, DIM, factor, scratch, out, source)
        np.testing.assert_allclose(out, packed(mask(PARAMETER, degrees, DIM, twin)), rtol=1e-9, atol=1e-9)
    assert np.array_equal(source.at, twin.at)
    assert np.array_equal(source.state, twin.state)


# The slots of the tree -------------------------------------------------------------------------------------------


def released(masks, dim, horizon, source, rows):
    """The noise after rows 1, 2, …, and the memory it comes from."""
    levels = (horizon - 1).bit_length()
    memory = empty_memory(levels, masks.slots, packed_size(dim) + dim)
    advance = entry(wishart_noise, masks, memory, 1, dim, source)
    for row in range(1, rows + 1):
        yield memory[advance(masks, memory, row, dim, source)], memory


@pytest.mark.parametrize(("horizon", "dim"), [(201, 1), (201, 3), (256, 5)])
def test_the_noise_of_a_row_is_the_sum_of_its_slots(horizon, dim):
    """Replayed from the same stream, slot by slot, for 200 rows."""
    masks = Masks(PARAMETER, 50, 1 + (horizon - 1).bit_length())
    reference = slots_after_each_row(masks, dim, stream(5), 200)
    for (noise, _), (slots, _) in zip(released(masks, dim, horizon, stream(5), 200), reference, strict=True):
        assert len(slots) == masks.slots
        expected = packed(sum(slots))
        np.testing.assert_allclose(noise, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_pads_are_drawn_with_row_one_and_never_change():
    """A fresh pad every round would have the same law in each of them, and average itself out over rounds."""
    masks, source = Masks(PARAMETER, 50, 9), stream(6)
    pads = None
    for row, (_, memory) in enumerate(released(masks, 2, 256, source, 255), start=1):
        kept = memory[8 : 8 + 9]
        if row == 1:
            pads = kept.copy()
            assert len({pad.tobytes() for pad in pads}) == 9
        assert np.array_equal(kept, pads)


def steady_tape(dim, rows, slots):
    """Proposals of zero are always accepted: what a row draws can then be counted."""
    size, count = packed_size(dim) + dim, rows + slots
    return tape_of(np.zeros(count * size), np.full(count * dim, 0.5))


def test_each_row_draws_one_mask_and_the_first_row_the_pads_too():
    dim, horizon = 4, 64
    masks, size = Masks(PARAMETER, 50, 7), packed_size(dim) + dim
    source = steady_tape(dim, horizon - 1, masks.slots)
    for row, _ in enumerate(released(masks, dim, horizon, source, horizon - 1), start=1):
        assert source.at.tolist() == [(masks.slots + row) * size, (masks.slots + row) * dim]
    assert np.isnan(source.normals).all()  # what was used cannot be read again
    assert np.isnan(source.uniforms).all()


def test_a_tape_that_runs_out_raises():
    masks = Masks(PARAMETER, 50, 7)
    source = steady_tape(2, 3, masks.slots)
    rows = released(masks, 2, 64, source, 10)
    for _ in range(3):
        next(rows)
    with pytest.raises(RuntimeError, match="ran out"):
        next(rows)


# The law after each row ------------------------------------------------------------------------------------------

ROWS = [1, 3, 7, 8, 63, 64]
RUNS, HORIZON, FEW = 3000, 100, 6
SLOTS = 1 + (HORIZON - 1).bit_length()


@lru_cache
def after_rows():
    """The noise after each of ROWS in many runs, and the same without its pads: (2, rows, runs, d + 1, d)."""
    masks, dim, levels = Masks(PARAMETER, FEW, SLOTS), 2, SLOTS - 1
    found = np.empty((2, len(ROWS), RUNS, packed_size(dim) + dim))
    for run in range(RUNS):
        for row, (noise, memory) in enumerate(released(masks, dim, HORIZON, stream(run, 1), ROWS[-1]), start=1):
            if row in ROWS:
                pads = [memory[levels + level] for level in range(SLOTS) if not row >> level & 1]
                found[0, ROWS.index(row), run] = noise
                found[1, ROWS.index(row), run] = noise - sum(pads)
    return unpacked(found, dim)


@pytest.mark.parametrize("row", ROWS)
def test_after_every_row_the_noise_has_all_degrees_of_freedom(row):
    """W(L̃²·I, mk), whatever the number of active nodes. Errs with probability at most LEVEL = 1e-6."""
    assert law_of(after_rows()[0, ROWS.index(row)], SLOTS * FEW) > LEVEL


@pytest.mark.parametrize("row", ROWS)
def test_without_pads_it_has_only_those_of_the_active_nodes(row):
    """The broken twin: popcount·k degrees, and the test above finds it out."""
    found = after_rows()[1, ROWS.index(row)]
    assert law_of(found, row.bit_count() * FEW) > LEVEL
    assert law_of(found, SLOTS * FEW) < LEVEL


# What the bounds of the paper assume -----------------------------------------------------------------------------


def paper(**changes):
    settings = {"dim": 5, "epsilon": 1.0, "delta": 0.1, "horizon": 1000}
    return JointLinUCB(**(settings | changes), releases="tree", calibration="published", noise="wishart")


def test_without_pads_the_shifted_matrix_is_indefinite_in_every_round():
    """Erratum 1: the shift counts on mk degrees of freedom, and there are at most (m − 1)k. Rows are of full length."""
    config = paper()
    params = config.plan().params
    rng = np.random.default_rng(8)
    gram = np.zeros((5, 5))
    padded = []
    for slots, nodes in slots_after_each_row(params.counter, 5, stream(9), config.horizon - 1):
        x = rng.normal(size=5)
        gram += np.outer(x, x) / (x @ x)
        shifted = gram + params.estimate.regulariser[0] * np.eye(5)
        assert np.linalg.eigvalsh(shifted + sum(nodes.values())[:5])[0] < 0
        padded.append(np.linalg.eigvalsh(shifted + sum(slots)[:5])[0])
    assert min(padded) > 0


@pytest.mark.parametrize("noise", ["wishart", "wishart-unshifted"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_with_pads_the_published_bounds_hold_in_every_round(noise, seed):
    """ρ_min·I ⪯ H ⪯ ρ_max·I and ‖h‖_{H⁻¹} ≤ γ for all rows: fails with probability below α = 0.001 per run."""
    config = JointLinUCB(**(paper().options() | {"noise": noise}))
    params, bounds = config.plan().params, config.regulariser_bounds()
    for noise_now, _ in released(params.counter, 5, config.horizon, stream(seed), config.horizon - 1):
        whole = unpacked(noise_now, 5)
        matrix = whole[:5] + params.estimate.regulariser[0] * np.eye(5)
        values = np.linalg.eigvalsh(matrix)
        assert bounds.rho_min <= values[0]
        assert values[-1] <= bounds.rho_max
        assert math.sqrt(whole[5] @ np.linalg.solve(matrix, whole[5])) <= bounds.gamma


def test_the_bounds_are_not_met_by_degrees_a_tenth_short():
    config = paper()
    params, bounds = config.plan().params, config.regulariser_bounds()
    short = params.counter._replace(degrees=params.counter.degrees * 9 // 10)
    noise, _ = next(iter(released(short, 5, config.horizon, stream(1), 1)))
    values = np.linalg.eigvalsh(unpacked(noise, 5)[:5] + params.estimate.regulariser[0] * np.eye(5))
    assert values[0] < bounds.rho_min


# With noise of the operating system ------------------------------------------------------------------------------


def test_a_row_takes_no_more_than_the_plan_says():
    config = paper(dim=3)
    draws, size = config.plan().draws, packed_size(3) + 3
    assert draws.learn_normals == 12 * size + SPARE
    assert draws.learn_uniforms == 12 * 3 + SPARE


def test_masks_are_for_simulation_only():
    with pytest.raises(NoSecureSampler, match="simulation only: Wishart noise"):
        paper(dim=3).start()
    assert "simulation only" in paper(dim=3).card().text()


def test_a_learner_learns_under_wishart_masks():
    learner = paper(dim=3).start(seed=1)
    for _ in range(40):
        arm = learner.choose(np.eye(3))
        learner.learn(np.eye(3)[arm], 1.0)
    assert learner.view.stage[0] == 40
    assert learner.diagnostics().repairs == 0
