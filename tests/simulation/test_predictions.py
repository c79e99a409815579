"""Simulated learners of functions: what is learned, how predictions are judged, tables, interruption, refusals."""

from __future__ import annotations

import _thread
import json
import threading
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.core.functions import FunctionLearner, FunctionPlan, FunctionPolicy, PrivateFunction
from tacit.environments import RKHS, Sphere
from tacit.environments.functions import ACTIONS, CONTEXTS, LUCK, QUERIES, drawn
from tacit.errors import BadInput, HorizonSpent, Interrupted, VaultSealed
from tacit.mechanisms.exponential import probabilities
from tacit.policies.usca import USCA
from tacit.privacy.event import NothingReleased
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.scope import Protects, Trust
from tacit.simulation import engine, predictions, simulate, simulate_predictions
from tacit.simulation.opened import drawing_law, estimates
from tests.statistics import checks
from tests.statistics.checks import LEVEL

CONFIG = USCA(epsilon=1.0, delta=1e-6, features=49)
WORLD = RKHS(actions=21, queries=5)


class Seen(FunctionLearner):
    """Keeps what it is told, and predicts that larger actions are better."""

    def __init__(self, config):
        super().__init__()
        self.config, self.blocks = config, []
        config.learners.append(self)

    def choose(self, context=None):
        return np.array([0.5])

    def learn(self, action, reward, context=None):
        self.blocks.append((np.array([action]), np.array([reward]), None if context is None else np.array([context])))

    def learn_many(self, actions, rewards, contexts=None):
        self.blocks.append((actions, rewards, contexts))

    def release_function(self, epsilon=None, delta=None):
        return Larger()

    @property
    def records(self):
        return [None if part[0] is None else np.concatenate(part) for part in zip(*self.blocks, strict=True)]


class Larger(PrivateFunction):
    guarantee = Guarantee.none()

    def predict(self, context, actions):
        return np.asarray(actions)[:, 0]

    def save(self, path):
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Watcher(FunctionPolicy):
    """A policy without privacy that is told nothing by the environment."""

    slug: ClassVar[str] = "watcher"
    summary: ClassVar[str] = "keeps what it is told"
    trust: ClassVar[Trust] = Trust.NONE
    protects: ClassVar[Protects] = Protects.NOTHING
    needs: ClassVar[str] = "nothing"
    learners: ClassVar[list[Seen]] = []
    adaptive: bool = False

    @classmethod
    def examples(cls):
        return (cls(),)

    def plan(self, sampler="double"):
        return FunctionPlan(NothingReleased(), Guarantee.none())

    def start(self, *, seed=None):
        return Seen(self)


def watched(rounds, trials=1, seed=0, world=WORLD, **options):
    """The learners of each trial, in order."""
    Watcher.learners.clear()
    simulate_predictions(Watcher(**options), world, rounds, trials, seed, threads=1)
    return Watcher.learners[1:]  # the first one took part in the rehearsal


# What is learned ------------------------------------------------------------------------------------


def test_the_first_trial_is_what_a_learner_does_by_hand():
    result = simulate_predictions(CONFIG, WORLD, 700, trials=2, seed=5)
    world = WORLD.start(5, 0)
    contexts = WORLD.sample_contexts(drawn(5, 0, CONTEXTS), 700)
    actions = WORLD.action_box.uniform(drawn(5, 0, ACTIONS), 700)
    learner = CONFIG.in_world(**WORLD.public(), horizon=700).start(seed=5)
    learner.learn_many(actions, world.pay(actions, contexts, drawn(5, 0, LUCK)), contexts)
    function = learner.release_function()
    losses = []
    for context in WORLD.ask(drawn(5, 0, QUERIES)):
        values = world.values(WORLD.candidates, np.tile(context, (21, 1)))
        losses.append(values.max() - values[function.best(context, WORLD.candidates)])
    assert result.errors[0] == pytest.approx(np.mean(losses), rel=1e-12)


def test_a_trial_does_not_depend_on_what_is_run_beside_it():
    ways = ("function", "once", "mean")
    alone = simulate_predictions(CONFIG, WORLD, 300, trials=2, seed=5, ways=ways, threads=1)
    among = simulate_predictions(CONFIG, WORLD, 300, trials=5, seed=5, ways=ways, threads=2)
    np.testing.assert_array_equal(alone.by_way, among.by_way[:2])
    np.testing.assert_array_equal(alone.random_errors, among.random_errors[:2])
    assert len(set(among.errors)) == 5
    other = simulate_predictions(CONFIG, WORLD, 300, trials=2, seed=6)
    assert set(other.errors).isdisjoint(alone.errors)


def test_learners_have_noise_of_their_own_in_every_trial():
    seeds = [predictions.noise_seed(5, trial) for trial in range(50)]
    assert seeds[0] == 5
    assert len(set(seeds)) == 50
    assert not set(seeds[1:]) & {predictions.noise_seed(6, trial) for trial in range(50)}


def test_blocks_are_one_stream_and_a_shorter_run_is_the_beginning_of_a_longer_one():
    [[long], [short]] = watched(20_000, seed=3), watched(9000, seed=3)
    assert [len(block[1]) for block in long.blocks] == [8192, 8192, 3616]
    for one, other in zip(long.records, short.records, strict=True):
        np.testing.assert_array_equal(one[:9000], other)


def test_a_policy_that_chooses_for_itself_meets_the_same_contexts_and_the_same_luck():
    [[even], [own]] = watched(500, seed=3), watched(500, seed=3, adaptive=True)
    world = WORLD.start(3, 0)
    np.testing.assert_array_equal(even.records[2], own.records[2])
    assert (own.records[0] == 0.5).all()
    lucks = [rewards - world.values(actions, contexts) for actions, rewards, contexts in (even.records, own.records)]
    np.testing.assert_allclose(*lucks, rtol=0, atol=1e-14)


def test_exploration_is_even():
    """At level 1e-6; a law a little off is rejected."""
    [learner] = watched(20_000, seed=4, world=RKHS(action_dim=2))
    for column in learner.records[0].T:
        assert checks.law(column, checks.uniform) > LEVEL
        assert checks.law(column**1.1, checks.uniform) < LEVEL


def test_a_world_without_contexts_has_one_query():
    world = RKHS(context_dim=0, actions=21)
    [learner] = watched(100, seed=4, world=world)
    assert learner.records[2] is None
    result = simulate_predictions(replace(CONFIG, features=20), world, 400, trials=2, seed=1, ways=("function", "once"))
    assert (result.by_way >= 0).all()
    assert watched(100, seed=4, world=world, adaptive=True)[0].records[2] is None


# How predictions are judged -------------------------------------------------------------------------


def test_the_error_is_what_the_best_candidate_would_have_earned_more():
    result = simulate_predictions(Watcher(), WORLD, 10, trials=2, seed=7)
    for trial in range(2):
        table = WORLD.start(7, trial).table(WORLD.ask(drawn(7, trial, QUERIES)), WORLD.candidates)
        # The watcher always predicts the largest action, the last one of the grid.
        assert result.errors[trial] == pytest.approx((table.max(axis=1) - table[:, -1]).mean(), rel=1e-12)
        assert result.random_errors[trial] == pytest.approx((table.max(axis=1) - table.mean(axis=1)).mean(), rel=1e-12)
    assert result.ways == ("mean",)
    assert not result.guarantee.private


def opened(config=CONFIG, rounds=400, seed=2):
    """A learner with records in it, and the world they come from."""
    world = WORLD.start(seed)
    rng = np.random.default_rng(seed)
    actions, contexts = WORLD.action_box.uniform(rng, rounds), WORLD.sample_contexts(rng, rounds)
    learner = config.in_world(**WORLD.public(), horizon=rounds).start(seed=seed)
    learner.learn_many(actions, world.pay(actions, contexts, rng), contexts)
    return learner, world


def test_the_error_of_a_draw_is_averaged_over_its_law_and_not_over_draws():
    result = simulate_predictions(CONFIG, WORLD, 400, seed=5, ways=("once",))
    world, queries = WORLD.start(5), WORLD.ask(drawn(5, 0, QUERIES))
    learner = CONFIG.in_world(**WORLD.public(), horizon=400).start(seed=5)
    contexts = WORLD.sample_contexts(drawn(5, 0, CONTEXTS), 400)
    actions = WORLD.action_box.uniform(drawn(5, 0, ACTIONS), 400)
    learner.learn_many(actions, world.pay(actions, contexts, drawn(5, 0, LUCK)), contexts)
    losses = []
    for query, values in zip(queries, world.table(queries, WORLD.candidates), strict=True):
        law = drawing_law(learner, query, 1.0, WORLD.candidates)
        assert law.sum() == pytest.approx(1)
        losses.append(law @ (values.max() - values))
    assert result.errors[0] == pytest.approx(np.mean(losses), rel=1e-12)


@pytest.mark.parametrize("options", [{}, {"calibration": "published", "tau": 10.0}])
def test_the_law_of_a_draw_is_the_law_that_predictions_have(monkeypatch, options):
    drawn_by = []

    def draw(scores, eta, *_, **__):
        drawn_by.append(probabilities(scores, eta))
        return 0

    monkeypatch.setattr("tacit.policies.usca.learner.draw_candidate", draw)
    learner, _ = opened(replace(CONFIG, **options))
    context = np.array([0.3])
    law, other = (drawing_law(learner, context, epsilon, WORLD.candidates) for epsilon in (0.5, 0.6))
    learner.predict_once(context, 0.5, WORLD.candidates)
    np.testing.assert_allclose(law, drawn_by[0], rtol=1e-12)
    assert not np.allclose(other, drawn_by[0], rtol=1e-4)


def test_the_mean_is_the_function_before_its_noise():
    learner, _ = opened(replace(CONFIG, epsilon=1e6, tau=100.0))
    context = np.array([0.7])
    np.testing.assert_allclose(
        estimates(learner, context, WORLD.candidates),
        learner.release_function().predict(context, WORLD.candidates),
        atol=1e-3,
    )


def test_the_vault_of_a_learner_at_work_stays_closed():
    learner = CONFIG.in_world(**WORLD.public(), horizon=10).start()
    with pytest.raises(VaultSealed, match="Expected a learner with a seed"):
        drawing_law(learner, np.array([0.5]), 1.0, WORLD.candidates)
    with pytest.raises(VaultSealed, match="Expected a learner with a seed"):
        estimates(learner, np.array([0.5]), WORLD.candidates)


def test_more_records_and_a_larger_epsilon_err_less():
    rates = {
        (rounds, epsilon): simulate_predictions(
            replace(CONFIG, epsilon=epsilon), RKHS(queries=10), rounds, trials=8, seed=1
        ).error_rate
        for rounds, epsilon in ((100, 1.0), (2000, 1.0), (2000, 8.0))
    }
    assert rates[100, 1.0] > 2 * rates[2000, 1.0] > 4 * rates[2000, 8.0]


def test_error_rates_are_those_of_the_published_table():
    """T = 3,000, ε = 1, squared exponential. The table, of 20 other functions: 0.022 by one draw, 0.019 by release."""
    config = USCA(epsilon=1.0, delta=1e-6, features=169)
    result = simulate_predictions(config, RKHS(), 3000, trials=12, seed=1, ways=("function", "once"))
    for way, rate in (("function", 0.019), ("once", 0.022)):
        errors = result.errors_of(way)
        assert abs(errors.mean() - rate) < 4 * np.hypot(errors.std(ddof=1) / np.sqrt(12), 0.15 * rate)
    assert 0.25 < result.random_error_rate < 0.5


# Ways and prices ------------------------------------------------------------------------------------


def test_every_way_has_its_own_price():
    result = simulate_predictions(CONFIG, WORLD, 200, trials=2, seed=5, ways=("function", "once", "mean"))
    function, once, mean = result.guarantees
    assert function.seeded
    assert function.epsilon <= 1
    assert function.delta == 1e-6
    assert once.seeded
    assert (once.epsilon, once.delta) == (1.0, 0.0)
    assert not mean.private
    assert result.guarantee is function
    assert any("priced as if it were the only one" in note for note in result.notes)
    assert any("private for nobody" in note for note in result.notes)


def test_what_a_policy_cannot_release_is_not_asked_for_by_default():
    assert simulate_predictions(CONFIG, WORLD, 50).ways == ("function",)
    published = replace(CONFIG, calibration="published", tau=10.0)
    assert simulate_predictions(published, WORLD, 50).ways == ("once",)
    exact = replace(published, form="exact")
    assert simulate_predictions(exact, WORLD, 50).ways == ("once",)


@pytest.mark.parametrize("ways", [(), ("twice",), ("once", "once"), "functions"])
def test_ways_that_do_not_exist_are_refused(ways):
    with pytest.raises(BadInput, match="Expected ways to be some of function, once, mean, each once"):
        simulate_predictions(CONFIG, WORLD, 50, ways=ways)


def test_refusals_come_before_the_first_record(monkeypatch):
    monkeypatch.setattr(predictions, "_trial", lambda *_: pytest.fail("a trial was begun"))
    exact = replace(CONFIG, form="exact", tau=10.0)
    with pytest.raises(BadInput, match='Expected form="features"'):
        simulate_predictions(exact, WORLD, 50, ways=("function",))
    for ways in (("once",), ("function",), ("mean", "once")):
        with pytest.raises(BadInput, match="without a promise of privacy"):
            simulate_predictions(Watcher(), WORLD, 50, ways=ways)
    with pytest.raises(HorizonSpent, match="at most 40 rounds, got rounds=50"):
        simulate_predictions(replace(CONFIG, horizon=40), WORLD, 50)
    for name in ("rounds", "trials", "seed", "threads"):
        with pytest.raises(BadInput, match=name):
            simulate_predictions(CONFIG, WORLD, **{"rounds": 5, name: -1})
    with pytest.raises(BadInput, match=r"\(n, 2\)"):
        simulate_predictions(replace(CONFIG, action_box=((0, 1), (0, 1)), context_box=((0, 1),)), WORLD, 50)


def test_a_policy_keeps_what_it_was_told_and_takes_the_rest_from_the_world():
    config = replace(CONFIG, reward_bound=2.0, horizon=1000)
    told = simulate_predictions(config, RKHS(kernel="matern-3/2", queries=2), 50).config
    assert (told.reward_bound, told.horizon) == (2.0, 1000)
    assert told.kernel.name == "matern-3/2"
    assert told.action_box == told.context_box == ((0.0, 1.0),)


def test_what_had_to_be_clipped_is_said():
    result = simulate_predictions(replace(CONFIG, reward_bound=0.2), WORLD, 500, trials=2, seed=1)
    assert result.clipped["rewards"] > 100
    assert any("rewards" in note and "moved to it" in note for note in result.notes)
    assert not simulate_predictions(CONFIG, WORLD, 500, trials=2, seed=1).notes


# One door for both families -------------------------------------------------------------------------


def test_simulate_knows_both_families(monkeypatch):
    by_name = simulate(CONFIG, WORLD, 200, trials=2, seed=5, label="mine", ways=("mean",))
    np.testing.assert_array_equal(
        by_name.errors, simulate_predictions(CONFIG, WORLD, 200, trials=2, seed=5, ways=("mean",)).errors
    )
    assert by_name.label == "mine"
    monkeypatch.setattr(engine, "simulate", lambda *arguments, **options: (arguments, options))
    config, world = tacit.LinUCB(dim=2), Sphere(dim=2)
    arguments, options = simulate(config, world, 5, 3, 1, label="other", by="episodes", threads=2, progress=True)
    assert arguments == (config, world, 5, 3, 1)
    assert options == {"label": "other", "by": "episodes", "threads": 2, "progress": True}


def test_families_do_not_mix():
    with pytest.raises(BadInput, match="Expected an environment of functions for usca, such as rkhs, got sphere"):
        simulate(CONFIG, Sphere(dim=2), 50)
    with pytest.raises(BadInput, match="Expected a learner of functions in rkhs"):
        simulate(tacit.LinUCB(dim=2), WORLD, 50)
    with pytest.raises(BadInput, match='by="rounds" for usca'):
        simulate(CONFIG, WORLD, 50, by="episodes")
    with pytest.raises(BadInput, match="Expected ways for a learner of functions"):
        simulate(tacit.LinUCB(dim=2), Sphere(dim=2), 50, ways=("mean",))


# What is left of it ---------------------------------------------------------------------------------


def test_a_result_is_standard_json():
    result = simulate_predictions(CONFIG, WORLD, 200, trials=3, seed=5, ways=("function", "once"))
    facts = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert facts["error_rate"] == result.error_rate == pytest.approx(result.errors.mean())
    assert facts["error_rate_se"] == pytest.approx(result.errors.std(ddof=1) / 3**0.5)
    assert set(facts["ways"]) == {"function", "once"}
    assert facts["ways"]["once"]["error_rate"] == pytest.approx(result.errors_of("once").mean())
    assert facts["guarantee"]["seeded"] is True
    assert facts["settings"]["policy"]["kernel"]["kernel"] == "squared-exponential"
    assert facts["settings"]["environment"]["actions"] == 21
    assert "PredictionResult usca in rkhs" in repr(result)
    with pytest.raises(BadInput, match="ways that were run"):
        result.errors_of("mean")


def test_a_single_trial_has_no_standard_error():
    result = simulate_predictions(CONFIG, WORLD, 20)
    assert result.error_rate_se is None
    assert result.to_dict()["error_rate_se"] is None
    assert "±" not in repr(result)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_tables_are_tidy_and_survive_the_disk(tmp_path, ending):
    result = simulate_predictions(CONFIG, WORLD, 100, trials=2, seed=5, ways=("function", "mean"))
    path = result.save(tmp_path / f"errors.{ending}")
    back = pd.read_parquet(path) if ending == "parquet" else pd.read_csv(path)
    assert len(back) == 4
    np.testing.assert_array_equal(back[back["way"] == "function"]["error"], result.errors)
    np.testing.assert_array_equal(back["error"], result.frame()["error"])
    assert {"trial", "rounds", "policy_features", "environment_noise", "guarantee_epsilon", "version"} <= set(back)
    assert back["guarantee_epsilon"].isna().tolist() == [False, True] * 2


def test_plots_are_drawn_from_the_table(tmp_path):
    result = simulate_predictions(CONFIG, WORLD, 100, trials=3, seed=1, ways=("function", "once"))
    axes = result.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["usca (function)", "usca (once)"]
    axes.figure.savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5000


def test_a_plot_of_no_error_at_all_is_drawn(tmp_path):
    axes = simulate_predictions(Watcher(), RKHS(actions=1), 10, trials=2).plot()
    axes.figure.savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 3000


# Interruption ---------------------------------------------------------------------------------------


def interrupt_after(monkeypatch, count):
    """Press Ctrl-C when the trial number `count` starts."""
    real = predictions._trial

    def trial(task, number, *rest):
        if number == count:
            _thread.interrupt_main()
            threading.Event().wait(0.5)  # until it was heard
        return real(task, number, *rest)

    monkeypatch.setattr(predictions, "_trial", trial)


def test_an_interrupt_keeps_the_trials_that_have_finished(monkeypatch):
    interrupt_after(monkeypatch, 3)
    result = simulate_predictions(CONFIG, WORLD, 300, trials=40, seed=5, threads=1)
    assert result.interrupted
    assert result.trial_numbers == (0, 1, 2)
    assert "Interrupted: 3 of 40 trials finished" in result.notes[0]
    monkeypatch.undo()
    np.testing.assert_array_equal(result.errors, simulate_predictions(CONFIG, WORLD, 300, trials=3, seed=5).errors)


def test_an_interrupt_stops_a_trial_between_two_blocks(monkeypatch):
    real, learned = Seen.learn_many, []

    def learn_many(self, actions, rewards, contexts=None):
        learned.append(len(rewards))
        _thread.interrupt_main()
        threading.Event().wait(0.5)
        real(self, actions, rewards, contexts)

    monkeypatch.setattr(Seen, "learn_many", learn_many)
    with pytest.raises(Interrupted, match="nothing to keep"):
        simulate_predictions(Watcher(), WORLD, 10**9, trials=2, threads=1)
    assert learned == [8192]


def test_an_interrupt_stops_a_policy_that_chooses_for_itself(monkeypatch):
    def choose(self, context=None):
        _thread.interrupt_main()
        threading.Event().wait(0.5)
        return np.array([0.5])

    monkeypatch.setattr(Seen, "choose", choose)
    with pytest.raises(Interrupted, match="nothing to keep"):
        simulate_predictions(Watcher(adaptive=True), WORLD, 10**9, threads=1)


def test_an_error_in_one_trial_stops_the_others(monkeypatch):
    real = predictions._trial

    def trial(task, number, *rest):
        if number == 1:
            raise RuntimeError("broken")
        return real(task, number, *rest)

    monkeypatch.setattr(predictions, "_trial", trial)
    with pytest.raises(RuntimeError, match="broken"):
        simulate_predictions(Watcher(), WORLD, 10**9, trials=2, threads=2)


def test_a_bar_is_shown_when_it_is_asked_for(capsys):
    simulate_predictions(CONFIG, WORLD, 100, trials=2, progress=True)
    assert "records" in capsys.readouterr().err
