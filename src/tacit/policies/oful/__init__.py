"""Optimism on linear rewards that changes its mind rarely: `RenyiOFUL` under Rényi privacy, `OFUL` without.

`renyi` and `plain` hold the configurations, `verbs` the algorithm on public actions, `released` the one that protects
contexts too, `switching` how often a view is replaced. What a release costs is proved in
`mechanisms/root_toeplitz/proof.md`.
"""

from tacit.policies.oful.plain import OFUL
from tacit.policies.oful.renyi import RenyiOFUL

__all__ = ["OFUL", "RenyiOFUL"]
