"""Verovio as a second, independent reader of a fixed sample of incipits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.notation.verovio_agreement import CAUSES, compare
from tests.notation.verovio_oracle import Oracle, OracleError


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    pytest.importorskip("verovio", reason="needs verovio: pip install 'roslin[test]'")
    with Oracle() as oracle:
        yield oracle


@pytest.mark.long
def test_a_fixed_sample_agrees_except_for_named_causes(data_folder: Path, oracle: Oracle) -> None:
    result = compare(data_folder / "rism" / "incipits.jsonl.gz", every=50)
    assert result.compared > 550
    assert result.agreed > 400
    known = {cause.name for cause in CAUSES}
    assert [d for d in result.disagreements if d.cause not in known] == []
    assert [d for d in result.disagreements if not (d.agrees_on_repair or d.agrees_on_own_spelling)] == []
    assert sum(d.agrees_on_repair for d in result.disagreements) > 0.9 * len(result.disagreements)


def test_verovio_can_crash_without_harm(oracle: Oracle) -> None:
    with pytest.raises(OracleError, match="crashed"):
        oracle.notes("G-2", "", "", "{=6}B")
    assert oracle.notes("G-2", "", "", "'4CD") == [(0.0, 60), (1.0, 62)]


def test_verovio_s_quintuplets_are_wrong(oracle: Oracle) -> None:
    """Five sixteenths in a quarter: the reason for tuplets being a named cause. If this fails, verovio was mended."""
    assert oracle.notes("G-2", "", "", "4('6DEFGA;5)B")[-1] == (0.5, 71)
