"""Concordances as pages: each group with aligned notation, marked differences, and the data of the catalogue.

A few groups are one page. Many are a folder of pages with `GROUPS_ON_PAGE` groups each, and `index.html` with a line
for every group. Either works without a network, and without a script but for sound and filters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from roslin.collection.files import write_text
from roslin.concordances.concordance import KIND_WORDS, KINDS, Concordances, SourceRecord, surname
from roslin.concordances.pairs import MOST_COPIES
from roslin.display.words import N_, _, ngettext, number
from roslin.errors import ArgumentError
from roslin.matchers.roslin.roslin import Roslin
from roslin.report.document import document, versions
from roslin.report.synopsis import SIGNS, Glyphs
from roslin.report.tune_groups import (
    DrawnLine,
    GroupLine,
    GroupSummary,
    RelatedGroup,
    drawn_lines,
    group_lines,
    summaries,
)
from roslin.rows import write_whole
from roslin.types import Progress

GROUPS_ON_PAGE = 50
_FIELD = re.compile(r"\{(?:id|record)\}")
_LINES_IN_REPORT = 12
COLUMNS = (
    ("composer", N_("Composer")),
    ("title", N_("Title")),
    ("movement", N_("Movement")),
    ("key", N_("Key")),
    ("scoring", N_("Scoring")),
    ("text", N_("Text")),
    ("library", N_("Library")),
    ("shelfmark", N_("Shelfmark")),
    ("catalogue", N_("Catalogue no.")),
    ("work", N_("Work")),
)

Link = Callable[[SourceRecord], str]


@dataclass(frozen=True, slots=True)
class PageGroup:
    """A group with all that a page shows of it: lines that are drawn, and others that are only listed."""

    summary: GroupSummary
    drawn: tuple[DrawnLine, ...]
    others: tuple[GroupLine, ...]

    @property
    def lines(self) -> tuple[GroupLine, ...]:
        return (*(each.line for each in self.drawn), *self.others)

    @property
    def columns(self) -> list[tuple[str, str]]:
        """(field, heading) of the catalogue data that any of its sources has."""
        sources = [source for line in self.lines for source in line.sources]
        return [(name, words) for name, words in COLUMNS if any(getattr(source, name) for source in sources)]

    def differs(self, field: str) -> bool:
        """Whether sources disagree in a field that distinguishes attributions."""
        said = {getattr(source, field) for line in self.lines for source in line.sources}
        return field in ("composer", "catalogue", "work") and len(said - {""}) > 1


def page_group(
    concordances: Concordances, summary: GroupSummary, prefix: str, glyphs: Glyphs, most: int = _LINES_IN_REPORT
) -> PageGroup:
    """A group, drawn: its first `most` lines."""
    lines = group_lines(concordances, summary.group)
    return PageGroup(summary, tuple(drawn_lines(lines[:most], prefix, glyphs)), tuple(lines[most:]))


def compared_words(concordances: Concordances, disagreeing: int | None = None) -> list[str]:
    """Sentences on the melodies compared, the method, and the certainty."""
    pairs, certainty = concordances.pairs, concordances.certainty
    count = disagreeing_pairs(concordances) if disagreeing is None else disagreeing
    differ = ngettext(
        "{count} pair of the {total} found here has sources that name different composers. Check before you accept.",
        "{count} pairs of the {total} found here have sources that name different composers. Check before you accept.",
        count,
    ).format(count=number(count), total=number(len(pairs)))
    if certainty.matcher:
        compared = f"{_how_compared(concordances)}."
        sure = _(
            "A pair counts at a {level}, in either direction. Judge for yourself what such a distance means: there is "
            "no chance estimate for it."
        ).format(level=certainty.level_words)
    else:
        compared = _("{compared}, using {matcher} (melody and rhythm, in any key and tempo).").format(
            compared=_how_compared(concordances), matcher=repr(Roslin(compare="both"))
        )
        sure = _(
            "A pair counts if it has {level} of being the same tune. According to these probabilities, which were "
            "fitted to RISM, about {wrong} of {total} pairs are wrong."
        ).format(level=certainty.level_words, wrong=number(concordances.doubts.sum()), total=number(len(pairs)))
    return [
        compared,
        *([] if pairs.is_all else [_("Roslin searched only for pairs with a new melody.")]),
        f"{sure} {differ}",
        *left_out_words(concordances),
        _(
            "Melodies form a group when at least half of the pairs between them were found. Other related melodies are "
            "listed next to the group. Two sources with the same tune may be by different composers."
        ),
    ]


def left_out_words(concordances: Concordances) -> list[str]:
    """Which melodies with the same notes are not among the pairs, and why."""
    left, folded = concordances.pairs.left_copies, concordances.pairs.folded
    said = []
    if left:
        words = ngettext(
            "{count} more pair has the same notes, but they are too few or too common for a higher probability.",
            "{count} more pairs have the same notes, but they are too few or too common for a higher probability.",
            left,
        )
        said.append(words.format(count=number(left)))
    if folded:
        words = ngettext(
            "{count} melody has the same notes as more than {most} others, and is linked to the first only.",
            "{count} melodies have the same notes as more than {most} others, and are linked to the first only.",
            folded,
        )
        said.append(words.format(count=number(folded), most=number(MOST_COPIES - 1)))
    return said


def _how_compared(concordances: Concordances) -> str:
    count = concordances.pairs.melodies
    if count < 2:
        said = _("{collection} has too few melodies to compare")
    elif concordances.pairs.is_exact:
        said = _("{count} melodies of {collection} were compared with each other")
    else:
        said = _(
            "Only those of the {count} melodies of {collection} that share something rare were compared, "
            "so pairs may be missing"
        )
    return said.format(count=number(count), collection=concordances.store.path.name)


def disagreeing_pairs(concordances: Concordances) -> int:
    """Pairs whose sources name different composers."""
    pairs, source = concordances.pairs, concordances.source
    names = {each: surname(source(each).composer) for each in {*pairs.first.tolist(), *pairs.second.tolist()}}
    both = zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
    return sum(
        names[one] != names[two] and not source(one).is_anonymous and not source(two).is_anonymous for one, two in both
    )


def write_report(
    concordances: Concordances, target: str | Path, *, link: Link | None = None, progress: Progress | None = None
) -> Path:
    """Write the report: one page if the target is named .html, else a folder. The page to open."""
    target = Path(target)
    every = summaries(concordances)
    tell = progress or (lambda _done, _what: None)
    if target.suffix.lower() in (".html", ".htm"):
        write_whole(target, concordances_page(concordances, every, link=link, progress=tell))
        return target
    target.mkdir(parents=True, exist_ok=True)
    said = compared_words(concordances)
    pages = [every[start : start + GROUPS_ON_PAGE] for start in range(0, len(every), GROUPS_ON_PAGE)]
    names = [f"groups-{page:04}.html" for page in range(1, len(pages) + 1)]

    def page_of(group: GroupSummary | RelatedGroup) -> str:
        return names[(group.number - 1) // GROUPS_ON_PAGE]

    for place, (name, shown) in enumerate(zip(names, pages, strict=True)):
        around = (names[place - 1] if place else "", names[place + 1] if place + 1 < len(names) else "")

        def tell_part(done: float, what: str, before: int = place) -> None:
            tell((before + done) / len(pages), what)

        page = concordances_page(
            concordances, shown, link=link, progress=tell_part, around=around, said=said, page_of=page_of
        )
        write_text(target / name, page)
    for left in set(target.glob("groups-*.html")) - {target / name for name in names}:  # of an earlier report
        left.unlink()
    rows = [(summary, f"{page_of(summary)}#{anchor(summary)}") for summary in every]
    index = document("concordances_index.html", **_common(concordances, every, said), rows=rows)
    write_text(target / "index.html", index)
    return target / "index.html"


def concordances_page(
    concordances: Concordances,
    shown: Sequence[GroupSummary],
    *,
    link: Link | None = None,
    progress: Progress | None = None,
    around: tuple[str, str] | None = None,
    said: Sequence[str] = (),
    page_of: Callable[[RelatedGroup], str] = lambda _group: "",
) -> str:
    """A page of these groups. `around`: the pages before and after it, "" for none, where it is one of several.

    `said`: what was compared (`compared_words`), where that is known already. `page_of`: the page of another group.
    """
    glyphs, groups = Glyphs(), []
    for done, summary in enumerate(shown, start=1):
        groups.append(page_group(concordances, summary, f"{anchor(summary)}-", glyphs))
        if progress is not None:
            progress(done / len(shown), "drawing")
    which, total = "", len(concordances.groups)
    if 0 < len(shown) < total:
        first, last = f"{shown[0].number:,}", f"{shown[-1].number:,}"
        which = f"Group{f's {first} to' if first != last else ''} {last} of {total:,}."
    return document(
        "concordances.html",
        **_common(concordances, shown, said or compared_words(concordances)),
        groups=groups,
        glyphs=glyphs,
        around=around,
        which=which,
        link=link or (lambda _source: ""),
        address=lambda related: f"{page_of(related)}#{anchor(related)}",
    )


def source_link(pattern: str) -> Link:
    """The address of a source by a pattern with {id} or {record}."""
    if not pattern.startswith(("https://", "http://")) or not {"{id}", "{record}"} & set(_FIELD.findall(pattern)):
        raise ArgumentError(f"the link must start with https:// and hold {{id}} or {{record}}; got {pattern!r}")
    return lambda source: _FIELD.sub(lambda found: quote(str(getattr(source, found[0][1:-1])), safe=""), pattern)


def anchor(summary: GroupSummary | RelatedGroup) -> str:
    """The id of a group on its page."""
    return f"group-{summary.number}"


def _common(concordances: Concordances, shown: Sequence[GroupSummary], said: Sequence[str]) -> dict[str, object]:
    of_kind = {kind: sum(each.kind == kind for each in shown) for kind in KINDS}
    return {
        "heading": f"Concordances in {concordances.store.path.name.removesuffix('.roslin')}",
        "said": said,
        "kinds": [(kind, KIND_WORDS[kind], groups) for kind, groups in of_kind.items() if groups],
        "libraries": sorted({name for each in shown for name in each.libraries}),
        "composers": sorted({name for each in shown for name, _sources in each.composers}),
        "total": len(shown),
        "anchor": anchor,
        "signs": SIGNS,
        "certainty": concordances.certainty,
        "note": versions(),
    }
