"""The tracks of a MIDI file to melodies: the notes of each, bars, spelling and words; played notes moved to a grid."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby, pairwise
from operator import attrgetter
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from roslin.errors import NotationError, Problem
from roslin.melody import MAX_TICKS, TICKS_PER_QUARTER, Melody, SignatureChange, base40_from_midi, note_table
from roslin.melody.pitches import LETTERS, NATURAL_SEMITONES, ORDER_OF_SHARPS, pitch_numbers
from roslin.melody.quantising import quarters_from_seconds
from roslin.notation.midi import limits
from roslin.notation.midi.tracks import PERCUSSION, WHOLE, Clock, File, KeyChange, MetreChange, Note, Track
from roslin.notation.record import Record, Voices, refusal
from roslin.types import Floats, Numbers

Grid = str | Fraction | Sequence[Fraction]
Grids = tuple[int, ...]

_PARTS = np.array([2, 3, 4, 5, 6, 7, 8, 12, 16])  # of a quarter
_FEWEST_ONSETS = 6  # onsets; fewer do not show how they were made
_LEAST, _BY_CHANCE = 0.5, 5.0  # onsets at random keep to a grid as well as sqrt(_BY_CHANCE / onsets) once in 150
_Any = TypeVar("_Any")
_NO_BEAT = "played without a beat, note values found from the seconds"
_USUAL_TEMPO = 500_000  # microseconds of a quarter where a file has no tempo
_MOST_PLAYED = 5_000  # notes; longer melodies without a beat keep the times of the file


def records(
    file: File, strict: bool, track: int | None, channel: int | None, voices: Voices, grids: Grids
) -> list[Record]:
    """A record for each required melody. Problems of the whole file are listed with the first."""
    if track is not None and not 1 <= track <= len(file.tracks):
        raise refusal("no such track", f"1 to {len(file.tracks)}", str(track))
    asked = [source for source in file.tracks if track in (None, source.number)]
    wanted = [(source, notes) for source in asked for notes in _parts(file, source, channel)]
    shared = [problem for source in file.tracks if not source.notes for problem in source.problems]
    shared += file.problems  # last: damage inside a track matters more than its effect on the count of tracks
    if not wanted or (strict and shared):
        chosen = "" if track is None and channel is None else " in what was chosen"
        found = f"{sum(len(source.notes) for source in file.tracks)} in all tracks with percussion"
        raise NotationError(shared[0] if shared else Problem("no notes", "at least one note" + chosen, found, 1))
    if voices == "together" and file.kind != 2:
        sources = {source.number: source for source, _ in wanted}
        problems = (*shared, *(problem for source in sources.values() for problem in source.problems))
        return [_record(file, wanted[0][0], [notes for _, notes in wanted], problems, strict, grids)]
    records = []
    for source, notes in wanted:
        problems = (*shared, *source.problems)
        shared = []  # said once, with the first melody
        records.append(_record(file, source, [notes], problems, strict, grids))
    return records


def _parts(file: File, track: Track, channel: int | None) -> list[list[Note]]:
    wanted = {channel} if channel is not None else {*range(1, 17)} - {PERCUSSION}
    notes = [note for note in track.notes if note.channel in wanted]
    if channel is not None or file.kind != 0:
        return [notes] if notes else []
    by_channel = sorted(notes, key=attrgetter("channel"))
    return [list(part) for _, part in groupby(by_channel, key=attrgetter("channel"))]


def _record(
    file: File, track: Track, parts: list[list[Note]], problems: tuple[Problem, ...], strict: bool, grids: Grids
) -> Record:
    if problems and strict:
        return Record(None, problems[:1])
    if file.clock.ticks(max(note.end for notes in parts for note in notes)) >= MAX_TICKS:
        expected = f"less than {MAX_TICKS // TICKS_PER_QUARTER} quarter notes"
        return Record(None, (Problem("too long", expected, "more", 1),))
    notes = [note for part in parts for note in part]
    ticks = np.array([file.clock.ticks(note.onset) for note in notes], dtype=np.int64)
    is_played = not (grids or strict or len(notes) > _MOST_PLAYED or (file.has_beats and _keeps_a_grid(ticks)))
    if is_played and file.has_beats:  # time in seconds is said with the header
        problems = (*problems, Problem(_NO_BEAT, "notes on parts of a quarter note", "notes beside them"))
    return Record(_melody(file, track, parts, grids, is_played), problems)


def _melody(file: File, track: Track, parts: list[list[Note]], grids: Grids, is_played: bool) -> Melody:
    """One melody of some parts, with the metadata of the first part's track. Channels are voices."""
    placed = sorted(((place, note) for place, part in enumerate(parts) for note in part), key=lambda one: one[1].onset)
    notes = [note for _, note in placed]
    onsets, lengths, moved = _played(file, track, notes) if is_played else _timed(file.clock, notes, grids)
    end = int((onsets + lengths).max())
    channels = sorted({note.channel for note in notes})
    extra = {"track": str(track.number), "channel": ",".join(map(str, channels)), **moved}
    seen = [track] if file.kind == 2 else [track, *file.tracks]
    metre, metres, barlines = _bars([] if is_played else _first([source.metres for source in seen]), end)
    keys = _first([source.keys for source in seen])
    keys = [key._replace(time=0) for key in keys[:1]] if is_played else keys
    key = keys[0] if keys and keys[0].time == 0 else None
    pitches = np.array([note.pitch for note in notes])
    base40 = _spelled(onsets, pitches, keys)
    sounding = {voice: number for number, voice in enumerate(sorted({(place, note.channel) for place, note in placed}))}
    voices = np.array([sounding[place, note.channel] for place, note in placed])
    columns = (onsets, lengths, pitches, base40, lengths == 0, voices, np.zeros_like(onsets))
    title = (track if file.kind == 2 else file.tracks[0]).names.get("name")
    named_part = file.kind == 1 and track.number > 1 and len(parts) == 1  # the first track's name is the piece's
    if track.texts and not _is_karaoke(track):
        extra["comment"] = _joined(track.texts)
    if rights := _first([source.names.get("copyright", "") for source in seen]):
        extra["copyright"] = rights
    return Melody(
        note_table(list(zip(*(column.tolist() for column in columns), strict=True))),
        title=title,
        voice=(track.names.get("name") if named_part else None) or track.names.get("instrument"),
        key=key.name if key else None,
        metre=metre,
        text=_joined(_first([_syllables(source) for source in seen])) or None,
        notation="midi",
        key_signature=key.signature if key and key.sharps else None,
        barlines_ticks=barlines,
        changes=_changes(metres, keys[1:] if key else keys, end),
        extra=extra,
    )


def _timed(clock: Clock, notes: list[Note], grids: Grids) -> tuple[Numbers, Numbers, dict[str, str]]:
    """Onsets and lengths in our ticks, on a grid if one is asked for, and how far that moved the onsets.

    A note that ends when it starts gets the length 0: it takes no time, like a crushed grace note.
    """
    onsets = np.array([clock.ticks(note.onset) for note in notes], dtype=np.int64)
    ends = np.array([clock.ticks(note.end) for note in notes], dtype=np.int64)
    said: dict[str, str] = {}
    if grids:
        moved, ends = _quantised(onsets, ends, grids)
        error = np.abs(moved - onsets) / TICKS_PER_QUARTER
        said["quantisation_error"] = f"mean {error.mean():.4f}, max {error.max():.4f} quarters"
        onsets = moved
    return onsets, np.where([note.onset == note.end for note in notes], 0, np.maximum(ends - onsets, 1)), said


def _played(file: File, track: Track, notes: list[Note]) -> tuple[Numbers, Numbers, dict[str, str]]:
    """Onsets and lengths of notes that keep to no beat of the file, as note values found from their seconds."""
    onsets, ends = _seconds(file, track, np.array([(note.onset, note.end) for note in notes], dtype=np.float64).T)
    times = quarters_from_seconds(onsets, ends)
    begin, length = (np.rint(values * TICKS_PER_QUARTER).astype(np.int64) for values in times)
    return begin, np.where([note.onset == note.end for note in notes], 0, length), {}


def _seconds(file: File, track: Track, ticks: Floats) -> Floats:
    changes = track.tempos if file.kind == 2 else [change for each in file.tracks for change in each.tempos]
    changes = [(0, _USUAL_TEMPO), *(sorted(changes, key=lambda change: change[0]) if file.has_beats else ())]
    starts, tempos = (np.array(values, dtype=np.float64) for values in zip(*changes, strict=True))
    of_a_tick = tempos / 1e6 * file.clock.numerator / file.clock.denominator / TICKS_PER_QUARTER
    begins = np.concatenate([[0.0], np.cumsum(np.diff(starts) * of_a_tick[:-1])])
    tempo = np.searchsorted(starts, ticks, side="right") - 1
    found: Floats = begins[tempo] + (ticks - starts[tempo]) * of_a_tick[tempo]
    return found


def _first(values: list[_Any]) -> _Any:
    return next((value for value in values if value), values[0])


def _bars(metres: list[MetreChange], end: int) -> tuple[str | None, list[MetreChange], Numbers]:
    """First metre, changes, bar lines up to the end of the notes. A new time signature always starts a bar.

    Programs write a pick-up as a first bar with a shorter time signature: it is no change of metre.
    """
    metres = [metre for metre in metres if metre.time < end]
    stops = [metre.time for metre in metres[1:]] + [end + 1]
    count = sum((stop - metre.time) // metre.bar_ticks for metre, stop in zip(metres, stops, strict=False))
    barlines = [metre.time for metre in metres if metre.time]
    if count <= limits.MAX_BARLINES:
        for metre, stop in zip(metres, stops, strict=False):
            barlines += range(metre.time + metre.bar_ticks, stop, metre.bar_ticks)
    if len(metres) > 1 and metres[0].time == 0 and metres[0].bar_ticks == metres[1].time < metres[1].bar_ticks:
        metres = [metres[1]._replace(time=0), *metres[2:]]
    changed = metres[:1] + [later for earlier, later in pairwise(metres) if later.text != earlier.text]
    first = changed.pop(0).text if changed and changed[0].time == 0 else None
    return first, changed, np.array(sorted(barlines), dtype=np.int64)


def _changes(metres: list[MetreChange], keys: list[KeyChange], end: int) -> tuple[SignatureChange, ...]:
    metre_at = {metre.time: metre.text for metre in metres}
    key_at = {key.time: key.signature for key in keys if key.time < end}
    return tuple(
        SignatureChange(time, key_signature=key_at.get(time), metre=metre_at.get(time))
        for time in sorted({*metre_at, *key_at})
    )


def _spelled(onsets: Numbers, pitches: npt.NDArray[np.int64], keys: list[KeyChange]) -> npt.NDArray[np.int16]:
    tables = np.array([_SPELLINGS[0], *(_SPELLINGS[key.sharps + key.minor] for key in keys)])
    spelled: npt.NDArray[np.int16] = tables[np.searchsorted([key.time for key in keys], onsets, "right"), pitches]
    return spelled


def _spelling(sharps: int) -> npt.NDArray[np.int16]:
    """The base-40 number of each MIDI pitch under a key signature.

    Without sharps and flats the usual spelling is E flat to G sharp on the line of fifths. Each sharp of the signature
    moves these twelve by one step, and so does a minor key, whose raised notes lie on the sharp side.
    """
    table = base40_from_midi(np.arange(128))
    for step in range(sharps - 3, sharps + 9):
        alteration, letter = divmod(step + 1, 7)
        place = LETTERS.index(ORDER_OF_SHARPS[letter])  # the order of sharps is the line of fifths
        for pitch in range((NATURAL_SEMITONES[place] + alteration) % 12, 128, 12):
            spelled = pitch_numbers(place, (pitch - alteration) // 12 - 1, alteration)[1]
            if spelled >= -40:  # the lowest number of the note table; only B sharp for pitch 0 is below it
                table[pitch] = spelled
    return table


_SPELLINGS = {sharps: _spelling(sharps) for sharps in range(-7, 9)}


def _is_karaoke(track: Track) -> bool:
    return any(text.startswith("@") for text in track.texts)


def _syllables(track: Track) -> list[str]:
    """The lyrics; in karaoke files, which start with remarks like @T, those are among the plain texts."""
    if track.lyrics or not _is_karaoke(track):
        return track.lyrics
    return [re.sub(r"^[/\\]", " ", text) for text in track.texts if not text.startswith("@")]


def _joined(syllables: list[str]) -> str:
    """The first words. Some files put the spaces into the syllables, the others mean one after each but a hyphen."""
    if not any(text[:1].isspace() or text[-1:].isspace() for text in syllables):
        syllables = [text[:-1] if text.endswith("-") else f"{text} " for text in syllables]
    words = " ".join("".join(syllables).split())
    if len(words) <= limits.MAX_TEXT:
        return words
    return words[: limits.MAX_TEXT + 1].rpartition(" ")[0] or words[: limits.MAX_TEXT]


def grids(quantise: Grid | None) -> Grids:
    """The steps of each grid in ticks."""
    if quantise is None:
        return ()
    if isinstance(quantise, str):
        steps = []
        for text in quantise.split("+"):
            value = re.fullmatch(r"\s*1/([1-9]\d{0,2})(t?)\s*", text)
            if value is None:
                raise _unknown_grid(text)
            steps.append(Fraction(4, int(value[1])) * (Fraction(2, 3) if value[2] else 1))
    else:
        steps = [Fraction(step) for step in (quantise if isinstance(quantise, Sequence) else (quantise,))]
    ticks = [step * TICKS_PER_QUARTER for step in steps]
    if not ticks or any(step.denominator != 1 or not 0 < step <= WHOLE for step in ticks):
        raise _unknown_grid(str(quantise))
    return tuple(int(step) for step in ticks)


def _unknown_grid(found: str) -> NotationError:
    expected = "a note value like 1/16 or 1/8t, several joined by +, or fractions of a quarter that ticks can hold"
    return refusal("unknown grid", expected, found)


def _quantised(onsets: Numbers, ends: Numbers, grids: Grids) -> tuple[Numbers, Numbers]:
    """Onsets and ends on the grid. Each quarter has the grid on which its onsets move least, the first of equals.

    An end takes the grid of its quarter if notes start in it, else the closest one; no note gets shorter than one step.
    """
    steps = np.array(grids, dtype=np.int64)[:, None]
    moved_onsets, moved_ends = ((times + steps // 2) // steps * steps for times in (onsets, ends))
    quarters, quarter = np.unique(onsets // TICKS_PER_QUARTER, return_inverse=True)
    costs = np.array([np.bincount(quarter, np.abs(moved - onsets)) for moved in moved_onsets])
    grid_of_quarter = costs.argmin(axis=0)
    grid = grid_of_quarter[quarter]
    new_onsets = moved_onsets[grid, np.arange(len(onsets))]

    place = np.minimum(np.searchsorted(quarters, ends // TICKS_PER_QUARTER), len(quarters) - 1)
    known = quarters[place] == ends // TICKS_PER_QUARTER
    end_grid = np.where(known, grid_of_quarter[place], np.abs(moved_ends - ends).argmin(axis=0))
    new_ends = moved_ends[end_grid, np.arange(len(ends))]
    return new_onsets, np.maximum(new_ends, new_onsets + steps[grid, 0])


def _keeps_a_grid(onsets: Numbers) -> bool:
    """Whether onsets lie on some part of the quarter notes, exactly or as people play with a metronome.

    Each is a direction on a circle, once around for each step of the grid. Their mean is 1 where all are on it.
    """
    times = np.unique(onsets) / TICKS_PER_QUARTER
    if len(times) < _FEWEST_ONSETS:
        return True
    together = np.abs(np.exp(2j * np.pi * np.outer(_PARTS, times)).mean(axis=1)).max()
    return bool(together >= min(max(_LEAST, float(np.sqrt(_BY_CHANCE / len(times)))), 0.99))
