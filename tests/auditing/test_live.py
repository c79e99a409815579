"""The attack on the live program: it finds a right one right, and wrong ones wrong where kernels see nothing.

Live programs cannot be seeded: a right one is found wrong once in 10⁹ checks, and there are five of them in an audit.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

import tacit
from tacit.auditing.claim import claim_of
from tacit.auditing.engine import Work
from tacit.auditing.families import all_forms, families
from tacit.auditing.live import LEVEL, RUNS, live_of, run_live
from tacit.auditing.page import write
from tacit.core import session
from tacit.core.device import Device

POINT = {"epsilon": 1.0, "delta": 1e-5}
JOINT = tacit.JointLinUCB(dim=2, releases="tree", horizon=8, **POINT)
TOTALS = tacit.RenyiUCB(arms=2, **POINT)
LOCAL = tacit.LocalLinUCB(dim=2, horizon=1000, **POINT)
SHUFFLE = tacit.ShuffleLinUCB(dim=2, batch=8, horizon=32, **POINT)
ARMS = tacit.ShuffleLinUCB(arms=2, dim=1, batch=8, horizon=32, honest=0.5, **POINT)
#: A configuration for each face that a live program has.
FACES = {
    "learner": JOINT,
    "totals": TOTALS,
    "device": LOCAL,
    "device and shuffler": SHUFFLE,
    "device and shuffler, arms": ARMS,
    "reports as rows": tacit.OnlineLinUCB(dim=2, **POINT),
    "mixed reports": tacit.ShuffleLinUCB(
        dim=2, protocol="amplification", batch=20, horizon=80, epsilon=0.2, delta=0.1, honest=0.5
    ),
    "choices": tacit.RandomisedResponse(dim=2, epsilon=1.0),
    "a person": tacit.RenyiUCB(arms=2, rho=0.05, reward_low=-1.0, person_rounds=2),
}


def audited(config: object, runs: int = 1000) -> tacit.Audit:
    return tacit.audit(config, runs=runs, twins=False, progress=False, threads=1)


@pytest.mark.parametrize("config", FACES.values(), ids=FACES)
def test_every_audit_attacks_the_live_program_and_a_right_one_is_found_right(config: object) -> None:
    found = audited(config)
    assert found.live is not None
    assert found.live.finding.runs == RUNS
    assert not found.live.seeded
    assert found.live.law > LEVEL
    assert found.live.wrong == ()
    assert not found.violated


@pytest.mark.parametrize("form", [family.forms()[0] for family in families()], ids=lambda form: form.slug)
def test_there_is_a_live_program_behind_every_family(form: object) -> None:
    family = next(family for family in families() if isinstance(form, family.kinds))
    sampler = form.sampler()
    live = live_of(form, family.attacks(form, sampler), sampler)
    assert live is not None
    seen = live.play(0, 3, 1)
    assert seen.numbers.shape == live.attack.sampler.sample(0, 3, 1, ()).shape
    assert not np.array_equal(seen.numbers, live.play(0, 3, 1).numbers) or len(np.unique(seen.numbers)) <= 2


def test_noise_that_can_only_be_simulated_is_attacked_with_seeds() -> None:
    form = next(form for form in all_forms() if getattr(form, "noise", "") == "wishart")
    family = next(family for family in families() if isinstance(form, family.kinds))
    live = live_of(form, family.attacks(form), "double")
    assert live is not None
    assert live.seeded
    assert np.array_equal(live.play(0, 2, 5).numbers, live.play(0, 2, 5).numbers)


@pytest.mark.long
@pytest.mark.parametrize("form", families()[-1].forms(), ids=lambda form: form.slug)
def test_live_learners_of_functions_have_the_law_that_is_attacked(form: object) -> None:
    live = live_of(form, families()[-1].attacks(form, "secure"), "secure")
    with Work(0, 1, False) as work:
        assert not run_live(work, live, claim_of(form), 0, (9,)).refuted


# Twins: live programs that are wrong while the kernels are right ------------------------------------------------------


def laid(change: Callable[[np.ndarray], np.ndarray]) -> Callable[..., None]:
    """A tape that is refilled with other numbers than it should be."""
    honest = session.refill

    def refill(source: object, normals: int, uniforms: int, law: object) -> None:
        before = source.normals.copy()
        honest(source, normals, uniforms, law)
        new = ~((before == source.normals) | np.isnan(source.normals))
        source.normals[new] = change(source.normals[new])

    return refill


def halved(numbers: np.ndarray) -> np.ndarray:
    return np.rint(0.5 * numbers)


def wrong(config: object) -> tacit.Audit:
    """The audit, which is violated, and by the live program alone."""
    found = audited(config)
    assert found.verdict == "violated"
    assert not any(finding.refuted for finding in found.findings)
    assert "live program" in found.sentence()
    assert found.record.verdict == "violated"
    return found


@pytest.mark.parametrize("config", [JOINT, TOTALS, LOCAL], ids=["joint", "totals", "device"])
def test_half_the_noise_in_the_live_program_alone_is_found_out(config, monkeypatch) -> None:
    monkeypatch.setattr(session, "refill", laid(halved))
    assert wrong(config).live.wrong == ("its noise has not the law of its plan",)


@pytest.mark.parametrize("config", [JOINT, LOCAL, SHUFFLE, ARMS], ids=["joint", "device", "shuffle", "arms"])
def test_no_noise_in_the_live_program_is_found_out(config, monkeypatch) -> None:
    monkeypatch.setattr(session, "refill", laid(np.zeros_like))
    assert "its noise has not the law of its plan" in wrong(config).live.wrong


def test_an_id_whose_last_digit_is_the_sign_of_the_reward_is_found_out(monkeypatch) -> None:
    honest = Device.report

    def telling(self: Device, x: object, reward: float) -> dict[str, object]:
        message = honest(self, x, reward)
        return {**message, "id": message["id"][:-1] + ("1" if reward < 0 else "2")}

    monkeypatch.setattr(Device, "report", telling)
    assert wrong(LOCAL).live.wrong == ("its ids are no fair coins",)


def test_a_sampler_with_too_few_heads_is_found_out(monkeypatch) -> None:
    """The answer that is given is the true one, always: the wrong draw."""
    monkeypatch.setattr(tacit.Learner, "choose", lambda self, actions: int(np.argmax(actions[:, 0])))
    wrong(FACES["choices"])


# What is shown --------------------------------------------------------------------------------------------------------


def test_the_live_program_has_a_line_of_its_own_everywhere(tmp_path) -> None:
    found = audited(FACES["choices"])
    name = f"live program, {RUNS} runs"
    for shown in (found.text(), found._repr_html_(), write(found, tmp_path, "tacit audit")[-1].read_text("utf-8")):
        assert name in shown
    facts = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert facts["live"]["name"] == name
    assert facts["live"]["face"] == "learner"
    assert facts["live"]["ids"] is None
    assert "live program" in facts["record"]["observed"]


def test_a_program_that_takes_too_long_is_said_not_to_have_been_attacked(monkeypatch) -> None:
    monkeypatch.setattr("tacit.auditing.live._ROWS", 0)
    found = audited(FACES["choices"])
    assert found.live is None
    assert "No live program was attacked" in " ".join(found.text().split())
    assert "live program" not in found.record.observed
