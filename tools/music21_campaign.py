"""Make a collection and a truth for a campaign from printed tune books that the music21 package carries.

    python tools/music21_campaign.py FOLDER

FOLDER gets `tunes.roslin`, the beginnings of all tunes of these books, and `titles.qrel`: for every tune, the tunes of
the same title in other books (docs/measurements/tune-books.md). Only the first tune of a title in each book is taken,
because some of the transcriptions hold a tune twice. A beginning is the first 24 notes: about as much as an incipit of
a library catalogue, and little enough for the slowest systems.

A title is compared in small letters without accents, articles and signs, and without what follows a dash, where Ryan's
collection names the dance ("Money Musk -- Strathspey").
"""

from __future__ import annotations

import argparse
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from roslin import Collection, Melody, Truth, records
from roslin.melody import NoteTable
from roslin.represent.line import melodic_line
from roslin.truth import write_truth

BOOKS = {
    "airdsAirs": "aird",
    "oneills1850": "oneill",
    "ryansMammoth": "ryan",
    "miscFolk": "misc",
}
NOTES = 24
LEAST_NOTES = 12


def title_key(title: str) -> str:
    """What two spellings of a title share.

    >>> title_key("MONEY MUSK -- STRATHSPEY") == title_key("Money Musk, The")
    True
    """
    plain = unicodedata.normalize("NFKD", title.partition("--")[0]).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9 ]", "", re.sub(r"\(.*?\)", "", plain)).split()
    return " ".join(word for word in words if word not in ("a", "an", "the"))


def beginning(melody: Melody) -> NoteTable:
    """The first notes of the top line."""
    notes: NoteTable = melodic_line(melody)[:NOTES]
    return notes


def tunes() -> Iterator[tuple[str, str, Melody]]:
    """(book, title, beginning) of the first tune of each title in each book, in a fixed order."""
    corpus = Path(str(import_module("music21").__file__)).parent / "corpus"
    for folder, book in BOOKS.items():
        seen = set()
        for path in sorted((corpus / folder).rglob("*.abc")):
            for number, record in enumerate(records(path, strict=False), start=1):
                melody = record.melody
                if melody is None or not melody.title or len(melodic_line(melody)) < LEAST_NOTES:
                    continue
                key = title_key(melody.title)
                if not key or key in seen:
                    continue
                seen.add(key)
                notes = beginning(melody)
                end = int(notes["onset_ticks"][-1])
                changes = tuple(change for change in melody.changes if change.onset_ticks <= end)
                about = {"id": f"{book}/{path.stem}/{number}", "title": melody.title, "metre": melody.metre}
                about |= {"clef": melody.clef, "key_signature": melody.key_signature, "key": melody.key}
                bars = melody.barlines_ticks[melody.barlines_ticks <= end]
                yield book, key, Melody(notes, **about, barlines_ticks=bars, changes=changes)  # type: ignore[arg-type]


def main() -> None:
    """Write the collection and the truth, and say how to go on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    melodies: list[Melody] = []
    by_title: dict[str, list[str]] = defaultdict(list)
    for _, key, melody in tunes():
        melodies.append(melody)
        by_title[key].append(str(melody.id))
    groups = {
        query: [[other for other in ids if other != query]]
        for ids in by_title.values()
        if len(ids) > 1
        for query in ids
    }
    with Collection.build(melodies, folder / "tunes.roslin") as collection:
        print(f"{len(collection)} tunes in {collection.path}")
    write_truth(Truth(groups, name="titles"), folder / "titles.qrel")
    shared = sum(len(ids) > 1 for ids in by_title.values())
    print(f"{shared} titles in more than one book, {len(groups)} queries in {folder / 'titles.qrel'}")


if __name__ == "__main__":
    main()
