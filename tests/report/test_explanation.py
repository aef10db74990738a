from __future__ import annotations

import re

import pytest
from tests.matchers.melodies import CASTLE, TUNES

from roslin.matchers import explain
from roslin.report.document import explanation_page

ORNAMENTED = next(tune for tune in TUNES if tune.id == "roslin-castle-4")


@pytest.mark.parametrize("name", ["twv(radius=0.5)", "dp", "orio", "p3", "roslin"])
def test_the_page_has_everything(name: str) -> None:
    found = explain(CASTLE, ORNAMENTED.with_metadata(title="<b>"), name)
    page = explanation_page(found, "made <here>")
    within = len(found.leading.table.rows) + 1 if found.leading else 0
    assert page.count("<tr>") == 1 + len(found.table.rows) + within
    assert page.count('class="notation"') == 2
    assert 'class="flow"' in page
    assert "made &lt;here&gt;" in page
    assert "Candidate: &lt;b&gt;" in page
    assert f"Distance {found.distance:z.4f}" in page
    assert found.sentence in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_what_counts_most_is_told_too() -> None:
    page = explanation_page(explain(CASTLE, ORNAMENTED, "fm"), "")
    assert "<h2>ngrukkon</h2>" in page
    assert "What counts most." in page
