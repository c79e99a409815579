"""Attacks on reports and answers: nothing exact is refuted, everything broken is, and the pair is the worst one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit
from tacit.auditing.attack import ACTIONS, REPORT
from tacit.auditing.attacks import local
from tacit.auditing.claim import claim_of
from tacit.auditing.engine import Work, run
from tacit.core.verbs import encode
from tacit.noise import stream

RUNS = 20_000
FORMS = local.forms()
#: Three bounds per attack, two attacks per form at most, all forms together: wrong once in a thousand suites.
MISS = 0.001 / (3 * 2 * len(FORMS))
#: The published noise at (10, 0.1) is too little. All other forms keep their promise.
BROKEN = {form for form in FORMS if form.calibrated == "published" and form.slug == "online-linucb"}


def named(config: Any) -> str:
    return f"{config.slug}-{config.calibrated}-{FORMS.index(config)}"


def test_every_broken_device_is_among_the_twins() -> None:
    usual = {"clipping off", "noise halved", "add/remove sensitivity", "noise redrawn", "reward without noise"}
    for config in FORMS:
        if config.calibrated == "exact" and isinstance(config, tacit.OnlineLinUCB | tacit.LocalLinUCB):
            assert usual <= {twin.name for twin in local.twins(config)}


def test_a_report_shows_nine_tenths_of_what_was_promised() -> None:
    # Expected at 100,000 runs is 0.945, with a standard deviation of 0.02: one seed in seventy would fail.
    config = tacit.OnlineLinUCB(dim=2, epsilon=1.0, delta=1e-5)
    with Work(0, 1, False) as work:
        finding = run(work, local.attacks(config)[0], claim_of(config), 100_000, 0, (0,), 0.05 / 6)
    assert finding.observed == REPORT
    assert finding.gaussian is not None
    assert 0.9 <= finding.gaussian < 1.0


def test_the_published_report_is_refuted_at_its_own_promise() -> None:
    config = next(iter(BROKEN))
    with Work(0, 1, False) as work:
        finding = run(work, local.attacks(config)[0], claim_of(config), 20_000, 0, (0,), 0.001)
    assert finding.refuted
    assert finding.gaussian is not None
    assert finding.gaussian < config.guarantee.epsilon_at(config.delta)


@pytest.mark.long
def test_the_published_report_is_refuted_without_assuming_a_gaussian() -> None:
    # The true ε is 26.95; a million runs can show 11.9 of them, and 10 were promised.
    config = next(iter(BROKEN))
    with Work(0, 2, False) as work:
        finding = run(work, local.attacks(config)[0], claim_of(config), 1_000_000, 0, (0,), 0.05 / 6)
    assert finding.epsilon > config.epsilon


@pytest.mark.parametrize("constants", [(), (0.5,), (0.3, -0.6)])
@pytest.mark.parametrize("rewards", [(-1.0, 1.0), (0.0, 1.0), (-0.2, 2.0), (0.5, 3.0)])
@pytest.mark.parametrize("norm", [0.8, 1.0, 2.0])
def test_the_two_rows_attain_the_sensitivity(
    constants: tuple[float, ...], rewards: tuple[float, float], norm: float
) -> None:
    shared: dict[str, Any] = {
        "dim": 2 + len(constants),
        "epsilon": 1.0,
        "delta": 1e-5,
        "constants": constants,
        "action_norm": norm,
        "reward_low": rewards[0],
        "reward_high": rewards[1],
    }
    for config in (tacit.OnlineLinUCB(**shared), tacit.LocalLinUCB(**shared, horizon=10)):
        rows = local.farthest_rows(config)
        assert np.linalg.norm(local.difference(config, rows)) == pytest.approx(config.sensitivity, rel=1e-9)
        for x, y in rows:
            assert np.linalg.norm(x) <= norm * (1 + 1e-12)
            assert rewards[0] <= y <= rewards[1]


def test_of_a_single_private_coordinate_no_two_rows_on_a_grid_are_farther_apart() -> None:
    config = tacit.LocalLinUCB(dim=1, epsilon=1.0, delta=1e-5, horizon=10, reward_low=-0.3, reward_high=0.6)
    found = np.linalg.norm(local.difference(config, local.farthest_rows(config)))
    x, y = (grid.ravel() for grid in np.meshgrid(np.linspace(-1, 1, 41), np.linspace(-0.3, 0.6, 10)))
    written = np.stack([x * x, x * y], axis=1)
    widest = np.linalg.norm(written[:, None] - written[None], axis=2).max()
    assert widest <= found * (1 + 1e-9) <= config.sensitivity * (1 + 1e-8)


def test_rows_beyond_the_bounds_are_written_like_those_at_the_bounds() -> None:
    config = FORMS[7]
    attack: Any = local.attacks(config)[0]
    rows = local.farthest_rows(config)
    for script, row in zip(attack.sampler.scripts, rows, strict=True):
        x, y = script.offers[0, 0], script.rewards[0]
        assert np.linalg.norm(x) > 10 * config.action_norm
        report = np.zeros(attack.sampler.plan.report_size)
        silent = local.scaled(0.0)(attack.sampler.plan.params)
        encode(silent, attack.sampler.plan.view(), x, y, report, stream(0))
        np.testing.assert_allclose(report, local.written(config, row), atol=1e-12)


def test_the_server_asks_for_no_noise_on_top_and_cannot_ask_for_less() -> None:
    config = tacit.OnlineLinUCB(dim=2, epsilon=1.0, delta=1e-5, horizon=1000, lambda_min=0.0)
    sampler: Any = local.attacks(config)[0].sampler
    assert config.perturbation > 0
    assert sampler.plan.params.perturbation.max() == 0
    assert sampler.plan.view().perturbation[0] == 0
    assert sampler.plan.params.scale == config.plan().params.scale


def test_later_actions_are_attacked_unless_the_plan_ends_before_them() -> None:
    short = tacit.LocalLinUCB(dim=2, epsilon=1.0, delta=1e-5, horizon=2, person_rounds=2)
    assert [attack.observed for attack in local.attacks(short)] == [REPORT]
    assert [attack.observed for attack in local.attacks(FORMS[0])] == [REPORT, ACTIONS]


@pytest.mark.parametrize("kind", local.FAMILY.kinds)
def test_a_policy_can_be_named_with_nothing_but_its_promise(kind: Any) -> None:
    promised = {} if kind is tacit.ContextBlind else {"epsilon": 1.0, "delta": 1e-5}
    if kind is tacit.RandomisedResponse:
        promised = {"epsilon": 1.0}
    assert local.attacks(kind(**local.small(kind, promised), **promised))
