"""Compare this version of Roslin with another one: the same lists, distances, numbers, and reports up to markup?

    .venv/bin/python tools/compare_versions.py OTHER [--rism FILE] [--queries 12] [--only NAME]

OTHER is a checkout of the other version, or a file of its answers: `--keep FILE` writes those of this version to one.
Both run the same questions, each in a process of its own, on the starter collection and on a sample of RISM incipits
(`--rism`, by default that of ROSLIN_DATA):

    distances   of every matcher, and of variants with parameters, from some queries to every melody
    lists       what a search finds: everywhere, at the beginning, within a radius, within a selection
    modes       the same for every mode of `roslin`, with E, labels and headlines; whole melodies, beginnings, pieces
    joins       concordances, by both ways to find them: pairs with probabilities, groups and doubts
    identified  who sources are said to be by
    explained   the distance that an explanation adds up to, for every matcher
    page        the JSON of requests to the search page
    measures    every measure, for runs against the truths of MIREX 2005
    commands    what the commands print and write: search, filter, evaluate, campaign, truth, matchers, show

Numbers that are not whole may differ by 1e-12 of themselves, and by what was rounded where they are printed. Pages are
compared by their words: markup and drawings are left out. Prints what differs, and exits with 1 if anything does. Lines
of source and repeated names of classes are counted beside it.
"""

from __future__ import annotations

import argparse
import ast
import html
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

HERE = Path(__file__).parents[1]
DATA = Path(os.environ.get("ROSLIN_DATA") or HERE.parent / "shared" / "data")

VARIANTS = (
    "dp(place='inside')",
    "emd(tempos=(0.5, 1.0, 2.0))",
    "emd(missing=None)",
    "emd(ground='cityblock', weight='uniform')",
    "emd(ground='tonal')",
    "twv(segment=5, step=2, score='mean')",
    "twv(missing=None, penalty='radius', tempos=(0.5, 1.0, 2.0))",
    "twv(both=True, agree=True)",
    "p2(tempos=(0.5, 1.0, 2.0))",
    "p3(divide='query')",
    "orio(n=(3, 5), scale='minmax', fusion='mnz')",
    "us(divide='both')",
    "alignment(metric=False, rhythm=0.75, tempo='histogram', divide='mean')",
    "shapeh(aligner='local', divide='longer')",
    "fuse(dp, us, emd, method='rrf')",
    "fuse(dp, us, method='mnz', depth=20, weights=(1.0, 2.0))",
)
Answers = dict[str, Any]


def main() -> int:
    """Ask both versions, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="a checkout of the other version")
    parser.add_argument("--rism", type=Path, default=DATA / "rism" / "incipits.jsonl.gz")
    parser.add_argument("--queries", type=int, default=12, help="queries asked of the RISM sample")
    parser.add_argument("--only", choices=list(SECTIONS), help="one section")
    parser.add_argument("--keep", action="store_true", help="write the answers of this version to OTHER, a new file")
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)  # the folder for a child's answers
    options = parser.parse_args()
    if options.ask:
        _answer(options)
        return 0
    if options.keep:
        options.other.write_text(json.dumps(_asked(HERE), ensure_ascii=False), "utf-8")
        return 0
    other = options.other
    before = json.loads(other.read_text("utf-8")) if other.is_file() else _asked(other)
    differing = _compare({name: before[name] for name in before if options.only in (None, name)}, _asked(HERE))
    for name, source in (("other", other / "src"), ("this", HERE / "src")):
        if source.is_dir():
            print(f"{name}: {_counted(source)}")
    return 1 if differing else 0


def _asked(version: Path) -> Answers:
    """The answers of a version, given in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(version / "src"), "COLUMNS": "200", "PYTHONHASHSEED": "0"}
        command = [sys.executable, __file__, *sys.argv[1:], "--ask", folder]
        subprocess.run(command, env=environment, check=True, cwd=folder)
        answers: Answers = json.loads((Path(folder) / "answers.json").read_text("utf-8"))
        return answers


def _compare(before: Answers, after: Answers) -> int:
    differing = 0
    for section, answers in before.items():
        names = dict.fromkeys([*answers, *after[section]])
        bad = [name for name in names if not _same(answers.get(name), after[section].get(name))]
        print(f"{section}: {len(names) - len(bad)} of {len(names)} answers are the same")
        for name in bad:
            print(f"  {name}\n    other {_first(answers.get(name), after[section].get(name))}")
            print(f"    this  {_first(after[section].get(name), answers.get(name))}")
        differing += len(bad)
    return differing


def _same(one: Any, other: Any) -> bool:
    """Whether two answers are equal but for the last digits of numbers."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12) or (math.isnan(one) and math.isnan(other))
    if isinstance(one, str) and isinstance(other, str) and one != other:
        return _is_number(one) and _is_number(other) and math.isclose(float(one), float(other), rel_tol=1e-9)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return bool(one == other)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", text) is not None


def _first(value: Any, other: Any) -> str:
    """Where a value begins to differ from another one."""
    mine, theirs = json.dumps(value, ensure_ascii=False), json.dumps(other, ensure_ascii=False)
    place = next((k for k, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), min(len(mine), len(theirs)))
    return f"... {mine[max(place - 40, 0) : place + 80]}"


def _counted(source: Path) -> str:
    texts = [path.read_text("utf-8") for path in sorted(source.rglob("*.py"))]
    names = Counter(node.name for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef))
    twice = sorted(name for name, count in names.items() if count > 1)
    lines = sum(text.count("\n") for text in texts)
    return f"{len(texts)} modules, {lines} lines; classes with the name of another: {', '.join(twice) or 'none'}"


# -- in a process of its own ------------------------------------------------------------------------------------------


def _answer(options: argparse.Namespace) -> None:
    import roslin
    from roslin.starter import tunes_path

    folder = Path.cwd()
    names = [*roslin.matchers(), *VARIANTS]
    with (
        roslin.Collection.build(tunes_path(), folder / "starter.roslin") as starter,
        roslin.Collection.build(options.rism, folder / "rism.roslin") as rism,
    ):
        wanted = [options.only] if options.only else list(SECTIONS)
        answers = {section: dict(SECTIONS[section](starter, rism, names, options.queries)) for section in wanted}
    text = json.dumps(answers, ensure_ascii=False)
    (options.ask / "answers.json").write_text(text, encoding="utf-8")


def _queries(collection: Any, number: int) -> list[Any]:
    ids = collection.ids()
    return [collection[ids[place]] for place in range(0, len(ids), max(len(ids) // number, 1))][:number]


def _distances(starter: Any, rism: Any, names: list[str], queries: int) -> Iterator[tuple[str, Any]]:
    import numpy as np

    import roslin

    few = rism.packed().take(np.arange(0, len(rism), 50))
    for name in names:
        for where, some, candidates in (
            ("starter", _queries(starter, 6), starter.packed()),
            ("rism", _queries(rism, queries // 2), few),
        ):
            yield (
                f"{name} on {where}",
                [roslin.matcher(name).distances(query, candidates).tolist() for query in some],
            )


def _lists(starter: Any, rism: Any, names: list[str], queries: int) -> Iterator[tuple[str, Any]]:
    from roslin.collection.filters import pitch_range

    for name in names:
        for where, collection, number in (("starter", starter, 20), ("rism", rism, queries)):
            for query in _queries(collection, number):
                run = collection.search(query, name, 10)
                yield f"{name}, {query.id} in {where}", _hits(run)
    for name in ("dp", "twv", "emd", "us"):
        for query in _queries(starter, 10):
            yield f"{name}, {query.id}, radius", _hits(starter.search(query, name, 50, radius=0.5, threads=2))
            chosen = starter.filter(pitch_range(10, 15))
            yield f"{name}, {query.id}, selection", _hits(starter.search(query, name, 10, within=chosen))
            yield f"{name}, {query.id}, beginnings", _hits(starter.search(query, name, 10, place="start"))


def _hits(run: Any) -> list[tuple[str, float]]:
    return [(hit.id, hit.distance) for hit in run]


def _modes(starter: Any, rism: Any, names: list[str], queries: int) -> Iterator[tuple[str, Any]]:
    del names
    import itertools

    from roslin.matchers import Roslin

    fields = {name: list(values) for name, values in Roslin.modes.items()}
    for values in itertools.product(*fields.values()):
        chosen = Roslin(**dict(zip(fields, values, strict=True)))
        for where, collection, number in (("starter", starter, 4), ("rism", rism, queries)):
            for query in _queries(collection, number):
                for first, last in ((0, None), (0, 8), (3, 15)):
                    if len(query.notes[first:last]) < 2:
                        continue
                    run = collection.search(_piece(query, first, last), chosen, 12)
                    found = [(hit.id, hit.near, hit.expected, hit.same, str(hit.meaning)) for hit in run]
                    yield f"{chosen!r}, {query.id} from {first} to {last} in {where}", [run.headline, found]


def _piece(query: Any, first: int, last: int | None) -> Any:
    import roslin
    from roslin.melody import TICKS_PER_QUARTER

    notes = query.notes[first:last]
    onsets = (notes["onset_ticks"] - notes["onset_ticks"][0]) / TICKS_PER_QUARTER
    return roslin.Melody.from_notes(onsets, notes["duration_ticks"] / TICKS_PER_QUARTER, notes["pitch_midi"])


JOINS = ("", "--fast", "--level perhaps", "--matcher dp --radius 0.2")


def _joins(starter: Any, rism: Any, names: list[str], queries: int) -> Iterator[tuple[str, Any]]:
    del names, queries
    few = rism.path.parent / "few.roslin"
    _build_few(rism, few)
    for collection, path in (("starter", starter.path), ("rism", few)):
        for number, options in enumerate(JOINS):
            folder = path.parent / f"{collection}-{number}.concordances"
            words = ["concordances", "find", str(path), "-o", str(folder), "--format", "json", *options.split()]
            yield f"find {options} in {collection}", _parsed(_run(*words))
            for what in ("pairs", "groups", "graphml"):
                target = folder.with_suffix(f".{what}")
                _run("concordances", "export", what, str(path), "--folder", str(folder), "-o", str(target))
                yield f"{what} of {options} in {collection}", re.split(r"[,\n<>]", target.read_text("utf-8"))


def _build_few(rism: Any, path: Path) -> None:
    """Every fourth melody: enough for a few hundred concordances."""
    import roslin

    roslin.Collection.build([rism[id] for id in rism.ids()[::4]], path).close()


def _parsed(text: str) -> Any:
    """JSON without what may differ from run to run, so that numbers are compared as numbers."""

    def without_times(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without_times(each) for key, each in value.items() if key not in ("seconds", "token", "built")}
        return [without_times(each) for each in value] if isinstance(value, list) else value

    try:
        return without_times(json.loads(text))
    except ValueError:
        return _without_times(text)


def _run(*words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "roslin", *words], capture_output=True, text=True, check=False)
    return done.stdout if not done.returncode else f"{done.returncode} {done.stdout} {done.stderr}"


def _identified(starter: Any, rism: Any, names: list[str], queries: int) -> Iterator[tuple[str, Any]]:
    del names
    for collection, number in ((starter, 4), (rism, queries)):
        for query in _queries(collection, number):
            words = ["identify", str(collection.path), query.id, "--format", "json"]
            yield f"{query.id} in {collection.path.name}", _parsed(_run(*words))


REQUESTS = (
    "/api/search?q={pae}&k=12", "/api/search?q={pae}&matcher=emd", "/api/search?q={pae}&place=start&compare=melody",
    "/api/list?q={pae}", "/api/list?q=c%20c%20g%20g%20a%20a%20g", "/api/read?q={pae}", "/api/melodies/{id}",
    "/api/explain?q={pae}&id={other}", "/api/identify?q={id}", "/api/search?q=", "/api/search?q=%7Bx",
)  # fmt: skip


def _page(starter: Any, rism: Any, names: list[str], queries: int) -> Iterator[tuple[str, Any]]:
    del names, queries
    from urllib.parse import quote

    from fastapi.testclient import TestClient

    from roslin.notation.pae import write
    from roslin.web.app import create_app
    from roslin.web.settings import Settings

    for collection in (starter, rism):
        settings = Settings(collection=str(collection.path), requests_per_minute=0)
        with TestClient(create_app(settings), base_url="http://127.0.0.1") as client:
            for query in _queries(collection, 6):
                places = {"pae": write(query), "id": query.id, "other": collection.ids()[7]}
                for request in REQUESTS:
                    address = request.format(**{name: quote(str(value), safe="") for name, value in places.items()})
                    answer = client.get(address)
                    yield f"{address} of {collection.path.name}", [answer.status_code, _parsed(answer.text)]
            for address in ("/api/matchers", "/api/collection", "/api/melodies"):
                yield f"{address} of {collection.path.name}", _parsed(client.get(address).text)


def _explained(starter: Any, rism: Any, names: list[str], queries: int) -> Iterator[tuple[str, Any]]:
    del rism, queries
    import roslin

    for name in names:
        chosen: Any = roslin.matcher(name)
        for query in _queries(starter, 3):
            found = []
            for place in range(0, len(starter), 60):
                if hasattr(chosen, "account") and chosen.kind == "transport":
                    explanation = roslin.explain(query, starter[starter.ids()[place]], chosen)
                elif hasattr(chosen, "account"):
                    explanation = chosen.account(query, starter.packed(), place)
                else:
                    explanation = chosen.explain(query, starter.packed(), place)
                found.append(round(explanation.distance, 9))
            yield f"{name}, {query.id}", found


def _measures(starter: Any, rism: Any, names: list[str], queries: int) -> Iterator[tuple[str, Any]]:
    del starter, rism, names, queries
    import random

    from roslin.evaluate import MEASURES, evaluate
    from roslin.truth import read_truth

    chance = random.Random(2005)
    chosen = [name for name, cls in MEASURES.items() if "size" not in cls.__dataclass_fields__]
    for path in sorted((DATA / "mirex2005").glob("*.qrel")):
        truth = read_truth(path)
        documents = sorted({id for groups in truth.values() for group in groups for id in group})
        run = {query: {id: round(chance.random(), 1) for id in chance.sample(documents, 40)} for query in truth}
        for name in chosen:
            yield f"{name} of {path.stem}", evaluate(truth, {"chance": run}, name).values.tolist()


COMMANDS = (
    "search starter.roslin --id auld-lang-syne --html page.html --run list.run",
    "search starter.roslin --id la-folia --matcher dp --format json",
    "search starter.roslin --id la-folia --matcher us --format tsv",
    "filter starter.roslin --pitch-range 10..14",
    "filter starter.roslin --contains 'fifth up' --format json",
    "collection info starter.roslin",
    "show starter.roslin la-folia",
    "matchers --format json",
    "evaluate TRUTH list.run --format json",
    "campaign starter.roslin --truth TRUTH --matcher dp --matcher us --matcher twv -o campaign --format json",
    "evaluate TRUTH campaign/runs/dp.run campaign/runs/us.run --compare --per-query --tie-sensitivity",
    "evaluate TRUTH campaign/runs/dp.run campaign/runs/us.run --format html --output evaluation.html",
    "evaluate TRUTH campaign/runs/dp.run campaign/runs/us.run --format latex --compare",
    "evaluate TRUTH campaign/runs/dp.run --steps la-folia",
    "truth simulate --experts 20 --candidates 12 --seed 4 -o rankings.csv",
    "truth group rankings.csv -o grouped.qrel",
    "truth consistency grouped.qrel rankings.csv",
    "truth experts rankings.csv",
    "truth report rankings.csv -o truth",
    "truth votes VOTES -o votes.qrel",
)


def _commands(starter: Any, rism: Any, names: list[str], queries: int) -> Iterator[tuple[str, Any]]:
    del starter, rism, names, queries
    import shlex
    import shutil

    from roslin.starter import truth_path

    shutil.copy(truth_path(), "starter.qrel")  # both versions name the same file
    places = {"TRUTH": "starter.qrel", "VOTES": str(DATA / "crowd2010" / "judgments.csv")}
    for command in COMMANDS:
        words = [places.get(word, word) for word in shlex.split(command)]
        before = {path: path.stat().st_mtime_ns for path in Path.cwd().rglob("*") if path.is_file()}
        done = subprocess.run([sys.executable, "-m", "roslin", *words], capture_output=True, text=True, check=False)
        yield f"{command}: exit", done.returncode
        yield f"{command}: printed", _without_times(done.stdout)
        yield f"{command}: said", _without_times(done.stderr)
        for path in sorted(Path.cwd().rglob("*")):
            is_text = path.suffix in (".html", ".run", ".json", ".qrel", ".csv", ".tex", ".md", ".txt")
            if is_text and path.stat().st_mtime_ns != before.get(path) and ".roslin" not in str(path):
                name = path.relative_to(Path.cwd())
                yield f"{command}: {name}", _without_times(_words(path.read_text("utf-8"), path.suffix))


def _words(text: str, suffix: str) -> str:
    """The words of a page, without markup and drawings."""
    if suffix != ".html":
        return text
    text = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def _without_times(text: str) -> str:
    """Without what may differ from run to run: dates, checksums of the program, how long something took."""
    text = text.replace(str(Path.cwd()), "FOLDER")
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.+]+Z?", "DATE", text)
    text = re.sub(r'("program_sha256": )"\w+"', r"\1SUM", text)
    text = re.sub(r"\b[0-9a-f]{12,64}\b", "SUM", text)
    text = re.sub(r'"(ms|seconds|median|slowest|total|ms of \w+)": [\d.e-]+', r'"\1": TIME', text)
    text = re.sub(
        r"((?:system|matcher)\s+median\s+mean\s+slowest\s+all\s+)((?:\S+(?:\s+\d+\.\d+){4}\s*)+)", r"\1TIMES ", text
    )
    text = re.sub(r"(\d\.\d{4}\s+)\d+\.\d{1,4}(\s+\d{3,4}\s)", r"\1TIME\2", text)  # the column ms
    return re.sub(r"\d+(\.\d+)? (ms|s|seconds)\b", "TIME", text)


Section = Callable[[Any, Any, list[str], int], Iterator[tuple[str, Any]]]
SECTIONS: dict[str, Section] = {
    "distances": _distances,
    "lists": _lists,
    "modes": _modes,
    "joins": _joins,
    "identified": _identified,
    "page": _page,
    "explained": _explained,
    "measures": _measures,
    "commands": _commands,
}

if __name__ == "__main__":
    sys.exit(main())
