"""Every form of every private policy, and every broken twin of it, at test strength."""

from __future__ import annotations

import pytest

import tacit
from tacit.auditing.catalogue import audit_all
from tacit.auditing.families import all_forms
from tacit.auditing.result import Audit
from tacit.auditing.run import audit

FORMS = all_forms()
#: No form is refuted wrongly in all of them together, but for one chance in a thousand.
CONFIDENCE = 1 - 0.001 / len(FORMS)
SEEDS = range(10)


def name(config) -> str:
    """What a test calls a form: its policy, and which of its forms it is."""
    mine = [form for form in FORMS if form.slug == config.slug]
    return f"{config.slug}-{mine.index(config)}"


def claims_too_much(found: Audit) -> bool:
    """Whether the accountant itself says that the promise is not kept: some published constants do not."""
    return found.accounted is not None and found.accounted > found.claim.epsilon * (1 + 1e-9)


def kind_of(form) -> tuple[object, ...]:
    """What machine code it runs, and with which kind of noise."""
    options = ("releases", "noise", "mechanism", "mode", "protocol", "batch", "learner", "form", "protects_contexts")
    chosen = (getattr(form, option, None) for option in options)
    windowed = getattr(form, "window", None) is not None
    return form.slug, windowed, *chosen


KINDS = [kind_of(form) for form in FORMS]


#: Audits of ten seconds and more, of forms that share a mechanism with a shorter one.
SLOW = {
    *("joint-linucb-4", "joint-linucb-5", "joint-linucb-9", "renyi-oful-1", "renyi-oful-4", "shuffle-linucb-0"),
    *("shuffle-linucb-2", "shuffle-linucb-5", "shuffle-linucb-6", "successive-elimination-0", "usca-0", "usca-3"),
    "feature-linucb-2",
}


#: Of forms that differ from an earlier one in numbers only, the audit belongs to the long suite.
MARKED = [
    pytest.param(form, marks=pytest.mark.long if kind in KINDS[:place] or name(form) in SLOW else (), id=name(form))
    for place, (form, kind) in enumerate(zip(FORMS, KINDS, strict=True))
]


@pytest.mark.parametrize("config", MARKED)
def test_a_promise_is_not_refuted_and_its_broken_twins_are(config) -> None:
    found = audit(config, runs=20_000, confidence=CONFIDENCE, seed=1, as_it_is=True, progress=False, threads=1)
    assert claims_too_much(found) or found.verdict == "consistent", found.text()
    assert [twin.name for twin in found.twins if not twin.caught] == []


@pytest.mark.long
@pytest.mark.parametrize("config", FORMS, ids=name)
def test_no_promise_that_is_kept_is_refuted_in_ten_audits(config) -> None:
    """Family-wise over catalogue, seeds and observables: one chance in a thousand."""
    for seed in SEEDS:
        confidence = 1 - 0.001 / (len(FORMS) * len(SEEDS))
        found = audit(
            config, runs=100_000, confidence=confidence, seed=seed, twins=False, as_it_is=True, progress=False
        )
        assert claims_too_much(found) or not found.violated, found.text()


def test_an_audit_of_everything_goes_on_where_it_was_stopped(tmp_path) -> None:
    forms = [tacit.JointLinUCB(dim=2, epsilon=1.0, delta=1e-5, releases="tree", horizon=horizon) for horizon in (2, 4)]
    options = {"runs": 1000, "twins": False, "progress": False, "output": tmp_path}
    said: list[str] = []

    def stop_after_one(line: str) -> None:
        said.append(line)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit_all(forms, say=stop_after_one, **options)
    found = audit_all(forms, say=said.append, **options)
    assert [line.endswith("(done before)") for line in said] == [False, True, False]
    fresh = audit_all(forms, **{**options, "output": None})
    assert [one["findings"] for one in found.found] == [one["findings"] for one in fresh.found]
    assert found.text().count("joint-linucb") == 2
    # Another number of runs is another audit.
    said.clear()
    audit_all(forms[:1], say=said.append, **{**options, "runs": 1100})
    assert not said[0].endswith("(done before)")


def test_a_long_configuration_is_attacked_in_a_shorter_form_of_the_same_promise() -> None:
    config = tacit.JointLinUCB(dim=2, epsilon=1.0, delta=1e-5, releases="tree", horizon=100_000, reward_low=0.0)
    found = audit(config, runs=200, twins=False, progress=False)
    assert found.settings == {**config.to_dict(), "horizon": 8, "sampler": "secure"}
    assert found.notes[0].endswith("horizon=8 for 100,000.")
    assert "shorter form" in found.text()
    whole = audit(config, runs=200, twins=False, as_it_is=True, progress=False)
    assert whole.settings == {**config.to_dict(), "sampler": "secure"}
    assert not whole.notes
