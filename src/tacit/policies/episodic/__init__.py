"""Policies over a fixed list of actions that learn in episodes: one arm at a time, one noised total per episode."""

from tacit.policies.episodic.elimination import SuccessiveElimination
from tacit.policies.episodic.index import KLUCBIndex, UCBIndex
from tacit.policies.episodic.laplace_ucb import LaplaceUCB
from tacit.policies.episodic.renyi_ucb import Episodic, RenyiUCB
from tacit.policies.episodic.ucb1 import UCB1

__all__ = ["UCB1", "Episodic", "KLUCBIndex", "LaplaceUCB", "RenyiUCB", "SuccessiveElimination", "UCBIndex"]
