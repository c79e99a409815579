"""The wheel, in an environment that has nothing else of this project."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command, cwd):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", target, ROOT, cwd=target)
    (found,) = target.glob("tacit-*.whl")
    return found


def test_the_wheel_carries_types_and_proofs_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "tacit/py.typed" in names
    shipped = [
        *ROOT.glob("src/tacit/mechanisms/*/proof.md"),
        *ROOT.glob("src/tacit/counters/*.md"),
        *ROOT.glob("src/tacit/protocol/**/*.json"),
    ]
    shipped += [*ROOT.glob("src/tacit/report/*.js"), *ROOT.glob("src/tacit/report/*.css")]
    shipped += [ROOT / "src/tacit/data/digits.npz", ROOT / "src/tacit/privacy/card.schema.json"]
    assert len(shipped) > 10
    for path in shipped:
        assert path.relative_to(ROOT / "src").as_posix() in names
    assert all(name.startswith(("tacit/", "tacit-")) for name in names)
    assert not any("__pycache__" in name for name in names)


@pytest.mark.long
def test_the_wheel_works_in_a_clean_environment(wheel, tmp_path):
    environment = tmp_path / "venv"
    run(sys.executable, "-m", "venv", environment, cwd=tmp_path)
    python = environment / "bin" / "python"
    quiet = ["--quiet", "--disable-pip-version-check", "--constraint", ROOT / "constraints.txt"]
    run(python, "-m", "pip", "install", *quiet, wheel, cwd=tmp_path)
    tacit = environment / "bin" / "tacit"
    assert run(tacit, "--version", cwd=tmp_path).startswith("tacit ")
    promise = ["joint-linucb", "--epsilon", "1", "--delta", "1e-6", "--json"]
    card = json.loads(run(tacit, "privacy", *promise, cwd=tmp_path))
    assert card["true_epsilon"] <= 1
    short = ["--rounds", "2000", "--trials", "2"]
    assert json.loads(run(tacit, "run", *promise, *short, cwd=tmp_path))["regret_mean"] > 0
