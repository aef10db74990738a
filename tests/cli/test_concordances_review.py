"""roslin concordances review, export and marc: decisions of two people, for other programs and for the catalogue."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.program import roslin

from roslin.collection import write
from roslin.collection.store import Store
from roslin.concordances.concordance import Concordances
from roslin.concordances.pairs import FoundPairs
from roslin.concordances.review import Review
from roslin.melody import Melody
from roslin.truth import read_truth

A, B, C = "1000-1.1.1", "2000-1.2.1", "3000-1.1.1"


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A collection of three, in which two pairs were found, and two people's files beside it."""
    path = tmp_path / "mine.roslin"
    write.build([Melody.from_notes([0, 1], [1, 1], [60, 62], id=id) for id in (A, B, C)], path)
    with Store(path) as store:
        measured = np.array([0.1, 0.2]), np.array([1e-6, 1e-5])
        pairs = FoundPairs(np.array([0, 1]), np.array([1, 2]), *measured, np.zeros(2, bool), 0.1, 2, 3)
        Concordances(store, pairs).write(tmp_path / "mine.concordances")
    Review.open(tmp_path / "anna.jsonl").decide_all([(A, B), (B, C)], "accept", "", "Anna")
    Review.open(tmp_path / "ben.jsonl").decide(B, C, "reject", "another mode", "Ben")
    return path


def merged(collection: Path) -> str:
    folder = collection.parent
    done = roslin("concordances", "review", "merge", folder / "anna.jsonl", folder / "ben.jsonl", "-o", collection)
    assert done.returncode == 0
    return done.stderr


@pytest.mark.long
def test_two_reviews_are_merged_and_listed(collection: Path) -> None:
    assert merged(collection).splitlines() == [
        f"{collection / 'review.jsonl'}: 3 decisions about 2 pairs, 3 of them new",
        f"disputed: {B} and {C}",
    ]
    assert "0 of them new" in merged(collection)
    with (collection / "review.jsonl").open("a") as file:
        file.write('{"cut o')
    done = roslin("concordances", "review", "list", collection, "--format", "json")
    assert [(row["first"], row["second"], row["verdict"]) for row in json.loads(done.stdout)] == [
        (A, B, "accept"),
        (B, C, "disputed"),
    ]
    assert "the last line is incomplete and was left out" in done.stderr
    alone = roslin("concordances", "review", "list", collection.parent / "ben.jsonl", "--format", "tsv").stdout
    assert alone.splitlines()[1].split("\t")[2:4] == ["reject", "Ben: reject"]


@pytest.mark.long
def test_decisions_are_exported(collection: Path, tmp_path: Path) -> None:
    merged(collection)
    done = roslin("concordances", "export", "truth", collection, "-o", tmp_path / "truth.qrel")
    assert done.stderr.splitlines() == ["left out: 1 (disputed)", f"written: {tmp_path / 'truth.qrel'}"]
    assert read_truth(tmp_path / "truth.qrel")[A] == ((B,),)
    roslin("concordances", "export", "pairs", collection, "-o", tmp_path / "pairs.csv")
    assert len((tmp_path / "pairs.csv").read_text().splitlines()) == 3


@pytest.mark.long
def test_accepted_pairs_become_patches(collection: Path, tmp_path: Path) -> None:
    merged(collection)
    done = roslin("concordances", "marc", collection, "--per-record", tmp_path / "patches")
    assert done.stderr.splitlines() == [
        "left out: 1 (a pair that is disputed)",
        f"2 fields for 2 records in {tmp_path / 'patches'}",
    ]
    assert sorted(path.name for path in (tmp_path / "patches").iterdir()) == ["1000.xml", "2000.xml"]
    (tmp_path / "source.xml").write_text(
        '<collection><record><controlfield tag="001">1000</controlfield></record></collection>'
    )
    marc = ("concordances", "marc", collection)
    done = roslin(*marc, "--source", tmp_path / "source.xml", "-o", tmp_path / "others.xml", "--language", "fr")
    assert "1 field for 1 record in " in done.stderr
    assert "Source concordante" in (tmp_path / "others.xml").read_text("utf-8")


@pytest.mark.long
def test_decisions_are_made_by_command_and_by_table(collection: Path, tmp_path: Path) -> None:
    review = ("concordances", "review")
    assert "1 decision stored" in roslin(*review, "accept", collection, A, C, "--author", "Zoë").stderr
    merged(collection)
    roslin("concordances", "export", "pairs", collection, "-o", tmp_path / "pairs.csv", "--excel")
    data = (tmp_path / "pairs.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbfgroup,")
    # In Excel, the disputed pair is rejected, and the table is saved with semicolons.
    (tmp_path / "new.csv").write_bytes(data.replace(b",disputed,Ben", b",reject,Anna").replace(b",", b";"))
    assert (
        "1 decision stored"
        in roslin(*review, "accept", collection, "--from", tmp_path / "new.csv", "--author", "X").stderr
    )
    assert (
        "0 decisions stored"
        in roslin(*review, "accept", collection, "--from", tmp_path / "new.csv", "--author", "X").stderr
    )
    with Store(collection) as store:
        found = Review.of(store)
        assert [found.state(*pair).verdict for pair in ((A, B), (A, C), (B, C))] == ["accept", "accept", "reject"]
    (tmp_path / "two.csv").write_text(f"first,second\n{A},{C}\n")
    assert (
        "1 decision stored"
        in roslin(*review, "reject", collection, "--from", tmp_path / "two.csv", "--author", "Zoë").stderr
    )


@pytest.mark.long
def test_records_are_listed_with_their_surest_pair(collection: Path, tmp_path: Path) -> None:
    merged(collection)
    done = roslin("concordances", "records", collection, "--format", "json")
    rows = [(row["first"], row["second"], row["incipits"], row["verdict"]) for row in json.loads(done.stdout)]
    assert rows == [("1000", "2000", 1, "accept"), ("2000", "3000", 1, "disputed")]
    assert roslin("concordances", "records", collection).stdout.startswith("first")
    roslin("concordances", "export", "records", collection, "-o", tmp_path / "records.csv")
    assert (tmp_path / "records.csv").read_text().startswith("first,second,kind,incipits,distance,probability,verdict")


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("export", "pdf", "COLLECTION", "-o", "x"),
            "unknown export 'pdf'; known: pairs, groups, records, graphml, truth",
        ),
        (("marc", "COLLECTION", "--per-record", "FOLDER"), "patches need a new or empty folder"),
        (("marc", "COLLECTION", "-o", "x", "--language", "nl"), "unknown language 'nl'; known: en, de, fr, it"),
        (("review", "accept", "COLLECTION", "nobody", "x", "--author", "A"), "unknown melody 'nobody'"),
        (
            ("review", "accept", "COLLECTION", "--from", "none.csv", "--author", "A"),
            "none.csv: cannot be read as a table",
        ),
        (("review", "merge", "nobody.jsonl", "-o", "x"), "nobody.jsonl: no such review"),
        (("review", "list", "nobody.jsonl"), "nobody.jsonl: no such review"),
        (("export", "pairs", "COLLECTION", "--folder", "nothing", "-o", "x"), "no concordances that can be read"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(collection: Path, arguments: tuple[str, ...], message: str) -> None:
    words = {"COLLECTION": str(collection), "FOLDER": str(collection.parent)}
    done = roslin("concordances", *(words.get(word, word) for word in arguments), code=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
