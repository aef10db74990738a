"""Draw the rooms of the house as docs/images/architecture.svg, from the imports of src/roslin.

    python tools/draw_rooms.py

A room stands as low as it can: one layer above the highest room that imports from it. An arrow leads from a room to a
room that it imports from, so every arrow points up; arrows that a longer way implies are left out. Each arrow has its
rooms in `data-from` and `data-to`, which tests/test_architecture.py compares with the imports.

Arrows that skip layers pass through a free place in each of them. The places of a layer are put in order by the mean
place of their neighbours, swept up and down, and moved towards these neighbours as far as there is room. That is done
from several orders to start with, drawn with fixed seeds; the one with the fewest crossings is kept.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from html import escape
from itertools import combinations, pairwise
from pathlib import Path
from random import Random

from room_graph import ROOMS, SOURCE, Edges, direct_imports, reduced

TARGET = Path(__file__).resolve().parents[1] / "docs" / "images" / "architecture.svg"

WIDTH, HEIGHT = 108, 34  # of a room
LANE = 22  # width of the place that a passing arrow takes
BESIDE, BELOW = 26, 44  # between two places, between two layers
MARGIN = 12
SWEEPS, STARTS = 40, 300

Place = tuple[str, ...]  # a room (its name), or where an arrow passes a layer (from, to, layer)
Chains = dict[tuple[str, str], list[Place]]  # what each arrow touches, from its start up to its end


def draw(edges: Edges) -> str:
    """The drawing, an SVG that takes its colours from the page around it."""
    layers, chains = _layers(edges)
    across = min(
        (_across(layers, chains, seed) for seed in range(STARTS)), key=lambda found: _cost(layers, chains, found)
    )
    least = min(across[place] - _width(place) / 2 for layer in layers for place in layer)
    most = max(across[place] + _width(place) / 2 for layer in layers for place in layer)
    down = {place: MARGIN + depth * (HEIGHT + BELOW) for depth, layer in enumerate(layers) for place in layer}
    shift = MARGIN - least
    width, height = most - least + 2 * MARGIN, len(layers) * (HEIGHT + BELOW) - BELOW + 2 * MARGIN
    points = {place: (across[place] + shift, float(down[place])) for place in across}
    lines = [_arrow(edge, [points[place] for place in chain]) for edge, chain in sorted(chains.items())]
    rooms = [_room(place[0], *points[place]) for layer in layers for place in layer if len(place) == 1]
    return "\n".join([_head(width, height), *lines, *rooms, "</svg>", ""])


def _layers(edges: Edges) -> tuple[list[list[Place]], Chains]:
    """The places of each layer, and those that each arrow touches."""
    height: dict[str, int] = {}
    for name in reversed(ROOMS):  # bottom to top: whoever imports from a room is there already
        below = [height[lower] for lower, upper in edges if upper == name]
        if below or any(name in edge for edge in edges):
            height[name] = 1 + max(below, default=-1)
    depth = {name: max(height.values()) - level for name, level in height.items()}
    layers: list[list[Place]] = [[] for _ in range(1 + max(depth.values()))]
    for name, level in depth.items():
        layers[level].append((name,))
    chains: Chains = {}
    for lower, upper in sorted(edges):
        passed: list[Place] = [(lower, upper, str(level)) for level in range(depth[lower] - 1, depth[upper], -1)]
        for place in passed:
            layers[int(place[2])].append(place)
        chains[lower, upper] = [(lower,), *passed, (upper,)]
    return layers, chains


def _across(layers: list[list[Place]], chains: Chains, seed: int) -> dict[Place, float]:
    """The middle of every place, after the layers were put in order."""
    chance = Random(seed)
    layers = [chance.sample(layer, len(layer)) for layer in layers]
    beside: dict[Place, list[Place]] = {place: [] for layer in layers for place in layer}
    for chain in chains.values():
        for one, next_one in pairwise(chain):
            beside[one].append(next_one)
            beside[next_one].append(one)
    across: dict[Place, float] = {}
    for layer in layers:
        across |= _spread(layer, dict.fromkeys(layer, 0.0))
    for sweep in range(SWEEPS):
        order = range(len(layers)) if sweep % 2 else range(len(layers) - 1, -1, -1)
        for level in order:
            wanted = {place: _wanted(place, beside[place], across) for place in layers[level]}
            layers[level].sort(key=lambda place: (wanted[place], place))
            across |= _spread(layers[level], wanted)
    return across


def _cost(layers: list[list[Place]], chains: Chains, across: dict[Place, float]) -> tuple[int, float]:
    """How many arrows cross, and how far they lead to the side."""
    level = {place: depth for depth, layer in enumerate(layers) for place in layer}
    steps: dict[int, list[tuple[float, float]]] = {}
    for lower, upper in (step for chain in chains.values() for step in pairwise(chain)):
        steps.setdefault(level[upper], []).append((across[lower], across[upper]))
    crossings = sum(
        (one[0] - other[0]) * (one[1] - other[1]) < 0 for step in steps.values() for one, other in combinations(step, 2)
    )
    return crossings, sum(abs(start - end) for step in steps.values() for start, end in step)


def _wanted(place: Place, beside: Sequence[Place], across: dict[Place, float]) -> float:
    """The mean of the neighbours; where an arrow only passes, its own places count for more, so that it is straight."""
    weighted = [across[other] for other in beside for _ in range(4 if len(place) > 1 and len(other) > 1 else 1)]
    return _mean(weighted, across[place])


def _spread(layer: Sequence[Place], wanted: dict[Place, float]) -> dict[Place, float]:
    """Places in their order, as near as possible to where they want to be, none over another."""
    groups: list[tuple[float, list[Place]]] = []  # the left end of places that touch each other, and the places
    for place in layer:
        groups.append((wanted[place] - _width(place) / 2, [place]))
        while len(groups) > 1 and groups[-2][0] + _length(groups[-2][1]) + BESIDE > groups[-1][0]:
            (_, right), (_, left) = groups.pop(), groups.pop()
            joined = left + right
            offset, ends = 0.0, []
            for each in joined:
                ends.append(wanted[each] - _width(each) / 2 - offset)
                offset += _width(each) + BESIDE
            groups.append((_mean(ends, 0.0), joined))
    found = {}
    for start, places in groups:
        for place in places:
            found[place] = start + _width(place) / 2
            start += _width(place) + BESIDE
    return found


def _length(places: Sequence[Place]) -> float:
    return sum(_width(place) for place in places) + BESIDE * (len(places) - 1)


def _width(place: Place) -> float:
    return WIDTH if len(place) == 1 else LANE


def _mean(values: Iterable[float], otherwise: float) -> float:
    known = list(values)
    return sum(known) / len(known) if known else otherwise


def _arrow(edge: tuple[str, str], points: list[tuple[float, float]]) -> str:
    """A line from the top of one room to the bottom of another, by the places between."""
    x, y = points[0]
    path = [f"M{x:.1f} {y:.1f}"]
    for nearer, (x, y) in enumerate(points[1:], start=1):
        end = y + HEIGHT + (5 if nearer == len(points) - 1 else 0)  # room for the head of the arrow
        previous_x, previous_y = points[nearer - 1]
        middle = (previous_y + end) / 2
        path.append(f"C{previous_x:.1f} {middle:.1f} {x:.1f} {middle:.1f} {x:.1f} {end:.1f}")
        if nearer < len(points) - 1:
            path.append(f"L{x:.1f} {y:.1f}")
    return f'<path class="arrow" data-from="{edge[0]}" data-to="{edge[1]}" d="{" ".join(path)}"/>'


def _room(name: str, x: float, y: float) -> str:
    return (
        f'<g class="room" data-room="{name}"><title>{escape(_sentence(name))}</title>'
        f'<rect x="{x - WIDTH / 2:.1f}" y="{y:.1f}" width="{WIDTH}" height="{HEIGHT}" rx="7"/>'
        f'<text x="{x:.1f}" y="{y + HEIGHT / 2 + 5:.1f}">{name}</text></g>'
    )


def _sentence(name: str) -> str:
    """What the docstring of a room says first."""
    path = SOURCE / f"{name}.py"
    if not path.exists():
        path = SOURCE / name / "__init__.py"
    return (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or name).split("\n\n")[0].replace("\n", " ")


def _head(width: float, height: float) -> str:
    return f"""<svg class="rooms" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img">
<title>The rooms of Roslin, errors at the top, commands at the bottom; arrows point to what a room imports from</title>
<style>
svg.rooms {{ color: var(--pst-color-text-base, #6a737d); font: 14px system-ui, sans-serif; }}
svg.rooms rect {{ fill: var(--pst-color-surface, none); stroke: currentColor; stroke-width: 1.2; }}
svg.rooms text {{ fill: currentColor; text-anchor: middle; }}
svg.rooms .arrow {{ fill: none; stroke: var(--pst-color-primary, #3f7fb5); stroke-width: 1.3; }}
svg.rooms .arrow {{ marker-end: url(#rooms-head); }}
svg.rooms .head {{ fill: var(--pst-color-primary, #3f7fb5); }}
</style>
<defs><marker id="rooms-head" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="8" markerHeight="8"
 orient="auto" markerUnits="userSpaceOnUse"><path class="head" d="M0 0L8 4L0 8Z"/></marker></defs>"""


def main() -> None:
    """Write the drawing."""
    edges = reduced(direct_imports())
    TARGET.write_text(draw(edges), encoding="utf-8")
    print(f"{TARGET.name}: {len({name for edge in edges for name in edge})} rooms, {len(edges)} arrows")


if __name__ == "__main__":
    main()
