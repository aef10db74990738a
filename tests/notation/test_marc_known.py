"""Records that are known by their bytes: a file gives what it gives without them, broken or not."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from roslin.errors import Problem
from roslin.notation.marcxml import CatalogueRecord, catalogue_records, parser

DELETED = ' status="deleted"'
Found = list[tuple[object, ...]]


def marc(number: int, prefix: str, text: str, status: str = "n") -> str:
    field = f'<{prefix}datafield tag="245"><{prefix}subfield code="a">{text}</{prefix}subfield></{prefix}datafield>'
    return (
        f"<{prefix}record>\n<{prefix}leader>00000{status}dm</{prefix}leader>"
        f'<{prefix}controlfield tag="001">{number}</{prefix}controlfield>\n{field}</{prefix}record>'
    )


def plain(prefix: str = "") -> str:
    records = "\n".join(marc(n, prefix, f"a &amp; b {n} --> ", "d" if n == 2 else "n") for n in range(5))
    return f'<?xml version="1.0"?>\n<!-- of a library --><{prefix}collection>{records}</{prefix}collection>'


def harvested(prefix: str = "") -> str:
    records = "".join(
        f"<record><header{DELETED * (n == 3)}><identifier>oai:{n}</identifier></header>"
        f"<metadata>{marc(n, prefix, f'text {n}')}</metadata></record>"
        for n in range(5)
    )
    return f"<OAI-PMH><ListRecords>{records}</ListRecords></OAI-PMH>"


FILES = [plain(), plain("marc:"), harvested(), harvested("marc:")]
INSERTED = ["<!--", "-->", "<![CDATA[", "]]>", "<", "</record>", "<record>", "<record/>", "x", "<?x", "?>", "\n", "&"]


def read(data: bytes, known: dict[bytes, CatalogueRecord]) -> Found:
    by_number = {record.control_number: record for record in known.values()}
    found: Found = []
    for each in catalogue_records(io.BytesIO(data), lambda raw: known[raw].control_number if raw in known else None):
        if isinstance(each, Problem):
            found.append((re.sub(", column [0-9]+", "", str(each)), each.is_damage))  # beside records left out: none
        else:
            told = by_number[each.control_number] if each.is_same else each
            found.append((each.number, each.control_number, each.identifier, each.is_deleted, told.digest()))
    return found


def all_known(data: bytes) -> dict[bytes, CatalogueRecord]:
    records = [each for each in catalogue_records(io.BytesIO(data)) if isinstance(each, CatalogueRecord)]
    assert all(each.raw for each in records)
    return {each.raw: each for each in records if not each.is_deleted}  # as an update knows them


@pytest.mark.parametrize("text", FILES)
def test_a_file_that_is_known_gives_the_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = text.encode()
    known, expected = all_known(data), read(data, {})
    assert (len(expected), len(known)) == (5, 4)
    for size in (7, 100, 1000, 65536):
        monkeypatch.setattr(parser, "_CHUNK_BYTES", size)
        assert read(data, known) == expected
    same = catalogue_records(io.BytesIO(data), lambda raw: "x" if raw in known else None)
    assert [isinstance(each, CatalogueRecord) and each.is_same for each in same].count(True) == 4
    changed = data.replace(b"3</", b"4</").replace(b"text 1", b"text 9")
    assert read(changed, known) == read(changed, {}) != expected


@pytest.mark.long
@settings(max_examples=500)
@given(
    st.sampled_from(FILES),
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from(INSERTED)), max_size=3),
    st.floats(0, 1),
    st.integers(0, 40),
)
@example(plain(), [(0.1, "<!--")], 0, 0)
@example(plain(), [(0.1, "<!--"), (0.9, "-->")], 0, 0)
def test_a_damaged_file_is_refused_where_it_was(
    text: str, inserted: list[tuple[float, str]], cut: float, length: int
) -> None:
    known = all_known(text.encode())
    for place, piece in inserted:
        at = int(place * len(text))
        text = text[:at] + piece + text[at:]
    at = int(cut * len(text))
    data = (text[:at] + text[at + length :]).encode()
    assert read(data, known) == read(data, {})


def test_text_in_another_encoding_is_another_record() -> None:
    data = '<?xml version="1.0" encoding="utf-8"?>' + plain()[22:].replace("a &amp; b", "é")
    known = all_known(data.encode())
    other = data.replace("utf-8", "iso-8859-1").encode()
    assert read(other, known) == read(other, {}) != read(data.encode(), known)
    wide = data.replace("utf-8", "utf-16").encode("utf-16")
    assert read(wide, known) == read(wide, {})
