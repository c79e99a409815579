"""Scales small enough for a test: they exercise every line and settle nothing."""

from __future__ import annotations

from tacit.reproduce.joint_dp.decision_set import OneSet
from tacit.reproduce.joint_dp.dimension import Dimensions
from tacit.reproduce.joint_dp.orthogonal import Prices
from tacit.reproduce.joint_dp.over_time import Gaps
from tacit.reproduce.joint_dp.plain_dp import Epsilons
from tacit.reproduce.joint_dp.shift import Shifts
from tacit.reproduce.kernel.predictions import Counts
from tacit.reproduce.kernel.rates import Horizons as Records
from tacit.reproduce.local.combination import Bases
from tacit.reproduce.local.eigenvalues import Arms
from tacit.reproduce.local.over_time import Budgets
from tacit.reproduce.local.rates import Sizes
from tacit.reproduce.renyi.common import Settings
from tacit.reproduce.renyi.linpriv import Horizons
from tacit.reproduce.renyi.pure import Promises

SMALL = {"name": "tiny", "time": "a moment", "trials": 2}
DIMENSIONS = Dimensions(**SMALL, rounds=300, dims=(3, 4))
SETTINGS = Settings(
    **SMALL,
    rounds=2000,
    budgets=(0.1, 0.001),
    plain_rounds=500,
    plain_trials=2,
    lists=((2, 3, 1000), (2, 3, 2000)),
    list_budgets=(1.0, 0.1),
    instances=2,
    dim=2,
    horizons=(200, 400),
    context_budgets=(1.0, 0.1),
    context_trials=2,
    followed=2,
)
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
    "renyi/table-1": SETTINGS,
    "renyi/price": SETTINGS,
    "renyi/pure-against-renyi": Promises(**SMALL, rounds=2000, epsilons=(0.1, 1.0), optimisms=(3.1,)),
    "renyi/linpriv": Horizons(
        **SMALL, rounds=600, horizons=(200, 400, 600), promises=("ρ = 10",), arms=2, context_dim=2
    ),
    "kernel/rates": Records(**SMALL, rounds=400, horizons=(200, 400), budgets=(1.0,), features=25),
    "kernel/predictions": Counts(**SMALL, rounds=300, horizons=(200, 300), counts=(1, 10)),
}
