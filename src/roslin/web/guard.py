"""What stands before an application: plain ASGI, so that bodies stream and disconnects are seen."""

from __future__ import annotations

from abc import ABC, abstractmethod

from starlette.types import ASGIApp, Receive, Scope, Send


class Guard(ABC):
    """What stands before the application, for requests by HTTP."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is no request: the start and the end of the application."""
        await (self.guard if scope["type"] == "http" else self.app)(scope, receive, send)

    @abstractmethod
    async def guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
