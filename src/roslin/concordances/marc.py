"""Accepted concordances as MARC 21: a field 787 in each of two records that names the other.

    787 08 $i Concordant source
           $n PL-SA 318/A VII 78. Incipit 1.1.1 here, 1.2.1 there: distance 0.031, a probability of 99.7%. Accepted by
              M. Weiss, 2026-11-16: same bass, too.
           $w 1001039395
           $4 rdau:P60191

A patch contains the control number and the new fields, nothing else. `$w` is the bare number and `$4` the relation of a
concordant source, as in RISM's own records; first indicator 0: shown to readers; second 8: `$i` names the kind of link,
so that no words are put before it. Two records are linked once, whichever of their incipits agree. Incipits of one
record are no concordance. Links to works (930, 931) are for RISM to make, and are never written.

Only accepted pairs count, and not those that are disputed, or were decided about earlier notes. Nothing is inferred:
where A and B, and B and C, are accepted, A is linked to C when that pair is accepted too.

A note is made from a template (`NOTES`, or one of your own): parts with a | between them become sentences, and a part
with a field that is empty is left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from roslin.collection.files import write_text
from roslin.concordances.concordance import Concordances, SourceRecord
from roslin.concordances.review import PairDecision, Review
from roslin.display.text import for_xml
from roslin.display.words import N_, _, capital, ngettext, number
from roslin.errors import ArgumentError, NotationError, UnknownNameError
from roslin.notation.marcxml import linked_records
from roslin.notation.sources import open_streams

CONCORDANT = N_("Concordant source")
RELATION = "rdau:P60191"  # "is equivalent", which Muscat shows as a concordant source
NOTES = {"short": "{source}|{incipits}|{certainty}|{accepted}", "full": "{source}|{evidence}|{decisions}"}
FIELDS = (
    "source", "library", "shelfmark", "record", "composer", "title", "incipits", "evidence", "certainty", "accepted",
    "decisions",
)  # fmt: skip
_TAG, _INDICATORS = "787", ("0", "8")
_NAMESPACE = "http://www.loc.gov/MARC21/slim"
_LEADER = "00000cdm a2200000 u 4500"  # of a corrected record; the schema asks for one
_INCIPITS_NAMED = 3

Subfields = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RecordPatch:
    """The additions to one record: its control number and the subfields of each new field 787."""

    record: str
    fields: tuple[Subfields, ...]

    def lines(self) -> list[str]:
        lines = [
            "<record>",
            f"  <leader>{_LEADER}</leader>",
            f'  <controlfield tag="001">{escape(self.record)}</controlfield>',
        ]
        for subfields in self.fields:
            lines.append(f'  <datafield tag="{_TAG}" ind1="{_INDICATORS[0]}" ind2="{_INDICATORS[1]}">')
            lines += [f"    <subfield code={quoteattr(code)}>{escape(text)}</subfield>" for code, text in subfields]
            lines.append("  </datafield>")
        return [*lines, "</record>"]


@dataclass(frozen=True, slots=True)
class MarcPatches:
    """The patches, by record, and what was left out for which reason."""

    patches: tuple[RecordPatch, ...]
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def fields(self) -> int:
        return sum(len(each.fields) for each in self.patches)


@dataclass(frozen=True, slots=True)
class _Agreement:
    """Two incipits that people accepted as one tune. No distance where the pair was not found at this level."""

    here: SourceRecord
    there: SourceRecord
    measured: tuple[float, str, str] | None  # its doubt, what was measured, and how sure that is, in words
    decisions: tuple[PairDecision, ...]

    @property
    def order(self) -> tuple[bool, float, str, str]:
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


def patches_of(
    found: Concordances, review: Review, existing: Mapping[str, set[str]] | None = None, note: str = "short"
) -> MarcPatches:
    """A patch for each record that an accepted pair links to another.

    `existing` (from `existing_links`): records that are linked already are not linked again, and records that are not
    among them are left out. `note` is a name in `NOTES`, or a template with fields of `FIELDS`.
    """
    template = _checked(NOTES.get(note, note))
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
            fields[here].append(_field(there, agreements, template))
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


def _measured(found: Concordances, pair: tuple[str, str]) -> tuple[float, str, str] | None:
    """How near the two of a pair are that was found at this level, and what that means."""
    first, second = np.sort(found.store.numbers(pair)).tolist()
    pairs = found.pairs
    places = np.flatnonzero((pairs.first == first) & (pairs.second == second))
    if not len(places):
        return None
    place = int(places[0])
    doubt, words = float(found.doubts[place]), found.certainty.words(float(found.doubts[place]))
    distance = number(float(pairs.distances[place]), 3)
    if pairs.matcher:
        told = _("distance {number} by {matcher}").format(number=distance, matcher=pairs.matcher)
    else:
        told = _("distance {number}").format(number=distance) + f", {words}"
    return doubt, told, words


def _checked(template: str) -> str:
    try:
        named = [name for _text, name, _form, _conversion in Formatter().parse(template) if name is not None]
    except ValueError as error:
        raise ArgumentError(f"--note {template!r}: {error}") from error
    for name in named:
        if name not in FIELDS:
            raise UnknownNameError("field of a note", name, FIELDS)
    if not named:
        raise ArgumentError(
            f"--note must be {', '.join(NOTES)}, or a text with fields such as {{source}}; got {template!r}"
        )
    return template


def _field(there: str, agreements: list[_Agreement], template: str) -> Subfields:
    note = _note(sorted(agreements, key=lambda each: each.order), template)
    texts = ("i", _(CONCORDANT)), ("n", note), ("w", there), ("4", RELATION)
    return tuple((code, for_xml(text)) for code, text in texts)


def _note(agreements: list[_Agreement], template: str) -> str:
    there, surest = agreements[0].there, agreements[0].measured
    decisions = [decision for each in agreements for decision in each.decisions]
    texts = {
        "source": f"{there.library} {there.shelfmark}".strip(),
        "library": there.library,
        "shelfmark": there.shelfmark,
        "record": there.record,
        "composer": there.composer,
        "title": there.title,
        "incipits": _incipits(agreements),
        "evidence": _evidence(agreements),
        "certainty": capital(surest[2]) if surest else "",
        "accepted": ". ".join(dict.fromkeys(map(_accepted_by, decisions))),
        "decisions": ". ".join(dict.fromkeys(map(_with_comment, decisions))),
    }
    parts = [
        part.format_map(texts).strip()
        for part in template.split("|")
        if all(texts[name] for _text, name, _form, _conversion in Formatter().parse(part) if name)
    ]
    return ". ".join(part.removesuffix(".") for part in parts if part) + "."


def _accepted_by(decision: PairDecision) -> str:
    return _("Accepted by {name}, {date}").format(name=decision.author, date=decision.time[:10])


def _with_comment(decision: PairDecision) -> str:
    comment = " ".join(decision.note.split()).rstrip(".")
    return _accepted_by(decision) + (f": {comment}" if comment else "")


def _incipits(agreements: list[_Agreement]) -> str:
    pairs = [f"{_incipit(each.here)} = {_incipit(each.there)}" for each in agreements[:_INCIPITS_NAMED]]
    more = len(agreements) - len(pairs)
    return _("Incipit {pairs}").format(pairs="; ".join([*pairs, *[f"+ {more}"] * (more > 0)]))


def _evidence(agreements: list[_Agreement]) -> str:
    told = []
    for each in agreements[:_INCIPITS_NAMED]:
        named = _("Incipit {here} here, {there} there").format(here=_incipit(each.here), there=_incipit(each.there))
        told.append(f"{named}: {each.measured[1]}" if each.measured else named)
    if more := len(agreements) - len(told):
        told.append(
            ngettext("And 1 more pair of incipits", "And {count} more pairs of incipits", more).format(count=more)
        )
    return ". ".join(told)


def _incipit(source: SourceRecord) -> str:
    return source.id.removeprefix(source.record).removeprefix("-") or source.id


def _plain(number: str) -> str:
    """A record number without the code of its agency and leading zeros, to compare two spellings of it."""
    return re.sub(r"^\s*\([^)]*\)", "", number).strip().lstrip("0")


def _document(patches: Iterable[RecordPatch]) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<collection xmlns="{_NAMESPACE}">']
    return "\n".join([*lines, *(line for patch in patches for line in patch.lines()), "</collection>", ""])


def write_collection(patches: MarcPatches, path: str | Path) -> None:
    """Write all patches to one file, whole or not at all."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_text(Path(path), _document(patches.patches))


def write_patches(patches: MarcPatches, folder: str | Path) -> list[Path]:
    """Write `RECORD.xml` for each patch into a new folder. Each is there whole or not at all."""
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ArgumentError(f"{folder}: patches need a new or empty folder")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for patch in patches.patches:
        written.append(folder / f"{quote(patch.record, safe=' ')}.xml")
        write_text(written[-1], _document([patch]))
    return written
