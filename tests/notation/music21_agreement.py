"""Where Roslin's reader of ABC and music21's differ on tunes of music21's own corpus, and by which named cause.

The comparison covers onset and pitch of every note, ties merged, without grace notes. music21 reads every tune as
version 2.1 (otherwise accidentals would hold for one note only). Where the two differ, music21 reads the tune again
with one way of writing in `CAUSES` replaced by another that means the same. The cause is the first one after which
music21 agrees with Roslin's reading of the original, or all of them together.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from roslin.melody import TICKS_PER_QUARTER
from roslin.notation import abc
from roslin.notation.abc.tunebook import decode, tunes

SEED = 3
DAMAGED = "damaged by the encoding of mail (=3D for =)"
_TOLERANCE_QUARTERS = 1e-3

Notes = list[tuple[float, int]]


@dataclass(frozen=True)
class Cause:
    """Why the two differ: a way of writing, how to write the same for music21, and who is right."""

    name: str
    respell: Callable[[str], str]
    right: str


def _replacing(pattern: str, by: str) -> Callable[[str], str]:
    compiled = re.compile(pattern, re.MULTILINE)

    def respell(text: str) -> str:
        header, key, body = re.split(r"(^K:.*\n)", text, maxsplit=1, flags=re.MULTILINE)
        return header + key + compiled.sub(by, body)

    return respell


def _voices_apart(text: str) -> str:
    """One tune for each voice, parted by form feeds."""
    lines = text.split("\n")
    voices = sorted({line[:5] for line in lines if re.match(r"\[V:\w\]", line)})
    apart = [
        "\n".join(line.removeprefix(voice) for line in lines if line.startswith(voice) or line[:3] != "[V:")
        for voice in voices
    ]
    return "\f".join(apart) or text


CAUSES = (
    Cause("H (fermata) before a note", _replacing(r"H(?=[v.~(]*[\^_=A-Ga-gz])", ""), "Roslin: music21 loses the note"),
    Cause(
        "broken rhythm with a slur, tie or decoration at its sign",
        _replacing(r"[ )(\-]*([<>]+)[ ()`.~TuvM\-]*(?:\{[^}]*\})?", r"\1"),
        "Roslin: music21 ignores the sign",
    ),
    Cause("annotation in quotes before a note", _replacing(r"\"[^\"\n]*\"", ""), "Roslin: music21 loses the note"),
    Cause("note right before ::", _replacing(r"::", " ::"), "Roslin: music21 takes it for a field"),
    Cause(
        "accidental held through a tie across the bar line",
        _replacing(r"([=^_])([A-Ga-g])([^|\n]*\2\d*- *\| *)\2", r"\1\2\3\1\2"),
        "Roslin by common practice; the standard is silent",
    ),
    Cause("invisible rest x", _replacing(r"H?x", "z"), "Roslin: x lasts as long as z; music21 leaves it out"),
    Cause("voices switched inside brackets", _voices_apart, "Roslin: music21 reads the second voice after the first"),
    Cause(
        "bass clef",
        lambda text: re.sub(r"^(K:.*) bass", r"\1", text, flags=re.MULTILINE),
        "Roslin: a clef says where notes are drawn; music21 moves them down two octaves",
    ),
)


@dataclass(frozen=True)
class Disagreement:
    """One tune that the two read differently; `who` names its file and line."""

    who: str
    cause: str
    example: str


@dataclass
class Comparison:
    """What came out. `agreed` counts agreement on the tune as it stands."""

    compared: int = 0
    agreed: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)

    @property
    def explained(self) -> int:
        """Tunes on which music21 agrees once a sign that it misreads is written otherwise."""
        return sum(d.cause not in ("unexplained", DAMAGED) for d in self.disagreements)


def corpus() -> list[tuple[str, str]]:
    """(file and line, text) of every tune in music21's corpus, in a fixed order."""
    folder = Path(str(import_module("music21").__file__)).parent / "corpus"
    found = []
    for path in sorted(folder.rglob("*.abc")):
        for tune in tunes(decode(path.read_bytes())):
            text = "\n".join(line for _, line in tune)
            found.append((f"{path.relative_to(folder)}:{tune[0][0]}", text))
    return found


def compare(count: int) -> Comparison:
    """Read a fixed random sample twice and compare."""
    result = Comparison()
    for who, text in random.Random(SEED).sample(corpus(), count):
        own, theirs = _own_notes(text), _their_notes(text)
        result.compared += 1
        if _same(own, theirs):
            result.agreed += 1
        else:
            result.disagreements.append(_explain(who, text, own))
    return result


def _explain(who: str, text: str, own: Notes | None) -> Disagreement:
    together = text
    for cause in CAUSES:
        respelled = cause.respell(text)
        if respelled != text and _same(own, _their_notes(respelled)):
            return Disagreement(who, cause.name, _changed_line(text, respelled))
        together = cause.respell(together)
    if together != text and _same(own, _their_notes(together)):
        return Disagreement(who, "several of these", _changed_line(text, together))
    damaged = next((line for line in text.split("\n") if "=3D" in line), "")
    return Disagreement(who, DAMAGED if damaged else "unexplained", damaged[:30])


def _changed_line(text: str, respelled: str) -> str:
    """The first bar of the first line that is written otherwise, to show."""
    lines = set(respelled.split("\n"))
    line = next((line for line in text.split("\n") if line not in lines), "")
    other = min(respelled.split("\n"), key=lambda candidate: -len(_common(line, candidate)))
    start = max(0, len(_common(line, other)) - 12)
    return line[start : start + 30].strip()


def _common(left: str, right: str) -> str:
    length = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    return left[:length]


def _own_notes(text: str) -> Notes | None:
    [record] = abc.read_tunes(text, strict=False)
    if record.melody is None:
        return None
    notes = record.melody.notes[~record.melody.notes["is_grace"]]
    return sorted(zip((notes["onset_ticks"] / TICKS_PER_QUARTER).tolist(), notes["pitch_midi"].tolist(), strict=True))


def their_score(text: str) -> Any:
    """music21's score of one tune, read as ABC 2.1."""
    handler = import_module("music21.abcFormat").ABCFile().readstr("%abc-2.1\n" + text)
    return import_module("music21.abcFormat.translate").abcToStreamScore(handler)


def _their_notes(text: str) -> Notes | None:
    harmony = import_module("music21.harmony").Harmony
    try:
        parts = [part for tune in text.split("\f") for part in their_score(tune).parts]
    except Exception:  # whatever music21 raises on a tune, it has not read it
        return None
    found: Notes = []
    for part in parts:
        tied: dict[int, float] = {}
        for note in part.flatten().notes:
            if isinstance(note, harmony) or note.duration.isGrace:
                continue
            onset, tie = float(note.offset), note.tie.type if note.tie else ""
            for pitch in note.pitches:
                until = tied.pop(pitch.midi, None)
                if tie not in ("stop", "continue") or until is None or abs(until - onset) > _TOLERANCE_QUARTERS:
                    found.append((onset, pitch.midi))
                if tie in ("start", "continue"):
                    tied[pitch.midi] = onset + float(note.quarterLength)
    return sorted(found)


def _same(left: Notes | None, right: Notes | None) -> bool:
    if left is None or right is None or len(left) != len(right):
        return False
    return all(abs(a[0] - b[0]) < _TOLERANCE_QUARTERS and a[1] == b[1] for a, b in zip(left, right, strict=True))
