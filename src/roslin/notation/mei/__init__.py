"""MEI, the format of the Music Encoding Initiative (common notation): one melody for each staff.

    values      what the values of attributes mean
    structure   which elements are read: movements, staves, voices, variants
    notes       notes in exact time and spelling; ties joined
    controls    ties, tuplets and octave lines that name notes by their ids
    staff       what is known about a staff while the score goes by
    signatures  clef, key signature, metre, transposition, units
    pitches     the pitch of a note
    layer       one voice of one bar
    score       one score, bar by bar
    records     the melodies

Time runs from what stands in the bars. Lengths come from @dur.ges or @dur, dots and tuplets (exact fractions), and from
@dur.ppq where it says something else. Repeats and endings are kept as written. Notes of percussion and tablature are
left out; any other that is left out is told. Mensural and neume notation is refused. Lines and columns of problems are
those of the XML.
"""

from __future__ import annotations

from roslin.notation.mei.records import read_tree
from roslin.notation.record import Record
from roslin.notation.scores import Element, StaffChoice, decode_xml, first_elements, parse_xml, reader

__all__ = ["matches", "pitched_notes", "read", "read_tree", "tree"]

_NAMESPACE = "http://www.music-encoding.org/ns/mei"
_ROOTS = frozenset({"mei", "meiCorpus", "music"})


def matches(head: bytes) -> bool:
    """Whether the first bytes of a file are those of MEI."""
    text, names = first_elements(head)
    if not names:
        return False
    return names[0] in ("mei", "meiCorpus") or (names[0] in _ROOTS and _NAMESPACE in text)


def tree(text: str) -> Element:
    """The elements of a document."""
    return parse_xml(text, _ROOTS, "MEI")


def pitched_notes(document: Element) -> int:
    """How many notes with a pitch a document has, tied ones counted one by one."""
    return sum("pname" in note.attributes for note in document.iter("note"))


def _read(data: bytes, selection: StaffChoice, *, strict: bool) -> list[Record]:
    return read_tree(tree(decode_xml(data)), "mei", selection, strict=strict)


read = reader(_read)
