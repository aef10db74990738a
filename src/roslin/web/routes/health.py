"""The state of the server, for programs that watch it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.exceptions import HTTPException

from roslin.web.errors import RESPONSES
from roslin.web.health import Health
from roslin.web.schemas.server import HealthAnswer

router = APIRouter(responses=RESPONSES)


async def _health(request: Request) -> Health:
    health: Health = request.app.state.health
    return health


Watched = Annotated[Health, Depends(_health)]


@router.get("/healthz")
async def healthz(health: Watched) -> HealthAnswer:
    """Whether the collection can be opened, as a worker that starts now would have to."""
    return await health.look()


@router.get("/readyz")
async def readyz(health: Watched) -> HealthAnswer:
    """The same, and whether the first searches are done: 503 until then."""
    found = await health.look()
    if not found.is_ready:
        raise HTTPException(503, "the first searches are being prepared; until then answers may take longer")
    return found
