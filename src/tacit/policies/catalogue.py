"""Every policy by the name it has on the command line."""

from __future__ import annotations

from tacit._validate import known
from tacit.core.policy import Policy
from tacit.policies.joint_linucb import JointLinUCB
from tacit.policies.linucb import LinUCB

CATALOGUE: dict[str, type[Policy]] = {kind.slug: kind for kind in (LinUCB, JointLinUCB)}


def policy(slug: str) -> type[Policy]:
    """The policy of this name, or an error that offers the nearest ones."""
    return CATALOGUE[known("policy", slug, CATALOGUE, see="`tacit policies` lists them.")]
