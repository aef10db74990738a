"""The small real files that `soak_inputs.py` damages.

Incipits, catalogue records and judgements of the data beside the project (`ROSLIN_DATA`), tunes and scores that the
music21 wheel carries, and what Roslin itself writes from them.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import itertools
import json
import random
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from roslin.melody import Melody
from roslin.notation import musicxml, records
from roslin.notation.jsonl import write_jsonl
from roslin.notation.midi import write_midi
from roslin.notation.scores import to_mei

SEEDS_PER_FORMAT = 60
LARGEST_SEED = {"abc": 6_000, "krn": 3_000, "mxl": 8_000, "marcxml": 5_000}  # bytes; mxl is packed

Seeds = dict[str, list[bytes]]
ARCHIVES = ("zip", "gz", "tar")
_FIRST_BARS = re.compile(rb"(<part [^>]*>(?:.*?</measure>){1,2}).*?(</part>)", re.DOTALL)
_CONTAINER = b'<container><rootfiles><rootfile full-path="score.xml"/></rootfiles></container>'


def make_seeds(data: Path) -> Seeds:
    """Small real files of each format."""
    chance = random.Random(19)
    rows = [json.loads(line) for line in _unpacked(data / "rism" / "incipits.jsonl.gz").splitlines()]
    rows = chance.sample(rows, 6 * SEEDS_PER_FORMAT)
    corpus = _music21_files(chance)
    seeds: Seeds = {
        "pae": [_incipit(row, style) for row, style in zip(rows[:SEEDS_PER_FORMAT], itertools.cycle(range(4)))],
        "names": [b"c d e f g a h c'", "do ré mi fa sol la si do".encode(), b"c4, eb4, f#4, g4", b"cis dis e fis b a"],
        "jsonl": [_lines(rows[n : n + 3]) for n in range(0, 2 * SEEDS_PER_FORMAT, 3)],
        "marcxml": _marc_records(data, chance),
        "midi": [write_midi(melody) for melody in _melodies(rows[-SEEDS_PER_FORMAT:])],
        "abc": corpus["abc"],
        "kern": corpus["krn"],
        "musicxml": [_FIRST_BARS.sub(rb"\1\2", musicxml.unpacked(packed)) for packed in corpus["mxl"]],
    }
    seeds["mxl"] = [
        _zipped([("META-INF/container.xml", _CONTAINER), ("score.xml", each)]) for each in seeds["musicxml"]
    ]
    shortest = [sorted(seeds[format], key=len)[: SEEDS_PER_FORMAT // 3] for format in ("kern", "musicxml")]
    seeds["mei"] = [
        to_mei(text.decode("utf-8", "replace"), format).encode()
        for texts, format in zip(shortest, ("humdrum", "xml"), strict=True)
        for text in texts
    ]
    played = (record.melody for data in seeds["midi"][:20] for record in records(data, "midi"))
    seeds["jsonl"] += [write_jsonl(melody).encode() for melody in played if melody is not None]
    qrels = [path.read_bytes() for path in sorted(data.glob("*/*.qrel"))]
    seeds["qrels"] = [b"\n".join(text.split(b"\n")[:40]) for text in qrels]
    seeds["votes"] = [b"\n".join((data / "crowd2010" / "judgments.csv").read_bytes().split(b"\n")[:30])]
    seeds["run"] = [_run(chance) for _ in range(SEEDS_PER_FORMAT)]
    seeds["rankings"] = [_rankings(chance) for _ in range(SEEDS_PER_FORMAT)]
    for kind in ARCHIVES:
        seeds[kind] = [_packed(kind, seeds, chance) for _ in range(SEEDS_PER_FORMAT)]
    return seeds


def _unpacked(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


def _music21_files(chance: random.Random) -> dict[str, list[bytes]]:
    from music21 import common

    folder = Path(common.getCorpusFilePath())
    found: dict[str, list[bytes]] = {}
    for suffix in ("abc", "krn", "mxl"):
        paths = sorted(path for path in folder.rglob(f"*.{suffix}") if path.stat().st_size <= LARGEST_SEED[suffix])
        found[suffix] = [path.read_bytes() for path in chance.sample(paths, min(len(paths), SEEDS_PER_FORMAT))]
    return found


def _incipit(row: dict[str, str], style: int) -> bytes:
    clef, key, metre, music = (row.get(name) or "" for name in ("clef", "keysig", "timesig", "pae"))
    styles = (
        f"%{clef}@{metre}${key} {music}",
        f"@clef:{clef}\n@keysig:{key}\n@timesig:{metre}\n@data:{music}\n",
        f"$g {clef} $n {key} $o {metre} $p {music}",
        json.dumps({"clef": clef, "keysig": key, "timesig": metre, "data": music}),
    )
    return styles[style].encode()


def _lines(rows: list[dict[str, str]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _melodies(rows: list[dict[str, str]]) -> Iterator[Melody]:
    for row in rows:
        yield from (record.melody for record in records(_lines([row]), "jsonl") if record.melody is not None)


def _marc_records(data: Path, chance: random.Random) -> list[bytes]:
    text = _unpacked(data / "rism" / "brno_2017.xml.gz")
    head, record = text[: text.index("<marc:record>")], re.compile(r"<marc:record>.*?</marc:record>", re.DOTALL)
    found = [each for each in record.findall(text) if 'tag="031"' in each and len(each) < LARGEST_SEED["marcxml"]]
    return [f"{head}{each}\n</marc:collection>\n".encode() for each in chance.sample(found, SEEDS_PER_FORMAT)]


def _run(chance: random.Random) -> bytes:
    lines = (f"q{q} Q0 d{chance.randrange(99)} {rank} {9 / rank:g} mine\n" for q in range(4) for rank in range(1, 7))
    return "".join(lines).encode()


def _rankings(chance: random.Random) -> bytes:
    rows = [f"q{q},e{e},d{d},{rank}\n" for q in range(2) for e in range(3) for rank, d in _shuffled(chance)]
    return ("query,expert,document,rank\n" + "".join(rows)).encode()


def _shuffled(chance: random.Random) -> list[tuple[int, int]]:
    return list(enumerate(chance.sample(range(6), 6), start=1))


def _packed(kind: str, seeds: Seeds, chance: random.Random) -> bytes:
    inner = [
        (f"{format}{n}.{format}", chance.choice(seeds[format])) for n, format in enumerate(("pae", "abc", "marcxml"))
    ]
    if kind == "gz":
        return gzip.compress(chance.choice(inner)[1], mtime=0)
    if kind == "zip":
        return _zipped(inner)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, data in inner:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def _zipped(members: list[tuple[str, bytes]]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def checksum(seeds: Seeds) -> str:
    """Of all seeds, so that it can be told whether a number makes the same input."""
    total = hashlib.sha256()
    for format in sorted(seeds):
        for data in seeds[format]:
            total.update(hashlib.sha256(data).digest())
    return total.hexdigest()[:16]
