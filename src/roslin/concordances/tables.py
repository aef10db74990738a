"""Concordances as tables: of groups, and of kinds of groups."""

from __future__ import annotations

from collections import Counter

from roslin.concordances.concordance import KIND_WORDS, KINDS, Concordances
from roslin.concordances.groups import TuneGroup
from roslin.display.table import Table

# Of the columns of groups, those for a person at a terminal, and in which form.
PEOPLE_READ = (
    "group",
    "kind",
    "records",
    "libraries",
    "composers",
    "title",
    "certainty",
    "probable",
    "stable",
    "first",
)


def groups_table(found: Concordances, most: int | None = None) -> Table:
    """A row for each group, in the order of `Concordances.groups`."""
    columns = (
        "group",
        "kind",
        "melodies",
        "records",
        "libraries",
        "composers",
        "title",
        *(() if found.certainty.matcher else ("probability",)),
        "certainty",
        "stability",
        "weak_links",
        "first",
    )
    rows = [_row(found, number, group) for number, group in enumerate(found.groups[:most], start=1)]
    return Table(columns, tuple(rows), "groups")


def _row(found: Concordances, number: int, group: TuneGroup) -> dict[str, object]:
    sources = [found.source(each) for each in group.members.tolist()]
    composers = Counter("anonymous" if each.is_anonymous else each.composer for each in sources)
    return {
        "group": number,
        "kind": found.kind(group),
        "melodies": len(sources),
        "records": len({each.record for each in sources}),
        "libraries": len({each.library for each in sources} - {""}),
        "composers": "; ".join(f"{name} ({count})" for name, count in composers.most_common()),
        "title": next((each.title for each in sources if each.title), ""),
        "probability": 1 - group.doubt,
        "certainty": found.certainty.word(group.doubt),
        "probable": found.certainty.number(group.doubt),
        "stability": group.stability,
        "stable": _stable(group),
        "weak_links": len(group.weak_links),
        "first": sources[0].id,
    }


def _stable(group: TuneGroup) -> str:
    """What a stricter level leaves; of a pair, the pair says it."""
    if len(group.members) == 2:
        return ""
    return f"{group.stability:.0%}" + (", hangs on a weak link" if group.weak_links else "")


def kinds_table(found: Concordances) -> Table:
    """How many groups there are of each kind, and how many melodies they hold."""
    rows = []
    for kind in KINDS:
        groups = [group for group in found.groups if found.kind(group) == kind]
        melodies = sum(len(group.members) for group in groups)
        rows.append({"kind": kind, "meaning": KIND_WORDS[kind], "groups": len(groups), "melodies": melodies})
    return Table(("kind", "meaning", "groups", "melodies"), tuple(rows), "kinds")
