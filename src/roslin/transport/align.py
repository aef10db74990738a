"""Alignment: the transposition, shift in time and tempo at which two melodies are nearest (paper 002, section 2.4).

The query moves, the document stays. A query note at `onset` (quarters) and `pitch` goes to

    tempo * onset + shift,   pitch + transposition

so tempo 2 means that the document's notes are twice as long. Four choices that the paper leaves open change rankings,
so they are made here on purpose; the paper's behaviour is always one of the options:

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

coincidence   some query note lies exactly on some document note, at one of `tempos`: a finite set, searched completely
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
import numpy.typing as npt

from roslin.deadline import check_stopped, stop_flag
from roslin.errors import MelodyError
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.keys import local_keys
from roslin.represent.points import PITCHES, WEIGHTS, PointSets, point_sets
from roslin.transport.emd import GROUND_NAMES, GROUNDS, TABLE, tonal_costs
from roslin.types import Flags, Floats, Numbers
from roslin.values.parameters import Named, choice, real, reals

# -- what the kernels take ---------------------------------------------------------------------------------------------
#
# Frame of the query: times in units from its first note, pitches in the same unit; `Frame` brings a document there.


class Points(NamedTuple):
    """The n points of one melody in the query's frame, in order of time. All fields are (n,).

    x        time, in units
    y        pitch, in units
    weight   in whatever the weights are
    order    numbers of the points, in the order in which bounds look at them: of a query the heaviest first
    """

    x: Floats
    y: Floats
    weight: Floats
    order: Numbers


class Notes(NamedTuple):
    """The notes of one document, or of many end to end, as they are stored. All fields are (notes,).

    time     onset in quarters, rising in each document
    pitch    in the pitches of the setting
    weight   in whatever the weights are
    """

    time: Floats
    pitch: Floats
    weight: Floats


class Frame(NamedTuple):
    """What brings a document into the query's frame, at tempo 1.

    time_unit    units in a quarter
    pitch_unit   units in a pitch
    """

    time_unit: float
    pitch_unit: float


class Rules(NamedTuple):
    """How melodies are compared: `align.Setting` in the numbers of the kernels.

    tempos           (tempos,): a document is played so many times as fast
    scales_weights   whether weights are lengths of time, which shrink when the document is played faster
    missing          cost of a unit of query weight without a partner; below 0: see `charge_and_base`
    ground           EUCLIDEAN, CITYBLOCK or TABLE
    stop             (1,): set when the time is over (`roslin.deadline`); then a kernel returns at once, with anything
    """

    tempos: Floats
    scales_weights: bool
    missing: float
    ground: int
    stop: Flags


class Pair(NamedTuple):
    """A query in its frame, a document, and how they are compared.

    table   (128, notes): how far apart a pitch and each note of the document are, in the key around the note and in
            units; (0, 0) if the ground is no TABLE
    """

    query: Points
    document: Notes
    frame: Frame
    rules: Rules
    table: Floats


# -- methods of alignment ----------------------------------------------------------------------------------------------


Found = tuple[float, float, float, float]

# Coincidences of each tempo to start from, and of all optima those whose tempo is refined.
STARTS = 8
TEMPO_STARTS = 3

# Differential evolution as an optimiser of the paper's time would have run it: 30 individuals, 60 generations.
INDIVIDUALS = 30
GENERATIONS = 60
EVOLUTION_SEED = 2004


def unaligned(pair: Pair) -> Found:
    """First note on first note in time, nothing transposed, at the best of the tempos."""
    tempos = pair.rules.tempos
    shifts = pair.document.time[0] * pair.frame.time_unit / tempos
    distances = _distances_at(pair, tempos, shifts, np.zeros(len(tempos)))
    best = int(np.argmin(distances))
    return float(distances[best]), float(shifts[best]), 0.0, float(tempos[best])


def coincident(pair: Pair, limit: float = np.inf, counts: Numbers | None = None) -> Found:
    """The best coincidence alignment at any of the tempos; infinite if none is within the limit."""
    found = np.empty(4)
    kernels.align_document(pair, limit, np.zeros(1, np.int64) if counts is None else counts, found)
    return _as_tuple(found)


def refined(pair: Pair) -> Found:
    """The best local optimum over shift and transposition, and over tempo when there are several.

    It is never above the best coincidence; nothing certifies that it is the global optimum.
    """
    found = np.empty(4)
    kernels.refine(pair, STARTS, TEMPO_STARTS, np.zeros(1, np.int64), found)
    return _as_tuple(found)


def _as_tuple(found: Floats) -> Found:
    distance, x, y, tempo = found.tolist()
    return distance, x, y, tempo


def _distances_at(pair: Pair, tempos: Floats, shifts_x: Floats, shifts_y: Floats) -> Floats:
    """The distance at alignment after alignment."""
    distances = np.empty(len(tempos))
    kernels.distances_at(pair, tempos, shifts_x, shifts_y, distances)
    return distances


def evolved(pair: Pair) -> Found:
    """The best individual (shift, transposition, tempo) of differential evolution.

    Shifts are sought wherever the query touches the document. With a tonal ground distance transpositions are rounded
    to semitones.
    """
    from scipy.optimize import differential_evolution

    query, document, frame, tempos = pair.query, pair.document, pair.frame, pair.rules.tempos
    pitches = document.pitch * frame.pitch_unit
    # Where in the document the query's first note lies, in quarters: so that it means the same at every tempo.
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
        # scipy would make the population a multiple of the number of dimensions; ours has a size of its own.
        first = np.random.default_rng(EVOLUTION_SEED).uniform(ranges[:, 0], ranges[:, 1], (INDIVIDUALS, len(ranges)))
        best = differential_evolution(
            measure, ranges, init=first, maxiter=GENERATIONS, tol=0.0, polish=False, vectorized=True,
            updating="deferred", seed=EVOLUTION_SEED,
        ).x  # fmt: skip
    speeds, shifts_x, shifts_y = alignments(best.reshape(-1, 1))
    distance = _distances_at(pair, speeds, shifts_x, shifts_y)[0]
    return float(distance), float(shifts_x[0]), float(shifts_y[0]), float(speeds[0])


# Lengths of time, which shrink when the document is played faster; the other schemes count notes.
_LENGTHS = ("accent", "duration", "stress")


@dataclass(frozen=True, slots=True)
class Query:
    """A query in its own frame: times in units from its first note, pitches in units of time, weights as they are.

    `order` has the heaviest notes first; `time_unit` and `pitch_unit` turn quarters and pitches into units; `start` is
    the onset of its first note in quarters.
    """

    x: Floats
    y: Floats
    weight: Floats
    order: npt.NDArray[np.int64]
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

    @property
    def points(self) -> Points:
        """Its points as the kernels take them."""
        return Points(self.x, self.y, self.weight, self.order)

    @property
    def frame(self) -> Frame:
        """Its frame as the kernels take it."""
        return Frame(float(self.time_unit), float(self.pitch_unit))


def unit_of(points: PointSets, setting: Setting) -> float:
    """The unit of time in quarters: one, or the mean length of the notes of the first point set."""
    if setting.unit == "quarter":
        return 1.0
    return float(points.duration[points.offsets[0] : points.offsets[1]].mean()) or 1.0


@dataclass(frozen=True, slots=True)
class Alignment:
    """The place of the query in the document, and its distance."""

    distance: float
    tempo: float
    shift: float
    transposition: float


@dataclass(frozen=True, slots=True)
class Document:
    """One candidate: points in quarters and pitches, and the table of a tonal ground distance (else empty).

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
        table = tonal_costs(local_keys(time, pitch, weight), pitch) * setting.semitone if is_tonal else _NO_TABLE
        return cls(time, pitch, weight, table)

    @property
    def notes(self) -> Notes:
        """Its points as the kernels take them."""
        return Notes(self.time, self.pitch, self.weight)


_NO_TABLE = np.empty((0, 0))

# A method: the best (distance, shift in time, shift in pitch, tempo), shifts in units of the query's frame.
Method = Callable[[Query, Document, "Setting"], tuple[float, float, float, float]]


def rules_of(setting: Setting) -> Rules:
    """The setting in the numbers of the kernels; `missing` below 0: what has no partner costs nothing."""
    return Rules(
        np.array(setting.tempos, dtype=np.float64),
        setting.scales_weights,
        -1.0 if setting.missing is None else float(setting.missing),
        GROUNDS.get(setting.ground, TABLE),
        stop_flag(),
    )


def notes_of(points: PointSets) -> Notes:
    """Point sets, end to end, as the kernels take them."""
    return Notes(points.time, points.pitch, points.weight)


def pair_of(query: Query, document: Document, setting: Setting) -> Pair:
    """A query, a document and how they are compared, as the kernels take them."""
    return Pair(query.points, document.notes, query.frame, rules_of(setting), document.table)


def _by(method: Callable[[Pair], tuple[float, float, float, float]]) -> Method:
    def aligned(query: Query, document: Document, setting: Setting) -> tuple[float, float, float, float]:
        found = method(pair_of(query, document, setting))
        check_stopped()
        return found

    return aligned


ALIGNMENTS: dict[str, Method] = {
    "coincidence": _by(coincident),
    "refined": _by(refined),
    "evolution": _by(evolved),
    "none": _by(unaligned),
}


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
        """What pitches are multiplied with. A tonal table takes plain pitches: the scale is in the table."""
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
    distance, x, y, tempo = ALIGNMENTS[chosen.alignment](moving, Document.of(points, 1, chosen), chosen)
    return in_quarters(moving, distance, x, y, tempo)


def in_quarters(query: Query, distance: float, x: float, y: float, tempo: float) -> Alignment:
    """An alignment of the query's frame in quarters and pitches of the melodies."""
    return Alignment(distance, tempo, tempo * (x / query.time_unit - query.start), y / query.pitch_unit)


def aligned_points(
    query: Query, document: Document, setting: Setting, x: float, y: float, tempo: float
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """((points, weights) of the moved query, the same of the document), in the frame that is measured in."""
    moved = np.column_stack([query.x + x, query.y + y])
    still = np.column_stack([document.time * query.time_unit / tempo, document.pitch * query.pitch_unit])
    return (moved, query.weight), (still, document.weight / tempo if setting.scales_weights else document.weight)
