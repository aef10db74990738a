"""Where Roslin's reader of Plaine & Easie and verovio's differ, and by which named cause.

The comparison covers the onset and pitch of every note of incipits without ties and grace notes, because verovio's
time map plays grace notes and splits ties differently. A disagreement has the first cause in `CAUSES` that applies.
Verovio then reads two other spellings: the source with only its old signs respelled (`REPAIRS`, plain substitutions
that share nothing with Roslin's reader), and Roslin's own spelling of the melody.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.notation.verovio_oracle import Oracle, OracleError

from roslin.errors import NotationError
from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.notation import Record, pae, records

_TOLERANCE_QUARTERS = 1e-3


@dataclass(frozen=True)
class Cause:
    """Why the two differ: a name, whether it applies to a record, who is right and why."""

    name: str
    applies: Callable[[Record], bool]
    right: str


def _warned(*reasons: str) -> Callable[[Record], bool]:
    return lambda record: any(p.reason.startswith(reasons) for p in record.problems)


def _music(pattern: str) -> Callable[[Record], bool]:
    compiled = re.compile(pattern)
    return lambda record: compiled.search((record.melody and record.melody.music) or "") is not None


def _key_is_irregular(record: Record) -> bool:
    key = (record.melody and record.melody.key_signature) or ""
    regular = re.fullmatch(r"x(F(C(G(D(A(EB?)?)?)?)?)?)|b(B(E(A(D(G(CF?)?)?)?)?)?)|n?", key)
    return regular is None


def _metre_is_a_lone_number(record: Record) -> bool:
    melody = record.melody
    return melody is not None and (melody.metre in ("2", "3") or any(c.metre in ("2", "3") for c in melody.changes))


CAUSES = (
    Cause("octave marks written with a double quote", _warned("octave marks"), "Roslin: verovio skips the sign"),
    Cause(
        "accidental written X, N, Y, # or a sharp sign", _warned("sharp", "natural", "flat"), "Roslin: verovio skips it"
    ),
    Cause("bars of rest written with -", _warned("bars of rest"), "Roslin: verovio reads one rest and a rhythm"),
    Cause("unreadable sign or remark", _warned("unreadable sign", "bracket", "mark"), "neither: something is lost"),
    Cause("unreadable clef, key or time signature", _warned("unreadable"), "Roslin: verovio gives up the signature"),
    Cause("note name in lower case", _warned("note name"), "Roslin: verovio skips it"),
    Cause("time signature in parentheses", _warned("time signature in"), "Roslin: verovio reads a tuplet"),
    Cause("tuplet that does not fit its total", _warned("the notes of the group"), "Roslin: it fills the bar"),
    Cause(
        "tuplet or beam left open",
        _warned("tuplet", "end of a tuplet", "beam", "end of a beam"),
        "neither: guesses differ",
    ),
    Cause("slur written y...z", _warned("slur", "end of a slur"), "Roslin: verovio reads a grace group"),
    Cause("dot that follows no length", _warned("dot"), "Roslin: verovio loses the length of the next note"),
    Cause("accidental without a note", _warned("accidental without"), "neither: guesses differ"),
    Cause("grace sign without grace notes", _warned("grace", "end of a grace"), "neither: guesses differ"),
    Cause("repetition sign used otherwise", _warned("repeat"), "neither: guesses differ"),
    Cause("chord sign used otherwise", _warned("chord", "end of a chord"), "neither: guesses differ"),
    Cause("accidental apart from its note", _music(r"[xbn][',0-9.t({]"), "Roslin: verovio drops the accidental"),
    Cause("key signature out of order", _key_is_irregular, "Roslin: verovio counts letters, whatever they are"),
    Cause(
        "lone number as time signature", _metre_is_a_lone_number, "Roslin: it fills the bars; verovio takes 3 for 3/1"
    ),
    Cause("repeated figure or bar", _music(r"!|/i"), "Roslin repeats the notes; verovio the text, with other lengths"),
    Cause(
        "space missing or in an unusual place",
        _music(r"%[A-Ga-g]-[1-5]\S|% |@c\(|[',] [A-G]|- \)"),
        "Roslin: verovio loses what follows",
    ),
    Cause("crossing brackets", _music(r"\([^{)]*\}|\{[^}(]*\)"), "Roslin: verovio loses the tuplet"),
    Cause(
        "tuplet with a total", _music(r"[0-9.][',]*\(|;"), "Roslin fills the total; verovio takes every group for 3:2"
    ),
)


REPAIRS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\[[^\]]*?[a-z]{3}[^\]]*\]|[\[\]?*]|&#?\w+;|\s", ""),
        ('"', "''"),
        (r"-(\d+)(?=/|$)", r"=\1"),
        (r"\((\d+/\d+|c/?)\)", r"@\1 "),
        ("[X#♯]", "x"),
        ("N", "n"),
        ("Y", "b"),
        ("[yzT]", ""),
        ("(?<![A-G])t", ""),
        (r"(xx|bb|x|b|n)([',0-9.]+)(?=[A-G])", r"\2\1"),
        (r"(?<=[A-G\-])\.+", ""),
        (r"(\([^{}()]*)\}\)", r"\1)}"),
        ("d", "D"),
        ("e", "E"),
    )
)


@dataclass(frozen=True)
class Disagreement:
    """One incipit that the two read differently, and whether verovio agrees when it is spelled otherwise."""

    id: str
    music: str
    cause: str
    agrees_on_repair: bool
    agrees_on_own_spelling: bool


@dataclass
class Comparison:
    """What came out."""

    compared: int = 0
    agreed: int = 0
    compared_without_warning: int = 0
    agreed_without_warning: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    disagreements: list[Disagreement] = field(default_factory=list)


def compare(path: Path, every: int = 1) -> Comparison:
    """Read every n-th incipit of a file twice and compare."""
    result = Comparison()
    with Oracle() as oracle:
        for record in _sample(path, every):
            melody = record.melody
            if melody is None:
                result.left_out["refused by Roslin"] += 1
            elif _has_ties_or_graces(melody):
                result.left_out["with ties or grace notes"] += 1
            else:
                clean = not record.problems
                result.compared += 1
                result.compared_without_warning += clean
                difference = _difference(oracle, record, melody)
                if difference is None:
                    result.agreed += 1
                    result.agreed_without_warning += clean
                else:
                    result.disagreements.append(difference)
    return result


def _sample(path: Path, every: int) -> Iterator[Record]:
    return (record for number, record in enumerate(records(path, strict=False)) if number % every == 0)


def _has_ties_or_graces(melody: Melody) -> bool:
    return bool(melody.notes["is_grace"].any()) or re.search("[+_]", melody.music or "") is not None


def _difference(oracle: Oracle, record: Record, melody: Melody) -> Disagreement | None:
    own = _own_notes(melody)
    try:
        original = (melody.clef or "G-2", _raw(record, "key signature"), _raw(record, "time signature"))
        if _same(own, oracle.notes(*original, melody.music or "")):
            return None
        failure = ""
    except OracleError as error:
        failure = str(error)
    cause = failure or next((cause.name for cause in CAUSES if cause.applies(record)), "unexplained")
    metre = {"2": "2/2", "3": "3/4"}.get(melody.metre or "", melody.metre or "")
    repaired = melody.music or ""
    for pattern, replacement in REPAIRS:
        repaired = pattern.sub(replacement, repaired)
    try:
        spelled = pae.write_music(melody.with_metadata(key_signature=None))  # every accidental in its place
    except NotationError:
        spelled = ""  # an octave that the code does not have
    return Disagreement(
        melody.id or "",
        melody.music or "",
        cause,
        _agrees(oracle, own, melody.clef, melody.key_signature, metre, repaired),
        _agrees(oracle, own, melody.clef, None, metre, spelled),
    )


def _agrees(
    oracle: Oracle, own: list[tuple[float, int]], clef: str | None, key: str | None, metre: str, music: str
) -> bool:
    try:
        return _same(own, oracle.notes(clef or "G-2", key or "", metre, music))
    except OracleError:
        return False


def _raw(record: Record, what: str) -> str:
    """A signature as the source has it: the reader's problem quotes it where it is untidy."""
    assert record.melody is not None
    for problem in record.problems:
        if problem.reason == f"unreadable {what}":
            return problem.found.strip("'\"")
    return (record.melody.key_signature if what == "key signature" else record.melody.metre) or ""


def _own_notes(melody: Melody) -> list[tuple[float, int]]:
    notes = melody.notes
    return sorted(zip((notes["onset_ticks"] / TICKS_PER_QUARTER).tolist(), notes["pitch_midi"].tolist(), strict=True))


def _same(left: list[tuple[float, int]], right: list[tuple[float, int]]) -> bool:
    return len(left) == len(right) and all(
        abs(a[0] - b[0]) < _TOLERANCE_QUARTERS and a[1] == b[1] for a, b in zip(left, right, strict=True)
    )
