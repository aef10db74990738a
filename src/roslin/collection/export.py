"""A collection written out for others: JSON Lines (reads back to the same collection), Plaine & Easie, Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from roslin.errors import FormatError, NotationError, UnknownNameError
from roslin.melody import Melody
from roslin.notation import jsonl, pae
from roslin.notation.record import METADATA_FIELDS
from roslin.rows import library, replacing

_PARQUET_ROWS = 10_000


def export(melodies: Iterable[Melody], target: str | Path, format: str | None = None) -> tuple[int, int]:
    """Write melodies to a file; (how many were written, how many the format cannot hold).

    The suffix decides the format unless one is given. The file appears when it is complete.
    """
    target = Path(target)
    name = format or {".parquet": "parquet", ".pae": "pae", ".jsonl": "jsonl"}.get(target.suffix)
    if name not in EXPORTS:
        raise UnknownNameError("export format", name or target.suffix, sorted(EXPORTS))
    try:
        with replacing(target) as unfinished:
            return EXPORTS[name](melodies, unfinished)
    except OSError as error:
        raise FormatError(f"{target}: cannot be written: {error.strerror or error}") from error


def _export_jsonl(melodies: Iterable[Melody], target: Path) -> tuple[int, int]:
    count = 0
    with target.open("w", encoding="utf-8") as file:
        for count, melody in enumerate(melodies, start=1):  # noqa: B007 - the last count is the answer
            file.write(jsonl.write_jsonl(melody) + "\n")
    return count, 0


def _export_pae(melodies: Iterable[Melody], target: Path) -> tuple[int, int]:
    """`@start:ID ... @end:ID` blocks of fields, the music rewritten in the code's own spelling."""
    written = skipped = 0
    with target.open("w", encoding="utf-8") as file:
        for melody in melodies:
            try:
                fields = pae.write(melody, "fields")
            except NotationError:
                skipped += 1
                continue
            known = {name: " ".join((getattr(melody, name) or "").split()) for name in ("title", "composer")}
            named = [f"@{name}:{text}" for name, text in known.items() if text]
            file.write("\n".join([f"@start:{melody.id}", *named, fields, f"@end:{melody.id}", "", ""]))
            written += 1
    return written, skipped


def _export_parquet(melodies: Iterable[Melody], target: Path) -> tuple[int, int]:
    arrow = library("pyarrow", "writing Parquet", "parquet")
    from pyarrow import parquet

    note = arrow.struct([(name, getattr(arrow, kind)()) for name, kind in _NOTE_TYPES.items()])
    schema = arrow.schema([(name, arrow.string()) for name in _TEXT_COLUMNS] + [("notes", arrow.list_(note))])
    count, rest = 0, iter(melodies)
    with parquet.ParquetWriter(target, schema) as writer:
        while True:
            rows = [_parquet_row(melody) for melody in islice(rest, _PARQUET_ROWS)]
            writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
            count += len(rows)
            if len(rows) < _PARQUET_ROWS:
                return count, 0


_TEXT_COLUMNS = (*METADATA_FIELDS, "clef", "key_signature", "metre", "music", "notation")
_NOTE_TYPES = {
    "onset_ticks": "int64", "duration_ticks": "int64", "pitch_midi": "int16", "pitch_base40": "int16",
    "is_grace": "bool_", "voice": "int16",
}  # fmt: skip


def _parquet_row(melody: Melody) -> dict[str, Any]:
    columns = list(_NOTE_TYPES)
    notes = [dict(zip(columns, row, strict=True)) for row in melody.notes[columns].tolist()]
    return {name: getattr(melody, name) for name in _TEXT_COLUMNS} | {"notes": notes}


EXPORTS: dict[str, Callable[[Iterable[Melody], Path], tuple[int, int]]] = {
    "jsonl": _export_jsonl,
    "pae": _export_pae,
    "parquet": _export_parquet,
}
