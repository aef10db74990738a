"""The settings of an operator as one value that also travels to worker processes (as JSON in an environment variable).

Limits count for one process: with several workers each has its own slots and its own share of the rate.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from ipaddress import ip_network
from string import Formatter
from typing import ClassVar, Self
from urllib.parse import quote, urlsplit

from roslin.errors import ArgumentError
from roslin.melody import Melody
from roslin.notation.record import record_of

MAX_QUERY = 8000  # letters of a query, which must fit into an address
LINK_FIELDS = ("id", "source", "record", "title", "composer")
OWN_HOSTS = ("127.0.0.1", "localhost", "::1")
_ORIGIN = re.compile(r"https?://(?:[\w.-]+|\[[0-9a-f:]+\])(?::\d{1,5})?")
PATH = re.compile(r"(?:/[\w~-][\w.~-]*)+", re.ASCII)  # of a site
_LOOPBACK = re.compile(r"127(?:\.\d{1,3}){3}|::1|localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The settings of every server. They travel to worker processes in the environment variable `variable`."""

    variable: ClassVar[str]
    hosts: tuple[str, ...] = ()  # the names that it answers to; empty: any
    requests_per_minute: int = 0  # of one client; 0: no limit
    body_bytes: int = 4 * 2**20
    proxies: tuple[str, ...] = ()  # addresses and networks whose word about who asks is taken
    root_path: str = ""  # the path of a site below which the pages are
    log_requests: bool = True

    def __post_init__(self) -> None:
        check_proxies(self.proxies)
        checked_path(self.root_path)

    def to_environment(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_environment(cls) -> Self:
        """The settings that the parent process left in the environment."""
        from pydantic import TypeAdapter

        return TypeAdapter(cls).validate_json(os.environ[cls.variable])


@dataclass(frozen=True, slots=True)
class Settings(ServerSettings):
    """Where the collection is, and how much anybody may ask of it. Sizes in bytes, times in seconds."""

    variable = "ROSLIN_WEB_SETTINGS"

    collection: str  # its folder; empty where there are `parts`
    title: str = ""  # what the page calls the collection; its folder's name if empty
    link: str = ""  # address of a melody at its source, with {id}, {source}, {record} ...
    iiif: str = ""  # address of the IIIF manifest of a source
    site: str = ""  # the path of site.toml
    path: str = ""  # of this collection, where there are several
    parts: tuple[Settings, ...] = ()  # several collections
    is_open: bool = False  # whether others than this computer can reach it
    search_seconds: float = 60.0
    searches_at_once: int = 2
    engraving_seconds: float = 8.0
    reading_seconds: float = 10.0  # of what a client typed or sent
    embed: tuple[str, ...] = ()  # origins of pages that may show these pages in a frame and use the API
    query_notes: int = 500
    upload_melodies: int = 200
    most_results: int = 1000
    review_password: str = ""  # the hash of what reviewers must know; empty: pages open to others are for reading
    review_key: str = ""  # signs the sessions of reviewers, 32 bytes as hex; empty: one is made

    def __post_init__(self) -> None:
        ServerSettings.__post_init__(self)
        check_origins(self.embed)
        for pattern in filter(None, (self.link, self.iiif)):
            check_link(pattern)

    def link_to(self, melody: Melody) -> str | None:
        return self._address(self.link, melody)

    def manifest_of(self, melody: Melody) -> str | None:
        """The IIIF manifest of the source of a melody: the one that its record names, or one by the pattern."""
        named = melody.extra.get("iiif", "")
        return named if urlsplit(named).scheme in ("http", "https") else self._address(self.iiif, melody)

    def _address(self, pattern: str, melody: Melody) -> str | None:
        """Inserted values are quoted, so they stay where the pattern put them."""
        if not pattern:
            return None
        id = melody.id or ""
        values = {
            "id": id,
            "record": record_of(melody),
            "source": melody.source or "",
            "title": melody.title or "",
            "composer": melody.composer or "",
        }
        return pattern.format(**{name: quote(value, safe="") for name, value in values.items()})


def is_loopback(host: str) -> bool:
    """Whether only this computer can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    return _LOOPBACK.fullmatch(host) is not None


def check_proxies(named: tuple[str, ...]) -> None:
    """Refuse what is neither an address nor a network: a name could lead elsewhere tomorrow."""
    for each in named:
        try:
            ip_network(each)
        except ValueError:
            expected = "an address or a network, such as 127.0.0.1 or 10.1.2.0/24"
            raise ArgumentError(f"a proxy must be given as {expected}; got {each!r}") from None


def check_origins(named: tuple[str, ...]) -> None:
    """Refuse anything but an origin: a scheme, a host and perhaps a port."""
    for each in named:
        if not _ORIGIN.fullmatch(each):
            raise ArgumentError(f"an origin must be like https://library.example.org, without a path; got {each!r}")


def checked_path(text: str) -> str:
    """A path of a site, without a slash at its end.

    >>> checked_path("/tunes/"), checked_path("/")
    ('/tunes', '')
    """
    path = text.rstrip("/")
    if path and not PATH.fullmatch(path):
        raise ArgumentError(f"a root path must be like /tunes, of letters, digits and - _ . ~; got {text!r}")
    return path


def check_link(pattern: str) -> None:
    """Refuse a pattern that makes no addresses."""
    try:
        fields = {name for _, name, _, _ in Formatter().parse(pattern) if name is not None}
    except ValueError as error:
        raise ArgumentError(f"the link {pattern!r} cannot be read: {error}") from None
    if not fields or not fields <= set(LINK_FIELDS):
        known = ", ".join(f"{{{name}}}" for name in LINK_FIELDS)
        raise ArgumentError(f"the link must hold at least one of {known}, and nothing else in braces; got {pattern!r}")
    if urlsplit(pattern).scheme not in ("http", "https"):
        raise ArgumentError(f"the link must start with https:// or http://; got {pattern!r}")
