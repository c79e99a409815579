"""One clock in the service: what one person does, or what is refused or erased, moves no other row."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

from tacit.errors import TacitError
from tests.service.inside import EVERY, asked, bounded, decide, expected_sums, live_sums, reward, run, running
from tests.service.serving import JOINT, Clock, refused, serving

ROUNDS, ODD = 16, 5
SELDOM = {"dim": 2, "epsilon": 10.0, "delta": 0.1, "ratio": 1.3, "views": 64, "person_rounds": 3}
CASES = {
    "every decision": EVERY | {"person_rounds": 1},
    "growing times": SELDOM,
    "in order": EVERY | {"person_rounds": 2},
}
BEHAVIOURS = {
    "another reward": -0.75,
    "out of bounds": 50.0,
    "no number": float("nan"),
    "too large": 1e200,
    "silence": None,
    "erased": "erased",
    "erased after the reward": "rewarded and erased",
}


def told(path, parameters, odd):
    """Ticks and views when each decision was made, and the sums in the end."""

    async def main():
        async with running(path) as engine:
            found = await engine.create("one", asked({**parameters, "strict": True}, seed=3, closes_after_decisions=3))
            seen = []
            for number in range(ROUNDS):
                made = await bounded(decide(engine, rows=np.eye(2)[[number % 2]], person=f"p{number}"))
                seen.append((found.live.clock, found.live.stage))
                value = odd if number == ODD else number / 64
                if isinstance(value, str):
                    if value != "erased":
                        await bounded(reward(engine, made.decision, 0.5))
                    await engine.erase(found, f"p{number}")
                elif value is not None:
                    with suppress(TacitError):
                        await bounded(reward(engine, made.decision, value))
            return seen, live_sums(found.live, 1 / 64) if parameters is SELDOM else None

    return run(main)


@pytest.mark.parametrize("parameters", CASES.values(), ids=CASES)
def test_what_one_person_does_moves_neither_the_clock_nor_the_rows_of_others(tmp_path, parameters):
    clock, sums = told(tmp_path / "usual.db", parameters, 0.5)
    assert clock[-1][0] >= ROUNDS - 3
    for case, odd in BEHAVIOURS.items():
        found, other = told(tmp_path / f"{case}.db", parameters, odd)
        assert found == clock, case
        if parameters is SELDOM:
            kept = {"another reward": [-0.75], "out of bounds": [1.0], "erased after the reward": [0.5]}.get(case, [])
            mine = expected_sums([(ODD % 2, value) for value in kept])
            np.testing.assert_allclose(other - mine, sums - expected_sums([(ODD % 2, 0.5)]), atol=1e-9, err_msg=case)


def test_a_reward_that_is_refused_over_http_does_not_move_the_clock(tmp_path):
    with serving(tmp_path / "tacit.db", now=Clock()) as service:
        service.create("news", parameters={**JOINT, "strict": True})
        made = service.decide("news").json()["decision"]
        path = f"/v1/deployments/news/decisions/{made}/reward"
        before = service.show("news")
        for body in ('{"value": NaN}', '{"value": Infinity}', '{"value": 1e200}', '{"value": 1e999}', '{"value": "1"}'):
            answer = service.http.put(path, content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code in (400, 422), answer.text
        assert service.show("news") == before
        assert service.http.put(path, json={"value": 7.0}).status_code == 200, "strict refuses no reward: it is clipped"
        refused(service.http.put(path, json={"value": 6.0}), 409, "rewarded")
        assert service.show("news")["decisions"] == 1
