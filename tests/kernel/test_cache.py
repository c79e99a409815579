"""The cache of compiled code: named by the sources, never stale, never in the way."""

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest

import tacit
from tacit import _kernel

PACKAGE = Path(tacit.__file__).parent
DAY = 86_400


@pytest.fixture
def copy(tmp_path):
    """A copy of the package that a test may edit."""
    target = tmp_path / "copy" / "tacit"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def standalone(root):
    """The module `_kernel` of the package at `root`, loaded afresh and apart from the one in use."""
    spec = importlib.util.spec_from_file_location("_kernel_standing_alone", root / "_kernel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(script, *, path, cache, **environment):
    """A fresh process whose first choice of modules is `path`."""
    result = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        env={**os.environ, "PYTHONPATH": str(path), "TACIT_CACHE_DIR": str(cache), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


# The name of the cache ----------------------------------------


def test_the_hash_is_the_same_for_the_same_sources(copy):
    assert standalone(copy).source_hash() == standalone(copy).source_hash() == standalone(PACKAGE).source_hash()


def test_the_hash_changes_when_any_source_file_changes(copy):
    before = standalone(copy).source_hash()
    seen = {before}
    files = sorted(copy.rglob("*.py"))
    assert len(files) > 30
    for file in files:
        original = file.read_bytes()
        file.write_bytes(original + b"\n# one more line\n")
        seen.add(standalone(copy).source_hash())
        file.write_bytes(original)
    assert len(seen) == len(files) + 1
    assert standalone(copy).source_hash() == before


def test_the_hash_changes_when_a_file_is_added_renamed_or_removed(copy):
    seen = [standalone(copy).source_hash()]
    (copy / "noise" / "extra.py").write_text("")
    seen.append(standalone(copy).source_hash())
    (copy / "noise" / "extra.py").rename(copy / "noise" / "other.py")
    seen.append(standalone(copy).source_hash())
    (copy / "noise" / "tape.py").unlink()
    seen.append(standalone(copy).source_hash())
    assert len(set(seen)) == 4


@pytest.mark.parametrize("library", ["numba", "np", "scipy"])
def test_the_hash_changes_with_the_version_of_what_compiles(copy, library, monkeypatch):
    before, module = standalone(copy).source_hash(), standalone(copy)
    monkeypatch.setattr(getattr(module, library), "__version__", "0.0.1")
    assert module.source_hash() != before


def test_the_cache_lives_where_it_is_told_in_a_directory_of_that_name(copy, tmp_path, monkeypatch):
    module = standalone(copy)
    monkeypatch.setenv("TACIT_CACHE_DIR", str(tmp_path / "here"))
    assert module.cache_directory() == tmp_path / "here" / module.source_hash()
    assert module.cache_directory().is_dir()


def test_without_being_told_the_cache_lives_with_the_caches_of_the_user(copy, tmp_path, monkeypatch):
    monkeypatch.delenv("TACIT_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    module = standalone(copy)
    assert module.cache_directory() == tmp_path / "xdg" / "tacit" / module.source_hash()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    module = standalone(copy)
    assert module.cache_directory() == tmp_path / "home" / ".cache" / "tacit" / module.source_hash()


# Never stale ----------------------------------------

# The outermost function is in a file that is never edited; the noise it draws is edited one import below. A small
# kernel shows it as well as a whole round of a learner would, and is compiled in a fraction of the time.
OUTER = """
import os
import numpy as np
import tacit._kernel
if os.environ.get("PRETEND_UNCHANGED"):
    tacit._kernel.source_hash = lambda: "0" * 20
from tacit.counters.tree import empty_memory, tree_noise
from tacit.noise import tape_of

memory = empty_memory(8, 2)
tree_noise(1.5, memory, 1, 1, tape_of(np.arange(1.0, 15.0), np.empty(0)))
stats = tree_noise.stats
print(repr(float(memory[0, 1])), sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def with_fifty_times_the_noise(root):
    file = root / "noise" / "symmetric.py"
    text = file.read_text()
    edited = text.replace("out[k] *= scale", "out[k] *= 50.0 * scale")
    assert edited != text
    file.write_text(edited)


@pytest.mark.parametrize("pretend_unchanged", [False, True])
def test_machine_code_of_edited_noise_is_never_used_again(copy, tmp_path, pretend_unchanged):
    """Noise is edited in a file the compiler's own cache does not look at.

    With the hash of the sources pinned, the old noise stays in use: the breach is real, and this test would see it.
    """
    script, cache = tmp_path / "outer.py", tmp_path / "cache"
    script.write_text(OUTER)
    pretend = {"PRETEND_UNCHANGED": "1"} if pretend_unchanged else {}
    first, hits, misses = run(script, path=copy.parent, cache=cache, **pretend)
    assert (hits, misses) == ("0", "1")
    if not pretend_unchanged:  # kept on disk, and reused by an unchanged library
        assert run(script, path=copy.parent, cache=cache) == [first, "1", "0"]
    with_fifty_times_the_noise(copy)
    third, hits, misses = run(script, path=copy.parent, cache=cache, **pretend)
    if pretend_unchanged:
        assert (third, hits, misses) == (first, "1", "0")
    else:
        assert (hits, misses) == ("0", "1")
        assert float(third) == pytest.approx(50 * float(first), rel=1e-12)


POLICY = """
from typing import NamedTuple
import numpy as np
from tacit._kernel import implements, kernel
from tacit.core.verbs import absorb, encode, release

class Mine(NamedTuple):
    scale: float

class Sums(NamedTuple):
    total: np.ndarray

@implements(encode, Mine)
@kernel
def _encode(params, view, x, reward, report, noise):
    report[0] = reward

@implements(absorb, Mine)
@kernel
def _absorb(params, vault, report):
    vault.total[0] += report[0]

@implements(release, Mine)
@kernel
def _release(params, vault, view, noise):
    view.total[0] = vault.total[0] + 1.0 * params.scale
"""

USE = """
import numpy as np
from mine import Mine, Sums
from tacit.core.round import learn_round
vault, view = Sums(np.zeros(1)), Sums(np.zeros(1))
learn_round(Mine(1.0), vault, view, np.zeros(2), 5.0, np.zeros(1), vault)
print(float(view.total[0]))
"""


def test_machine_code_of_an_edited_policy_of_somebody_else_is_never_used_again(tmp_path):
    """`learn_round` is ours and its cache is named by our sources; the release it calls is the user's."""
    script, mine, cache = tmp_path / "use.py", tmp_path / "mine.py", tmp_path / "cache"
    script.write_text(USE)
    mine.write_text(POLICY)
    assert run(script, path=tmp_path, cache=cache) == ["6.0"]
    mine.write_text(POLICY.replace("1.0 * params.scale", "50.0 * params.scale"))
    assert run(script, path=tmp_path, cache=cache) == ["55.0"]


# Never in the way ----------------------------------------


@pytest.mark.parametrize("decorate", [_kernel.kernel, _kernel.library_kernel])
def test_decorating_a_kernel_leaves_the_users_own_cache_setting(decorate, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "/somewhere/of/the/user")

    def nothing(x):
        return x

    nothing.__module__ = "tacit.somewhere"
    compiled = decorate(nothing)
    assert numba.config.CACHE_DIR == "/somewhere/of/the/user"
    assert Path(compiled.stats.cache_path).is_relative_to(_kernel.cache_directory())


def test_a_kernel_of_somebody_else_is_not_kept_on_disk():
    """Its sources are not in the hash that names our cache."""

    @_kernel.kernel
    def theirs(x):
        return x

    assert theirs.stats.cache_path is None


def test_a_failed_decoration_leaves_it_too(monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "/somewhere/of/the/user")
    with pytest.raises(Exception):  # noqa: B017, PT011
        _kernel.kernel(42)
    assert numba.config.CACHE_DIR == "/somewhere/of/the/user"


def test_where_nothing_can_be_written_a_temporary_directory_serves(copy, tmp_path):
    """The parent of the wanted directory is a file: not even root can write there."""
    script, blocked, temporary = tmp_path / "outer.py", tmp_path / "file", tmp_path / "tmp"
    script.write_text(OUTER + "print(tacit._kernel.cache_directory())\n")
    blocked.write_text("in the way")
    temporary.mkdir()
    value, hits, misses, where = run(script, path=copy.parent, cache=blocked / "cache", TMPDIR=str(temporary))
    assert float(value) != 0
    assert (hits, misses) == ("0", "1")
    assert Path(where).parent == temporary
    assert Path(where).name.startswith("tacit-")
    assert blocked.read_text() == "in the way"


def aged(path, days, *, file=False, marked=False):
    if file:
        path.write_text("")
    else:
        path.mkdir()
        (path / "inside").write_text("")
    when = time.time() - days * DAY
    if marked:
        (path / ".tacit-cache").write_text("")
        os.utime(path / ".tacit-cache", (when, when))
    os.utime(path, (when, when))
    return path


def test_tidying_removes_old_directories_of_other_versions_and_nothing_else(copy, tmp_path, monkeypatch):
    root = tmp_path / "cache"
    monkeypatch.setenv("TACIT_CACHE_DIR", str(root))
    module = standalone(copy)
    current = module.cache_directory()
    old, recent = aged(root / ("a1" * 10), 31, marked=True), aged(root / ("b2" * 10), 29, marked=True)
    kept = [
        current,
        recent,
        aged(root / "notes", 400),
        aged(root / ("c3" * 11), 400),
        aged(root / ("d4" * 10), 400, file=True),
    ]
    os.utime(current / ".tacit-cache", (0, 0))  # the one in use stays, however old
    assert module.tidy_cache() == [old]
    assert not old.exists()
    assert all(path.exists() for path in kept)
    assert module.tidy_cache() == []


def test_tidying_keeps_a_directory_of_the_user_whose_name_is_as_long_as_a_hash(copy, tmp_path, monkeypatch):
    monkeypatch.setenv("TACIT_CACHE_DIR", str(tmp_path / "cache"))
    module = standalone(copy)
    module.cache_directory()
    theirs = aged(tmp_path / "cache" / "my-important-dataset", 400)
    module.tidy_cache()
    assert theirs.exists()


def test_tidying_after_the_fallback_touches_no_temporary_directory_of_others(copy, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TACIT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    module = standalone(copy)
    monkeypatch.setattr(module.tempfile, "tempdir", str(temporary))
    assert module.cache_directory().parent == temporary
    theirs = aged(temporary / ("a1" * 10), 400, marked=True)
    module.tidy_cache()
    assert theirs.exists()
