"""Small sweeps."""

from __future__ import annotations

from pathlib import Path

HEAD = """
rounds = {rounds}
trials = 2
seeds = [1, 2]
epsilons = [1, 10]
"""
POLICIES = """
[[policy]]
name = "linucb"

[[policy]]
name = "randomised-response"
"""
WORLD = """
[[environment]]
name = "sphere"
dim = 3
arms = 4
"""


def write(folder: Path, text: str = "", *, rounds: int = 200, name: str = "small.toml") -> Path:
    """A sweep of six runs, with more text at its end."""
    path = folder / name
    path.write_text(HEAD.format(rounds=rounds) + POLICIES + WORLD + text, "utf-8")
    return path
