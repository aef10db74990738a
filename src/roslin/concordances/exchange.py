"""Concordances and decisions for other programs: tables (CSV), a graph (GraphML) and a truth file.

    pairs     CSV, a row for each pair: its measurements, the decisions about it, both sources
    groups    CSV, a row for each member of each group, with what is known of the group and of the source
    records   CSV, a row for each pair of records, with their surest pair of incipits
    graphml   the melodies as nodes and the pairs as edges, with the same attributes, typed
    truth     the decisions as a grouped qrel for `roslin evaluate`: group 1 accepted, group 0 rejected

Groups are numbered from 1 in the order of `Concordances.groups`. In CSV, a text that a spreadsheet would run as a
formula has a ' before it.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import IO, Any
from xml.sax.saxutils import escape, quoteattr

from roslin.concordances.concordance import Concordances, SourceRecord
from roslin.concordances.review import Review
from roslin.display.table import tame
from roslin.display.text import for_xml
from roslin.errors import UnknownNameError
from roslin.rows import replacing, to_word

Row = dict[str, Any]

_TYPES = {bool: "boolean", int: "long", float: "double", str: "string"}  # of GraphML

# The columns of each kind of row with their types; empty tables also have them.
_SOURCE = tuple(each.name for each in fields(SourceRecord))
PAIR_COLUMNS: dict[str, type] = {
    "group": int, "first": str, "second": str, "distance": float, "expected": float, "probability": float,
    "is_copy": bool, "is_weak": bool, "verdict": str, "author": str, "time": str, "note": str,
    "is_earlier_version": bool,
}  # fmt: skip
_OF_RECORDS = ("library", "shelfmark", "composer", "title")
MEMBER_COLUMNS: dict[str, type] = {
    "group": int, "kind": str, "melodies": int, "group_probability": float, "stability": float, "weak_links": int,
    "verdict": str, **dict.fromkeys(_SOURCE, str),
}  # fmt: skip
RECORD_COLUMNS: dict[str, type] = {
    "first": str, "second": str, "kind": str, "incipits": int, "distance": float, "probability": float,
    "verdict": str, "incipit": str, "other_incipit": str,
    **{f"{end}_{name}": str for end in ("first", "second") for name in _OF_RECORDS},
}  # fmt: skip


def pair_rows(found: Concordances, review: Review) -> Iterator[Row]:
    """A row for each pair, group by group; those that lead from one group to another come last, without a number.

    `is_weak`: the pair, alone or with its copies, holds two parts of its group together.
    """
    pairs, doubts = found.pairs, found.doubts
    within = {place for group in found.groups for place in group.pairs.tolist()}
    outside = [place for place in range(len(pairs)) if place not in within]
    numbered = [(number, group.pairs.tolist(), group.weak_links) for number, group in enumerate(found.groups, start=1)]
    for number, places, links in [*numbered, ("", outside, ())]:
        weak = {place for link in links for place in (link.pair, *link.copies)}
        for place in places:
            first, second = _ids(found, place)
            state = review.state(first, second)
            yield {
                "group": number,
                "first": first,
                "second": second,
                "distance": float(pairs.distances[place]),
                "expected": "" if pairs.matcher else float(pairs.expected[place]),
                "probability": "" if pairs.matcher else float(1 - doubts[place]),
                "is_copy": bool(pairs.is_copy[place]),
                "is_weak": place in weak,
                "verdict": state.verdict,
                **{name: getattr(state.latest, name, "") for name in ("author", "time", "note")},
                "is_earlier_version": state.is_earlier_version,
            }


def member_rows(found: Concordances, review: Review) -> Iterator[Row]:
    """A row for each member of each group."""
    for number, group in enumerate(found.groups, start=1):
        about: Row = {
            "group": number,
            "kind": found.kind(group),
            "melodies": len(group.members),
            "group_probability": "" if found.pairs.matcher else 1 - group.doubt,
            "stability": group.stability,
            "weak_links": len(group.weak_links),
            "verdict": review.group_state(_ids(found, place) for place in group.pairs.tolist()).verdict,
        }
        for member in group.members.tolist():
            yield about | asdict(found.source(member))


@dataclass(frozen=True, slots=True)
class RecordPair:
    """Two records that have a tune in common. `surest` is the place of their most certain pair of incipits."""

    first: SourceRecord  # of the surest pair
    second: SourceRecord
    surest: int
    doubt: float
    group: int  # its number, from 1; 0 where the surest pair is in none
    pairs: tuple[tuple[str, str], ...]  # ids of all pairs of incipits


def record_pairs(found: Concordances) -> list[RecordPair]:
    """Each pair of records, the most certain first. Pairs within one record are left out."""
    groups = {place: number for number, group in enumerate(found.groups, start=1) for place in group.pairs.tolist()}
    by_records: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place in range(len(found.pairs)):
        ends = [each.record for each in _ends(found, place)]
        if ends[0] != ends[1]:
            by_records[min(ends), max(ends)].append(place)
    pairs = []
    for places in by_records.values():
        surest = min(places, key=lambda place: (float(found.doubts[place]), place))
        first, second = sorted(_ends(found, surest), key=lambda each: each.record)
        ids = tuple(_ids(found, place) for place in places)
        pairs.append(RecordPair(first, second, surest, float(found.doubts[surest]), groups.get(surest, 0), ids))
    return sorted(pairs, key=lambda each: (each.doubt, each.first.record, each.second.record))


def record_rows(found: Concordances, review: Review) -> list[Row]:
    """A row for each pair of records, as `record_pairs` has them. The verdict is that of all their pairs."""
    return [
        {
            "first": each.first.record,
            "second": each.second.record,
            "kind": found.kind(found.groups[each.group - 1]) if each.group else "",
            "incipits": len(each.pairs),
            "distance": float(found.pairs.distances[each.surest]),
            "probability": "" if found.pairs.matcher else 1 - each.doubt,
            "verdict": review.group_state(each.pairs).verdict,
            "incipit": each.first.id,
            "other_incipit": each.second.id,
        }
        | {f"{end}_{name}": getattr(getattr(each, end), name) for end in ("first", "second") for name in _OF_RECORDS}
        for each in record_pairs(found)
    ]


def _ends(found: Concordances, place: int) -> tuple[SourceRecord, SourceRecord]:
    return found.source(int(found.pairs.first[place])), found.source(int(found.pairs.second[place]))


def _ids(found: Concordances, place: int) -> tuple[str, str]:
    first, second = _ends(found, place)
    return first.id, second.id


# -- tables and a graph -----------------------------------------------------------------------------------------------


def _wide_pair_rows(found: Concordances, review: Review) -> Iterator[Row]:
    about = {found.source(number).id: asdict(found.source(number)) for number in _members(found)}
    for row in pair_rows(found, review):
        yield row | {f"{end}_{name}": about[row[end]][name] for end in ("first", "second") for name in _SOURCE}


_OF_SOURCES = [f"{end}_{name}" for end in ("first", "second") for name in _SOURCE if name != "id"]
_TABLES: dict[str, tuple[Iterable[str], Callable[[Concordances, Review], Iterable[Row]]]] = {
    "pairs": ([*PAIR_COLUMNS, *_OF_SOURCES], _wide_pair_rows),
    "groups": (MEMBER_COLUMNS, member_rows),
    "records": (RECORD_COLUMNS, record_rows),
}


def _write_table(what: str, found: Concordances, review: Review, file: IO[str]) -> None:
    columns, rows = _TABLES[what]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in rows(found, review):
        writer.writerow([_cell(row[name]) for name in columns])


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return tame(value)


def _members(found: Concordances) -> list[int]:
    return sorted({*found.pairs.first.tolist(), *found.pairs.second.tolist()})


def _write_graphml(found: Concordances, review: Review, file: IO[str]) -> None:
    edges = {name: kind for name, kind in PAIR_COLUMNS.items() if name not in ("first", "second")}
    file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    file.write('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
    for letter, what, columns in (("n", "node", MEMBER_COLUMNS), ("e", "edge", edges)):
        for name, kind in columns.items():
            named = f'id="{letter}_{name}" for="{what}" attr.name="{name}" attr.type="{_TYPES[kind]}"'
            file.write(f"  <key {named}/>\n")
    file.write('  <graph id="concordances" edgedefault="undirected">\n')
    nodes: dict[str, str] = {}
    grouped = {member for group in found.groups for member in group.members.tolist()}
    alone = (asdict(found.source(member)) for member in _members(found) if member not in grouped)
    for row in (*member_rows(found, review), *(dict.fromkeys(MEMBER_COLUMNS, "") | source for source in alone)):
        nodes[row["id"]] = f"m{len(nodes)}"  # ids of melodies may have spaces, those of nodes may not
        file.write(f'    <node id="{nodes[row["id"]]}">{_data("n", row, MEMBER_COLUMNS)}</node>\n')
    for row in pair_rows(found, review):
        ends = f'source="{nodes[row["first"]]}" target="{nodes[row["second"]]}"'
        file.write(f"    <edge {ends}>{_data('e', row, edges)}</edge>\n")
    file.write("  </graph>\n</graphml>\n")


def _data(letter: str, row: Row, columns: Mapping[str, type]) -> str:
    """The attributes of a node or an edge, without the empty ones."""
    values = {name: row[name] for name in columns if row[name] != ""}
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in values.items()}
    return "".join(
        f"<data key={quoteattr(f'{letter}_{name}')}>{escape(for_xml(text))}</data>" for name, text in texts.items()
    )


# -- a truth ----------------------------------------------------------------------------------------------------------


def reviewed_truth(review: Review) -> tuple[list[tuple[str, str, int]], dict[str, int]]:
    """Decisions as judgements: (query, document, group), both melodies of a pair being the query once.

    Group 1 is accepted, group 0 rejected. Then, by reason, how many pairs judge nothing: undecided, disputed, or
    decided about earlier notes.
    """
    groups = {"accept": 1, "reject": 0}
    rows: list[tuple[str, str, int]] = []
    left_out: Counter[str] = Counter()
    for first, second in review.pairs():
        state = review.state(first, second)
        if state.is_earlier_version:
            left_out["decided about an earlier version of the notes"] += 1
        elif state.verdict not in groups:
            left_out[state.verdict] += 1
        else:
            group = groups[state.verdict]
            rows += [(first, second, group), (second, first, group)]
    rows.sort(key=lambda row: (row[0], -row[2], row[1]))
    return rows, dict(left_out)


def _write_truth(found: Concordances, review: Review, file: IO[str]) -> dict[str, int]:
    name = found.store.path.name.removesuffix(".roslin")
    rows, left_out = reviewed_truth(review)
    for query, document, group in rows:
        file.write("\t".join(map(to_word, (name, query, document, str(group)))) + "\n")
    return left_out


EXPORTS: dict[str, Callable[[Concordances, Review, IO[str]], dict[str, int] | None]] = {
    **{what: partial(_write_table, what) for what in _TABLES},
    "graphml": _write_graphml,
    "truth": _write_truth,
}


def export(
    what: str, found: Concordances, review: Review, path: str | Path, *, for_excel: bool = False
) -> dict[str, int]:
    """Write one of `EXPORTS` to a file, whole or not at all. How many pairs were left out, by reason.

    `for_excel`: a byte order mark first, by which Excel knows the encoding of a table.
    """
    if what not in EXPORTS:
        raise UnknownNameError("export", what, list(EXPORTS))
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    encoding = "utf-8-sig" if for_excel else "utf-8"
    with replacing(path) as unfinished, unfinished.open("w", encoding=encoding, newline="") as file:
        left_out = EXPORTS[what](found, review, file)
    return left_out or {}
