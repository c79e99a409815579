"""Scales small enough for a test: they exercise every line and settle nothing."""

from __future__ import annotations

from tacit.reproduce.joint_dp.decision_set import OneSet
from tacit.reproduce.joint_dp.dimension import Dimensions
from tacit.reproduce.joint_dp.orthogonal import Prices
from tacit.reproduce.joint_dp.over_time import Gaps
from tacit.reproduce.joint_dp.plain_dp import Epsilons
from tacit.reproduce.joint_dp.shift import Shifts
from tacit.reproduce.local.combination import Bases
from tacit.reproduce.local.eigenvalues import Arms
from tacit.reproduce.local.over_time import Budgets
from tacit.reproduce.local.rates import Sizes

SMALL = {"name": "tiny", "time": "a moment", "trials": 2}
DIMENSIONS = Dimensions(**SMALL, rounds=300, dims=(3, 4))
TINY = {
    "joint-dp/figure-1": OneSet(name="tiny", time="a moment", arms=50),
    "joint-dp/figure-2": DIMENSIONS,
    "joint-dp/figure-3": DIMENSIONS,
    "joint-dp/figure-4": Gaps(**SMALL, rounds=500),
    "joint-dp/figure-5": Shifts(**SMALL, rounds=500, gaps=(0.0, 0.2), points=3),
    "joint-dp/claim-13": Epsilons(**SMALL, rounds=500, epsilons=(0.5, 2.0)),
    "joint-dp/corollary-15": Prices(**SMALL, rounds=500, epsilons=(1.0,)),
    "local/figure-1": Budgets(**SMALL, rounds=300, epsilons=(0.2, 10.0)),
    "local/table-1": Arms(**{**SMALL, "trials": 8}, rounds=200, arms=(5, 25), ends=(100, 200)),
    "local/combiner": Bases(**SMALL, rounds=300, epsilons=(10.0,), followed=2),
    "local/rates": Sizes(**SMALL, rounds=300, horizons=(200, 400), dims=(3, 4), spreads=(0.1, 0.2)),
}
