"""A tab of a simulated browser: HTTP/1.1 over one connection that is kept open, with cookies that tabs may share.

Only what a study needs: no redirects are followed, nothing is cached, and no certificate is made an exception of. The
standard library has no such client that a thousand can use at a time.
"""

from __future__ import annotations

import asyncio
import html
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

__all__ = ["Answer", "LostError", "Tab", "hidden_fields"]

_HIDDEN = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)"')
_MOST_HEADER = 1 << 16


class LostError(Exception):
    """The connection ended before the answer was there: nobody knows whether the request arrived."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered. Names of headers are in small letters."""

    status: int
    headers: dict[str, str]
    cookies: dict[str, str]  # that it sets
    body: bytes

    @property
    def location(self) -> str:
        """The path to which it sends us on."""
        return urlsplit(self.headers.get("location", "")).path


class Tab:
    """One connection to a server. `cookies` is shared by the tabs of one browser."""

    def __init__(self, address: str, cookies: dict[str, str], patience_seconds: float = 60.0):
        parts = urlsplit(address)
        self._host, self._is_secure = parts.hostname or "localhost", parts.scheme == "https"
        self._port = parts.port or (443 if self._is_secure else 80)
        self._name = parts.netloc
        self.cookies, self._patience = cookies, patience_seconds
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None, *, hears: bool = True
    ) -> Answer:
        """Send a request and wait for the answer. `hears=False`: leave before it comes, as where the network fails."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self._name}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        if self.cookies:
            lines.append("Cookie: " + "; ".join(f"{name}={value}" for name, value in self.cookies.items()))
        sent = "\r\n".join([*lines, "", ""]).encode("latin-1") + body
        try:
            async with asyncio.timeout(self._patience):
                if self._streams is not None and self._streams[0].at_eof():
                    self.close()  # the server has ended it: it was idle
                reader, writer = self._streams or await self._open()
                writer.write(sent)
                await writer.drain()
                if not hears:
                    raise LostError("the answer was not waited for")
                answer = await _read(reader)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            self.close()
            raise LostError(str(error) or type(error).__name__) from error
        except BaseException:
            self.close()
            raise
        self.cookies.update(answer.cookies)
        if answer.headers.get("connection", "").lower() == "close":
            self.close()
        return answer

    def close(self) -> None:
        """End the connection; the next request opens another."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self._streams = await asyncio.open_connection(
            self._host, self._port, ssl=self._is_secure or None, limit=_MOST_HEADER
        )
        return self._streams


async def _read(reader: asyncio.StreamReader) -> Answer:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers, cookies = {}, {}
    for line in head[1:]:
        name, _, value = (part.strip() for part in line.partition(":"))
        headers[name.lower()] = value
        if name.lower() == "set-cookie":
            cookie, _, rest = value.partition("=")
            cookies[cookie] = rest.partition(";")[0]
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readuntil(b"\r\n")
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Answer(int(head[0].split()[1]), headers, cookies, body)


def hidden_fields(page: Answer) -> dict[str, str]:
    """The hidden fields of the forms of a page; the last one of a name counts."""
    return {name: html.unescape(value) for name, value in _HIDDEN.findall(page.body.decode())}
