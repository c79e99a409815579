"""Attacks on noise as people get it: whole numbers on a lattice, from the exact sampler."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import tacit
from tacit.auditing.attacks import episodes, joint
from tacit.auditing.catalogue import audit_all
from tacit.auditing.families import all_forms, secure_forms
from tacit.auditing.run import audit
from tacit.auditing.script import with_noise
from tacit.errors import BadInput, NoSecureSampler

POINT = {"epsilon": 1.0, "delta": 1e-5}


def test_what_people_get_is_what_is_attacked() -> None:
    """Every form that can be put to work is attacked as it is drawn then; only masks of Wishart are not."""
    only_simulated = set(all_forms()) - set(secure_forms())
    assert {form.slug for form in only_simulated} <= {"joint-linucb", "usca", "feature-linucb"}
    assert all(form.noise.startswith("wishart") for form in only_simulated if form.slug == "joint-linucb")
    found = audit(tacit.RenyiUCB(arms=2, **POINT), runs=1000, twins=False, progress=False)
    assert found.settings["sampler"] == "secure"


def test_what_is_drawn_is_whole_numbers_of_the_planned_scale() -> None:
    """The released total of an episode, in steps above the least there is. Its variance is off by 5 deviations once in
    a million seeds."""
    config = tacit.RenyiUCB(arms=2, **POINT)
    plan = config.plan("secure")
    sampler = episodes.attacks(config, "secure")[0].sampler
    steps = sampler.sample(0, 20_000, 3, ())[:, 0] / plan.params.step
    np.testing.assert_allclose(steps, np.rint(steps), rtol=0, atol=1e-3)
    assert abs(np.var(steps) / plan.law.scale**2 - 1) < 5 * np.sqrt(2 / 20_000)
    # The twin in double precision draws another number of steps and a fraction of one.
    plain = episodes.attacks(config)[0].sampler.sample(0, 1000, 3, ())[:, 0] / plan.params.step
    assert np.mean(np.abs(plain - np.rint(plain)) < 1e-3) < 0.1


def test_a_twin_has_less_noise_on_a_lattice_too() -> None:
    config = tacit.JointLinUCB(dim=2, views=8, **POINT)
    attack = joint.attacks(config, "secure")[0]
    halved = with_noise(0.5, lambda factor: pytest.fail("the scale is not among the params"))(attack)
    assert halved.sampler.plan.law.scale == 0.5 * attack.sampler.plan.law.scale
    whole, half = (np.std(one.sampler.sample(0, 4000, 5, ())[:, 0]) for one in (attack, halved))
    assert half == pytest.approx(0.5 * whole, rel=0.1)


def test_the_same_seed_gives_the_same_audit_on_any_number_of_threads() -> None:
    config = tacit.RenyiUCB(arms=2, **POINT)
    options = {"runs": 2000, "seed": 4, "twins": False, "sampler": "secure", "progress": False}
    one, two = (audit(config, threads=threads, **options) for threads in (1, 2))
    assert [finding.forward for finding in one.findings] == [finding.forward for finding in two.findings]


def test_what_can_only_be_simulated_is_refused() -> None:
    config = tacit.JointLinUCB(
        dim=2, epsilon=1.0, delta=0.1, horizon=8, releases="tree", calibration="published", noise="wishart"
    )
    with pytest.raises(NoSecureSampler, match="simulation only"):
        audit(config, sampler="secure", progress=False)
    with pytest.raises(NoSecureSampler, match="simulation only"):
        config.card(sampler="secure")


def test_an_unknown_sampler_is_refused() -> None:
    config = tacit.RenyiUCB(arms=2, **POINT)
    for ask in (audit, lambda config, sampler: audit_all([config], sampler=sampler)):
        with pytest.raises(BadInput, match="Expected sampler to be one of 'secure', 'double', got sampler='discrete'"):
            ask(config, sampler="discrete")


def test_an_audit_of_everything_keeps_the_two_samplers_apart(tmp_path) -> None:
    forms, said = [tacit.RenyiUCB(arms=2, **POINT)], []
    options = {"runs": 1000, "twins": False, "progress": False, "output": tmp_path, "say": said.append}
    for sampler in ("double", "secure", "secure"):
        found = audit_all(forms, sampler=sampler, **options)
    assert [line.endswith("(done before)") for line in said] == [False, False, True]
    assert "secure" in found.text()


def test_a_card_says_whether_the_audit_was_of_its_own_sampler() -> None:
    config = tacit.RenyiUCB(arms=2, **POINT)
    options = {"runs": 1000, "twins": False, "as_it_is": True, "progress": False}
    records = {sampler: audit(config, sampler=sampler, **options).record for sampler in ("double", "secure")}
    for sampler, other in (("double", "secure"), ("secure", "double")):
        card = config.card(sampler=sampler)
        assert card.with_audit(records[sampler]).audit_differences == ()
        (difference,) = card.with_audit(records[other]).audit_differences
        assert difference.setting == "sampler"
        assert "sampler" in card.with_audit(records[other]).text()


def test_the_forms_are_the_same_configurations() -> None:
    """`sampler` is a word of cards and audits: a configuration has none, and does not change with it."""
    assert all("sampler" not in {field.name for field in dataclasses.fields(form)} for form in all_forms())
