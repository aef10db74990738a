"""Concordances and decisions for other programs: tables (CSV), a graph (GraphML), a truth file, and MARC 21.

    pairs     CSV, a row for each pair: its measurements, the decisions about it, both sources
    groups    CSV, a row for each member of each group, with what is known of the group and of the source
    graphml   the melodies as nodes and the pairs as edges, with the same attributes, typed
    truth     the decisions as a grouped qrel for `roslin evaluate`: group 1 accepted, group 0 rejected

Groups are numbered from 1 in the order of `Concordances.groups`. In CSV, a text that a spreadsheet would run as a
formula has a ' before it.

Accepted pairs also become MARC 21: a field 787 in each of two records that names the other, as a patch file for each
record.

    787 08 $i Concordant source
           $n PL-SA 318/A VII 78. Incipit 1.1.1 here, 1.2.1 there: distance 0.031, a probability of 99.7 %. Accepted by
              M. Weiss, 2026-11-16: same bass, too.
           $w 1001039395
           $4 rdau:P60191

A patch contains the control number and the new fields, nothing else. `$w` is the bare number and `$4` the relation of a
concordant source, as in RISM's own records; first indicator 0: shown to readers; second 8: `$i` names the kind of link,
so that no words are put before it. Two records are linked once, whichever of their incipits agree. Incipits of one
record are no concordance. Links to works (930, 931) are for RISM to make, and are never written.

Only accepted pairs count, and not those that are disputed, or were decided about earlier notes. Nothing is inferred:
where A and B, and B and C, are accepted, A is linked to C when that pair is accepted too.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from roslin.collection.files import write_text
from roslin.concordances.concordance import Concordances, SourceRecord
from roslin.concordances.groups import TuneGroup
from roslin.concordances.review import PairDecision, Review
from roslin.display.text import counted, for_xml
from roslin.errors import ArgumentError, NotationError, UnknownNameError
from roslin.notation.marcxml import linked_records
from roslin.notation.sources import open_streams
from roslin.rows import replacing, to_word

Row = dict[str, Any]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_TYPES = {bool: "boolean", int: "long", float: "double", str: "string"}  # of GraphML
CONCORDANT = "Concordant source"
RELATION = "rdau:P60191"  # "is equivalent", which Muscat shows as a concordant source
_TAG, _INDICATORS = "787", ("0", "8")
_NAMESPACE = "http://www.loc.gov/MARC21/slim"
_LEADER = "00000cdm a2200000 u 4500"  # of a corrected record; the schema asks for one
_SHOWN = 3  # pairs of incipits that a note tells of

Subfields = tuple[tuple[str, str], ...]
# What a row of each kind has, and as what; tables of nothing have these columns, too.
_SOURCE = tuple(field.name for field in fields(SourceRecord))
PAIR_COLUMNS: dict[str, type] = {
    "group": int,
    "first": str,
    "second": str,
    "distance": float,
    "expected": float,
    "probability": float,
    "is_copy": bool,
    "is_weak": bool,
    "verdict": str,
    "author": str,
    "time": str,
    "note": str,
    "is_earlier_version": bool,
}
MEMBER_COLUMNS: dict[str, type] = {
    "group": int,
    "kind": str,
    "melodies": int,
    "group_probability": float,
    "stability": float,
    "weak_links": int,
    "verdict": str,
} | dict.fromkeys(_SOURCE, str)


def pair_rows(found: Concordances, review: Review) -> Iterator[Row]:
    """A row for each pair, group by group; those that lead from one group to another come last, without a number.

    `is_weak`: the pair, alone or with its copies, holds two parts of its group together.
    """
    pairs, doubts, within = (
        found.pairs,
        found.doubts,
        {place for group in found.groups for place in group.pairs.tolist()},
    )
    outside = [place for place in range(len(pairs)) if place not in within]
    numbered = [(number, group.pairs.tolist(), group.weak_links) for number, group in enumerate(found.groups, start=1)]
    for number, places, links in [*numbered, ("", outside, ())]:
        weak = {place for link in links for place in (link.pair, *link.copies)}
        for place in places:
            first, second = _ids(found, place)
            state = review.state(first, second)
            latest = state.latest
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
                "author": latest.author if latest else "",
                "time": latest.time if latest else "",
                "note": latest.note if latest else "",
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
            "verdict": review.group_state(_pairs(found, group)).verdict,
        }
        for member in group.members.tolist():
            yield about | asdict(found.source(member))


def _ids(found: Concordances, place: int) -> tuple[str, str]:
    first, second = int(found.pairs.first[place]), int(found.pairs.second[place])
    return found.source(first).id, found.source(second).id


def _pairs(found: Concordances, group: TuneGroup) -> list[tuple[str, str]]:
    return [_ids(found, place) for place in group.pairs.tolist()]


# -- tables and a graph -----------------------------------------------------------------------------------------------


def _write_pairs(found: Concordances, review: Review, file: IO[str]) -> None:
    sources = [f"{end}_{name}" for end in ("first", "second") for name in _SOURCE if name != "id"]
    about = {found.source(number).id: asdict(found.source(number)) for number in _members(found)}

    def rows() -> Iterator[Row]:
        for row in pair_rows(found, review):
            ends = {f"{end}_{name}": about[row[end]][name] for end in ("first", "second") for name in _SOURCE}
            yield row | ends

    _write_csv(file, [*PAIR_COLUMNS, *sources], rows())


def _write_groups(found: Concordances, review: Review, file: IO[str]) -> None:
    _write_csv(file, list(MEMBER_COLUMNS), member_rows(found, review))


def _write_csv(file: IO[str], columns: list[str], rows: Iterable[Row]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in columns])


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _members(found: Concordances) -> list[int]:
    """All melodies that have a pair, whether in a group or not."""
    return sorted({*found.pairs.first.tolist(), *found.pairs.second.tolist()})


def _rows_of_no_group(found: Concordances) -> Iterator[Row]:
    """Melodies that pairs lead to from groups; they have no other."""
    grouped = {member for group in found.groups for member in group.members.tolist()}
    for member in _members(found):
        if member not in grouped:
            yield dict.fromkeys(MEMBER_COLUMNS, "") | asdict(found.source(member))


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
    for row in (*member_rows(found, review), *_rows_of_no_group(found)):
        nodes[row["id"]] = f"m{len(nodes)}"  # ids of melodies may have spaces, those of nodes may not
        file.write(f'    <node id="{nodes[row["id"]]}">{_data("n", row, MEMBER_COLUMNS)}</node>\n')
    for row in pair_rows(found, review):
        ends = f'source="{nodes[row["first"]]}" target="{nodes[row["second"]]}"'
        file.write(f"    <edge {ends}>{_data('e', row, edges)}</edge>\n")
    file.write("  </graph>\n</graphml>\n")


def _data(letter: str, row: Row, columns: Mapping[str, type]) -> str:
    """The attributes of a node or an edge; one that is empty is left out."""
    return "".join(
        f"<data key={quoteattr(f'{letter}_{name}')}>{escape(for_xml(_graph_value(row[name])))}</data>"
        for name in columns
        if row[name] != ""
    )


def _graph_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# -- a truth ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReviewedTruth:
    """Decisions as judgements: (query, document, group), both melodies of a pair being the query once.

    Group 1 is accepted, group 0 rejected. `left_out` counts the pairs that judge nothing, by reason.
    """

    rows: tuple[tuple[str, str, int], ...]
    left_out: dict[str, int]


def reviewed_truth(review: Review) -> ReviewedTruth:
    """What is accepted and rejected; not what is undecided, disputed, or was decided about earlier notes."""
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
    return ReviewedTruth(tuple(rows), dict(left_out))


def _write_truth(found: Concordances, review: Review, file: IO[str]) -> dict[str, int]:
    name = found.store.path.name.removesuffix(".roslin")
    truth = reviewed_truth(review)
    for query, document, group in truth.rows:
        file.write("\t".join(map(to_word, (name, query, document, str(group)))) + "\n")
    return truth.left_out


EXPORTS: dict[str, Callable[[Concordances, Review, IO[str]], dict[str, int] | None]] = {
    "pairs": _write_pairs,
    "groups": _write_groups,
    "graphml": _write_graphml,
    "truth": _write_truth,
}


def export(what: str, found: Concordances, review: Review, path: str | Path) -> dict[str, int]:
    """Write one of `EXPORTS` to a file, whole or not at all. How many pairs were left out, by reason."""
    if what not in EXPORTS:
        raise UnknownNameError("export", what, list(EXPORTS))
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        left_out = EXPORTS[what](found, review, file)
    return left_out or {}


# -- MARC 21 ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecordPatch:
    """What is new for one record: its control number, and the subfields of each new field 787."""

    record: str
    fields: tuple[Subfields, ...]

    def to_xml(self) -> str:
        """The patch as a MARCXML document."""
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<collection xmlns="{_NAMESPACE}">',
            "<record>",
            f"  <leader>{_LEADER}</leader>",
            f'  <controlfield tag="001">{escape(self.record)}</controlfield>',
        ]
        for subfields in self.fields:
            lines.append(f'  <datafield tag="{_TAG}" ind1="{_INDICATORS[0]}" ind2="{_INDICATORS[1]}">')
            lines += [f"    <subfield code={quoteattr(code)}>{escape(text)}</subfield>" for code, text in subfields]
            lines.append("  </datafield>")
        return "\n".join([*lines, "</record>", "</collection>", ""])


@dataclass(frozen=True, slots=True)
class MarcPatches:
    """The patches, by record, and what was left out for which reason."""

    patches: tuple[RecordPatch, ...]
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def fields(self) -> int:
        """How many fields there are in all of them."""
        return sum(len(each.fields) for each in self.patches)


@dataclass(frozen=True, slots=True)
class _Agreement:
    """Two incipits that people accepted as one tune; no distance where the pair was not found at this level."""

    here: SourceRecord
    there: SourceRecord
    measured: tuple[float, str] | None  # its doubt, and how sure that is in words
    decisions: tuple[PairDecision, ...]

    @property
    def order(self) -> tuple[bool, float, str, str]:
        """The surest first."""
        return self.measured is None, self.measured[0] if self.measured else 0.0, self.here.id, self.there.id

    def turned(self) -> _Agreement:
        return _Agreement(self.there, self.here, self.measured, self.decisions)


def existing_links(paths: Iterable[str | Path]) -> dict[str, set[str]]:
    """The records of MARCXML files, by number, and the numbers that each links to in field 787 already."""
    found: dict[str, set[str]] = {}
    for path in paths:
        for stream in open_streams(Path(path)):
            try:
                with stream.open() as opened:
                    for record, links in linked_records(opened):
                        found.setdefault(_plain(record), set()).update(map(_plain, links))
            except NotationError as error:
                raise NotationError(error.problem.at(file=stream.name)) from None
    return found


def patches_of(found: Concordances, review: Review, existing: Mapping[str, set[str]] | None = None) -> MarcPatches:
    """A patch for each record that an accepted pair links to another.

    `existing` (from `existing_links`): records that are linked already are not linked again, and records that are not
    among them are left out.
    """
    left_out: dict[str, int] = defaultdict(int)
    by_records: dict[tuple[str, str], list[_Agreement]] = defaultdict(list)
    for agreement in _accepted(found, review, left_out):
        for each in (agreement, agreement.turned()):
            by_records[each.here.record, each.there.record].append(each)
    fields: dict[str, list[Subfields]] = defaultdict(list)
    for (here, there), agreements in sorted(by_records.items()):
        if existing is not None and _plain(here) not in existing:
            left_out["a record that is not in the files given"] += 1
        elif existing is not None and _plain(there) in existing[_plain(here)]:
            left_out["a link that the record has already"] += 1
        else:
            fields[here].append(_field(there, agreements))
    patches = tuple(RecordPatch(for_xml(record), tuple(each)) for record, each in fields.items())
    return MarcPatches(patches, dict(left_out))


def _accepted(found: Concordances, review: Review, left_out: dict[str, int]) -> list[_Agreement]:
    agreements = []
    for pair in review.pairs():
        state = review.state(*pair)
        if state.verdict == "disputed":
            left_out["a pair that is disputed"] += 1
        if state.verdict != "accept":
            continue
        if state.is_earlier_version:
            left_out["a decision about an earlier version of the notes"] += 1
        elif not all(id in found.store for id in pair):
            left_out["a melody that is not in the collection"] += 1
        else:
            first, second = (SourceRecord.of(found.store[id]) for id in pair)
            if first.record == second.record:
                left_out["two incipits of one record"] += 1
            else:
                accepting = tuple(each for each in state.decisions if each.verdict == "accept")
                agreements.append(_Agreement(first, second, _measured(found, pair), accepting))
    return agreements


def _measured(found: Concordances, pair: tuple[str, str]) -> tuple[float, str] | None:
    """How near the two of a pair are that was found at this level, and what that means."""
    first, second = np.sort(found.store.numbers(pair)).tolist()
    pairs = found.pairs
    begin, end = (int(np.searchsorted(pairs.first, first, side)) for side in ("left", "right"))
    place = begin + int(np.searchsorted(pairs.second[begin:end], second))
    if place == end or pairs.second[place] != second:
        return None
    distance, doubt = float(pairs.distances[place]), float(found.doubts[place])
    sure = f" by {pairs.matcher}" if pairs.matcher else f", {found.certainty.words(doubt)}"
    return doubt, f"distance {distance:.3f}{sure}"


def _field(there: str, agreements: list[_Agreement]) -> Subfields:
    texts = (
        ("i", CONCORDANT),
        ("n", _note(sorted(agreements, key=lambda each: each.order))),
        ("w", there),
        ("4", RELATION),
    )
    return tuple((code, for_xml(text)) for code, text in texts)


def _note(agreements: list[_Agreement]) -> str:
    there = agreements[0].there
    parts = [f"{there.library} {there.shelfmark}".strip()]
    parts += [_evidence(each) for each in agreements[:_SHOWN]]
    if len(agreements) > _SHOWN:
        parts.append(f"And {counted(len(agreements) - _SHOWN, 'more pair')} of incipits")
    said: dict[str, None] = {}
    for decision in (decision for each in agreements for decision in each.decisions):
        note = " ".join(decision.note.split()).rstrip(".")
        said[f"Accepted by {decision.author}, {decision.time[:10]}" + (f": {note}" if note else "")] = None
    return ". ".join([*filter(None, parts), *said]) + "."


def _evidence(each: _Agreement) -> str:
    named = f"Incipit {_incipit(each.here)} here, {_incipit(each.there)} there"
    if each.measured is None:
        return named
    return f"{named}: {each.measured[1]}"


def _incipit(source: SourceRecord) -> str:
    """The numbers of work, movement and incipit."""
    return source.id.removeprefix(source.record).removeprefix("-") or source.id


def _plain(number: str) -> str:
    """A record number without the code of its agency and leading zeros, to compare two spellings of it."""
    return re.sub(r"^\s*\([^)]*\)", "", number).strip().lstrip("0")


def write_patches(patches: MarcPatches, folder: str | Path) -> list[Path]:
    """Write `RECORD.xml` for each patch into a new folder; each is there whole or not at all."""
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ArgumentError(f"{folder}: patches need a folder of their own; expected a new or empty one")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for patch in patches.patches:
        written.append(folder / f"{quote(patch.record, safe=' ')}.xml")
        write_text(written[-1], patch.to_xml())
    return written
