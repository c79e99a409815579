"""Attacks on shuffled batches: nothing exact is refuted, everything broken is, and order says nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.auditing.attack import ACTIONS, BATCH, RELEASED, REPORT
from tacit.auditing.attacks import shuffle
from tacit.auditing.script import Seen

RUNS = 20_000
FORMS = shuffle.forms()
#: Three bounds per attack, three attacks per form at most, all forms together: wrong once in a thousand suites.
MISS = 0.001 / (3 * 3 * len(FORMS))


def named(config: Any) -> str:
    return f"{config.protocol}-{config.calibration}-{FORMS.index(config)}"


def test_what_is_seen_depends_on_what_makes_a_batch_private() -> None:
    counts, local, amplified, by_arm = FORMS[0], FORMS[3], FORMS[5], FORMS[6]
    assert [attack.observed for attack in shuffle.attacks(by_arm)] == [BATCH, shuffle.OF_TWO, RELEASED, ACTIONS]
    assert [attack.observed for attack in shuffle.attacks(counts)] == [BATCH, RELEASED, ACTIONS]
    assert [attack.observed for attack in shuffle.attacks(local)] == [REPORT, BATCH, ACTIONS]
    assert [attack.observed for attack in shuffle.attacks(amplified)] == [BATCH, ACTIONS]
    for config, kept in ((counts, True), (local, False), (amplified, True)):
        assert ("order kept" in {twin.name for twin in shuffle.twins(config)}) is kept


@pytest.mark.parametrize("config", [FORMS[0], FORMS[5]], ids=named)
def test_the_score_of_a_batch_is_the_same_in_every_order(config: Any) -> None:
    attack = next(attack for attack in shuffle.attacks(config) if attack.observed == BATCH)
    sampler: Any = attack.sampler
    seen: list[Seen] = []
    replace(sampler, see=lambda batch: seen.append(batch) or np.zeros((1, 1))).sample(1, 5, 0, (0,))
    order = np.random.default_rng(1).permutation(seen[0].numbers.shape[1])
    mixed = replace(seen[0], numbers=seen[0].numbers[:, order])
    np.testing.assert_allclose(sampler.see(mixed), sampler.see(seen[0]), rtol=1e-9)
    kept: Any = next(twin for twin in shuffle.twins(config) if twin.name == "order kept").spoil(attack).sampler
    assert not np.allclose(kept.see(mixed), kept.see(seen[0]), rtol=1e-3)


def test_the_score_of_a_mixed_batch_is_its_likelihood_ratio() -> None:
    # Three reports, all six orders written out.
    config = tacit.ShuffleLinUCB(dim=2, epsilon=2.0, delta=0.1, horizon=12, batch=3, protocol="amplification")
    attack = next(attack for attack in shuffle.attacks(config) if attack.observed == BATCH)
    sampler: Any = attack.sampler
    seen: list[Seen] = []
    replace(sampler, see=lambda batch: seen.append(batch) or np.zeros((1, 1))).sample(1, 4, 0, (0,))
    reports, scale = seen[0].of("report"), sampler.plan.params.row.scale
    first, second = (shuffle.written(config, row) for row in shuffle.farthest_rows(config))

    def likelihood(people: list[np.ndarray]) -> np.ndarray:
        return sum(
            np.exp(-sum(((reports[:, i] - people[p]) ** 2).sum(axis=1) for i, p in enumerate(order)) / (2 * scale**2))
            for order in permutations(range(3))
        )

    ratio = np.log(likelihood([second, first, first]) / likelihood([first, first, first]))
    np.testing.assert_allclose(sampler.see(seen[0])[:, 0], ratio, rtol=1e-9)


@pytest.mark.parametrize("sampler", ["double", "secure"])
def test_rows_of_one_arm_and_of_two_are_as_far_apart_as_rows_may_be(sampler: str) -> None:
    """Of what devices write, without ones: the projection moves by the squares of the two distances."""
    config: Any = tacit.ShuffleLinUCB(arms=3, dim=2, epsilon=1.0, delta=1e-5, horizon=32, batch=8, grid=2000)
    one, two = shuffle.attacks(config, sampler)[:2]
    for attack, distance in ((one, config.sensitivity), (two, 2.0)):
        played: Any = attack.sampler
        mixing = played.plan.params.mixing
        bare = played.plan.params._replace(mixing=mixing._replace(ones=mixing.ones._replace(trials=0.0)))
        seen = replace(played, plan=replace(played.plan, params=bare))
        moved = seen.sample(1, 1, 0, (0,)) - seen.sample(0, 1, 0, (0,))
        assert moved[0, 0] * config.plan().report.noise["step"] == pytest.approx(distance**2, rel=1e-2)


def test_people_who_are_not_honest_are_left_out_of_the_totals() -> None:
    config = FORMS[1]
    sampler: Any = shuffle.attacks(config)[0].sampler
    assert len(sampler.watched) == config.honest_people < config.batch_size
    assert sampler.plan.params.row.ones.trials > 0
    assert sampler.plan.params.counter.ones.trials == 0


def test_a_policy_can_be_named_with_nothing_but_its_promise() -> None:
    for options in ({}, {"protocol": "amplification"}, {"batch": 30}, {"constants": (0.5,)}):
        promised: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, **options}
        assert shuffle.attacks(tacit.ShuffleLinUCB(**{**shuffle.small(tacit.ShuffleLinUCB, promised), **promised}))
