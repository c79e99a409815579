"""The experiments on Rényi-private bandits: their settings, and their rules on made-up numbers, both ways."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from tacit.environments import Arms
from tacit.policies.renyi_bounds import theorem_8_rate, theorem_10_rate
from tacit.reproduce import EXPERIMENTS, By, Finding
from tacit.reproduce.experiment import Claim, Evidence
from tacit.reproduce.judge import Sample
from tacit.reproduce.local.common import play, uniform_loss
from tacit.reproduce.renyi import arms, common, contexts, linpriv, lists, price, pure
from tacit.simulation import Result, simulate
from tacit.simulation.engine import checkpoints
from tests.reproduce.tiny import SETTINGS, TINY

TABLE, PRICE, PURE, LINPRIV = (
    EXPERIMENTS[f"renyi/{name}"] for name in ("table-1", "price", "pure-against-renyi", "linpriv")
)
CLAIM = Claim("a sentence")


def made_up(job, final, *, shape=None):
    """A result that ends at `final`, its trials a thousandth apart: a line, or `shape(rounds)` scaled to that end."""
    marks = checkpoints(job.rounds)
    curve = marks / job.rounds if shape is None else shape(marks) / shape(np.array([job.rounds]))
    return Result(
        config=job.config,
        environment=job.environment,
        rounds=job.rounds,
        trials_asked=job.trials,
        seed=job.seed,
        label=job.name,
        by=job.by,
        trial_numbers=tuple(range(job.trials)),
        checkpoints=marks,
        curves=np.array([final * (1 + 0.001 * trial / job.trials) * curve for trial in range(job.trials)]),
        counters=np.zeros((job.trials, 4), np.int64),
        guarantee=job.bound.plan().guarantee,
        seconds=1.0,
    )


def judged(experiment, scale, regret, **options):
    """Verdicts by claim, where `regret(name, job)` is what each run ended with."""
    results = {name: made_up(job, regret(name, job), **options) for name, job in experiment.jobs(scale, 1).items()}
    return {verdict.claim.text: verdict for verdict in experiment.judge(Evidence(scale, 1, results))}


def findings(verdicts, *words):
    """What was found of the claims with all these words in them."""
    chosen = [verdict.finding for text, verdict in verdicts.items() if all(word in text for word in words)]
    assert chosen, words
    return set(chosen)


# Settings -------------------------------------------------------------------------------------------------------------


def test_the_paper_scale_is_what_was_asked_for():
    scale = TABLE.scales["paper"]
    assert (scale.rounds, scale.instances) == (10**7, 20)
    assert scale.trials >= 400
    assert scale.budgets == (1.0, 0.1, 0.01, 0.001, 1e-4)
    assert {(5, 20, 10**6), (10, 50, 10**6)} <= set(scale.lists)
    assert 10**5 in scale.horizons
    over_arms = arms.jobs(scale, 1)
    assert {job.environment for job in over_arms.values()} == {Arms(means=(0.75, 0.625, 0.5, 0.375, 0.25))}
    assert {job.config.optimism for job in over_arms.values()} == {3.1}
    for label, job in contexts.jobs(scale, 1).items():
        config = job.config
        assert (job.environment.arms, job.environment.parameter_norm) == (20, 0.9)
        assert (config.ridge, config.switch, config.failure_probability) == (1.0, 1.0, 1 / job.rounds)
        if contexts.PRINTED in label:
            assert (config.width_kind, config.noise_kind, config.smallest_eigenvalue) == ("paper", "sum", None)


def test_every_instance_has_its_own_list_and_its_own_luck():
    jobs = lists.jobs(dataclasses.replace(SETTINGS, instances=5), 1).values()
    of_instance = {(job.environment.actions_seed, job.seed) for job in jobs}
    assert len(of_instance) == len({instance for instance, _ in of_instance}) == len({luck for _, luck in of_instance})
    assert all(job.config.failure_probability == 1 / job.rounds for job in jobs)
    seeds = {common.instance_seed(seed, instance) for seed in (1, 10**6 - 1) for instance in range(50)}
    assert len(seeds) == 100
    assert max(seeds) < 10**6


def test_price_is_made_of_runs_of_table_1():
    shared = TABLE.jobs(SETTINGS, 3)
    for name, job in PRICE.jobs(SETTINGS, 3).items():
        assert shared[name] == job


def test_every_row_of_pure_against_renyi_keeps_its_promise():
    for epsilon in (0.1, 0.5, 1.0, 4.0):
        for policy, config in pure.policies(epsilon, 3.1, 10**6).items():
            accounted = dataclasses.replace(config, arms=5).plan().guarantee.epsilon_at(pure.DELTA)
            assert accounted <= epsilon * (1 + 1e-9)
            if policy in (pure.EXACT, pure.ADAP, pure.DPSE):
                assert accounted == pytest.approx(epsilon, rel=1e-4)
    assert pure.multiplier(pure.FIXED, 0.1) is None
    assert pure.FIXED not in pure.policies(0.1, 3.1, 10**6)
    assert pure.multiplier(pure.EXACT, 1.0) == pytest.approx(4.225, abs=5e-4)


# Rules ----------------------------------------------------------------------------------------------------------------


def test_regret_is_read_off_between_checkpoints():
    [job] = [job for name, job in arms.jobs(SETTINGS, 1).items() if name == arms.name(common.NO_NOISE)]
    result = made_up(job, 100.0)
    assert common.regret_at(result, 1000) == pytest.approx(result.curves[:, -1] / 2, rel=1e-3)
    assert common.decades(10**6) == [10**4, 10**5, 10**6]
    assert common.decades(3 * 10**5) == [10**4, 10**5, 3 * 10**5]
    assert common.decades(500) == [500]


def grown(power):
    sizes = [100, 1000, 10_000]
    wobble = np.array([0.99, 1.0, 1.01])
    return common.Grown("a", sizes, [size**power * wobble for size in sizes], [size**0.5 for size in sizes])


def test_no_faster_than_a_rate_in_every_group():
    assert common.no_faster(CLAIM, "T", [grown(0.4), grown(0.5)]).finding is Finding.HOLDS
    assert common.no_faster(CLAIM, "T", [grown(0.4), grown(0.6)]).finding is Finding.FAILS
    single = common.Grown("b", [10], [np.array([1.0, 2.0])], [1.0])
    assert common.no_faster(CLAIM, "T", [single]).finding is Finding.UNTESTED
    assert common.no_faster(CLAIM, "T", []).finding is Finding.UNTESTED


@pytest.mark.parametrize(
    ("mean", "runs", "finding"),
    [(104.0, 3, Finding.HOLDS), (94.0, 3, Finding.FAILS), (106.0, 3, Finding.FAILS), (100.0, 4, Finding.UNTESTED)],
)
def test_near_a_reference(mean, runs, finding):
    sample = Sample("a", mean + np.array([-1.0, 0.0, 1.0]))
    assert common.near(CLAIM, sample, 100.0, 0.05, runs).finding is finding
    assert common.near(CLAIM, None, 100.0, 0.05, runs).finding is Finding.UNTESTED


# Table 1 --------------------------------------------------------------------------------------------------------------

LARGE = dataclasses.replace(
    SETTINGS,
    rounds=10**6,
    trials=400,
    budgets=(0.1, 0.01, 0.001),
    lists=((2, 3, 10**5), (2, 3, 10**6)),
    dim=5,
    horizons=(100, 1000, 10**5),
    context_trials=20,
    followed=1,
)


def rho_of(job):
    return getattr(job.config, "rho", None) or math.inf


def as_found(name, job):
    """Regret as it should be: references where there are some, else a little slower than the rates."""
    rho, place = rho_of(job), job.environment
    if name == arms.PLAIN:
        return 342.0
    if name.startswith("AdaR-UCB"):
        return arms.REFERENCES[rho]
    if name.startswith("AdaR-GOPE"):
        return (3 if lists.EQUATION in name else 1) * float(
            theorem_8_rate(place.dim, place.arms, job.rounds, rho)
        ) ** 0.9
    for variant, reference in contexts.REFERENCES.items():
        if variant in name:
            rate, there = (float(theorem_10_rate(5, *at)) for at in ((job.rounds, rho), (10**5, 0.1)))
            return reference * (rate / there) ** 0.9
    return 100.0


def turned(name, job):
    """Regret as it should not be."""
    if name.startswith("AdaR-UCB"):
        return 1e6
    if name.startswith("AdaR-GOPE"):
        return job.rounds / rho_of(job) ** 2 if rho_of(job) < math.inf else job.rounds
    return job.rounds**1.5 / (1.0 if rho_of(job) == math.inf else rho_of(job))


@pytest.fixture
def seen(monkeypatch):
    """What following trials would find, without playing them."""

    def set_to(switches, farthest):
        found = contexts.Followed(np.array([1.0, 9.0]), np.array([[1.0, switches]]), np.array([farthest]))
        monkeypatch.setattr(contexts, "follow", lambda config, rounds, trials, seed: found)

    return set_to


def test_table_1_as_it_should_be(seen):
    seen(70.0, 0.7)
    verdicts = judged(TABLE, LARGE, as_found, shape=np.log1p)
    assert {verdict.finding for verdict in verdicts.values()} == {Finding.HOLDS}
    ours = {text for text, verdict in verdicts.items() if verdict.claim.by is By.OURS}
    assert len(ours) == 4 + 1 + 2 + 1


def test_table_1_turned_around(seen):
    seen(72.0, 1.1)
    verdicts = judged(TABLE, LARGE, turned)
    assert {verdict.finding for verdict in verdicts.values()} == {Finding.FAILS}


def test_table_1_does_not_judge_references_it_did_not_run(seen):
    seen(1.0, 0.5)
    verdicts = judged(TABLE, SETTINGS, lambda name, job: 10.0)
    assert findings(verdicts, "is about") == {Finding.UNTESTED}


def test_every_view_of_a_trial_is_looked_at():
    """A trial that is followed has the views of the one that is run, and a width that is too small is noticed."""
    config, rounds = contexts.oful(contexts.TOEPLITZ, 1.0, 2, 400), 400
    followed = contexts.follow(config, rounds, 2, 5)
    for trial in range(2):
        ended = play(config.plan(), contexts.world(2), rounds, trial, 5)
        assert followed.switches[trial] == ended.view.stage[0] > 5
    assert (followed.switches <= config.most_views).all()
    assert (np.diff(followed.counts, axis=1) >= 0).all()
    assert (np.diff(followed.counts, axis=1) <= 1).all(), "no two views between two looks"
    assert followed.rounds[-1] == rounds
    assert ((followed.farthest > 0) & (followed.farthest < 1)).all()
    narrow = contexts.follow(dataclasses.replace(config, width=0.02), rounds, 2, 5)
    assert (narrow.farthest > 1).all()


# Price ----------------------------------------------------------------------------------------------------------------

PRICED = dataclasses.replace(
    LARGE, rounds=10**7, plain_rounds=10**6, budgets=(1.0, 0.1, 0.01, 0.001, 1e-4), horizons=(10**4, 10**5)
)


def priced(per_root, share_of_lists=0.05, share_of_contexts=0.05, fades=True, twin=2.65):
    """`per_root(ρ)`: extra regret of AdaR-UCB over √(1/ρ) after 10⁶ rounds, where the twin has 936."""

    def regret(name, job):
        rho = rho_of(job)
        small = job.rounds < 10**6 if name.startswith("AdaR-GOPE") else job.rounds < 10**5
        grows = 1.5 if small == fades else 1.0
        if name == arms.PLAIN:
            return 936.0 / twin
        if name.startswith("AdaR-UCB"):
            return 936.0 + (0.0 if rho == math.inf else per_root(rho) / math.sqrt(rho))
        if name.startswith("AdaR-GOPE"):
            return 1000.0 * (1 + (0.0 if rho == math.inf else share_of_lists * grows))
        return 100.0 * (1 + (0.0 if rho == math.inf else share_of_contexts * grows))

    return judged(PRICE, PRICED, regret, shape=lambda rounds: np.minimum(rounds, 10**5).astype(float))


def test_the_price_as_it_should_be():
    verdicts = priced(lambda rho: price.REFERENCES.get(rho, (13.0, 0))[0])
    assert findings(verdicts, "additive term") == {Finding.HOLDS}
    assert findings(verdicts, "almost free") == {Finding.HOLDS}
    assert findings(verdicts, "falls as T grows", "GOPE") == findings(verdicts, "falls as T grows", "OFUL")
    assert findings(verdicts, "falls as T grows", "GOPE") == {Finding.HOLDS}
    assert findings(verdicts, "·√(1/ρ)") == {Finding.HOLDS}
    assert findings(verdicts, "Doubling and forgetting") == {Finding.HOLDS}
    assert findings(verdicts, "more than privacy does") == {Finding.HOLDS}


def test_the_price_turned_around():
    verdicts = priced(lambda rho: 300.0, share_of_lists=0.5, share_of_contexts=0.5, fades=False, twin=1.2)
    assert {verdict.finding for verdict in verdicts.values()} == {Finding.FAILS}


def test_a_price_of_few_runs_is_not_held_against_references():
    scale = dataclasses.replace(PRICED, trials=100)
    verdicts = judged(PRICE, scale, lambda name, job: 100.0)
    assert findings(verdicts, "·√(1/ρ)") == {Finding.UNTESTED}


# Pure against Rényi ---------------------------------------------------------------------------------------------------


def compared(renyi, laplace, converted=None):
    """Regret where the twin has 1,000."""
    scale = PURE.scales["quick"]
    numbers = {pure.TWIN: 1000.0, pure.EXACT: renyi, pure.MIRONOV: converted or renyi, pure.ADAP: laplace}

    def regret(name, job):
        return next((value for policy, value in numbers.items() if name.startswith(policy)), 5000.0)

    return judged(PURE, scale, regret)


def test_pure_against_renyi_as_the_paper_has_it():
    verdicts = compared(1050.0, 2000.0, 1100.0)
    assert findings(verdicts, "almost free") == {Finding.HOLDS}
    assert findings(verdicts, "less regret than AdaP-UCB") == {Finding.HOLDS}
    assert findings(verdicts, "saves a fifth") == {Finding.HOLDS}
    assert findings(verdicts, "order fixed") == {Finding.HOLDS}
    assert findings(verdicts, "independent implementation") == {Finding.FAILS}, "these numbers are made up"


@pytest.mark.parametrize(("renyi", "laplace"), [(1500.0, 1400.0), (1050.0, 1040.0)])
def test_pure_against_renyi_turned_around(renyi, laplace):
    """Both dear, or both almost free."""
    verdicts = compared(renyi, laplace, renyi)
    assert findings(verdicts, "almost free") == {Finding.FAILS}
    assert findings(verdicts, "less regret than AdaP-UCB") == {Finding.FAILS}
    assert findings(verdicts, "saves a fifth") == {Finding.FAILS}


def test_references_of_pure_against_renyi_hold_where_they_are_met():
    by_place = {
        pure.name(policy, epsilon, optimism): value
        for (optimism, epsilon), row in pure.REFERENCES.items()
        for policy, value in row.items()
    }
    verdicts = judged(PURE, PURE.scales["quick"], lambda name, job: 1.03 * by_place.get(name, 1000.0))
    assert findings(verdicts, "independent implementation") == {Finding.HOLDS}
    few = dataclasses.replace(PURE.scales["quick"], trials=10)
    verdicts = judged(PURE, few, lambda name, job: by_place.get(name, 1000.0))
    assert findings(verdicts, "independent implementation") == {Finding.UNTESTED}


# LinPriv --------------------------------------------------------------------------------------------------------------


def extras(law, rounds=(10**4, 3 * 10**4, 10**5, 3 * 10**5), trials=20, noise=0.01, seed=3):
    luck = np.random.default_rng(seed)
    return rounds, [law(n) * (1 + luck.normal(0, noise, trials)) for n in rounds]


def test_a_root_is_fitted_as_a_root_and_a_logarithm_as_a_logarithm():
    root = linpriv.fit(*extras(lambda n: 5 * n**0.5))
    assert root.slope.estimate == pytest.approx(0.5, abs=0.01)
    assert root.power[0] == pytest.approx(5, rel=0.1)
    assert root.last == pytest.approx(0.5, abs=0.02)
    assert root.logarithm_misfit > root.power_misfit + linpriv.DECISIVE
    logs = linpriv.fit(*extras(lambda n: -700 + 100 * math.log(n)))
    assert logs.logarithm == pytest.approx((-700, 100), rel=0.05)
    assert logs.power_misfit > logs.logarithm_misfit + linpriv.DECISIVE


def test_the_interval_of_the_slope_covers_as_often_as_it_says():
    """95 % of 200 intervals of 20 trials, up to four standard errors of a binomial, and 1 % for the normal law's tails:
    fails by chance once in 10,000."""
    covered = 0
    for seed in range(200):
        slope = linpriv.fit(*extras(lambda n: 5 * n**0.4, noise=0.1, seed=seed)).slope
        covered += slope.low <= 0.4 <= slope.high
    assert abs(covered / 200 - 0.95) < 0.01 + 4 * math.sqrt(0.95 * 0.05 / 200)


@pytest.mark.parametrize(
    ("law", "log", "root"),
    [
        (lambda n: 5 * n**0.5, Finding.FAILS, Finding.HOLDS),
        (lambda n: -700 + 100 * math.log(n), Finding.HOLDS, Finding.FAILS),
        (lambda n: 5 * n**0.8, Finding.FAILS, Finding.FAILS),
        (lambda n: 100 * math.log(n), Finding.HOLDS, Finding.FAILS),
    ],
    ids=["√T", "log T", "T^0.8", "log T like a small power"],
)
def test_log_or_root(law, log, root):
    fitted = linpriv.fit(*extras(law))
    assert linpriv.like_log(fitted, "ρ = 1", linpriv.GRAM).finding is log
    assert linpriv.like_root(fitted, "ρ = 1", linpriv.GRAM).finding is root


def test_where_nothing_is_learned_no_growth_is_judged():
    scale = dataclasses.replace(TINY["renyi/linpriv"], trials=4)
    most = uniform_loss(linpriv.world(scale), 1)
    verdicts = judged(LINPRIV, scale, lambda name, job: (0.1 if linpriv.TWIN in name else 0.9) * most * job.rounds)
    assert findings(verdicts, "grows like") == {Finding.UNTESTED}
    learned = judged(LINPRIV, scale, lambda name, job: (0.1 if linpriv.TWIN in name else 0.2) * most * job.rounds)
    assert Finding.UNTESTED not in findings(learned, "grows like")


@pytest.mark.parametrize(("gram", "finding"), [(50.0, Finding.HOLDS), (90.0, Finding.FAILS)])
def test_which_width_costs_less(gram, finding):
    scale = dataclasses.replace(TINY["renyi/linpriv"], trials=4)
    cost = {linpriv.TWIN: 10.0, linpriv.WIDTHS[linpriv.GRAM]: gram, linpriv.WIDTHS[linpriv.PUBLISHED]: 80.0}
    verdicts = judged(LINPRIV, scale, lambda name, job: next(value for words, value in cost.items() if words in name))
    assert findings(verdicts, "costs less") == {finding}


def test_the_twin_without_noise_is_all_but_without_noise():
    """At ρ = 10¹² another hundredfold changes nothing that can be seen."""
    scale = TINY["renyi/linpriv"]
    one = linpriv.linpriv(scale, 300, linpriv.TWIN, linpriv.GRAM)
    other = dataclasses.replace(one, rho=1e14)
    first, second = (simulate(config, linpriv.world(scale), 300, trials=3, seed=2) for config in (one, other))
    assert first.regret == pytest.approx(second.regret, abs=1e-3)
