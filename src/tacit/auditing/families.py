"""Every kind of policy that can be attacked, and how."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tacit.auditing.family import Family
from tacit.errors import BadInput, NoSecureSampler

#: Modules of `attacks`; each has a FAMILY. Imported when they are needed: some load the compiler.
_MODULES = ("joint", "local", "shuffle", "episodes", "sums", "functions")


def families() -> tuple[Family, ...]:
    """All of them."""
    return tuple(import_module(f"tacit.auditing.attacks.{name}").FAMILY for name in _MODULES)


def family_of(kind: type) -> Family:
    """How policies of this kind are attacked."""
    for family in families():
        if issubclass(kind, family.kinds):
            return family
    raise BadInput(
        f"Expected a policy that tacit knows how to attack, got {kind.__name__}. Attack it as a black box with "
        "tacit.audit_black_box: docs/how-to/audit-a-policy.md."
    )


def all_forms() -> tuple[Any, ...]:
    """The configurations that an audit of everything attacks."""
    return tuple(form for family in families() for form in family.forms())


def secure_forms() -> tuple[Any, ...]:
    """Those of them for which there is secure noise."""
    return tuple(form for form in all_forms() if _has_sampler(form))


def _has_sampler(form: Any) -> bool:
    try:
        form.planned("secure")
    except NoSecureSampler:
        return False
    return True
