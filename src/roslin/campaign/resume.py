"""What a campaign has done so far, kept on disk: one row for each system and query, in a small SQLite file.

A row is written when its list is complete, in one transaction: a process killed at any moment loses the list that it
was working on, and no other. A row is found by a key made of everything that its list depends on, so a list is never
taken for that of another collection, parameter or version.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Self

from roslin.errors import CollectionError
from roslin.run import Ranking

__all__ = ["Finished"]

_TABLE = """CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, system TEXT NOT NULL, query TEXT NOT NULL,
    ids TEXT NOT NULL, distances TEXT NOT NULL, is_cut_in_a_tie INTEGER NOT NULL, refusal TEXT NOT NULL,
    seconds REAL NOT NULL
)"""


class Finished:
    """Finished lists by key. Use as a context manager."""

    def __init__(self, path: Path):
        self.path = path
        try:
            self._connection = sqlite3.connect(path)
            # A commit needs no waiting for the disk: a power cut may cost the last answers, never the file.
            self._connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")
            self._connection.execute(_TABLE)
        except sqlite3.Error as error:
            raise CollectionError(f"{path}: cannot be used ({error}); remove it to begin the campaign again") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, key: str, query: str) -> Ranking | None:
        """The list under a key, if it is there."""
        row = self._connection.execute(
            "SELECT ids, distances, is_cut_in_a_tie, seconds, refusal FROM answers WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return None
        ids, distances, is_cut, seconds, refusal = row
        return Ranking(query, tuple(json.loads(ids)), tuple(json.loads(distances)), seconds, refusal, bool(is_cut))

    def put(self, key: str, system: str, ranking: Ranking) -> None:
        """Keep a list. System and query are for people who look into the file."""
        with self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    key,
                    system,
                    ranking.query,
                    json.dumps(ranking.ids, ensure_ascii=False),
                    json.dumps(ranking.values),
                    ranking.is_cut_in_a_tie,
                    ranking.refusal,
                    ranking.seconds,
                ),
            )
