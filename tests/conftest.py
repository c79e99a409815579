"""What all tests share: one compiled-code cache per source version, no progress bars, no figures on screen."""

from __future__ import annotations

import os

os.environ.setdefault("MPLBACKEND", "Agg")
