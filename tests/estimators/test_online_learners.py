"""Online learners: the published formulas, what never breaks, and the ways to use them."""

import inspect
import math

import numpy as np
import pytest

from tacit._kernel import _TABLES, implementation, kernel
from tacit.errors import BadInput
from tacit.estimators.online import (
    OnlineLearner,
    descend,
    expert_weights,
    gradient_descent,
    maler,
    member,
    restart,
    states,
)
from tacit.estimators.online.maler import CONVEX, EXP_CONCAVE, STRONGLY_CONVEX, grid_size
from tests.estimators.online_reference import ReferenceDescent, ReferenceMaler

DIM, RADIUS, CLIP, HORIZON = 4, 0.8, 3.0, 500


KINDS = ["descent", "maler"]


def make(kind, dim=DIM, radius=RADIUS, clip=CLIP, horizon=HORIZON):
    if kind == "descent":
        return gradient_descent(dim, radius, step=0.5, clip=clip)
    return maler(dim, radius, clip, horizon)


def gradients(count=HORIZON, dim=DIM, seed=0, size=2.0):
    """A drift that turns round halfway under noise: experts hit the edge of the ball on both sides."""
    rng = np.random.default_rng([seed, dim])
    drift = rng.normal(size=dim)
    sign = np.where(np.arange(count) < count // 2, 1.0, -1.0)[:, None]
    return size * (0.5 * sign * drift + rng.normal(size=(count, dim)))


def clipped(gradient):
    return gradient * min(1, CLIP / np.linalg.norm(gradient))


def walk(online, rows):
    """The points played, the last one included."""
    learner = OnlineLearner(online)
    points = [learner.point]
    for row in rows:
        learner.step(row)
        points.append(learner.point)
    return np.array(points), learner


# The formulas ----------------------------------------


@pytest.mark.parametrize(("radius", "clip"), [(0.8, 3.0), (1.0, 1.0), (250.0, 0.02), (1e-3, 1e4)])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_maler_follows_the_published_formulas(dim, radius, clip):
    """Step by step against NumPy, with D and G where they stand in the paper; ours runs in the unit ball."""
    rows = gradients(300, dim) * clip / 3
    reference = ReferenceMaler(dim, radius, clip, 300)
    points, learner = walk(maler(dim, radius, clip, 300), rows)
    for point, row in zip(points, rows, strict=False):
        np.testing.assert_allclose(point, reference.point, rtol=1e-9, atol=1e-10 * radius)
        reference.step(row)
    state = learner.state
    weights = expert_weights(state)
    np.testing.assert_allclose(weights[CONVEX], reference.weights[0], rtol=1e-8)
    np.testing.assert_allclose(weights[STRONGLY_CONVEX::2], reference.weights[1 : 1 + reference.count], rtol=1e-8)
    np.testing.assert_allclose(weights[EXP_CONCAVE::2], reference.weights[1 + reference.count :], rtol=1e-8)
    np.testing.assert_allclose(radius * state.experts[CONVEX], reference.convex, rtol=1e-9, atol=1e-10 * radius)
    np.testing.assert_allclose(radius * state.experts[STRONGLY_CONVEX::2], reference.strong, atol=1e-9 * radius)
    np.testing.assert_allclose(radius * state.experts[EXP_CONCAVE::2], reference.exp, atol=1e-9 * radius)
    np.testing.assert_allclose(state.inverses * radius**2, np.linalg.inv(reference.matrices), rtol=1e-9, atol=1e-12)


def test_descent_follows_its_formula():
    rows = gradients()
    reference = ReferenceDescent(DIM, RADIUS, 0.5, CLIP)
    for point, row in zip(walk(make("descent"), rows)[0], rows, strict=False):
        np.testing.assert_allclose(point, reference.point, rtol=1e-11, atol=1e-13)
        reference.step(row)


@pytest.mark.parametrize("twin", [{"sign": -1.0}, {"projected": False}, {"weighted": False}, {"tilted": False}])
def test_the_comparison_with_the_formulas_rejects_each_broken_twin(twin):
    rows = gradients(300)
    points, _ = walk(maler(DIM, RADIUS, CLIP, 300), rows)
    reference = ReferenceMaler(DIM, RADIUS, CLIP, 300, **twin)
    for row in rows:
        reference.step(row)
    assert np.abs(points[-1] - reference.point).max() > 1e-4 * RADIUS


@pytest.mark.parametrize(
    ("horizon", "count"), [(1, 1), (2, 2), (4, 2), (5, 3), (16, 3), (17, 4), (20_000, 9), (2**62, 32)]
)
def test_the_grid_has_one_rate_and_one_more_for_each_doubling_of_the_root_of_the_horizon(horizon, count):
    assert grid_size(horizon) == count
    online = maler(2, 1.0, 1.0, horizon)
    assert online.params.rates.tolist() == [0.1 * 2.0**-i for i in range(count)]
    assert online.state().convex_rate[0] == 1 / (4 * math.sqrt(horizon))


@pytest.mark.parametrize("horizon", [1, 2, 100, 20_000, 10**9, 2**62])
def test_the_priors_sum_to_one(horizon):
    state = maler(2, 1.0, 1.0, horizon).state()
    assert np.exp(state.log_weights).sum() == pytest.approx(1, abs=1e-14)
    assert np.exp(state.log_weights[0]) == pytest.approx(1 / 3, abs=1e-15)


# What never breaks ----------------------------------------


def hostile():
    """Streams that look for the edges: constant, alternating, zero, huge, tiny, and along the axes."""
    rng = np.random.default_rng(5)
    axes = np.eye(DIM)[rng.integers(DIM, size=400)]
    return {
        "constant": np.tile([1.0, 2.0, -1.0, 0.0], (400, 1)),
        "alternating": np.tile([1.0, 1.0, 1.0, 1.0], (400, 1)) * (-1.0) ** np.arange(400)[:, None],
        "zero": np.zeros((400, DIM)),
        "huge": 1e99 * rng.normal(size=(400, DIM)),
        "tiny": 1e-200 * rng.normal(size=(400, DIM)),
        "axes": axes * rng.choice([-1.0, 1.0], size=(400, 1)) * 10.0 ** rng.integers(-3, 4, size=(400, 1)),
        "turning": gradients(400),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stream", list(hostile()))
def test_no_stream_leads_out_of_the_ball(kind, stream):
    points, _ = walk(make(kind), hostile()[stream])
    assert np.linalg.norm(points, axis=1).max() <= RADIUS * (1 + 1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_the_test_of_the_ball_rejects_a_learner_that_does_not_project(kind):
    twin = {
        "descent": ReferenceDescent(DIM, RADIUS, 0.5, CLIP, projected=False),
        "maler": ReferenceMaler(DIM, RADIUS, CLIP, HORIZON, projected=False),
    }[kind]
    for row in hostile()["constant"]:
        twin.step(row)
    assert np.linalg.norm(twin.point) > RADIUS * 1.01


@pytest.mark.parametrize("stream", list(hostile()))
def test_weights_are_a_distribution_and_experts_stay_in_the_unit_ball(stream):
    learner = OnlineLearner(make("maler"))
    for row in hostile()[stream]:
        learner.step(row)
        state = learner._state
        assert state.log_weights.max() == 0
        weights = expert_weights(state)
        assert weights.min() >= 0
        assert weights.sum() == pytest.approx(1, abs=1e-14)
        assert np.linalg.norm(state.experts, axis=1).max() <= 1 + 1e-14


@pytest.mark.parametrize("stream", list(hostile()))
def test_the_potential_never_grows(stream):
    """Σ π·e^(−loss) ≤ 1 in every step, whatever the gradients: the fact that all of Maler's bounds rest on."""
    reference = ReferenceMaler(DIM, RADIUS, CLIP, HORIZON)
    for row in hostile()[stream]:
        reference.step(row)
        assert reference.potential <= 1 + 1e-12


def test_the_potential_grows_if_the_rates_are_left_out_of_the_mean():
    reference = ReferenceMaler(DIM, RADIUS, CLIP, HORIZON, tilted=False)
    worst = 0.0
    for row in hostile()["turning"]:
        reference.step(row)
        worst = max(worst, reference.potential)
    assert worst > 1 + 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_a_gradient_counts_for_its_direction_beyond_the_clip(kind):
    """To rounding: a longer vector has a length that rounds differently."""
    rows = gradients()
    long, _ = walk(make(kind), rows * 50)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    short, _ = walk(make(kind), CLIP * unit)
    np.testing.assert_allclose(long, short, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e200])
def test_inside_a_kernel_a_gradient_without_a_length_changes_nothing(kind, bad):
    online = make(kind)
    state = online.state()
    for row in gradients(20):
        descend(online.params, state, row)
    before = [part.copy() for part in state]
    descend(online.params, state, np.array([0.0, bad, 1.0, 0.0]))
    for one, other in zip(state, before, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("scale", [2.0**-40, 2.0**40])
def test_maler_has_no_scale_of_its_own(scale):
    """Another unit for gradients or for points changes the point by that unit, to the bit (units are powers of 2)."""
    rows = gradients()
    points, _ = walk(maler(DIM, RADIUS, CLIP, HORIZON), rows)
    assert np.array_equal(walk(maler(DIM, RADIUS, CLIP * scale, HORIZON), rows * scale)[0], points)
    assert np.array_equal(walk(maler(DIM, RADIUS * scale, CLIP, HORIZON), rows)[0], points * scale)


def test_the_inverses_do_not_drift_over_a_hundred_thousand_steps():
    """Against the inverse of I/(2β)² + Σ qqᵀ with every q kept, for the largest and the smallest rate."""
    count, dim = 100_000, 3
    rows = gradients(count, dim, seed=6, size=0.6)
    rows *= np.minimum(1, 1 / np.linalg.norm(rows, axis=1))[:, None]
    learner = OnlineLearner(maler(dim, 1.0, 1.0, count))
    state, params, step = learner._state, learner._params, learner._descend
    last = len(params.rates) - 1
    slopes = np.empty((2, count))
    for t, row in enumerate(rows):
        for k, i in enumerate((0, last)):
            gap = (state.centre - state.experts[EXP_CONCAVE + 2 * i]) @ row
            slopes[k, t] = params.rates[i] * (1 - 2 * params.rates[i] * gap)
        step(params, state, row)
    for k, i in enumerate((0, last)):
        q = slopes[k][:, None] * rows
        matrix = np.eye(dim) / (2 * 25 / 56) ** 2 + q.T @ q
        assert np.abs(state.inverses[i] @ matrix - np.eye(dim)).max() < 1e-10
        assert np.array_equal(state.inverses[i], state.inverses[i].T)


# One text, two speeds ----------------------------------------


@kernel
def _run(online, state, rows, points):
    for t in range(rows.shape[0]):
        descend(online, state, rows[t])
        for k in range(rows.shape[1]):
            points[t, k] = state.point[k]


@pytest.mark.parametrize("kind", KINDS)
def test_python_and_a_compiled_loop_agree_to_the_bit(kind):
    rows = gradients()
    stepped, learner = walk(make(kind), rows)
    online, points = make(kind), np.zeros((HORIZON, DIM))
    state = online.state()
    _run(online.params, state, rows, points)
    assert np.array_equal(points, stepped[1:])
    for one, other in zip(state, learner.state, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_of_a_step_gives_the_bits_of_its_machine_code(kind):
    online = make(kind)
    text, code = online.state(), online.state()
    plain = implementation(descend, type(online.params)).py_func
    for row in gradients(100):
        plain(online.params, text, row)
        descend(online.params, code, row)
    for one, other in zip(text, code, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("action", [descend, restart, member], ids=lambda action: action.__name__)
def test_every_learner_implements_each_verb_with_its_arguments(action):
    wanted = list(inspect.signature(action).parameters)
    table = _TABLES[action.__name__]
    assert {kind.__name__ for kind in table} >= {"GradientDescent", "Maler"}
    for function in table.values():
        assert list(inspect.signature(getattr(function, "py_func", function)).parameters) == wanted


# Beginning anew ----------------------------------------


@pytest.mark.parametrize("horizon", [1, 7, 64, 499, 500])
@pytest.mark.parametrize("kind", KINDS)
def test_a_restarted_learner_is_a_fresh_one_of_that_horizon_to_the_bit(kind, horizon):
    rows = gradients(seed=1)
    learner = OnlineLearner(make(kind))
    for row in gradients():
        learner.step(row)
    learner.restart(horizon)
    assert learner.steps == 0
    fresh = OnlineLearner(make(kind, horizon=horizon))
    for row in rows:
        assert np.array_equal(learner.point, fresh.point)
        learner.step(row)
        fresh.step(row)
    assert np.array_equal(learner.point, fresh.point)
    if kind == "maler":
        count = grid_size(horizon)
        assert np.array_equal(expert_weights(learner.state), expert_weights(fresh.state))
        assert np.array_equal(learner.state.inverses[:count], fresh.state.inverses)
        assert np.array_equal(learner.state.experts[: 1 + 2 * count], fresh.state.experts)


def test_a_restart_for_longer_than_the_grid_was_made_for_is_refused_and_changes_nothing():
    learner = OnlineLearner(make("maler"))
    for row in gradients(10):
        learner.step(row)
    before = learner.state
    for horizon, message in [(501, r"horizon <= 500.*got horizon=501.*longer horizon"), (0, "horizon >= 1")]:
        with pytest.raises(BadInput, match=message):
            learner.restart(horizon)
        with pytest.raises(RuntimeError, match="horizon"):
            restart(learner._params, learner._state, horizon)
    for one, other in zip(learner.state, before, strict=True):
        assert np.array_equal(one, other)


def test_after_its_horizon_a_learner_goes_on():
    points, learner = walk(maler(DIM, RADIUS, CLIP, 10), gradients())
    assert learner.steps == HORIZON
    assert np.isfinite(points).all()
    assert np.linalg.norm(points, axis=1).max() <= RADIUS * (1 + 1e-14)


# Side by side ----------------------------------------


@kernel
def _turns(online, bank, rows, order, horizon):
    """Each row to the learner whose turn it is; learner 0 begins anew halfway."""
    for t in range(rows.shape[0]):
        if 2 * t == rows.shape[0]:
            restart(online, member(online, bank, 0), horizon)
        descend(online, member(online, bank, order[t]), rows[t])


@pytest.mark.parametrize("kind", KINDS)
def test_learners_of_a_bank_are_independent_and_equal_to_learners_alone(kind):
    online, rows = make(kind), gradients()
    order = np.random.default_rng(7).integers(3, size=HORIZON)
    bank = states(online, 4)
    assert all(part.shape[0] == 4 for part in bank)
    _turns(online.params, bank, rows, order, 64)
    for i in range(4):
        alone = OnlineLearner(online)
        for t, row in enumerate(rows):
            if i == 0 and 2 * t == HORIZON:
                alone.restart(64)
            if order[t] == i:
                alone.step(row)
        for one, other in zip(member(online.params, bank, i), alone.state, strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("kind", KINDS)
def test_a_member_of_a_bank_is_a_view_from_python_too(kind):
    online = make(kind)
    bank = states(online, 2)
    one = member(online.params, bank, 1)
    assert type(one) is type(bank)
    assert one.point.shape == (DIM,)
    descend(online.params, one, np.ones(DIM))
    assert np.array_equal(bank.point[1], one.point)
    assert bank.clock[:, 0].tolist() == [0, 1]
    assert not bank.point[0].any()


# From Python ----------------------------------------


def test_the_point_and_the_state_are_copies():
    learner = OnlineLearner(make("maler"))
    learner.step(np.ones(DIM))
    before = learner.point
    learner.point[:] = 9.0
    learner.state.experts[:] = 9.0
    assert np.array_equal(learner.point, before)
    assert np.abs(learner.state.experts).max() <= 1


def test_a_gradient_may_be_a_list_or_any_layout_and_is_not_changed():
    wide = np.arange(2.0 * DIM)
    one, other = OnlineLearner(make("descent")), OnlineLearner(make("descent"))
    one.step(wide[::2])
    other.step([int(x) for x in wide[::2]])
    assert np.array_equal(one.point, other.point)
    assert wide.tolist() == list(range(2 * DIM))


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        ([1.0, 2.0], r"gradient of shape \(4,\), got \(2,\)"),
        (np.ones((1, DIM)), r"got \(1, 4\)"),
        (1.0, r"got \(\)"),
        ([0.0, math.nan, 0.0, 0.0], "gradient to be finite numbers, got NaN at position 1"),
        ([0.0, 0.0, -math.inf, 0.0], "got an infinity at position 2"),
        ([1e101, 0.0, 0.0, 0.0], "a number beyond 1e100"),
        (["a", "b", "c", "d"], "array of numbers, got list"),
        ([1j] * DIM, "complex"),
        (None, "array of numbers"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_gradient_is_refused_and_changes_nothing(kind, gradient, message):
    learner = OnlineLearner(make(kind))
    learner.step(np.ones(DIM))
    before = learner.state
    with pytest.raises(BadInput, match=message):
        learner.step(gradient)
    for one, other in zip(learner.state, before, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dim": 0}, "dim >= 1, got dim=0"),
        ({"dim": 2.5}, "whole number"),
        ({"radius": 0.0}, "radius > 0, got radius=0.0"),
        ({"radius": math.inf}, "finite"),
        ({"clip": -1.0}, "clip > 0, got clip=-1.0"),
        ({"clip": 1e101}, r"clip between 1e-100 and 1e100, got clip=1e\+101. Choose other units"),
        ({"radius": "1"}, "number"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_sizes_that_make_no_learner_are_refused(kind, changes, message):
    with pytest.raises(BadInput, match=message):
        make(kind, **changes)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: gradient_descent(2, 1.0, 0.0, 1.0), "step > 0"),
        (lambda: maler(2, 1.0, 1.0, 0), "horizon >= 1"),
        (lambda: maler(2, 1.0, 1.0, 2**62 + 1), "horizon <= 4611686018427387904, got horizon=4611686018427387905"),
        (lambda: states(maler(2, 1.0, 1.0, 9), 0), "count >= 1"),
        (lambda: OnlineLearner("maler"), "Expected what gradient_descent.*got 'maler'"),
        (lambda: OnlineLearner(maler(2, 1.0, 1.0, 9).params), "Expected what gradient_descent"),
    ],
)
def test_other_mistakes_are_named(mistake, message):
    with pytest.raises(BadInput, match=message):
        mistake()
