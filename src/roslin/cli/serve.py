"""roslin serve."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from roslin.cli.options import (
    PageLinkOption,
    PageTitleOption,
    PluginOption,
    PortOption,
    ProxyOption,
    WorkersOption,
    needs_extra,
    with_options,
)
from roslin.cli.output import remark

if TYPE_CHECKING:
    from roslin.web.settings import Settings


@dataclass(frozen=True)
class PageOptions:
    """What a search page shows, whom it serves, and within which limits."""

    title: PageTitleOption = ""
    link: PageLinkOption = ""
    seconds: Annotated[
        float | None,
        Option(help="Time limit of one search in seconds. Default: 60, or 20 on a public server."),
    ] = None
    rate: Annotated[
        int | None,
        Option(min=0, help="Requests per minute and client (0: no limit). Default: 0, or 300 on a public server."),
    ] = None
    proxy: ProxyOption = None
    site: Annotated[
        Path | None,
        Option(help="TOML file with the name, logo, colours, contact and legal texts of the site.", exists=True),
    ] = None
    root_path: Annotated[
        str, Option(metavar="PATH", help="Path of the page behind a reverse proxy, such as /tunes.")
    ] = ""
    embed: Annotated[
        list[str] | None,
        Option(
            metavar="ORIGIN",
            help="Site whose pages may show the search page in a frame and use the API, such as "
            "https://library.example.org. Can be repeated.",
        ),
    ] = None
    review_password: Annotated[
        str,
        Option(
            envvar="ROSLIN_REVIEW_PASSWORD",
            help="Password for reviewers of concordances. A public server without one is read-only.",
        ),
    ] = ""

    def settings(self, collections: list[Path], host: str, workers: int) -> Settings:
        """The settings of a page with one collection, or of a start page with several."""
        from roslin.web.imprint import Site, read_imprint

        described = read_imprint(self.site).site if self.site else Site(name="Roslin")
        shared = self._shared(host, workers)
        parts = []
        for each in collections:
            served = described.served(each.resolve())
            own = replace(shared, collection=str(each.resolve()), link=self.link or served.link, iiif=served.iiif)
            if len(collections) == 1:
                return replace(own, title=self.title or served.name)
            parts.append(replace(own, title=served.name, path=served.path, proxies=(), root_path=""))
        return replace(shared, parts=tuple(parts))

    def _shared(self, host: str, workers: int) -> Settings:
        from roslin.passwords import hashed
        from roslin.web.settings import OWN_HOSTS, Settings, checked_path, is_loopback

        is_open = bool(self.proxy) or not is_loopback(host)  # a proxy lets others in
        seconds = 20.0 if is_open else 60.0
        rate = self.rate if self.rate is not None else 300
        return Settings(
            collection="",
            title=self.title,
            site=str(self.site.resolve()) if self.site else "",
            is_open=is_open,
            query_notes=100 if is_open else 500,
            hosts=() if is_open else tuple(dict.fromkeys((*OWN_HOSTS, host))),
            search_seconds=self.seconds if self.seconds is not None else seconds,
            review_password=hashed(self.review_password) if self.review_password else "",
            review_key=token_hex(32),
            proxies=tuple(self.proxy or ()),
            root_path=checked_path(self.root_path),
            embed=tuple(self.embed or ()),
            requests_per_minute=max(1, rate // workers) if is_open or self.rate else 0,
        )


@with_options(page=PageOptions)
def serve_command(
    collections: Annotated[list[Path], Argument(help="The collection, NAME.roslin, or several.")],
    host: Annotated[str, Option(help="Address to listen on. 0.0.0.0 opens the page to others.")] = ("127.0.0.1"),
    port: PortOption = 8000,
    workers: WorkersOption = 1,
    *,
    page: PageOptions,
    _plugins: PluginOption = None,
) -> None:
    """Open a search page: play, sing, type or upload a melody to search the collection.

    Only this computer can reach the page, unless --host is given. With several collections, each has a path, and the
    start page searches all of them.

    Example: roslin serve mine.roslin --port 8000
    """
    with needs_extra("roslin serve", "web"):
        from roslin.web.server import serve

        settings = page.settings(collections, host, workers)
    remark(f"Roslin: http://{host}:{port}{settings.root_path}/ (Ctrl-C ends it)")
    serve(settings, host, port, workers)
