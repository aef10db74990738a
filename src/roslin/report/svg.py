"""Drawings as SVG, inside a page or alone: the one way in which plots are drawn.

A drawing is a tree of elements, written and escaped by one template. Elements get their colours and fonts from classes
(`plots.css`), which take the colours of the page around them and have colours of their own where there is none: a
drawing can be read on light and dark ground, and in print. Lengths are in pixels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from roslin.display.templates import render

_VIEW_BOX = re.compile(r'viewBox="([^"]+)"')


@dataclass(frozen=True, slots=True)
class SvgElement:
    """One element: its attributes, what is written in it, and the tooltip."""

    tag: str
    attributes: dict[str, Any]
    text: str = ""
    said: str = ""
    inside: tuple[SvgElement, ...] = field(default=())


def line(kind: str, x1: float, y1: float, x2: float, y2: float, said: str = "", **attributes: Any) -> SvgElement:
    """A straight line."""
    at = _rounded(x1=x1, y1=y1, x2=x2, y2=y2)
    return SvgElement("line", {"class": kind, **at, **_written(attributes)}, said=said)


def path(kind: str, points: Iterable[tuple[float, float]], **attributes: Any) -> SvgElement:
    """A line through points."""
    through = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
    return SvgElement("polyline", {"class": kind, "points": through, **attributes})


def rect(kind: str, x: float, y: float, width: float, height: float, said: str = "", **attributes: Any) -> SvgElement:
    """A rectangle, by its upper left corner."""
    at = _rounded(x=x, y=y, width=width, height=height)
    return SvgElement("rect", {"class": kind, **at, **_written(attributes)}, said=said)


def circle(kind: str, x: float, y: float, radius: float) -> SvgElement:
    """A disk, by its centre."""
    return SvgElement("circle", {"class": kind, **_rounded(cx=x, cy=y, r=radius)})


def text(kind: str, x: float, y: float, words: str, anchor: str = "start", **attributes: Any) -> SvgElement:
    """A line of text; `x` is its start, middle or end, by `anchor`."""
    at = {"text-anchor": anchor, **_rounded(x=x, y=y)}
    return SvgElement("text", {"class": kind, **at, **_written(attributes)}, words)


def group(elements: Iterable[SvgElement], x: float = 0, y: float = 0, said: str = "", **attributes: Any) -> SvgElement:
    """Several elements together, moved to the right and down."""
    moved = {"transform": f"translate({x:g} {y:g})"} if x or y else {}
    return SvgElement("g", {**moved, **_written(attributes)}, said=said, inside=tuple(elements))


def placed(drawing: str, x: float, y: float, width: float, height: float) -> SvgElement:
    """Another drawing inside this one: as large as this room allows, at its left."""
    from markupsafe import Markup

    box = _VIEW_BOX.search(drawing)
    seen = {"viewBox": box[1]} if box else {}
    at = {"x": x, "y": y, "width": width, "height": height, "preserveAspectRatio": "xMinYMid meet"}
    return SvgElement("svg", {**at, **seen}, Markup(drawing))  # noqa: S704


def svg(
    elements: Iterable[SvgElement], width: float, height: float, name: str, *, style: str = "", kind: str = "plot"
) -> str:
    """A whole drawing, of the class `kind`.

    `name` is the description for screen readers. A plot alone needs the style sheet `templates/plots.css`.
    """
    return render(
        "report/drawing.svg", elements=elements, width=width, height=height, name=name, style=style, kind=kind
    )


@cache
def own_file(name: str) -> str:
    """The text of a file of this package: a script, or a style sheet."""
    return files("roslin.report").joinpath(name).read_text("utf-8")


def _rounded(**numbers: float) -> dict[str, float]:
    return {name: round(float(value), 2) for name, value in numbers.items()}


def _written(attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes as SVG writes them: `stroke_width` here is `stroke-width` there."""
    return {name.replace("_", "-"): value for name, value in attributes.items()}
