"""A group of concordances as people read it: what it tells, how sure that is, and its melodies line by line.

Melodies that are the same note for note, in whatever key, are one line with several sources. The first line is the
melody that most others are near to; all others are compared with it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice, product
from string import ascii_uppercase

import numpy as np

from roslin.concordances.certainty import Certainty
from roslin.concordances.concordance import KIND_WORDS, Concordances, GroupKind, SourceRecord
from roslin.concordances.groups import TuneGroup
from roslin.display.text import counted
from roslin.melody import Melody
from roslin.report.player import playing
from roslin.report.synopsis import Glyphs, synopsis
from roslin.report.variants import Variant, compared

__all__ = ["DrawnLine", "GroupLine", "GroupSummary", "RelatedGroup", "drawn_lines", "group_lines", "summaries"]

UNNAMED = "no composer named"
_NAMES = 8


@dataclass(frozen=True, slots=True)
class RelatedGroup:
    """A group that pairs lead to, though too few to be one with it; or a melody that is in none (number 0).

    `words`: the surest of these pairs, and how sure it is.
    """

    number: int
    name: str
    heading: str
    pairs: int
    words: str


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """What a group tells. `name` is the id of its first melody: it stays when other groups come and go."""

    number: int
    group: TuneGroup
    name: str
    kind: GroupKind
    composers: tuple[tuple[str, int], ...]  # with the number of sources, most first; those without a name last
    libraries: tuple[str, ...]
    titles: tuple[str, ...]
    records: int
    weak_links: tuple[str, ...]
    rated: Certainty
    related: tuple[RelatedGroup, ...] = ()

    @property
    def heading(self) -> str:
        """Composers, and the title that most sources have."""
        names = [name for name, _ in self.composers if name != UNNAMED]
        people = " · ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        title = next(iter(self.titles), "")
        return ": ".join(filter(None, (people, title))) or self.name

    @property
    def kind_words(self) -> str:
        """What a cataloguer may learn from it."""
        if self.kind == "same" and self.records == 1:
            return "One record"
        if self.kind == "same":
            return "One library" if self.libraries else "Different records"
        return KIND_WORDS[self.kind]

    @property
    def composer_words(self) -> str:
        """Who is named, in how many sources; of many, those with most."""
        said = [f"{name} in {counted(number, 'source')}" for name, number in self.composers[:_NAMES]]
        if len(self.composers) > _NAMES:
            said.append(f"{len(self.composers) - _NAMES} others")
        return "; ".join(said)

    @property
    def certainty(self) -> str:
        """How sure its weakest pair is: a word."""
        return self.rated.word(self.group.doubt)

    @property
    def certainty_words(self) -> str:
        """The same as a sentence."""
        which = "The weakest of its pairs" if len(self.group.pairs) > 1 else "The pair"
        rated = f" is rated “{self.certainty}”" if not self.rated.matcher else ""
        return f"{which}{rated}: {self.rated.words(self.group.doubt)}."

    @property
    def stability_words(self) -> str:
        """What remains of it when the level is stricter."""
        share = self.group.stability
        if len(self.group.members) == 2:
            kept = "it would still be found" if share == 1 else "it would not be found"
            return f"At {self.rated.stricter_words} {kept}."
        if share == 1:
            return f"Stable: it stays whole at {self.rated.stricter_words}."
        return (
            f"Not stable: at {self.rated.stricter_words} only {share:.0%} of its melodies, two by two, stay together."
        )


def summaries(concordances: Concordances) -> list[GroupSummary]:
    """Every group, in the order of the concordances, numbered from 1."""
    alone = [_summary(concordances, number, group) for number, group in enumerate(concordances.groups, start=1)]
    group_of = {member: each for each in alone for member in each.group.members.tolist()}
    return [replace(each, related=tuple(_related(concordances, each.group, group_of))) for each in alone]


def _related(concordances: Concordances, group: TuneGroup, group_of: dict[int, GroupSummary]) -> Iterator[RelatedGroup]:
    """What pairs lead to, the surest first."""
    pairs, members = concordances.pairs, set(group.members.tolist())
    leading: dict[str, tuple[int, str, list[int]]] = {}
    for place in group.outside[np.argsort(pairs.doubts[group.outside], kind="stable")].tolist():
        ends = int(pairs.first[place]), int(pairs.second[place])
        other = ends[0] if ends[1] in members else ends[1]
        if other in group_of:
            there = group_of[other]
            led = leading.setdefault(there.name, (there.number, there.heading, []))
        else:
            source = concordances.source(other)
            said = ("" if source.is_anonymous else source.composer, source.title)
            led = leading.setdefault(source.id, (0, ": ".join(filter(None, said)), []))
        led[2].append(place)
    for name, (number, heading, places) in leading.items():
        one, two = (concordances.source(int(ends[places[0]])).id for ends in (pairs.first, pairs.second))
        words = f"{one} and {two}: {concordances.certainty.words(float(pairs.doubts[places[0]]))}"
        yield RelatedGroup(number, name, heading, len(places), words)


def _summary(concordances: Concordances, number: int, group: TuneGroup) -> GroupSummary:
    sources = [concordances.source(member) for member in group.members.tolist()]
    named = Counter(source.composer for source in sources if not source.is_anonymous)
    unnamed = sum(source.is_anonymous for source in sources)
    titles = Counter(source.title for source in sources if source.title)
    return GroupSummary(
        number,
        group,
        sources[0].id,
        concordances.kind(group),
        (*named.most_common(), *([(UNNAMED, unnamed)] if unnamed else [])),
        tuple(sorted({source.library for source in sources} - {""})),
        tuple(title for title, _ in titles.most_common()),
        len({source.record for source in sources}),
        tuple(_weak_links(concordances, group)),
        concordances.certainty,
    )


def _weak_links(concordances: Concordances, group: TuneGroup) -> list[str]:
    """What would fall apart, the largest parts first; a group of two has nothing but its pair."""
    pairs, said = concordances.pairs, []
    for link in () if len(group.members) == 2 else sorted(group.weak_links, key=lambda link: -min(link.sides)):
        one, two = (concordances.source(int(ends[link.pair])).id for ends in (pairs.first, pairs.second))
        smaller, larger = sorted(link.sides)
        said.append(
            f"{one} and {two} alone hold {counted(smaller, 'melody', 'melodies')} and {larger} others together: "
            f"{concordances.certainty.words(float(pairs.doubts[link.pair]))}."
        )
    return said


# -- line by line ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GroupLine:
    """A melody, and every source of the group that has it note for note."""

    letter: str
    melody: Melody
    sources: tuple[SourceRecord, ...]

    @property
    def names(self) -> str:
        """Who its sources name, with the number of sources where it is more than one."""
        people = Counter("Anonymous" if source.is_anonymous else source.composer for source in self.sources)
        said = [f"{name} ({number})" if number > 1 else name for name, number in people.most_common(3)]
        return " · ".join(said) + (f" and {len(people) - 3} more" if len(people) > 3 else "")


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """A line to see and to hear. `variant`: against the first line; None for that one itself."""

    line: GroupLine
    variant: Variant | None
    drawing: str
    reason: str  # why there is no notation; usually empty
    notes: list[list[float]]


def group_lines(concordances: Concordances, group: TuneGroup) -> list[GroupLine]:
    """The melodies of a group, the one that most others are near to first, then the nearest to that."""
    members = group.members.tolist()
    melodies = dict(zip(members, concordances.store.melodies(group.members), strict=True))
    same: dict[bytes, list[int]] = {}
    for number in _by_nearness(concordances, group):
        same.setdefault(_sounding(melodies[number]), []).append(number)
    return [
        GroupLine(letter, melodies[numbers[0]], tuple(concordances.source(number) for number in numbers))
        for letter, numbers in zip(_letters(), same.values(), strict=False)
    ]


def drawn_lines(lines: Sequence[GroupLine], prefix: str, glyphs: Glyphs) -> list[DrawnLine]:
    """Lines one under the other; `prefix` must be another for each group of a page."""
    first = lines[0].melody
    variants = [compared(first, line.melody) for line in lines[1:]]
    names = [f"Notation of {line.letter}" for line in lines]
    drawings = synopsis(first, variants, names, prefix, glyphs)
    return [
        DrawnLine(line, variant, drawing, reason, playing(line.melody))
        for line, variant, (drawing, reason) in zip(lines, [None, *variants], drawings, strict=True)
    ]


def _by_nearness(concordances: Concordances, group: TuneGroup) -> list[int]:
    pairs, members = concordances.pairs, group.members
    first, second = (np.searchsorted(members, ends[group.pairs]) for ends in (pairs.first, pairs.second))
    near = np.zeros(len(members))
    for ends in (first, second):
        np.add.at(near, ends, 1.0 - pairs.distances[group.pairs])
    middle = int(near.argmax())
    apart = np.full(len(members), np.inf)
    for ends, others in ((first, second), (second, first)):
        at = ends == middle
        apart[others[at]] = pairs.distances[group.pairs][at]
    apart[middle] = -1.0
    return [int(members[place]) for place in np.lexsort((-near, apart))]


def _sounding(melody: Melody) -> bytes:
    """What two melodies share that are the same note for note: steps, times, ornaments and metre, in any key."""
    notes = melody.notes
    key = hashlib.blake2b(digest_size=16)
    for name in ("pitch_midi", "onset_ticks"):
        column = notes[name].astype(np.int64)
        key.update((column - column[:1]).tobytes())
    lengths = np.where(notes["is_grace"], 0, notes["duration_ticks"])  # sources write grace notes in any length
    for part in (lengths, notes["is_grace"], notes["voice"]):
        key.update(part.astype(np.int64).tobytes())
    key.update((melody.metre or "").encode())
    return key.digest()


def _letters() -> islice[str]:
    """A to Z, then AA and so on.

    >>> list(_letters())[25:28]
    ['Z', 'AA', 'AB']
    """
    every = ("".join(letters) for size in count(1) for letters in product(ascii_uppercase, repeat=size))
    return islice(every, 500_000)
