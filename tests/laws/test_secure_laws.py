"""What must hold of every curator whose sums are on a lattice, with discrete Gaussians; of the others what can.

Numbers from the operating system cannot be fixed by a seed: each check of a law rejects a right one once in 10⁹.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
from functools import cache

import numpy as np
import pytest

from tacit._kernel import entry, implementation
from tacit.core.plan import Plan
from tacit.core.policy import Policy
from tacit.core.round import REFUSED, learn_checked
from tacit.core.verbs import absorb, choose, encode, release
from tacit.counters.discounted import LatticeDiscounted
from tacit.counters.window import LatticeRing
from tacit.errors import NoSecureSampler
from tacit.mechanisms.binary import closed_level
from tacit.noise import Binomial, DiscreteGaussian, DiscreteLaplace, tape_of
from tacit.privacy.accountant import SMOOTHING, price
from tacit.privacy.card import Card
from tacit.privacy.event import BinomialSumEvent, EitherEvent, Event, LaplaceEvent, LatticeEvent, PersonEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust
from tests.offers import ask, row_of
from tests.statistics import checks
from tests.statistics.checks import UNSEEDED_LEVEL

from .conftest import EXAMPLES, name
from .runs import axis, of_sums, opening, play, public_centre, same, slates


@cache
def plan_for(config: Policy) -> Plan | None:
    """Worked out once: a plan is pure."""
    try:
        return config.planned("secure")
    except NoSecureSampler:
        return None


def secure(config: Policy) -> bool:
    return plan_for(config) is not None


def curated(config: Policy) -> bool:
    """Whether a curator adds Gaussian noise, the least that keeps the promise, to sums on a lattice."""
    plan = plan_for(config)
    exact = plan is not None and isinstance(plan.law, DiscreteGaussian) and config.calibrated == "exact"
    return exact and config.trust in (Trust.JOINT, Trust.CENTRAL)


SECURE = [config for config in EXAMPLES if curated(config)]
#: One of each kind of params, with and without a centre, for all of a row and for rewards alone: what is compiled takes
#: longer than what is tested.
KINDS = list(
    {
        (type(plan_for(config).params), opening(config) > 0, config.protects): config for config in reversed(SECURE)
    }.values()
)


@pytest.fixture(params=SECURE, ids=name)
def secure_config(request: pytest.FixtureRequest) -> Policy:
    return request.param


@pytest.fixture(params=KINDS, ids=name)
def kind(request: pytest.FixtureRequest) -> Policy:
    return request.param


# What is promised ------------------------------------------------------------------------------------------------


def test_everything_but_wishart_masks_and_noise_that_nothing_covers_is_drawn_exactly(config):
    noise = " ".join(config.card().what)
    assert secure(config) == ("Wishart" not in noise and "no theorem covers" not in noise)


def test_what_is_released_in_whole_numbers_is_priced_so(config):
    """With noise that is drawn exactly the event says so, and the law on the tape has the scale of the event."""
    plan = plan_for(config)
    if plan is None or plan.law is None:
        return
    event = of_sums(plan.event)
    if isinstance(event, LatticeEvent):
        assert plan.law.scale == pytest.approx(event.steps, rel=1e-12)
        assert isinstance(plan.law, DiscreteLaplace) == isinstance(event.event, LaplaceEvent)
    else:
        assert isinstance(event, BinomialSumEvent)
        assert plan.law == Binomial(plan.device_law.trials * config.batch_size, event.chance)
        assert plan.device_law.trials * config.honest_people == event.trials


def test_whatever_is_rounded_is_paid_for(config):
    """Half a step for a sum when it is released, or two halves in the weight of a row that is rounded by itself; only a
    reward that is rounded within its interval costs nothing."""
    plan = plan_for(config)
    event = None if plan is None else of_sums(plan.event)
    if not isinstance(event, LatticeEvent):
        return
    plain = of_sums(config.plan().event)
    more = event.event.sensitivity - plain.sensitivity
    if config.slug == "linpriv":
        far = event.coordinates if isinstance(event.event, LaplaceEvent) else np.sqrt(event.coordinates)
        assert more >= far * event.step
    elif hasattr(plan.vault(), "sizes"):  # episodes, of rewards that are rounded as they come
        assert (more, event.rounding) == (0.0, 0.0)
    else:
        assert more == 0.0
        assert event.rounding > 0.5


def test_what_has_no_secure_sampler_says_which_noise_it_has(config):
    if secure(config):
        return
    with pytest.raises(NoSecureSampler, match=r"Expected .* got ") as refused:
        config.start()
    said = str(refused.value)
    assert config.slug in said
    assert config.card().what[0] in said
    assert "WARNING, simulation only" in config.card().text() or not config.guarantee.private


def test_accounted_cost_never_exceeds_the_promise(secure_config):
    plan, promise = plan_for(secure_config), secure_config.promise
    assert isinstance(of_sums(plan.event), LatticeEvent)
    assert plan.guarantee.mu == price(plan.event)
    assert promise.kept(plan.guarantee)
    card = secure_config.card()
    assert card.keeps_its_claim
    assert card.guarantee == plan.guarantee


def test_the_tape_has_the_scale_of_the_event(secure_config):
    plan = plan_for(secure_config)
    event = of_sums(plan.event)
    assert plan.law.scale == pytest.approx(event.steps, rel=1e-12)
    assert plan.noise_scale == event.event.scale
    assert secure_config.plan().law is None


@pytest.mark.parametrize("less", [0.9, 1 - 1e-4])
def test_less_noise_breaks_the_promise(secure_config, less):
    """Twins: a tenth less is found out, and a ten-thousandth: nothing is wasted."""
    plan = plan_for(secure_config)
    event, one = of_sums(plan.event), plan.guarantee
    twin = dataclasses.replace(event, event=dataclasses.replace(event.event, scale=event.event.scale * less))
    priced = Guarantee.priced(
        with_sums(plan.event, twin), trust=one.trust, protects=one.protects, unit=one.unit, delta=one.delta
    )
    assert not secure_config.promise.kept(priced)


def with_sums(event: Event, sums: Event) -> Event:
    """The same release, but for what is released of the sums."""
    if isinstance(event, PersonEvent):
        return dataclasses.replace(event, event=with_sums(event.event, sums))
    if isinstance(event, EitherEvent):
        return dataclasses.replace(event, events=(event.events[0], sums))
    return sums


def test_rounding_costs_less_than_a_thousandth(secure_config):
    more = plan_for(secure_config).noise_scale / secure_config.plan().noise_scale - 1
    assert -1e-12 <= more < 1e-3


def test_the_card_says_how_noise_is_drawn_and_can_be_read_back(secure_config):
    card = secure_config.card()
    text = " ".join(card.text().split())
    assert "Noise is drawn exactly, in whole numbers" in text
    assert "SIMULATION ONLY" not in text
    assert "SIMULATION ONLY" in " ".join(secure_config.card(sampler="double").text().split())
    again = Card.from_dict(json.loads(json.dumps(card.to_dict())))
    assert again.floating_point == card.floating_point
    assert json.dumps(again.to_dict()) == json.dumps(card.to_dict())


def test_planning_twice_gives_the_same_plan(secure_config):
    first, second = plan_for(secure_config), secure_config.plan("secure")
    assert first.event == second.event
    assert repr(first.params) == repr(second.params)
    assert first.limit is not None


# What is computed ------------------------------------------------------------------------------------------------


def test_every_verb_is_implemented_and_choose_is_not_given_the_vault(secure_config):
    params = type(plan_for(secure_config).params)
    for verb in (choose, encode, absorb, release):
        assert implementation(verb, params) is not None
    assert list(inspect.signature(implementation(choose, params).py_func).parameters)[:2] == ["params", "view"]


class Run:
    """A secure plan fed row by row, with the numbers of `normals` as its noise."""

    def __init__(self, config: Policy, normals: np.ndarray) -> None:
        self.config, self.plan = config, plan_for(config)
        plan = self.plan
        self.vault, self.view, self.report = plan.vault(), plan.view(), np.zeros(plan.report_size)
        self.noise = tape_of(normals, np.full(64, 0.5))
        self.released: list[np.ndarray] = []
        x = row_of(config, self.view, axis(config, 0))
        self.machine = entry(learn_checked, plan.params, self.vault, self.view, x, 0.0, self.report, self.noise)

    def feed(self, x: np.ndarray, reward: float) -> None:
        stage = self.view.stage[0]
        before = self.vault.counters.copy()
        arguments = (self.plan.params, self.vault, self.view, x, reward, self.report, self.noise)
        assert self.machine(*arguments) != REFUSED
        assert self.vault.counters[0] == before[0] + 1
        if self.view.stage[0] > stage and not (stage == 0 and public_centre(self.config)):
            self.released.append(self._numbers(x))

    def _numbers(self, x: np.ndarray) -> np.ndarray:
        """The whole numbers of the last release, noise included."""
        params, vault, stage = self.plan.params, self.vault, int(self.view.stage[0])
        if opening(self.config):
            stage -= 1
            if stage == 0:
                steps = self.view.centre * (params.centre.rounds / params.centre.step)
                whole = np.rint(steps)
                return np.where(np.abs(steps - whole) <= 2.0**-48 * np.abs(whole), whole, steps)
        if hasattr(vault, "published"):
            return vault.memory[stage - 1].copy()
        if hasattr(vault, "plays"):
            arm = int(vault.last[0])
            return vault.sums[arm] + vault.memory[arm, closed_level(int(vault.plays[arm]))]
        if hasattr(vault, "sizes"):
            arm = int(np.argmax((np.asarray(params.actions) == x).all(axis=1)))
            above = self.view.totals[arm] - params.reward_low * self.view.sizes[arm]
            steps = above / params.step
            assert abs(steps - np.rint(steps)) < 1e-3
            return np.rint(np.array([steps]))
        if isinstance(params.counter, LatticeRing):
            return vault.memory[(stage - 1) % (len(vault.memory) - 1)].copy()
        numbers = vault.memory[2 if isinstance(params.counter, LatticeDiscounted) else -2]
        if getattr(params.counter, "vectors_only", False):  # of each block the matrix is public
            return numbers.reshape(self.config.blocks, -1)[:, -self.config.block :].ravel()
        return numbers.copy()


def fed(config: Policy, normals: np.ndarray, rows: int, first=None, place: int = 0) -> Run:
    """Rows that are all told, but for the one at this place."""
    run = Run(config, normals)
    for number in range(rows):
        x = row_of(config, run.view, axis(config, number))
        if number == place and first is not None:
            x, reward = (x if config.fixed_actions is not None else row_of(config, run.view, first[0])), first[1]
        else:
            reward = 0.3  # no whole number of steps
        run.feed(x, reward)
    return run


@cache
def rows_for(config: Policy, releases: int) -> int:
    """Rows until so many releases, with all noise zero."""
    run = Run(config, np.zeros(10**6))
    for number in range(20_000):
        run.feed(row_of(config, run.view, axis(config, number)), 0.25)
        if len(run.released) >= releases:
            return number + 1
    raise AssertionError(f"{config!r} has made {len(run.released)} releases in 20,000 rows")


#: Releases of these are wiped by the next phase: nothing is left to be looked at.
LASTING = [config for config in KINDS if config.slug != "renyi-gope"]


@pytest.mark.parametrize("config", LASTING, ids=name)
def test_everything_released_is_a_whole_number_with_its_noise_added_once(config):
    rows = rows_for(config, 3)
    numbers = plan_for(config).draws.learn_normals
    # Multiples of more than any sum: what is left over of a release is its exact sum, rounded.
    noise = np.random.default_rng(1).integers(-100, 100, 4000) * 2.0**40
    quiet = fed(config, np.zeros(4000), rows)
    noised = fed(config, noise.copy(), rows)
    first = noised.released[0]
    assert (first == np.rint(first)).all()
    assert np.array_equal(first - quiet.released[0], noise[: len(first)])
    used = noised.noise.at[0]
    in_centre = config.dim if opening(config) and not public_centre(config) else numbers
    assert used == in_centre + numbers * (len(noised.released) - 1)
    assert np.isnan(noised.noise.normals[:used]).all()


@pytest.mark.parametrize("config", LASTING, ids=name)
def test_the_test_of_wholeness_notices_noise_in_double_precision(config):
    rows = rows_for(config, 1)
    normals = np.random.default_rng(1).normal(size=4000)
    if config.fixed_actions is not None:
        with pytest.raises(AssertionError):
            fed(config, normals, rows)
        return
    first = fed(config, normals, rows).released[0]
    assert (first != np.rint(first)).any()


@pytest.mark.parametrize("config", LASTING, ids=name)
def test_a_replaced_row_moves_all_releases_by_no_more_than_is_priced(config):
    """Rows of any size, first of all rows that are in sums, all others equal: ‖q − q'‖ over everything released,
    rounding included."""
    rows = rows_for(config, 4)
    event = of_sums(plan_for(config).event)
    most = price(event) * np.sqrt(event.steps**2 - SMOOTHING**2)
    unit, rng = np.eye(config.dim), np.random.default_rng(7)
    first = [(unit[0], 1e6), (unit[1], -1e6), (1e30 * unit[0], -1.0), (np.zeros(config.dim), 0.0)]
    first += [(rng.normal(size=config.dim) * 10.0 ** rng.uniform(-3, 3), rng.normal()) for _ in range(12)]
    if config.protects is Protects.REWARDS:
        first = [(unit[0], reward) for _, reward in first]  # actions are public: only rewards are replaced
    elif config.arms_of_context is not None:
        first += [(np.append(unit[2], arm), reward) for arm, reward in ((1, 1e6), (1, -1e6), (2, 0.0), (-1, 1.0))]
    runs = [np.concatenate(fed(config, np.zeros(10**5), rows, one, opening(config)).released) for one in first]
    lengths = [np.linalg.norm(one - two) for one in runs for two in runs]
    assert max(lengths) <= most * (1 + 1e-6)
    assert max(lengths) >= 0.2 * most, "and the rows that are compared are not all alike"


@pytest.mark.parametrize(
    "config", [config for config in SECURE if opening(config) and not public_centre(config)], ids=name
)
def test_a_replaced_row_of_the_opening_moves_the_centre_by_no_more_than_is_priced(config):
    """And nothing else: what comes later is of other rows, and of a centre that is public by then."""
    event = plan_for(config).event
    event = (event.event if isinstance(event, PersonEvent) else event).events[0]
    most = price(event) * np.sqrt(event.steps**2 - SMOOTHING**2)
    unit, rng = config.action_norm * np.eye(config.dim), np.random.default_rng(7)
    first = [(unit[0], 1e6), (-1e30 * unit[0], -1e6), (unit[1], 0.0), (np.append(unit[0], -1), 0.0)]
    first += [(rng.normal(size=config.dim) * 10.0 ** rng.uniform(-3, 3), rng.normal()) for _ in range(6)]
    for place in (0, opening(config) - 1):
        runs = [fed(config, np.zeros(10**5), opening(config), one, place) for one in first]
        assert all(len(run.released) == 1 for run in runs)
        assert not any(run.vault.sums.any() or run.vault.memory.any() or run.vault.contexts.any() for run in runs)
        lengths = [np.linalg.norm(one.released[0] - two.released[0]) for one in runs for two in runs]
        assert 0.9 * most <= max(lengths) <= most * (1 + 1e-6)


@pytest.mark.parametrize(
    "config",
    [config for config in SECURE if getattr(config, "person_rounds", None) and config.slug != "renyi-gope"],
    ids=name,
)
def test_all_rows_of_a_person_move_all_releases_by_no_more_than_is_priced(config):
    """The first k rows replaced at once, where they weigh most."""
    event, rounds = plan_for(config).event, config.person_rounds
    rows = rows_for(config, 4)
    most = price(event) * np.sqrt(of_sums(event).steps ** 2 - SMOOTHING**2)
    released, apart = [], getattr(config, "one_row_per_segment", False)
    for reward in (1e6, -1e6):
        run, taken = Run(config, np.zeros(10**5)), []
        for number in range(rows):
            stage = int(run.view.stage[0])
            theirs = number >= opening(config) and len(taken) < rounds and not (apart and stage in taken)
            if theirs:
                taken.append(stage)
            x = row_of(config, run.view, axis(config, 0 if theirs else number))
            run.feed(x, reward if theirs else 0.25)
        released.append(np.concatenate(run.released))
    assert 0.2 * most <= np.linalg.norm(released[0] - released[1]) <= most * (1 + 1e-6)


def test_choose_cannot_see_the_vault(kind):
    """Scramble the vault: the same arms from the same numbers, as long as nothing is released."""
    learner, twin = kind.start(), kind.start()
    play(learner, 60, seed=5)
    rng = np.random.default_rng(1)
    learner._session.noise.normals[:] = rng.integers(-(2**20), 2**20, len(learner._session.noise.normals))
    learner._session.noise.uniforms[:] = rng.random(len(learner._session.noise.uniforms))
    learner._session.noise.at[:] = 0
    for ours, theirs in ((learner._session.view, twin._session.view), (learner._session.noise, twin._session.noise)):
        for one, two in zip(ours, theirs, strict=True):
            two[...] = one
    for part in twin._session.vault:
        part[...] = rng.integers(-1000, 1000, part.shape)
    for actions in slates(20, 9, kind.dim, seed=2):
        assert ask(learner, actions) == ask(twin, actions)


def test_a_live_learner_draws_what_its_plan_says_and_no_two_views_are_alike(kind):
    rows = min(rows_for(kind, 1), 400) + 1
    shown = []
    for _ in range(2):
        learner = kind.start()
        play(learner, 3, seed=1)
        assert not learner.guarantee.seeded
        assert learner.guarantee == plan_for(kind).guarantee
        for number in range(rows):
            x = row_of(kind, learner._session.view, axis(kind, number))
            learner._learn(np.ascontiguousarray(x), 0.25, None)
        shown.append([*learner.view])
        laid = learner._session.noise.normals
        ready = laid[~np.isnan(laid)]
        assert (ready == np.rint(ready)).all()
    assert shown[0][-1].size == 0 or not same(*shown)


#: A release after every row, from a node or from correlated noise: many numbers from few rows.
EVERY_ROW = [
    config
    for config in SECURE
    if getattr(config, "releases", "") in ("tree", "toeplitz") and config.explores == "optimism"
]


@pytest.mark.parametrize("config", EVERY_ROW, ids=name)
@pytest.mark.parametrize(("factor", "right"), [(1.0, True), (0.9, False)])
def test_released_noise_has_the_discrete_law_of_the_plan(config, factor, right):
    """Whole numbers of the calibrated scale, and a tenth less is rejected: 8,000 of them, at 10⁻⁹."""
    plan = plan_for(config)
    rows = -(-8000 // plan.draws.learn_normals)
    quiet = fed(config, np.zeros(10**4), rows).released
    noised = fed(config, plan.law.scaled(factor).draw(10**4), rows).released
    sample = np.concatenate(noised) - np.concatenate(quiet)
    assert (sample == np.rint(sample)).all()
    scaled = sample / plan.law.scale
    fits = min(checks.law(scaled, checks.normal), checks.scale(scaled, 1.0))
    assert (fits > UNSEEDED_LEVEL) == right
