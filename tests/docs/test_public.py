"""What leaves is explained, all of it; and nothing is explained that is gone."""

from __future__ import annotations

import copy
import runpy
from pathlib import Path
from typing import NamedTuple

import pytest

from tacit.policies.catalogue import CATALOGUE, FUNCTIONS

pytest.importorskip("litestar", reason="what a service answers needs the extra serve")

ROOT = Path(__file__).parents[2]
PUBLIC = runpy.run_path(str(ROOT / "docs" / "public.py"))
FOUND = PUBLIC["found"]()


class LeakyView(NamedTuple):
    theta: float  # (d,) θ̃
    factor: float  # (d, d) V
    whiten: float  # (d, d) U⁻ᵀ
    width: float  # (1,) β
    stage: int  # (1,) views
    clipped: int


def test_everything_that_leaves_is_explained():
    assert PUBLIC["gaps"](FOUND) == []


def test_a_field_without_an_explanation_is_noticed():
    seen = {**FOUND, "view View": PUBLIC["fields_of"](LeakyView)}
    assert PUBLIC["gaps"](seen) == ["view View: clipped has no explanation"]
    assert PUBLIC["gaps"]({**FOUND, "view LeakyView": {}}) == ["view LeakyView has no table"]


@pytest.mark.parametrize("heading", sorted(FOUND))
def test_what_is_new_or_gone_is_noticed_under_every_heading(heading):
    seen = copy.deepcopy(FOUND)
    gone = next(iter(seen[heading]))
    del seen[heading][gone]
    seen[heading]["new_one"] = ""
    assert PUBLIC["gaps"](seen) == sorted(
        [f"{heading}: {gone} is gone", f"{heading}: new_one has no explanation"],
    )


def test_every_field_of_a_view_says_its_shape():
    for config, plan, view in PUBLIC["_views"]():
        said = FOUND[f"view {type(view).__name__}"]
        for name, part in zip(view._fields, view, strict=True):
            shape = said[name].partition(")")[0].removeprefix("(")
            assert len([axis for axis in shape.split(",") if axis.strip()]) == part.ndim, (config.slug, name)
        assert type(getattr(plan.params, "schedule", plan.params)).__name__ in PUBLIC["SCHEDULES"]


def test_the_page_has_every_policy_and_no_gap():
    page = PUBLIC["page"]()
    for slug in CATALOGUE:
        assert f"\n### {slug}\n" in page
    for slug in FUNCTIONS:
        assert f"\n- {slug} (" in page
    assert "NO EXPLANATION" not in page
    head = (ROOT / "docs" / "what-is-public.md").read_text("utf-8")
    assert "## What is open" in head
