"""What all tests share: one compiled-code cache per source version, no progress bars, no figures on screen."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")
# Tests run side by side: threads of LAPACK that wait for each other would make small solves a hundred times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A shell starts what it runs in the background deaf to Ctrl-C, and some tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Workers begin at different ends and take from each other when they are done. With turns, as is usual, both would
    be in the same file all the time, compile the same kernels and set up the same fixtures at once."""
    if config.getoption("dist") != "load":
        return None  # somebody asked for another way
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)
