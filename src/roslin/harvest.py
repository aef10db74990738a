"""Records of other catalogues, fetched page by page: each page is a file as the server sent it (OAI-PMH and SRU).

    FOLDER/page-00001.xml ...   the answers, deleted records among them (OAI: `status="deleted"`)
    FOLDER/.harvest.json        what was asked for and how far it is; the same harvest continues from there

`roslin collection build` and `update` take such a folder. A page is written whole before it is counted, so a harvest
that is stopped at any moment asks again for one page at most. XML of a server is not trusted: document types are
refused, and nothing is expanded.

Requests follow each other with a pause between them. A reader identifies itself, waits if the server asks for it
(Retry-After), and tries again after growing pauses if the server fails. It never waits longer than `MOST_WAIT`, and
never takes more than `MOST_BYTES` or `MOST_SECONDS` for one answer.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener
from xml.parsers import expat

from roslin.errors import ArgumentError, HarvestError, shortened
from roslin.rows import write_whole

TRIES = 6
FIRST_WAIT = 5.0  # seconds; doubled after each failure
MOST_WAIT = 3600.0
MOST_BYTES = 64 * 2**20
MOST_SECONDS = 300.0
SILENCE_SECONDS = 60.0
_CHUNK = 64 * 2**10
_AGAIN = frozenset({408, 429, 500, 502, 503, 504})
_STATE_FORM = 1
_MOST_EMPTY = 10  # pages without a record, one after the other
_MOST_DEPTH = 64
_MOST_TEXT = 100_000  # characters of a token or an error
_STATE = ".harvest.json"
_EXPIRED = "badResumptionToken"
_NOTHING = "noRecordsMatch"

_Answer = TypeVar("_Answer")


@dataclass(slots=True)
class Page:
    """The frame of a page: its records, the address of the next page, and errors by their codes."""

    records: int = 0
    deleted: int = 0
    total: int | None = None
    next: str = ""
    date: str = ""
    errors: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OaiList:
    """All records of an OAI-PMH server, or those of a set or changed within dates (YYYY-MM-DD).

    `asked` are the parameters of a request, the first one where `next` is empty; `page` is the answer.
    """

    prefix: str = "marcxml"
    set: str = ""
    since: str = ""
    until: str = ""
    name: ClassVar[str] = "oai"

    def asked(self, next: str) -> dict[str, str]:
        if next:
            return {"verb": "ListRecords", "resumptionToken": next}
        chosen = {"set": self.set, "from": self.since, "until": self.until}
        named = {name: text for name, text in chosen.items() if text}
        return {"verb": "ListRecords", "metadataPrefix": self.prefix} | named

    def page(self, data: bytes, _next: str, /) -> Page:
        frame = _Frame(data, "OAI-PMH", {"resumptionToken", "error", "responseDate"}, "header")
        texts, attributes = frame.texts, frame.attributes
        size = attributes.get("resumptionToken", {}).get("completeListSize", "")
        return Page(
            records=frame.records,
            deleted=frame.deleted,
            total=int(size) if size.isdecimal() else None,
            next=texts.get("resumptionToken", ""),
            date=texts.get("responseDate", "")[:10],
            errors={attributes["error"].get("code", "error"): texts["error"]} if "error" in texts else {},
        )


@dataclass(frozen=True, slots=True)
class SruSearch:
    """The records that an SRU server has for a query in CQL."""

    query: str
    schema: str = "marcxml"
    at_once: int = 100
    version: str = "1.1"
    name: ClassVar[str] = "sru"

    def asked(self, next: str) -> dict[str, str]:
        return {
            "operation": "searchRetrieve",
            "version": self.version,
            "query": self.query,
            "recordSchema": self.schema,
            "maximumRecords": str(self.at_once),
            "startRecord": next or "1",
        }

    def page(self, data: bytes, next: str, /) -> Page:
        wanted = {"numberOfRecords", "nextRecordPosition", "message", "details"}
        frame = _Frame(data, "searchRetrieveResponse", wanted, "recordData")
        total, start = frame.texts.get("numberOfRecords", ""), int(next or 1)
        named = frame.texts.get("nextRecordPosition", "")
        behind = int(named) if named.isdecimal() else start + frame.records
        is_over = not total.isdecimal() or not frame.records or behind > int(total)
        if not is_over and behind <= start:
            raise HarvestError(f"the server names record {behind} as the next after record {start}")
        refused = "message" in frame.texts or "details" in frame.texts
        why = " ".join(filter(None, (frame.texts.get("message"), frame.texts.get("details"))))
        return Page(
            records=frame.records,
            total=int(total) if total.isdecimal() else None,
            next="" if is_over else str(behind),
            errors={"diagnostic": why} if refused and not frame.records else {},
        )


Source = OaiList | SruSearch


@dataclass(slots=True)
class Harvested:
    """The progress of a harvest."""

    address: str
    asked: dict[str, Any]
    form: int = _STATE_FORM
    pages: int = 0
    records: int = 0
    deleted: int = 0
    total: int | None = None
    next: str = ""
    date: str = ""  # of the first answer: what changes from then on is for the next harvest
    is_complete: bool = False
    seen: list[str] = field(default_factory=list)  # digests of the tokens of the list


def harvest(
    address: str, source: Source, folder: str | Path, reader: PoliteReader, most_pages: int | None = None
) -> Harvested:
    """Fetch all pages of a list that are not in the folder yet; at most `most_pages` now."""
    folder = Path(folder)
    asked = {"protocol": source.name} | asdict(source)
    state = _known(folder, address, asked) or Harvested(address, asked)
    folder.mkdir(parents=True, exist_ok=True)
    empty, fetched = 0, 0
    while not state.is_complete and (most_pages is None or fetched < most_pages):

        def understood(data: bytes, next: str = state.next) -> tuple[bytes, Page]:
            return data, source.page(data, next)

        data, page = reader.read(address, source.asked(state.next), understood)
        if page.errors and _NOTHING not in page.errors:
            raise HarvestError(f"{address}: {_refusal(page.errors, folder)}")
        empty = 0 if page.records else empty + 1
        if empty > _MOST_EMPTY:
            raise HarvestError(f"{address}: {empty} pages without a record, one after the other")
        token = hashlib.blake2b(page.next.encode(), digest_size=8).hexdigest() if page.next else ""
        if token in state.seen:
            raise HarvestError(f"{address}: the server repeats the resumption token {shortened(page.next, 40)!r}")
        if page.records:
            state.pages += 1
            write_whole(folder / f"page-{state.pages:05}.xml", data)
        state.records += page.records
        state.deleted += page.deleted
        state.total, state.date = page.total or state.total, state.date or page.date
        state.next, state.is_complete = page.next, not page.next
        state.seen += [token] if token else []
        write_whole(folder / _STATE, json.dumps(asdict(state), indent=1))
        fetched += 1
        reader.tell(f"{state.records} records" + (f" of {state.total}" if state.total else ""))
    return state


def _known(folder: Path, address: str, asked: dict[str, Any]) -> Harvested | None:
    """How far the harvest in a folder is; refused where it is another, or where the folder has other files."""
    path = folder / _STATE
    if not path.exists():
        if folder.is_dir() and any(folder.glob("page-*.xml")):
            raise ArgumentError(f"{folder}: has pages, but no {_STATE}; choose another folder")
        return None
    try:
        state = Harvested(**json.loads(path.read_text("utf-8")))
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"{path}: damaged; delete the folder and harvest again") from error
    if (state.address, state.asked, state.form) != (address, asked, _STATE_FORM):
        raise ArgumentError(f"{folder}: has another harvest; choose another folder")
    return state


def _refusal(errors: Mapping[str, str], folder: Path) -> str:
    said = "; ".join(f"{code}: {shortened(text, 200)}" if text else code for code, text in errors.items())
    if _EXPIRED in errors:
        return f"{said}; the server no longer knows where it was: delete {folder} and harvest again"
    return said


class _Frame:
    """The elements of an answer around its records, by local names; `wanted` ones with their texts."""

    def __init__(self, data: bytes, root: str, wanted: set[str], counted: str):
        self.records = self.deleted = 0
        self.texts: dict[str, str] = {}
        self.attributes: dict[str, dict[str, str]] = {}
        self._root, self._wanted, self._counted = root, wanted, counted
        self._open: list[str] = []
        self._name = ""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refused
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            raise BrokenAnswerError(
                f"broken XML in line {error.lineno}, column {error.offset + 1}: {expat.ErrorString(error.code)}"
            ) from error
        except (LookupError, ValueError) as error:
            raise HarvestError(f"the answer is in an unknown encoding: {error}") from error

    def _refused(self, *_: object) -> None:
        raise HarvestError("the answer has a document type; expected XML without one")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2]
        if not self._open and local != self._root:
            raise BrokenAnswerError(f"the answer is <{shortened(local, 40)}>; expected <{self._root}>")
        self._open.append(local)
        if len(self._open) > _MOST_DEPTH:
            raise HarvestError(f"the answer has more than {_MOST_DEPTH} elements inside each other")
        is_inside = any(each in ("metadata", "recordData") for each in self._open[:-1])
        if local == self._counted and not is_inside:
            self.records += 1
            self.deleted += attributes.get("status") == "deleted"
        elif local in self._wanted and not is_inside:
            self._name = local
            self.attributes[local] = attributes
            self.texts[local] = ""

    def _text(self, text: str) -> None:
        if self._name:
            self.texts[self._name] += text
            if len(self.texts[self._name]) > _MOST_TEXT:
                raise HarvestError(f"<{self._name}> has more than {_MOST_TEXT} characters")

    def _end(self, _: str) -> None:
        local = self._open.pop()
        if local == self._name:
            self.texts[local] = self.texts[local].strip()
            self._name = ""


# -- requests ---------------------------------------------------------------------------------------------------------


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
        """The answer after `understood`, which may raise `BrokenAnswerError`. It is asked for several times."""
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
