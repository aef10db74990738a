"""Pages with melodies: the results of a search, and what else shows notation with a button that plays it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from roslin.melody import Melody
from roslin.report.frame import framed
from roslin.report.player import PLAYER_STYLE, melody_figure, player_script
from roslin.run import Run

__all__ = ["page", "results_page"]

_STYLE = """
h2 { font-size: 1.05rem; margin: 0; }
p { margin: .25rem 0; color: var(--soft); }
ol { list-style: none; margin: 1.5rem 0; padding: 0; }
li, .query { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem;
  margin: 0 0 .8rem; break-inside: avoid; }
.head { display: flex; gap: 1rem; align-items: baseline; justify-content: space-between; }
.distance { font-variant-numeric: tabular-nums; white-space: nowrap; color: var(--soft); }
.rank { color: var(--soft); font-variant-numeric: tabular-nums; margin-right: .5rem; }
code { color: var(--soft); }
footer { font-size: .85rem; color: var(--soft); }
"""


def results_page(query: Melody, run: Run, melodies: Sequence[Melody], note: str) -> str:
    """A ranked list as a page. `melodies` are those of the run, in its order; `note` says how it was made."""
    heading = f"Melodies like {query.title or query.id or 'the query'}"
    cards = "\n".join(_card(hit.rank, hit.distance, melody) for hit, melody in zip(run.hits, melodies, strict=True))
    about = f"{len(run)} results, most similar first. Matcher: {run.name}; a smaller distance is more similar."
    body = f"""<p>{escape(about)}</p>
<section class="query" aria-label="Query">
<h2>The query</h2>
{melody_figure(query, "the query", "query-")}
</section>
<ol>
{cards}
</ol>
<footer><p>{escape(note)}</p></footer>"""
    return page(heading, body)


def page(heading: str, body: str) -> str:
    """A whole page: its heading, and under it a body with figures of melodies."""
    return framed(heading, body, _STYLE + PLAYER_STYLE, player_script())


def _card(rank: int, distance: float, melody: Melody) -> str:
    about = ", ".join(part for part in (melody.composer, melody.key, melody.metre, melody.voice) if part)
    name = melody.title or melody.id or "untitled"
    return f"""<li>
<div class="head"><h2><span class="rank">{rank}</span>{escape(name)}</h2>
<span class="distance">distance {distance:.3f}</span></div>
<p>{escape(about)}</p>
{melody_figure(melody, name, f"result-{rank}-")}
<code>{escape(melody.id or "")}</code>
</li>"""
