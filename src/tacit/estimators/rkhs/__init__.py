"""Functions of a reproducing kernel Hilbert space, learned with a covariance that no record has touched.

The points that are explored follow a public law, so the covariance of their features is known without looking at them.
With Z̃ = T·E[φφᵀ] + τI in place of the covariance of the data,

    μ(w) = φ(w)ᵀ Z̃⁻¹ Σ_t φ(w_t)·y_t        σ²(w) = φ(w)ᵀ Z̃⁻¹ φ(w)

a record enters μ through its own term alone: replacing it moves μ by no more than 2B·sup σ².

`Operator` is the form to use: finitely many features (`Nystrom`, `QuadratureFourier`), blocks of records, memory that
does not depend on how many there are. `ExactForm` is the published one on T·K synthetic points, an oracle for tests.
σ² is what the sensitivity needs: the variance of a Gaussian process posterior, *divided by τ*.
"""

from tacit.estimators.rkhs.certificate import Bracket, bracket, certified_maximum, certified_sup_sigma2
from tacit.estimators.rkhs.exact import ExactForm, sampled_gain
from tacit.estimators.rkhs.features import FeatureMap
from tacit.estimators.rkhs.fourier import QuadratureFourier
from tacit.estimators.rkhs.nystrom import Nystrom, inducing_points
from tacit.estimators.rkhs.operator import FEWEST_DRAWS, Operator
from tacit.estimators.rkhs.saved import feature_map_from_dict

__all__ = [
    "FEWEST_DRAWS",
    "Bracket",
    "ExactForm",
    "FeatureMap",
    "Nystrom",
    "Operator",
    "QuadratureFourier",
    "bracket",
    "certified_maximum",
    "certified_sup_sigma2",
    "feature_map_from_dict",
    "inducing_points",
    "sampled_gain",
]
