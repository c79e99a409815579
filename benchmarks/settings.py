"""What is measured: the setting of Shariff and Sheffet (2018), and the policies that exist in both loops."""

from __future__ import annotations

from tacit import JointLinUCB, LinUCB, Policy

DIM, ARMS, GAP = 5, 25, 0.1
EPSILON, DELTA = 1.0, 0.1
LARGE_DIM, LARGE_ARMS = 64, 4096

#: The policies by the names they have in the tables.
POLICIES = ("linucb", "tree", "geometric")
#: What NumPy has a second way for.
RANK_ONE = "linucb, rank-one NumPy"


def policy(name: str, horizon: int, dim: int = DIM, epsilon: float = EPSILON) -> Policy:
    """One of `POLICIES`, or `RANK_ONE`, for this many rounds."""
    if name in ("linucb", RANK_ONE):
        return LinUCB(dim=dim, horizon=horizon, width="theory")
    return JointLinUCB(dim=dim, epsilon=epsilon, delta=DELTA, releases=name, horizon=horizon, width="theory")
