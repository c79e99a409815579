"""The experiments on private kernel bandits: runs that are found again, and rules on made-up numbers, both ways."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

import tacit
from tacit import reproduce
from tacit.errors import Interrupted
from tacit.reproduce import EXPERIMENTS, Finding
from tacit.reproduce.experiment import Claim, Evidence
from tacit.reproduce.kernel import common, methods, operators, picture, predictions, rules
from tacit.reproduce.kernel.common import KERNELS, MATERN, SE, fitted, world
from tacit.simulation import PredictionResult, store
from tacit.simulation.prediction_job import PredictionJob
from tacit.simulation.store import Damaged, Store, key
from tests.reproduce.tiny import TINY

RATES, PREDICTIONS = EXPERIMENTS["kernel/rates"], EXPERIMENTS["kernel/predictions"]
JOB = PredictionJob(
    tacit.USCA(epsilon=1.0, delta=1e-6, features=25), world(SE), 200, 2, 1, ("function", "once", "mean"), "one"
)
CLAIM = Claim("a sentence")
HOLDS, FAILS, UNTESTED = Finding.HOLDS, Finding.FAILS, Finding.UNTESTED


# Runs -----------------------------------------------------------------------------------------------------------------


def test_a_stored_run_comes_back_to_the_bit(tmp_path):
    made = JOB.run(threads=1, progress=False)
    Store(tmp_path).keep(JOB, made)
    back = Store(tmp_path).find(JOB)
    assert back.same_sources
    np.testing.assert_array_equal(back.result.by_way, made.by_way)
    np.testing.assert_array_equal(back.result.random_errors, made.random_errors)
    assert back.result.guarantees == made.guarantees
    assert back.result.to_dict() == made.to_dict()


def test_runs_with_regret_and_runs_with_errors_have_different_names(tmp_path):
    store_of_errors = Store(tmp_path)
    assert store_of_errors.find(JOB) is None
    others = [
        dataclasses.replace(JOB, seed=2),
        dataclasses.replace(JOB, rounds=201),
        dataclasses.replace(JOB, trials=3),
        dataclasses.replace(JOB, ways=("function",)),
        dataclasses.replace(JOB, environment=world(MATERN)),
        dataclasses.replace(JOB, config=tacit.USCA(epsilon=1.1, delta=1e-6, features=25)),
    ]
    assert len({key(job) for job in (JOB, *others)}) == 7
    assert key(dataclasses.replace(JOB, label="another")) == key(JOB), "a label changes no number"


def test_a_regulariser_that_is_worked_out_differently_makes_another_run(monkeypatch):
    before = key(JOB)
    monkeypatch.setattr("tacit.policies.usca.TAU_RULE", 101.0)
    assert key(JOB) != before


def test_damaged_runs_are_not_used(tmp_path):
    place = Store(tmp_path).keep(JOB, JOB.run(threads=1, progress=False))
    facts = json.loads((place / "run.json").read_text("utf-8"))
    for lost in ("guarantees", "clipped", "digest"):
        (place / "run.json").write_text(json.dumps({k: v for k, v in facts.items() if k != lost}), "utf-8")
        with pytest.raises(Damaged):
            Store(tmp_path).find(JOB)
    (place / "run.json").write_text(json.dumps(facts), "utf-8")
    assert Store(tmp_path).find(JOB) is not None
    content = bytearray((place / "curves.npz").read_bytes())
    content[len(content) // 2] ^= 1
    (place / "curves.npz").write_bytes(content)
    with pytest.raises(Damaged):
        Store(tmp_path).find(JOB)


@pytest.mark.usefixtures("undrawn")
def test_a_stopped_experiment_goes_on_where_it_stopped(tmp_path, monkeypatch):
    name, scale = "kernel/predictions", TINY["kernel/predictions"]
    real = PredictionJob.run

    def run(self, **options):
        made = real(self, **options)
        # Somebody presses Ctrl-C during the third run: what has finished of it is not a run.
        return dataclasses.replace(made, interrupted=self.name == "1 draw, T = 300")

    monkeypatch.setattr(PredictionJob, "run", run)
    with pytest.raises(Interrupted, match=r"2 of 4 runs are stored in .*The same command goes on from there"):
        reproduce.run(name, scale=scale, output=tmp_path, progress=False)
    monkeypatch.undo()
    assert not (tmp_path / "predictions").exists()
    said = []
    outcome = reproduce.run(name, scale=scale, output=tmp_path, progress=False, say=said.append)
    assert outcome.found == 2
    assert "2 of 4 runs found from before" in "\n".join(said)
    assert "error rate" in said[-1]
    fresh = reproduce.run(name, scale=scale, output=tmp_path, progress=False, fresh=True)
    assert (fresh.found, fresh.table) == (0, outcome.table)


def test_edited_sources_are_pointed_out(tmp_path, monkeypatch):
    Store(tmp_path).keep(JOB, JOB.run(threads=1, progress=False))
    monkeypatch.setattr(store, "sources", lambda: "edited")
    assert not Store(tmp_path).find(JOB).same_sources


# Settings -------------------------------------------------------------------------------------------------------------


def test_the_paper_scale_is_what_was_asked_for():
    scale = RATES.scales["paper"]
    assert (max(scale.horizons), scale.trials, scale.budgets) == (30_000, 20, (0.5, 1.0, 5.0))
    jobs = RATES.predictions(scale, 1)
    assert {job.environment.kernel for job in jobs.values()} == {"squared-exponential", "matern-5/2"}
    assert {job.config.slug for job in jobs.values()} == {"usca", "gp-mean", "feature-linucb"}
    assert {(line.method, line.epsilon) for line in methods.lines(scale.budgets)} >= {
        (methods.PUBLISHED, 0.5),
        (methods.DRAW, 5.0),
        (methods.ARGMAX_SMALL, math.inf),
    }


def test_single_draws_are_the_runs_of_kernel_rates():
    shared = {key(job) for job in RATES.predictions(RATES.scales["paper"], 3).values()}
    own = PREDICTIONS.predictions(PREDICTIONS.scales["paper"], 3)
    for horizon in PREDICTIONS.scales["paper"].horizons:
        assert key(own[f"1 draw, T = {horizon:,}"]) in shared


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 10, 30, 100])
def test_a_ledger_takes_so_many_draws_and_no_more(count):
    assert predictions.admitted(predictions.each(count), count + 2) == count
    assert predictions.admitted(1.001 * predictions.each(count), count + 2) < count


# Slopes ---------------------------------------------------------------------------------------------------------------


def test_slopes_are_those_of_the_mean_with_the_jackknifes_error():
    sizes = [100, 1000, 10_000]
    luck = np.exp(0.2 * np.random.default_rng(1).standard_normal((40, 3)))
    slope = fitted(sizes, [size**-0.7 * luck[:, place] for place, size in enumerate(sizes)])
    assert slope.estimate == pytest.approx(-0.7, abs=3 * slope.error)
    # By hand: three independent means of 40, each off by 0.2/√40 in the logarithm.
    spread = 0.2 / math.sqrt(40) / math.sqrt(2 * math.log(10) ** 2)
    assert slope.error == pytest.approx(spread, rel=0.35)


def test_luck_that_a_trial_has_at_every_size_does_not_widen_a_slope():
    luck = np.array([0.5, 1.0, 2.0])
    slope = fitted([10, 100], [0.1 * luck, 0.01 * luck])
    assert slope == pytest.approx((-1.0, 0.0), abs=1e-9)


def test_a_slope_needs_two_sizes_and_its_error_two_trials():
    assert fitted([10], [np.array([1.0, 2.0])]) is None
    assert fitted([10, 20], [np.array([0.0, 0.0]), np.array([1.0, 2.0])]) is None
    assert fitted([10, 20], [np.array([2.0]), np.array([1.0])]) == (pytest.approx(-1.0), None)
    assert fitted([10, 20], [np.array([0.0, 2.0]), np.array([1.0, 2.0])]).error is None
    assert str(common.Slope(-0.5, 0.125)) == "-0.50 ± 0.12"


# Rules ----------------------------------------------------------------------------------------------------------------

HORIZONS = (500, 1000, 3000, 10_000, 30_000)
#: Error at T = 30,000 and its slope, by method.
AS_FOUND = {
    methods.GP_SMALL: (0.0007, -0.69),
    methods.GP_LARGE: (0.0002, -0.89),
    methods.ARGMAX_SMALL: (0.0052, -0.45),
    methods.ARGMAX_LARGE: (0.0009, -0.66),
    methods.PUBLISHED: (0.102, -0.45),
    methods.PUBLISHED_LARGE: (0.0086, -0.61),
    methods.DRAW: (0.0038, -0.74),
    methods.FUNCTION: (0.0018, -0.98),
    methods.LINEAR: (0.0054, -0.85),
}
TURNED = {
    **AS_FOUND,
    methods.GP_SMALL: (0.006, -0.2),
    methods.ARGMAX_SMALL: (0.0052, -0.2),
    methods.PUBLISHED: (0.03, -0.2),
    methods.DRAW: (0.0065, -0.4),
    methods.FUNCTION: (0.0056, -0.5),
}


def measured(numbers, *, trials=20, horizons=HORIZONS):
    wobble = 1 + 0.01 * np.linspace(-1, 1, trials)

    def errors(method):
        last, slope = numbers[method]
        return [last * (horizon / HORIZONS[-1]) ** slope * wobble for horizon in horizons]

    every = {(line.method, line.epsilon, k): errors(line.method) for line in methods.lines((1.0,)) for k in KERNELS}
    return rules.Measured(horizons, every, {kernel: [0.35] * len(horizons) for kernel in KERNELS}, 1)


@pytest.fixture(autouse=True)
def rates_of_the_theorem(monkeypatch):
    """γ_T ~ T^0.28 and sup σ² ~ γ_T/T, without an operator."""
    monkeypatch.setattr(rules, "known", lambda _, horizon: operators.Known(horizon**0.28, 4 * horizon**-0.72))


def judged(numbers, **options):
    made = measured(numbers, **options)
    return [
        *(rules.estimate_falls(made, kernel) for kernel in KERNELS),
        *(rules.draw_falls(made, kernel) for kernel in KERNELS),
        *rules.as_before(made),
        *rules.against(made),
    ]


def test_claims_about_errors_hold_where_numbers_are_as_found_and_fail_where_they_are_turned():
    assert {verdict.finding for verdict in judged(AS_FOUND)} == {HOLDS}
    assert {verdict.finding for verdict in judged(TURNED)} == {FAILS}


def test_numbers_of_before_need_as_many_records_and_functions():
    for options in ({"trials": 19}, {"horizons": HORIZONS[:-1]}):
        made = measured(AS_FOUND, **options)
        assert {verdict.finding for verdict in [*rules.as_before(made), *rules.slopes_as_before(made)]} == {UNTESTED}


def test_slopes_of_before():
    as_found = {**AS_FOUND, methods.PUBLISHED: (0.102, -0.25)}
    assert {verdict.finding for verdict in rules.slopes_as_before(measured(as_found))} == {HOLDS}
    assert {verdict.finding for verdict in rules.slopes_as_before(measured(TURNED))} >= {FAILS}


def test_what_has_not_been_learned_has_no_slope():
    flat = {**AS_FOUND, methods.PUBLISHED: (0.30, -0.01)}
    verdict = rules.draw_falls(measured(flat), SE)
    assert verdict.finding is UNTESTED
    assert rules.draw_falls(measured(AS_FOUND, trials=1), SE).finding is UNTESTED


@pytest.mark.parametrize(("power", "finding"), [(-0.72, HOLDS), (-0.9, HOLDS), (-0.5, FAILS)])
def test_the_supremum_against_the_gain(power, finding, monkeypatch):
    monkeypatch.setattr(rules, "known", lambda _, horizon: operators.Known(horizon**0.28, horizon**power))
    assert rules.supremum_falls(HORIZONS, SE).finding is finding
    assert rules.supremum_falls((500,), SE).finding is UNTESTED


def test_losses_are_judged_both_ways():
    within, beyond = {SE: 0.4, MATERN: 1.0}, {SE: 0.4, MATERN: 1.01}
    assert rules.judged_loss(CLAIM, within, 1.0, at_most=True).finding is HOLDS
    assert rules.judged_loss(CLAIM, beyond, 1.0, at_most=True).finding is FAILS
    assert rules.judged_loss(CLAIM, within, 1.0, at_most=False).finding is FAILS
    assert rules.judged_loss(CLAIM, beyond, 1.0, at_most=False).finding is HOLDS


def test_a_draw_gives_away_no_more_than_its_budget_and_its_broken_twin_does():
    for epsilon in (0.5, 2.0):
        published, default, broken = (operators.largest_loss(rule, SE, 300, epsilon, 1) for rule in operators.RULES)
        assert 0.3 * epsilon < published <= epsilon
        assert 0.3 * epsilon < default <= epsilon
        assert broken > 2 * epsilon, "without 1/τ the odds are ten times too steep"


def test_public_numbers_are_those_of_the_operator():
    found = operators.known(SE, 1000)
    assert found.gain == pytest.approx(85.3, abs=0.2)  # found before, by hand
    assert found.supremum == pytest.approx(0.37, abs=0.01)


# Predictions ----------------------------------------------------------------------------------------------------------


def many(draw, function):
    """Findings of the last claims, where `draw(k)` and `function` are the errors at every T."""
    scale = TINY["kernel/predictions"]
    results = {}
    for name, job in PREDICTIONS.predictions(scale, 1).items():
        count = int(name.split()[0])
        columns = {"function": function, "once": draw(count)}
        results[name] = PredictionResult(
            config=job.told,
            environment=job.environment,
            rounds=job.rounds,
            trials_asked=2,
            seed=1,
            label=name,
            ways=job.ways,
            trial_numbers=(0, 1),
            by_way=np.array([[columns[way] * share for way in job.ways] for share in (0.99, 1.01)]),
            random_errors=np.array([0.3, 0.4]),
            clipped={},
            guarantees=(tacit.Guarantee.none(),) * len(job.ways),
            seconds=1.0,
        )
    return PREDICTIONS.judge(Evidence(scale, 1, {}, results))


def test_claims_about_many_predictions_hold_and_fail():
    good = many(lambda count: 0.01 * math.sqrt(count), 0.005)
    assert [verdict.finding for verdict in good] == [FAILS, *[HOLDS] * 7]
    bad = many(lambda count: 0.01 / math.sqrt(count), 0.05)
    assert [verdict.finding for verdict in bad] == [FAILS, HOLDS, HOLDS, *[FAILS] * 5]


def test_what_a_draw_may_cost_is_judged_to_its_last_digit():
    assert predictions.as_before(10, 0.1396).finding is HOLDS
    assert predictions.as_before(10, 0.1397).finding is FAILS
    assert predictions.as_before(10, 0.1396, tried=0.13964).finding is FAILS, "ten of them do not fit"


def test_one_budget_is_one_draw():
    verdict = predictions.one_budget(10)
    assert verdict.finding is FAILS
    assert verdict.values["taken"] == 1
    assert verdict.values["epsilon"] > 1
    assert predictions.one_budget(1).finding is HOLDS


def test_the_map_shows_the_function_of_trial_0_and_chosen_actions():
    seen = picture.mapped(2000, 5.0, predictions.each(picture.draws()), 1)
    truth = world(SE).start(1)
    contexts = np.full(len(seen.actions), seen.contexts[7])
    np.testing.assert_allclose(seen.truth[:, 7], truth.values(seen.actions[:, None], contexts[:, None]))
    np.testing.assert_array_equal(seen.best, seen.actions[seen.truth.argmax(axis=0)])
    np.testing.assert_array_equal(seen.chosen, seen.actions[seen.private.argmax(axis=0)])
    # Learned, and not copied: near the truth everywhere, and nowhere equal to it.
    away = np.abs(seen.private - seen.truth)
    assert 0 < np.median(away) < 0.2
    assert set(seen.drawn) <= set(seen.actions)
    assert len(seen.drawn) == len(seen.asked) == picture.draws()
