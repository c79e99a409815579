"""Shariff and Sheffet (2018), Differentially Private Contextual Linear Bandits: Section D, Claim 13, Corollary 15."""

from typing import Any

from tacit.reproduce.experiment import Experiment
from tacit.reproduce.joint_dp.decision_set import DecisionSet
from tacit.reproduce.joint_dp.dimension import FinalRegretAgainstDimension, RegretForDimensions
from tacit.reproduce.joint_dp.orthogonal import PriceOfArms
from tacit.reproduce.joint_dp.over_time import RegretOverTime
from tacit.reproduce.joint_dp.plain_dp import PlainPrivacy
from tacit.reproduce.joint_dp.shift import ShiftedRegularisers

EXPERIMENTS: tuple[Experiment[Any], ...] = (
    DecisionSet(),
    RegretForDimensions(),
    FinalRegretAgainstDimension(),
    RegretOverTime(),
    ShiftedRegularisers(),
    PlainPrivacy(),
    PriceOfArms(),
)
