"""Lines that a private learner of functions is measured against: without privacy, and by the linear route.

gp_mean          the posterior mean of a Gaussian process, from even exploration; not private
gp_ucb           optimism on the same posterior; not private
feature_linucb   linear regression on the features under joint DP: noise on their Gram matrix and their vector

moments          the sums of records that all of them are made of
learner          what their learners have in common
one_shot         `FeatureLinUCB` that releases its sums when it is asked
releases         `FeatureLinUCB` by way of `JointLinUCB`, at public times
"""

from tacit.policies.kernel_baselines.feature_linucb import FeatureLinUCB
from tacit.policies.kernel_baselines.gp_mean import GPMean
from tacit.policies.kernel_baselines.gp_ucb import GPUCB

__all__ = ["GPUCB", "FeatureLinUCB", "GPMean"]
