"""LinUCB whose confidence sets are built around an online learner: under local privacy, and without privacy.

`OnlineLinUCB` (Algorithm 1), `AnytimeLinUCB` (Algorithm 9) and `Combiner` (Algorithm 2) share one text: `params` and
`verbs` hold a bank of bases, of which the first two have one. `OnlineConfidence` (Algorithm 4) is the same idea on
exact data. The numbers of the paper stand in `widths` and `combination`; what a report costs is proved in
`mechanisms/report/proof.md`.
"""

from tacit.policies.online.anytime import AnytimeLinUCB
from tacit.policies.online.combiner import Combiner
from tacit.policies.online.confidence import OnlineConfidence
from tacit.policies.online.linucb import OnlineLinUCB

__all__ = ["AnytimeLinUCB", "Combiner", "OnlineConfidence", "OnlineLinUCB"]
