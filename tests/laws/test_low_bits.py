"""The last bits of what is released: in doubles they tell the exact number for certain, on a lattice they never do.

What is attacked is the live, unseeded program as it is used, `start()` and `device()`, and, a million numbers of every
policy, the exact sampler in kernels. The twins are noise in doubles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import JointLinUCB, LaplaceUCB, LocalLinUCB, OnlineLinUCB, RenyiUCB, ShuffleLinUCB, audit
from tacit.auditing.attack import LAST_BITS
from tacit.auditing.attacks.last_bits import doubles, last_bits
from tacit.auditing.engine import Work
from tacit.auditing.families import all_forms, family_of
from tacit.auditing.live import live_of
from tacit.auditing.low_bits import certain, ruled_out, told
from tacit.kernels import SquaredExponential
from tacit.policies.usca import USCA

POINT = {"epsilon": 1.0, "delta": 1e-6}
LOCAL = {"dim": 5, "horizon": 10**7, **POINT}
REPORTS = {
    "gram": LocalLinUCB(**LOCAL, reward_low=0.0),
    "xy": OnlineLinUCB(dim=5, lambda_min=0.1, horizon=10**7, reward_low=0.0, **POINT),
    "mixed": ShuffleLinUCB(dim=2, horizon=80, protocol="amplification", batch=20, reward_low=0.0, **POINT),
}
SUMS: dict[str, Any] = {
    "tree": JointLinUCB(dim=5, releases="tree", horizon=2**20, **POINT),
    "arms": JointLinUCB(dim=2, arms=2, releases="geometric", views=8, preparation="none", **POINT),
    "gaussian totals": RenyiUCB(arms=2, **POINT),
    "laplace totals": LaplaceUCB(arms=2, epsilon=1.0),
}
FUNCTION = USCA(
    action_box=((0.0, 1.0),), kernel=SquaredExponential(length_scale=0.3), features=2, reward_bound=1.0, horizon=64,
    tau=0.1, **POINT,
)  # fmt: skip
FORMS = all_forms()
#: Released numbers of each policy in the long suite.
MILLION = 10**6


def attack_on(config: Any, sampler: str) -> Any:
    return last_bits(config, family_of(type(config)).attacks(config, sampler), sampler)


def seen(attack: Any, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Which inputs so many runs on either rule out, in batches as an audit has them."""
    with Work(0, 2, False) as work:
        one, two = work.gather(attack, runs, 7, (), lambda found: found[:, 0])
    return one, two


def wrong(one: np.ndarray, two: np.ndarray) -> int:
    """Runs that rule out their own input: no attack on the right numbers does."""
    return int(np.isin(one, (1, 2)).sum() + np.isin(two, (-1, 2)).sum())


# Live programs --------------------------------------------------------------------------------------------------------

RUNS = {**dict.fromkeys(REPORTS, 2000), **dict.fromkeys(SUMS, 200)}
#: One of each kind is enough for every day; `tests/auditing` has an audit of the others.
USUAL = ("gram", "tree", "laplace totals")
SHORT = [pytest.param(name, 1, id=name) for name in USUAL]
LONG = [pytest.param(name, 50, id=f"{name}, 50 times", marks=pytest.mark.long) for name in (*REPORTS, *SUMS)]


@pytest.mark.parametrize(("name", "times"), [*SHORT, *LONG])
def test_the_last_bits_of_a_live_program_rule_nothing_out(name, times):
    config = {**REPORTS, **SUMS}[name]
    attacks = family_of(type(config)).attacks(config, "secure")
    live = live_of(config, attacks, "secure", last_bits(config, attacks, "secure")).bits
    one, two = (live.attack.sampler.told(live.play(world, times * RUNS[name], 0).numbers) for world in (0, 1))
    assert not one.any()
    assert not two.any()


# Kernels --------------------------------------------------------------------------------------------------------------

TWINS = {"gram": REPORTS["gram"], "tree": SUMS["tree"], "laplace totals": SUMS["laplace totals"], "function": FUNCTION}
TWINS_MARKED = [
    pytest.param(config, id=name, marks=pytest.mark.long if name == "tree" else ()) for name, config in TWINS.items()
]


@pytest.mark.parametrize("config", TWINS_MARKED)
def test_in_doubles_they_rule_an_input_out_for_certain(config):
    """The twin. In a report of five features it was 3.8 % of those without a click."""
    one, two = seen(attack_on(config, "double"), 4000)
    assert certain(one, two) > 20
    assert wrong(one, two) == 0


@pytest.mark.parametrize("config", TWINS.values(), ids=TWINS)
def test_noise_that_is_no_whole_number_of_steps_shows_in_every_number(config):
    attack = attack_on(config, "secure")
    (twin,) = doubles(attack)
    one, two = seen(twin.spoil(attack), 200)
    assert min(np.mean(one != 0), np.mean(two != 0)) > 0.9
    assert doubles(attack_on(config, "double")) == ()


def in_short(form: Any) -> str:
    return f"{form.slug}-{FORMS.index(form)}"


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS, ids=in_short)
def test_a_million_released_numbers_of_every_policy_rule_nothing_out(form):
    attack = attack_on(form, form.sampler())
    if attack is None:
        assert not releases_numbers_exactly(form)
        return
    numbers = int(attack.sampler.looked_at.sum()) * attack.sampler.played.summed  # of all reports of a batch
    # A count with 10⁸ ones under it takes a millisecond; the same devices have their million in other forms.
    law = getattr(form.planned(form.sampler()), "device_law", None)
    many = getattr(law, "trials", 0) > 10**6
    runs = -(-MILLION // (2 * numbers * (100 if many else 1)))
    one, two = seen(attack, runs)
    assert not one.any()
    assert not two.any()


def releases_numbers_exactly(form: Any) -> bool:
    """All but answers, draws, and noise that can only be simulated."""
    answers = form.slug in ("randomised-response", "context-blind") or getattr(form, "form", None) == "exact"
    return not answers and form.sampler() == "secure"


# What is counted ------------------------------------------------------------------------------------------------------


def test_a_number_off_its_lattice_is_ruled_out_and_one_without_noise_by_any_difference():
    exact, steps = np.array([3.0, 1.0]), np.array([0.5, 0.0])
    numbers = np.array([[7.5, 1.0], [7.6, 1.0], [7.5, 1.25]])
    assert ruled_out(numbers, exact, steps).tolist() == [[False, False], [True, False], [False, True]]


def test_a_run_counts_as_certain_if_it_rules_out_the_input_that_it_was_not():
    first, second = np.array([False, True, False, True]), np.array([False, False, True, True])
    assert told(first, second).tolist() == [0, 1, -1, 2]
    assert certain(np.array([0.0, 1.0]), np.array([0.0, -1.0])) == 0
    assert certain(np.array([-1.0, 2.0]), np.array([1.0, 2.0])) == 4


def test_sums_that_are_not_rounded_before_their_noise_are_found_out():
    """Noise is whole steps, and what is under it is not: the fraction of a step that is left says which it was."""
    attack = attack_on(FUNCTION, "secure")

    class Unrounded:
        summed, lattice = 1, True

        def always(self, value):
            return Constant(value)

        def sample(self, world, runs, seed, path):
            noise = np.random.default_rng(0).integers(-50, 50, size=(runs, 1))
            return Constant(0.0).sample(world, 1, 0, ()) + 2.0**-10 * noise

    class Constant:
        def __init__(self, value):
            self.value = value

        def sample(self, world, runs, seed, path):
            return np.full((1, 1), (0.3, 0.7)[world] + 2.0**-10 * self.value)

    bits = type(attack.sampler)(Unrounded(), True)
    assert set(bits.sample(0, 100, 0, ())[:, 0]) == {-1.0}
    assert set(bits.sample(1, 100, 0, ())[:, 0]) == {1.0}


def test_the_audit_looks_at_last_bits_and_finds_doubles_out():
    """One of its attacks is on them, and refutes noise in doubles on a promise that exact noise keeps."""
    config = LocalLinUCB(dim=2, horizon=1000, epsilon=1.0, delta=1e-5)
    options = {"runs": 20_000, "seed": 1, "progress": False}
    exact, plain = (audit(config, sampler=sampler, **options) for sampler in ("secure", "double"))
    assert exact.findings[-1].observed == plain.findings[-1].observed == LAST_BITS
    assert exact.verdict == "consistent"
    assert exact.findings[-1].certain == exact.live.certain == 0
    assert "noise in doubles" in exact.record.caught
    assert "for certain in 0 of" in exact.text()
    assert plain.verdict == "violated"
    assert plain.findings[-1].certain > 20
    assert "for certain" in plain.sentence()
