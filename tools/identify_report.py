"""How often `roslin identify` names the composer of a record that has one, asked about without the record itself.

    python tools/identify_report.py rism.roslin [COUNT]

The records are a fixed sample of those whose music is known in another record, by what the catalogue says of both
(`same_work_strict_dev.qrel` and `same_work_hard_dev.qrel`). The first attribution is right where it is the composer of
the record, spelt in the same way but for accents and case; another spelling (the same surname) is counted apart.

Then the same records with their incipits backwards, in the same rhythm, asked of all records but those in which
something was found before: whatever is named there is named by chance. Last, a sample of the records that name nobody.
Printed: a table of each in Markdown, and every sure attribution that is not right.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from real_data import DATA
from roslin import Collection, Melody
from roslin.concordances.concordance import folded_name, is_nobody, surname
from roslin.concordances.identify import COMMON, Identification, melodies_of
from roslin.notation.record import record_of
from roslin.represent.line import melodic_line
from roslin.run.meaning import MEANINGS
from roslin.search.chance import decoy

COUNT, SEED, ANONYMOUS = 1000, 17, 1000
LISTS = ("same_work_strict_dev.qrel", "same_work_hard_dev.qrel")
WORDS = [word for _, word in MEANINGS]


def records_with_a_source() -> list[str]:
    """The records whose music is known in another one, in a fixed random order."""
    found = set()
    for name in LISTS:
        for line in (DATA / "rism" / name).read_text("utf-8").splitlines():
            query, _, _, group = line.split()
            if group != "0":
                found.add(record_of(query))
    listed = sorted(found)
    random.Random(SEED).shuffle(listed)
    return listed


def asked(collection: Collection, count: int) -> dict[str, list[Melody]]:
    """The incipits of the first so many records that name a composer."""
    found: dict[str, list[Melody]] = {}
    for record in records_with_a_source():
        melodies = melodies_of(collection, record)
        if melodies and not is_nobody(melodies[0].composer) and len(found) < count:
            found[record] = melodies
    return found


def anonymous(collection: Collection) -> list[list[Melody]]:
    """The incipits of some records that name nobody."""
    listed = sorted({record_of(str(melody.id)) for melody in collection if is_nobody(melody.composer)})
    random.Random(SEED).shuffle(listed)
    return [melodies_of(collection, record) for record in listed[:ANONYMOUS]]


def named(found: Identification, _composer: str = "") -> str:
    """How many composers close sources name; of what may be chance, that somebody is named at all."""
    names = [each for each in found.attributions if not each.is_anonymous and (each.close or not found.is_close)]
    if not found.is_close or not names:
        return "somebody" if names else "nobody"
    return "one composer" if len(names) == 1 else f"two to {COMMON - 1}" if len(names) < COMMON else "more"


def backwards(melodies: list[Melody]) -> list[Melody]:
    """The same incipits with their pitches in reverse order, as far as that makes them different."""
    turned = (decoy(melody, len(melodic_line(melody))) for melody in melodies)
    return [melody for melody in turned if melody is not None]


def verdict(found: Identification, composer: str) -> str:
    """Whether the first attribution is right."""
    first = found.attributions[0]
    if first.is_anonymous:
        return "anonymous"
    if folded_name(first.name) == folded_name(composer):
        return "right"
    return "another spelling" if surname(first.name) == surname(composer) else "another composer"


def table(answers: Iterable[tuple[Identification, str]], judge: Callable[[Identification, str], str]) -> list[str]:
    """How often each verdict comes with each word of certainty, in Markdown."""
    counts: Counter[tuple[str, str]] = Counter()
    for found, composer in answers:
        key = (found.attributions[0].meaning, judge(found, composer)) if found.attributions else ("nothing", "")
        counts[key] += 1
    verdicts = sorted({name for _, name in counts if name}, key=lambda name: (name != "right", name))
    lines = [f"| first attribution | records | {' | '.join(verdicts)} |", "|---" * (2 + len(verdicts)) + "|"]
    for word in WORDS:
        row = [counts[word, name] for name in verdicts]
        lines.append(f"| {word} | {sum(row)} | {' | '.join(map(str, row))} |")
    return [*lines, f"| nothing was found | {counts['nothing', '']} |{' |' * len(verdicts)}"]


def main() -> None:
    """Ask and count."""
    count = int(sys.argv[2]) if len(sys.argv) > 2 else COUNT
    with Collection(sys.argv[1]) as collection:
        sources = asked(collection, count)
        composers = {record: str(melodies[0].composer) for record, melodies in sources.items()}
        began = time.process_time()
        answers = {record: collection.identify(melodies) for record, melodies in sources.items()}
        seconds = time.process_time() - began
        several = sum(len(melodies) > 1 for melodies in sources.values())
        incipits = sum(len(melodies) for melodies in sources.values())
        print(f"{len(sources)} records, {several} of them with several incipits, {incipits} incipits in all;")
        print(f"{seconds / incipits:.2f} s of CPU an incipit\n")
        print("\n".join(table(((answers[record], composers[record]) for record in sources), verdict)))
        disputed = sum(found.is_disputed for found in answers.values())
        print(f"\n{disputed} of them disputed; not right, though close:")
        for record, found in answers.items():
            if found.is_close and verdict(found, composers[record]) != "right":
                titles = {str(melody.title) for melody in sources[record]}
                others = {source.about.title for source in found.attributions[0].sources}
                print(f"- {record} ({composers[record]}: {'; '.join(titles)}): {found} {sorted(others)}")
        records = np.array([record_of(id) for id in collection.ids()])
        by_chance = []
        for record, found in answers.items():
            known = [record, *(source.record for each in found.attributions for source in each.sources)]
            if turned := backwards(sources[record]):
                within = np.flatnonzero(~np.isin(records, known))
                by_chance.append((collection.identify(turned, within=within), ""))
        print("\nBackwards:\n")
        print("\n".join(table(by_chance, lambda _found, _composer: "named")))
        print(f"\nAnonymous records, {ANONYMOUS}, and how many composers close sources name:\n")
        print("\n".join(table(((collection.identify(each), "") for each in anonymous(collection)), named)))


if __name__ == "__main__":
    main()
