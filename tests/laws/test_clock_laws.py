"""One clock: when views come is a matter of how many decisions there were, and which release a row belongs to is a
matter of when that row came. Two runs that differ in what one person did have the same ticks, the same release times,
and all other rows in the same places (docs/decisions/0027-one-clock.md)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import tacit
from tacit.core.learner import Learner
from tacit.core.round import ROWS
from tacit.core.session import Session
from tacit.errors import AlreadyClosed, BadInput
from tacit.privacy.scope import Protects
from tests.offers import ask, decide, taken, tell

from .conftest import PRIVATE, name
from .runs import axis

ROUNDS, ODD = 60, 23
#: A decision's reward may come until so many more are made; the others' come after up to three.
CLOSES = 5
SILENT, EXPIRED = None, "expired"


class Behaviour(NamedTuple):
    """What the odd one does: the reward, and after how many more decisions it comes."""

    reward: Any = 0.77
    lag: int = 0


AS_USUAL = Behaviour()
BEHAVIOURS = {
    "another reward": Behaviour(-0.9),
    "a reward out of bounds": Behaviour(50.0),
    "no number": Behaviour(float("nan")),
    "a number too large": Behaviour(1e200),
    "silence": Behaviour(SILENT),
    "expired by hand": Behaviour(EXPIRED),
    "late": Behaviour(lag=4),
    "too late": Behaviour(lag=7),
}


class Run(NamedTuple):
    """Of each decision: ticks, views and the last view when it was made. Of each tick: the rewards summed before it."""

    clock: list[int]
    stage: list[int]
    view: list[bytes]
    segments: list[list[float]]


def watched(learner: Learner) -> list[list[float]]:
    """The rewards that reach the sums, a list for each tick. The last one is still open."""
    session, found = learner._session, [[]]

    def absorb(row, reward):
        found[-1].append(reward)
        return Session.absorb(session, row, reward)

    def tick():
        found.append([])
        return Session.tick(session)

    def learn(row, reward):
        outcome = Session.learn(session, row, reward)
        if outcome:
            found[-1].append(reward)
            found.append([])
        return outcome

    session.absorb, session.tick, session.learn = absorb, tick, learn
    return found


def usual(number: int) -> float:
    """The reward of any other: each is told from all others."""
    return (number + 1) / 128


def noted(learner: Learner, run: Run) -> None:
    run.clock.append(int(learner._session.vault.counters[ROWS]))
    run.stage.append(int(learner.view.stage[0]))
    run.view.append(b"".join(part.tobytes() for part in learner.view))


def decided(config, odd: Behaviour, *, closes: int | None = CLOSES, people: dict[int, str] | None = None) -> Run:
    """Decisions with rewards that come late and in disorder; without `closes`, what is old expires on a schedule."""
    learner = config.start(seed=9, closes_after_decisions=closes)
    run, waiting = Run([], [], [], watched(learner)), []
    for number in range(ROUNDS):
        who = {} if config.person_rounds is None else {"person": (people or {}).get(number, f"p{number}")}
        made = decide(learner, axis(config, number)[None], **who)
        noted(learner, run)
        one = odd if number == ODD else Behaviour(usual(number), 5 * number % 4)
        waiting.append((number + one.lag, made, one.reward))
        for item in [item for item in waiting if item[0] <= number]:
            waiting.remove(item)
            with suppress(BadInput, AlreadyClosed):  # no number, or too late
                if item[2] == EXPIRED:
                    learner.expire(item[1])
                elif item[2] is not SILENT:
                    learner.reward(item[1], item[2])
        if closes is None and number % 10 == 9:
            learner.expire_all(older_than=CLOSES)
    return run


def learned(config, odd: tuple[Any, Any]) -> Run:
    """The same by a caller with books of its own. The odd one is (what its action is multiplied by, a reward)."""
    learner = config.start(seed=9)
    run = Run([], [], [], watched(learner))
    for number in range(ROUNDS):
        x = axis(config, number)
        who = {} if config.person_rounds is None else {"person": f"p{number}"}
        arm = ask(learner, x[None])
        noted(learner, run)
        if number != ODD:
            tell(learner, taken(learner, x[None], arm), usual(number), **who)
            continue
        with suppress(BadInput):
            tell(learner, taken(learner, x[None] * odd[0], arm), odd[1], **who)
    return run


def hold(one: Run, other: Run, config, mine: set[float]) -> None:
    """The law. `mine` are the rewards of who behaves otherwise; a zero stands for a row without one."""
    assert one.clock == other.clock
    apart = len(one.view)
    if config.fixed_actions is not None:  # what is played, and when it ends, follows from what was released
        apart = next((at for at in range(len(one.view)) if one.view[at] != other.view[at]), apart)
    assert one.stage[: apart + 1] == other.stage[: apart + 1]
    assert others(one, mine) == others(other, mine)


def others(run: Run, mine: set[float]) -> list[list[float]]:
    return [[reward for reward in rewards if reward and reward not in mine] for rewards in run.segments]


def rewards_of(*behaviours: Behaviour) -> set[float]:
    return {one.reward for one in behaviours if isinstance(one.reward, float)}


def test_what_one_person_does_moves_neither_the_clock_nor_the_rows_of_others(private_config):
    base = decided(private_config, AS_USUAL)
    assert base.clock[-1] > ROUNDS - CLOSES - 1
    for behaviour in BEHAVIOURS.values():
        hold(base, decided(private_config, behaviour), private_config, rewards_of(AS_USUAL, behaviour))


LATE = [config for config in PRIVATE if config.rows_may_come_late]


@pytest.mark.parametrize("config", LATE, ids=name)
def test_nor_where_decisions_stay_open_until_they_expire_on_a_schedule(config):
    base = decided(config, AS_USUAL, closes=None)
    assert base.clock == list(range(ROUNDS))
    for behaviour in BEHAVIOURS.values():
        hold(base, decided(config, behaviour, closes=None), config, rewards_of(AS_USUAL, behaviour))


@pytest.mark.parametrize("config", LATE, ids=name)
def test_a_late_row_is_in_the_segment_in_which_it_came(config):
    for lag in range(5):
        found = decided(config, Behaviour(lag=lag)).segments
        assert [at for at, rewards in enumerate(found) if AS_USUAL.reward in rewards] == [ODD + lag]


@pytest.mark.parametrize("config", [config for config in PRIVATE if not config.rows_may_come_late], ids=name)
def test_where_rows_may_not_come_late_every_row_keeps_its_place(config):
    for behaviour in (AS_USUAL, Behaviour(lag=4), Behaviour(SILENT)):
        found = decided(config, behaviour).segments
        assert all(len(rewards) == 1 for rewards in found[:-1])
        assert [rewards[0] for rewards in found[:ODD]] == [usual(number) for number in range(ODD)]
        assert found[ODD] == [behaviour.reward or 0.0]


ROWS_OF_ITS_OWN = {
    "another reward": (1.0, -0.9),
    "a reward out of bounds": (1.0, 50.0),
    "an action out of bounds": (50.0, 0.77),
    "no number": (1.0, float("nan")),
    "infinite": (1.0, float("-inf")),
    "too large": (1.0, 1e200),
    "beyond every double": (1.0, 10**400),
    "an action with no number in it": (float("nan"), 0.77),
    "an action too large": (1e200, 0.77),
}


def strictly(config):
    """The same, strict where there is such an option: it refuses before a choice is made, or not at all."""
    return replace(config, strict=True) if config.has_option("strict") else config


def test_every_call_of_learn_is_a_tick_whatever_is_in_the_row(private_config):
    config = strictly(private_config)
    base = learned(config, (1.0, 0.77))
    assert base.clock == list(range(ROUNDS))
    for odd in ROWS_OF_ITS_OWN.values():
        if odd[0] != 1.0 and config.protects is Protects.REWARDS:
            continue  # actions are public there, and when it releases follows from them
        hold(base, learned(config, odd), config, {0.77, -0.9, 50.0})


@pytest.mark.parametrize("config", [config for config in PRIVATE if config.person_rounds], ids=name)
def test_a_person_beyond_the_limit_moves_no_other_row(config):
    hers = [ODD + 2 * place for place in range(config.person_rounds + 3)]
    mine = {AS_USUAL.reward, -0.9, *map(usual, hers)}
    base = decided(config, AS_USUAL)
    for behaviour in (AS_USUAL, Behaviour(-0.9), Behaviour(SILENT), Behaviour(lag=4)):
        found = decided(config, behaviour, people=dict.fromkeys(hers, "ann"))
        hold(base, found, config, mine)
        assert sum(reward in mine for rewards in found.segments for reward in rewards) <= config.person_rounds


# Broken twins ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def ticks_with_rewards(monkeypatch):
    """As it was: the clock counts rows, when they come."""

    def close(self, identity, found, row, reward):
        self._decisions.close(identity)
        self._owed -= 1
        self._learn(row, reward, found.person)

    monkeypatch.setattr(Learner, "_close", close)
    monkeypatch.setattr(Learner, "_advance", lambda self: None)


@pytest.mark.parametrize("config", LATE[:1], ids=name)
@pytest.mark.parametrize("behaviour", ["silence", "late", "no number"])
def test_a_clock_that_counts_rewards_is_found_out(ticks_with_rewards, config, behaviour):
    base, found = (decided(config, one, closes=None) for one in (AS_USUAL, BEHAVIOURS[behaviour]))
    with pytest.raises(AssertionError):
        hold(base, found, config, rewards_of(AS_USUAL))


def test_a_refusal_that_does_not_tick_is_found_out(monkeypatch):
    """As it was: a row is looked at, and refused, when it is learned."""
    learn = Learner._learn

    def refuses(self, row, reward, token):
        if not abs(reward) <= 1:
            raise BadInput("refused")
        learn(self, row, reward, token)

    monkeypatch.setattr(Learner, "_learn", refuses)
    config = LATE[0]
    base = learned(config, (1.0, 0.77))
    for case in ("a reward out of bounds", "no number"):
        with pytest.raises(AssertionError):
            hold(base, learned(config, ROWS_OF_ITS_OWN[case]), config, {0.77})


def test_rows_that_wait_for_one_who_is_late_are_found_out(monkeypatch):
    """In order, but when they are closed and not when their time is over: one who is late holds all others back."""
    advance = Learner._advance

    def waits(self):
        kept = self._decisions._kept
        self._closes_after = CLOSES if any(one.open for one in list(kept.values())[:1]) else 1
        advance(self)

    config = tacit.RenyiUCB(arms=3, rho=1.0)
    base, late = decided(config, AS_USUAL), decided(config, Behaviour(lag=4))
    hold(base, late, config, {AS_USUAL.reward})
    monkeypatch.setattr(Learner, "_advance", waits)
    with pytest.raises(AssertionError):
        hold(decided(config, AS_USUAL), decided(config, Behaviour(lag=4)), config, {AS_USUAL.reward})


# The numbers of the issue ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answers", [True, False], ids=["answered", "silent"])
def test_the_first_view_comes_after_the_same_visit_with_an_answer_or_without(answers):
    """It was: after visit 174, or 175 if one person had said nothing so far and would expire on schedule."""
    config = tacit.JointLinUCB(dim=2, epsilon=1.0, delta=1e-6)
    learner, times = config.start(seed=1), config.plan().params.schedule.times
    for visit in range(1, int(times[0]) + 2):
        made = learner.decide(np.eye(2))
        assert learner.view.stage[0] == (visit > times[0])
        if answers or visit != times[0] - 20:
            learner.reward(made, 0.5)
        if visit % 100 == 0:
            learner.expire_all(older_than=50)
