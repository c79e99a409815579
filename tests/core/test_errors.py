"""The tree of errors is the one its docstring draws."""

from __future__ import annotations

import copy
import inspect
import pickle
import re

import pytest

from tacit import errors

LINE = re.compile(r"^    ((?:│   |    )*)(?:├── |└── )?(\w+)", re.M)


def drawn() -> dict[str, str]:
    """Every error in the drawing, with the one it hangs from."""
    path, found = [], {}
    for indent, name in LINE.findall(errors.__doc__):
        depth = 0 if name == "TacitError" else len(indent) // 4 + 1
        path[depth:] = [name]
        found[name] = path[depth - 1] if depth else "Exception"
    return found


def test_the_drawing_shows_every_error_under_its_parent():
    kinds = {name: kind for name, kind in vars(errors).items() if inspect.isclass(kind)}
    assert drawn() == {name: kind.__bases__[0].__name__ for name, kind in kinds.items()}


def test_an_error_of_a_service_survives_a_copy():
    problem = errors.ServiceGone("Expected it, got nothing.", status=410, code="closed", field="decision")
    for again in (pickle.loads(pickle.dumps(problem)), copy.copy(problem)):
        assert type(again) is errors.ServiceGone
        assert (str(again), again.status, again.code, again.field) == (str(problem), 410, "closed", "decision")


@pytest.mark.parametrize("name", ["ServiceNotFound", "ServiceConflict", "ServiceRefused", "ServiceUnavailable"])
def test_every_error_of_a_service_is_caught_as_one(name):
    with pytest.raises(errors.ServiceError):
        raise getattr(errors, name)("Expected an answer, got none.")
