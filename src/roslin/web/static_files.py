"""The static files: style sheet, scripts, icon. They are read once: no name from a request is ever a path."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

_FOLDER = Path(str(files("roslin.web"))) / "static"
_DAY = 86_400
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".png": "image/png"}

router = APIRouter(include_in_schema=False)


@cache
def _statics() -> dict[str, bytes]:
    found = {path.name: path.read_bytes() for path in _FOLDER.iterdir() if path.suffix in _TYPES}
    found["player.js"] = files("roslin.report").joinpath("player.js").read_bytes()
    for name in ("plots.css", "concordances.css"):
        found[name] = files("roslin.report").joinpath(f"templates/{name}").read_bytes()
    return found


@cache
def address(name: str) -> str:
    """Where a static file is, with a mark that changes when the file does."""
    return f"/static/{name}?v={hashlib.sha256(_statics()[name]).hexdigest()[:12]}"


@router.get("/static/{name}")
def static(request: Request, name: str) -> Response:
    """One file. Under its mark it never changes, so a browser may keep it."""
    if name not in _statics():
        raise HTTPException(404, "there is no such file")
    age = 365 * _DAY if "v" in request.query_params else 60
    kind = _TYPES[Path(name).suffix]
    return Response(_statics()[name], media_type=kind, headers={"Cache-Control": f"public, max-age={age}"})
