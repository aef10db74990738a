"""A group of concordances in words: composers, titles, certainty, and its melodies line by line.

Melodies that are the same note for note, in whatever key, are one line with several sources. The first line is the
melody that is closest to most others. All others are compared with it.
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
from roslin.display.words import N_, _, ngettext, number
from roslin.melody import Melody
from roslin.report.player import playing
from roslin.report.synopsis import Glyphs, synopsis
from roslin.report.variants import Variant, compared

UNNAMED = N_("no composer named")
_NAMES = 8


@dataclass(frozen=True, slots=True)
class RelatedGroup:
    """A group that pairs lead to, though too few to be one with it; or a melody that is in none.

    `surest` are the ids of the surest of these pairs, and `doubt` is what speaks against it.
    """

    name: str
    group: GroupSummary | None
    source: SourceRecord
    pairs: int
    surest: tuple[str, str]
    doubt: float
    rated: Certainty

    @property
    def number(self) -> int:
        return self.group.number if self.group else 0

    @property
    def heading(self) -> str:
        if self.group:
            return self.group.heading
        composer = "" if self.source.is_anonymous else self.source.composer
        return ": ".join(filter(None, (composer, self.source.title)))

    @property
    def words(self) -> str:
        one, two = self.surest
        return _("{one} and {two}: {certainty}").format(one=one, two=two, certainty=self.rated.words(self.doubt))


@dataclass(frozen=True, slots=True)
class HoldingPair:
    """The one pair that holds two parts of a group together: ids, the sizes of the parts, what speaks against it."""

    one: str
    two: str
    smaller: int
    larger: int
    doubt: float

    def words(self, rated: Certainty) -> str:
        return ngettext(
            "Only the resemblance of {one} and {two} links {count} melody with {others} others: {certainty}.",
            "Only the resemblance of {one} and {two} links {count} melodies with {others} others: {certainty}.",
            self.smaller,
        ).format(
            one=self.one,
            two=self.two,
            count=number(self.smaller),
            others=number(self.larger),
            certainty=rated.words(self.doubt),
        )


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """The words for a group. `name` is the id of its first melody: it stays when other groups come and go."""

    number: int
    group: TuneGroup
    name: str
    kind: GroupKind
    composers: tuple[tuple[str, int], ...]  # with the number of sources, most first; those without a name last
    libraries: tuple[str, ...]
    titles: tuple[str, ...]
    records: int
    holding: tuple[HoldingPair, ...]
    rated: Certainty
    related: tuple[RelatedGroup, ...] = ()

    @property
    def heading(self) -> str:
        names = [name for name, _sources in self.composers if name != UNNAMED]
        people = " · ".join(names[:3])
        if len(names) > 3:
            people += " " + _("and {count} more").format(count=len(names) - 3)
        title = next(iter(self.titles), "")
        return ": ".join(filter(None, (people, title))) or self.name

    @property
    def kind_words(self) -> str:
        if self.kind == "same" and self.records == 1:
            return _("One record")
        if self.kind == "same":
            return _("One library") if self.libraries else _("Different records")
        return _(KIND_WORDS[self.kind])

    @property
    def composer_names(self) -> tuple[str, ...]:
        return tuple(_(name) if name == UNNAMED else name for name, _sources in self.composers)

    @property
    def composer_words(self) -> str:
        said = [
            ngettext("{name} in {count} source", "{name} in {count} sources", sources).format(
                name=name, count=number(sources)
            )
            for name, (_name, sources) in zip(self.composer_names, self.composers[:_NAMES], strict=False)
        ]
        if len(self.composers) > _NAMES:
            said.append(_("{count} others").format(count=len(self.composers) - _NAMES))
        return "; ".join(said)

    @property
    def certainty(self) -> str:
        return self.rated.word(self.group.doubt)

    @property
    def certainty_words(self) -> str:
        which = _("The weakest of its pairs") if len(self.group.pairs) > 1 else _("The pair")
        said = _("{pair}: {certainty}.") if self.rated.matcher else _("{pair} is rated “{word}”: {certainty}.")
        return said.format(pair=which, word=self.certainty, certainty=self.rated.words(self.group.doubt))

    @property
    def weak_links(self) -> tuple[str, ...]:
        return tuple(pair.words(self.rated) for pair in self.holding)

    @property
    def stability_words(self) -> str:
        share = self.group.stability
        if len(self.group.members) == 2:
            said = _("At {level} it would still be found.") if share == 1 else _("At {level} it would not be found.")
        elif share == 1:
            said = _("Stable: it stays whole at {level}.")
        else:
            said = _("Not stable: at {level} only {share}% of its pairs of melodies stay together.")
        return said.format(level=self.rated.stricter_words, share=number(100 * share))


def summaries(concordances: Concordances) -> list[GroupSummary]:
    """Every group, in the order of the concordances, numbered from 1."""
    alone = [_summary(concordances, number, group) for number, group in enumerate(concordances.groups, start=1)]
    group_of = {member: each for each in alone for member in each.group.members.tolist()}
    return [replace(each, related=tuple(_related(concordances, each.group, group_of))) for each in alone]


def _related(concordances: Concordances, group: TuneGroup, group_of: dict[int, GroupSummary]) -> Iterator[RelatedGroup]:
    pairs, members = concordances.pairs, set(group.members.tolist())
    leading: dict[str, tuple[GroupSummary | None, SourceRecord, list[int]]] = {}
    for place in group.outside[np.argsort(concordances.doubts[group.outside], kind="stable")].tolist():
        ends = int(pairs.first[place]), int(pairs.second[place])
        other = ends[0] if ends[1] in members else ends[1]
        there, source = group_of.get(other), concordances.source(other)
        leading.setdefault(there.name if there else source.id, (there, source, []))[2].append(place)
    for name, (there, source, places) in leading.items():
        surest = places[0]
        one, two = (concordances.source(int(ends[surest])).id for ends in (pairs.first, pairs.second))
        doubt = float(concordances.doubts[surest])
        yield RelatedGroup(name, there, source, len(places), (one, two), doubt, concordances.certainty)


def _summary(concordances: Concordances, place: int, group: TuneGroup) -> GroupSummary:
    sources = [concordances.source(member) for member in group.members.tolist()]
    named = Counter(source.composer for source in sources if not source.is_anonymous)
    unnamed = sum(source.is_anonymous for source in sources)
    titles = Counter(source.title for source in sources if source.title)
    return GroupSummary(
        place,
        group,
        sources[0].id,
        concordances.kind(group),
        (*named.most_common(), *([(UNNAMED, unnamed)] if unnamed else [])),
        tuple(sorted({source.library for source in sources} - {""})),
        tuple(title for title, _sources in titles.most_common()),
        len({source.record for source in sources}),
        tuple(_holding(concordances, group)),
        concordances.certainty,
    )


def _holding(concordances: Concordances, group: TuneGroup) -> Iterator[HoldingPair]:
    pairs = concordances.pairs
    for link in () if len(group.members) == 2 else sorted(group.weak_links, key=lambda link: -min(link.sides)):
        one, two = (concordances.source(int(ends[link.pair])).id for ends in (pairs.first, pairs.second))
        smaller, larger = sorted(link.sides)
        yield HoldingPair(one, two, smaller, larger, float(concordances.doubts[link.pair]))


# -- line by line ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GroupLine:
    """A melody, and every source of the group that has it note for note."""

    letter: str
    melody: Melody
    sources: tuple[SourceRecord, ...]

    @property
    def names(self) -> str:
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
    """The melodies of a group: first the one closest to most others, then the closest to that."""
    members = group.members.tolist()
    melodies = dict(zip(members, concordances.store.melodies(group.members), strict=True))
    same: dict[bytes, list[int]] = {}
    for member in _by_nearness(concordances, group):
        same.setdefault(_sounding(melodies[member]), []).append(member)
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
    """A key that melodies share if they are the same note for note: steps, times, ornaments and metre, in any key."""
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
