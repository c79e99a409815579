"""Attacks on secure noise: the machine code of a lattice, with rounded normal numbers for what OpenDP would draw."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

import tacit
from tacit.auditing.attacks import episodes, joint
from tacit.auditing.catalogue import audit_all
from tacit.auditing.families import all_forms, secure_forms
from tacit.auditing.run import ROUNDED, audit
from tacit.auditing.script import with_noise
from tacit.errors import BadInput, NoSecureSampler

#: How many forms have a secure sampler. To find them takes seconds, which collecting tests should not.
COUNT = 19
#: The first form of each policy; the others belong to the long suite.
FIRST = (0, 8, 11, 12, 16)
#: No form is refuted wrongly in all of them together, but for one chance in a thousand.
CONFIDENCE = 1 - 0.001 / COUNT
POINT = {"epsilon": 1.0, "delta": 1e-5}

forms = cache(secure_forms)


def test_every_policy_with_a_secure_sampler_is_attacked() -> None:
    assert len(forms()) == COUNT
    assert [forms()[place].slug for place in FIRST] == [
        "joint-linucb",
        "renyi-ucb",
        "renyi-gope",
        "renyi-oful",
        "linpriv",
    ]
    assert {form.slug for form in forms()} == {*(forms()[place].slug for place in FIRST), "episodic"}
    assert set(forms()) < set(all_forms())


@pytest.mark.parametrize(
    "place", [pytest.param(place, marks=[] if place in FIRST else [pytest.mark.long]) for place in range(COUNT)]
)
def test_a_promise_is_not_refuted_and_its_broken_twins_are(place) -> None:
    config = forms()[place]
    found = audit(
        config, runs=20_000, confidence=CONFIDENCE, seed=1, as_it_is=True, noise="secure", progress=False, threads=1
    )
    assert found.verdict == "consistent", found.text()
    assert [twin.name for twin in found.twins if not twin.caught] == []
    assert found.settings["sampler"] == "secure"
    assert found.notes[0] == ROUNDED


def test_what_is_drawn_is_whole_numbers_of_the_planned_scale() -> None:
    """The released total of an episode, in steps above the least there is. Its variance is off by 5 deviations once in
    a million seeds."""
    config = tacit.RenyiUCB(arms=2, **POINT)
    plan = config.plan("secure")
    sampler = episodes.attacks(config, "secure")[0].sampler
    steps = sampler.sample(0, 20_000, 3, ())[:, 0] / plan.params.step
    np.testing.assert_allclose(steps, np.rint(steps), rtol=0, atol=1e-3)
    assert abs(np.var(steps) / plan.lattice_scale**2 - 1) < 5 * np.sqrt(2 / 20_000)
    # The twin in double precision draws another number of steps and a fraction of one.
    plain = episodes.attacks(config)[0].sampler.sample(0, 1000, 3, ())[:, 0] / plan.params.step
    assert np.mean(np.abs(plain - np.rint(plain)) < 1e-3) < 0.1


def test_a_twin_has_less_noise_on_a_lattice_too() -> None:
    config = tacit.JointLinUCB(dim=2, views=8, **POINT)
    attack = joint.attacks(config, "secure")[0]
    halved = with_noise(0.5, lambda factor: pytest.fail("the scale is not among the params"))(attack)
    assert halved.sampler.plan.lattice_scale == 0.5 * attack.sampler.plan.lattice_scale
    whole, half = (np.std(one.sampler.sample(0, 4000, 5, ())[:, 0]) for one in (attack, halved))
    assert half == pytest.approx(0.5 * whole, rel=0.1)


def test_the_same_seed_gives_the_same_audit_on_any_number_of_threads() -> None:
    config = tacit.RenyiUCB(arms=2, **POINT)
    options = {"runs": 2000, "seed": 4, "twins": False, "noise": "secure", "progress": False}
    one, two = (audit(config, threads=threads, **options) for threads in (1, 2))
    assert [finding.forward for finding in one.findings] == [finding.forward for finding in two.findings]


@pytest.mark.parametrize(
    "config",
    [
        tacit.LocalLinUCB(dim=2, horizon=100, **POINT),
        tacit.LaplaceUCB(arms=2, epsilon=1.0),
        tacit.JointLinUCB(dim=2, horizon=8, releases="tree", calibration="published", **POINT),
        None,
    ],
    ids=["local", "laplace", "published", "functions"],
)
def test_what_has_no_secure_sampler_is_refused(config) -> None:
    config = config or next(form for form in all_forms() if form.slug == "usca")
    with pytest.raises(NoSecureSampler, match="secure"):
        audit(config, noise="secure", progress=False)
    with pytest.raises(NoSecureSampler, match="secure"):
        config.card(noise="secure")


def test_an_unknown_sampler_is_refused() -> None:
    config = tacit.RenyiUCB(arms=2, **POINT)
    for ask in (audit, lambda config, noise: audit_all([config], noise=noise)):
        with pytest.raises(BadInput, match="Expected noise to be one of 'float', 'secure', got noise='discrete'"):
            ask(config, noise="discrete")


def test_an_audit_of_everything_keeps_the_two_samplers_apart(tmp_path) -> None:
    forms, said = [tacit.RenyiUCB(arms=2, **POINT)], []
    options = {"runs": 1000, "twins": False, "progress": False, "output": tmp_path, "say": said.append}
    for noise in ("float", "secure", "secure"):
        found = audit_all(forms, noise=noise, **options)
    assert [line.endswith("(done before)") for line in said] == [False, False, True]
    assert "secure" in found.text()


def test_a_card_says_whether_the_audit_was_of_its_own_sampler() -> None:
    config = tacit.RenyiUCB(arms=2, **POINT)
    options = {"runs": 1000, "twins": False, "as_it_is": True, "progress": False}
    records = {noise: audit(config, noise=noise, **options).record for noise in ("float", "secure")}
    for noise, other in (("float", "secure"), ("secure", "float")):
        card = config.card(noise=noise)
        assert card.with_audit(records[noise]).audit_differences == ()
        (difference,) = card.with_audit(records[other]).audit_differences
        assert difference.setting == "sampler"
        assert "sampler" in card.with_audit(records[other]).text()


def test_the_forms_are_the_same_configurations() -> None:
    """`sampler` is a word of cards and audits: a configuration has none, and does not change with it."""
    assert all("sampler" not in {field.name for field in dataclasses.fields(form)} for form in forms())
