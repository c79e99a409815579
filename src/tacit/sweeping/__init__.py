"""Policies × budgets × environments × seeds, on this machine or on a cluster, stored run by run."""

from __future__ import annotations

from tacit.sweeping.result import Sweep
from tacit.sweeping.run import sweep
from tacit.sweeping.spec import Budget, Spec, read_spec

__all__ = ["Budget", "Spec", "Sweep", "read_spec", "sweep"]
