"""ShuffleLinUCB with a parameter per arm: what a report holds and hides, what a batch costs, what is learned.

Error level: statistical checks are two-sided at 1e-6 with fixed seeds, and at 1e-9 for noise that no seed fixes.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import tacit
from tacit.core.session import Session
from tacit.core.verbs import absorb, encode, release
from tacit.errors import BadInput, BadMessage
from tacit.linalg import block_size
from tacit.noise import stream, tape
from tacit.preparation import Preparation
from tacit.privacy import Promise
from tacit.privacy.accountant import theorem_for
from tests.statistics import checks
from tests.statistics.checks import LEVEL, UNSEEDED_LEVEL

ARMS, DIM, BATCH = 3, 2, 20
WIDTH = DIM + 1
BLOCK = block_size(WIDTH)
UPPER = np.triu_indices(WIDTH)
X = np.array([0.6, -0.8])


def arms(**changes):
    settings = {"arms": ARMS, "dim": DIM, "epsilon": 1.0, "delta": 1e-6, "horizon": 1000, "batch": BATCH}
    return tacit.ShuffleLinUCB(**(settings | changes))


def image(config, context, arm, reward) -> np.ndarray:
    """What a report says of a row, from the words of docs/protocol.md and a contract alone, in the numbers' units."""
    contract = config.contract()
    terms, report = contract["arms"], contract["report"]
    x = (np.asarray(context) - terms["middle"]) * terms["stretch"]
    x = np.clip(x, -1, 1) if terms["bounded"] else x
    for length in (report["action_norm"], terms["share"] * report["action_norm"]):
        norm = np.linalg.norm(x)
        x = x * (length / norm) if norm > 0 and (terms["normalise"] or norm > length) else x
    z = np.append(x, terms["constant"]) if terms["constant"] else x
    y = (np.clip(reward, report["reward_low"], report["reward_high"]) - terms["reward_middle"]) * terms["reward_scale"]
    products, upper = np.outer(z, z), np.triu_indices(len(z))
    weights = np.where(np.equal(*upper), 1.0, terms["beside"])
    block = np.append(weights * products[upper], terms["beside"] * y * z)
    found = np.zeros((terms["count"], len(block)))
    found[arm] = block
    return found.ravel()


# What a batch costs ---------------------------------------------------------------------------------------------------


def test_two_rows_are_no_farther_apart_than_is_priced_and_some_are_as_far():
    """A search over contexts, arms and rewards, and over lengths where contexts are taken as they come."""
    config, rng = arms(preparation="none", action_norm=2.0, reward_high=3.0), np.random.default_rng(1)
    farthest = {True: 0.0, False: 0.0}
    for _ in range(4000):
        (x, other), (a, b) = rng.normal(size=(2, DIM)) * rng.choice([0.5, 2, 20]), rng.integers(ARMS, size=2)
        y, z = rng.choice([0.0, 3.0, rng.uniform(0, 3)], size=2)
        moved = np.linalg.norm(image(config, x, a, y) - image(config, other, b, z))
        farthest[bool(a == b)] = max(farthest[bool(a == b)], moved)
    assert 0.99 * config.sensitivity < farthest[True] <= config.sensitivity * (1 + 1e-12)
    assert farthest[False] <= 4 * 2.0 * (1 + 1e-12)  # √(2 + 2q)·L²
    assert config.sensitivity == pytest.approx(1.5 * math.sqrt(2) * 4, rel=1e-12)


@pytest.mark.parametrize("prepared", ["standard", "none"])
def test_noise_does_not_grow_with_the_number_of_arms(prepared):
    """Two blocks at most differ between two people, and they alone pay for rounding and for the tails."""
    few, many = (arms(arms=count, preparation=prepared).plan() for count in (2, 40))
    assert few.event == many.event
    width = WIDTH if prepared == "standard" else DIM
    assert few.event.coordinates == 2 * block_size(width)
    assert many.report.size == 40 * block_size(width)


def test_the_ones_are_as_few_as_the_promise_allows():
    config = arms(honest=0.5)
    event = config.plan().event
    assert config.guarantee.epsilon_at(1e-6) <= 1.0
    assert theorem_for(replace(event, trials=event.trials - config.honest_people)).epsilon > 1.0
    least = arms().sensitivity / Promise(1.0, 1e-6).mu
    assert least < arms().plan().noise_scale < 1.01 * least


def test_no_number_of_a_report_lies_off_its_grid():
    """At its end it would be clipped, and learned wrong."""
    for changes in ({}, {"action_norm": 3.0, "reward_low": -5.0}, {"preparation": "none"}):
        config, rng = arms(**changes), np.random.default_rng(2)
        rows = [image(config, x, 0, y) for x in rng.normal(size=(200, DIM)) * 9 for y in (-9.0, 9.0)]
        assert 0.8 * config.largest_entry < np.abs(rows).max() <= config.largest_entry * (1 + 1e-12)


# What a report holds --------------------------------------------------------------------------------------------------


def reported(params, config, context, arm, reward=1.0, seed=1):
    plan = config.plan()
    report = np.zeros(plan.report_size)
    encode(params, plan.view(), np.append(context, arm), reward, report, stream(seed))
    return report


PREPARATIONS = {
    "standard": {},
    "none": {"preparation": "none"},
    "bounded": {"preparation": Preparation(low=-1.0, high=(2.0, 4.0), centre_rounds=0)},
    "no constant": {"preparation": Preparation(constant=0.0, centre_rounds=0), "action_norm": 2.0, "reward_low": -1.0},
}


@pytest.mark.parametrize("changes", PREPARATIONS.values(), ids=PREPARATIONS)
def test_a_report_is_what_the_contract_says(changes):
    """Less its ones it is the row in whole steps, rounded up or down, and right in the mean."""
    config = arms(**changes)
    terms = config.contract()["report"]["noise"]
    size = config.plan().report.size
    for context, arm, reward in ((X, 0, 1.0), ((30.0, 0.1), 2, 0.2), ((0.0, 0.0), 1, -9.0)):
        exact = (image(config, context, arm, reward) + terms["offset"]) / terms["step"]
        found = [reported(config.plan().params, config, context, arm, reward, seed)[:size] for seed in range(400)]
        assert np.abs(np.array(found) - exact).max() < 1 + 1e-9
        assert np.abs(np.mean(found, axis=0) - exact).max() < 5 * 0.5 / math.sqrt(400)


def test_an_odd_number_for_an_arm_makes_a_row_of_nothing():
    config = arms()
    nothing = np.full(config.plan().report.size, 0.5 * config.plan().report.noise["steps"])
    for arm in (-1.0, 3.0, 0.5, 1e99):
        found = reported(config.plan().params, config, X, arm)
        assert np.array_equal(found[: len(nothing)], nothing)


def test_neither_the_row_nor_what_made_the_ones_stays_beside_a_report():
    config = arms()
    for params in (config.plan().params, config.plan().device):
        assert not reported(params, config, X, 1)[ARMS * BLOCK :].any()
    device = config.device()
    device.report(X, 1, 1.0)
    assert not device._session.report[ARMS * BLOCK :].any()


def test_every_block_has_the_ones_of_the_contract_whichever_arm_it_was():
    """Over devices as people have them. A block without ones of its own would say which arm it was not."""
    config, runs = arms(epsilon=10.0, delta=0.1), 100
    terms = config.contract()["report"]["noise"]
    deviation = math.sqrt(terms["ones"]) / 2
    for arm in (0, 2):
        device = config.device(limit=runs)
        counts = np.array([device.report((0.0, 0.0), arm, 0.5)["values"] for _ in range(runs)])
        exact = (image(config, (0.0, 0.0), arm, 0.5) + terms["offset"]) / terms["step"] + terms["ones"] / 2
        noise = ((counts - exact) / deviation).reshape(runs, ARMS, BLOCK)
        for block in range(ARMS):
            # Rounding of the one number that is no whole step adds less than a coin does.
            assert checks.scale(noise[:, block], math.sqrt(1 + 0.5 / terms["ones"])) > UNSEEDED_LEVEL
        assert checks.scale(0.5 * noise[:, 1], 1.0) < UNSEEDED_LEVEL


# What is published ----------------------------------------------------------------------------------------------------

PEOPLE = [((0.6, -0.8), 0, 1.0), ((1.0, 0.2), 2, 0.0), ((-0.3, 0.3), 0, 0.5), ((0.0, 1.0), 1, 1.0)] * (BATCH // 4)


def published(config, apart: bool, seed: int, spoil=lambda params: params) -> np.ndarray:
    """The sums of one batch, by one process or by devices and a server."""
    plan = config.plan()
    vault, view, totals = plan.vault(), plan.view(), np.zeros(plan.report.size)
    report, noise = np.zeros(plan.report_size), stream(seed)
    for context, arm, reward in PEOPLE:
        encode(spoil(plan.device if apart else plan.params), view, np.append(context, arm), reward, report, noise)
        if apart:
            totals += report[: len(totals)]
        else:
            absorb(plan.params, vault, report)
    if apart:
        absorb(plan.server, vault, totals)
        release(plan.server, vault, view, tape(0, 0))
    else:
        release(spoil(plan.params), vault, view, noise)
    assert view.stage[0] == 1
    return vault.memory[-1].copy()


def truth(config) -> np.ndarray:
    beside = np.tile(np.append(np.where(np.equal(*UPPER), 1.0, math.sqrt(2)), np.full(WIDTH, math.sqrt(2))), ARMS)
    return sum(image(config, *row) for row in PEOPLE) / beside


@pytest.mark.parametrize("apart", [False, True], ids=["one process", "devices"])
def test_each_arm_has_the_sums_of_its_own_rows_under_the_stated_noise(apart):
    """In units of symmetric noise: a diagonal has the deviation of a count, everything beside it 1/√2 of that."""
    config = arms()
    unit = config.plan().noise_scale * np.tile(
        np.append(np.where(np.equal(*UPPER), 1.0, math.sqrt(0.5)), np.full(WIDTH, math.sqrt(0.5))), ARMS
    )
    noise = np.array([(published(config, apart, seed) - truth(config)) / unit for seed in range(150)])
    assert checks.scale(noise, 1.0) > LEVEL
    assert checks.scale(noise.mean(axis=0) * math.sqrt(len(noise)), 1.0) > LEVEL

    def quarter(params):
        ones, counter = params.mixing.ones, params.counter
        return params._replace(
            mixing=params.mixing._replace(ones=ones._replace(trials=ones.trials / 4)),
            counter=counter._replace(ones=counter.ones._replace(trials=counter.ones.trials / 4)),
        )

    spoiled = np.array([published(config, apart, seed, quarter) / unit for seed in range(150)])
    assert checks.scale(spoiled - spoiled.mean(axis=0), 1.0) < LEVEL


def test_nothing_gets_out_inside_a_batch():
    learner = arms().start(seed=3)
    for row in range(1, 3 * BATCH):
        before = learner.view
        learner.learn(X, row % ARMS, 0.1)
        changed = any(not np.array_equal(*pair) for pair in zip(before, learner.view, strict=True))
        assert changed == (row % BATCH == 0)
    assert learner.view.stage[0] == 2


# What is learned ------------------------------------------------------------------------------------------------------


def test_devices_shuffler_and_server_learn_which_arm_is_whose():
    config = arms(epsilon=200.0, delta=0.1, batch=200, horizon=1000)
    server, shuffler, rng = config.server(), config.shuffler(), np.random.default_rng(4)
    device = config.device(limit=1000)
    right = []
    while server.stage < 3:
        device.see(server.view_json())
        context = rng.normal(size=DIM)
        arm = device.choose(context)
        best = int(context[0] > 0)
        right.append(arm == best)
        shuffler.add(device.report(context, arm, float(arm == best)))
        if shuffler.ready:
            server.receive_batch(shuffler.batch())
    assert np.mean(right[:200]) < 0.5, "the first batch is drawn evenly"
    assert np.mean(right[-200:]) > 0.8
    device.see(server.view())
    assert all(device.choose(rng.normal(size=DIM), allowed=[2]) == 2 for _ in range(5))


def test_a_learner_chooses_as_its_devices_do():
    config = arms(epsilon=50.0, delta=0.1)
    server, shuffler, device = config.server(), config.shuffler(), config.device(limit=BATCH)
    for context, arm, reward in PEOPLE:
        shuffler.add(device.report(context, arm, reward))
    server.receive_batch(shuffler.batch())
    device.see(server.view())
    session = Session(config.plan(), DIM, seed=0)
    for context in np.random.default_rng(5).normal(size=(20, DIM)):
        offer = np.append(context, np.ones(ARMS))[None]
        assert device.choose(context) == session.choose(device._session.view, offer)


@pytest.mark.parametrize("wrong", [(X, 3, 1.0), (X, -1, 1.0), (X, 1.0, 1.0), (X[:1], 0, 1.0)])
def test_a_device_refuses_what_is_no_arm_or_no_context(wrong):
    device = arms().device()
    with pytest.raises(BadInput, match="Expected"):
        device.report(*wrong)
    assert device.made == 0


def test_a_view_of_another_number_of_arms_is_refused():
    with pytest.raises(BadMessage):
        arms().device().see(arms(arms=4).server().view())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arms": 1}, "arms >= 2"),
        ({"protocol": "amplification"}, "Expected protocol='vector-sum' with arms"),
        ({"calibration": "published"}, "Expected calibration='exact' with arms"),
        ({"constants": (0.5,)}, "Contexts get a constant by their preparation"),
        ({"width": "theory"}, 'Expected width="noise-aware" with arms'),
        ({"width": 0.5}, 'Expected width="noise-aware" with arms'),
        ({"grid": 41}, "Expected an even grid"),
        ({"preparation": Preparation()}, "without a centre"),
        ({"arms": None, "preparation": "none"}, "Expected preparation with arms only"),
        ({"arms": None, "width": "noise-aware"}, "with arms only"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, message):
    with pytest.raises(BadInput, match=message):
        arms(**changes)


def test_the_batch_is_a_twelfth_of_the_horizon_unless_told():
    assert arms(batch=None, horizon=1000).batch_size == 83
    assert arms(batch=None, horizon=5).batch_size == 1
