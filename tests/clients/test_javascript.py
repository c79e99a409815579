"""A device in another language, run by node where it is present: the same arms, reports the server takes, honest noise.

Error level: its randomness is the operating system's, so a check rejects a right law once in 10⁹ (tests/statistics).
"""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from scipy import stats

from tacit.core.contract import contract_of
from tacit.core.messages import schema, write
from tacit.noise import DiscreteGaussian
from tacit.noise.coins import exp_bounds
from tacit.noise.discrete import proposed_exactly
from tests.core import golden
from tests.core.apart import LocalExample, ShuffleExample, actions, reports_of
from tests.statistics import checks
from tests.statistics.checks import UNSEEDED_LEVEL

FOLDER = Path(__file__).parents[2] / "clients" / "javascript"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")

#: Reads {contract, views, sets, rows, limit}; under each view chooses of each set, under the last reports each row.
DRIVER = """
import { readFileSync } from "node:fs";
import { Device } from "DEVICE";
const { contract, views, sets, rows, limit } = JSON.parse(readFileSync(0, "utf8"));
const device = new Device(contract, limit === null ? {} : { limit });
const arms = views.map((view) => { device.see(view); return sets.map((actions) => device.choose(actions)); });
const reports = rows.map(([x, reward]) => {
  try { return device.report(x, reward); } catch (error) { return { error: error.message }; }
});
console.log(JSON.stringify({ arms, reports, made: device.made }));
"""

LOCAL = LocalExample(dim=3)
EXAMPLES = [
    LOCAL,
    LocalExample(dim=4, constants=(0.5, 0.1), reward_low=0.0, epsilon=5.0),
    LocalExample(dim=3, sends="gram"),
    LocalExample(dim=4, sends="gram", constants=(0.5, 0.1), reward_low=0.0, epsilon=5.0),
    golden.CONFIGS["xy"],
    golden.CONFIGS["gram"],
]
#: Of noise, in steps.
SCALES = (0.3, 1.0, 17.25, 1234.567, 1.65279e7, 3.1e12)
NAMES = ["xy", "xy with constants", "gram", "gram with constants", "online-linucb", "local-linucb"]


def run(config, *, rows=(), sets=(), views=None, limit=10**9, contract=None):
    """What the device in JavaScript answers."""
    source = DRIVER.replace("DEVICE", (FOLDER / "device.mjs").as_uri())
    asked = {
        "contract": config.contract() if contract is None else contract,
        "views": [config.server().view()] if views is None else views,
        "sets": [np.asarray(offered).tolist() for offered in sets],
        "rows": [[list(x), reward] for x, reward in rows],
        "limit": limit,
    }
    command = [NODE, "--input-type=module", "--eval", source]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def learned(config, reports: int):
    server = config.server()
    for report in reports_of(config, reports):
        server.receive(report)
    return server


def test_the_device_is_no_longer_than_forty_lines():
    lines = (FOLDER / "device.mjs").read_text("utf-8").splitlines()
    code = [line for line in lines if line.strip() and not line.strip().startswith("//")]
    assert len(code) <= 40
    assert max(map(len, lines)) <= 120


def test_its_page_shows_only_what_there_is():
    text, source = (FOLDER / "README.md").read_text("utf-8"), (FOLDER / "device.mjs").read_text("utf-8")
    for name in re.findall(r"device\.(\w+)\(", text):
        assert f"\n  {name}(" in source, name


@needs_node
@pytest.mark.parametrize("config", EXAMPLES, ids=NAMES)
def test_it_picks_the_same_arms_as_python(config):
    views = [learned(config, count).view() for count in (0, 1, 5, 40)]
    sets = [*actions(60, arms=7, dim=config.dim), *actions(5, arms=1, dim=config.dim)]
    found = run(config, views=views, sets=sets)["arms"]
    device = config.device()
    for view, arms in zip(views, found, strict=True):
        device.see(view)
        assert arms == [device.choose(offered) for offered in sets]
    assert len(set(found[-1])) > 3


@needs_node
@pytest.mark.parametrize("name", ["xy", "gram"])
def test_it_picks_the_golden_arm(name):
    """From the files alone, as somebody would who has nothing else of this package."""
    contract, view, choice = (golden.stored()[f"{name}-{part}"] for part in ("contract", "view", "choice"))
    found = run(None, contract=contract, views=[view], sets=[choice["actions"]])
    assert found["arms"] == [[choice["arm"]]]


@needs_node
@pytest.mark.parametrize("config", EXAMPLES, ids=NAMES)
def test_its_reports_are_taken_by_the_server(config):
    server = learned(config, 5)
    rows = [(x, 0.7) for x in actions(20, dim=config.dim)[:, 0]]
    reports = run(config, rows=rows, views=[server.view()])["reports"]
    assert len({report["id"] for report in reports}) == 20
    for report in reports:
        Draft202012Validator(schema("report")).validate(report)
        assert report["stage"] == 5
        server.receive(write(report))
    assert server.stage == 25


@needs_node
def test_its_reports_are_taken_by_a_shuffler():
    config = ShuffleExample(dim=3, sends="xy", batch=5)
    shuffler, server = config.shuffler(), config.server()
    for report in run(config, rows=[((0.1, 0.2, 0.3), 0.5)] * 5)["reports"]:
        shuffler.add(report)
    server.receive_batch(shuffler.batch())
    assert server.stage == 1


def exact(config, x, reward) -> np.ndarray:
    """What a device without noise would report: Python's, with its noise set to zero."""
    plan = config.plan()
    report = config.plan().report
    private = config.dim - len(report.constants)
    x = np.array(x, float)
    radius = contract_of(config).radius
    x[:private] *= min(1.0, radius / np.linalg.norm(x[:private]))
    x[private:] = report.constants
    y = min(max(reward, report.reward_low), report.reward_high)
    if report.kind == "xy":
        return np.append(x, y)
    found = np.append(np.outer(x, x)[np.triu_indices(config.dim)], x * y)
    assert len(found) == plan.report_size
    return found


def noised(config) -> np.ndarray:
    """Which numbers of a report get noise: those that are not made of constants alone."""
    report, private = config.plan().report, config.dim - len(config.plan().report.constants)
    if report.kind == "xy":
        return np.append(np.arange(config.dim) < private, True)
    return np.append(np.triu_indices(config.dim)[0] < private, np.ones(config.dim, bool))


def js_noise(config, count: int) -> np.ndarray:
    """What is left of so many reports from one process when the truth is taken off; the row lies outside the bounds."""
    x, reward = [3.0, -4.0, 1.0, 7.0][: config.dim], 30.0
    reports = run(config, rows=[(x, reward)] * count)["reports"]
    return np.array([report["values"] for report in reports]) - exact(config, x, reward)


@needs_node
@pytest.mark.parametrize("config", EXAMPLES, ids=NAMES)
def test_its_noise_has_the_law_of_the_contract(config):
    """20,000 numbers and more: shape, scale, and no relation between any two numbers of a report."""
    scale, mask = config.contract()["report"]["noise"]["scale"], noised(config)
    left = js_noise(config, math.ceil(20_000 / mask.sum()))
    assert left[:, mask].size >= 20_000
    assert np.abs(left[:, ~mask]).max(initial=0.0) < 1e-15
    assert checks.law(left[:, mask] / scale, checks.normal) > UNSEEDED_LEVEL
    assert checks.scale(left[:, mask], scale) > UNSEEDED_LEVEL
    assert checks.covariance(left[:, mask], scale**2 * np.eye(mask.sum())) > UNSEEDED_LEVEL
    # Two of n whole numbers with the deviation s in steps agree with chance 1/(2√π·s).
    size, step = left[:, mask].size, config.contract()["report"]["noise"]["step"]
    alike = size**2 / 2 * step / (2 * math.sqrt(math.pi) * scale)
    assert size - len(np.unique(left[:, mask])) <= stats.poisson.isf(UNSEEDED_LEVEL, alike)


@needs_node
@pytest.mark.parametrize("config", EXAMPLES, ids=NAMES)
def test_what_it_noises_is_in_whole_steps_of_the_contract(config):
    step, mask = config.contract()["report"]["noise"]["step"], noised(config)
    reports = run(config, rows=[((0.3, -0.4, 0.1, 0.7)[: config.dim], 0.3)] * 50)["reports"]
    values = np.array([report["values"] for report in reports])[:, mask]
    assert np.array_equal(np.round(values / step) * step, values)


#: Reads [[scale, [word, word, word, word]], …], words as [high, low]; what each proposal comes to, and words drawn.
PROPOSALS = """
import { readFileSync } from "node:fs";
import { proposed } from "EXACT";
const more = (n) => { drawn += n; return Array.from({ length: n }, () => [0x01234567, 0x89abcdef]); };
let drawn = 0;
const found = JSON.parse(readFileSync(0, "utf8")).map(([scale, words]) => proposed(scale, words, more));
console.log(JSON.stringify({ found, drawn }));
"""


@needs_node
def test_its_proposals_come_to_what_they_do_in_python():
    """Words at random, and words at which doubles leave open on which side of e^−x a number lies."""
    rng = np.random.default_rng(5)
    asked = [(scale, rng.integers(2**64, size=4, dtype=np.uint64)) for scale in SCALES for _ in range(300)]
    for scale in SCALES:
        for place, chance in ((1, Fraction(0)), (2, Fraction(1)), (2, Fraction(3))):
            words = rng.integers(2**63, size=4, dtype=np.uint64)  # a number that is often kept
            if place == 1:
                top = math.floor(scale) + 1
                chance = Fraction(int(words[0] >> np.uint64(11)) % top, top)
            low, _ = exp_bounds(chance, 64)
            for near in (-1, 0, 1):
                words[place] = min(max(low + near, 0), 2**64 - 1)
                asked.append((scale, words.copy()))
    drawn = []

    def more(count):
        drawn.append(count)
        return np.full(count, 0x0123456789ABCDEF, np.uint64)

    laws = {scale: DiscreteGaussian(scale) for scale in SCALES}
    expected = [proposed_exactly(laws[scale], math.floor(scale) + 1, words, more) for scale, words in asked]
    sent = [[scale, [divmod(int(word), 2**32) for word in words]] for scale, words in asked]
    source = PROPOSALS.replace("EXACT", (FOLDER / "exact.mjs").as_uri())
    command = [NODE, "--input-type=module", "--eval", source]
    done = subprocess.run(command, input=json.dumps(sent), capture_output=True, text=True, check=True, timeout=120)
    assert json.loads(done.stdout)["found"] == expected
    assert len({one for one in expected if one is not None}) > 300
    assert sum(drawn) > 0, "no proposal needed more bits"


@needs_node
def test_the_check_rejects_noise_a_tenth_too_small():
    """20,000 numbers: such noise is nineteen standard errors away."""
    scale, left = LOCAL.contract()["report"]["noise"]["scale"], js_noise(LOCAL, 5000)
    assert checks.scale(0.9 * left, scale) < UNSEEDED_LEVEL


@needs_node
def test_a_view_can_add_noise_and_never_take_any():
    """The perturbation some policies publish: on the action, on top, and not on the reward."""
    view = LOCAL.server().view()
    scale = LOCAL.contract()["report"]["noise"]["scale"]
    for perturbation, spread in ((2.0, math.hypot(scale, 2.0)), (-2.0, math.hypot(scale, 2.0)), (0.0, scale)):
        view["arrays"]["perturbation"] = [perturbation]
        reports = run(LOCAL, rows=[((0.1, 0.2, 0.3), 0.5)] * 3000, views=[view])["reports"]
        left = np.array([report["values"] for report in reports]) - [0.1, 0.2, 0.3, 0.5]
        assert checks.covariance(left, np.diag([spread**2] * 3 + [scale**2])) > UNSEEDED_LEVEL


@needs_node
def test_it_counts_its_reports():
    config = LocalExample(dim=3, person_rounds=2)
    for limit, made in ((None, 2), (3, 3)):
        found = run(config, rows=[((0.1, 0.2, 0.3), 0.5)] * 4, limit=limit)
        assert ["error" in report for report in found["reports"]] == [number >= made for number in range(4)]
        assert found["made"] == made


@needs_node
def test_it_refuses_bad_input_without_counting_it():
    rows = [((0.1, 0.2), 0.5), ((0.1, 0.2, None), 0.5), ((0.1, 0.2, "x"), 0.5), ((0.1, 0.2, 0.3), None)]
    found = run(LOCAL, rows=rows, limit=1)
    assert found["reports"] == [{"error": "Expected numbers."}] * 4
    assert found["made"] == 0


@needs_node
def test_it_refuses_a_view_of_another_contract():
    other = LocalExample(dim=3, epsilon=9.0)
    with pytest.raises(AssertionError, match="Expected a view under this contract"):
        run(LOCAL, views=[other.server().view()])


@needs_node
@pytest.mark.parametrize("change", [{"version": 2}, {"report": {"kind": "counts", "size": 4}}, {"dim": 5}])
def test_it_refuses_a_contract_it_does_not_understand(change):
    with pytest.raises(AssertionError, match="Expected a contract of version 1, with reports of kind xy or gram"):
        run(LOCAL, contract={**LOCAL.contract(), **change})
