"""The MARCXML reader: its rules on records written by hand, hostile files, and the real dumps of RISM."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import random
import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roslin.errors import NotationError
from roslin.melody import Melody
from roslin.notation import Record, load, marcxml, records
from roslin.notation.marcxml import parser
from roslin.notation.record import record_of

MARC21 = 'xmlns="http://www.loc.gov/MARC21/slim"'


def field(tag: str, *subfields: tuple[str, str]) -> str:
    inner = "".join(f'<subfield code="{code}">{text}</subfield>\n' for code, text in subfields)
    return f'<datafield tag="{tag}" ind1=" " ind2=" ">\n{inner}</datafield>\n'


def incipit(*others: tuple[str, str], music: str = "''4CDE/", tag: str = "031") -> str:
    return field(tag, *others, ("p", music))


def record(*fields: str, number: str | None = "840010000") -> str:
    control = "" if number is None else f'<controlfield tag="001">{number}</controlfield>\n'
    return f"<record>\n<leader>00000ndm a2200000 u 4500</leader>\n{control}{''.join(fields)}</record>\n"


def collection(*catalogue_records: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<collection {MARC21}>\n{"".join(catalogue_records)}</collection>\n'


def read(text: str | bytes, *, strict: bool = False) -> list[Record]:
    data = text.encode() if isinstance(text, str) else text
    return list(marcxml.read(io.BytesIO(data), strict=strict))


def melody(text: str | bytes) -> Melody:
    (only,) = read(text)
    return only.melody_or_raise()


def refusal(text: str | bytes) -> str:
    (only,) = read(text)
    assert only.melody is None
    return str(only.problems[0])


def ids(found: Iterable[Record]) -> list[str | None]:
    return [one.melody.id if one.melody else None for one in found]


# Ids.


@pytest.mark.parametrize(
    ("number", "numbers", "expected"),
    [
        ("840010000", [("a", "1"), ("b", "2"), ("c", "3")], "840010000-1.2.3"),
        ("  000.111.706\n", [("a", " 1 "), ("b", "1"), ("c", "1")], "000.111.706-1.1.1"),
        ("1", [], "1-1.1.1"),
        ("1", [("b", "4")], "1-1.4.1"),
        ("1", [("a", ""), ("b", " "), ("c", "2")], "1-1.1.2"),
        ("1", [("a", "01"), ("b", "12"), ("c", "2")], "1-01.12.2"),
        ("1", [("a", "1"), ("a", "bBEA")], "1-1.1.1"),
        ("1", [("a", "1.2.1")], "1-1.2.1"),  # the whole number, as one library writes it
        ("1", [("a", "1. 2 .1")], "1-1.2.1"),
        ("1", [("a", "3.1 1")], "1-3.1.1"),
        ("1", [("a", "1.2"), ("b", "3")], "1-1.2.3.1"),
        (None, [], "record1-1.1.1"),
    ],
)
def test_id_is_made_of_the_control_number_and_three_numbers(
    number: str | None, numbers: list[tuple[str, str]], expected: str
) -> None:
    assert melody(collection(record(incipit(*numbers), number=number))).id == expected


def test_every_incipit_of_every_record_in_the_order_of_the_file() -> None:
    text = collection(
        record(incipit(("b", "1")), incipit(("b", "2")), incipit(("b", "2")), number="7"),
        record(field("245", ("a", "A book about music"))),
        record(incipit(), number=None),
    )
    assert ids(read(text)) == ["7-1.1.1", "7-1.2.1", "7-1.2.1", "record3-1.1.1"]


# What is read.


def test_marc21_fields() -> None:
    text = collection(
        record(
            field("100", ("a", "Boccherini, Luigi"), ("d", "1743-1805")),
            field("240", ("a", "Quintets"), ("m", "vl (2)")),
            field("245", ("a", "Six quintettes")),
            field("383", ("b", "op. 11/5")),
            field("383", ("c", "G 275"), ("c", "G 276"), ("d", "Gérard")),
            field("690", ("a", "GérB"), ("n", "275"), ("0", "30000")),
            incipit(
                *[("a", "1"), ("b", "3"), ("c", "1"), ("d", "Minuetto"), ("d", "con moto"), ("e", "Sara")],
                *[("g", "G-2"), ("m", "vl 1"), ("n", "xFCG"), ("o", "3/4"), ("r", "A"), ("2", "pe")],
                *[("t", "Ave"), ("t", "Salve"), ("q", "a note"), ("u", "http://example.org")],
            ),
            field("852", ("a", "F-Pn"), ("c", "D. 1234"), ("c", "D. 1235")),
        )
    )
    read_melody = melody(text)
    assert (read_melody.composer, read_melody.title) == ("Boccherini, Luigi", "Quintets")
    assert (read_melody.voice, read_melody.key, read_melody.text) == ("vl 1", "A", "Ave; Salve")
    assert (read_melody.clef, read_melody.key_signature, read_melody.metre) == ("G-2", "xFCG", "3/4")
    assert (read_melody.music, read_melody.notation, read_melody.source) == ("''4CDE/", "pae", None)
    assert read_melody.notes["pitch_midi"].tolist() == [73, 74, 76]
    assert dict(read_melody.extra) == {
        "role": "Sara",
        "movement": "Minuetto; con moto",
        "catalogue": "GérB 275; op. 11/5; G 275, G 276 (Gérard)",
        "scoring": "vl (2)",
        "siglum": "F-Pn",
        "shelfmark": "D. 1234; D. 1235",
    }


@pytest.mark.parametrize(
    ("subfields", "shelfmark"),
    [
        ([("a", "US-BETm"), ("p", "LCM 2 Beth ms")], "LCM 2 Beth ms"),
        ([("a", "CZ-Bu"), ("c", "1001.853"), ("p", "4711")], "1001.853"),
        ([("a", "D-Dl")], None),
    ],
)
def test_a_shelfmark_in_another_subfield(subfields: list[tuple[str, str]], shelfmark: str | None) -> None:
    read_melody = melody(collection(record(incipit(), field("852", *subfields))))
    assert read_melody.extra.get("shelfmark") == shelfmark
    assert read_melody.extra["siglum"] == subfields[0][1]


@pytest.mark.parametrize(
    ("kind", "is_manifest"),
    [
        ("IIIF manifest (digitized source)", True),
        ("IIIF", True),
        ("IIIF manifest (other)", False),  # a watermark, for example
        ("Digitized", False),
        ("", False),
    ],
)
def test_the_manifest_of_a_digitized_source(kind: str, is_manifest: bool) -> None:
    other = field("856", ("u", "https://example.org/book"), ("z", "Digitalizovaný dokument"))
    manifest = "https://iiif.example.org/9/manifest.json"
    read_melody = melody(collection(record(incipit(), other, field("856", ("u", manifest), ("x", kind)))))
    assert read_melody.extra.get("iiif") == (manifest if is_manifest else None)


def test_unimarc_fields() -> None:
    text = collection(
        record(
            incipit(
                *[("a", "01"), ("b", "01"), ("c", "02"), ("d", "S"), ("e", "Sara"), ("f", "Scena. Largo")],
                *[("g", "c"), ("m", "C-1"), ("n", "bBEA"), ("o", "c"), ("r", "+"), ("t", "Chi per pietà"), ("2", "pe")],
                tag="036",
            ),
            field("200", ("a", "\x98La \x9cpassione")),
            field("500", ("a", "Passione di Gesù"), ("r", "V, orch"), ("s", "op. 3")),
            field("700", ("a", "Jommelli"), ("b", "Niccolò"), ("4", "230")),
            field("852", ("a", "I-Nc"), ("c", "Napoli"), ("j", "28.4.12")),
            number="IT0001",
        )
    )
    read_melody = melody(text)
    assert read_melody.id == "IT0001-01.01.02"
    assert (read_melody.composer, read_melody.title) == ("Jommelli, Niccolò", "Passione di Gesù")
    assert (read_melody.voice, read_melody.key, read_melody.text) == ("S", "c", "Chi per pietà")
    assert (read_melody.clef, read_melody.key_signature, read_melody.metre) == ("C-1", "bBEA", "c")
    assert dict(read_melody.extra) == {
        "role": "Sara",
        "movement": "Scena. Largo",
        "catalogue": "op. 3",
        "scoring": "V, orch",
        "siglum": "I-Nc",
        "shelfmark": "28.4.12",
    }


@pytest.mark.parametrize(
    ("fields", "scoring"),
    [
        ([field("240", ("m", "V, pf"))], "V, pf"),
        ([field("240", ("m", "V, pf")), field("382", ("a", "voice"), ("a", "piano"))], "voice, piano"),
        ([field("382", ("a", "violin"), ("n", "2"), ("a", "cello"), ("n", "1"))], "violin (2), cello"),
        ([field("382", ("a", "voice"), ("a", "violin"), ("n", "2"))], "voice, violin"),  # of whom are there two?
        ([field("594", ("b", "S"), ("c", "1")), field("594", ("b", "vl"), ("c", "2"))], "S, vl (2)"),
        ([field("594", ("b", "S"), ("c", "1")), field("594", ("a", "S, org")), field("382", ("a", "x"))], "S, org"),
        ([field("594", ("c", "1"))], None),
    ],
)
def test_scoring_is_what_the_fullest_field_says(fields: list[str], scoring: str | None) -> None:
    assert melody(collection(record(*fields, incipit()))).extra.get("scoring") == scoring


def test_works_that_rism_has_linked() -> None:
    linked = record(
        field("930", ("a", "Françaix, Jean: Serenatas; guit"), ("0", "(DNB)300053827"), ("0", "177")),
        field("931", ("a", "Serenatas"), ("0", "12"), ("4", "arr")),
        field("931", ("0", "13")),
        field("931", ("4", "arr")),
        incipit(),
    )
    expected = "Françaix, Jean: Serenatas; guit [930 (DNB)300053827, 177]; Serenatas [931 12]; [931 13]"
    assert melody(collection(linked)).extra["work"] == expected
    # In UNIMARC, 930 is a library's own field.
    assert "work" not in melody(collection(record(field("930", ("a", "x")), incipit(("m", "G-2"), tag="036")))).extra


def test_title_falls_back_to_the_title_page_without_sorting_marks() -> None:
    assert melody(collection(record(field("245", ("a", "Title\n  page")), incipit()))).title == "Title page"
    unimarc = record(field("200", ("a", "\x98La \x9cpassione")), incipit(("m", "G-2"), tag="036"))
    assert melody(collection(unimarc)).title == "La passione"


def test_field_036_of_marc21_is_not_an_incipit() -> None:
    assert ids(read(collection(record(field("036", ("a", "CNRS 84115")), incipit())))) == ["840010000-1.1.1"]


def test_nothing_is_made_up_where_the_record_is_silent() -> None:
    read_melody = melody(collection(record(field("100", ("a", " ")), incipit(("m", ""), ("d", " ")))))
    assert (read_melody.composer, read_melody.title, read_melody.voice, read_melody.key) == (None,) * 4
    assert (read_melody.text, read_melody.clef, read_melody.metre, dict(read_melody.extra)) == (None, None, None, {})


def test_a_record_whose_id_cannot_be_cut_off_is_kept_beside_it() -> None:
    cut, kept = read(collection(record(incipit(("a", "2")), incipit(("a", "2-3")), number="MS-7")))
    assert (cut.melody_or_raise().id, dict(cut.melody_or_raise().extra)) == ("MS-7-2.1.1", {})
    assert (kept.melody_or_raise().id, dict(kept.melody_or_raise().extra)) == ("MS-7-2-3.1.1", {"record": "MS-7"})
    assert [record_of(each.melody_or_raise()) for each in (cut, kept)] == ["MS-7", "MS-7"]


def test_incipits_without_music_are_given_to_who_asks_for_them(tmp_path: Path) -> None:
    unimarc = field("036", ("a", "1"), ("b", "1"), ("c", "1"))
    study = field("036", ("a", "CNRS 84115"))
    text = collection(record(field("031", ("a", "1.2.1"), ("t", "Kyrie")), incipit(), unimarc, study, number="7"))
    (tmp_path / "x.xml").write_text(text)
    assert ids(records(tmp_path / "x.xml")) == ["7-1.1.1"]
    lines = text.splitlines()
    skipped = [one for one in records(tmp_path / "x.xml", skipped=True) if one.is_skipped]
    assert [(one.melody, one.problems[0].record, one.problems[0].reason) for one in skipped] == [
        (None, "7-1.2.1", "no music in field 031"),
        (None, "7-1.1.1", "no music in field 036"),
    ]
    for one, tag in zip(skipped, ("031", "036"), strict=True):
        assert f'tag="{tag}"' in lines[one.problems[0].line - 1]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<OAI-PMH><error code="badResumptionToken">gone</error></OAI-PMH>', "<error> badResumptionToken"),
        ('<z:searchRetrieveResponse xmlns:z="x"><z:diagnostics/></z:searchRetrieveResponse>', "<diagnostics>"),
    ],
)
def test_the_refusal_of_a_server_is_damage(text: str, found: str) -> None:
    assert refusal(text) == f"1: the answer of a server that refused; expected MARC records; found {found}"
    assert read(text)[0].problems[0].is_damage
    (refused,) = read(collection(record(incipit(music="--"))))
    assert not refused.problems[0].is_damage


@pytest.mark.parametrize("music", [None, "", "  \n "])
def test_an_incipit_of_text_alone_is_passed_over(music: str | None) -> None:
    text_only = field("031", ("a", "1"), ("t", "Kyrie eleison"), *([] if music is None else [("p", music)]))
    assert read(collection(record(text_only)), strict=True) == []


def test_the_readable_one_of_a_repeated_key_signature_is_taken() -> None:
    (only,) = read(collection(record(incipit(("n", "Andante"), ("n", "xF"), music="'4F"))), strict=True)
    read_melody = only.melody_or_raise()
    assert (read_melody.key_signature, read_melody.notes["pitch_midi"].tolist()) == ("xF", [66])


@pytest.mark.parametrize("system", ["pe", "PE ", "pae", "pe2", "", None])
def test_names_of_plaine_and_easie(system: str | None) -> None:
    assert len(melody(collection(record(incipit(*([] if system is None else [("2", system)])))))) == 3


@pytest.mark.parametrize(("system", "found"), [("da", "'da' \\(DARMS\\)"), ("mei", "'mei'")])
def test_another_system_is_refused_with_that_reason(system: str, found: str) -> None:
    text = collection(record(incipit(("2", system)), incipit(("b", "2"), ("2", "pe")), number="9"))
    first, second = read(text)
    with pytest.raises(NotationError, match=f"9-1.1.1: another system than Plaine & Easie; .*found {found}"):
        first.melody_or_raise()
    assert second.melody is not None


def test_problems_have_the_record_and_the_line_of_its_field() -> None:
    text = collection(record(incipit(music="--/")), record(incipit(("g", "G2")), number="5"))
    refused, warned = read(text)
    lines = [number for number, line in enumerate(text.splitlines(), 1) if 'tag="031"' in line]
    assert [(p.line, p.record, p.reason) for p in refused.problems] == [(lines[0], "840010000-1.1.1", "no notes")]
    assert [(p.line, p.record, p.reason) for p in warned.problems] == [(lines[1], "5-1.1.1", "unreadable clef")]
    assert warned.melody is not None
    assert [one.melody for one in read(text, strict=True)] == [None, None]


# Shapes of XML.


def test_prefix_no_namespace_and_other_namespace_read_the_same() -> None:
    plain = collection(record(incipit()))
    names = ("collection", "record", "leader", "controlfield", "datafield", "subfield")
    prefixed = plain.replace("xmlns=", "xmlns:marc=")
    for name in names:
        prefixed = prefixed.replace(f"<{name}", f"<marc:{name}").replace(f"</{name}", f"</marc:{name}")
    marcxchange = prefixed.replace("http://www.loc.gov/MARC21/slim", "info:lc/xmlns/marcxchange-v2")
    for variant in (prefixed, plain.replace(f" {MARC21}", ""), marcxchange, record(incipit())):
        assert ids(read(variant)) == ["840010000-1.1.1"]
        assert marcxml.matches(variant.encode())


def oai_pmh(*catalogue_records: str) -> str:
    inner = "".join(
        f"<record><header><identifier>oai:x:{number}</identifier></header><metadata>"
        f"{one.replace('<record>', f'<record {MARC21}>')}</metadata></record>\n"
        for number, one in enumerate(catalogue_records)
    )
    return (
        '<?xml version="1.0"?><OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/">'
        '<request verb="ListRecords" metadataPrefix="marc21">http://x</request>'
        f"<ListRecords>{inner}<resumptionToken/></ListRecords></OAI-PMH>"
    )


def test_wrappers_of_harvests_and_searches() -> None:
    oai = oai_pmh(record(incipit(), number="1"), record(incipit(), number="2"))
    sru = (
        '<zs:searchRetrieveResponse xmlns:zs="http://www.loc.gov/zing/srw/"><zs:records><zs:record>'
        f"<zs:recordSchema>marcxml</zs:recordSchema><zs:recordData>{record(incipit(), number='3')}</zs:recordData>"
        "</zs:record></zs:records></zs:searchRetrieveResponse>"
    )
    assert ids(read(oai)) == ["1-1.1.1", "2-1.1.1"]
    assert ids(read(sru)) == ["3-1.1.1"]
    assert marcxml.matches(oai.encode())
    assert marcxml.matches(sru.encode())
    assert read('<OAI-PMH><error code="noRecordsMatch"/></OAI-PMH>') == []


def test_character_references_cdata_and_comments_are_part_of_the_text() -> None:
    music = "&apos;<!-- an octave --><![CDATA[4C]]>&#68;&#x45;"
    assert melody(collection(record(field("100", ("a", "A &amp; B")), incipit(music=music)))).music == "'4CDE"


@pytest.mark.parametrize(
    "encoding", ["utf-8", "UTF-16", "iso-8859-1", "ISO-8859-2", "windows-1250", "iso8859-15", "cp852", "macroman"]
)
def test_encodings(encoding: str) -> None:
    text = collection(record(field("100", ("a", "Müller, Jürgen")), incipit())).replace("UTF-8", encoding)
    assert melody(text.encode(encoding)).composer == "Müller, Jürgen"
    assert marcxml.matches(text.encode(encoding)[:4096])


@pytest.mark.parametrize("encoding", ["shift_jis", "euc-jp", "gb18030", "big5"])
def test_encodings_of_several_bytes_that_cross_pieces(encoding: str) -> None:
    title = "音楽" * 50_000
    text = collection(record(field("240", ("a", title)), incipit())).replace("UTF-8", encoding)
    data = text.encode(encoding, errors="xmlcharrefreplace")
    assert melody(data).title == title
    assert melody(data.replace(b"<collection", b"<collection ", 1)).title == title


def test_byte_order_mark() -> None:
    data = b"\xef\xbb\xbf" + collection(record(incipit())).encode()
    assert marcxml.matches(data)
    assert ids(read(data)) == ["840010000-1.1.1"]


@pytest.mark.parametrize("encoding", ["klingon", "bz2", "zlib", "rot13", "hex", "punycode", "unicode_escape"])
def test_what_is_no_character_set_is_refused(encoding: str) -> None:
    text = collection(record(incipit())).replace("UTF-8", encoding)
    assert refusal(text) == (
        f"1: unknown encoding; expected a character set such as UTF-8 or ISO-8859-1; found {encoding!r}"
    )


@pytest.mark.parametrize("encoding", ["utf-8", "cp1253"])
def test_bytes_that_are_not_of_the_encoding_are_told_with_their_place(encoding: str) -> None:
    text = collection(record(incipit(), number="1"), "<!-- here: MARK -->\n").replace("UTF-8", encoding)
    good, bad = read(text.encode("ascii").replace(b"MARK", b"\xff\xaa"))
    line = 1 + text[: text.index("MARK")].count("\n")
    assert good.melody is not None
    assert (bad.problems[0].reason, bad.problems[0].line) == ("broken XML", line)


# Which files are ours.


@pytest.mark.parametrize(
    "head",
    [
        collection(),
        collection(record(incipit())),
        "<collection/>",
        "<!-- an export -->\n<?pi?><collection>\n<record>",
        '<export><marc:record xmlns:marc="http://www.loc.gov/MARC21/slim">',
        '<datafield tag="031" ind1=" " ind2=" "><subfield code="p">',
        '<!DOCTYPE collection [ <!ENTITY a "aa"> ]><collection>&a;',
        "\n  <record><leader>00000</leader>",
    ],
)
def test_matches(head: str) -> None:
    assert marcxml.matches(head.encode())
    assert marcxml.matches(head.encode("utf-16"))
    assert marcxml.matches(head.encode("utf-16-le")) is not head.startswith("\n")


@pytest.mark.parametrize(
    "head",
    [
        "",
        "<",
        '<?xml version="1.0"?>',
        '<?xml version="1.0"?>\n<!DOCTYPE score-partwise PUBLIC "-//Recordare//DTD MusicXML 4.0//EN" "x.dtd">\n'
        '<score-partwise version="4.0"><work/><identification/>',
        "<score-timewise><part-list/>",
        '<mei xmlns="http://www.music-encoding.org/ns/mei"><meiHead><!-- from http://www.loc.gov/MARC21/slim -->',
        '<html><body><a href="marc">record</a>',
        "<OAI-PMH><ListRecords><record><metadata><oai_dc:dc>",
        "<rss><channel>",
        '{"id": "1", "pae": "\'4C"}',
        "%G-2@3/4 '4CDE",
    ],
)
def test_does_not_match(head: str) -> None:
    assert not marcxml.matches(head.encode())


def test_the_reader_is_found_by_the_registry(tmp_path: Path) -> None:
    path = tmp_path / "export.xml"
    path.write_text(collection(record(incipit())))
    (found,) = load(path)
    assert found.id == "840010000-1.1.1"
    assert ids(records(collection(record(incipit())).encode())) == ["840010000-1.1.1"]


@pytest.mark.parametrize(
    ("text", "name"),
    [("<mei/>", "mei"), ('<!DOCTYPE score-partwise SYSTEM "x.dtd"><score-partwise/>', "score-partwise")],
)
def test_other_xml_is_refused_as_such(text: str, name: str) -> None:
    assert refusal(text) == f"1: not MARCXML; expected MARC records; found <{name}>"


# Hostile and broken files.

BILLION_LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
ATTACKS = {
    "internal entity": '[ <!ENTITY a "aa"> ]',
    "billion laughs": f'[ <!ENTITY l0 "lol"> {BILLION_LAUGHS} ]',
    "quadratic blow-up": f'[ <!ENTITY a "{"a" * 100_000}"> ]',
    "external entity": '[ <!ENTITY a SYSTEM "file:///etc/passwd"> ]',
    "external entity of the network": '[ <!ENTITY a SYSTEM "http://127.0.0.1:9/"> ]',
    "parameter entity": '[ <!ENTITY % p SYSTEM "http://127.0.0.1:9/p.dtd"> %p; ]',
    "unparsed entity": '[ <!NOTATION n SYSTEM "n"> <!ENTITY a SYSTEM "a.gif" NDATA n> ]',
    "default attributes": f'[ <!ATTLIST record x CDATA "{"a" * 100_000}"> ]',
    "empty subset": "[ ]",
    "external subset": 'SYSTEM "http://127.0.0.1:9/marc.dtd"',
    "public external subset": 'PUBLIC "-//X//DTD MARC//EN" "marc.dtd"',
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_document_types_that_declare_or_refer_are_refused(attack: str) -> None:
    body = collection(record(incipit(music="&a;" * 1000))).split("?>")[1]
    with traced() as peak:
        message = refusal(f'<?xml version="1.0"?>\n<!DOCTYPE collection {ATTACKS[attack]}>{body}')
        assert peak() < 4 * 2**20
    assert "unsafe document type; expected none, or one without declarations and external files; found" in message


def test_a_bare_document_type_is_harmless() -> None:
    assert ids(read("<!DOCTYPE collection><collection>" + record(incipit()) + "</collection>")) == ["840010000-1.1.1"]


@pytest.mark.parametrize("document_type", ["", "<!DOCTYPE collection>"])
def test_unknown_entities_are_broken_xml_after_the_records_before_them(document_type: str) -> None:
    body = record(incipit(), number="1") + record(incipit(music="\n&eacute;"), number="2")
    good, bad = read(f"{document_type}<collection>{body}</collection>")
    assert ids([good]) == ["1-1.1.1"]
    problem = bad.problems[0]
    assert (problem.reason, problem.found, problem.column) == ("broken XML", "undefined entity", 1)
    assert problem.record == "2"


def test_broken_xml_is_told_with_line_and_column_after_the_records_before_it() -> None:
    text = collection(record(incipit(), number="1"), record(incipit(), number="2"), "  <oops></record>\n")
    *good, bad = read(text)
    assert ids(good) == ["1-1.1.1", "2-1.1.1"]
    line = 1 + text[: text.index("<oops")].count("\n")
    assert str(bad.problems[0]) == f"{line}, column 11: broken XML; expected well-formed XML; found mismatched tag"


def test_a_file_that_is_cut_short_gives_what_it_holds() -> None:
    text = collection(record(incipit(), number="1"), record(incipit(), number="2"))
    *good, bad = read(text[: text.rindex("</datafield")])
    assert ids(good) == ["1-1.1.1"]
    assert bad.problems[0].record == "2"
    assert "broken XML; expected the end of <collection>; found the end of the file" in str(bad.problems[0])


def test_a_compressed_file_that_is_cut_short_gives_what_it_holds(tmp_path: Path) -> None:
    draw = random.Random(0)
    many = [record(field("245", ("a", str(draw.random()))), incipit(), number=str(n)) for n in range(5000)]
    packed = gzip.compress(collection(*many).encode())
    path = tmp_path / "export.xml.gz"
    path.write_bytes(packed[: len(packed) // 2])
    *good, bad = records(path, strict=False)
    assert 1000 < len(good) < 4000
    assert all(one.melody for one in good)
    assert bad.problems[0].reason == "damaged file"
    assert bad.problems[0].file == str(path)


@pytest.mark.parametrize("data", [b"", b"\0" * 100, bytes(range(256)) * 300, b"\x1f\x8b\x08", b"plain text", b"<"])
def test_garbage_is_refused_once(data: bytes) -> None:
    (only,) = read(data)
    assert only.melody is None
    is_xml = b"<" in data[:24] or not data
    assert only.problems[0].reason == ("broken XML" if is_xml else "neither MARCXML nor ISO 2709")
    assert only.problems[0].line == 1


VALID = collection(record(field("100", ("a", "Bach")), incipit(), incipit(("b", "2"))), record(incipit())).encode()


@given(st.data())
def test_no_damage_makes_the_reader_fail(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(VALID)))
    end = data.draw(st.integers(start, min(len(VALID), start + 40)))
    damaged = VALID[:start] + data.draw(st.binary(max_size=40)) + VALID[end:]
    assert isinstance(marcxml.matches(damaged), bool)
    for one in read(damaged, strict=data.draw(st.booleans())):
        assert one.melody is not None or one.problems[0].reason


# Memory.


class Endless(io.RawIOBase):
    """A file that is made while it is read."""

    def __init__(self, pieces: Iterable[bytes]):
        self._pieces, self._left = iter(pieces), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._left:
            self._left = next(self._pieces, b"")
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count


@contextmanager
def traced() -> Iterator[Callable[[], int]]:
    """Gives a function for the most memory that was in use since the start of the block, in bytes."""
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def stream_of(*pieces: Iterable[bytes]) -> Iterator[Record]:
    return marcxml.read(io.BufferedReader(Endless(itertools.chain(*pieces))), strict=False)


@pytest.mark.long
def test_memory_does_not_grow_with_the_file() -> None:
    count = 5000
    many = (record(field("500", ("a", "note " * 100)), incipit(), number=str(n)).encode() for n in range(count))
    with traced() as peak:
        taken = sum(one.melody is not None for one in stream_of([b"<collection>"], many, [b"</collection>"]))
        assert peak() < 4 * 2**20
    assert taken == count


def test_memory_does_not_grow_with_what_is_not_kept() -> None:
    notes = itertools.repeat(field("300", ("a", "x" * 10_000)).encode(), 2000)
    ending = f"{incipit()}</record></collection>".encode()
    with traced() as peak:
        assert ids(stream_of([b"<collection><record>"], notes, [ending])) == ["record1-1.1.1"]
        assert peak() < 2 * 2**20


INSIDE_MUSIC = b'<collection><record><controlfield tag="001">7</controlfield><datafield tag="031"><subfield code="p">'
BLOCK = b"'4CDEF/" * 5000


@pytest.mark.long
@pytest.mark.parametrize(
    ("start", "block"),
    [(INSIDE_MUSIC, BLOCK), (INSIDE_MUSIC, b"</subfield><subfield code='a'>" * 5000)],
    ids=["text", "subfields"],
)
def test_an_endless_record_is_refused_and_the_next_one_read(
    monkeypatch: pytest.MonkeyPatch, start: bytes, block: bytes
) -> None:
    monkeypatch.setattr(parser, "MAX_RECORD_CHARACTERS", 2**20)
    ending = f"</subfield></datafield></record>{record(incipit())}</collection>".encode()
    with traced() as peak:
        too_large, following = stream_of([start], itertools.repeat(block, 100), [ending])
        assert peak() < 8 * 2**20
    assert ids([following]) == ["840010000-1.1.1"]
    assert (
        str(too_large.problems[0])
        == "1, 7: catalogue record too large; expected at most 1048576 characters; found more"
    )


@pytest.mark.parametrize(
    ("start", "blocks", "reason"),
    [
        (b"<collection><!--", [b"x" * 10_000] * 3000, "tag or comment too long"),
        (b"<!--", [b"x" * 10_000] * 3000, "tag or comment too long"),
        (b'<collection><record id="', [b"x" * 10_000] * 3000, "tag or comment too long"),
        (b"<collection><", [b"x" * 10_000] * 3000, "tag or comment too long"),
        (b"<collection>", [b"<record>" * 1000] * 3000, "elements too deep"),
        (b"<collection>", [b"<n%d/>" % n for n in range(30_000)], "too many different names"),
        (b"<collection>", [b"<n a%d=''/>" % n for n in range(30_000)], "too many different names"),
    ],
    ids=["comment", "first comment", "attribute", "tag", "depth", "elements", "attributes"],
)
def test_what_expat_would_have_to_hold_is_bounded(start: bytes, blocks: Iterable[bytes], reason: str) -> None:
    with traced() as peak:
        (only,) = stream_of([start], blocks)
        assert peak() < 6 * 2**20
    assert only.problems[0].reason == reason


# The dumps of RISM. The incipits were counted with another reader too (xml.etree, fields 031 with a $p).

DUMPS = {  # name: incipits of music, melodies when reading what can be read
    "brno_2017.xml.gz": (2833, 2833),
    "fitzwilliam_2024.xml.gz": (6944, 6944),
    "mmf_marcxml_0.xml.gz": (642, 642),
    "muscat_sample_0.xml.gz": (1410, 1410),
    "plr_0.xml.gz": (491, 489),
}


@pytest.mark.long
@pytest.mark.parametrize("name", DUMPS)
def test_real_dumps(data_folder: Path, name: str) -> None:
    lenient = list(records(data_folder / "rism" / name, strict=False))
    strict = list(records(data_folder / "rism" / name, strict=True))
    assert (len(lenient), sum(one.melody is not None for one in lenient)) == DUMPS[name]
    assert [one.melody is None for one in strict] == [bool(one.problems) for one in lenient]
    for problem in itertools.chain.from_iterable(one.problems for one in lenient + strict):
        assert problem.reason
        assert problem.line > 0
        assert problem.record
        assert problem.file.endswith(name)
    assert all(one.melody or one.problems for one in lenient + strict)


@pytest.mark.parametrize(
    ("name", "id", "expected"),
    [
        (
            "muscat_sample_0.xml.gz",
            "400006537-1.1.1",
            {"movement": "Andante", "scoring": "vl 1, vl 2", "siglum": "CH-Bu", "shelfmark": "kr IV 177 (Ms.166)"},
        ),
        (
            "plr_0.xml.gz",
            "1001084349-1.5.1",
            {
                "movement": "Hymnus",
                "scoring": "S, A, T, B, vl (2), clno (2), org",
                "catalogue": "WarG nr 6; MMPa 2009 nr 6",
                "siglum": "PL-R",
                "shelfmark": "RAp-2",
                "date": "1735-1745",
            },
        ),
    ],
)
def test_what_real_records_say_of_a_source(data_folder: Path, name: str, id: str, expected: dict[str, str]) -> None:
    found = (one.melody for one in records(data_folder / "rism" / name, strict=False))
    assert next(one for one in found if one and one.id == id).extra == expected


def test_real_refusals_are_incipits_of_rests(data_folder: Path) -> None:
    found = records(data_folder / "rism" / "plr_0.xml.gz", strict=False)
    refused = Counter((one.problems[0].reason, one.problems[0].found) for one in found if one.melody is None)
    assert refused == {("no notes", "only rests"): 2}


@pytest.mark.long
@pytest.mark.parametrize("name", DUMPS)
def test_real_dumps_agree_with_the_published_list(data_folder: Path, name: str) -> None:
    published = defaultdict(list)
    source = name.removesuffix(".xml.gz").removesuffix("_0")
    with gzip.open(data_folder / "rism" / "incipits.jsonl.gz", "rt", encoding="utf-8") as lines:
        for fields in map(json.loads, lines):
            if fields["source"] == source:
                number, _, numbers = fields["id"].rpartition("-")
                if numbers.count(".") > 2:  # the whole number in $a, and 1 for $b and $c
                    numbers = ".".join(numbers.removesuffix(".1.1").replace(".", " ").split())
                published[f"{number}-{numbers}"].append(fields)
    assert published
    seen = set()
    for one in records(data_folder / "rism" / name, strict=False):
        seen.add(one.melody.id if one.melody else one.problems[0].record)
        if one.melody is None:
            continue
        assert one.melody.id is not None
        same_music = [fields for fields in published[one.melody.id] if fields["pae"] == one.melody.music]
        assert same_music or not published[one.melody.id]
        for attribute in ("composer", "title", "voice", "key"):
            here = getattr(one.melody, attribute) or ""
            assert not same_music or any(here == " ".join((f[attribute] or "").split()) for f in same_music)
    assert seen >= {name for name, entries in published.items() if entries}
