"""The filters: conditions in SQL with bound parameters, each with a sentence for a musicologist (paper 002, 3.1).

    notes   by numbers, by the intervals that follow each other, by the editing distance from a query
    fields  by what is known about a melody besides its notes
    chain   filters applied one after the other, and near-duplicates removed

Every function checks its arguments, refuses with `FilterError`, and gives a `Filter`. `FILTERS` lists them by name.
Units are those of schema.sql: semitones for pitch, shares and ratios from 0 to 1.

`asked_filters` makes filters of a name and texts, as people write them in the options of a command or in the file of a
study:

    pitch_range, max_interval           LOW..HIGH, in semitones or in names: "octave..minor tenth"
    duration_ratio, note_count          LOW..HIGH
    contains, contains_semitones        intervals, "fifth up, third down"; of several texts one is enough
    share                               INTERVAL=LOW..HIGH, "third=0.5.."
    motive                              intervals that are repeated
    contour, rhythm                     COST from the query, or LETTERS=COST
    where                               FIELD=TEXT
    only                                FIELD=VALUE, the whole field; of several values of one field one is enough
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from roslin.collection.filters.chain import (
    Addition,
    Filter,
    FilterReport,
    FilterStep,
    NearDuplicate,
    apply_filters,
    remove_near_duplicates,
)
from roslin.collection.filters.fields import CENTURY, FIELDS, metadata, one_of, words
from roslin.collection.filters.notes import (
    contains,
    contour_distance,
    duration_ratio,
    max_interval,
    note_count,
    parse_range,
    pitch_range,
    repeats_motive,
    rhythm_distance,
    share_of_interval,
)
from roslin.errors import FilterError
from roslin.melody import Melody
from roslin.represent.edits import EditCosts

__all__ = [
    "CENTURY",
    "FIELDS",
    "FILTERS",
    "Addition",
    "Filter",
    "FilterReport",
    "FilterStep",
    "NearDuplicate",
    "apply_filters",
    "contains",
    "contour_distance",
    "duration_ratio",
    "max_interval",
    "metadata",
    "note_count",
    "one_of",
    "parse_range",
    "pitch_range",
    "remove_near_duplicates",
    "repeats_motive",
    "rhythm_distance",
    "share_of_interval",
    "words",
]

FILTERS: dict[str, Callable[..., Filter]] = {
    maker.__name__: maker
    for maker in (
        pitch_range,
        max_interval,
        duration_ratio,
        note_count,
        contains,
        share_of_interval,
        contour_distance,
        rhythm_distance,
        repeats_motive,
        metadata,
        one_of,
    )
}

# Cheap ones first, which is the order in which they are applied.
ASKED = (
    "pitch_range",
    "max_interval",
    "duration_ratio",
    "note_count",
    "contains",
    "contains_semitones",
    "share",
    "motive",
    "contour",
    "rhythm",
    "where",
    "only",
)
NEAR = ("contour", "rhythm")  # these may need the query


def all_asked(
    asked: Mapping[str, Sequence[str]],
    *,
    times: int = 2,
    query: Melody | None = None,
    costs: EditCosts | None = None,
    label: Callable[[str], str] = str,
) -> list[Filter]:
    """The filters of `asked_filters` for several names, in their order; `label` names what a reader typed.

    >>> print(*all_asked({"note_count": ["..4"], "words": ["roslin"]}), sep="\\n")
    Number of notes at most 4.
    "roslin" in title, composer, text or source.
    """
    return [
        each
        for name, texts in asked.items()
        for each in asked_filters(name, texts, times=times, query=query, costs=costs, label=label(name))
    ]


def asked_filters(
    name: str,
    texts: Sequence[str],
    *,
    times: int = 2,
    query: Melody | None = None,
    costs: EditCosts | None = None,
    label: str = "",
) -> list[Filter]:
    """The filters that one name of `ASKED` makes of these texts. `label` is what the reader calls it.

    `times` is for a motive, `query` and `costs` for contour and rhythm.

    >>> print(*asked_filters("share", ["third=0.5..", "unison=..0.1"]), sep="\\n")
    Share of "third" among the intervals at least 0.5.
    Share of "unison" among the intervals at most 0.1.
    """
    label = label or name
    match name:
        case "contains":
            return [contains(*texts)]
        case "contains_semitones":
            return [contains(*texts, kind="chromatic")]
        case "share":
            pairs = [_pair(text, label, "INTERVAL=RANGE") for text in texts]
            return [share_of_interval(interval, *parse_range(bounds)) for interval, bounds in pairs]
        case "motive":
            return [repeats_motive(text, times) for text in texts]
        case "contour":
            return [contour_distance(*_near(text, query, label), costs) for text in texts]
        case "rhythm":
            return [rhythm_distance(*_near(text, query, label), costs) for text in texts]
        case "title" | "composer":
            return [metadata(name, text) for text in texts]
        case "words":
            return [each for text in texts for each in words(text)]
        case "where":
            return [metadata_of(text, label) for text in texts]
        case "only":
            return [one_of(field, *values) for field, values in chosen_values(texts, label).items()]
    return [FILTERS[name](*parse_range(text)) for text in texts]


def metadata_of(text: str, label: str) -> Filter:
    """The filter that FIELD=TEXT asks for."""
    return metadata(*_pair(text, label, "FIELD=TEXT"))


def chosen_values(texts: Sequence[str], label: str = "only") -> dict[str, tuple[str, ...]]:
    """The values that FIELD=VALUE texts ask for, by field.

    >>> chosen_values(["key=g", "library=CZ-Bu", "key=d"])
    {'key': ('g', 'd'), 'library': ('CZ-Bu',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        field, sign, value = text.partition("=")
        if not (field and sign and value):
            raise FilterError(f"{label} must be FIELD=VALUE; got {text!r}")
        found[field] = (*found.get(field, ()), value)
    return found


def _pair(text: str, label: str, form: str) -> tuple[str, str]:
    left, sign, right = text.rpartition("=")
    if not (left and sign and right):
        raise FilterError(f"{label} must be {form}; got {text!r}")
    return left, right


def _near(text: str, query: Melody | None, label: str) -> tuple[str | Melody, float]:
    """What a contour or a rhythm is to be near to, letters or the query, and at which cost."""
    letters, _, number = text.rpartition("=")
    try:
        cost = float(number)
    except ValueError:
        raise FilterError(f"{label} must be COST or LETTERS=COST; got {text!r}") from None
    near_to = letters or query
    if near_to is None:
        raise FilterError(f"{label} without LETTERS= needs a query; got {text!r}")
    return near_to, cost
