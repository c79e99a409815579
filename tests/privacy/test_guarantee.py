import json
import math
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tacit.errors import BadInput
from tacit.privacy import Guarantee, Neighbours, Promise, Protects, Trust, Unit, gdp, rdp, round_up
from tacit.privacy.guarantee import short_delta

WARNING = "seeded: no privacy against anyone who knows the seed"


def joint(**changes) -> Guarantee:
    fields = {
        "trust": Trust.JOINT,
        "protects": Protects.EVERYTHING,
        "neighbours": Neighbours.REPLACE_ONE,
        "unit": Unit.round(),
        "mu": Promise(1.0, 1e-6).mu,
        "delta": 1e-6,
    }
    return Guarantee(**(fields | changes))


def test_every_trust_model_has_a_sentence():
    for trust in Trust:
        assert trust.meaning.endswith(".")
        assert trust.meaning.count(".") == 1
    assert Trust("joint") is Trust.JOINT
    assert [str(word) for word in Protects] == ["nothing", "rewards only", "contexts and rewards"]
    assert str(Neighbours.REPLACE_ONE) == "replace one"


def test_units_print_themselves():
    assert str(Unit.round()) == "one round"
    assert str(Unit.person(30)) == "one person with at most 30 rounds"
    assert str(Unit.person(1)) == "one person with at most 1 round"
    for bad in (0, -1, 1.5, None, "3"):
        with pytest.raises(BadInput, match="rounds"):
            Unit.person(bad)


def test_the_sentence_says_everything():
    text = str(joint())
    assert text.startswith(
        "joint DP: contexts and rewards of one round (replace one) are protected with epsilon <= 1.0"
    )
    assert "at delta = 1e-06 (mu = 0.236" in text
    assert "seeded" not in text


def test_the_sentence_says_that_only_rewards_are_protected():
    text = str(joint(trust=Trust.CENTRAL, protects=Protects.REWARDS))
    assert text.startswith("central DP: only the rewards of one round (replace one) are protected with epsilon <= 1.0")
    assert joint(protects=Protects.REWARDS).to_dict()["protects"] == "rewards only"


def test_the_sentence_without_a_delta_gives_mu_only():
    text = str(joint(delta=None))
    assert "epsilon" not in text
    assert "mu = 0.236" in text


def test_currencies_agree_with_the_curve():
    guarantee = joint()
    assert guarantee.private
    assert guarantee.epsilon == gdp.epsilon_at(guarantee.mu, 1e-6)
    assert guarantee.epsilon == pytest.approx(1.0, rel=1e-9)
    assert guarantee.epsilon_at(1e-9) > 1.2
    assert guarantee.delta_at(1.0) == pytest.approx(1e-6, rel=1e-9)
    assert guarantee.rho == rdp.zcdp(guarantee.mu)
    assert guarantee.rdp(3.0) == rdp.rdp(guarantee.mu, 3.0)


def test_a_seed_is_said_in_text_and_json_and_never_silently_dropped():
    seeded = joint().with_seed()
    assert seeded.seeded
    assert not joint().seeded
    assert str(seeded).endswith(WARNING)
    assert seeded.to_dict()["warning"] == WARNING
    assert "warning" not in joint().to_dict()
    assert seeded.with_seed() == seeded


def test_no_privacy_is_said_plainly():
    none = Guarantee.none()
    assert not none.private
    assert none.epsilon is None
    assert none.epsilon_at(1e-6) == math.inf
    assert none.delta_at(1.0) == 1.0
    assert "no privacy" in str(none)
    assert none.with_seed() == none


def test_an_exact_release_is_not_private_whatever_it_is_called():
    guarantee = joint(mu=math.inf)
    assert not guarantee.private
    assert guarantee.epsilon is None
    assert "no privacy" in str(guarantee)


def test_a_finite_price_without_trust_gives_no_epsilon():
    guarantee = Guarantee(Trust.NONE, Protects.NOTHING, Neighbours.NONE, Unit.round(), 0.1, 1e-6)
    assert not guarantee.private
    assert guarantee.epsilon is None
    assert guarantee.epsilon_at(1e-6) == math.inf
    assert guarantee.to_dict()["mu"] is None


@pytest.mark.parametrize("guarantee", [joint(), joint().with_seed(), joint(delta=None), Guarantee.none(), joint(mu=0)])
def test_json_is_standard(guarantee):
    facts = json.loads(json.dumps(guarantee.to_dict(), allow_nan=False))
    assert {"trust", "protects", "neighbours", "unit", "mu", "epsilon", "delta", "seeded"} <= set(facts)
    assert facts["seeded"] is guarantee.seeded
    assert facts["unit"] == "one round"


def test_nothing_released_is_perfectly_private():
    guarantee = joint(mu=0.0)
    assert guarantee.private
    assert guarantee.epsilon == 0.0
    assert "epsilon <= 0 at" in str(guarantee)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"trust": "friendly"}, "trust"),
        ({"protects": None}, "protects"),
        ({"neighbours": "add one"}, "neighbours"),
        ({"unit": 3}, "unit"),
        ({"mu": -1.0}, "mu"),
        ({"mu": math.nan}, "mu"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"seeded": "yes"}, "seeded"),
        ({"trust": Trust.NONE}, "all empty or all given"),
        ({"protects": Protects.NOTHING}, "all empty or all given"),
    ],
)
def test_inconsistent_guarantees_are_refused(changes, word):
    with pytest.raises(BadInput, match=word):
        joint(**changes)


def test_words_may_be_given_as_text():
    assert joint(trust="local", protects="rewards only", neighbours="replace one").trust is Trust.LOCAL


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (1.0, 4, "1.000"),
        (1.0000001, 4, "1.001"),
        (0.1, 3, "0.100"),
        (0.0566, 3, "0.0566"),
        (0.05661, 3, "0.0567"),
        (26.9501, 4, "26.96"),
        (9.9999, 3, "10.0"),
        (99999.5, 4, "100000"),
        (2.5e-7, 2, "2.5e-7"),
        (0.0, 4, "0"),
        (math.inf, 4, "inf"),
    ],
)
def test_rounding_up_examples(value, digits, text):
    assert round_up(value, digits) == text


@given(value=st.floats(0, 1e300), digits=st.integers(1, 17))
@example(value=9.9999999, digits=2)
@example(value=999999.9, digits=3)
@example(value=5e-324, digits=3)
def test_printed_numbers_are_never_below_the_true_value(value, digits):
    text = round_up(value, digits)
    assert Decimal(text) >= Decimal(repr(value))
    assert float(text) >= value
    assert Decimal(text) <= Decimal(repr(value)) * (1 + Decimal(10) ** (1 - digits))


def test_ordinary_rounding_fails_that_check():
    # Broken twin: the usual format rounds to nearest.
    assert float(f"{1.00004:.4g}") < 1.00004


@given(st.floats(1e-300, 0.9))
def test_a_printed_delta_is_never_below_the_true_one(delta):
    assert delta <= float(short_delta(delta)) <= delta * 1.0011


def test_usual_deltas_print_as_people_write_them():
    assert [short_delta(delta) for delta in (0.1, 1e-3, 1e-5, 1e-6, 2.5e-9)] == [
        "0.1",
        "0.001",
        "1e-05",
        "1e-06",
        "2.5e-09",
    ]


@pytest.mark.parametrize("bad", [-1.0, math.nan, None])
def test_only_costs_are_rounded_up(bad):
    with pytest.raises(BadInput):
        round_up(bad, 3)
