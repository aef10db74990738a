"""Lists of records, page by page, each page a file as the server sent it: `roslin collection build` and `update` take
a folder of them.

    FOLDER/page-00001.xml ...   the answers, deleted records among them (OAI: `status="deleted"`)
    FOLDER/.harvest.json        what was asked for and how far it is; the same harvest continues from there

A page is written whole before it is counted, so a harvest that is stopped at any moment asks again for one page at
most. XML of a server is not trusted: document types are refused, and nothing is expanded.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from xml.parsers import expat

from roslin.errors import ArgumentError, HarvestError, shortened
from roslin.harvest.polite import BrokenAnswerError, PoliteReader
from roslin.rows import write_whole

_FORM = 1
_MOST_EMPTY = 10  # pages without a record, one after the other
_MOST_DEPTH = 64
_MOST_TEXT = 100_000  # characters of a token or an error
_STATE = ".harvest.json"
_EXPIRED = "badResumptionToken"
_NOTHING = "noRecordsMatch"


@dataclass(slots=True)
class Page:
    """What the frame of a page says: its records, how it goes on, and errors by their codes."""

    records: int = 0
    deleted: int = 0
    total: int | None = None
    next: str = ""
    date: str = ""
    errors: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OaiList:
    """All records of an OAI-PMH server, or those of a set or changed within dates (YYYY-MM-DD).

    `asked` are the parameters of a request, the first one where `next` is empty; `page` is what its answer says.
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
        return {"verb": "ListRecords", "metadataPrefix": self.prefix} | {
            name: text for name, text in chosen.items() if text
        }

    def page(self, data: bytes, _next: str, /) -> Page:
        frame = _Frame(data, "OAI-PMH", {"resumptionToken", "error", "responseDate"}, "header")
        size = frame.attributes.get("resumptionToken", {}).get("completeListSize", "")
        return Page(
            records=frame.records,
            deleted=frame.deleted,
            total=int(size) if size.isdecimal() else None,
            next=frame.texts.get("resumptionToken", ""),
            date=frame.texts.get("responseDate", "")[:10],
            errors={frame.attributes["error"].get("code", "error"): frame.texts["error"]}
            if "error" in frame.texts
            else {},
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
    form: int = _FORM
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
    """Fetch all pages of a list that are not in the folder yet; at most so many now."""
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
    if (state.address, state.asked, state.form) != (address, asked, _FORM):
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
