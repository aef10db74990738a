"""A format: melodies as syllables, a line for each."""

from roslin import Melody, register_format
from roslin.errors import Problem
from roslin.notation import Format, Record

PITCHES = {"do": 60, "re": 62, "mi": 64, "fa": 65, "so": 67, "la": 69, "ti": 71}


def read(stream, *, strict):
    """One record for each line, read or refused."""
    for number, line in enumerate(stream.read().decode("utf-8").splitlines(), start=1):
        words = line.removeprefix("solfa:").split()
        unknown = [word for word in words if word not in PITCHES]
        problems = tuple(Problem("unknown syllable", "one of do, re, mi ...", word, line=number) for word in unknown)
        known = [PITCHES[word] for word in words if word in PITCHES]
        if not known or (strict and problems):
            yield Record(None, problems or (Problem("no notes", "a syllable", line, line=number),))
        else:
            yield Record(Melody.from_notes(range(len(known)), [1] * len(known), known), problems)


register_format(
    Format("solfa", "Syllables, a quarter each", (".solfa",), lambda head: head.startswith(b"solfa:"), read)
)
