"""What routes are given besides their parameters."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from roslin.web.library import Library


def _library(request: Request) -> Library:
    library: Library = request.app.state.library
    return library


# The collection that is served.
Opened = Annotated[Library, Depends(_library)]
