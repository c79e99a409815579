"""One deployment's trouble is its own: a mistake in its code, and noise that takes long to draw."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import numpy as np
import pytest

from tacit.errors import DeploymentFailed, StoreUnavailable, UnknownDeployment
from tacit.service import live as live_module
from tacit.service import settings
from tacit.service.deciding import Request
from tacit.service.live import Live
from tests.service.inside import EVERY, asked, bounded, held_up, recovered, releases, run, running

SECURE = {"dim": 2, "epsilon": 10.0, "delta": 0.1, "releases": "toeplitz", "horizon": 1000}


def decide(engine, name, rows=((1.0, 0.0), (0.0, 1.0))):
    found = engine.find(name)
    return engine.submit(partial(found.decide, Request(np.array(rows, float)), engine.now()), found)


def reward(engine, name, decision, value=0.5):
    found = engine.find(name)
    return engine.submit(partial(found.reward, decision, value, engine.now()), found)


# Mistakes -------------------------------------------------------------------------------------------------------------


def test_a_deployment_that_fails_stands_still_and_the_others_go_on(tmp_path, monkeypatch):
    """A release that cannot be made, of one deployment among others."""
    tick = Live.tick

    def failing(live):
        if live.config.slug == "linucb" and np.any(live.vault.sums):  # not when it is warmed
            raise RuntimeError("The noised matrix stayed indefinite: the sums are not finite.")
        return tick(live)

    monkeypatch.setattr(Live, "tick", failing)

    async def main():
        async with running(tmp_path / "tacit.db") as engine:
            await engine.create("one", asked())
            bad = await engine.create("bad", settings.ask("linucb", {"dim": 2, "horizon": 1000}))
            made = [await bounded(decide(engine, "bad", [[1.0, -1.0], [1.0, -1.0]])) for _ in range(2)]
            for one in made:
                await bounded(reward(engine, "bad", one.decision))
            with pytest.raises(DeploymentFailed, match="Resume it to try once more, or delete it"):
                await bounded(decide(engine, "bad"))
            made = [await bounded(decide(engine, "one")) for _ in range(5)]
            for one in made:
                await bounded(reward(engine, "one", one.decision))
            assert engine.available
            assert len(releases(engine)) >= 4
            assert bad.failed
            # Resumed it tries, and fails again; deleted it is gone.
            await engine.set_state("bad", "serving")
            assert not bad.failed
            await bounded(asyncio.gather(decide(engine, "bad"), return_exceptions=True))
            assert bad.failed
            await engine.delete("bad")
            with pytest.raises(UnknownDeployment):
                engine.find("bad")

    run(main)


@pytest.mark.parametrize("where", ["decide", "save"])
def test_whoever_shares_the_transaction_of_a_mistake_is_served_all_the_same(tmp_path, monkeypatch, where):
    async def main():
        async with running(tmp_path / "tacit.db") as engine:
            for name in ("one", "bad"):
                await engine.create(name, asked())
            bad = engine.find("bad")

            def wrong(*_):
                raise ZeroDivisionError("somebody's number")

            before = await bounded(decide(engine, "one"))
            async with held_up(engine):
                futures = [reward(engine, "one", before.decision), decide(engine, "one"), decide(engine, "bad")]
                futures += [decide(engine, "one"), decide(engine, "bad")]
                if where == "save":
                    monkeypatch.setattr(bad, "save", wrong)
                else:
                    monkeypatch.setattr(bad.live, "choose", wrong)
            found = await bounded(asyncio.gather(*futures, return_exceptions=True))
            assert [type(one).__name__ for one in found] == [
                "str",
                "Decided",
                "DeploymentFailed",
                "Decided",
                "DeploymentFailed",
            ]
            assert len({before.decision, found[1].decision, found[3].decision}) == 3
            assert engine.find("one").made == 3
            assert bad.failed
            assert engine.available

    run(main)


def test_what_a_mistake_says_is_not_logged(tmp_path, caplog, monkeypatch):
    async def main():
        async with running(tmp_path / "tacit.db") as engine:
            bad = await engine.create("bad", asked())

            def wrong(*_):
                raise ValueError("somebody's number")

            monkeypatch.setattr(bad.live, "choose", wrong)
            with pytest.raises(DeploymentFailed) as caught:
                await bounded(decide(engine, "bad"))
            assert "somebody" not in str(caught.value)

    with caplog.at_level("ERROR", "tacit.service"):
        run(main)
    assert "deployment failed" in caplog.text
    assert "ValueError" in caplog.text
    assert "somebody" not in caplog.text


# Noise ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def slow(monkeypatch):
    """Noise is never drawn at once, and drawing it waits for a gate."""
    monkeypatch.setattr(live_module, "_AT_ONCE", 0)
    gate, draw = threading.Event(), Live.draw_ahead

    def waits(self):
        assert gate.wait(30)
        draw(self)

    monkeypatch.setattr(Live, "draw_ahead", waits)
    yield gate
    gate.set()


def test_while_noise_is_drawn_only_those_wait_who_need_it(tmp_path, slow):
    async def main():
        async with running(tmp_path / "tacit.db") as engine:
            await engine.create("big", settings.ask("joint-linucb", SECURE))
            await engine.create("one", settings.ask("linucb", {"dim": 2, "horizon": 1000}))
            first = await bounded(decide(engine, "big"))  # nothing is due before it
            waiting = [decide(engine, "big") for _ in range(3)]
            for _ in range(5):
                made = await bounded(decide(engine, "one"))
                await bounded(reward(engine, "one", made.decision))
            await bounded(reward(engine, "big", first.decision))  # needs no noise
            assert not any(one.done() for one in waiting)
            assert releases(engine, "big") == []
            slow.set()
            found = await bounded(asyncio.gather(*waiting))
            assert [one.view for one in found] == [2, 3, 4]  # in their order, each after a release
            assert [number for number, _ in releases(engine, "big")] == [1, 2, 3]

    run(main)


def test_what_is_drawn_ahead_is_read_once(tmp_path, monkeypatch):
    monkeypatch.setattr(live_module, "_AT_ONCE", 0)
    drawn, read = [], []
    draw, lay_ahead = Live.draw_ahead, Live._lay_ahead

    def draws(self):
        draw(self)
        drawn.append(self._ahead.normals.copy())

    def lays(self, normals):
        before = self._ahead
        lay_ahead(self, normals)
        if before is not None and self._ahead is None:
            read.append(self._session.noise.normals.copy())

    monkeypatch.setattr(Live, "draw_ahead", draws)
    monkeypatch.setattr(Live, "_lay_ahead", lays)

    async def main():
        async with running(tmp_path / "tacit.db") as engine:
            await engine.create("big", settings.ask("joint-linucb", SECURE))
            room = len(engine.find("big").live._session.noise.normals) // 5  # releases on a tape
            for _ in range(3 * room + 2):
                await bounded(decide(engine, "big"))
            assert len(releases(engine, "big")) == 3 * room + 1

    run(main)
    assert len(read) >= 3
    assert all(np.array_equal(one, other) for one, other in zip(read, drawn, strict=False))
    assert len({one.tobytes() for one in drawn}) == len(drawn)


def test_what_was_drawn_ahead_stays_in_the_process_that_drew_it():
    asked = settings.ask("joint-linucb", SECURE)
    live = Live(asked.config(), asked.plan(asked.config()))
    live.draw_ahead()
    drawn = live._ahead.normals.copy()
    live._session.in_child()
    live.in_child()
    live.tick()
    assert not np.isin(drawn, live._session.noise.normals).any()
    assert not np.isin(drawn, live.vault.memory).any()


def test_whoever_waits_for_noise_is_told_when_the_deployment_or_the_service_goes(tmp_path, slow):
    async def main():
        async with running(tmp_path / "tacit.db") as engine:
            for name in ("big", "other"):
                await engine.create(name, settings.ask("joint-linucb", EVERY))
                await bounded(decide(engine, name))
            waiting = {name: decide(engine, name) for name in ("big", "other")}
            await recovered(engine)
            await engine.delete("big")
            with pytest.raises(UnknownDeployment):
                await bounded(waiting["big"])
            assert not waiting["other"].done()
        with pytest.raises(StoreUnavailable, match="stopping"):
            await bounded(waiting["other"])
        slow.set()  # the threads that draw end with the loop

    run(main)


def test_noise_that_cannot_be_drawn_fails_the_deployment(tmp_path, monkeypatch):
    monkeypatch.setattr(live_module, "_AT_ONCE", 0)

    def broken(self):
        raise OSError("no randomness")

    monkeypatch.setattr(Live, "draw_ahead", broken)

    async def main():
        async with running(tmp_path / "tacit.db") as engine:
            await engine.create("big", asked())
            found = await bounded(asyncio.gather(*(decide(engine, "big") for _ in range(2)), return_exceptions=True))
            assert isinstance(found[1], DeploymentFailed)
            assert releases(engine, "big") == []

    run(main)
