"""Updates of a collection: by record, as a fresh build, whole or not at all."""

from __future__ import annotations

import gzip
import io
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pymarc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.collection.kills import killed

from roslin import Collection
from roslin.collection import write
from roslin.collection.store import Store, check
from roslin.collection.update import UpdateReport, update
from roslin.concordances.review import Review
from roslin.errors import CollectionError, SmallerError, SourceError, UnknownNameError
from roslin.notation.marcxml import CatalogueRecord, catalogue_records, parser

NS = 'xmlns="http://www.loc.gov/MARC21/slim"'
MUSIC = ("'4CDE/FGA", "'4GFE/DC", "'8CDEFGABA", "''4C'BAG", "'2E4FG/''2C", "'4CDE/FGB", "'4xFGA/BA")
DELETED = ' status="deleted"'
Incipits = tuple[tuple[str, str], ...]


def marc(number: str, incipits: Incipits, composer: str = "Hasse", status: str = "n") -> str:
    fields = "".join(
        f'<datafield tag="031"><subfield code="a">{name}</subfield><subfield code="o">c</subfield>'
        f'<subfield code="p">{music}</subfield></datafield>'
        for name, music in incipits
    )
    return (
        f'<record {NS}><leader>00000{status}dm a2200000 u 4500</leader><controlfield tag="001">{number}</controlfield>'
        f'<datafield tag="100"><subfield code="a">{composer}</subfield></datafield>{fields}</record>'
    )


def exported(path: Path, *records: str) -> Path:
    path.write_text(f"<collection>{''.join(records)}</collection>")
    return path


def harvested(path: Path, *records: tuple[str, str]) -> Path:
    """An answer of OAI-PMH; a record without a text is deleted."""
    inner = "".join(
        f"<record><header{'' if text else DELETED}><identifier>{identifier}</identifier></header>"
        + (f"<metadata>{text}</metadata>" if text else "")
        + "</record>"
        for identifier, text in records
    )
    path.write_text(f"<OAI-PMH><ListRecords>{inner}</ListRecords></OAI-PMH>")
    return path


def contents(path: Path) -> dict[str, object]:
    assert check(path) == []
    with Store(path) as store:
        of_each = {str(each.id): each.with_metadata(source=None) for each in store}
        (indexed,) = store.connection.execute(
            "SELECT count(*) FROM interval_index WHERE chromatic MATCH 'a'"
        ).fetchone()
        assert indexed == 0
        silent = [row[0] for row in store.connection.execute("SELECT id FROM silent")]
        of_each |= {id: store[id].with_metadata(source=None) for id in silent}
        return dict(sorted(of_each.items()))


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    two = (("1.1.1", MUSIC[0]), ("1.1.2", MUSIC[1]))
    source = exported(tmp_path / "old.xml", *(marc(number, two) for number in ("7", "70", "71", "8")))
    write.build(source, tmp_path / "c.roslin")
    return tmp_path / "c.roslin"


def outcomes(report: UpdateReport) -> list[tuple[str, str, int, int]]:
    return [(each.outcome, each.record, each.before, each.after) for each in report.changes]


def test_an_update_replaces_adds_and_removes_by_record(catalogue: Path, tmp_path: Path) -> None:
    export = exported(
        tmp_path / "new.xml",
        marc("7", (("1.1.1", MUSIC[0]), ("1.1.2", MUSIC[1]))),
        marc("70", (("1.1.1", MUSIC[2]),)),
        marc("71", (("1.1.1", MUSIC[0]), ("1.1.2", MUSIC[1])), composer="Graun"),
        marc("8", (), status="d"),
        marc("9", (("1.1.1", MUSIC[3]),)),
        marc("404", (), status="d"),
    )
    review = Review.open(catalogue)
    review.decide("7-1.1.1", "71-1.1.1", "accept", "", "Anna")
    with Collection(catalogue) as collection:
        report = collection.update(export)
        assert outcomes(report) == [
            ("changed", "70", 2, 1), ("changed", "71", 2, 2), ("added", "9", 0, 1), ("removed", "8", 2, 0),
        ]  # fmt: skip
        assert report.unchanged == 1
        assert collection.ids() == ["7-1.1.1", "7-1.1.2", "70-1.1.1", "71-1.1.1", "71-1.1.2", "9-1.1.1"]
        assert collection["71-1.1.2"].composer == "Graun"
        assert collection.search(MUSIC[3], k=1).ids == ["9-1.1.1"]
        assert [row["records"] for row in report.to_table().rows] == [1, 2, 1, 1]
        assert [row["record"] for row in report.records().rows] == ["70", "71", "9", "8"]
        assert collection.update(export).changes == ()
    assert len(Review.open(catalogue)) == 1
    contents(catalogue)


def test_a_complete_export_removes_what_it_lacks(catalogue: Path, tmp_path: Path) -> None:
    write.add(three := Collection(catalogue)["7-1.1.1"].with_metadata(id="mine", source=None), catalogue)
    two = (("1.1.1", MUSIC[0]), ("1.1.2", MUSIC[1]))
    export = exported(tmp_path / "new.xml", *(marc(number, two) for number in ("7", "70", "71")))
    with pytest.raises(SmallerError, match="has 9 melodies, the new one would have 7"):
        update(export, catalogue, complete=True)
    assert update(export, catalogue).changes == ()
    report = update(export, catalogue, complete=True, allow_smaller=True)
    assert outcomes(report) == [("removed", "8", 2, 0)]
    with Store(catalogue) as store:
        assert store["mine"] == three
        assert len(store) == 7


def test_a_harvest_names_deleted_records_by_their_identifiers(tmp_path: Path) -> None:
    one = (("1.1.1", MUSIC[0]),)
    first = harvested(
        tmp_path / "1.xml", ("oai:x:a-7", marc("7", one)), ("oai:x:8", marc("8", one)), ("oai:x:9", marc("9", one))
    )
    write.build(first, tmp_path / "c.roslin")
    write.add(exported(tmp_path / "other.xml", marc("10", one)), tmp_path / "c.roslin")
    second = harvested(
        tmp_path / "2.xml",
        ("oai:x:a-7", ""),
        ("oai:x/10", ""),
        ("oai:x:8", marc("8", one, "Graun")),
        ("oai:x:8", marc("8", one)),
    )
    report = update(second, tmp_path / "c.roslin")
    assert sorted(outcomes(report)) == [("removed", "10", 1, 0), ("removed", "7", 1, 0)]
    assert report.unchanged == 1  # as it is the last time in the export
    assert list(contents(tmp_path / "c.roslin")) == ["8-1.1.1", "9-1.1.1"]
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "state.json").write_text('{"since": "2026-11-01"}')
    (tmp_path / "pages" / "1.xml").write_text('<OAI-PMH><error code="noRecordsMatch"/></OAI-PMH>')
    harvested(tmp_path / "pages" / "2.xml", ("oai:x:11", marc("11", one)))
    assert outcomes(update(tmp_path / "pages", tmp_path / "c.roslin")) == [("added", "11", 0, 1)]


def test_melodies_that_were_removed_come_back_with_their_record(catalogue: Path, tmp_path: Path) -> None:
    before = contents(catalogue)
    write.remove(["70-1.1.2"], catalogue, records=["8"])
    report = update(tmp_path / "old.xml", catalogue)
    assert sorted(outcomes(report)) == [("added", "8", 0, 2), ("changed", "70", 1, 2)]
    assert contents(catalogue) == before


def test_collections_of_earlier_versions_are_read_again_once(catalogue: Path, tmp_path: Path) -> None:
    with Store(catalogue) as store:
        token = store.about["token"]
    import sqlite3

    with sqlite3.connect(catalogue / "collection.sqlite") as database:
        database.execute("DROP TABLE records")
    from roslin.collection.arrays import read_checksums, write_checksums
    from roslin.collection.files import checksum_of

    write_checksums(
        catalogue, token, {name: checksum_of(catalogue / name) for name in read_checksums(catalogue, token)}
    )
    before = contents(catalogue)
    with pytest.raises(CollectionError, match=r"which records it has; run the update once without --complete"):
        update(tmp_path / "old.xml", catalogue, complete=True)
    assert update(tmp_path / "old.xml", catalogue).count("changed") == 4
    assert update(tmp_path / "old.xml", catalogue, complete=True).unchanged == 4
    assert contents(catalogue) == before


def test_damaged_and_foreign_sources_change_nothing(catalogue: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.xml"
    cut.write_text(f"<collection>{marc('9', (('1.1.1', MUSIC[0]),))}<record>")
    with pytest.raises(SourceError, match=r"damaged source: .*broken XML"):
        update(cut, catalogue)
    with pytest.raises(SourceError, match="damaged source"):
        update(cut, catalogue, complete=True, allow_damaged=True)
    (tmp_path / "tune.abc").write_text("X:1\nK:C\nCDEF|\n")
    with pytest.raises(CollectionError, match=r"tune\.abc: an update needs records of a catalogue .* got abc"):
        update(tmp_path / "tune.abc", catalogue)
    assert len(contents(catalogue)) == 8
    assert update(cut, catalogue, allow_damaged=True).count("added") == 1
    exported(cut, marc("", (("1.1.1", MUSIC[0]),)))
    assert update(cut, catalogue).build.refusals == {"no control number": 1}


def test_incipits_without_notes_are_shown_and_never_found(catalogue: Path, tmp_path: Path) -> None:
    field = '<subfield code="g">G-2</subfield><subfield code="n">xF</subfield><subfield code="o">3/4</subfield>'
    record = marc("9", (("1.1.1", MUSIC[0]),)).replace(
        "</record>", f'<datafield tag="031"><subfield code="a">1.1.2</subfield>{field}</datafield></record>'
    )
    with Collection(catalogue) as collection:
        report = collection.update(exported(tmp_path / "new.xml", record))
        assert (report.build.taken, report.build.skipped, len(collection)) == (1, 1, 9)
        silent = collection["9-1.1.2"]
        assert (len(silent), silent.clef, silent.key_signature, silent.metre) == (0, "G-2", "xF", "3/4")
        assert (silent.composer, silent.source) == ("Hasse", "new.xml")
        assert "9-1.1.2" not in collection
        assert "9-1.1.2" not in collection.ids()
        with pytest.raises(UnknownNameError, match=r"unknown melody '9-1\.1\.2'"):
            collection.numbers(["9-1.1.2"])
        assert "9-1.1.2" not in collection.search(MUSIC[0], k=20).ids
        collection.remove(records="9")
        with pytest.raises(UnknownNameError, match=r"unknown melody '9-1\.1\.2'"):
            collection["9-1.1.2"]


# -- the same as a fresh build ----------------------------------------------------------------------------------------

a_record = st.tuples(st.lists(st.sampled_from(["", *MUSIC]), max_size=3), st.sampled_from(["Hasse", "Graun"])).map(
    lambda each: (tuple((f"1.1.{k}", music) for k, music in enumerate(each[0], 1)), each[1])
)
a_state = st.dictionaries(st.sampled_from(["7", "70", "71", "8", "9", "mss-1", "a b"]), a_record, max_size=7)


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(states=st.lists(a_state, min_size=2, max_size=4), is_complete=st.booleans(), order=st.randoms())
def test_after_any_updates_it_answers_as_a_fresh_build(states: list[dict], is_complete: bool, order) -> None:  # type: ignore[no-untyped-def, type-arg]
    with TemporaryDirectory() as name:
        folder = Path(name)
        for step, state in enumerate(states):
            texts = [marc(number, *record) for number, record in state.items()]
            if step and not is_complete:
                texts += [marc(number, (), status="d") for number in states[step - 1] if number not in state]
            order.shuffle(texts)
            export = exported(folder / f"{step}.xml", *texts)
            if step:
                update(export, folder / "c.roslin", complete=is_complete, allow_smaller=True)
            else:
                write.build(export, folder / "c.roslin", allow_damaged=True)
        write.build(export, folder / "fresh.roslin", allow_damaged=True)
        assert contents(folder / "c.roslin") == contents(folder / "fresh.roslin")
        with Collection(folder / "c.roslin") as updated, Collection(folder / "fresh.roslin") as fresh:
            for query in MUSIC[:3]:
                run, other = updated.search(query), fresh.search(query)
                assert run.ids == other.ids
                assert run.rankings == other.rankings
            known = "SELECT record, digest FROM records ORDER BY record"
            assert updated.connection.execute(known).fetchall() == fresh.connection.execute(known).fetchall()


# -- killed -----------------------------------------------------------------------------------------------------------


@pytest.mark.kills
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_an_update_that_is_killed_leaves_the_old_state_or_the_new_one(catalogue: Path, tmp_path: Path) -> None:
    one = (("1.1.1", MUSIC[4]),)
    export = exported(tmp_path / "new.xml", marc("70", one), marc("8", (), status="d"), marc("9", one))
    shutil.copytree(catalogue, tmp_path / "new.roslin")
    update(export, tmp_path / "new.roslin")
    states = {"old": contents(catalogue), "new": contents(tmp_path / "new.roslin")}
    met = []
    with killed() as attempt:
        for step in range(1, 60):
            target = tmp_path / f"{step}.roslin"
            shutil.copytree(catalogue, target)
            code = attempt(step, "update", target, export)
            (state,) = [name for name, known in states.items() if known == contents(target)]
            met.append(state)
            update(export, target)  # the next writer is not in the way
            assert contents(target) == states["new"]
            if code == 0:
                break
            assert code == -9
    assert code == 0
    assert met == sorted(met, reverse=True)
    assert {*met} == {"old", "new"}
    assert len(met) > 12


# -- ISO 2709 ---------------------------------------------------------------------------------------------------------


def iso2709(number: str, incipits: Incipits, composer: str, *, is_utf8: bool, status: str = "n") -> bytes:
    record = pymarc.Record(force_utf8=is_utf8, leader=f"00000{status}dm a2200000 u 4500")
    record.fields = [
        pymarc.Field("001", data=number),
        pymarc.Field("100", subfields=[pymarc.Subfield("a", composer)]),
        *(
            pymarc.Field("031", subfields=[pymarc.Subfield(*each) for each in (("a", name), ("o", "c"), ("p", music))])
            for name, music in incipits
        ),
    ]
    made = record.as_marc()
    return made if is_utf8 else made[:9] + b" " + made[10:]


def test_iso2709_is_read_as_marcxml_is(tmp_path: Path) -> None:
    one = (("1.1.1", MUSIC[0]), ("1.1.2", MUSIC[1]))
    whole = iso2709("7", one, "Dvořák", is_utf8=True)
    marc8 = iso2709("8", one, "Dvo?r?ak", is_utf8=False).replace(b"?r", b"\xe9r").replace(b"?a", b"\xe2a")
    (tmp_path / "export.mrc").write_bytes(whole + b"\n" + marc8 + iso2709("9", one, "", is_utf8=True, status="d"))
    exported(tmp_path / "export.xml", marc("7", one, "Dvořák"), marc("8", one, "Dvořák"))
    write.build(tmp_path / "export.mrc", tmp_path / "iso.roslin")
    write.build(tmp_path / "export.xml", tmp_path / "xml.roslin")
    with Store(tmp_path / "iso.roslin") as iso, Store(tmp_path / "xml.roslin") as xml:
        assert [each.with_metadata(source=None) for each in iso] == [each.with_metadata(source=None) for each in xml]
        assert iso["8-1.1.1"].source == "export.mrc"
    assert update(tmp_path / "export.mrc", tmp_path / "xml.roslin").unchanged == 2


def test_broken_iso2709_has_a_place() -> None:
    whole = iso2709("7", (("1.1.1", MUSIC[0]),), "Hasse", is_utf8=True)
    (first, second) = catalogue_records(io.BytesIO(whole + whole[:-5]))
    assert not isinstance(first, str)
    size = len(whole)
    found = f"record 2, at byte {size}, ends after {size - 5} of {size} bytes"
    assert str(second) == f"2: broken ISO 2709; expected records to their end; found {found}"
    (_, second) = catalogue_records(io.BytesIO(whole + b"\r\n" + whole[:-1] + b"x"))
    assert f"record 2, at byte {size + 2}, has no end after its {size} bytes" in str(second)
    (_, _, third) = catalogue_records(io.BytesIO(whole + b"\n" + whole + b"something else"))
    assert f"record 3, at byte {2 * size + 1}, begins with b'something else', which is no leader" in str(third)
    (refused, _) = catalogue_records(io.BytesIO(whole.replace(b"Hasse", b"Ha\xffse") + whole))
    assert "1: broken ISO 2709; expected a whole record" in str(refused)
    (other,) = catalogue_records(io.BytesIO(b"x" + whole))
    assert str(other).startswith("1: neither MARCXML nor ISO 2709; expected the tag or the leader")


def test_a_complete_export_with_a_record_that_cannot_be_read_removes_nothing(tmp_path: Path) -> None:
    one = (("1.1.1", MUSIC[0]),)
    whole = b"".join(iso2709(number, one, "Hasse", is_utf8=True) for number in "789")
    source = tmp_path / "export.mrc"
    source.write_bytes(whole)
    write.build(source, tmp_path / "c.roslin")
    source.write_bytes(whole.replace(b"Hasse", b"Ha\xffse", 1))
    with pytest.raises(SourceError, match=r"export\.mrc:1: broken ISO 2709; expected a whole record"):
        update(source, tmp_path / "c.roslin", complete=True, allow_damaged=True)
    assert update(source, tmp_path / "c.roslin").unchanged == 2


def test_what_an_export_repeats_is_not_parsed_again(
    catalogue: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[str]()
    digest = CatalogueRecord.digest

    def noting(record: CatalogueRecord) -> bytes:
        read.append(record.control_number)
        return digest(record)

    def updated(*records: str, is_complete: bool = True) -> tuple[list[tuple[str, str, int, int]], list[str]]:
        read.clear()
        report = update(exported(tmp_path / "new.xml", *records), catalogue, complete=is_complete, allow_smaller=True)
        return outcomes(report), sorted(set(read))

    monkeypatch.setattr(CatalogueRecord, "digest", noting)
    two = (("1.1.1", MUSIC[0]), ("1.1.2", MUSIC[1]))
    records = {number: marc(number, two) for number in ("7", "70", "71", "8")} | {"5": marc("5", ())}
    assert updated(*records.values()) == ([], ["5"])
    write.build(exported(tmp_path / "all.xml", *records.values()), catalogue)
    assert updated(*records.values()) == ([], [])  # a build knows records without incipits
    one = records | {"7": marc("7", two, "Graun")}
    assert updated(*one.values()) == ([("changed", "7", 2, 2)], ["7"])
    assert updated(*one.values()) == ([], [])
    assert updated(*records.values()) == ([("changed", "7", 2, 2)], ["7"])  # the bytes of before, but not the record
    spaced = records | {"8": records["8"].replace("<leader>", " <leader>")}
    assert updated(*spaced.values()) == ([], ["8"])
    assert updated(*spaced.values()) == ([], [])
    assert updated(one["7"], records["7"], is_complete=False) == ([], ["7"])  # the last one counts
    others = [records["5"].replace("5", "6"), *list(records.values())[1:]]
    assert updated(*others) == ([("removed", "7", 2, 0)], ["6"])
    assert updated(*records.values()) == ([("added", "7", 0, 2)], ["7"])
    write.remove([], catalogue, records=["70"])
    assert updated(*records.values())[0] == [("added", "70", 0, 2)]
    monkeypatch.setattr(parser, "_reader", lambda: "another version")
    assert updated(*records.values())[1] == ["5", "7", "70", "71", "8"]


@pytest.mark.parametrize("name", ["new.xml", "new.mrc", "new.xml.gz"])
def test_an_empty_export_is_named(name: str, catalogue: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / name).write_bytes(gzip.compress(b" \n") if name.endswith("gz") else b" \n")
    (tmp_path / "new" / "notes.txt").touch()
    for source in (tmp_path / "new" / name, tmp_path / "new"):
        with pytest.raises(SourceError, match=r"new\.\w+(\.gz)?: empty; expected records .*; found nothing"):
            update(source, catalogue)
