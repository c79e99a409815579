"""Which column of a file is what.

Plain names are recognised, and so is the layout of the Open Bandit Dataset (Saito, Aihara, Matsutani and Narita 2021):
item_id, position, click, propensity_score, user_feature_0, …
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit._validate import known
from tacit.errors import BadInput

#: Names by which a column is recognised, the first that is there.
ACTION = ("action", "arm", "item_id")
REWARD = ("reward", "click")
PROPENSITY = ("propensity", "propensity_score", "pscore")
PERSON = ("person", "person_id")
POSITION = "position"
#: How the names of features begin. `user-item_affinity_` of the Open Bandit Dataset is not among them: these are
#: features of a person and an item together, and as a context they would be eighty columns.
FEATURES = ("x_", "feature_", "context_", "user_feature_")
#: In a file of items.
ITEM, ITEM_FEATURES = "item_id", "item_feature_"

#: In place of a column of propensities.
UNIFORM = "uniform"


@dataclass(frozen=True)
class Columns:
    """The columns of a log."""

    action: str
    reward: str
    propensity: str | None  #: None: every action was as likely as every other
    features: tuple[str, ...]
    position: str | None
    person: str | None  #: None: every row is a different person


def recognise(
    names: Sequence[str],
    *,
    action: str | None,
    reward: str | None,
    propensity: str | None,
    features: Sequence[str] | None,
    person: str | None,
) -> Columns:
    """The columns, as given or by their names."""
    uniform = propensity == UNIFORM and UNIFORM not in names
    if features is None:
        found = tuple(name for name in names if name.startswith(FEATURES))
    else:
        found = tuple(known("column", name, names, see="Features are named by features=….") for name in features)
    columns = Columns(
        action=_column("action", names, action, ACTION),
        reward=_column("reward", names, reward, REWARD),
        propensity=None if uniform else _column("propensity", names, propensity, PROPENSITY),
        features=found,
        position=POSITION if POSITION in names else None,
        person=_person(names, person, found),
    )
    used = [columns.action, columns.reward, columns.propensity]
    twice = sorted(name for name in set(used) if name is not None and [*used, *found].count(name) > 1)
    if twice:
        raise BadInput(
            f"Expected different columns for action, reward, propensity and features, got {twice[0]!r} for two of "
            "them. A reward among the features would tell the policy what it is to find out."
        )
    return columns


def _person(names: Sequence[str], given: str | None, features: Sequence[str]) -> str | None:
    """An id may also be a feature, if that was asked for: it then is no person to a policy, unless named as one."""
    if given is not None:
        return _column("person", names, given, PERSON)
    return next((name for name in PERSON if name in names and name not in features), None)


def _column(what: str, names: Sequence[str], given: str | None, usual: Sequence[str]) -> str:
    if given is not None:
        return known("column", given, names, see=f"It was given as {what}=….")
    for name in usual:
        if name in names:
            return name
    listed = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    uniform = ' If every action was as likely as every other, say propensity="uniform".' if what == "propensity" else ""
    raise BadInput(
        f"Expected a column with the {what} ({' or '.join(usual)}), got the columns {listed}. "
        f"Name it with {what}=….{uniform}"
    )
