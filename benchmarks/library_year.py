"""A year of a library: twelve monthly updates of a collection, each compared with a fresh build of the same records.

    python benchmarks/library_year.py [--months 12] [--seed 1]

The records are those of the MARCXML dumps in $ROSLIN_DATA/rism. Each month 0.7 % of them get another composer or other
music, 0.2 % are deleted, and half as many of those deleted earlier come back. Prints, for each month, what the update
did and its share of the CPU time of a build, from an export of the changes alone and from a complete one; and whether
the collections give the same answers: contents, lists of searches with their chance matches, and filters.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from roslin import Collection, filters
from roslin.collection import write
from roslin.collection.store import check
from roslin.collection.update import update

DATA = Path(os.environ.get("ROSLIN_DATA", "../shared/data")) / "rism"
QUERIES = 12
_RECORD = re.compile(r"<(?:\w+:)?record\b.*?</(?:\w+:)?record>", re.DOTALL)
_NUMBER = re.compile(r'tag="001"[^>]*>\s*([^<]*?)\s*<')
_COMPOSER = re.compile(r'(tag="100"[^>]*>\s*<(?:\w+:)?subfield code="a">)')
_MUSIC = re.compile(r'(code="p">)([^<]+)')


def dumped() -> dict[str, str]:
    """The records of all dumps by their numbers; of a number that occurs again, the first."""
    found: dict[str, str] = {}
    for path in sorted(DATA.glob("*.xml.gz")):
        for text in _RECORD.findall(gzip.decompress(path.read_bytes()).decode()):
            number = _NUMBER.search(text)
            if number:
                found.setdefault(number[1], re.sub(r"<(/?)\w+:", r"<\1", text))
    return found


def exported(path: Path, texts: list[str]) -> Path:
    """An export with these records."""
    path.write_text('<collection xmlns="http://www.loc.gov/MARC21/slim">' + "\n".join(texts) + "</collection>")
    return path


def deleted(number: str) -> str:
    """The record of a deletion."""
    leader = "<leader>00000ddm a2200000 u 4500</leader>"
    return f'<record>{leader}<controlfield tag="001">{number}</controlfield></record>'


def changed(text: str, chosen: random.Random) -> str:
    """A record with another composer or other music."""
    if chosen.random() < 0.7:
        return _COMPOSER.sub(r"\1Pseudo-", text, count=1)
    return _MUSIC.sub(lambda found: f"{found[1]}{found[2]}'4C,B", text, count=1)


def timed(work: Callable[..., Any], *given: Any, **named: Any) -> tuple[float, Any]:
    """The CPU seconds of some work, and its result."""
    began = time.process_time()
    result = work(*given, **named)
    return time.process_time() - began, result


def answers(path: Path, queries: list[str]) -> object:
    """The contents of a collection, and what it answers."""
    assert check(path) == []
    with Collection(path) as collection:
        contents = {each.id: each.with_metadata(source=None) for each in collection}
        runs = [collection.search(collection[id], k=20).rankings for id in queries if id in collection]
        passed = collection.filter(filters.pitch_range(5, 12), filters.contains("third up, second down"))
        return contents, runs, sorted(passed.ids)


def main() -> None:
    """Print a row for each month."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    options.add_argument("--months", type=int, default=12)
    options.add_argument("--seed", type=int, default=1)
    asked = options.parse_args()
    chosen, records, gone = random.Random(asked.seed), dumped(), dict[str, str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write.build(exported(folder / "all.xml", list(records.values())), folder / "live.roslin")
        print("month records added changed removed share complete equal", flush=True)
        for month in range(1, asked.months + 1):
            one = max(len(records) // 1000, 1)
            numbers = chosen.sample(sorted(records), 9 * one)
            back = chosen.sample(sorted(gone), min(one, len(gone)))
            for number in numbers[: 7 * one]:
                records[number] = changed(records[number], chosen)
            gone |= {number: records.pop(number) for number in numbers[7 * one :]}
            records |= {number: gone.pop(number) for number in back}
            texts = [records[each] if each in records else deleted(each) for each in (*numbers, *back)]
            changes, whole = exported(folder / "new.xml", texts), exported(folder / "all.xml", list(records.values()))
            if month == 1:
                shutil.copytree(folder / "live.roslin", folder / "whole.roslin")
            seconds, report = timed(update, changes, folder / "live.roslin")
            complete, _ = timed(update, whole, folder / "whole.roslin", complete=True)
            build, _ = timed(write.build, whole, folder / "fresh.roslin")
            with Collection(folder / "fresh.roslin") as fresh:
                queries = chosen.sample(fresh.ids(), QUERIES)
            found = [answers(folder / f"{each}.roslin", queries) for each in ("live", "whole", "fresh")]
            counts = " ".join(str(report.count(each)) for each in ("added", "changed", "removed"))
            equal = "yes" if found[0] == found[1] == found[2] else "NO"
            print(month, len(records), counts, f"{seconds / build:.1%} {complete / build:.1%}", equal, flush=True)


if __name__ == "__main__":
    main()
