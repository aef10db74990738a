"""roslin mcp: the tools of the Model Context Protocol, asked by the client of the package mcp."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from tests.cli.program import roslin

from roslin import Collection
from roslin.cli import assistants
from roslin.errors import MissingExtraError
from roslin.starter import tunes_path

TWINKLE = "'4CCGGAA2G4FFEEDD2C"


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mcp") / "starter.roslin"
    roslin("collection", "build", tunes_path(), path)
    roslin("concordances", path)
    return path


def asked(server: Any, *calls: tuple[str, dict[str, Any]]) -> tuple[dict[str, Any], list[Any]]:
    """The tools of a server by their names, and its answers: values, or the text of a refusal."""

    async def talk() -> tuple[dict[str, Any], list[Any]]:
        async with Client(server) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            answers = [await client.call_tool(name, arguments) for name, arguments in calls]
        texts = [getattr(answer.content[0], "text", "") for answer in answers]
        return tools, [
            text if answer.is_error else json.loads(text) for answer, text in zip(answers, texts, strict=True)
        ]

    return asyncio.run(talk())


@pytest.mark.long
def test_a_process_answers_every_tool(starter: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in starter.iterdir() if path.suffix in (".sqlite", ".npy")}
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "roslin", "mcp", str(starter)], env=dict(os.environ)
    )
    tools, (found, why, tune, who, others) = asked(
        command,
        ("search", {"query": TWINKLE, "k": 3}),
        ("explain", {"query": TWINKLE, "melody": "ah-vous-dirai-je-2"}),
        ("melody", {"id": "roslin-castle"}),
        ("identify", {"source": TWINKLE}),
        ("concordances", {"melody": "ah-vous-dirai-je"}),
    )
    assert set(tools) == {"search", "explain", "melody", "identify", "concordances"}
    for tool in tools.values():
        assert tool.annotations.read_only_hint
        assert tool.description
    with Collection(starter) as collection:
        run = collection.search(TWINKLE, k=3)
    assert found["headline"] == run.headline
    assert [(row["id"], row["distance"], row["meaning"]) for row in found["results"]] == [
        (hit.id, hit.distance, hit.meaning) for hit in run
    ]
    assert found["results"][0]["title"] == "Ah ! vous dirai-je, maman"
    assert (why["meaning"], why["melody"]["id"]) == ("same notes", "ah-vous-dirai-je-2")
    assert why["sentence"]
    assert len(why["steps"]) >= 13
    assert tune["title"] == "Roslin Castle (The House of Glamis)"
    assert who["searched"] == 243
    assert {row["id"] for row in others["sources"]} >= {"ah-vous-dirai-je-2"}
    assert {path.name: path.stat().st_mtime_ns for path in starter.iterdir() if path.name in before} == before


def test_wrong_arguments_have_clear_errors(starter: Path, tmp_path: Path) -> None:
    secret = tmp_path / "query.pae"
    secret.write_text(TWINKLE)
    bare = Path(shutil.copytree(starter, tmp_path / "bare.roslin"))
    with Collection(bare) as collection:
        _, answers = asked(
            assistants.tools_of(collection),
            ("search", {}),
            ("search", {"query": "nothing like music"}),
            ("search", {"query": TWINKLE, "k": 0}),
            ("search", {"query": TWINKLE, "compare": "colour"}),
            ("search", {"query": str(secret)}),
            ("identify", {"source": str(secret)}),
            ("explain", {"query": TWINKLE, "melody": "roslin-castel"}),
            ("concordances", {"melody": "roslin-castle"}),
        )
    expected = [
        "query\n  Field required",
        "Error executing tool search: ",
        "k must be from 1 to 100; got 0",
        "unknown compare 'colour'; known: both, melody, rhythm, contour",
        "a query must be notation, note names or an id; files are not read here",
        "a query must be notation, note names or an id; files are not read here",
        "unknown melody 'roslin-castel'",
        "no concordances that can be read",
    ]
    for answer, part in zip(answers, expected, strict=True):
        assert isinstance(answer, str)
        assert part in answer


@pytest.mark.filterwarnings("ignore::roslin.errors.ReadingWarning")
def test_a_query_may_be_an_id_and_has_its_deviations(starter: Path) -> None:
    with Collection(starter) as collection:
        _, (own, typed) = asked(
            assistants.tools_of(collection),
            ("search", {"query": "roslin-castle", "k": 1}),
            ("search", {"query": "%G-2@2/4 '4CC/GG/AA/2G/4FF/EE/DD/2C3x", "k": 1}),
        )
    assert own["results"][0]["id"].startswith("roslin-castle")
    assert typed["remarks"]


def test_without_the_extra(starter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    with pytest.raises(MissingExtraError, match=r'roslin mcp needs mcp.server, .*pip install "roslin\[mcp\]"'):
        assistants.mcp_command(starter)
