"""A staff while the score is read: its notes in exact time and spelling, its signatures, ties joined at the end.

Time is a `Fraction` of quarter notes until the very end, so that no rounding adds up. Pitch is a letter, an octave and
an alteration, so that spelling survives transposition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from roslin.errors import Problem
from roslin.melody import TICKS_PER_QUARTER, base40_from_midi
from roslin.melody.pitches import LINE_OF_FIFTHS, MOST_SIGNS, altered_by, pitch_numbers, signature_text, steps_of
from roslin.notation.record import Repeats, note_problem
from roslin.notation.scores import Element

LETTERS = {letter: step for step, letter in enumerate("cdefgab")}

ALTERATIONS = {"s": 1, "f": -1, "ss": 2, "x": 2, "ff": -2, "xs": 3, "sx": 3, "ts": 3, "tf": -3, "n": 0}
ALTERATIONS |= {"nf": -1, "ns": 1}
# Quarter tones and the like: the nearest semitone, with a warning.
NEAREST = {"su": 1, "sd": 1, "fu": -1, "fd": -1, "nu": 0, "nd": 0, "1qs": 0, "1qf": 0, "3qs": 1, "3qf": -1}

QUARTERS = {"maxima": Fraction(32), "long": Fraction(16), "breve": Fraction(8)}
QUARTERS |= {str(2**power): Fraction(4, 2**power) for power in range(12)}
MENSURAL = frozenset(
    {"longa", "brevis", "semibrevis", "minima", "semiminima", "fusa", "semifusa", "nc", "neume", "syllable", "mensur"}
)


def integer(text: str) -> int | None:
    """A whole number of at most nine digits."""
    try:
        return int(text) if len(text) < 10 else None
    except ValueError:
        return None


def dots(text: str) -> Fraction:
    """How much longer dots make a note; more than eight count as eight."""
    count = min(max(integer(text) or 0, 0), 8)
    return 2 - Fraction(1, 2**count)


def ratio(element: Element) -> Fraction:
    """How much shorter notes in a tuplet are. Without @numbase, they take the time of the next lower power of two."""
    number = integer(element.get("num")) or 3
    base = integer(element.get("numbase"))
    if number < 1:
        return Fraction(1)
    if base is None or base < 1:
        base = 1 << max((number - 1).bit_length() - 1, 0)
    return Fraction(base, number)


_MOST_TOGETHER = 100  # notes of one pitch at one time among which the end of a tie is looked for


@dataclass(frozen=True, slots=True)
class Pitch:
    """A spelled pitch: `step` counts letters from C in octave 0 (middle C is 28), `alteration` semitones."""

    step: int
    alteration: int

    @property
    def midi(self) -> int:
        return self._numbers()[0]

    @property
    def base40(self) -> int:
        """162 is middle C. Beyond double sharps and flats there is no number: that of the usual spelling is taken."""
        midi, base40 = self._numbers()
        return base40 if abs(self.alteration) <= MOST_SIGNS else int(base40_from_midi(midi))

    def _numbers(self) -> tuple[int, int]:
        octave, letter = divmod(self.step, 7)
        return pitch_numbers(letter, octave, self.alteration)

    def moved(self, semitones: int, steps: int | None) -> Pitch:
        step = self.step + (steps_of(semitones)[0] if steps is None else steps)
        return Pitch(step, self.midi + semitones - Pitch(step, 0).midi)


@dataclass(slots=True)
class ScoreNote:
    """A note of a staff; onset and duration in quarter notes.

    `tied`: a tie leaves it, to the note with the id `tied_to` where that is known; `held`: one arrives. `bar` counts
    bars from the start; `starts_bar` and `ends_bar`: it is the first or the last in its voice there.
    """

    onset: Fraction
    duration: Fraction
    pitch: Pitch
    layer: int
    is_grace: bool = False
    id: str = ""
    tied: bool = False
    held: bool = False
    tied_to: str = ""
    bar: int = 0
    starts_bar: bool = False
    ends_bar: bool = False

    @property
    def end(self) -> Fraction:
        return self.onset + self.duration

    def row(self, voice: int) -> tuple[int, int, int, int, bool, int, int]:
        """The row of a note table. Both ends are rounded, not the length: no error can grow."""
        onset, end = round(self.onset * TICKS_PER_QUARTER), round(self.end * TICKS_PER_QUARTER)
        length = max(end - onset, 0 if self.is_grace else 1)
        return (onset, length, self.pitch.midi, self.pitch.base40, self.is_grace, voice, 0)


def merge_ties(notes: list[ScoreNote]) -> list[ScoreNote]:
    """Join each tied note with its continuation: where it ends, at its pitch, with a tie arriving.

    Where no tie arrives, any note of the staff at that place and pitch will do, one of the same voice first: many files
    leave out the ends of ties. A tie that names its end reaches over the gap of a voice that does not fill its bar. One
    over more (into a second ending) or to another pitch joins nothing: its notes stay two.
    """
    arriving: dict[tuple[Fraction, int], list[ScoreNote]] = {}
    named: dict[str, ScoreNote] = {}
    for note in notes:
        if not note.is_grace:
            together = arriving.setdefault((note.onset, note.pitch.midi), [])
            if len(together) < _MOST_TOGETHER:
                together.append(note)
            named[note.id] = note
    joined: set[int] = set()
    whole: dict[int, ScoreNote] = {}  # the first note of the chain that a held note has joined
    for note in sorted((n for n in notes if n.tied and not n.is_grace), key=lambda n: n.onset):
        following = [n for n in arriving.get((note.end, note.pitch.midi), ()) if id(n) not in joined]
        candidates = [n for n in following if n.held] or following
        end = named.get(note.tied_to)
        if not candidates and end is not None and end.id and end.held and end.pitch.midi == note.pitch.midi:
            is_next = note.ends_bar and end.starts_bar and end.bar == note.bar + 1
            candidates = [end] if is_next and id(end) not in joined else []
        if candidates:
            target = min(candidates, key=lambda n: (n.id != note.tied_to, n.layer != note.layer))
            joined.add(id(target))
            whole[id(target)] = whole.get(id(note), note)
    for note in notes:
        if id(note) in joined:
            start = whole[id(note)]
            start.duration = max(start.duration, note.end - start.onset)
    return [note for note in notes if id(note) not in joined]


_UNPITCHED = ("perc", "TAB")  # shapes of clefs
_KEYNOTES = LINE_OF_FIFTHS[:15]
# Distance of a mode's keynote from that of major along the circle of fifths.
_MODES = {"major": 0, "minor": 3, "dorian": 2, "phrygian": 4, "lydian": -1, "mixolydian": 1, "aeolian": 3}


@dataclass(slots=True)
class Staff:
    """A staff. Times are in quarters.

    `start` has the key, and the clef, key signature and metre at its head in the spelling of Plaine & Easie (as
    everywhere in Roslin); `now` has those in force.
    """

    number: str
    name: str = ""
    notes: list[ScoreNote] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    barlines: list[Fraction] = field(default_factory=list)
    changes: dict[Fraction, dict[str, str]] = field(default_factory=dict)
    syllables: list[str] = field(default_factory=list)
    start: dict[str, Any] = field(default_factory=dict)
    now: dict[str, str] = field(default_factory=dict)
    is_unpitched: bool = False  # percussion or tablature
    bar_quarters: Fraction = Fraction(4)
    beat_quarters: Fraction = Fraction(1)
    key_alterations: dict[int, int] = field(default_factory=dict)
    bar_alterations: dict[int, int] = field(default_factory=dict)
    last_alterations: dict[int, int] = field(default_factory=dict)
    transposition: tuple[int, int | None] = (0, None)
    declared_ppq: Fraction | None = None
    ppq: Fraction | None = None
    ppq_in_doubt: bool = False
    repeats: Repeats = field(default_factory=Repeats)  # from bars that are to be repeated
    default_duration: str = ""
    default_octave: str = ""
    last_bar: dict[int, tuple[Fraction, Fraction, list[ScoreNote]]] = field(default_factory=dict)

    def layers(self) -> list[int]:
        return sorted({note.layer for note in self.notes})

    def words(self) -> str:
        """The text that is sung. Syllables within a word end in a hyphen."""
        return " ".join(self.syllables).replace("- ", "").rstrip("-")

    def sign(self, onset: Fraction, name: str, value: str | None) -> None:
        if value is None or self.now.get(name) == value:
            return
        self.now[name] = value
        signs = self.start if onset == 0 and not self.notes else self.changes.setdefault(onset, {})
        signs[name] = value

    def warn(self, element: Element, reason: str, expected: str, found: str) -> None:
        note_problem(self.problems, Problem(reason, expected, found, element.column, line=element.line))


def settle_ppq(staff: Staff, bar: Element) -> None:
    """The unit of @dur.ppq after a new @ppq: programs write the @ppq of one part for all of them.

    The written lengths in the bar decide: the unit in force before, the new one, or the one that fits most notes.
    """
    votes: Counter[Fraction] = Counter()
    for element in bar.iter("note", "chord", "rest", "space"):
        written, pulses = QUARTERS.get(element.get("dur")), integer(element.get("dur.ppq"))
        if written is not None and pulses is not None and pulses > 0:
            votes[Fraction(pulses) / (written * dots(element.get("dots")))] += 1
    if votes:
        known = [unit for unit in (staff.ppq, staff.declared_ppq) if unit in votes]
        staff.ppq = known[0] if known else votes.most_common(1)[0][0]
        staff.ppq_in_doubt = False


# Clef, key signature, metre, transposition and units, from definitions and from signs between the notes


def define(staff: Staff, definition: Element, signs: Iterable[Element], onset: Fraction) -> None:
    """Clef, key, metre, transposition and units, from attributes and from the signs inside (`signs_in`)."""
    for sign in signs:
        sign_in_music(staff, sign, onset)
    get = definition.get
    _set_clef(staff, onset, definition, "clef.")
    if (signature := get("key.sig") or get("keysig")) and signature != "mixed":
        _set_key(staff, onset, signature, get("key.mode"), definition)
    _set_metre(staff, onset, definition, "meter.")
    if (semitones := integer(get("trans.semi"))) is not None:
        staff.transposition = (semitones, integer(get("trans.diat")))
    if (pulses := integer(get("ppq"))) is not None and pulses > 0:
        staff.declared_ppq = Fraction(pulses)
        staff.ppq_in_doubt = staff.ppq is not None and staff.ppq != pulses
        staff.ppq = staff.ppq or staff.declared_ppq
    staff.default_duration = get("dur.default") or staff.default_duration
    staff.default_octave = get("oct.default") or staff.default_octave


def signs_in(definition: Element) -> list[Element]:
    """The clef, key signature and metre that a definition holds as elements: the last of each."""
    found: dict[str, Element] = {}
    for child in definition.children:
        sign = next(iter(child.children), child) if child.tag == "meterSigGrp" else child
        if sign.tag in ("clef", "keySig", "meterSig"):
            found[sign.tag] = sign
    return list(found.values())


def sign_in_music(staff: Staff, element: Element, onset: Fraction) -> None:
    """A clef, key signature or metre from this onset on. Other elements are ignored."""
    if element.tag == "clef":
        _set_clef(staff, onset, element)
    elif element.tag == "keySig":
        _set_key(staff, onset, element.get("sig"), element.get("mode"), element)
    elif element.tag == "meterSig":
        _set_metre(staff, onset, element)


def _set_clef(staff: Staff, onset: Fraction, element: Element, prefix: str = "") -> None:
    shape, line, displacement, place = (element.get(prefix + name) for name in ("shape", "line", "dis", "dis.place"))
    staff.is_unpitched = shape in _UNPITCHED if shape else staff.is_unpitched
    if shape == "GG":
        shape, line, displacement, place = "G", line or "2", "8", "below"
    if shape in ("G", "C", "F") and line in ("1", "2", "3", "4", "5"):
        is_lower = shape == "G" and displacement == "8" and place == "below"
        staff.sign(onset, "clef", f"{'g' if is_lower else shape}-{line}")


def _set_key(staff: Staff, onset: Fraction, signature: str, mode: str, element: Element) -> None:
    count = integer(signature[:-1]) if signature[-1:] in ("s", "f") else 0
    fifths = None if count is None or not 0 <= count <= 7 else count if signature.endswith("s") else -count
    if signature and fifths is not None:
        alterations = altered_by(fifths)
    else:
        accidentals = [child for child in element.children if child.tag == "keyAccid"]
        named = {a.get("pname").lower(): ALTERATIONS.get(a.get("accid"), 0) for a in accidentals}
        alterations = {name.upper(): value for name, value in named.items() if name in LETTERS}
        if not alterations:
            return
        fifths = None
    staff.key_alterations = {LETTERS[name.lower()]: value for name, value in alterations.items()}
    text = signature_text({name: value for name, value in alterations.items() if abs(value) == 1})
    staff.sign(onset, "key_signature", text or ("n" if staff.now.get("key_signature") else None))
    if onset == 0 and not staff.notes and "key" not in staff.start and (name := _key_name(element, mode, fifths)):
        staff.start["key"] = name


def _key_name(element: Element, mode: str, fifths: int | None) -> str | None:
    if not mode:
        return None
    if letter := element.get("pname") or element.get("key.pname"):
        accidental = element.get("accid") or element.get("key.accid")
        return letter.upper() + {"s": "#", "f": "b"}.get(accidental, "") + " " + mode
    place = None if fifths is None or mode not in _MODES else fifths + 7 + _MODES[mode]
    return f"{_KEYNOTES[place]} {mode}" if place is not None and 0 <= place < len(_KEYNOTES) else None


def _set_metre(staff: Staff, onset: Fraction, element: Element, prefix: str = "") -> None:
    count, unit, symbol = (element.get(prefix + name) for name in ("count", "unit", "sym"))
    if not (count and unit):
        count, unit = {"common": ("4", "4"), "cut": ("2", "2")}.get(symbol, ("", ""))
    beats = [integer(number) for number in count.split("+")]
    value = integer(unit)
    if not count or not value or value < 1 or any(number is None or number < 1 for number in beats):
        if count:
            staff.warn(element, "unreadable metre", "a metre such as 3/4", repr(f"{count}/{unit}"[:20]))
        return
    staff.beat_quarters = Fraction(4, value)
    staff.bar_quarters = staff.beat_quarters * sum(number or 0 for number in beats)
    staff.sign(onset, "metre", f"{count}/{unit}")
