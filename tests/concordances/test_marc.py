"""Fields 787: what they say, that nothing is linked twice or within a record, and that a MARC library reads them."""

from __future__ import annotations

import gzip
import io
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pymarc
import pytest
from tests.report.concording import related

from roslin.collection import write
from roslin.collection.store import Store
from roslin.concordances import marc
from roslin.concordances.certainty import Certainty
from roslin.concordances.concordance import Concordances, find_concordances
from roslin.concordances.marc import (
    CONCORDANT,
    RELATION,
    MarcPatches,
    RecordPatch,
    existing_links,
    write_collection,
    write_patches,
)
from roslin.concordances.pairs import FoundPairs
from roslin.concordances.review import PairDecision, Review
from roslin.deadline import Work
from roslin.display.words import in_words
from roslin.errors import ArgumentError, FormatError, NotationError, UnknownNameError
from roslin.melody import Melody
from roslin.notation import load, records
from roslin.starter import tunes_path
from roslin.web.language import Translation

patches_of = partial(marc.patches_of, note="full")
A, B, C = "1000-1.1.1", "2000-1.2.1", "3000-1.1.1"


def tune(id: str, **extra: str) -> Melody:
    return Melody.from_notes([0, 1], [1, 1], [60, 62], id=id, extra=extra)


def found_pairs(store: Store, *pairs: tuple[str, str, float, float]) -> Concordances:
    """Concordances with these pairs: ids, distance, chance matches."""
    rows = sorted((*sorted(store.numbers([one, two]).tolist()), *measured) for one, two, *measured in pairs)
    first, second, distances, expected = (np.array([row[k] for row in rows]) for k in range(4))
    numbers = (first.astype(np.int64), second.astype(np.int64))
    is_copy = np.zeros(len(rows), bool)
    return Concordances(store, FoundPairs(*numbers, distances, expected, is_copy, 1.0, 0, len(store)))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    melodies = [
        tune(A, siglum="D-Dl", shelfmark="Mus. 1"),
        tune("1000-1.1.2"),
        tune(B, siglum="PL-SA", shelfmark="318/A"),
        tune("2000-1.3.1"),
        tune(C),
    ]
    write.build(melodies, tmp_path / "tunes.roslin")
    with Store(tmp_path / "tunes.roslin") as opened:
        yield opened


@pytest.fixture
def review(store: Store) -> Review:
    return Review.of(store)


def accept(review: Review, *pairs: tuple[str, str], note: str = "", author: str = "M. Weiss") -> PairDecision:
    return review.decide_all(pairs, "accept", note, author)[-1]


def marc_records(source: Path | io.BytesIO) -> list[Any]:
    """What pymarc reads."""
    read: Any = pymarc.parse_xml_to_array
    found = read(str(source) if isinstance(source, Path) else source)
    assert all(isinstance(each, pymarc.Record) for each in found)
    return list(found)


def by_record(patches: MarcPatches) -> dict[str, Sequence[dict[str, str]]]:
    return {patch.record: [dict(each) for each in patch.fields] for patch in patches.patches}


# What a field says.


def test_an_accepted_pair_is_a_field_in_both_records(store: Store, review: Review) -> None:
    made = accept(review, (A, B), note="same bass,\ntoo.")
    found = patches_of(found_pairs(store, (A, B, 0.03125, 0.000213)), review)
    day = made.time[:10]
    assert by_record(found) == {
        "1000": [
            {
                "i": "Concordant source",
                "n": "PL-SA 318/A. Incipit 1.1.1 here, 1.2.1 there: distance 0.031, a probability of 99.7%. "
                f"Accepted by M. Weiss, {day}: same bass, too.",
                "w": "2000",
                "4": "rdau:P60191",
            }
        ],
        "2000": [
            {
                "i": "Concordant source",
                "n": "D-Dl Mus. 1. Incipit 1.2.1 here, 1.1.1 there: distance 0.031, a probability of 99.7%. "
                f"Accepted by M. Weiss, {day}: same bass, too.",
                "w": "1000",
                "4": "rdau:P60191",
            }
        ],
    }
    assert found.left_out == {}


def test_a_pair_that_was_not_found_is_linked_without_numbers(store: Store, review: Review) -> None:
    made = accept(review, (A, C))
    (first, _) = patches_of(found_pairs(store, (A, B, 0.1, 0.1), (B, C, 0.1, 0.1)), review).patches
    assert dict(first.fields[0])["n"] == (f"Incipit 1.1.1 here, 1.1.1 there. Accepted by M. Weiss, {made.time[:10]}.")
    assert (
        patches_of(found_pairs(store), review).patches == patches_of(found_pairs(store, (B, C, 1, 1)), review).patches
    )


def test_two_records_are_linked_once_with_the_surest_incipits_first(store: Store, review: Review) -> None:
    accept(review, (A, B), ("1000-1.1.2", "2000-1.3.1"), (A, "2000-1.3.1"), ("1000-1.1.2", B))
    accept(review, (A, B), author="E. Rot")
    found = found_pairs(store, (A, B, 0.2, 0.01), ("1000-1.1.2", "2000-1.3.1", 0.1, 0.001), (A, "2000-1.3.1", 0.3, 0.1))
    (one, two) = patches_of(found, review).patches
    assert [len(each.fields) for each in (one, two)] == [1, 1]
    note = dict(one.fields[0])["n"]
    assert (
        note.index("1.1.2 here, 1.3.1 there") < note.index("1.1.1 here, 1.2.1 there") < note.index("1.1.1 here, 1.3.1")
    )
    assert "And 1 more pair of incipits. Accepted by " in note
    assert note.count("Accepted by M. Weiss") == note.count("Accepted by E. Rot") == 1


@pytest.mark.long
def test_all_records_of_one_print_are_linked_with_each_other(tmp_path: Path) -> None:
    """From the catalogue to the patches: three sources of a print, one of a variant; the group is accepted."""
    prints = "%G-2@c '4CEGA/8GFED2C/4FA''CD/'8BAGF2E/4.D8F4AB/2''C'G"
    variant = "%G-2@c '4CEGA/8GFED2C/4FA''CD/'8BAGF2E/4.D8F4AB/''2C'E"
    music = {"7-1.1.1": prints, "8-1.1.1": prints, "9-1.1.1": variant, "10-1.1.1": prints}
    tunes = [load(text)[0].with_metadata(id=id) for id, text in music.items()]
    write.build([*tunes, *load(tunes_path())], tmp_path / "tunes.roslin")
    with Store(tmp_path / "tunes.roslin") as opened, Work() as work:
        found = find_concordances(opened, Certainty.of("same"), work, tmp_path / "tunes.concordances")
        review = Review.of(opened)
        (group,) = (each for each in found.groups if 0 in each.members)
        first, second = (opened.ids(ends[group.pairs]) for ends in (found.pairs.first, found.pairs.second))
        accept(review, *zip(first, second, strict=True))
        patches = by_record(patches_of(found, review))
    records = {"7", "8", "9", "10"}
    assert {record: {each["w"] for each in fields} for record, fields in patches.items()} == {
        record: records - {record} for record in records
    }


def noted(found: MarcPatches) -> str:
    return dict(found.patches[0].fields[0])["n"]


def test_notes_are_short_or_by_a_template(store: Store, review: Review) -> None:
    day = accept(review, (A, B), note="same bass").time[:10]
    found = found_pairs(store, (A, B, 0.03125, 0.000213))
    assert noted(marc.patches_of(found, review)) == (
        f"PL-SA 318/A. Incipit 1.1.1 = 1.2.1. A probability of 99.7%. Accepted by M. Weiss, {day}."
    )
    assert (
        noted(marc.patches_of(found, review, note="{library}: {record}|{title}|{composer} x|see"))
        == "PL-SA: 2000. see."
    )
    accept(review, (A, "2000-1.3.1"), ("1000-1.1.2", B), ("1000-1.1.2", "2000-1.3.1"))
    assert noted(marc.patches_of(found, review, note="{incipits}")) == (
        "Incipit 1.1.1 = 1.2.1; 1.1.1 = 1.3.1; 1.1.2 = 1.2.1; + 1."
    )
    with pytest.raises(UnknownNameError, match=r"unknown field of a note 'libary'; known: source, library"):
        marc.patches_of(found, review, note="{libary}")
    with pytest.raises(ArgumentError, match=r"--note must be short, full, or a text with fields"):
        marc.patches_of(found, review, note="long")
    with pytest.raises(ArgumentError, match=r"--note '{source': "):
        marc.patches_of(found, review, note="{source")


def test_texts_are_in_a_language(store: Store, review: Review) -> None:
    day = accept(review, (A, B)).time[:10]
    with in_words(Translation("de")):
        (first, _) = marc.patches_of(found_pairs(store, (A, B, 0.03125, 0.000213)), review, note="full").patches
    assert dict(first.fields[0])["i"] == "Konkordante Quelle"
    assert dict(first.fields[0])["n"] == (
        "PL-SA 318/A. Incipit 1.1.1 hier, 1.2.1 dort: Abstand 0,031, eine Wahrscheinlichkeit von 99,7 %. "
        f"Angenommen von M. Weiss, {day}."
    )


def test_all_patches_in_one_file(tmp_path: Path, store: Store, review: Review) -> None:
    accept(review, (A, B))
    write_collection(patches_of(found_pairs(store), review), tmp_path / "new" / "patches.xml")
    assert [each["001"].data for each in marc_records(tmp_path / "new" / "patches.xml")] == ["1000", "2000"]


# What is not written.


def test_what_is_not_accepted_is_not_written(store: Store, review: Review) -> None:
    review.decide(A, B, "reject", "", "A")
    review.decide(A, C, "undecided", "", "A")
    accept(review, (B, C), author="A")
    review.decide(B, C, "reject", "", "B")
    accept(review, (A, "1000-1.1.2"), (A, "gone-1.1.1"))
    found = patches_of(found_pairs(store, (A, B, 0.1, 0.1)), review)
    assert found.patches == ()
    assert found.fields == 0
    assert found.left_out == {
        "a melody that is not in the collection": 1,
        "a pair that is disputed": 1,
        "two incipits of one record": 1,
    }


def test_a_decision_about_other_notes_is_not_written(tmp_path: Path, store: Store, review: Review) -> None:
    accept(review, (A, B))
    changed = Melody.from_notes([0, 1], [1, 1], [60, 67], id=B)
    write.build([tune(A), changed], tmp_path / "tunes.roslin", allow_smaller=True)
    with Store(tmp_path / "tunes.roslin") as now:
        found = patches_of(found_pairs(now), Review.of(now))
    assert (found.patches, found.left_out) == ((), {"a decision about an earlier version of the notes": 1})


def marcxml(*catalogue: tuple[str, Sequence[str]]) -> str:
    texts = []
    for number, links in catalogue:
        fields = "".join(
            f'<datafield tag="787" ind1="0" ind2=" "><subfield code="w">{link}</subfield></datafield>' for link in links
        )
        texts.append(f'<record><controlfield tag="001">{number}</controlfield>{fields}</record>')
    return f'<collection xmlns="http://www.loc.gov/MARC21/slim">{"".join(texts)}</collection>'


@pytest.mark.parametrize("link", ["2000", "(RISM)2000", "(DE-633) 00000000002000", " 2000\n"])
def test_what_a_record_links_to_already_is_not_repeated(
    tmp_path: Path, store: Store, review: Review, link: str
) -> None:
    accept(review, (A, B), (A, C))
    (tmp_path / "source.xml").write_text(marcxml(("1000", ["7", link]), ("00002000", [])))
    existing = existing_links([tmp_path / "source.xml"])
    found = patches_of(found_pairs(store), review, existing)
    assert {record: [each["w"] for each in fields] for record, fields in by_record(found).items()} == {
        "1000": ["3000"],
        "2000": ["1000"],
    }
    assert found.left_out == {
        "a link that the record has already": 1,
        "a record that is not in the files given": 1,
    }


def test_sources_that_cannot_be_read_whole_are_refused(tmp_path: Path) -> None:
    (tmp_path / "source.xml").write_text(marcxml(("1000", []))[:-20])
    with pytest.raises(NotationError, match=r"source\.xml:1, 1000, column \d+: broken XML"):
        existing_links([tmp_path / "source.xml"])
    with pytest.raises(FormatError, match="no such file"):
        existing_links([tmp_path / "nothing.xml"])


# Files.


def test_a_patch_file_is_marcxml_with_the_number_and_the_new_fields(tmp_path: Path) -> None:
    patch = RecordPatch("a/b & <c>", ((("i", CONCORDANT), ("n", 'x < "y" & z'), ("w", "2"), ("4", RELATION)),))
    (path,) = write_patches(MarcPatches((patch,)), tmp_path / "patches")
    assert path == tmp_path / "patches" / "a%2Fb %26 %3Cc%3E.xml"
    (read,) = marc_records(path)
    assert [each.tag for each in read.fields] == ["001", "787"]
    assert read["001"].data == "a/b & <c>"
    assert (read["787"].indicator1, read["787"].indicator2) == ("0", "8")
    assert [(each.code, each.value) for each in read["787"].subfields] == list(patch.fields[0])


def test_patches_do_not_mix_with_older_ones(tmp_path: Path) -> None:
    write_patches(MarcPatches((RecordPatch("1", ()),)), tmp_path / "patches")
    with pytest.raises(ArgumentError, match="patches need a new or empty folder"):
        write_patches(MarcPatches((RecordPatch("2", ()),)), tmp_path / "patches")
    (tmp_path / "empty").mkdir()
    assert write_patches(MarcPatches(()), tmp_path / "empty") == []


def test_control_characters_in_a_note_do_no_harm(store: Store, review: Review) -> None:
    accept(review, (A, B), note="a\x00b\x0bc\ufffe")
    (first, _) = patches_of(found_pairs(store), review).patches
    ElementTree.fromstring("\n".join(first.lines()))
    assert "ab c" in "\n".join(first.lines())


# Real records.

RISM_RECORDS = 20


@pytest.mark.long
def test_twenty_real_records_are_patched(tmp_path: Path, data_folder: Path) -> None:
    """Records of RISM that already have fields 787, and others: patched, read by pymarc, and nothing else changed."""
    source = data_folder / "rism" / "plr_0.xml.gz"
    existing = existing_links([source])
    linked = next((record, min(links)) for record, links in existing.items() if links)
    first_of_record: dict[str, Melody] = {}
    for one in records(source, strict=False):
        if one.melody is not None and one.melody.id is not None:
            first_of_record.setdefault(one.melody.id.partition("-")[0], one.melody)
    chosen = list(first_of_record.values())[:RISM_RECORDS]
    ids = [melody.id or "" for melody in chosen]
    ring = list(zip(ids, [*ids[1:], ids[0]], strict=True))
    known = (first_of_record[linked[0]].id or "", f"{linked[1]}-1.1.1")
    assert known[0] in ids
    write.build([*chosen, tune(known[1])], tmp_path / "rism.roslin")
    with Store(tmp_path / "rism.roslin") as store:
        review = Review.of(store)
        accept(review, *ring, known, note="Größe & Maß")
        found = found_pairs(store, *((one, two, 0.01, 1e-7) for one, two in [*ring, known]))
        patches = patches_of(found, review, existing)
        paths = write_patches(patches, tmp_path / "patches")
    assert patches.left_out == {
        "a link that the record has already": 1,
        "a record that is not in the files given": 1,
    }
    assert patches.fields == 2 * RISM_RECORDS
    assert len(paths) == len(patches.patches) == RISM_RECORDS

    originals = {each["001"].data: each for each in marc_records(io.BytesIO(gzip.decompress(source.read_bytes())))}
    for path in paths:
        (patch,) = marc_records(path)
        record = originals[patch["001"].data]
        before = [str(each) for each in record.fields]
        assert {each.tag for each in patch.fields} == {"001", "787"}
        for each in patch.get_fields("787"):
            assert [sub.code for sub in each.subfields] == ["i", "n", "w", "4"]
            assert each["w"] in originals
            assert each["w"] not in {field.get("w") for field in record.get_fields("787")}
            record.add_ordered_field(each)
        # Through the binary form and back: what a catalogue exchanges.
        (again,) = pymarc.MARCReader(record.as_marc(), to_unicode=True, force_utf8=True)
        assert again is not None
        after = [str(each) for each in again.fields]
        assert [each for each in after if CONCORDANT not in each] == before
        assert len(after) == len(before) + len(patch.get_fields("787"))
        assert all("Größe & Maß" in each["n"] for each in again.get_fields("787") if each.get("i") == CONCORDANT)


def test_the_documented_way_to_apply_patches_works(tmp_path: Path, store: Store, review: Review) -> None:
    page = Path(__file__).parents[2] / "docs" / "howto" / "concordances-marc.md"
    (shown,) = re.findall(r"```python\n(from pathlib.*?)```", page.read_text("utf-8"), re.DOTALL)
    accept(review, (A, B))
    write_patches(patches_of(found_pairs(store), review), tmp_path / "patches")
    (tmp_path / "export.xml").write_text(marcxml(("1000", ["7"]), ("5", [])))
    subprocess.run([sys.executable, "-c", shown], cwd=tmp_path, check=True)
    patched = {
        each["001"].data: [field["w"] for field in each.get_fields("787")]
        for each in marc_records(tmp_path / "patched.xml")
    }
    assert patched == {"1000": ["7", "2000"], "5": []}


def test_by_a_radius_the_distance_is_told(tmp_path: Path) -> None:
    opened, found = related(tmp_path)
    review = Review.of(opened)
    accept(review, ("400-1.1.1", "401-1.1.1"), ("402-1.1.1", "410-1.1.1"), ("400-1.1.1", "420-1.1.1"))
    notes = {
        (patch, field["w"]): field["n"]
        for patch, each in by_record(patches_of(found, review)).items()
        for field in each
    }
    assert "distance 0.100 by dp. Accepted" in notes["400", "401"]
    assert "distance 0.700 by dp. Accepted" in notes["402", "410"]  # a pair that leads to another group
    assert "distance" not in notes["400", "420"]  # not found within the radius
    opened.close()
