"""What must hold of every policy, for the sake of the people it learns from."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import io
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit._kernel import implementation
from tacit.core.learner import Learner
from tacit.core.round import ROWS, learn_checked
from tacit.core.verbs import absorb, choose, encode, release
from tacit.errors import HorizonSpent, VaultSealed
from tacit.noise import DiscreteGaussian, refill, stream, tape, tape_of
from tacit.privacy.accountant import price, theorem_for
from tacit.privacy.event import EitherEvent, PersonEvent
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.promise import Promise
from tacit.privacy.scope import Trust
from tests.offers import ask, row_of, taken

from .conftest import EXACT, EXAMPLES, NOISY, PRIVATE, REPORTING, SILENT, name
from .runs import (
    axis,
    contents,
    first_release,
    in_units,
    learn,
    learn_that,
    opening,
    past_the_opening,
    play,
    public_centre,
    row_event,
    rows_to_tell,
    same,
    slates,
)


def test_a_guarantee_is_what_the_accountant_makes_of_the_event(private_config):
    plan = private_config.plan()
    assert plan.guarantee.theorem == theorem_for(plan.event)
    if plan.guarantee.theorem is None:
        assert plan.guarantee.mu == price(plan.event)


def test_accounted_cost_never_exceeds_the_promise(private_config):
    promise, guarantee = private_config.promise, private_config.guarantee
    if promise is None:  # randomised response, or nothing released: what is asked for is the guarantee itself
        asked = getattr(private_config, "epsilon", 0.0)
        assert guarantee.epsilon_at(1e-300) <= asked
        return
    if private_config.calibrated == "published":  # what a paper claims is not always so: the card says which it is
        kept = promise.kept(guarantee)
        assert private_config.card().keeps_its_claim == kept
        assert kept or "The claim is NOT kept" in private_config.card().text()
        return
    assert promise.kept(guarantee)
    if isinstance(promise, Promise):
        assert guarantee.epsilon_at(promise.delta) <= promise.epsilon
        assert guarantee.delta_at(promise.epsilon) <= promise.delta
    assert private_config.card().keeps_its_claim


def test_the_cost_law_rejects_a_twin_with_a_tenth_less_noise(exact_config):
    event, promise, one = exact_config.plan().event, exact_config.promise, exact_config.guarantee
    twin = Guarantee.priced(
        with_noise_times(event, 0.9), trust=one.trust, protects=one.protects, unit=one.unit, delta=one.delta
    )
    assert not promise.kept(twin)


def with_noise_times(event, factor: float):
    """The event with so many times the noise, also inside the event of a person."""
    if isinstance(event, PersonEvent):
        return dataclasses.replace(event, event=with_noise_times(event.event, factor))
    if isinstance(event, EitherEvent):
        return dataclasses.replace(event, events=tuple(with_noise_times(one, factor) for one in event.events))
    if hasattr(event, "trials"):  # of a binomial, whose standard deviation grows with their root
        return dataclasses.replace(event, trials=int(event.trials * factor**2))
    return dataclasses.replace(event, scale=event.scale * factor)


def test_a_plan_spends_almost_all_of_its_promise(exact_config):
    """Noise nobody asked for costs regret: with a ten-thousandth less of it (by whole numbers of ones a tenth) the
    promise is broken."""
    event, promise, one = exact_config.plan().event, exact_config.promise, exact_config.guarantee
    less = 0.9 if hasattr(event, "trials") else 1 - 1e-4
    twin = Guarantee.priced(
        with_noise_times(event, less), trust=one.trust, protects=one.protects, unit=one.unit, delta=one.delta
    )
    assert not promise.kept(twin)


def test_a_policy_says_of_itself_what_its_guarantee_says(config):
    """Who chooses a policy reads its class; who signs reads the guarantee."""
    assert config.trust is config.guarantee.trust
    assert config.protects is config.guarantee.protects


@pytest.mark.parametrize("config", [config for config in EXAMPLES if config not in PRIVATE], ids=repr)
def test_a_policy_without_privacy_says_so(config):
    assert "no privacy" in str(config.guarantee)
    assert "No privacy is promised" in config.card().text()


def test_every_verb_is_implemented_and_choose_is_not_given_the_vault(config):
    kind = type(config.plan().params)
    for verb in (choose, encode, absorb, release):
        assert implementation(verb, kind) is not None
    arguments = inspect.signature(implementation(choose, kind).py_func).parameters
    assert list(arguments) == ["params", "view", "slate", "noise"]


def test_choose_cannot_see_the_vault(config):
    """Scramble the vault: the same arms, as long as nothing is released."""
    learner, twin = config.start(seed=5), config.start(seed=5)
    for one in (learner, twin):
        play(one, 150, seed=5)
    rng = np.random.default_rng(1)
    for part in twin._session.vault:
        part[...] = rng.integers(-1000, 1000, part.shape)
    for actions in slates(50, 9, config.dim, seed=2):
        assert ask(learner, actions) == ask(twin, actions)


def test_choosing_changes_neither_vault_nor_view(config):
    learner = config.start(seed=3)
    play(learner, 120, seed=3)
    before = contents(learner)
    for actions in slates(20, 7, config.dim, seed=4):
        ask(learner, actions)
    assert same(before, contents(learner))


def test_a_learner_cannot_be_pickled_copied_or_printed_open(live_config):
    learner = live_config.start()
    secret = 0.123456789
    learn(learner, np.full(live_config.dim, secret), secret)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy, lambda it: pickle.Pickler(io.BytesIO()).dump(it)):
        with pytest.raises(VaultSealed, match="cannot be pickled or copied"):
            attempt(learner)
    shown = [repr(learner), str(learner), f"{learner}", str(learner.guarantee), learner.card().text()]
    shown.append(json.dumps(learner.card().to_dict()))
    assert not any("1234567" in text or "array" in text for text in shown)


def test_what_a_learner_shows_is_a_copy(config):
    learner = config.start(seed=1)
    play(learner, 60, seed=1)
    before = contents(learner)
    view = learner.view
    for part in view:
        with pytest.raises(ValueError, match="read-only"):
            part[...] = 0
    assert same(before, contents(learner))


def test_noise_comes_from_the_operating_system_unless_a_seed_is_given(live_private_config):
    """Two learners with the same rows and the same offers: what they released or what they chose tells them apart.

    Error level: the arms of 64 offers agree by chance less than once in 10³⁰ where nothing else differs.
    """
    shown = []
    for _ in range(2):
        learner = live_private_config.start()
        for row in range(rows_to_tell(live_private_config) if live_private_config not in SILENT else 1):
            learn(learner, axis(live_private_config, row), 0.0)
        arms = [ask(learner, actions) for actions in slates(64, 9, live_private_config.dim, seed=8)]
        shown.append([*learner.view, np.array(arms)])
    assert not same(*shown)
    assert not live_private_config.start().guarantee.seeded
    seeded = live_private_config.start(seed=7)
    assert seeded.guarantee.seeded
    for text in (str(seeded.guarantee), seeded.card().text()):
        assert "seeded: no privacy against anyone who knows the seed" in text


def test_every_noisy_view_of_two_learners_differs(live_private_config):
    if live_private_config in SILENT:  # its view is the first one for good
        assert same([*live_private_config.start().view], [*live_private_config.start().view])
        return
    views = []
    for _ in range(2):
        learner = live_private_config.start()
        for row in range(rows_to_tell(live_private_config)):
            learn(learner, axis(live_private_config, row), 0.1)
        assert learner.view.stage[0] >= 1
        views.append(learner.view)
    assert not same([*views[0]], [*views[1]])
    if live_private_config in NOISY or live_private_config in REPORTING:  # nothing about a row is public
        for name in {"theta", "factor", "whiten", "spread"} & set(views[0]._fields):
            assert not np.array_equal(getattr(views[0], name), getattr(views[1], name))


def test_noise_is_drawn_where_the_trust_model_says_and_never_otherwise(private_config):
    """Under joint trust nobody noises a row, and a release draws only for a view that it counts. Under local trust the
    row is noised and nothing else. Either way no more is drawn than was laid out.

    Gaussian noise takes exactly that. Wishart noise draws again what it rejected, and the first time pads as well.
    """
    plan = private_config.plan()
    draws, trust = plan.draws, private_config.trust
    rows = 400 if private_config in SILENT else max(400, first_release(private_config))
    assert plan.limit is None or rows <= plan.limit
    room = rows * draws.learn_normals, rows * draws.learn_uniforms
    noise = tape(*room)
    refill(noise, *room, DiscreteGaussian(2.0**30))
    noise.normals[:] /= 2.0**30  # the plan is that of a simulation, in doubles
    vault, view, report = plan.vault(), plan.view(), np.zeros(plan.report_size)
    for row in range(rows):
        stage = view.stage[0]
        x = row_of(private_config, view, axis(private_config, row))
        in_encode = drawn_by_encode(plan, view, x, report, noise)
        start = noise.at.copy()
        learn_checked(plan.params, vault, view, x, 0.0, report, noise)
        in_release = noise.at - start - in_encode  # `absorb` is not given the noise
        if private_config not in REPORTING:
            assert not in_encode.any()
        if trust is Trust.LOCAL or view.stage[0] == stage:
            assert not in_release.any()
        normals, uniforms = in_encode + in_release
        assert normals <= draws.learn_normals
        assert uniforms <= draws.learn_uniforms
        if view.stage[0] > stage and draws.learn_uniforms == 0:
            centred = 0 if public_centre(private_config) else private_config.dim
            assert normals == (centred if row + 1 == opening(private_config) else draws.learn_normals)
    assert (view.stage[0] > 0) == (private_config not in SILENT)
    assert np.isnan(noise.normals[: noise.at[0]]).all(), "noise that was used must not be readable again"
    assert np.isnan(noise.uniforms[: noise.at[1]]).all(), "noise that was used must not be readable again"


def drawn_by_encode(plan, view, x, report, noise) -> np.ndarray:
    """What `encode` takes off a tape like this one: of what the plan lays out for a row, copied, and nothing more."""
    draws = plan.draws
    room = draws.learn_normals, draws.learn_uniforms
    parts = [
        part[at : at + size] for part, at, size in zip((noise.normals, noise.uniforms), noise.at, room, strict=True)
    ]
    spare = tape_of(*(part.copy() for part in parts))
    encode(plan.params, view, x, 0.0, report, spare)
    return spare.at.copy()


def test_what_is_laid_out_on_a_tape_is_enough(live_config):
    """Noise from the operating system never runs out in the middle of a round."""
    arms, _ = play(live_config.start(), 200, seed=6)
    assert len(arms) == 200


def test_a_view_changes_only_when_a_release_is_counted(config):
    learner = config.start(seed=9)
    before = learner.view
    for actions in slates(250, 5, config.dim, seed=9):
        learn_that(learner, taken(learner, actions, ask(learner, actions)), 0.5)
        after = learner.view
        assert after.stage[0] - before.stage[0] in (0, 1)
        assert same([*before], [*after]) == (after.stage[0] == before.stage[0])
        before = after


def test_a_policy_that_releases_nothing_of_its_rows_behaves_as_if_there_were_none(silent_config):
    """Whatever is learned: the same reports, the same vault, the first view for ever, and the same choices."""
    plan = silent_config.plan()
    learners = [silent_config.start(seed=4) for _ in range(2)]
    reports = [np.zeros(plan.report_size) for _ in learners]
    rng = np.random.default_rng(4)
    for actions in slates(100, 6, silent_config.dim, seed=4):
        assert learners[0].choose(actions) == learners[1].choose(actions)
        for learner, report in zip(learners, reports, strict=True):
            x, reward = rng.standard_normal(silent_config.dim), float(rng.standard_normal())
            learn(learner, x, reward)
            encode(plan.params, plan.view(), x, reward, report, stream(1))
        assert reports[0].tobytes() == reports[1].tobytes()
    assert same(contents(learners[0]), contents(learners[1]))
    assert same([*learners[0].view], [*plan.view()])


#: The law can tell in one example of a policy; whether it can in the others is a question for the long suite.
SLUGS = [one.slug for one in EXACT]
TOLD = [
    pytest.param(one, id=name(one), marks=pytest.mark.long if one.slug in SLUGS[:place] else ())
    for place, one in enumerate(EXACT)
]


@pytest.mark.parametrize("config", TOLD)
def test_the_law_of_silence_rejects_a_policy_that_learns(config):
    """Broken twin of the law above: told different things, with the same noise, two learners show different views."""
    learners = [config.start(seed=4) for _ in range(2)]
    for reward, learner in enumerate(learners):
        for row in range(rows_to_tell(config)):
            learn(learner, axis(config, row), float(reward))
    assert not same([*learners[0].view], [*learners[1].view])


def test_a_horizon_is_never_overrun(noisy_config):
    """The last row is absorbed but not released where every row has its own release; then everything is refused."""
    limit = 300
    config = type(noisy_config).from_dict({**noisy_config.to_dict(), "horizon": limit})
    learner = config.start(seed=2)
    play(learner, limit, seed=2)
    before = contents(learner)
    with pytest.raises(HorizonSpent, match="300 rounds are served"):
        ask(learner, np.eye(config.dim))
    with pytest.raises(HorizonSpent, match="300 rows are learned"):
        learn(learner, np.zeros(config.dim), 0.0)
    assert same(before, contents(learner))
    params = config.plan().params
    timed = hasattr(params.schedule, "times")
    most = (opening(config) > 0) + len(params.schedule.times) if timed else limit - 1
    assert 0 < learner.view.stage[0] <= most
    if not timed:
        assert learner.view.stage[0] == most, "every row but the last has its release"


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_whatever_comes_in_one_row_weighs_at_most_its_declared_sensitivity(data):
    """Replace one row by any other, however large: in units of the symmetric noise the sums move by ≤ the event's."""
    config = data.draw(st.sampled_from(NOISY))
    numbers = st.floats(min_value=-1e100, max_value=1e100)
    plan = config.plan()
    size = len(config.empty_row)
    sums = []
    for _ in range(2):
        x = np.array(data.draw(st.lists(numbers, min_size=size, max_size=size)))
        x[config.dim :] = data.draw(st.sampled_from([-1.0, 0.0, 1.0, 0.5]))
        sums.append(summed_once(plan, x, data.draw(numbers)))
    assert np.linalg.norm(in_units(config, sums[0] - sums[1])) <= row_event(config).sensitivity * (1 + 1e-9)


def summed_once(plan, x, reward) -> np.ndarray:
    """The sums of one row, and of nothing else."""
    (vault, view), report = past_the_opening(plan), np.zeros(plan.report_size)
    encode(plan.params, view, x, reward, report, stream(1))
    absorb(plan.params, vault, report)
    return vault.sums.copy()


def test_the_sensitivity_is_attained(noisy_config):
    """Rows at full length and at the worst angle, of one arm, with opposite rewards: the bound is not slack. A constant
    coordinate that is added brings them closer; they start as far apart as makes up for it."""
    plan = noisy_config.plan()
    bounds = plan.params.row
    unit = np.eye(noisy_config.dim) * bounds.action_norm
    reach = bounds.reward_high - bounds.reward_middle
    cosine = min(1.0, (bounds.reward_scale * reach / bounds.action_norm) ** 2)
    constant = plan.params.preparation.constant / bounds.action_norm if noisy_config.arms_of_context else 0.0
    cosine = (cosine - constant**2) / (1 - constant**2)
    other = cosine * unit[0] + np.sqrt(1 - cosine**2) * unit[1]
    rows = ((unit[0], bounds.reward_high), (other, bounds.reward_low))
    sums = [summed_once(plan, row_of(noisy_config, None, x), reward) for x, reward in rows]
    moved = np.linalg.norm(in_units(noisy_config, sums[0] - sums[1]))
    assert moved == pytest.approx(row_event(noisy_config).sensitivity, rel=1e-9)


def test_rows_of_different_arms_move_the_sums_by_less_than_is_priced(noisy_config):
    """Whatever they are: two full rows have squared distance 2L⁴ + 2(ζBL)², and the event at least that; features that
    both have bring opposite rewards further apart, and no further than is priced."""
    if noisy_config.arms_of_context is None:
        return
    plan = noisy_config.plan()
    bounds, unit = plan.params.row, np.eye(noisy_config.dim) * plan.params.row.action_norm
    rows = ((np.append(unit[0], 0), bounds.reward_high), (np.append(unit[0], 1), bounds.reward_low))
    sums = [summed_once(plan, row_of(noisy_config, None, x), reward) for x, reward in rows]
    moved = np.linalg.norm(in_units(noisy_config, sums[0] - sums[1]))
    reward = bounds.reward_scale * (bounds.reward_high - bounds.reward_middle)
    together = (plan.params.preparation.shared * bounds.action_norm) ** 2  # <u, u'>
    expected = np.sqrt(
        bounds.action_norm**4 + 2 * (reward * bounds.action_norm) ** 2 - together**2 + 2 * reward**2 * together
    )
    assert moved == pytest.approx(expected, rel=1e-9)
    assert moved <= row_event(noisy_config).sensitivity


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_whatever_comes_in_the_opening_moves_its_sum_by_what_is_priced_and_no_other(data):
    """A row of the first n₀ is in the sum that the centre comes from, as long as it may be, and nowhere else."""
    config = data.draw(st.sampled_from([config for config in NOISY if opening(config)]))
    numbers = st.floats(min_value=-1e100, max_value=1e100)
    plan = config.plan()
    found = []
    for _ in range(2):
        x = np.append(data.draw(st.lists(numbers, min_size=config.dim, max_size=config.dim)), 0.0)
        vault, view, report = plan.vault(), plan.view(), np.zeros(plan.report_size)
        encode(plan.params, view, x, data.draw(numbers), report, stream(1))
        absorb(plan.params, vault, report)
        assert not vault.sums.any()
        found.append(vault.contexts.copy())
    event = plan.event.event if isinstance(plan.event, PersonEvent) else plan.event
    assert np.linalg.norm(found[0] - found[1]) <= event.events[0].sensitivity * (1 + 1e-9)


def test_the_sensitivity_of_the_opening_is_attained():
    for config in [config for config in NOISY if opening(config)]:
        plan, sums = config.plan(), []
        for sign in (1.0, -1.0):
            vault, report = plan.vault(), np.zeros(plan.report_size)
            x = np.append(sign * config.action_norm * np.eye(config.dim)[0], 0.0)
            encode(plan.params, plan.view(), x, 0.0, report, stream(1))
            absorb(plan.params, vault, report)
            sums.append(vault.contexts.copy())
        event = plan.event.event if isinstance(plan.event, PersonEvent) else plan.event
        assert np.linalg.norm(sums[0] - sums[1]) == pytest.approx(event.events[0].sensitivity, rel=1e-12)


def test_rows_are_counted_by_learn_alone(config):
    learner = config.start(seed=1)
    for actions in slates(5, 3, config.dim, seed=1):
        ask(learner, actions)
    assert learner._session.vault.counters[ROWS] == 0
    learn(learner, np.zeros(config.dim), 0.0)
    assert learner.diagnostics().rows == 1


def test_diagnostics_are_marked_as_vault():
    assert "VAULT" in Learner.diagnostics.__doc__ or "vault" in Learner.diagnostics.__doc__
    from tacit.core.learner import Diagnostics

    assert Diagnostics.__doc__.startswith("VAULT")
