"""What is known about attacking a kind of policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tacit.auditing.attack import Attack, Twin


@dataclass(frozen=True)
class Family:
    """How policies of these kinds are attacked, and which broken twins of them must be caught.

    `attacks` and `twins` take a configuration and a sampler: "secure", which draws as for people, or "double".
    """

    kinds: tuple[type, ...]
    attacks: Callable[..., tuple[Attack, ...]]  #: on a configuration; the first is the strongest
    twins: Callable[..., tuple[Twin, ...]]  #: of a configuration
    forms: Callable[[], tuple[Any, ...]]  #: the configurations that an audit of everything attacks
    small: Callable[[type, Mapping[str, Any]], Mapping[str, Any]]
    """Options for those that were left out: a form in which all that is released can be watched. Noise is calibrated to
    the same promise by the same code."""

    def shrunk(self, config: Any) -> tuple[Any, dict[str, tuple[int, int]]]:
        """The small form of a configuration, and what is smaller in it: how long it runs, never what it promises."""
        options = config.options()
        wanted = self.small(type(config), options)
        changes = {}
        for name in _LENGTHS:
            value, now = wanted.get(name), options.get(name)
            if value is not None and now is not None and now > value:
                changes[name] = (now, value)
        return replace(config, **{name: value for name, (_, value) in changes.items()}), changes


#: Options that say how long a policy runs.
_LENGTHS = ("horizon", "views")
