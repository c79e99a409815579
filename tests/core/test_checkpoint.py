"""Checkpoints: a learner goes on elsewhere to the bit, once, and is nowhere else meanwhile."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

import tacit
from tacit.core import checkpoint as room
from tacit.core import state
from tacit.core.checkpoint import new_key, resume
from tacit.core.sealed import read_header, seal, unseal
from tacit.core.state import pack
from tacit.counters.counter import AtTimes
from tacit.errors import AlreadyClosed, BadCheckpoint, BadInput, CheckpointSpent, HorizonSpent, Moved, VaultSealed
from tacit.policies.context_blind import ContextBlind
from tacit.privacy.event import TreeEvent
from tests.offers import ask, decide, features, offered, taken, tell

from .worlds import DIM, EXAMPLES, behaviour, config, contents, counts_people, name_of, sets

KEY = bytes(range(32))
HALF = 120


@pytest.fixture(autouse=True)
def _forget(monkeypatch):
    """Each test is a process of its own, as far as checkpoints know."""
    monkeypatch.setattr(room, "_RESUMED", {})


class Service:
    """A caller that decides, rewards late and in disorder, lets some decisions expire, and learns beside the books."""

    def __init__(self, learner):
        self.learner, self.arms, self.waiting = learner, [], []
        self.luck = np.random.default_rng(8)
        self.person = counts_people(learner.config)

    def run(self, rounds):
        """No decision is older than 50 others when it is closed."""
        dim = self.learner.config.dim
        for actions in self.luck.uniform(-0.5, 0.5, (rounds, 3, dim)):
            learner, luck = self.learner, self.luck
            who = {"person": f"p{int(luck.integers(60))}"} if self.person else {}
            if luck.random() < 0.3:
                arm = ask(learner, actions)
                tell(learner, taken(learner, actions, arm), float(luck.uniform(-1, 1)), **who)
            else:
                decision = decide(learner, actions, **who)
                arm = decision.arm
                self.waiting.append(decision.id)
            self.arms.append(arm)
            while len(self.waiting) > 9:
                late = self.waiting.pop(int(luck.integers(9)) if len(self.arms) % 5 else 0)
                if luck.random() < 0.2:
                    learner.expire(late)
                else:
                    learner.reward(late, float(luck.uniform(-1, 1)))
        offers = self.luck.uniform(-0.5, 0.5, (20, 3, dim))
        if self.learner.config.fixed_actions is None:
            config = self.learner.config
            self.arms.extend(self.learner.choose_many(offered(config, offers), **features(config, offers)).tolist())


@pytest.mark.parametrize("policy", EXAMPLES, ids=name_of)
def test_going_on_elsewhere_is_going_on(policy, tmp_path):
    """T rounds, a checkpoint and T rounds are 2·T rounds: arms, vault, view, noise, books, persons, diagnostics."""
    straight, moving = (Service(policy.start(seed=5, closes_after_decisions=60)) for _ in range(2))
    straight.run(HALF)
    moving.run(HALF)
    path = moving.learner.checkpoint(tmp_path / "one", KEY)
    assert path == tmp_path / "one"
    before = contents(moving.learner)
    moving.learner = resume(path, KEY)
    assert {**before, "facts": b""} == {**contents(moving.learner), "facts": b""}
    straight.run(HALF)
    moving.run(HALF)
    assert straight.arms == moving.arms
    assert behaviour(straight.learner) == behaviour(moving.learner)
    assert moving.learner.guarantee == straight.learner.guarantee
    assert moving.learner.card() == straight.learner.card()
    assert moving.learner.config == policy
    found = moving.learner.diagnostics()
    assert found.pending == 9
    assert found.expired > 0
    assert found.dropped > 0 or not counts_people(policy)


def test_a_learner_goes_on_through_many_checkpoints(tmp_path):
    straight, moving = Service(config().start(seed=5)), Service(config().start(seed=5))
    for step in range(6):
        straight.run(15)
        moving.run(15)
        moving.learner = resume(moving.learner.checkpoint(tmp_path / f"{step}", KEY), KEY)
    assert straight.arms == moving.arms
    assert behaviour(straight.learner) == behaviour(moving.learner)
    assert moving.learner.copies == 1


# What is in the file ---------------------------------------------------------------------------------------------


def test_noise_from_the_operating_system_is_laid_out_afresh(tmp_path):
    """What lay ready on the old tape is neither in the file nor on the new tape."""
    learner = config().start()
    learner.choose(np.eye(3))
    old = set(learner._session.noise.uniforms[~np.isnan(learner._session.noise.uniforms)].tolist())
    assert len(old) > 100
    assert b"noise/" not in pack(learner)
    restored = resume(learner.checkpoint(tmp_path / "one", KEY), KEY)
    restored.choose(np.eye(3))
    assert not old & set(restored._session.noise.uniforms.tolist())
    assert not restored.guarantee.seeded


def test_a_file_shows_nothing_personal_and_belongs_to_its_owner(tmp_path):
    learner = config(person_rounds=2).start()
    learner.learn(np.full(3, 0.123456789), 0.5, person="a-very-particular-name")
    learner.decide(np.full((2, 3), 0.123456789), person="a-very-particular-name")
    path = learner.checkpoint(tmp_path / "one", KEY)
    data = path.read_bytes()
    assert np.float64(0.123456789).tobytes() not in data
    assert b"particular" not in data
    assert path.stat().st_mode & 0o777 == 0o600
    assert [found.name for found in tmp_path.iterdir()] == ["one"]
    header = dataclasses.asdict(read_header(data)[0])
    assert set(header) == {"format", "tacit", "policy", "dim", "checkpoint", "uses", "size"}
    assert (header["tacit"], header["policy"], header["dim"], header["uses"]) == (
        tacit.__version__,
        "joint-linucb",
        3,
        0,
    )
    _, payload = unseal(data, KEY)
    assert b"particular" not in payload, "not even inside: a person is a keyed hash"


#: What people may do in forty decisions: answer, be silent, come again, be somebody else, send what is no number.
DEEDS = {
    "all answer": lambda learner, number, decision: learner.reward(decision, 0.25),
    "nobody answers": lambda learner, number, decision: None,
    "some answer": lambda learner, number, decision: number % 3 or learner.reward(decision, 1 / (number + 1)),
    "some expire": lambda learner, number, decision: number % 2 and learner.expire(decision),
}
SIZED = [
    config(),
    config(person_rounds=3),
    config(person_rounds=3, one_row_per_segment=True),
    tacit.RenyiUCB(arms=3, rho=1.0),
]


def size_of(learner, path) -> int:
    found = learner.checkpoint(path, KEY).stat().st_size
    assert resume(path, KEY)._decisions.made == 40, "and what it holds can be read"
    path.unlink()
    return found


@pytest.mark.parametrize("policy", SIZED, ids=lambda one: f"{one.slug}-{one.person_rounds}")
@pytest.mark.parametrize("after", [None, 7])
def test_the_size_of_a_file_follows_from_public_numbers(policy, after, tmp_path):
    """One person who did not answer made it 49 bytes longer, and every new one 24."""
    sizes = set()
    for deed in DEEDS.values():
        for people in (1, 5, 40):
            learner = policy.start(closes_after_decisions=after)
            for number in range(40):
                who = {"person": f"p{number % people}"} if policy.person_rounds else {}
                deed(learner, number, decide(learner, np.eye(3), **who))
                if number % 10 == 0:
                    learn = {
                        "x": 0 if policy.fixed_actions is not None else np.eye(3)[0],
                        "reward": float("nan"),
                        **who,
                    }
                    learner.learn(**learn)
            sizes.add(size_of(learner, tmp_path / "one"))
    assert len(sizes) == 1


def test_the_size_of_a_large_file_tells_a_power_of_two(tmp_path, monkeypatch):
    monkeypatch.setattr(state, "_PADDED", 1)
    sizes = []
    for silent in (0, 1, 40):
        learner = config().start()
        for number in range(40):
            decision = learner.decide(np.eye(3))
            if number >= silent:
                learner.reward(decision, 0.5)
        learner.checkpoint(tmp_path / f"{silent}", KEY)
        sizes.append(read_header((tmp_path / f"{silent}").read_bytes())[0].size)
    assert sizes[0] == sizes[1]
    assert all(size.bit_count() == 1 for size in sizes)


# Writing ---------------------------------------------------------------------------------------------------------


def test_a_learner_that_moved_refuses_to_work(tmp_path):
    learner = config().start(seed=1)
    decision = learner.decide(np.eye(3))
    path = learner.checkpoint(tmp_path / "one", KEY)
    before = contents(learner)
    attempts = [
        lambda: learner.choose(np.eye(3)),
        lambda: learner.choose_many(np.eye(3)[None]),
        lambda: learner.learn(np.zeros(3), 0.0),
        lambda: learner.decide(np.eye(3)),
        lambda: learner.reward(decision, 0.5),
        lambda: learner.expire(decision),
        lambda: learner.expire_all(older_than=0),
        lambda: learner.checkpoint(tmp_path / "two", KEY),
        lambda: learner.checkpoint(tmp_path / "two", KEY, keep_running=True),
    ]
    for attempt in attempts:
        with pytest.raises(Moved, match="went on in a checkpoint"):
            attempt()
    assert contents(learner) == before
    assert list(tmp_path.iterdir()) == [path]
    assert "moved to a checkpoint" in repr(learner)
    assert learner.view.stage[0] == learner.diagnostics().views == 0


def test_a_learner_still_cannot_be_pickled_or_copied(tmp_path):
    learner = config().start()
    learner.checkpoint(tmp_path / "one", KEY)
    for one in (learner, resume(tmp_path / "one", KEY)):
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(VaultSealed, match="cannot be pickled or copied"):
                attempt(one)


def test_nothing_is_ever_overwritten(tmp_path):
    learner = config().start(seed=1)
    before = contents(learner)
    (tmp_path / "file").write_bytes(b"precious")
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("file", "folder", "dangling"):
        with pytest.raises(BadInput, match="Expected a path where nothing is yet"):
            learner.checkpoint(tmp_path / name, KEY)
    assert (tmp_path / "file").read_bytes() == b"precious"
    with pytest.raises(BadInput, match="Expected a folder to write into"):
        learner.checkpoint(tmp_path / "none" / "one", KEY)
    with pytest.raises(BadInput, match="Expected key to be 32 bytes"):
        learner.checkpoint(tmp_path / "one", "passphrase")
    with pytest.raises(BadInput, match="keep_running"):
        learner.checkpoint(tmp_path / "one", KEY, keep_running="yes")
    assert contents(learner) == before
    assert {found.name for found in tmp_path.iterdir()} == {"file", "folder", "dangling"}


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=["disk full", "Ctrl-C"])
@pytest.mark.parametrize("place", ["replace", "fsync of the file", "fsync of the folder"])
def test_an_interrupted_write_leaves_no_file_and_a_live_learner(tmp_path, monkeypatch, place, error):
    learner = config().start(seed=1)
    learner.decide(np.eye(3))
    before = contents(learner)
    calls = []

    def fail(*_):
        calls.append(1)
        if place != "fsync of the folder" or len(calls) == 2:
            raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, place.split()[0], fail)
        with pytest.raises(type(error)):
            learner.checkpoint(tmp_path / "one", KEY)
    assert contents(learner) == before
    assert not list(tmp_path.iterdir())
    learner.choose(np.eye(3))
    assert resume(learner.checkpoint(tmp_path / "one", KEY), KEY).pending == 1


def test_a_policy_that_could_not_be_found_again_is_refused_before_it_is_lost(tmp_path):
    @dataclass(frozen=True, kw_only=True)
    class Local(ContextBlind):
        pass

    learner = Local(dim=3).start()
    with pytest.raises(BadInput, match="Define it at the top of a module"):
        learner.checkpoint(tmp_path / "one", KEY)
    learner.choose(np.eye(3))
    assert not list(tmp_path.iterdir())


class Unfaithful(ContextBlind):
    """Says less than it knows."""

    def to_dict(self):
        return {"policy": self.slug, "dim": self.dim + len("grows")}


class Wordless(ContextBlind):
    """Says what JSON cannot."""

    def to_dict(self):
        return {"policy": self.slug, "dim": self.dim, "more": object()}


@pytest.mark.parametrize("kind", [Unfaithful, Wordless])
def test_a_configuration_that_does_not_travel_is_refused_before_it_is_lost(kind, tmp_path):
    learner = kind(dim=3).start()
    with pytest.raises(BadInput, match="Expected a configuration that"):
        learner.checkpoint(tmp_path / "one", KEY)
    learner.choose(np.eye(3))
    assert not list(tmp_path.iterdir())


# Reading ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path):
    """A checkpoint nobody has gone on from."""
    learner = config(person_rounds=2).start()
    learner.decide(np.eye(3), person="ann")
    return learner.checkpoint(tmp_path / "one", KEY)


def test_a_checkpoint_cut_at_any_64_bytes_is_refused_and_left_alone(written):
    whole = written.read_bytes()
    for size in range(0, len(whole), 64):
        written.write_bytes(whole[:size])
        with pytest.raises(BadCheckpoint):
            resume(written, KEY)
        assert written.read_bytes() == whole[:size]
    written.write_bytes(whole)
    assert resume(written, KEY).pending == 1


def test_a_checkpoint_with_a_changed_byte_is_refused_and_left_alone(written):
    whole = written.read_bytes()
    _, end = read_header(whole)
    for at in [*range(end + 28), *range(end + 28, len(whole), 251), len(whole) - 1]:
        changed = bytearray(whole)
        changed[at] ^= 0x10
        written.write_bytes(changed)
        with pytest.raises(BadCheckpoint):
            resume(written, KEY)
        assert written.read_bytes() == changed
    assert not room._RESUMED


def test_refusals_say_which(written, tmp_path):
    before = written.read_bytes()
    with pytest.raises(BadCheckpoint, match="the key is wrong, or the file was changed"):
        resume(written, new_key())
    with pytest.raises(BadInput, match="Expected key to be 32 bytes"):
        resume(written, KEY.hex())
    with pytest.raises(BadInput, match="fork"):
        resume(written, KEY, fork=1)
    with pytest.raises(BadCheckpoint, match="got no file there"):
        resume(tmp_path / "none", KEY)
    with pytest.raises(BadCheckpoint, match="got no file there"):
        resume(tmp_path, KEY)
    assert written.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["one"]
    assert resume(written, bytearray(KEY)).copies == 1


def test_a_lock_left_behind_refuses_and_says_what_to_do(written):
    lock = written.with_name("one.lock")
    lock.touch()
    before = written.read_bytes()
    with pytest.raises(BadCheckpoint, match=r"remove .*one\.lock"):
        resume(written, KEY)
    assert written.read_bytes() == before
    lock.unlink()
    assert resume(written, KEY).pending == 1


def test_other_noise_for_the_same_configuration_is_refused(written, monkeypatch):
    """As if a later version planned otherwise."""
    before = written.read_bytes()
    plan = tacit.JointLinUCB.plan
    twin = TreeEvent(scale=1.0, sensitivity=2.0, nodes=3)
    with monkeypatch.context() as patch:
        patch.setattr(
            tacit.JointLinUCB, "plan", lambda self, sampler: dataclasses.replace(plan(self, sampler), event=twin)
        )
        with pytest.raises(BadCheckpoint, match="planned otherwise"):
            resume(written, KEY)
    assert written.read_bytes() == before


def _rescaled(plan, factor):
    person = plan.event
    lattice = person.event
    event = dataclasses.replace(lattice.event, scale=lattice.event.scale * factor)
    return dataclasses.replace(plan, event=dataclasses.replace(person, event=dataclasses.replace(lattice, event=event)))


def test_the_last_digits_of_another_machine_are_not_other_noise(written, monkeypatch):
    plan = tacit.JointLinUCB.plan
    for factor, fits in ((1.0001, False), (1 + 1e-12, True)):
        with monkeypatch.context() as patch:
            patch.setattr(
                tacit.JointLinUCB, "plan", lambda self, sampler, factor=factor: _rescaled(plan(self, sampler), factor)
            )
            if fits:
                assert resume(written, KEY).copies == 1
            else:
                with pytest.raises(BadCheckpoint, match="planned otherwise"):
                    resume(written, KEY)


def test_other_release_times_are_refused(written, monkeypatch):
    plan = tacit.JointLinUCB.plan

    def later(self, sampler):
        found = plan(self, sampler)
        return dataclasses.replace(
            found, params=found.params._replace(schedule=AtTimes(found.params.schedule.times + 1))
        )

    monkeypatch.setattr(tacit.JointLinUCB, "plan", later)
    with pytest.raises(BadCheckpoint, match="planned otherwise"):
        resume(written, KEY)


def test_arrays_of_another_shape_are_refused(written, monkeypatch):
    plan = tacit.JointLinUCB.plan

    def wider(self, sampler):
        found = plan(self, sampler)
        return dataclasses.replace(found, vault=lambda: found.vault()._replace(sums=np.zeros(99)))

    monkeypatch.setattr(tacit.JointLinUCB, "plan", wider)
    with pytest.raises(
        BadCheckpoint, match=r"Expected vault/sums to be float64 of shape \(99,\), got float64 of shape"
    ):
        resume(written, KEY)


def test_a_configuration_of_another_version_is_refused(written, monkeypatch):
    def unknown(cls, settings):
        raise tacit.errors.UnknownName("There is no option of joint-linucb 'later'.")

    monkeypatch.setattr(tacit.JointLinUCB, "from_dict", classmethod(unknown))
    with pytest.raises(BadCheckpoint, match=r"this version of tacit knows, got one it refuses: There is no option"):
        resume(written, KEY)


def test_a_policy_that_is_not_there_is_named(written, monkeypatch):
    monkeypatch.delattr(tacit, "JointLinUCB", raising=False)
    monkeypatch.setitem(tacit._HOMES, "JointLinUCB", "tacit.errors")
    with pytest.raises(BadCheckpoint, match="Expected a policy JointLinUCB in the module tacit"):
        resume(written, KEY)


# Once ------------------------------------------------------------------------------------------------------------


def test_the_file_counts_its_uses_under_a_fresh_nonce(written):
    before, _ = unseal(written.read_bytes(), KEY)
    nonces = set()
    for uses in range(1, 4):
        resume(written, KEY, fork=True)
        data = written.read_bytes()
        header, _ = unseal(data, KEY)
        _, end = read_header(data)
        assert header == dataclasses.replace(before, uses=uses)
        nonces.add(data[end : end + 12])
    assert len(nonces) == 3
    assert written.stat().st_mode & 0o777 == 0o600


def test_a_second_time_is_refused_with_its_price_and_changes_nothing(written):
    resume(written, KEY)
    before = written.read_bytes()
    for _ in range(2):
        with pytest.raises(CheckpointSpent, match="went on once") as caught:
            resume(written, KEY)
        price = config(person_rounds=2).plan().guarantee_for(2)
        assert str(price) in str(caught.value)
        assert "with 2 copies priced together" in str(caught.value)
        assert "fork=True" in str(caught.value)
    assert written.read_bytes() == before


def test_a_copy_of_the_file_is_recognised_in_one_process(written, tmp_path):
    twin = tmp_path / "copy"
    shutil.copy(written, twin)
    link = tmp_path / "link"
    link.symlink_to(written)
    resume(link, KEY)
    assert link.is_symlink(), "the file itself must remember, not a file in the place of the link"
    for path in (twin, written, link):
        with pytest.raises(CheckpointSpent):
            resume(path, KEY)
    assert resume(twin, KEY, fork=True).copies == 2
    assert resume(written, KEY, fork=True).copies == 3


def test_a_use_that_cannot_be_written_down_is_no_use(written, monkeypatch):
    before = written.read_bytes()

    def fail(*_):
        raise OSError("read-only")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="read-only"):
            resume(written, KEY)
    assert written.read_bytes() == before
    assert resume(written, KEY).copies == 1


def test_of_many_threads_exactly_one_goes_on(written):
    def work(_):
        try:
            resume(written, KEY)
        except (CheckpointSpent, BadCheckpoint):
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == 1


_PROCESS = """
import sys, time
from tacit.core.checkpoint import resume
from tacit.errors import BadCheckpoint, CheckpointSpent
import tacit.policies.context_blind
path, key, start = sys.argv[1], bytes.fromhex(sys.argv[2]), float(sys.argv[3])
time.sleep(max(0.0, start - time.time()))
try:
    resume(path, key)
except (BadCheckpoint, CheckpointSpent) as refusal:
    print(type(refusal).__name__)
else:
    print("went on")
"""


def test_of_two_processes_exactly_one_goes_on(tmp_path):
    import time

    path = ContextBlind(dim=3).start().checkpoint(tmp_path / "one", KEY)
    # A common start, late enough for both to be ready: the outcome must be the same without it.
    command = [sys.executable, "-c", _PROCESS, str(path), KEY.hex(), str(time.time() + 4)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = sorted(process.communicate()[0].strip() for process in running)
    assert said.count("went on") == 1, said
    assert read_header(path.read_bytes())[0].uses == 1


# A learner that keeps running, and what is spent ------------------------------------------------------------------


def test_a_learner_may_keep_running_and_the_file_is_then_a_fork(tmp_path):
    learner, undisturbed = config().start(seed=1), config().start(seed=1)
    path = learner.checkpoint(tmp_path / "one", KEY, keep_running=True)
    assert read_header(path.read_bytes())[0].uses == 1
    assert learner.copies == 2, "the file may become a copy at any time"
    undisturbed._copies = 2
    for actions in sets(30, 4, 3, seed=2):
        for one in (learner, undisturbed):
            one.learn(actions[one.choose(actions)], 0.5)
    assert behaviour(learner) == behaviour(undisturbed)
    with pytest.raises(CheckpointSpent, match=r"went on once \(resumed, or kept running\)"):
        resume(path, KEY)
    assert resume(path, KEY, fork=True).copies == 2


def test_a_spent_horizon_and_a_closed_decision_stay_so(tmp_path):
    learner = config(horizon=3).start(seed=1)
    decisions = [learner.decide(np.eye(3)) for _ in range(3)]
    for decision in decisions[:2]:
        learner.reward(decision, 0.5)
    restored = resume(learner.checkpoint(tmp_path / "one", KEY), KEY)
    with pytest.raises(HorizonSpent, match="3 rounds are served"):
        restored.choose(np.eye(3))
    with pytest.raises(AlreadyClosed):
        restored.reward(decisions[0], 0.5)
    restored.reward(decisions[2].id, 0.5)
    with pytest.raises(HorizonSpent, match="3 rows are learned"):
        restored.learn(np.zeros(3), 0.0)


def test_dimensions_and_sizes_do_not_matter(tmp_path):
    """Before anybody came, with one feature; and with a thousand open decisions."""
    empty = tacit.LinUCB(dim=1).start()
    assert resume(empty.checkpoint(tmp_path / "empty", KEY), KEY).diagnostics().rows == 0
    learner = ContextBlind(dim=DIM).start(closes_after_decisions=2000)
    decisions = [learner.decide(actions) for actions in sets(1000, 2, DIM, seed=1)]
    restored = resume(learner.checkpoint(tmp_path / "full", KEY), KEY)
    assert restored.pending == 1000
    assert restored.expire_all(older_than=500) == 500
    restored.reward(decisions[-1], 0.5)
    assert restored.pending == 499


def test_a_file_of_a_state_too_large_for_one_seal_is_refused(tmp_path, monkeypatch):
    from tacit.core import sealed

    monkeypatch.setattr(sealed, "_LARGEST", 1000)
    learner = config().start(seed=1)
    with pytest.raises(BadInput, match="Expected a state below 2 GiB"):
        learner.checkpoint(tmp_path / "one", KEY)
    learner.choose(np.eye(3))
    assert not list(tmp_path.iterdir())


def test_a_forged_state_needs_the_key(written):
    """Whoever has no key cannot seal; whoever has it can, which is why it is kept apart from the files."""
    header, payload = unseal(written.read_bytes(), KEY)
    written.write_bytes(seal(header, payload, new_key()))
    with pytest.raises(BadCheckpoint):
        resume(written, KEY)
