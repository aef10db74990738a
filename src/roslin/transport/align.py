"""Alignment: the transposition, shift in time and tempo at which two melodies are closest (Typke et al. 2007).

The query moves, the document stays. A query note at `onset` (quarters) and `pitch` goes to

    tempo * onset + shift,   pitch + transposition

so tempo 2 means that the document's notes are twice as long. Four choices that the paper leaves open change rankings,
so they are made here on purpose. The paper's behaviour is always one of the options:

frame     Distances are measured in the query's frame: a document at tempo 2 is first played at double speed. In the
          document's frame a shrunken query always looks cheaper.
weights   Weights that are lengths shrink with the time, so that a copy at half speed inside a longer piece is at 0.
          The schemes "uniform", "sqrt" and "perceptual" are taken as they are at every tempo.
unit      Time is counted in mean note lengths of the query ("note"), so that fast and slow queries are alike; or in
          quarters ("quarter"). `semitone` is what a semitone is worth in that unit.
missing   When the document is lighter than the query, the rest of the query has no partner. `missing=None`, the
          paper's: it costs nothing, and the distance is divided by the document's weight. Otherwise each unit of it
          costs `missing`, and the distance is divided by the query's weight.

Methods (`alignment`):

coincidence   some query note coincides exactly with some document note, at one of `tempos`: a finite
              set, searched completely
refined       from the best of these on to a local optimum over shift and transposition (both continuous), and over
              tempo between the smallest and the largest of `tempos`
evolution     differential evolution over shift, transposition and the same range of tempo, as the paper did with its
              own optimiser; for comparison: it is slow, and may miss the optimum. Fixed random state.
none          the first notes are put on each other in time, nothing is transposed, at the best of `tempos`
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from roslin.deadline import check_stopped, stop_flag
from roslin.errors import MelodyError
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.keys import local_keys
from roslin.represent.points import PITCHES, WEIGHTS, PointSets, point_sets
from roslin.transport.emd import GROUND_NAMES, GROUNDS, TABLE, tonal_costs
from roslin.types import Flags, Floats, Numbers
from roslin.values.parameters import Named, choice, real, reals

# -- a query, a document, and how they are compared --------------------------------------------------------------------
#
# Kernels read points, notes, frames and rules off these values (native/transport_inline.h describes the fields).


@dataclass(frozen=True, slots=True)
class Query:
    """A query in its own frame: times in units from its first note, pitches in units of time, weights as they are.

    `order` has the heaviest notes first; `time_unit` and `pitch_unit` turn quarters and pitches into units; `start` is
    the onset of its first note in quarters.
    """

    x: Floats
    y: Floats
    weight: Floats
    order: Numbers
    time_unit: float
    pitch_unit: float
    start: float

    @classmethod
    def of(cls, points: PointSets, setting: Setting, notes: slice = slice(None), unit: float | None = None) -> Query:
        """The first of some point sets, or only these notes of it, measured in `unit` quarters (else in its own)."""
        rows = np.arange(points.offsets[0], points.offsets[1])[notes]
        time, weight = points.time[rows], points.weight[rows]
        length = unit or unit_of(points, setting)
        order = np.argsort(-weight, kind="stable").astype(np.int64)
        start = float(time[0])
        scale = setting.pitch_scale
        return cls((time - start) / length, points.pitch[rows] * scale, weight, order, 1.0 / length, scale, start)


def unit_of(points: PointSets, setting: Setting) -> float:
    """The unit of time in quarters: one, or the mean length of the notes of the first point set."""
    if setting.unit == "quarter":
        return 1.0
    return float(points.duration[points.offsets[0] : points.offsets[1]].mean()) or 1.0


@dataclass(frozen=True, slots=True)
class Document:
    """One candidate: points in quarters and pitches.

    `table` has, for a tonal ground distance, how far apart a pitch and each note are, (128, notes); else it is empty.
    The moved query is heard in the document: the key is that of the document around each of its notes.
    """

    time: Floats
    pitch: Floats
    weight: Floats
    table: Floats

    @classmethod
    def of(cls, points: PointSets, number: int, setting: Setting) -> Document:
        """Number `number` of some point sets."""
        span = slice(points.offsets[number], points.offsets[number + 1])
        time, pitch, weight = points.time[span], points.pitch[span], points.weight[span]
        is_tonal = setting.ground == "tonal" and len(time) > 0
        table = tonal_costs(local_keys(time, pitch, weight), pitch) * setting.semitone if is_tonal else np.empty((0, 0))
        return cls(time, pitch, weight, table)


class Rules(NamedTuple):
    """A `Setting` in the numbers of the kernels.

    `missing` below 0: what has no partner costs nothing. `stop` is set when the time is over (`roslin.deadline`); then
    a kernel returns at once, with anything.
    """

    tempos: Floats
    scales_weights: bool
    missing: float
    ground: int
    stop: Flags


class Pair(NamedTuple):
    """A query, a document and how they are compared. The frame is the query's; the table is the document's."""

    query: Query
    document: Document
    frame: Query
    rules: Rules
    table: Floats


def rules_of(setting: Setting) -> Rules:
    """The setting as kernels take it."""
    return Rules(
        np.array(setting.tempos, dtype=np.float64),
        setting.scales_weights,
        -1.0 if setting.missing is None else float(setting.missing),
        GROUNDS.get(setting.ground, TABLE),
        stop_flag(),
    )


def pair_of(query: Query, document: Document, setting: Setting) -> Pair:
    """A query, a document and how they are compared, as kernels take them."""
    return Pair(query, document, query, rules_of(setting), document.table)


# -- methods of alignment ----------------------------------------------------------------------------------------------


class Placement(NamedTuple):
    """An alignment in the query's frame: shifts in time and in pitch, and the tempo."""

    distance: float
    x: float
    y: float
    tempo: float


# Coincidences of each tempo to start from, and of all optima those whose tempo is refined.
STARTS = 8
TEMPO_STARTS = 3

# Differential evolution as an optimiser of the paper's time would have run it: 30 individuals, 60 generations.
INDIVIDUALS = 30
GENERATIONS = 60
EVOLUTION_SEED = 2004


def unaligned(pair: Pair) -> Placement:
    """First note on first note in time, nothing transposed, at the best of the tempos."""
    tempos = pair.rules.tempos
    shifts = pair.document.time[0] * pair.frame.time_unit / tempos
    distances = _distances_at(pair, tempos, shifts, np.zeros(len(tempos)))
    best = int(np.argmin(distances))
    return Placement(float(distances[best]), float(shifts[best]), 0.0, float(tempos[best]))


def coincident(pair: Pair, limit: float = np.inf, counts: Numbers | None = None) -> Placement:
    """The best coincidence alignment at any of the tempos; infinite if none is within the limit."""
    found = np.empty(4)
    kernels.align_document(pair, limit, np.zeros(1, np.int64) if counts is None else counts, found)
    return Placement(*found.tolist())


def refined(pair: Pair) -> Placement:
    """The best local optimum over shift and transposition, and over tempo when there are several.

    It is never above the best coincidence; nothing certifies that it is the global optimum.
    """
    found = np.empty(4)
    kernels.refine(pair, STARTS, TEMPO_STARTS, np.zeros(1, np.int64), found)
    return Placement(*found.tolist())


def _distances_at(pair: Pair, tempos: Floats, shifts_x: Floats, shifts_y: Floats) -> Floats:
    """The distance at alignment after alignment."""
    distances = np.empty(len(tempos))
    kernels.distances_at(pair, tempos, shifts_x, shifts_y, distances)
    return distances


def evolved(pair: Pair) -> Placement:
    """The best individual (shift, transposition, tempo) of differential evolution.

    Shifts are sought wherever the query touches the document. With a tonal ground distance transpositions are rounded
    to semitones.
    """
    from scipy.optimize import differential_evolution

    query, document, frame, tempos = pair.query, pair.document, pair.frame, pair.rules.tempos
    pitches = document.pitch * frame.pitch_unit
    # The place of the query's first note in the document, in quarters: so that its meaning is the same at every tempo.
    starts = (float(document.time[0] - query.x[-1] / frame.time_unit * tempos.max()), float(document.time[-1]))
    heights = (float(pitches.min() - query.y.max()), float(pitches.max() - query.y.min()))
    bounds = [starts, heights, (float(np.log(tempos.min())), float(np.log(tempos.max())))]
    free = [low < high for low, high in bounds]
    fixed = np.array([low for low, _ in bounds])

    def alignments(values: Floats) -> tuple[Floats, Floats, Floats]:
        whole = np.repeat(fixed[:, None], values.shape[1], axis=1)
        whole[free] = values
        speeds = np.exp(whole[2])
        is_table = pair.rules.ground == TABLE
        return speeds, whole[0] * frame.time_unit / speeds, np.rint(whole[1]) if is_table else whole[1]

    def measure(values: Floats) -> Floats:
        return _distances_at(pair, *alignments(values.reshape(sum(free), -1)))

    ranges = np.array(bounds)[free]
    best = np.empty(0)
    if any(free):
        # scipy would make the population a multiple of the number of dimensions; ours has a fixed size.
        first = np.random.default_rng(EVOLUTION_SEED).uniform(ranges[:, 0], ranges[:, 1], (INDIVIDUALS, len(ranges)))
        best = differential_evolution(
            measure, ranges, init=first, maxiter=GENERATIONS, tol=0.0, polish=False, vectorized=True,
            updating="deferred", seed=EVOLUTION_SEED,
        ).x  # fmt: skip
    speeds, shifts_x, shifts_y = alignments(best.reshape(-1, 1))
    distance = _distances_at(pair, speeds, shifts_x, shifts_y)[0]
    return Placement(float(distance), float(shifts_x[0]), float(shifts_y[0]), float(speeds[0]))


# The best alignment of a pair.
ALIGNMENTS: dict[str, Callable[[Pair], Placement]] = {
    "coincidence": coincident,
    "refined": refined,
    "evolution": evolved,
    "none": unaligned,
}

# Lengths of time, which shrink when the document is played faster; the other schemes count notes.
_LENGTHS = ("accent", "duration", "stress")


@dataclass(frozen=True, slots=True)
class Alignment:
    """The place of the query in the document, and its distance."""

    distance: float
    tempo: float
    shift: float
    transposition: float


@dataclass(frozen=True, repr=False)
class Setting(Named):
    """How two melodies are compared: what a note is, how far apart two notes are, what may be moved."""

    name = "setting"
    summary = "How a query is moved onto a document, and how far apart two notes are."
    reference = "Typke, Wiering & Veltkamp 2007, sections 2.1-2.4"

    pitch: str = choice("semitone", *PITCHES)
    weight: str = choice("duration", *WEIGHTS)
    ground: str = choice("euclidean", *GROUND_NAMES)
    unit: str = choice("note", "note", "quarter")
    semitone: float = real(1.0, above=0)
    tempos: tuple[float, ...] = reals((1.0,), above=0)
    missing: float | None = real(2.0, least=0, optional=True)
    alignment: str = choice("coincidence", *ALIGNMENTS)

    def _check(self) -> None:
        if self.ground == "tonal" and self.pitch != "semitone":
            self._refuse(f"the tonal ground distance needs pitch 'semitone'; got {self.pitch!r}")

    @property
    def pitch_scale(self) -> float:
        """The factor of pitches. A tonal table takes plain pitches: the scale is in the table."""
        return 1.0 if self.ground == "tonal" else self.semitone

    @property
    def scales_weights(self) -> bool:
        """Whether weights are lengths of time."""
        return self.weight in _LENGTHS


def align(query: Melody, document: Melody, setting: Setting | None = None) -> Alignment:
    """The best alignment of a query with a document.

    >>> from roslin import load
    >>> align(load("'4CDE")[0], load("4-'GAB2''C")[0])
    Alignment(distance=0.0, tempo=1.0, shift=1.0, transposition=7.0)
    """
    chosen = setting or Setting()
    points = point_sets([query, document], pitch=chosen.pitch, weight=chosen.weight)
    for name, start, end in zip(("query", "document"), points.offsets[:-1], points.offsets[1:], strict=True):
        if not points.weight[start:end].sum() > 0:
            raise MelodyError(f"there is nothing to align: the {name} has no notes, or none with a weight")
    moving = Query.of(points, chosen)
    return in_quarters(moving, best_alignment(moving, Document.of(points, 1, chosen), chosen))


def best_alignment(query: Query, document: Document, setting: Setting) -> Placement:
    """The best alignment by the setting's method."""
    found = ALIGNMENTS[setting.alignment](pair_of(query, document, setting))
    check_stopped()
    return found


def in_quarters(query: Query, found: Placement) -> Alignment:
    """An alignment of the query's frame in quarters and pitches of the melodies."""
    shift = found.tempo * (found.x / query.time_unit - query.start)
    return Alignment(found.distance, found.tempo, shift, found.y / query.pitch_unit)


def aligned_points(
    query: Query, document: Document, setting: Setting, found: Placement
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """((points, weights) of the moved query, the same of the document), in the frame that is measured in."""
    moved = np.column_stack([query.x + found.x, query.y + found.y])
    still = np.column_stack([document.time * query.time_unit / found.tempo, document.pitch * query.pitch_unit])
    weight = document.weight / found.tempo if setting.scales_weights else document.weight
    return (moved, query.weight), (still, weight)
