"""`calibration="published"`: the paper's constants, what they truly give, and what cannot be combined with them."""

import math

import numpy as np
import pytest

import tacit
from tacit.errors import BadInput, PrivacyRefusal
from tacit.privacy import TreeEvent, gdp, price

PROMISES = [(1.0, 1e-5), (1.0, 0.1)]
#: Powers of two and others.
HORIZONS = [10**3, 1024, 10**5, 10**5 + 7, 5 * 10**7]


def paper(epsilon=1.0, delta=0.1, horizon=1000, **changes):
    settings = {"dim": 5, "releases": "tree", "calibration": "published"}
    return tacit.JointLinUCB(**(settings | {"epsilon": epsilon, "delta": delta, "horizon": horizon} | changes))


def slots(horizon):
    """m = 1 + ⌈log2 n⌉."""
    return 1 + math.ceil(math.log2(horizon))


# What it truly gives ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize(
    ("delta", "epsilon", "half_digit", "excess"), [(1e-5, 0.0566, 5e-5, 13.8), (0.1, 0.0, 0.0, 13.6)]
)
def test_the_card_leads_with_the_true_epsilon_whatever_the_horizon(horizon, delta, epsilon, half_digit, excess):
    config = paper(1.0, delta, horizon)
    plan, card = config.plan(), config.card()
    assert plan.event.nodes == slots(horizon)
    assert card.true_epsilon == pytest.approx(epsilon, abs=half_digit)
    assert card.keeps_its_claim is True
    assert config.promise.mu / plan.guarantee.mu == pytest.approx(excess, abs=0.05)
    assert any(f"{excess} times the noise" in note for note in plan.notes)
    text = card.text()
    assert text.index("accounted") < text.index("claimed")
    assert "published calibration" in text


def test_counting_released_nodes_only_would_give_less():
    event = paper(1.0, 1e-5, 10**5).plan().event
    fewer = TreeEvent(event.scale, event.sensitivity, event.nodes - 1)
    assert gdp.epsilon_at(price(fewer), 1e-5) == pytest.approx(0.0549, abs=5e-5)


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
def test_it_takes_more_noise_than_the_exact_tree_by_what_the_note_says(epsilon, delta):
    """Per node; the exact tree counts one node less, so its ratio is a little above the note's."""
    horizon = 10**5
    published, exact = paper(epsilon, delta, horizon).plan(), paper(epsilon, delta, horizon, calibration="exact").plan()
    excess = exact.guarantee.mu / published.guarantee.mu
    assert published.noise_scale / exact.noise_scale == pytest.approx(excess * math.sqrt(18 / 17), rel=1e-5)


# Gaussian nodes, by formula --------------------------------------------------------------------------------------


def gaussian_numbers(config):
    """s, Υ and g of Section 4.2."""
    m, d, n, alpha = slots(config.horizon), config.dim, config.horizon, config.failure_probability
    size = config.action_norm**2 + config.reward_high**2  # L̃²
    s = math.sqrt(16 * m * size**2 * math.log(4 / config.delta) ** 2 / config.epsilon**2)
    upsilon = s * math.sqrt(2 * m) * (4 * math.sqrt(d) + 2 * math.log(2 * n / alpha))
    return s, upsilon, math.sqrt(d) + math.sqrt(2 * math.log(2 * n / alpha))


VARIANTS = [
    {},
    {"horizon": 1024, "delta": 1e-5},
    {"horizon": 1025, "epsilon": 3.0, "dim": 2},
    {"action_norm": 2.0, "reward_low": -0.5, "reward_high": 0.5, "parameter_norm": 0.7},
    {"reward_low": -3.0, "reward_high": 3.0, "failure": 0.01, "noise_level": 0.4},
]


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_gaussian_constants_are_those_of_the_paper(changes):
    config = paper(**changes)
    s, upsilon, g = gaussian_numbers(config)
    m = slots(config.horizon)
    params, bounds = config.plan().params, config.regulariser_bounds()
    assert params.counter.scale == pytest.approx(s)
    assert bounds.rho_min == pytest.approx(upsilon)
    assert bounds.rho_max == pytest.approx(3 * upsilon)
    assert bounds.gamma == pytest.approx(s * math.sqrt(m / upsilon) * g)
    found = params.estimate
    assert found.regulariser == pytest.approx(2 * upsilon)
    assert found.repair == pytest.approx(upsilon)
    assert found.bias == pytest.approx(config.parameter_norm * math.sqrt(bounds.rho_max) + bounds.gamma)
    assert found.log_floor == pytest.approx(config.dim * math.log(upsilon))
    assert found.log_term == pytest.approx(2 * math.log(2 / config.failure_probability))
    assert found.noise_level == config.reward_noise_level
    assert found.multiplier == 1.0


def test_gamma_is_divided_by_the_root_of_the_regulariser():
    """Erratum 5: ‖h‖_{H⁻¹} ≤ ‖h‖/√Υ. With the Υ⁻¹ that is printed, vectors of the allowed length would be outside."""
    config = paper()
    s, upsilon, g = gaussian_numbers(config)
    longest = s * math.sqrt(slots(1000)) * g
    norm = math.sqrt(longest**2 / upsilon)  # h along the smallest eigenvalue of H
    assert norm <= config.regulariser_bounds().gamma * (1 + 1e-12)
    assert norm > longest / upsilon


@pytest.mark.parametrize("factor", [0.01, 1.0, 20.0])
def test_a_given_rho_min_moves_the_gaussian_shift(factor):
    """Shift ρ_min + Υ, ρ_max = ρ_min + 2Υ, γ = s√m·g/√ρ_min; at ρ_min = Υ the published numbers come back."""
    config = paper()
    s, upsilon, g = gaussian_numbers(config)
    low = factor * upsilon
    moved = paper(rho_min=low)
    bounds, found = moved.regulariser_bounds(), moved.plan().params.estimate
    assert bounds.rho_min == low
    assert bounds.rho_max == pytest.approx(low + 2 * upsilon)
    assert bounds.gamma == pytest.approx(s * math.sqrt(slots(1000)) * g / math.sqrt(low))
    assert found.regulariser == pytest.approx(low + upsilon)
    assert found.log_floor == pytest.approx(5 * math.log(low))
    assert found.bias == pytest.approx(math.sqrt(bounds.rho_max) + bounds.gamma)
    assert moved.plan().event == config.plan().event  # a shift is post-processing
    if factor == 1.0:
        np.testing.assert_allclose(np.concatenate(found[3:]), np.concatenate(config.plan().params.estimate[3:]))


def test_rewards_are_not_rescaled():
    """ζ = 1: the paper sums x·y as it comes, also where rewards are larger than actions."""
    wide = {"reward_low": -3.0, "reward_high": 3.0}
    assert paper(**wide).reward_scale == 1.0
    assert paper(**wide).sensitivity == 10.0
    assert paper(**wide).plan().params.row.reward_scale == 1.0
    assert paper(**wide, calibration="exact").reward_scale == pytest.approx(1 / 3)


# Wishart masks, by formula ---------------------------------------------------------------------------------------


def wishart(**changes):
    return paper(**({"noise": "wishart"} | changes))


def wishart_numbers(config):
    """k, √(mk), a and g of Section 4.1."""
    m, d, n, alpha = slots(config.horizon), config.dim, config.horizon, config.failure_probability
    k = d + 1 + math.ceil(224 * m * config.epsilon**-2 * math.log(8 * m / config.delta) * math.log(2 / config.delta))
    a = math.sqrt(d) + math.sqrt(2 * math.log(8 * n / alpha))
    g = math.sqrt(d) + math.sqrt(2 * math.log(2 * n / alpha))
    return k, math.sqrt(m * k), a, g


def test_the_degrees_of_freedom_of_the_papers_experiment():
    config = wishart(horizon=5 * 10**7)
    assert config.plan().params.counter.degrees == 139_115
    assert config.plan().event.degrees == 139_115


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_shifted_wishart_constants_are_those_of_the_paper(changes):
    config = wishart(**changes)
    k, root, a, g = wishart_numbers(config)
    size = config.sensitivity
    params, bounds = config.plan().params, config.regulariser_bounds()
    assert params.counter == (size, k, slots(config.horizon))
    assert bounds.rho_min == pytest.approx(4 * size * root * a)
    assert bounds.rho_max == pytest.approx(8 * size * root * a)
    assert bounds.gamma == pytest.approx(math.sqrt(size) * math.sqrt(root * g))
    c = size * (root - a) ** 2 - 4 * size * root * a
    assert c > 0
    assert params.estimate.regulariser == pytest.approx(-c)
    assert params.estimate.log_floor == pytest.approx(config.dim * math.log(bounds.rho_min))
    assert params.estimate.bias == pytest.approx(config.parameter_norm * math.sqrt(bounds.rho_max) + bounds.gamma)


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_unshifted_wishart_constants_are_those_of_the_paper(changes):
    config = wishart(noise="wishart-unshifted", **changes)
    _, root, a, g = wishart_numbers(config)
    size, bounds = config.sensitivity, config.regulariser_bounds()
    assert bounds.rho_min == pytest.approx(size * (root - a) ** 2)
    assert bounds.rho_max == pytest.approx(size * (root + a) ** 2)
    assert bounds.gamma == pytest.approx(math.sqrt(size) * g)
    assert config.plan().params.estimate.regulariser == 0.0


@pytest.mark.parametrize("share", [0.001, 0.3, 1.0])
def test_a_given_rho_min_moves_the_wishart_shift(share):
    """Shift −(ρ⁰_min − ρ_min), ρ_max = ρ_min + 4L̃²√(mk)·a, γ = L̃·g·√(ρ⁰_min/ρ_min), the proof's own."""
    _, root, a, g = wishart_numbers(wishart())
    unshifted = 2 * (root - a) ** 2
    low = share * unshifted * (1 - 1e-12)
    config = wishart(rho_min=low)
    bounds, found = config.regulariser_bounds(), config.plan().params.estimate
    assert bounds.rho_max == pytest.approx(low + 8 * root * a)
    assert bounds.gamma == pytest.approx(math.sqrt(2) * g * math.sqrt(unshifted / low))
    assert found.regulariser == pytest.approx(low - unshifted, abs=1e-9 * unshifted)
    if share == 1.0:
        np.testing.assert_allclose(bounds, wishart(noise="wishart-unshifted").regulariser_bounds())


def test_the_proofs_own_gamma_is_below_the_printed_one():
    published = wishart().regulariser_bounds()
    assert wishart(rho_min=published.rho_min).regulariser_bounds().gamma < published.gamma


def test_a_rho_min_above_the_unshifted_one_is_refused_with_the_largest():
    largest = wishart(noise="wishart-unshifted").regulariser_bounds().rho_min
    with pytest.raises(
        BadInput, match=r"Expected at most rho_min=[0-9.e+]+, .* got [0-9.e+]+\. Give a smaller rho_min"
    ):
        wishart(rho_min=1.001 * largest).plan()


#: So few degrees that a failure probability within reach makes the bounds void.
SMALL = {"dim": 1, "horizon": 2, "epsilon": 5.5}


def failing_with(ratio):
    """The failure probability at which √(mk) is `ratio` times a."""
    return 16 * math.exp(-((wishart_numbers(wishart(**SMALL))[1] / ratio - 1) ** 2) / 2)


def test_a_shift_needs_degrees_enough():
    """c > 0 iff √(mk) > (3 + 2√2)·a, about 5.83a."""
    enough = wishart(**SMALL, failure=failing_with(5.83))
    _, root, a, _ = wishart_numbers(enough)
    assert root == pytest.approx(5.83 * a)
    assert enough.plan().params.estimate.regulariser[0] < 0
    with pytest.raises(BadInput, match="larger failure probability"):
        wishart(**SMALL, failure=failing_with(5.82)).plan()


def test_unshifted_masks_need_some_degrees_too():
    """ρ⁰_min = L̃²(√(mk) − a)² says nothing once √(mk) ≤ a."""
    unshifted = SMALL | {"noise": "wishart-unshifted"}
    assert wishart(**unshifted, failure=failing_with(1.01)).regulariser_bounds().rho_min > 0
    with pytest.raises(BadInput, match="larger failure probability"):
        wishart(**unshifted, failure=failing_with(0.99)).plan()


# What the masks claim --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["wishart", "wishart-unshifted"])
@pytest.mark.parametrize(("delta", "horizon", "total"), [(0.1, 5 * 10**7, 0.543), (1e-5, 10**5, 0.510)])
def test_wishart_is_bound_by_theorem_and_its_card_leaves_the_true_epsilon_open(noise, delta, horizon, total):
    config = wishart(delta=delta, horizon=horizon, noise=noise)
    facts = config.card().to_dict()
    assert facts["true_epsilon"] is facts["mu"] is None
    assert facts["by_theorem"]["epsilon"] == pytest.approx(total, abs=5e-4)
    assert facts["by_theorem"]["delta"] == delta
    assert facts["keeps_its_claim"] is True
    assert config.guarantee.epsilon == facts["by_theorem"]["epsilon"] <= config.epsilon
    assert any("not proved again here" in note for note in facts["notes"])


def test_a_promise_that_the_composition_does_not_keep_is_refused():
    """Erratum 7: (10, 0.1) at n = 10⁵ adds up to 10.36."""
    with pytest.raises(PrivacyRefusal, match=r"keeps epsilon=10, got 10\.36 by the paper's own composition"):
        wishart(epsilon=10.0, horizon=10**5).plan()
    assert wishart(epsilon=10.0, delta=1e-5, horizon=10**5).plan().guarantee.epsilon <= 10


def test_a_promise_beyond_the_theorem_of_one_node_is_refused():
    with pytest.raises(PrivacyRefusal, match="the theorem does not cover it"):
        wishart(epsilon=20.0).plan()


def test_more_degrees_than_can_be_drawn_are_refused():
    with pytest.raises(PrivacyRefusal, match=r"at most 2\*\*53 degrees of freedom.*epsilon=1e-08"):
        wishart(epsilon=1e-8).plan()


# What cannot be combined -----------------------------------------------------------------------------------------

PRIOR = tacit.Prior.from_rows(np.eye(5), np.ones(5))
TOGETHER = {
    "masks without the paper": (
        {"noise": "wishart", "calibration": "exact"},
        r'noise="gaussian" with calibration="exact", got noise="wishart".*calibration="published", releases="tree"',
    ),
    "unshifted masks without the paper": (
        {"noise": "wishart-unshifted", "calibration": "exact"},
        r'got noise="wishart-unshifted": no exact price',
    ),
    "geometric": ({"releases": "geometric"}, r'releases="tree" with calibration="published".*tree that was published'),
    "toeplitz": ({"releases": "toeplitz"}, r'releases="tree" with calibration="published"'),
    "a shift": ({"shift": 2.0}, r'no shift with calibration="published".*moved by rho_min'),
    "a prior": ({"prior": PRIOR}, r'no prior with calibration="published".*starts from nothing'),
    "a ridge": ({"ridge": 2.0}, r'no ridge with calibration="published"'),
    "persons": ({"person_rounds": 2}, r'no person_rounds with calibration="published".*for one round'),
    "rho_min without the paper": (
        {"rho_min": 3.5, "calibration": "exact"},
        r"shifted published calibration only, got rho_min=3\.5\. The exact calibrations are moved by shift",
    ),
    "rho_min without a shift": ({"rho_min": 3.5, "noise": "wishart-unshifted"}, r"shifted published .*rho_min=3\.5"),
    "a window": ({"window": 3}, r'window with releases="geometric" only, got releases="tree"'),
    "a ratio": ({"ratio": 2.0}, r'ratio with releases="discounted" or "geometric" only, got releases="tree"'),
    "one row per segment": (
        {"one_row_per_segment": True},
        r'one_row_per_segment with releases="discounted" or "geometric" only, got releases="tree".*no segments',
    ),
}


@pytest.mark.parametrize("case", TOGETHER)
def test_options_that_mean_nothing_together_are_refused(case):
    changes, message = TOGETHER[case]
    with pytest.raises(BadInput, match=message):
        paper(**changes)


@pytest.mark.parametrize("releases", ["tree", "toeplitz"])
@pytest.mark.parametrize("option", [{"window": 3}, {"ratio": 2.0}, {"one_row_per_segment": True, "person_rounds": 2}])
def test_options_of_segments_are_refused_where_there_are_none(releases, option):
    with pytest.raises(
        BadInput, match=rf'{next(iter(option))} with releases=.*"geometric" only, got releases="{releases}"'
    ):
        paper(releases=releases, calibration="exact", **option)


def test_one_row_per_segment_is_refused_without_persons():
    with pytest.raises(BadInput, match="person_rounds with one_row_per_segment, got none"):
        tacit.JointLinUCB(dim=2, epsilon=1.0, delta=0.1, one_row_per_segment=True)


def test_a_window_and_a_prior_are_refused_together():
    with pytest.raises(BadInput, match=r"no prior with window=4, got one: a window forgets"):
        tacit.JointLinUCB(dim=5, epsilon=1.0, delta=0.1, window=4, prior=PRIOR)
