"""The simulated browser against a server that says exactly what it is told to say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.experiment.bots import LostError, Tab, hidden_fields


def told(answers: list[bytes], act: Callable[[str], Awaitable[None]]) -> list[bytes]:
    """Run something against a server that gives these answers, one for each request; what it was asked."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while answers:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            asked.append(head + await reader.readexactly(length))
            answer = answers.pop(0)
            writer.write(answer)
            await writer.drain()
            if b"Content-Length: 99" in answer:
                break
        writer.close()

    async def both() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            await act(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")

    asyncio.run(both())
    return asked


def test_cookies_are_kept_and_sent_again_over_one_connection() -> None:
    cookies = b"Set-Cookie: a=1; Path=/\r\nset-cookie: b=2\r\n"
    first = b"HTTP/1.1 303 See Other\r\n" + cookies + b"Location: /next\r\nContent-Length: 0\r\n\r\n"
    second = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    async def act(address: str) -> None:
        tab = Tab(address, {})
        assert (await tab.ask("GET", "/e/x")).location == "/next"
        answer = await tab.ask("POST", "/y", b"body", {"X-Thing": "1"})
        assert (answer.status, answer.body) == (200, b"hello")
        tab.close()

    asked = told([first, second], act)
    assert b"Cookie" not in asked[0]
    assert b"\r\nCookie: a=1; b=2\r\n" in asked[1]
    assert asked[1].startswith(b"POST /y HTTP/1.1\r\n")
    assert asked[1].endswith(b"\r\n\r\nbody")


def test_an_answer_in_chunks() -> None:
    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"

    async def act(address: str) -> None:
        tab = Tab(address, {})
        assert (await tab.ask("GET", "/")).body == b"abcde"
        tab.close()

    told([chunks], act)


def test_an_answer_that_breaks_off_is_lost_and_the_next_request_opens_another_connection() -> None:
    async def act(address: str) -> None:
        tab = Tab(address, {})
        with pytest.raises(LostError):
            await tab.ask("GET", "/")
        assert (await tab.ask("GET", "/")).status == 204
        tab.close()

    broken = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nno more"
    told([broken, b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"], act)


def test_who_does_not_wait_does_not_hear() -> None:
    async def act(address: str) -> None:
        tab = Tab(address, {})
        with pytest.raises(LostError, match="the answer was not waited for"):
            await tab.ask("GET", "/", hears=False)
        assert (await tab.ask("GET", "/")).status == 204
        tab.close()

    no_content = b"HTTP/1.1 204 No Content\r\n\r\n"
    told([no_content, no_content], act)


def test_nobody_listens() -> None:
    async def act(address: str) -> None:
        with pytest.raises(LostError):
            await Tab("http://127.0.0.1:9", {}).ask("GET", "/")

    told([], act)


def test_hidden_fields_of_a_page() -> None:
    page = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
    text = b'<form><input type="hidden" name="csrf" value="a&amp;b"><input type="hidden" name="after" value="3"></form>'

    async def act(address: str) -> None:
        tab = Tab(address, {})
        assert hidden_fields(await tab.ask("GET", "/")) == {"csrf": "a&b", "after": "3"}
        tab.close()

    told([page % (len(text), text)], act)
