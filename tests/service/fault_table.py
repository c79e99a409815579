"""Kills by the hundred, as a page: `python -m tests.service.fault_table docs/results/serve-faults.md [KILLS]`."""

from __future__ import annotations

import statistics
import sys
import tempfile
import warnings
from pathlib import Path

from tests.service.faults import HEADER, kill_again_and_again
from tests.service.postgres_server import postgres_server
from tests.service.test_replicas import kill_the_holder_again_and_again

_PAGE = """# The service under kills

Three deployments (a release with every decision; persons, learned as rewards come; persons, learned in the order of
decisions) under load from a few clients, while the process is killed with SIGKILL at random moments and started again;
every fifth time it is killed once more before it is up. With PostgreSQL there are two replicas, and the one that is
killed is the one that holds the lease. Clients send unanswered decisions again under their key, and every second
unanswered reward again; the others are given up, and may count or not.

Afterwards the store itself is asked. In every run all of this held, or the run would have failed:

- every acknowledged reward counted exactly once, and nothing else counted: the exact sums in the vault are, to the last
  bit, those of the rewards the store says it has counted, and these are the acknowledged ones and some that nobody
  answered;
- every acknowledged decision is in the store, and no id was given twice;
- no person counted more often than the promise covers;
- releases are numbered without gaps or repeats, the ledger is unbroken and was never rewritten between two looks, and
  the accounted epsilon is the one that was promised;
- nobody was served from an older view than somebody before (one process; replicas may be a tenth of a second apart).

{table}

"Up again" is from the start of the process to its first healthy answer; most of it is Python importing packages.
{taken}

Made by `python -m tests.service.fault_table FILE {kills}`; `make test` runs two kills and one.
"""


def main(path: Path, kills: int) -> None:
    """Run both and write the page."""
    warnings.simplefilter("ignore")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        rows.append(kill_again_and_again(Path(folder), kills=kills, seed=2).row("SQLite"))
        print(rows[-1], flush=True)
    with tempfile.TemporaryDirectory() as folder, postgres_server() as server:
        outcome, taken = kill_the_holder_again_and_again(Path(folder), server.database(), kills=kills, seed=22)
        rows.append(outcome.row("PostgreSQL, two replicas"))
        print(rows[-1], flush=True)
    text = (
        f"With PostgreSQL another replica held the lease {statistics.median(taken):.1f} s after a kill (median; at\n"
        f"most {max(taken):.1f} s): a lease lasts three seconds."
    )
    path.write_text(_PAGE.format(table="\n".join([HEADER, *rows]), taken=text, kills=kills))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100)
