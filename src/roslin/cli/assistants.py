"""roslin mcp: a collection as tools for assistants, by the Model Context Protocol over standard input and output.

The tools only read. A query is notation as text and never the name of a file, so that an assistant cannot open files.
"""

from __future__ import annotations

import functools
import json
import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from roslin.cli.options import CollectionArgument, needs_extra

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from roslin.api import Collection
    from roslin.api.selection import Query

Answer = dict[str, Any]

_INSTRUCTIONS = (
    "Search and compare the melodies of a music collection. A query is Plaine & Easie, ABC or note names such as "
    "'c c g g a a g', or the id of a melody of the collection. Each result has a label, from 'same notes' to 'no more "
    "alike than chance', and the number of melodies expected to match as well by chance. Quote both, and the ids."
)
_SECONDS = 60.0
_MOST = 100
_ABOUT = ("title", "composer", "key", "metre", "source")


def mcp_command(collection: CollectionArgument) -> None:
    """Let an assistant search a collection (Model Context Protocol over standard input and output).

    The assistant starts this command itself. It can search, explain, identify and list concordances, and change
    nothing.

    Example: roslin mcp mine.roslin
    """
    from roslin.api import Collection
    from roslin.errors import ReadingWarning

    with needs_extra("roslin mcp", "mcp"), Collection(collection) as opened:
        server = tools_of(opened)
        warnings.simplefilter("ignore", ReadingWarning)  # answers contain these deviations
        sys.stdin.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        server.run("stdio")


def tools_of(collection: Collection) -> MCPServer:
    """A server with the tools of a collection."""
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp_types import ToolAnnotations

    from roslin.errors import RoslinError

    server = MCPServer("roslin", instructions=_INSTRUCTIONS, log_level="ERROR")
    only_reads = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    reading = _Reading(collection)

    def tool(function: Callable[..., Answer]) -> None:
        @functools.wraps(function)
        def answered(*arguments: Any, **named: Any) -> Answer:
            try:
                return function(*arguments, **named)
            except RoslinError as error:
                raise ToolError(str(error)) from error

        server.add_tool(answered, annotations=only_reads)

    for function in (reading.search, reading.explain, reading.melody, reading.identify, reading.concordances):
        tool(function)
    return server


class _Reading:
    """The tools: each asks the collection as every other program does, and answers in words and numbers."""

    def __init__(self, collection: Collection):
        self._collection = collection

    def search(self, query: str, k: int = 10, compare: str = "", place: str = "", key: str = "") -> Answer:
        """Find the melodies most similar to a query, best evidence first.

        query: notation or note names, or the id of a melody. k: number of results, at most 100. compare: both, melody,
        rhythm or contour. place: anywhere, start, end or whole. key: any or written. Leave the last three empty for the
        default.
        """
        from roslin.errors import ArgumentError

        if not 1 <= k <= _MOST:
            raise ArgumentError(f"k must be from 1 to {_MOST}; got {k}")
        asked = self._query(query)
        run = self._collection.search(
            asked, k=k, compare=compare or None, place=place or None, key=key or None, seconds=_SECONDS
        )
        results = [
            {"rank": rank, "id": hit.id, "meaning": hit.meaning, "expected_by_chance": hit.expected}
            | {"distance": hit.distance, **self._about(hit.id)}
            for rank, hit in enumerate(run, start=1)
        ]
        return {"headline": run.headline, "remarks": [*run.remarks, *_deviations(asked)], "results": results}

    def explain(self, query: str, melody: str) -> Answer:
        """Explain why a melody matches a query: transposition, tempo, and what happens to each note.

        query: notation or note names, or the id of a melody. melody: the id of a melody.
        """
        asked = self._query(query)
        found = self._collection.explain(asked, melody)
        hit = self._collection.found_as(asked, melody, seconds=_SECONDS)
        steps = [{"kind": step.kind, "words": step.words, "cost": step.cost} for step in found.steps]
        known = {} if hit is None else {"meaning": hit.meaning, "expected_by_chance": hit.expected}
        told = {name: getattr(found, name) for name in ("sentence", "transposition", "tempo")}
        return {"melody": {"id": melody, **self._about(melody)}, **told, **known, "steps": steps}

    def melody(self, id: str) -> Answer:
        """Show one melody: its metadata, notation and notes. Times are in 40320ths of a quarter note."""
        from roslin.notation.jsonl import write_jsonl

        found: Answer = json.loads(write_jsonl(self._collection[id]))
        return found

    def identify(self, source: str) -> Answer:
        """Suggest the composer of a source from other sources of the same tune, the most certain first.

        source: an incipit as notation, or the number of a record of the collection.
        """
        return self._collection.identify(_text(source), seconds=_SECONDS).to_dict()

    def concordances(self, melody: str) -> Answer:
        """List the other sources of the tune of a melody that `roslin concordances` found, with their probability.

        melody: the id of a melody.
        """
        from roslin.concordances.concordance import Concordances, concordances_folder

        number = int(self._collection.numbers([melody])[0])
        pairs = Concordances.read(concordances_folder(self._collection.path), self._collection).pairs
        found = [
            (float(probability), int(two if one == number else one))
            for one, two, probability in zip(pairs.first, pairs.second, pairs.probabilities, strict=True)
            if number in (one, two)
        ]
        others = [(self._collection.ids([other])[0], probability) for probability, other in sorted(found, reverse=True)]
        return {"melody": melody, "sources": [{"id": id, "probability": p, **self._about(id)} for id, p in others]}

    def _query(self, text: str) -> Query:
        return self._collection[text] if text in self._collection else _text(text)

    def _about(self, id: str) -> Answer:
        melody = self._collection[id]
        return {name: value for name in _ABOUT if (value := getattr(melody, name))}


def _text(text: str) -> str:
    from roslin.errors import ArgumentError
    from roslin.notation import is_path

    if is_path(text):
        raise ArgumentError("a query must be notation, note names or an id; files are not read here")
    return text


def _deviations(asked: Query) -> list[str]:
    from roslin.notation.query import readings

    return list(readings(asked)[0].deviations) if isinstance(asked, str) else []
