"""Azize and Basu, Rényi Differentially Private Bandits: its three theorems, what privacy costs, and Appendix D.3."""

from typing import Any

from tacit.reproduce.experiment import Experiment
from tacit.reproduce.renyi.linpriv import CostOfLinPriv
from tacit.reproduce.renyi.price import PriceOfPrivacy
from tacit.reproduce.renyi.pure import PureAgainstRenyi
from tacit.reproduce.renyi.table_1 import UpperBounds

EXPERIMENTS: tuple[Experiment[Any], ...] = (
    UpperBounds(),
    PriceOfPrivacy(),
    PureAgainstRenyi(),
    CostOfLinPriv(),
)
