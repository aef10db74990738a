"""Which elements of a document are read, and in which order: movements, staves, voices, variants.

Of variants the lemma or what else editors prefer is taken, or else the first reading. Deleted music is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from roslin.notation.scores import Element

VARIANTS = ("app", "choice", "subst")
READ_THROUGH = frozenset(
    {"add", "beam", "beamSpan", "corr", "damage", "expan", "ligature", "orig", "reg", "restore", "sic", "supplied"}
    | {"unclear"}
)
SECTIONS = frozenset({"section", "ending", "ossia", "score"}) | READ_THROUGH
_PREFERRED = ("lem", "corr", "reg", "expan", "add")


def movements(document: Element) -> Iterator[list[Element]]:
    """The score of each movement; where it has none, its separate parts."""
    for movement in document.iter("mdiv", "music"):
        if movement.tag == "music" and movement.first("body") is not None:
            continue
        score = movement.first("score")
        if score is not None:
            yield [score]
        else:
            yield [part for parts in movement.children if parts.tag == "parts" for part in parts.children]


def chosen(element: Element) -> list[Element]:
    """Of variants, the one that editors prefer, or the first."""
    preferred = element.first(*_PREFERRED)
    return [preferred] if preferred is not None else element.children[:1]


def staff_definitions(definition: Element, group_label: str) -> Iterator[tuple[Element, str]]:
    """The staves that a definition names, each with the label of the group that it stands in."""
    for child in definition.children:
        if child.tag == "staffDef":
            yield child, group_label
        elif child.tag in ("staffGrp", "score") or child.tag in READ_THROUGH:
            yield from staff_definitions(child, label(child) or group_label)


def label(element: Element) -> str:
    """The name of a staff or of a group, from an element inside or an attribute."""
    inside = element.first("label")
    return (inside.all_text() if inside is not None else "") or element.get("label")


def staves_in(bar: Element) -> Iterator[Element]:
    """The staves of a bar; of an ossia the main one, which is a <staff> too (the other is an <oStaff>)."""
    for child in bar.children:
        if child.tag == "staff":
            yield child
        elif child.tag in VARIANTS:
            for reading in chosen(child):
                yield from staves_in(reading)
        elif child.tag == "ossia" or child.tag in READ_THROUGH:
            yield from staves_in(child)


def layers_in(staff: Element) -> Iterator[Element]:
    """The voices of a staff in one bar."""
    for child in staff.children:
        if child.tag == "layer":
            yield child
        elif child.tag in VARIANTS:
            for reading in chosen(child):
                yield from layers_in(reading)
        elif child.tag == "ossia" or child.tag in READ_THROUGH:
            yield from layers_in(child)
