"""Online learners: a point in a ball, moved by one gradient at a time, whose regret has a bound.

`gradient_descent` and `maler` make one; `descend` and `restart` are its verbs inside kernels; `OnlineLearner` drives it
from Python; `states` and `member` keep several side by side.
"""

from tacit.estimators.online.learner import Online, OnlineLearner, descend, member, restart, states
from tacit.estimators.online.maler import (
    Maler,
    MalerState,
    convex_regret_bound,
    exp_concave_regret_bound,
    expert_weights,
    maler,
    strongly_convex_regret_bound,
)
from tacit.estimators.online.ogd import (
    GradientDescent,
    GradientDescentState,
    descent_regret_bound,
    gradient_descent,
)

__all__ = [
    "GradientDescent",
    "GradientDescentState",
    "Maler",
    "MalerState",
    "Online",
    "OnlineLearner",
    "convex_regret_bound",
    "descend",
    "descent_regret_bound",
    "exp_concave_regret_bound",
    "expert_weights",
    "gradient_descent",
    "maler",
    "member",
    "restart",
    "states",
    "strongly_convex_regret_bound",
]
