"""The law of what live, unseeded programs let out: first views of `start()`, reports of every `device()`, their ids.

Everything here is drawn from the operating system: each check rejects a right law once in 10⁹ (UNSEEDED_LEVEL), and
half the noise always.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.auditing.live import fair
from tacit.core.policy import Policy
from tacit.noise import Binomial, DiscreteLaplace
from tests.offers import report, row_of
from tests.statistics import checks
from tests.statistics.checks import UNSEEDED_LEVEL

from .conftest import LIVE, REPORTING, name
from .runs import axis
from .test_secure_laws import LASTING, Run, plan_for, rows_for

#: Numbers that are enough to tell half the noise from all of it, by 13 deviations.
ENOUGH = 400


def median(law) -> float:
    """What the size of a number of this law exceeds half of the time."""
    return law.scale * math.log(2.0) if isinstance(law, DiscreteLaplace) else 0.6744898 * law.deviation


def fits(noise: np.ndarray, law) -> float:
    """How probable it is that so many numbers are within their median."""
    return checks.share(int(np.count_nonzero(np.abs(noise) <= median(law))), noise.size, 0.5)


def first_release(config: Policy, quiet: np.ndarray, rows: int) -> np.ndarray:
    """The noise in the first release of a learner as it is started for people."""
    learner, run = config.start(), Run(config, np.zeros(4))
    for number in range(rows):
        x = row_of(config, learner._session.view, axis(config, number))
        learner._learn(np.ascontiguousarray(x), 0.25, None)
    assert learner.view.stage[0] >= 1
    run.vault, run.view = learner._session.vault, learner._session.view
    return run._numbers(x) - quiet


@pytest.mark.parametrize("config", LASTING, ids=name)
def test_the_first_view_of_a_live_learner_has_the_noise_of_its_plan(config):
    rows = rows_for(config, 1)
    run = Run(config, np.zeros(10**4))
    for number in range(rows):
        run.feed(row_of(config, run.view, axis(config, number)), 0.25)
    quiet, law = run.released[0], plan_for(config).law
    noise: list[np.ndarray] = []
    while sum(part.size for part in noise) < ENOUGH:
        noise.append(first_release(config, quiet, rows))
    found = np.concatenate(noise)
    assert (found == np.rint(found)).all()
    assert fits(found, law) > UNSEEDED_LEVEL
    assert fits(0.5 * found, law) < UNSEEDED_LEVEL


LIVE_REPORTING = [config for config in REPORTING if config in LIVE]


def residuals(config: Policy, reports: int) -> np.ndarray:
    """Noise of the reports of a live device, in steps: of the reward, or of the first product, whose exact number is
    known. A perturbation that a view asks for is on top of it elsewhere."""
    plan, device = config.plan("secure"), config.device(limit=reports)
    reported = plan.report
    nothing = min(max(0.0, reported.reward_low), reported.reward_high)
    values = np.array([report(device, config, np.zeros(config.dim), nothing)["values"] for _ in range(reports)])
    if reported.kind == "counts":
        noise = reported.noise
        return values[:, 0] - noise["offset"] / noise["step"] - noise["ones"] * noise["probability"]
    step = reported.noise["step"]
    place, exact = (config.dim, nothing) if reported.kind == "xy" else (0, 0.0)
    return np.rint(values[:, place] / step) - np.rint(exact / step)


@pytest.mark.parametrize("config", LIVE_REPORTING, ids=name)
def test_reports_of_a_live_device_have_the_noise_of_its_plan(config):
    plan = config.plan("secure")
    law = plan.device_law or plan.law
    found = residuals(config, ENOUGH)
    if not isinstance(law, Binomial):
        assert fits(found, law) > UNSEEDED_LEVEL
    else:  # a count is within its median for a step more or less, and rounded by one
        share = np.mean(np.abs(found) <= median(law))
        assert 0.3 < share < 0.7
        assert np.std(found) > 0.7 * law.deviation
    assert fits(0.5 * found, law) < UNSEEDED_LEVEL


@pytest.mark.parametrize("config", LIVE_REPORTING[:2], ids=name)
def test_ids_of_live_reports_say_nothing_of_the_row(config):
    """Every bit is a fair coin, whatever the reward is, and no two ids are equal; a last digit that tells a sign is
    found out."""
    count = 800
    for reward in (-1.0, 1.0):
        device = config.device(limit=count)
        ids = tuple(device.report(np.full(config.dim, 0.3 * reward), reward)["id"] for _ in range(count))
        assert all(len(one) == 32 for one in ids)
        chances = fair(ids)
        assert len(chances) * chances.min() > UNSEEDED_LEVEL
    telling = tuple(one[:-1] + f"{int(one[-1], 16) // 2 * 2 + 1:x}" for one in ids)
    assert fair(telling).min() < UNSEEDED_LEVEL / len(chances)
    assert fair((*ids, ids[0])).min() == 0
