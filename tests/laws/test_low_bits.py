"""The last bits of what is released: in doubles they tell the exact number for certain, on a lattice they never do.

What is attacked is the live, unseeded program as it is used: `start()` and `device()`. The twin is the same plan in
doubles, with a seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import JointLinUCB, LaplaceUCB, LocalLinUCB, OnlineLinUCB, RenyiUCB, ShuffleLinUCB, audit
from tacit.auditing.low_bits import ruled_out
from tacit.core.policy import Policy
from tacit.core.session import Session

POINT = {"epsilon": 1.0, "delta": 1e-6}
X = np.array([0.3, -0.5, 0.1, 0.7, 0.2])
X /= np.linalg.norm(X)
LOCAL = {"dim": 5, "horizon": 10**7, **POINT}
REPORTS = {
    "gram": LocalLinUCB(**LOCAL, reward_low=0.0),
    "xy": OnlineLinUCB(dim=5, lambda_min=0.1, horizon=10**7, reward_low=0.0, **POINT),
    "mixed": ShuffleLinUCB(**LOCAL, protocol="amplification", batch=100, reward_low=0.0),
}
SUMS: dict[str, Any] = {
    "tree": JointLinUCB(dim=5, releases="tree", horizon=2**20, **POINT),
    "gaussian totals": RenyiUCB(arms=2, **POINT),
    "laplace totals": LaplaceUCB(arms=2, epsilon=1.0),
}


def reports(config: Policy, count: int, sampler: str, reward: float) -> tuple[np.ndarray, float]:
    """The numbers of so many reports that are made with the reward, and the step of their lattice."""
    if sampler == "secure":
        device = config.device(limit=count)
        made = np.array([device.report(X, reward)["values"] for _ in range(count)])
    else:
        session = Session(config.plan(), config.dim, seed=1)
        made = np.empty((count, len(session.report)))
        for place in range(count):
            session.prepare_encode(session.view, X, reward)
            assert session.encode(session.view, X, reward)
            made[place] = session.report
    last = made[:, -1:] if config is REPORTS["xy"] else made[:, -len(X) :]
    return last, config.plan(sampler).report.noise["step"] if sampler == "secure" else 0.0


def exact_rewards(config: Policy, reward: float) -> np.ndarray:
    return np.array([reward]) if config is REPORTS["xy"] else X * reward


def claims(config: Policy, count: int, sampler: str) -> tuple[int, int]:
    """Of reports without a click: how often a click is ruled out for certain, and no click, which would be wrong."""
    seen, step = reports(config, count, sampler, 0.0)
    clicked, not_clicked = (ruled_out(seen, exact_rewards(config, reward), step).any(axis=1) for reward in (1.0, 0.0))
    return int(clicked.sum()), int(not_clicked.sum())


COUNTS = [10_000, pytest.param(200_000, marks=pytest.mark.long)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("config", REPORTS.values(), ids=REPORTS)
def test_the_last_bits_of_a_report_rule_nothing_out(config, count):
    assert claims(config, count, "secure") == (0, 0)


@pytest.mark.parametrize("config", REPORTS.values(), ids=REPORTS)
def test_in_doubles_they_rule_a_click_out_for_certain(config):
    """The twin. In a report of five features it was 3.8 % of those without a click."""
    certain, wrong = claims(config, 10_000, "double")
    assert certain > 50
    assert wrong == 0


def totals(config: Policy, count: int, sampler: str, reward: float) -> tuple[np.ndarray, np.ndarray, float]:
    """First releases of so many learners whose first reward this is: what is published, exact numbers, and the step."""
    plan, found = config.planned(sampler), []
    tree = isinstance(config, JointLinUCB)
    for place in range(count):
        learner = config.start(**({} if sampler == "secure" else {"seed": place}))
        learner.learn(X if tree else learner.choose(), reward)
        session = learner._session
        if tree:
            row = (
                session.vault.memory[-2] * plan.params.counter.lattice.steps
                if sampler == "secure"
                else _published(session)
            )
            found.append(row[-len(X) :])
        else:
            assert session.view.stage[0] == 1
            found.append(session.view.totals[:1] if session.view.totals[0] else session.view.totals[1:])
    step = 0.0
    if sampler == "secure":
        step = float(plan.params.counter.lattice.steps[-1]) if tree else float(plan.params.step)
    return np.array(found), X * reward if tree else np.array([reward]), step


def _published(session: Session) -> np.ndarray:
    """In doubles the tree's memory is noise alone: what is published is that and the exact sums."""
    return session.vault.memory[0] + session.vault.sums


@pytest.mark.parametrize("config", SUMS.values(), ids=SUMS)
def test_the_last_bits_of_a_release_rule_nothing_out(config):
    seen, _, step = totals(config, 1000, "secure", 0.0)
    assert not ruled_out(seen, 0.0, step).any()


@pytest.mark.parametrize("config", SUMS.values(), ids=SUMS)
def test_in_doubles_they_rule_a_reward_out_for_certain(config):
    seen, exact, _ = totals(config, 2000, "double", 0.0)
    other = X if isinstance(config, JointLinUCB) else np.array([1.0])
    assert not ruled_out(seen, exact).any()
    assert ruled_out(seen, other).any(axis=1).sum() > 2


def test_the_audit_looks_at_last_bits_and_finds_doubles_out():
    """One of its attacks is on them, and refutes noise in doubles on a promise that exact noise keeps."""
    config = LocalLinUCB(dim=2, horizon=1000, epsilon=1.0, delta=1e-5)
    options = {"runs": 20_000, "twins": False, "seed": 1, "progress": False}
    exact, doubles = (audit(config, sampler=sampler, **options) for sampler in ("secure", "double"))
    assert [finding.observed for finding in exact.findings][-1] == "last bits"
    assert exact.verdict == "not audited with power" or exact.verdict == "consistent"
    assert doubles.verdict == "violated"
