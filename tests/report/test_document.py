"""Pages as such: they need nothing but themselves, and their markup comes from templates."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import roslin.report
from roslin.display.templates import environment, render
from roslin.report.document import document, said_of_file, versions

SOURCE = Path(roslin.report.__file__).parents[1]
MODULES = sorted(path for room in ("report", "web") for path in (SOURCE / room).rglob("*.py"))


def markup(source: str) -> list[str]:
    """Elements that stand in strings with values in them."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
            found += re.findall(r"</?[a-z][a-z0-9]*[ >/]", text)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_markup_is_put_together_from_strings(path: Path) -> None:
    assert markup(path.read_text("utf-8")) == []


def test_the_check_sees_markup() -> None:
    assert markup('f"<p>{x}</p>"') == ["<p>", "</p>"]
    assert markup('f"p < {x} and {y} > z"') == []


@pytest.mark.parametrize("name", environment().list_templates())
def test_every_template_can_be_read(name: str) -> None:
    environment().get_template(name)  # raises what is wrong with it


def test_a_page_without_a_script_runs_none() -> None:
    base = render("report/base.html", heading="<Heading> & more")
    assert "<title>&lt;Heading&gt; &amp; more</title>" in base
    assert "<h1>&lt;Heading&gt; &amp; more</h1>" in base
    assert "content=\"default-src 'none'; style-src 'unsafe-inline'\"" in base
    assert "<script" not in base
    assert "; script-src 'unsafe-inline'\"" in document("melodies.html", heading="x")


def test_a_value_that_is_forgotten_is_an_error() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="'heading' is undefined"):
        document("base.html")


def test_where_a_page_comes_from(tmp_path: Path) -> None:
    assert re.fullmatch(r"Roslin [\d.]+, numpy [\d.]+", versions("numpy"))
    assert re.fullmatch(r"Roslin [\d.]+, Python [\d.]+\w*, numpy [\d.]+", versions("numpy", python=True))
    path = tmp_path / "a.run"
    path.write_text("abc")
    checksum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, appendix B.1
    assert said_of_file("run", path) == f"run {path}, SHA-256 {checksum}"
