"""What all tests share: one compiled-code cache per source version, no progress bars, no figures on screen."""

from __future__ import annotations

import os
import signal

os.environ.setdefault("MPLBACKEND", "Agg")
# Tests run side by side: threads of LAPACK that wait for each other would make small solves a hundred times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A shell starts what it runs in the background deaf to Ctrl-C, and some tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
