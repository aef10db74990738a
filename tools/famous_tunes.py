"""Search a collection for famous tunes, each typed in several forms, and print where they are found.

    .venv/bin/python tools/famous_tunes.py rism.roslin            the table
    .venv/bin/python tools/famous_tunes.py rism.roslin --judge    the first results with notes, to be judged by eye

The queries are in dev/measurements/famous-tunes.tsv. Its last column has the ids of the melodies that are the tune, as
somebody judged who read titles and notes; it is empty for a tune that the collection does not have.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from pathlib import Path

from roslin import Collection
from roslin.display.table import Table
from roslin.errors import ReadingWarning
from roslin.run import Run
from sample_pairs import described

QUERIES = Path(__file__).resolve().parents[1] / "dev" / "measurements" / "famous-tunes.tsv"
SHOWN = 10


def main() -> int:
    """Print the table, or what is to be judged."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--queries", type=Path, default=QUERIES)
    parser.add_argument("--judge", action="store_true", help="Print the results with their notes.")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ReadingWarning)
    with options.queries.open(encoding="utf-8", newline="") as lines:
        asked = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows = []
    with Collection(options.collection) as collection:
        for each in asked:
            run = collection.search(each["query"].replace("\\n", "\n"), k=SHOWN)
            rows.append(row_of(each, run))
            if options.judge:
                print(each["tune"], each["form"], each["query"], run.headline, sep=" | ")
                for hit in run:
                    print(f"{hit.rank} {hit.meaning}: {described(collection[hit.id])}")
    if not options.judge:
        print(Table(tuple(rows[0]), tuple(rows)))
    return 0


def row_of(each: dict[str, str], run: Run) -> dict[str, object]:
    """The first result that is the tune, with its label."""
    right = each["ids"].split()
    found = next((hit for hit in run if hit.id in right), None)
    where = (f"below {SHOWN}", "") if found is None else (found.rank, found.meaning)
    if not right:
        where = ("not there", f"first: {run[0].meaning}")
    headline = run.headline.partition(";")[0]
    return {"tune": each["tune"], "form": each["form"], "headline": headline, "rank": where[0], "label": where[1]}


if __name__ == "__main__":
    sys.exit(main())
