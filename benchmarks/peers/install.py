"""Install the peers into this virtual environment, one by one. Who cannot be had is noted, and the others go on.

python -m benchmarks.peers.install

Versions are pinned in `requirements.txt`; what they need in turn obeys tacit's own `constraints.txt`, so that all run
on one NumPy. Standard library only: this runs before anything is installed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_HERE = Path(__file__).parent
REQUIREMENTS = _HERE / "requirements.txt"
CONSTRAINTS = _HERE.parent.parent / "constraints.txt"
#: In the environment: what could not be installed there, and why.
REFUSALS = "peers-not-installed.json"
_LONGEST = 160


def pins() -> dict[str, str]:
    """The peers, and for each the version that was last measured."""
    lines = REQUIREMENTS.read_text("utf-8").split()
    return dict(line.split("==") for line in lines)


def refusals(prefix: str = sys.prefix) -> dict[str, str]:
    """Why a peer is not in this environment, by name; empty if nothing was tried or all went well."""
    noted = Path(prefix) / REFUSALS
    if not noted.exists():
        return {}
    found: dict[str, str] = json.loads(noted.read_text("utf-8"))
    return found


def reason(output: str) -> str:
    """The last word on a failure, pip's or another's, in one line, without addresses and paths: it goes into a page."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    said = errors[-1] if errors else lines[-1] if lines else "no reason was given"
    said = re.sub(r"[a-z+]+://\S+|(?<![\w.])/[\w.\-/]+", "…", said).replace("|", "/")
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"


def install(names: Mapping[str, str], python: str = sys.executable) -> dict[str, str]:
    """Install each at its pinned version, or failing that at any; returns the reasons of those that refused both."""
    failed: dict[str, str] = {}
    for name, version in names.items():
        print(f"installing {name} {version}", flush=True)
        outcome = _pip(python, f"{name}=={version}")
        if outcome is not None:
            print(f"  not to be had: {outcome}\n  trying any other version", flush=True)
            outcome = _pip(python, name)
        if outcome is not None:
            print(f"  {name} could not be installed: {outcome}", flush=True)
            failed[name] = outcome
    return failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Install all, note the failures in the environment. A peer that cannot be had does not fail the command."""
    del arguments
    if sys.prefix == sys.base_prefix:
        print(
            "Expected a virtual environment, got the system's Python: peers shall not mix with what is there. "
            "Use `make bench-peers`, which makes one."
        )
        return 2
    failed = install(pins())
    (Path(sys.prefix) / REFUSALS).write_text(json.dumps(failed, indent=2) + "\n", "utf-8")
    return 0


def _pip(python: str, requirement: str) -> str | None:
    """None if it worked, else the reason."""
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--constraint", str(CONSTRAINTS), requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else reason(done.stdout + done.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
