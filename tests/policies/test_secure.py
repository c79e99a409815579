"""Learners with secure noise: how they start, what they refuse, that they go on, and that they learn as others do."""

import math
from dataclasses import replace

import numpy as np
import pytest

import tacit
from tacit._kernel import entry
from tacit.core import checkpoint as room
from tacit.core.round import learn_checked
from tacit.counters.counter import MOST_ROWS, ROUNDING
from tacit.environments import Sphere
from tacit.errors import BadInput, HorizonSpent, NoSecureSampler
from tacit.noise import tape_of
from tacit.privacy.accountant import price, theorem_for
from tacit.privacy.event import LatticeEvent, PersonEvent
from tests.laws.runs import play

KEY = bytes(range(32))


def config(**options):
    return tacit.JointLinUCB(**{"dim": 3, "epsilon": 10.0, "delta": 0.1} | options)


# How it is started -----------------------------------------------------------------------------------------------


def test_without_a_seed_noise_is_drawn_exactly_and_doubles_are_refused():
    assert config().start().card().sampler == "secure"
    assert config().start(seed=1).card().sampler == "double"
    assert config().start(seed=1, sampler="secure").card().sampler == "secure"
    with pytest.raises(BadInput, match='Expected a seed with sampler="double", got none'):
        config().start(sampler="double")


def test_other_samplers_are_not_known():
    with pytest.raises(BadInput, match="sampler"):
        config().start(sampler="quantum")
    with pytest.raises(BadInput, match="sampler"):
        config().card(sampler="quantum")


def test_the_same_seed_gives_the_same_exact_noise():
    views = []
    for seed in (1, 1, 2):
        learner = config(dim=2, epsilon=50.0).start(seed=seed, sampler="secure")
        play(learner, 60, seed=3)
        assert learner.view.stage[0] > 0
        assert learner.guarantee.seeded
        views.append(learner.view.theta.tobytes())
    assert views[0] == views[1] != views[2]


@pytest.mark.parametrize("noise", ["gaussian", "wishart", "wishart-unshifted"])
def test_published_noise_is_drawn_exactly_if_it_is_gaussian(noise):
    published = tacit.JointLinUCB(
        dim=3, epsilon=1.0, delta=0.1, releases="tree", horizon=1000, calibration="published", noise=noise
    )
    if noise == "gaussian":
        learner = published.start()
        play(learner, 20, seed=1)
        assert learner.guarantee.mu == pytest.approx(published.plan().guarantee.mu, rel=1e-9)
        assert learner.guarantee.mu <= published.plan().guarantee.mu, "rounding is in the price"
        more = learner._plan.event.event.scale / published.plan().event.scale
        assert 1 < more < 1 + 1e-6, "and the noise is the paper's, but for what rounding costs"
    else:
        with pytest.raises(NoSecureSampler, match="simulation only: Wishart"):
            published.start()


def test_the_plan_in_double_precision_is_untouched():
    plan = config().plan()
    assert plan.law is None
    assert not isinstance(plan.event, LatticeEvent)


# What it costs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({}, 2e-4),
        ({"width": "theory"}, 1e-4),
        ({"horizon": 10**6}, 1e-6),
        ({"releases": "toeplitz", "horizon": 10**6}, 1e-5),
        ({"releases": "tree", "horizon": 10**6}, 1e-6),
        ({"window": 10}, 1e-5),
    ],
)
def test_rounding_at_ten_features_costs_less_than_a_thousandth(options, most):
    wide = tacit.JointLinUCB(dim=10, epsilon=1.0, delta=1e-6, **options)
    more = wide.plan("secure").noise_scale / wide.plan().noise_scale - 1
    assert 0 < more < most < 1e-3


@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.1])
def test_laplace_noise_has_as_few_whole_steps_as_keep_the_promise(epsilon):
    plan = tacit.LaplaceUCB(arms=3, epsilon=epsilon).plan("secure")
    assert plan.guarantee.epsilon <= epsilon
    event = plan.event.event
    # One more than needed, for what calibration keeps in hand.
    fewer = replace(plan.event, event=replace(event, scale=event.scale - 2 * plan.event.step))
    assert theorem_for(fewer).epsilon > epsilon


def test_so_little_noise_that_steps_would_show_is_refused():
    with pytest.raises(BadInput, match="at least 64 steps"):
        tacit.RenyiUCB(arms=3, rho=1e9).plan("secure")


def test_so_much_noise_that_doubles_cannot_hold_it_is_refused():
    with pytest.raises(BadInput, match=r"2\*\*36 times what a row weighs|first release within"):
        config(epsilon=1e-12, delta=1e-16).plan("secure")


# What it does ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"views": 60, "ratio": 1.05},
        {"releases": "tree", "horizon": 200},
        {"releases": "toeplitz", "horizon": 200, "reward_low": -4.0, "reward_high": 4.0},
        {"window": 200, "ratio": 1.05},
        {"prior": tacit.Prior.from_rows(np.eye(3), np.ones(3))},
    ],
    ids=["geometric", "tree", "toeplitz", "window", "prior"],
)
def test_without_noise_a_view_is_that_of_the_exact_sums(options):
    """A tape of zeros: what is left is rounding, of some steps."""
    one = config(width="theory", **options)
    plan, rng = one.plan("secure"), np.random.default_rng(4)
    params, vault, view, report = plan.params, plan.vault(), plan.view(), np.zeros(plan.report_size)
    gram, vector = params.counter.lattice.known[:6], params.counter.lattice.known[6:] / one.reward_scale
    total = np.zeros((3, 3))
    total[np.triu_indices(3)] = gram
    total = total + np.triu(total, 1).T
    noise = tape_of(np.zeros(10**5), np.zeros(1))
    learn = entry(learn_checked, params, vault, view, np.zeros(3), 0.0, report, noise)
    stage = 0
    for _ in range(190):
        x, y = rng.normal(size=3), rng.uniform(one.reward_low, one.reward_high)
        x /= np.linalg.norm(x)
        learn(params, vault, view, x, y, report, noise)
        total, vector = total + np.outer(x, x), vector + x * y
        if view.stage[0] > stage:
            place = min(stage, len(params.estimate.regulariser) - 1)
            factor, stage = np.triu(view.factor), int(view.stage[0])
            expected = total + params.estimate.regulariser[place] * np.eye(3)
            np.testing.assert_allclose(factor.T @ factor, expected, atol=1e-4)
            np.testing.assert_allclose(expected @ view.theta, vector, atol=1e-3)
    assert stage > 20


def test_rows_beyond_what_a_lattice_holds_are_refused():
    learner = tacit.RenyiUCB(arms=2, rho=0.1).start()
    assert learner._plan.limit == MOST_ROWS
    learner._session.vault.counters[0] = MOST_ROWS
    with pytest.raises(HorizonSpent, match="17,179,869,184 rows are learned; start a new epoch"):
        learner.learn(0, 0.5)
    assert config().plan("secure").limit <= MOST_ROWS
    assert config(horizon=300).plan("secure").limit == 300


def test_persons_decisions_and_thompson_draws_work_as_ever():
    learner = config(person_rounds=2, exploration="thompson").start()
    rng = np.random.default_rng(0)
    for number in range(40):
        actions = rng.normal(size=(5, 3)) / 3
        decision = learner.decide(actions, person=number % 7)
        learner.reward(decision, 0.5)
    assert learner.diagnostics().dropped == 40 - 14
    assert learner.view.stage[0] > 0
    arms = {learner.choose(np.eye(3)) for _ in range(200)}
    assert len(arms) > 1, "draws from the view differ from round to round"


def test_rows_that_are_rounded_one_by_one_are_priced_one_by_one():
    """LinPriv on a lattice so coarse that rounding is most of what moves: k rows of a person in one node round k times,
    and the price of a single rounding is exceeded."""
    one = tacit.LinPriv(dim=3, arms=1, horizon=64, rho=0.1, person_rounds=8)
    plan, step, x = one.plan("secure"), 1.15, np.full(3, 1 / math.sqrt(3))  # x·r is just above half a step
    params = plan.params._replace(step=step)
    sums = []
    for reward in (1.0, -1.0):
        vault, view, report = plan.vault(), plan.view(), np.zeros(plan.report_size)
        noise = tape_of(np.zeros(10**4), np.zeros(1))
        learn = entry(learn_checked, params, vault, view, x, 0.0, report, noise)
        prefix = [np.zeros(3)]
        for row in range(1, 64):
            learn(params, vault, view, x, reward if row <= 8 else 0.3, report, noise)
            prefix.append(vault.sums[0].copy())
        sums.append([prefix[row] - prefix[row - (row & -row)] for row in range(1, 64)])
    moved = float(np.linalg.norm(np.array(sums[0]) - np.array(sums[1])))
    event, scale = plan.event.event, 1e6 * step
    by_row = replace(event.event, scale=scale, sensitivity=2.0 + 2 * ROUNDING * math.sqrt(3) * step)
    by_sum = replace(event.event, scale=scale, sensitivity=2.0)
    priced = price(PersonEvent(replace(event, event=by_row, step=step), 8)) * 1e6
    too_little = price(PersonEvent(replace(event, event=by_sum, step=step, rounding=ROUNDING), 8)) * 1e6
    assert too_little < moved <= priced


# Going on --------------------------------------------------------------------------------------------------------


def test_a_secure_learner_goes_on_from_a_checkpoint_as_one(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "_RESUMED", {})
    learner = config(dim=4).start()
    play(learner, 60, seed=1)
    before = [np.array(part) for part in (*learner._session.vault, *learner._session.view)]
    path = learner.checkpoint(tmp_path / "one", KEY)
    onward = tacit.resume(path, KEY)
    after = [np.array(part) for part in (*onward._session.vault, *onward._session.view)]
    assert all(np.array_equal(one, two) for one, two in zip(before, after, strict=True))
    assert np.isnan(onward._session.noise.normals).all(), "noise that lay ready is never written down"
    play(onward, 40, seed=2)
    assert "Noise is drawn exactly" in onward.card().text()
    fork = tacit.resume(path, KEY, fork=True)
    assert fork.guarantee.mu == pytest.approx(math.sqrt(2) * learner.guarantee.mu)


# How well it learns ----------------------------------------------------------------------------------------------


def test_regret_on_the_sphere_is_that_of_noise_in_double_precision():
    """Twelve runs of each in the same worlds. Error level: a difference of 5 standard errors, 10⁻⁶."""
    world, one = Sphere(dim=3, gap=0.1), config(ratio=1.1, views=64, width="theory")
    regrets = {}
    for sampler in ("double", "secure"):
        regrets[sampler] = [
            play(one.start(seed=trial, sampler=sampler), 700, seed=trial, environment=world)[1] for trial in range(12)
        ]
    difference = np.array(regrets["secure"]) - np.array(regrets["double"])
    error = math.sqrt(np.var(regrets["secure"], ddof=1) + np.var(regrets["double"], ddof=1)) / math.sqrt(12)
    assert abs(difference.mean()) < 5 * error
    assert error < 0.2 * np.mean(regrets["double"]), "enough runs to tell"
