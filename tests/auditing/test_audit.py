"""`tacit.audit` as its users meet it: verdicts, words, records, refusals."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import tacit
from tacit.auditing import run as auditing
from tacit.auditing.attack import Attack, Claim, Twin
from tacit.auditing.families import all_forms, families
from tacit.auditing.result import Audit
from tacit.auditing.scores import linear
from tacit.errors import BadInput, Interrupted
from tacit.policies.catalogue import CATALOGUE, FUNCTIONS
from tacit.privacy.audited import Audited
from tacit.privacy.scope import Trust
from tests.auditing.common import Normal, gaussian_claim

CLAIM = gaussian_claim(1.0, 1e-5)


def judged(mu: float, *twins: float, runs: int = 20_000, claim: Claim = CLAIM, **options: object) -> Audit:
    """An audit of a Gaussian of this μ, with twins of these."""

    def twin(worse: float) -> Twin:
        return Twin(f"mu {worse}", "wrong", lambda attack: dataclasses.replace(attack, sampler=Normal(worse)))

    attack = Attack("numbers", Normal(mu), "0 or mu", linear)
    return auditing.attack_all(
        "normal", claim, [attack], [twin(worse) for worse in twins], promised="epsilon = 1", runs=runs,
        progress=False, threads=1, **options,
    )  # fmt: skip


def test_every_private_policy_of_the_catalogue_is_attacked() -> None:
    private = {kind for kind in [*CATALOGUE.values(), *FUNCTIONS.values()] if kind.trust is not Trust.NONE}
    assert {kind for family in families() for kind in family.kinds} == private
    assert {type(form) for form in all_forms()} == private


def test_every_family_has_twins_for_all_its_forms() -> None:
    for family in families():
        for form in family.forms():
            assert family.twins(form), form


def test_what_keeps_its_promise_is_consistent() -> None:
    found = judged(CLAIM.mu, 2 * CLAIM.mu)
    assert found.verdict == "consistent"
    assert "1 broken twins were all found out" in found.sentence()


def test_what_breaks_it_is_found_out() -> None:
    found = judged(3 * CLAIM.mu)
    assert found.verdict == "violated"
    assert "where 1.000 was promised" in found.sentence()
    assert f"epsilon >= {found.lower_bound:.3f}" in found.sentence()  # of two bounds the one that it says it is
    assert "without any assumption" in found.sentence()
    little = judged(1.3 * CLAIM.mu, runs=20_000)
    assert little.lower_bound < 1 < little.gaussian_lower_bound
    assert f"epsilon >= {little.gaussian_lower_bound:.3f}" in little.sentence()
    assert "without any assumption" not in little.sentence()


def test_a_twin_that_survives_leaves_the_audit_without_power() -> None:
    found = judged(CLAIM.mu, CLAIM.mu)
    assert found.verdict == "not audited with power"
    assert "a broken twin was not found out: mu" in found.sentence()


def test_too_few_runs_are_said_to_be_too_few() -> None:
    found = judged(CLAIM.mu, runs=200)
    assert found.verdict == "not audited with power"
    assert "3,000 runs would be needed" in found.sentence() or "runs would be needed" in found.sentence()
    enough = judged(CLAIM.mu, runs=found.runs_needed())
    assert enough.within_reach >= 0.5


def test_a_delta_too_small_for_any_power_is_said_to_be() -> None:
    """Of (ε, δ) with tiny ε nothing can be shown, with however many runs."""
    tiny = gaussian_claim(1e-6, 1e-9)
    found = judged(tiny.mu, claim=tiny, runs=1000)
    assert found.verdict == "not audited with power"
    assert "no number of runs that is practical" in found.sentence()


def test_the_record_and_the_json_say_the_same(tmp_path: object) -> None:
    found = judged(CLAIM.mu, 2 * CLAIM.mu)
    facts = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    record = Audited.from_dict(facts["record"])
    assert record == found.record
    assert record.caught == record.twins
    assert (record.seed, record.version) == (0, tacit.__version__)
    assert sum(facts["findings"][0]["scores"]["first"]) == found.runs


def test_the_text_fits_a_terminal() -> None:
    lines = judged(CLAIM.mu, 2 * CLAIM.mu).text().splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[-2].startswith(("refute", "CONSISTENT"))


def test_the_figure_shows_both_distributions(tmp_path) -> None:
    path = tmp_path / "audit.png"
    figure = judged(CLAIM.mu).plot(path)
    assert path.stat().st_size > 5000
    assert {text.get_text() for text in figure.axes[0].get_legend().get_texts()} >= {"first input", "second input"}


def test_ctrl_c_says_that_half_an_audit_is_none() -> None:
    class Pressed(Normal):
        def sample(self, *_: object) -> np.ndarray:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="half an audit says nothing"):
        auditing.attack_all(
            "normal", CLAIM, [Attack("numbers", Pressed(0.0), "")], promised="epsilon = 1", runs=500, progress=False
        )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"runs": 99}, "Expected runs >= 100"),
        ({"confidence": 1.0}, "Expected 0 < confidence < 1"),
        ({"seed": -1}, "Expected seed >= 0"),
        ({"twins": 1}, "Expected twins to be True or False"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        tacit.audit(tacit.JointLinUCB(dim=2, epsilon=1.0, delta=1e-5, views=2), **options)


def test_a_policy_without_a_promise_has_nothing_to_refute() -> None:
    with pytest.raises(BadInput, match="linucb, which promises nothing"):
        tacit.audit(tacit.LinUCB(dim=2))
