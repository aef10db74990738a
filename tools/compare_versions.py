"""Compare this version of Roslin with another one: the same lists, distances, numbers, and reports up to markup?

    .venv/bin/python tools/compare_versions.py OTHER [--rism FILE] [--queries 12] [--only NAME]

OTHER is a checkout of the other version. Both run the same questions, each in a process of its own, on the starter
collection and on a sample of RISM incipits (`--rism`, by default that of ROSLIN_DATA):

    distances   of every matcher, and of variants with parameters, from some queries to every melody
    lists       what a search finds: everywhere, at the beginning, within a radius, within a selection
    explained   the distance that an explanation adds up to, for every matcher
    measures    every measure, for runs against the truths of MIREX 2005
    commands    what the commands print and write: search, filter, evaluate, campaign, truth, matchers, show

Pages are compared by their words: markup and drawings are left out. Prints what differs, and exits with 1 if anything
does. Lines of source and repeated names of classes are counted beside it.
"""

from __future__ import annotations

import argparse
import ast
import html
import json
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
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)  # the folder for a child's answers
    options = parser.parse_args()
    if options.ask:
        _answer(options)
        return 0
    found = []
    for source in (options.other / "src", HERE / "src"):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "PYTHONPATH": str(source), "COLUMNS": "200", "PYTHONHASHSEED": "0"}
            command = [sys.executable, __file__, *sys.argv[1:], "--ask", folder]
            subprocess.run(command, env=environment, check=True, cwd=folder)
            found.append(json.loads((Path(folder) / "answers.json").read_text("utf-8")))
    differing = _compare(*found)
    for name, source in (("other", options.other / "src"), ("this", HERE / "src")):
        print(f"{name}: {_counted(source)}")
    return 1 if differing else 0


def _compare(before: Answers, after: Answers) -> int:
    differing = 0
    for section, answers in before.items():
        names = dict.fromkeys([*answers, *after[section]])
        bad = [name for name in names if answers.get(name) != after[section].get(name)]
        print(f"{section}: {len(names) - len(bad)} of {len(names)} answers are the same")
        for name in bad:
            print(f"  {name}\n    other {_first(answers.get(name), after[section].get(name))}")
            print(f"    this  {_first(after[section].get(name), answers.get(name))}")
        differing += len(bad)
    return differing


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
    text = re.sub(r"(system\s+median\s+mean\s+slowest\s+all\s+)((?:\S+(?:\s+\d+\.\d+){4}\s*)+)", r"\1TIMES ", text)
    text = re.sub(r"(\d\.\d{4}\s+)\d+\.\d{1,4}(\s+\d{3,4}\s)", r"\1TIME\2", text)  # the column ms
    return re.sub(r"\d+(\.\d+)? (ms|s|seconds)\b", "TIME", text)


Section = Callable[[Any, Any, list[str], int], Iterator[tuple[str, Any]]]
SECTIONS: dict[str, Section] = {
    "distances": _distances,
    "lists": _lists,
    "explained": _explained,
    "measures": _measures,
    "commands": _commands,
}

if __name__ == "__main__":
    sys.exit(main())
