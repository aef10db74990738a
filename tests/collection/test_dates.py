"""Years of dates as the catalogues of Brno, Cambridge, Bethlehem and RISM write them."""

from __future__ import annotations

import pytest

from roslin.collection.folding import century_of, year_of, years_of


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("1755 (1755)", 1755),
        ("1863-1864 (1863-1864)", 1863),
        ("[ca. 1722]", 1722),
        ("[between approximately 1780 and 1798]", 1780),
        ("[before 1799?]", 1799),
        ("[174-?]", 1740),
        ("[173-]", 1730),
        ("17--", 1700),
        ("18.sc", 1700),
        ("17.2d", 1600),
        ("1700-1799 (18.sc)", 1700),
        ("19th century", 1800),
        ("18. Jh.", 1700),
        ("XVIII", None),
        ("33 cm", None),
        ("23 x 31 cm", None),
        ("12345", None),
        ("0999", None),
        ("", None),
    ],
)
def test_the_first_year_of_a_date(text: str, year: int | None) -> None:
    assert year_of(text) == year


def test_a_century_has_its_years() -> None:
    for century in range(11, 22):
        first, last = years_of(century)
        assert century_of(first) == century_of(last) == century
        assert century_of(last + 1) == century + 1
