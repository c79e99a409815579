"""From one context and a fixed set of arms to the actions a policy chooses from.

A policy wants one vector per arm. Where the arms are always the same and only the person's context changes, the vectors
are made here, in one of three ways:

- `per_arm`: one parameter vector per arm ("disjoint" in Li et al. 2010); arms teach nothing about each other.
  Policies with `arms` have that model without copies and with far less noise: `JointLinUCB(arms=K, dim=p)`;
- `shared`: one parameter per pair of a context feature and an arm feature; every row teaches about every arm;
- `hybrid`: both side by side.

`scaled` brings raw values into the unit ball first. None of these functions lengthens a context: the bound L on an
action stays what it was, and so does the noise that grows with it.

Everything here happens on one person's own context, before `choose`: nothing is learned and nothing is released.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tacit._arrays import finite
from tacit._types import Floats
from tacit._validate import flag, real, whole
from tacit.errors import BadInput


def per_arm(context: ArrayLike, arms: int) -> Floats:
    """K actions of K·p features: action k holds the context in block k and zeros elsewhere.

    For policies without `arms`. Those with, such as `JointLinUCB(arms=K, dim=p)`, take the context itself: the model is
    the same, and nothing between two arms is stored, multiplied or noised.

    A context of shape (p,) gives (K, K·p); contexts of shape (N, p) give (N, K, K·p). Every action is as long as its
    context.

    >>> per_arm([0.6, 0.8], arms=2)
    array([[0.6, 0.8, 0. , 0. ],
           [0. , 0. , 0.6, 0.8]])

    Li, Chu, Langford and Schapire (2010), "disjoint linear models".
    """
    rows = _contexts("context", context)
    count = whole("arms", arms, hint="per_arm takes how many arms there are; for arms with features use shared.")
    size = rows.shape[-1]
    actions = np.zeros((*rows.shape[:-1], count, count, size))
    every = np.arange(count)
    actions[..., every, every, :] = rows[..., None, :]
    return actions.reshape(*rows.shape[:-1], count, count * size)


def shared(context: ArrayLike, arms: ArrayLike) -> Floats:
    """K actions of p·q features: the products of every context feature with every feature of the arm.

    `arms` has shape (K, q): what is known of the arms in public. A context of shape (p,) gives (K, p·q); contexts of
    shape (N, p) give (N, K, p·q). An action is as long as its context times its arm: keep arms in the unit ball.

    >>> shared([0.6, 0.8], arms=[[1.0, 0.0], [0.0, 0.5]])
    array([[0.6, 0. , 0.8, 0. ],
           [0. , 0.3, 0. , 0.4]])
    """
    rows, features = _contexts("context", context), _arms(arms)
    products = rows[..., None, :, None] * features[:, None, :]
    return products.reshape(*rows.shape[:-1], features.shape[0], rows.shape[-1] * features.shape[1])


def hybrid(context: ArrayLike, arms: ArrayLike, mix: float = 0.5) -> Floats:
    """`shared` times √mix next to `per_arm` times √(1 − mix): K actions of p·q + K·p features.

    What all arms have in common is learned from every row, what is peculiar to one from its own. The two roots are
    what keeps an action no longer than its context, for arms in the unit ball: simply side by side they would be up to
    √2 longer, L² would double, and with it the noise. `mix` moves the regulariser between the two parts: at 1 only
    `shared` is left, at 0 only `per_arm`.

    >>> hybrid([1.0], arms=[[1.0], [-1.0]], mix=0.36)
    array([[ 0.6,  0.8,  0. ],
           [-0.6,  0. ,  0.8]])

    Li, Chu, Langford and Schapire (2010), "hybrid linear models"; the scaling is ours.
    """
    weight = real("mix", mix)
    if not 0 <= weight <= 1:
        raise BadInput(
            f"Expected 0 <= mix <= 1, got mix={mix!r}. At 1 only the shared part is left, at 0 only the own."
        )
    common = math.sqrt(weight) * shared(context, arms)
    own = math.sqrt(1 - weight) * per_arm(context, common.shape[-2])
    return np.concatenate([common, own], axis=-1)


def scaled(values: ArrayLike, low: ArrayLike, high: ArrayLike, constant: bool = False) -> Floats:
    """Values from the box low ≤ value ≤ high, mapped into the unit ball; what lies outside the box is clipped to it.

    Each value goes to [−1, 1] and is divided by √p, so that no vector is longer than 1. With `constant=True` a last
    feature of 1/√(p + 1) is added and the others are divided by √(p + 1): the norm stays at most 1, and the model
    gets an intercept. Rewards may then be centred: without it, a constant taken off them would leave no linear model.

    The bounds are *declared*: known before anybody came. A smallest and a largest value, a mean or a deviation taken
    from the data is a release about everybody in it, which no noise covers and no ε here accounts for.

    `values` has shape (p,) or (N, p); a bound is one number for all features, or one per feature.

    >>> scaled([30, 1.5], low=[0, 0], high=[120, 1])
    array([-0.35355339,  0.70710678])
    >>> scaled([30, 1.5, 0], low=[0, 0, -1], high=[120, 1, 1], constant=True)
    array([-0.25,  0.5 ,  0.  ,  0.5 ])
    """
    rows = _contexts("values", values)
    size = rows.shape[-1]
    floor, ceiling = _bound("low", low, size), _bound("high", high, size)
    with np.errstate(over="ignore"):
        width = ceiling - floor
    wrong = np.flatnonzero(~((width > 0) & np.isfinite(width)))
    if wrong.size:
        at = int(wrong[0])
        raise BadInput(
            f"Expected low < high for every feature, got low={floor[at]:g} and high={ceiling[at]:g} at position {at}. "
            "Declare the range a value can have; a feature that never changes is best left out."
        )
    with_constant = flag("constant", constant)
    places = 2 * ((np.clip(rows, floor, ceiling) - floor) / width) - 1
    if with_constant:
        places = np.concatenate([places, np.ones((*rows.shape[:-1], 1))], axis=-1)
    return places / math.sqrt(places.shape[-1])


def per_arm_dim(features: int, arms: int) -> int:
    """K·p: the `dim` of a policy for `per_arm`.

    >>> per_arm_dim(features=4, arms=3)
    12
    """
    return whole("features", features) * whole("arms", arms)


def shared_dim(features: int, arm_features: int) -> int:
    """p·q: the `dim` of a policy for `shared`.

    >>> shared_dim(features=4, arm_features=2)
    8
    """
    return whole("features", features) * whole("arm_features", arm_features)


def hybrid_dim(features: int, arm_features: int, arms: int) -> int:
    """p·q + K·p: the `dim` of a policy for `hybrid`.

    >>> hybrid_dim(features=4, arm_features=2, arms=3)
    20
    """
    return shared_dim(features, arm_features) + per_arm_dim(features, arms)


def _contexts(name: str, values: ArrayLike) -> Floats:
    """One context of shape (p,), or several of shape (N, p). Messages never show a value: it is somebody's."""
    rows = finite(name, values)
    if rows.ndim not in (1, 2) or rows.shape[-1] == 0:
        raise BadInput(f"Expected {name} of shape (p,) or (N, p) with p >= 1, got {rows.shape}.")
    return rows


def _arms(arms: ArrayLike) -> Floats:
    features = finite("arms", arms, hint="For arms without features use per_arm.")
    if features.ndim != 2 or 0 in features.shape:
        raise BadInput(
            f"Expected arms of shape (K, q) with K >= 1 and q >= 1, got {features.shape}. Give one row of features per "
            "arm; for arms without features use per_arm."
        )
    return features


def _bound(name: str, bound: ArrayLike, size: int) -> Floats:
    found = finite(name, bound)
    if found.shape not in ((), (size,)):
        raise BadInput(f"Expected {name} to be one number or of shape ({size},), one per feature, got {found.shape}.")
    return np.broadcast_to(found, (size,))
