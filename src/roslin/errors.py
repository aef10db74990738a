"""Every way in which Roslin refuses something, in one place.

`RoslinError` is the root: catch it to catch all of them. A `LossError`, a change that would lose melodies, has to be
asked for by name.

`ReadingWarning` is no refusal: it lists the parts of a query that were reinterpreted.

A `Problem` is the same information as a value: readers collect problems when they are asked to recover what they
can, and raise the first one as a `NotationError` when they are not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

_LONGEST_SHOWN = 80
_LONGEST_FOUND = 400  # of the `found` of a problem; readers shorten long texts themselves where less is enough


def shortened(text: str, most: int = _LONGEST_SHOWN) -> str:
    """A text from a file, short enough for a message: an id may have 200,000 letters.

    >>> shortened("a" * 1000, 10)
    'aaaaaaaaa… (1,000 characters)'
    """
    return text if len(text) <= most else f"{text[: most - 1]}… ({len(text):,} characters)"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an input. Lines and columns count from 1; 0 means that there is none.

    `taken` is how `found` was read, if reading continued; "nothing" if it was left out. `is_damage` means that an
    unknown number of melodies was lost here: the source broke off, or is not what it claims.
    """

    reason: str
    expected: str = ""
    found: str = ""
    column: int = 0
    line: int = 0
    file: str = ""
    record: str = ""
    taken: str = ""
    is_damage: bool = False

    def at(self, *, file: str = "", line: int = 0, record: str = "") -> Problem:
        """The same problem, with what is not yet known of its place filled in."""
        return replace(self, file=self.file or file, line=self.line or line, record=self.record or record)

    def __str__(self) -> str:
        place = ":".join(part for part in (self.file, str(self.line or "")) if part)
        where = [part for part in (place, self.record, f"column {self.column}" if self.column else "") if part]
        what = [self.reason]
        if self.expected:
            what.append(f"expected {self.expected}")
        if self.found:
            what.append(f"found {shortened(self.found, _LONGEST_FOUND)}")
        return ", ".join(where) + (": " if where else "") + "; ".join(what)


class RoslinError(Exception):
    """The base class of all errors of Roslin."""


class NotationError(RoslinError):
    """Music that cannot be read. `problem` has the place and the reason."""

    def __init__(self, problem: Problem):
        super().__init__(str(problem))
        self.problem = problem

    def __reduce__(self) -> tuple[type[NotationError], tuple[Problem]]:
        return type(self), (self.problem,)


class FormatError(RoslinError):
    """A notation that is unknown, or a file that is refused before it is read."""


class ReadingWarning(UserWarning):
    """A query that was reinterpreted; `Melody.problems` has the same in parts."""


class MelodyError(RoslinError):
    """Notes that cannot form a melody."""


class CollectionError(RoslinError):
    """A collection folder that cannot be used as asked."""


class DamagedError(CollectionError):
    """A collection folder that is damaged or incomplete."""


class LossError(CollectionError):
    """A change of a collection that would lose melodies."""


class SourceError(LossError):
    """A source that is damaged, is not recognised, or gives no melody."""


class SmallerError(LossError):
    """A rebuild with far fewer melodies than before."""


class ChangedError(LossError):
    """Melodies that are in the collection with other content."""


class SandboxError(RoslinError):
    """A task in the worker process crashed, took too long, or refused its input."""


class HungError(SandboxError):
    """The worker process gave no answer in time."""


class CrashedError(SandboxError):
    """The worker process crashed."""


class ExperimentError(RoslinError):
    """A study that cannot be used as asked."""


class FrozenError(ExperimentError):
    """A change of what a running study has frozen."""


class DecisionError(ExperimentError):
    """A decision that its trial does not allow: a candidate that was not shown, a trial that is finished."""


class NotKeptError(ExperimentError):
    """The database did not keep what it was given: nothing of it was written, and it may be sent again."""


class UnknownExpertError(ExperimentError):
    """No participant has this name, or they have withdrawn."""


class ArgumentError(RoslinError, ValueError):
    """An invalid argument."""


class PlaceError(ArgumentError, IndexError):
    """A place outside a sequence."""


class FilterError(RoslinError):
    """An invalid filter."""


class PluginError(RoslinError):
    """A plug-in (matcher, metric or format) that cannot be loaded or returns an invalid value."""


class ClusterError(RoslinError):
    """A cluster that cannot be reached, or is lost on the way."""


class HarvestError(RoslinError):
    """A server whose records cannot be fetched."""


class TimeLimitError(RoslinError):
    """A search that exceeded its time limit."""


class BusyError(RoslinError):
    """There are too many simultaneous requests."""


class UnknownNameError(RoslinError):
    """A name that is not registered."""

    def __init__(self, kind: str, name: str, known: Iterable[str]):
        self.kind, self.name, self.known = kind, name, tuple(known)
        super().__init__(f"unknown {kind} {shortened(name)!r}; known: {', '.join(map(shortened, self.known))}")

    def __reduce__(self) -> tuple[type[UnknownNameError], tuple[str, str, tuple[str, ...]]]:
        return type(self), (self.kind, self.name, self.known)


class UnknownRecordError(UnknownNameError):
    """A record that is not in the collection."""

    def __init__(self, kind: str, name: str, known: Iterable[str]):
        super().__init__(kind, name, known)
        similar = f"; similar: {', '.join(map(shortened, self.known))}" if self.known else ""
        self.args = (f"no record with the number {shortened(name)} is in the collection{similar}",)


class MissingExtraError(RoslinError):
    """A library that only an extra of the package installs."""

    def __init__(self, what: str, library: str, extra: str):
        self.what, self.library, self.extra = what, library, extra
        command = f'pip install "roslin[{extra}]" (in a clone: tools/environment.sh {extra})'
        super().__init__(f"{what} needs {library}, which is not installed; install it with: {command}")

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str, str]]:
        return type(self), (self.what, self.library, self.extra)
