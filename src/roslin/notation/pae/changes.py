"""Changes of clef, key and metre within the music."""

from __future__ import annotations

import re

from roslin.errors import Problem, shortened
from roslin.melody import SignatureChange
from roslin.notation.pae import signs
from roslin.notation.pae.music import Music
from roslin.notation.pae.signatures import read_clef, read_key_signature, read_time_signature


def clef_change(music: Music) -> None:
    """% and a clef."""
    match = music.match(signs.CLEF_CHANGE)
    clef, problem = read_clef(match[1] or "")
    _change(music, match, problem, SignatureChange(music.time, clef=clef))


def key_change(music: Music) -> None:
    """$ and a key signature, which a space ends."""
    match = music.match(signs.KEY_CHANGE)
    in_order = music.match(signs.KEY_IN_ORDER)
    following = music.text[match.end() : match.end() + 1]
    notes_may_follow = following in ("", "/") and in_order.end() < match.end()
    if following not in ("", " ", "@", "%", "$", "/") or notes_may_follow:
        # Without the space that ends it, only letters in the usual order belong to the signature.
        expected = f"{in_order[0]!r} and a space"
        found = shortened(match[0])
        music.problem("no space after a key signature", match.start() + 1, expected, found, in_order[0])
        match = in_order
    key = read_key_signature(match[1])
    music.alterations = key.alterations
    _change(music, match, key.problem, SignatureChange(music.time, key_signature=key.text))


def time_change(music: Music) -> None:
    """@ and a time signature."""
    new_metre(music, music.match(signs.TIME_CHANGE))


def new_metre(music: Music, match: re.Match[str]) -> None:
    """Go on in the metre that was found."""
    time = read_time_signature(match[1] or "")
    if match[1]:
        music.measure = time.measure_ticks
    _change(music, match, time.problem, SignatureChange(music.time, metre=time.text))


def _change(music: Music, match: re.Match[str], problem: Problem | None, change: SignatureChange) -> None:
    if problem is not None:
        music.problem(problem.reason, match.start() + 1, problem.expected, problem.found, problem.taken)
    if problem is None or change.clef or change.key_signature or change.metre:
        music.changes.append(change)
    music.position = match.end()
