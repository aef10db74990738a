"""Accepted pairs as MARC 21: a field 787 in each of two records that names the other, as a patch file for each record.

    787 08 $i Concordant source
           $n PL-SA 318/A VII 78. Incipit 1.1.1 here, 1.2.1 there: distance 0.031, a probability of 99.7 %. Accepted by
              M. Weiss, 2026-11-16: same bass, too.
           $w 1001039395
           $4 rdau:P60191

A patch holds the control number and the new fields, nothing else. `$w` is the bare number and `$4` the relation of a
concordant source, as in RISM's own records; first indicator 0: shown to readers; second 8: `$i` says what the link is,
so that no words are put before it. Two records are linked once, whichever of their incipits agree. Incipits of one
record are no concordance. Links to works (930, 931) are RISM's to make, and are never written.

Only what is accepted counts: not what is disputed, or was decided about earlier notes. Nothing is inferred: where A and
B, and B and C, are accepted, A is linked to C when that pair is accepted too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from roslin.collection.files import write_text
from roslin.concordances.concordance import Concordances, SourceRecord
from roslin.concordances.decisions import PairDecision
from roslin.concordances.review import Review
from roslin.display.text import counted, for_xml
from roslin.errors import ArgumentError, NotationError
from roslin.notation.marcxml import linked_records
from roslin.notation.sources import open_streams

CONCORDANT = "Concordant source"
RELATION = "rdau:P60191"  # "is equivalent", which Muscat shows as a concordant source
_TAG, _INDICATORS = "787", ("0", "8")
_NAMESPACE = "http://www.loc.gov/MARC21/slim"
_LEADER = "00000cdm a2200000 u 4500"  # of a corrected record; the schema asks for one
_SHOWN = 3  # pairs of incipits that a note tells of

Subfields = tuple[tuple[str, str], ...]


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
