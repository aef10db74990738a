"""roslin serve."""

from __future__ import annotations

from secrets import token_hex
from typing import Annotated

import typer

from roslin.cli.options import CollectionArgument, PluginOption, ProxyOption
from roslin.cli.output import remark


def serve_command(
    collection: CollectionArgument,
    host: Annotated[str, typer.Option("--host", help="The address to listen on; 0.0.0.0 opens it to others.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="The port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="How many processes answer.")] = 1,
    title: Annotated[str, typer.Option("--title", help="What the page calls the collection.")] = "",
    link: Annotated[
        str, typer.Option("--link", help="Address of a melody at its source, with {id}, {record} or {source}.")
    ] = "",
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="A search gives up after so long; 60, or 20 when open to others.")
    ] = None,
    rate: Annotated[
        int | None, typer.Option("--rate", min=0, help="Requests a minute of one client; 0, or 300 when open.")
    ] = None,
    proxy: ProxyOption = None,
    review_password: Annotated[
        str,
        typer.Option(
            "--review-password",
            envvar="ROSLIN_REVIEW_PASSWORD",
            help="What reviewers of concordances must know; without it they are for reading when open to others.",
        ),
    ] = "",
    _plugins: PluginOption = None,
) -> None:
    """Open a page on which people search the collection by playing, typing or sending a melody.

    Only this computer can reach it unless --host says otherwise.

    Example: roslin serve mine.roslin --port 8000
    """
    from roslin.errors import MissingExtraError

    try:
        from roslin.passwords import hashed
        from roslin.web.server import serve
        from roslin.web.settings import OWN_HOSTS, Settings, is_loopback
    except ImportError as error:
        raise MissingExtraError("roslin serve", str(error.name), "web") from None
    is_open = bool(proxy) or not is_loopback(host)  # a proxy lets others in
    settings = Settings(
        collection=str(collection.resolve()),
        title=title,
        link=link,
        is_open=is_open,
        query_notes=100 if is_open else 500,
        hosts=() if is_open else tuple(dict.fromkeys((*OWN_HOSTS, host))),
        search_seconds=seconds if seconds is not None else 20.0 if is_open else 60.0,
        review_password=hashed(review_password) if review_password else "",
        review_key=token_hex(32),
        proxies=tuple(proxy or ()),
        requests_per_minute=max(1, (rate if rate is not None else 300) // workers) if is_open or rate else 0,
    )
    remark(f"Roslin: http://{host}:{port}/ (Ctrl-C ends it)")
    serve(settings, host, port, workers)
