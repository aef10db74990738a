"""roslin serve."""

from __future__ import annotations

from secrets import token_hex
from typing import Annotated

from typer import Option

from roslin.cli.options import CollectionArgument, PluginOption, ProxyOption
from roslin.cli.output import remark


def serve_command(
    collection: CollectionArgument,
    host: Annotated[str, Option("--host", help="Address to listen on. 0.0.0.0 opens the page to others.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, Option("--port", min=1, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, Option("--workers", min=1, max=64, help="Number of worker processes.")] = 1,
    title: Annotated[str, Option("--title", help="Title of the page. Default: the name of the collection.")] = "",
    link: Annotated[
        str, Option("--link", help="Address pattern of a melody at its source, with {id}, {record} or {source}.")
    ] = "",
    seconds: Annotated[
        float | None,
        Option("--seconds", help="Time limit of one search in seconds. Default: 60, or 20 on a public server."),
    ] = None,
    rate: Annotated[
        int | None,
        Option(
            "--rate", min=0, help="Requests per minute and client (0: no limit). Default: 0, or 300 on a public server."
        ),
    ] = None,
    proxy: ProxyOption = None,
    embed: Annotated[
        list[str] | None,
        Option(
            "--embed",
            metavar="ORIGIN",
            help="Site whose pages may show the search page in a frame and use the API, such as "
            "https://library.example.org. Can be repeated.",
        ),
    ] = None,
    review_password: Annotated[
        str,
        Option(
            "--review-password",
            envvar="ROSLIN_REVIEW_PASSWORD",
            help="Password for reviewers of concordances. A public server without one is read-only.",
        ),
    ] = "",
    _plugins: PluginOption = None,
) -> None:
    """Open a search page: play, sing, type or upload a melody to search the collection.

    Only this computer can reach the page, unless --host is given.

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
        embed=tuple(embed or ()),
        requests_per_minute=max(1, (rate if rate is not None else 300) // workers) if is_open or rate else 0,
    )
    remark(f"Roslin: http://{host}:{port}/ (Ctrl-C ends it)")
    serve(settings, host, port, workers)
