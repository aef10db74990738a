"""The longest query that a matcher searches for: a whole symphony is refused with a clear line, before anything begins.

Without a limit of time nothing interrupts one comparison of two melodies, and with one, a query that is too long for a
single comparison finds nothing. `Matcher.pairs_at_once` pairs of notes take a second or two. A query is too long when
comparing it with a melody of its own length would take more than ten times that. For a matcher made of others, the
slowest decides.
"""

from __future__ import annotations

from math import isqrt

from roslin.errors import ArgumentError
from roslin.matchers import Matcher
from roslin.melody import Melody

_TIMES = 10


def longest_query(chosen: Matcher) -> int:
    """How many notes a query may have.

    >>> from roslin.matchers import matcher
    >>> longest_query(matcher("emd")), longest_query(matcher("dp")), longest_query(matcher("fuse(dp, emd)"))
    (447, 4472, 447)
    """
    members: tuple[Matcher, ...] = getattr(chosen, "members", ())
    return min(map(longest_query, members)) if members else isqrt(_TIMES * chosen.pairs_at_once)


def check_length(query: Melody, chosen: Matcher) -> None:
    """Refuse a query that would take too long to compare with a single melody."""
    most = longest_query(chosen)
    if len(query) > most:
        raise ArgumentError(
            f"the query has {len(query)} notes; {chosen.name} searches for at most {most}: "
            "search for a part of it, such as its first 40 notes (in Python, query[:40])"
        )
