"""An outcome as a notebook shows it."""

from __future__ import annotations

import tacit.reproduce


def test_a_notebook_shows_every_claim_with_what_became_of_it(tmp_path):
    outcome = tacit.reproduce.run("joint-dp/figure-1", output=tmp_path, progress=False)
    html = outcome._repr_html_()
    assert outcome.verdicts
    assert html.count(">holds</td>") == sum(verdict.finding == "holds" for verdict in outcome.verdicts)
    assert "All actions have length 1." in html
    assert "<details>" in html
