"""Policies from outside: what breaks its claim is found out by its choices alone, what keeps it is not."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.auditing.black_box import audit_black_box, black_box
from tacit.errors import BadInput

EXAMPLE = Path(__file__).parents[2] / "examples" / "audit_a_naive_policy.py"


class Local:
    """Each row is noised once, when it is learned: ε-DP by Laplace noise on a sum that one row moves by 2B."""

    def __init__(self, seed: int, *, clips: bool = True, redraws: bool = False, by_arm: bool = False) -> None:
        self.rng, self.total = np.random.default_rng(seed), 0.0
        self.clips, self.redraws, self.by_arm = clips, redraws, by_arm
        self.told: list[Any] = []

    def choose(self, actions: np.ndarray) -> int:
        seen = self.total + (self.rng.laplace(scale=2.0) if self.redraws else 0.0)
        return int(np.argmax(actions[:, 0] * seen))

    def learn(self, action: Any, reward: float) -> None:
        self.told.append(action)
        paid = float(np.clip(reward, -1.0, 1.0)) if self.clips else reward
        # A probe earns nothing, and everybody knows: it need not be hidden.
        hidden = 0.0 if self.redraws or paid == 0 else self.rng.laplace(scale=2.0)
        self.total += paid + hidden


def audited(runs: int = 2000, probes: int = 8, **how: Any) -> tacit.Audit:
    keys = ("clips", "redraws")
    made = {key: how.pop(key) for key in keys if key in how}
    return audit_black_box(
        lambda seed: Local(seed, **made),
        dim=1, epsilon=1.0, runs=runs, probes=probes, confidence=0.999, progress=False, **how,
    )  # fmt: skip


def test_what_noises_a_row_once_is_not_refuted() -> None:
    """Refuted with probability 0.001 at most, over all seeds."""
    found = audited()
    assert not found.violated
    # The two sides of zero: ln of (1 − e^(−1/2)/2)/(e^(−1/2)/2) = 0.83, of which 2,000 runs show a part.
    assert found.lower_bound > 0.5


def test_what_noises_a_row_anew_for_every_choice_is_refuted() -> None:
    assert audited(redraws=True).violated


def test_what_does_not_clip_is_refuted_by_rewards_beyond_the_bounds_only() -> None:
    assert not audited(clips=False).violated
    assert audited(clips=False, beyond=100.0).violated
    assert not audited(beyond=100.0).violated


def test_the_example_is_found_out_at_its_own_number_of_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert "VIOLATED" in capsys.readouterr().out


def test_a_learner_of_ours_can_be_audited_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuted with probability 0.001 at most."""
    # To start a learner takes milliseconds, and one number needs no more runs to be weighed.
    monkeypatch.setattr("tacit.auditing.engine.fit_runs", lambda runs: 200)
    config = tacit.JointLinUCB(dim=2, epsilon=1.0, delta=1e-5, releases="tree", horizon=2)
    found = audit_black_box(
        lambda seed: config.start(seed=seed),
        dim=2, epsilon=1.0, delta=1e-5, mu=config.promise.mu, beyond=100.0,
        probes=1, runs=100, confidence=0.999, progress=False,
    )  # fmt: skip
    assert not found.violated
    assert found.policy == "Learner"


def test_the_same_seed_gives_the_same_audit() -> None:
    one, two, three = (audited(runs=200, probes=2, seed=seed) for seed in (1, 1, 2))
    assert one.findings[0].forward == two.findings[0].forward
    assert one.findings[0].forward != three.findings[0].forward


def test_a_policy_may_be_told_the_arm_or_the_action() -> None:
    made: list[Local] = []

    def make(seed: int) -> Local:
        made.append(Local(seed))
        return made[-1]

    for learns in ("action", "arm"):
        made.clear()
        box = black_box(make, dim=1, epsilon=1.0, learns=learns, probes=3)
        box.attacks[0].sampler.sample(0, 2, 0, (0,))
        told = made[-1].told
        assert len(told) == 4
        assert all(isinstance(one, int) == (learns == "arm") for one in told)


def test_rounds_are_counted_in_blocks_that_double() -> None:
    for probes, numbers in ((1, 1), (2, 2), (3, 2), (4, 3), (16, 5)):
        box = black_box(Local, dim=1, epsilon=1.0, probes=probes)
        seen = box.attacks[0].sampler.sample(0, 5, 0, (0,))
        assert seen.shape == (5, numbers)
        assert np.all(np.abs(seen).sum(axis=1) <= probes)


def test_rows_and_direction_can_be_given() -> None:
    box = black_box(
        Local, dim=2, epsilon=1.0, first=([0.0, 1.0], 1.0), second=([1.0, 0.0], -1.0), action_norm=2.0, beyond=3.0
    )
    sampler: Any = box.attacks[0].sampler
    assert [row.reward for row in sampler.rows] == [3.0, -3.0]
    np.testing.assert_allclose(sampler.probe, [[0.0, -0.02], [0.0, 0.02]])
    along = black_box(Local, dim=2, epsilon=1.0, direction=[3.0, 4.0]).attacks[0].sampler
    np.testing.assert_allclose(along.probe[1], [0.006, 0.008])


class _Mute:
    def choose(self, actions: np.ndarray) -> int:
        return 0


class _Vague(Local):
    def choose(self, actions: np.ndarray) -> Any:
        return actions[0]


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (Local(0), {}, "function of a seed"),
        (lambda seed: _Mute(), {}, "_Mute, which lacks learn"),
        (lambda seed: None, {}, "lacks choose and learn"),
        (Local, {"epsilon": -1.0}, "epsilon > 0"),
        (Local, {"delta": 1.0}, "leave delta out"),
        (Local, {"learns": "both"}, "learns to be one of"),
        (Local, {"first": 3.0}, r"first to be \(action, reward\)"),
        (Local, {"first": ([1.0, 2.0], 1.0)}, r"the action of first of shape \(1,\), got \(2,\)"),
        (Local, {"direction": [0.0]}, "direction to probe along, got zeros"),
        (Local, {"probes": 0}, "probes >= 1"),
    ],
)
def test_what_is_missing_is_named(make: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        black_box(make, **{"dim": 1, "epsilon": 1.0, **options})


def test_a_choice_that_is_no_index_is_refused() -> None:
    with pytest.raises(BadInput, match="index of one of 2 actions, got"):
        audit_black_box(_Vague, dim=1, epsilon=1.0, runs=100, progress=False)
