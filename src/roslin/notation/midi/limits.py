"""How much of a MIDI file is read, at most. Each holds for a whole file; docs/concepts/reading/scores.md has more."""

from __future__ import annotations

MAX_BYTES = 16 * 2**20
MAX_NOTES = 200_000
MAX_EVENTS = 1_000_000
MAX_TRACKS = 256
MAX_SIGNATURES = 2_000
MAX_BARLINES = 20_000
MAX_TEXT = 300
