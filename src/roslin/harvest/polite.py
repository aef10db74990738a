"""One request after the other, with a pause between them: how a server is read that others need too.

A reader says who it is, waits where the server asks for it (Retry-After), and tries again, later each time, where the
server fails: an error of the server, a connection that breaks or stalls, an answer that is cut short. It never waits
longer than `MOST_WAIT`, and never takes more than `MOST_BYTES` or `MOST_SECONDS` for one answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from importlib.metadata import version
from typing import TypeVar
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from roslin.errors import ArgumentError, HarvestError, shortened

TRIES = 6
FIRST_WAIT = 5.0  # seconds; doubled after each failure
MOST_WAIT = 3600.0
MOST_BYTES = 64 * 2**20
MOST_SECONDS = 300.0
SILENCE_SECONDS = 60.0
_CHUNK = 64 * 2**10
_AGAIN = frozenset({408, 429, 500, 502, 503, 504})

_Answer = TypeVar("_Answer")


class BrokenAnswerError(HarvestError):
    """An answer that may come whole the next time."""


class _OnTheWeb(HTTPRedirectHandler):
    """Follows redirects to http and https only."""

    def redirect_request(self, req: Request, *rest: object) -> Request | None:
        _check_address(str(rest[-1]))
        return super().redirect_request(req, *rest)  # type: ignore[arg-type]  # as it came


def _check_address(address: str) -> None:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ArgumentError(f"{shortened(address)}: not an address; expected one that starts with http:// or https://")


@dataclass(slots=True)
class PoliteReader:
    """Reads answers of a server. `contact` is an address where its operator finds you; `pause` is in seconds."""

    contact: str = ""
    pause: float = 1.0
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time
    tell: Callable[[str], None] = lambda _: None
    _is_first: bool = field(default=True, init=False)

    def read(self, address: str, asked: Mapping[str, str], understood: Callable[[bytes], _Answer]) -> _Answer:
        """The answer as `understood` makes it, which may raise `BrokenAnswerError`; it is asked for several times."""
        _check_address(address)
        whole = f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}"
        wait = FIRST_WAIT
        for left in reversed(range(TRIES)):
            if not self._is_first:
                self.sleep(self.pause)
            self._is_first = False
            try:
                return understood(self._fetched(whole))
            except (HTTPError, HTTPException, BrokenAnswerError, OSError) as error:
                why = _reason(error)
                seconds = max(wait, self._asked_to_wait(error))
                if isinstance(error, HTTPError):
                    error.close()
                if not left or (isinstance(error, HTTPError) and error.code not in _AGAIN):
                    raise HarvestError(f"{whole}: {why}") from error
                if seconds > MOST_WAIT:
                    raise HarvestError(
                        f"{whole}: {why}; the server asks to wait {seconds:.0f} seconds; run the command again then"
                    ) from error
                self.tell(f"{why}; trying again in {seconds:.0f} seconds")
                self.sleep(seconds)
                wait *= 2
        raise AssertionError("the last try returns or raises")

    def _fetched(self, address: str) -> bytes:
        named = f"Roslin/{version('roslin')}" + (f" ({self.contact})" if self.contact else "")
        headers = {"User-Agent": named, "Accept": "application/xml, text/xml", "Accept-Encoding": "identity"}
        request = Request(address, headers=headers)  # noqa: S310 - its scheme is checked
        until = time.monotonic() + MOST_SECONDS
        data = bytearray()
        with build_opener(_OnTheWeb).open(request, timeout=SILENCE_SECONDS) as answer:
            while chunk := answer.read1(_CHUNK):
                data += chunk
                if len(data) > MOST_BYTES:
                    raise HarvestError(f"{address}: the answer is too large; expected at most {MOST_BYTES} bytes")
                if time.monotonic() > until:
                    raise BrokenAnswerError(f"no whole answer within {MOST_SECONDS:.0f} seconds")
            promised = answer.headers.get("Content-Length", "")
        if promised.isdecimal() and len(data) < int(promised):
            raise BrokenAnswerError(f"the answer broke off after {len(data)} of {promised} bytes")
        return bytes(data)

    def _asked_to_wait(self, error: Exception) -> float:
        """Seconds: a server names them, or a date."""
        said = (error.headers.get("Retry-After") or "").strip() if isinstance(error, HTTPError) else ""
        if said.isdecimal():
            return float(said)
        try:
            return parsedate_to_datetime(said).timestamp() - self.now()
        except (ValueError, TypeError):
            return 0.0


def _reason(error: Exception) -> str:
    if isinstance(error, HTTPError):
        return f"the server answered {error.code} {shortened(str(error.reason), 60)}"
    if isinstance(error, BrokenAnswerError):
        return str(error)
    return f"no answer: {shortened(str(getattr(error, 'reason', error)) or type(error).__name__, 120)}"
