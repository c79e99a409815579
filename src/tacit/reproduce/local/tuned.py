"""One width multiplier per policy and ε, for baselines that shall have what the paper's own policy had.

Chosen by the least mean regret on seeds from 10⁶ up, which no result that is reported uses:

    python -m benchmarks.local_widths --trials 10

For OnlineUCB the number is c of the practical width, for the others it multiplies their own. At ε ≤ 1 it hardly matters
for most of them, and neighbours on the grid are as good within their errors; at 0.003 a policy is all but greedy.
"""

from __future__ import annotations

from collections.abc import Mapping

#: What was tried.
GRID = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
#: Of OnlineUCB: around c = 2.
ONLINE_GRID = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)

MULTIPLIERS: Mapping[str, Mapping[float, float]] = {
    "OnlineUCB, Maler": {0.2: 1.0, 1.0: 0.5, 10.0: 2.0},
    "LDP": {0.2: 0.03, 1.0: 0.01, 10.0: 0.01},
    "SDP, amplification": {0.2: 0.003, 1.0: 1.0, 10.0: 0.01},
    "JDP": {0.2: 0.003, 1.0: 0.3, 10.0: 0.3},
    "OnlineUCB, Maler, exact": {0.2: 16.0, 1.0: 8.0, 10.0: 1.0},
    "LDP, exact, least squares": {0.2: 1.0, 1.0: 1.0, 10.0: 0.3},
    "SDP, vector sum, exact": {0.2: 0.003, 1.0: 0.01, 10.0: 0.003},
    "JDP, exact geometric": {0.2: 0.3, 1.0: 0.1, 10.0: 0.3},
}
