"""A live policy whose arms share a context: `choose(context)`, `learn(context, arm, reward)`; where actions have
features besides, `choose(context, features=…)`, `learn(context, arm, reward, features=…)`; and a device of one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit._types import Floats, Ints
from tacit._validate import any_datum
from tacit.core.decisions import Decision
from tacit.core.device import Device
from tacit.core.inputs import as_floats, not_finite
from tacit.core.learner import Learner
from tacit.core.policy import Policy
from tacit.core.round import first_unfit
from tacit.errors import BadInput, OutOfBounds

__all__ = ["ArmsDevice", "ArmsLearner", "device_of", "learner_of", "offer", "refuse_outside", "row_of_arm"]


def learner_of(config: Policy, *, seed: int | None, sampler: str, closes_after: int | None = None) -> Learner:
    """A learner with the face that this configuration has."""
    kind = Learner if config.arms_of_context is None else ArmsLearner
    return kind(config, seed=seed, sampler=sampler, closes_after=closes_after)


def device_of(config: Policy, *, limit: int | None, made: int, seed: int | None) -> Device:
    """A device with the face that this configuration has."""
    kind = Device if config.arms_of_context is None else ArmsDevice
    return kind(config, limit=limit, made=made, seed=seed)


class ArmsLearner(Learner):
    """A policy at work whose K arms share a context and have a parameter each. Arms are numbered from 0.

    Everything else is as `Learner` says.

    >>> import tacit
    >>> learner = tacit.JointLinUCB(arms=3, dim=2, epsilon=1, delta=1e-6).start()
    >>> arm = learner.choose([0.6, 0.8], allowed=[0, 2])
    >>> learner.learn([0.6, 0.8], arm, reward=1.0)

    With `shared=s` each arm comes with s features, whose parameter all arms share: what is on offer under its number
    may be another thing in every round.

    >>> learner = tacit.JointLinUCB(arms=3, dim=2, shared=1, epsilon=1, delta=1e-6).start()
    >>> prices = [[0.2], [0.5], [0.9]]
    >>> arm = learner.choose([0.6, 0.8], features=prices)
    >>> learner.learn([0.6, 0.8], arm, reward=1.0, features=prices[arm])
    """

    def choose(  # type: ignore[override]
        self, context: ArrayLike, allowed: ArrayLike | None = None, *, features: ArrayLike | None = None
    ) -> int:
        """The number of the arm to take for a context of shape (dim,).

        `allowed`: the arms that are there in this round, as their numbers or as K truth values; all unless told. An arm
        that comes later is one of the K from the start, and not among `allowed` until then: its block has had its noise
        all along, so the day it comes costs nothing.
        `features`: of all arms, shape (arms, shared), where the configuration has `shared`.
        """
        return self._serve(offer(self._config, context, allowed, features))

    def choose_many(
        self, contexts: ArrayLike, allowed: ArrayLike | None = None, *, features: ArrayLike | None = None
    ) -> Ints:
        """The arms to take, one for each of N contexts: shape (N, dim). `allowed` and `features` hold for all of them,
        unless there are features for each, of shape (N, arms, shared)."""
        given = as_floats("contexts", contexts)
        dim = self._config.dim
        if given.ndim != 2 or given.shape[1] != dim:
            raise BadInput(f"Expected contexts of shape (N, {dim}), got {given.shape}.")
        refuse_unfit("contexts", given)
        mask = as_mask(allowed, self._arms)
        each = np.ndim(features) == 3  # type: ignore[arg-type]
        more = as_features(self._config, features, (len(given), self._arms) if each else (self._arms,))
        parts = [given, *(np.broadcast_to(part, (len(given), len(part))) for part in (mask, *([] if each else [more])))]
        if each:
            parts.append(more.reshape(len(given), -1))
        return self._serve_many(np.hstack(parts)[:, None, :].copy())

    def learn(  # type: ignore[override]
        self,
        context: ArrayLike,
        arm: int,
        reward: float,
        person: str | int | bytes | None = None,
        *,
        features: ArrayLike | None = None,
    ) -> None:
        """Learn that `arm` earned `reward` in `context`. Each call is one row and one tick of the clock, whatever is in
        it, and the caller owes one call for each choice: give `float("nan")` where no reward came. A context with a
        number that is not finite or beyond 1e100 is learned as a row of zeros. `features`: of this arm.
        """
        row = row_of_arm(self._config, context, arm, features)
        self._learn_row(row, any_datum("reward", reward), person)

    def decide(  # type: ignore[override]
        self,
        context: ArrayLike,
        person: str | int | bytes | None = None,
        *,
        allowed: ArrayLike | None = None,
        features: ArrayLike | None = None,
    ) -> Decision:
        """Choose an arm for a context, and remember both until `reward` or `expire` closes the decision."""
        return self._decide(offer(self._config, context, allowed, features), person)

    def _refuse_long(self, rows: Floats) -> None:
        refuse_outside(self._config, rows[:, : self._dim])
        length = self._config.action_norm
        features = rows[:, self._dim + self._arms :].reshape(-1, self._config.shared or 1)
        if any(math.hypot(*row) > length * (1 + 1e-9) for row in features.tolist()):
            raise OutOfBounds(f"Expected features of norm <= {length:g} (strict), got longer ones. Rescale them.")

    @property
    def _arms(self) -> int:
        arms = self._config.arms_of_context
        assert arms is not None
        return arms


class ArmsDevice(Device):
    """One person's side of a policy whose K arms share a context. A report has numbers for every arm, of which the
    shuffler's totals say as little about which arm it was as about the rest. Everything else is as `Device` says.

    >>> import tacit
    >>> config = tacit.ShuffleLinUCB(arms=3, dim=2, epsilon=1, delta=1e-6, horizon=1000, batch=50)
    >>> device = config.device()
    >>> message = device.report([0.6, 0.8], device.choose([0.6, 0.8]), reward=1.0)
    """

    def choose(self, context: ArrayLike, allowed: ArrayLike | None = None) -> int:
        """The number of the arm to take for a context of shape (dim,), as `ArmsLearner.choose`. It stays on the
        device."""
        return self._pick(offer(self._contract.config, context, allowed))

    def report(self, context: ArrayLike, arm: int, reward: float) -> dict[str, Any]:  # type: ignore[override]
        """The message that says, under noise, that `arm` earned `reward` in `context`: see `Device.report`."""
        return self._write(row_of_arm(self._contract.config, context, arm), any_datum("reward", reward))


def offer(
    config: Policy, context: ArrayLike, allowed: ArrayLike | None = None, features: ArrayLike | None = None
) -> Floats:
    """What is offered in a round, as kernels take it: one row, the context, behind it a 1 or a 0 for each arm, and
    behind these the features of each arm, if they have any."""
    assert config.arms_of_context is not None
    values = _context(config, context)
    refuse_unfit("context", values)
    more = as_features(config, features, (config.arms_of_context,))
    refuse_unfit("features", more)
    return np.concatenate([values, as_mask(allowed, config.arms_of_context), more])[None, :]


def refuse_outside(config: Policy, contexts: Floats) -> None:
    """Unless all of these contexts lie within the declared bounds: where they are strict."""
    if config.preparation.outside(contexts, config.action_norm):
        raise OutOfBounds(
            f"Expected a context within its declared bounds, or of norm <= {config.action_norm:g} (strict), got one "
            "outside."
        )


def refuse_unfit(name: str, values: Floats) -> None:
    """Unless all numbers of what is offered are finite."""
    if first_unfit(values.reshape(-1)) >= 0:
        raise not_finite(name, values)


def row_of_arm(config: Policy, context: ArrayLike, arm: object, features: ArrayLike | None = None) -> Floats:
    """A row to learn: the context, behind it the number of the arm, and behind that its features, if it has any."""
    count = config.arms_of_context
    assert count is not None
    if isinstance(arm, bool) or not isinstance(arm, int | np.integer) or not 0 <= arm < count:
        whole = isinstance(arm, int | np.integer) and not isinstance(arm, bool)
        got = "another number" if whole else type(arm).__name__
        raise BadInput(
            f"Expected an arm from 0 to {count - 1}, got {got}. Pass what choose() returned: learn(context, arm, "
            "reward)."
        )
    return np.concatenate([_context(config, context), [float(arm)], as_features(config, features, ())])


def as_features(config: Policy, features: ArrayLike | None, before: tuple[int, ...]) -> Floats:
    """The features of one arm, or of so many, one after the other."""
    if config.shared is None:
        if features is not None:
            raise BadInput("Expected no features, got some. Configure shared=s for actions with s features.")
        return np.zeros(0)
    wanted = (*before, config.shared)
    values = np.zeros(0) if features is None else as_floats("features", features)
    if values.shape != wanted:
        got = "none" if features is None else str(values.shape)
        raise BadInput(f"Expected features of shape {wanted}, got {got}: shared={config.shared}.")
    return values.reshape(-1)


def as_mask(allowed: Any, arms: int) -> Floats:
    """A 1 for each arm that is there, else a 0."""
    if allowed is None:
        return np.ones(arms)
    given = np.asarray(allowed)
    mask = np.zeros(arms)
    truths = given.dtype == np.bool_ and given.shape == (arms,)
    numbers = given.dtype.kind in "iu" and given.ndim == 1 and given.size > 0
    if not (truths or (numbers and given.min() >= 0 and given.max() < arms)):
        raise BadInput(
            f"Expected allowed to be numbers of arms from 0 to {arms - 1}, or {arms} truth values, got something else."
        )
    mask[given] = 1.0
    if not mask.any():
        raise BadInput("Expected at least one arm to be allowed, got none.")
    return mask


def _context(config: Policy, context: ArrayLike) -> Floats:
    values = as_floats("context", context)
    if values.shape != (config.dim,):
        raise BadInput(f"Expected a context of shape ({config.dim},), got {values.shape}.")
    return values
