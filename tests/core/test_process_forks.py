"""A fork of the process: no draw of noise, and no exact sum, is ever used in two processes.

Each test forks in a process of its own, which has one thread: a fork of the test runner would copy its threads' locks.
"""

import subprocess
import sys

import pytest

HEAD = """
import json, os, sys
import numpy as np
import tacit
from tacit.errors import Moved

CONFIG = tacit.JointLinUCB(dim=2, epsilon=1.0, delta=1e-6, releases="tree", horizon=1000, exploration="thompson")


def in_child(work):
    '''What `work` says, in a fork of this process.'''
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            said = work()
        except Exception as problem:
            said = f"{type(problem).__name__}: {problem}"
        os.write(writer, json.dumps(said).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        found = json.load(file)
    os.waitpid(pid, 0)
    return found
"""


def run(script: str) -> str:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", HEAD + script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_learner_at_work_stays_with_the_process_that_started_it():
    """It was: both went on, under the noise that lay ready; subtracting their views gave a row exactly."""
    said = run("""
learner = CONFIG.start()
learner.learn([1.0, 0.0], 1.0)
laid = learner._session.noise


def learn():
    learner.learn([0.0, 1.0], 1.0)


for work in (learn, lambda: learner.choose(np.eye(2)), lambda: learner.decide(np.eye(2)).arm):
    assert in_child(work).startswith("Moved: This learner was at work before its process forked"), in_child(work)
assert in_child(lambda: bool(np.isnan(laid.normals).all() and np.isnan(laid.uniforms).all())), "wiped in the child"
assert not np.isnan(laid.normals).all(), "and left to the parent"
assert in_child(lambda: repr(learner)).endswith("of another process>")
learn()
print(learner.view.stage[0])
""")
    assert said.split() == ["2"]


def test_a_learner_that_has_not_begun_goes_on_in_each_process_with_noise_of_its_own():
    said = run("""
learner = CONFIG.start()


def view():
    decision = learner.decide(np.eye(2))
    learner.reward(decision, 1.0)
    learner.decide(np.eye(2))
    return [decision.id, learner.view.factor.tolist(), learner.view.theta.tolist()]


one, two, mine = in_child(view), in_child(view), view()
for place in range(3):
    assert one[place] != two[place] and one[place] != mine[place] and two[place] != mine[place]
print("apart")
""")
    assert said.split() == ["apart"]


def test_noise_that_lies_ready_is_used_in_one_process_only():
    """The tape is filled ahead: 256 numbers, of which a first choice uses a few."""
    said = run("""
from tacit.core.session import Session

session = Session(CONFIG.planned(), 2)
session.view.width[0] = 1.0
session.choose(session.view, np.eye(2))
ready = session.noise.normals.copy()


def drawn():
    session.choose(session.view, np.eye(2))
    return session.noise.normals[~np.isnan(session.noise.normals)].tolist()


theirs = set(in_child(drawn))
assert theirs and not theirs & set(ready.tolist())
print("apart")
""")
    assert said.split() == ["apart"]


def test_a_device_makes_its_reports_in_one_process():
    said = run("""
device = tacit.LocalLinUCB(dim=2, epsilon=1.0, delta=1e-6, horizon=100, person_rounds=3).device()
assert in_child(lambda: device.report([1.0, 0.0], 1.0)).startswith("Moved: This device was made before its process")
assert in_child(lambda: device.choose(np.eye(2))) in (0, 1)
device.report([1.0, 0.0], 1.0)
seeded = tacit.LocalLinUCB(dim=2, epsilon=1.0, delta=1e-6, horizon=100).device(seed=1)
assert in_child(lambda: seeded.report([1.0, 0.0], 1.0))["values"], "a simulation may fork"
print(device.made)
""")
    assert said.split() == ["1"]


FUNCTIONS = """
from tacit.policies.catalogue import FUNCTIONS

EXAMPLES = [config for kind in FUNCTIONS.values() for config in kind.examples()]


def context_of(config):
    return None if config.context_box is None else np.full(config.context_dim, 0.4)


def one_record(learner):
    learner.learn(learner.config.actions.centre, 0.5, context_of(learner.config))


def released(learner):  # a function, or where there is none a draw
    config, context = learner.config, context_of(learner.config)
    if config.form == "exact":
        return learner.predict_once(context, config.epsilon).tolist()
    return learner.release_function().predict(context, config.grid).tolist()
"""


def test_a_learner_of_functions_that_has_records_stays_with_the_process_that_started_it():
    """It did not: parent and child both released the sum of the same records, each for the whole budget."""
    said = run(
        FUNCTIONS
        + """
for config in EXAMPLES:
    learner = config.start()
    one_record(learner)
    works = [lambda: one_record(learner), lambda: released(learner), lambda: learner.choose(context_of(config))]
    if config.slug == "usca":
        works += [lambda: learner.predict_once(context_of(config), 0.1).tolist()]
    for work in works:
        said = in_child(work)
        assert str(said).startswith("Moved: This learner was at work before its process forked"), (config.slug, said)
    released(learner)
    seeded = config.start(seed=1)
    one_record(seeded)
    assert in_child(lambda: released(seeded)), "a simulation may fork"
print("stays")
"""
    )
    assert said.split() == ["stays"]


def test_a_learner_of_functions_that_has_spent_and_learned_nothing_stays_too():
    said = run(
        FUNCTIONS
        + """
learner = FUNCTIONS["usca"].examples()[0].start()
learner.predict_once(0.4, 0.1)
assert in_child(lambda: one_record(learner)).startswith("Moved")
print(learner.diagnostics().rows)
"""
    )
    assert said.split() == ["0"]


def test_a_learner_of_functions_that_has_not_begun_draws_noise_of_its_own_in_each_process():
    said = run(
        FUNCTIONS
        + """
noisy = 0
for config in EXAMPLES:
    learner = config.start()

    def work():
        one_record(learner)
        return released(learner)

    one, two, mine = in_child(work), in_child(work), work()
    if config.guarantee.private and config.form != "exact" and one != np.zeros(len(config.grid)).tolist():
        noisy += 1
        assert one != two and one != mine and two != mine, config.slug
    assert not isinstance(one, str) and not isinstance(two, str)
assert noisy == 5, "of the others one draws one of few, and one has no view yet"
print("apart")
"""
    )
    assert said.split() == ["apart"]


LONGER = [pytest.param(method, marks=pytest.mark.long) for method in ("forkserver", "spawn")]


@pytest.mark.parametrize("method", ["fork", *LONGER])
def test_no_way_of_multiprocessing_copies_a_learner(method, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        HEAD
        + f"""
import multiprocessing

learner = CONFIG.start()


def learn(number):
    try:
        learner.learn([0.0, 1.0], 1.0)
    except Moved:
        return "refused"
    return learner.view.factor.tolist()


if __name__ == "__main__":
    learner.learn([1.0, 0.0], 1.0)
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        found = pool.map(learn, range(2), chunksize=1)
    if "{method}" == "fork":
        assert found == ["refused", "refused"], found
    else:  # they start a learner of their own, from the module
        assert found[0] != found[1], found
    try:
        multiprocessing.get_context("{method}").Process(target=print, args=(learner,)).start()
        sent = "{method}" == "fork"
    except tacit.errors.VaultSealed:
        sent = "{method}" != "fork"
    print(sent)
"""
    )
    result = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)], capture_output=True, text=True, timeout=240, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "True" in result.stdout
