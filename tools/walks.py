"""Count the modules that answer a search by command and by page, concordances, an expert's decision, and an evaluation.

    .venv/bin/python tools/walks.py [a]    in the folder of a checkout; of one walk, also its modules and those calls

Each walk runs twice over the starter collection, each time in a new process. A module counts if one of its functions is
called. A call comes back if it leads from one room to another one that is already waiting for its result.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import walk_stack
from types import FrameType

sys.path[:0] = [str(Path.cwd() / "src"), str(Path.cwd())]
QUERY = "'4CDEC/CDEC/EF2G/EF2G"
NAMES = {"a": "search by command", "b": "search by page", "c": "concordances", "d": "a decision", "e": "evaluate"}
SHARED = {"errors", "types", "tolerances", "values", "display", "deadline", "kernels"}  # all rooms ask these
functions, again, importing = set[tuple[str, str]](), set[str](), 0


def _note(frame: FrameType, event: str, _: object) -> None:
    global importing
    code, module = frame.f_code, str(frame.f_globals.get("__name__"))
    importing += {"call": 1, "return": -1}.get(event, 0) * (code.co_name == "<module>")
    is_ours = module[:7] == "roslin." and code.co_filename.endswith(".py") and code.co_name[0] != "<"
    if event != "call" or importing or (module, code.co_name) in functions or not is_ours:
        return
    functions.add((module, code.co_name))
    callers = [str(caller.f_globals.get("__name__")).split(".") for caller, _ in walk_stack(frame.f_back)]
    rooms = [name[1] for name in callers if name[0] == "roslin" and len(name) > 1 and name[1] not in SHARED]
    if module.split(".")[1] in rooms and rooms[0] != module.split(".")[1]:
        again.add(f"{rooms[0]} calls {module}.{code.co_name}")


def _follow(work: Callable[[], object]) -> None:
    threading.setprofile(_note)
    sys.setprofile(_note)
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()), suppress(SystemExit):
        work()
    sys.setprofile(None)


def _request(name: str, collection: Path, folder: Path) -> None:
    from fastapi.testclient import TestClient
    from tests.experiment.studies import small_study
    from tests.web.experiment.browsers import Browser

    from roslin.web.app import create_app
    from roslin.web.experiment import app, study
    from roslin.web.settings import Settings

    if name == "b":
        client = TestClient(create_app(Settings(str(collection), log_requests=False)))
        _follow(lambda: client.get("/api/search", params={"q": QUERY, "k": 3}).raise_for_status())
        return
    with small_study(folder) as made:
        served = app.create_app(study.ExperimentSettings(str(made.path), warm_up=False, log_requests=False))
    expert = Browser(TestClient(served), served.state.study, served.state.study.store.invite()[0].name)
    expert.until("trial")
    headers = {"x-roslin-csrf": expert.get("/api/trials/1").json()["csrf"]}
    sent = {"decisions": [{"kind": "sorted", "key": "a", "document": 0, "verdict": "no"}]}
    _follow(lambda: expert.client.post("/api/trials/1/decisions", json=sent, headers=headers).raise_for_status())


def _walk(name: str, folder: Path) -> None:
    from roslin import Collection
    from roslin.cli import main
    from roslin.starter import truth_path, tunes_path

    collection, run, new = folder / "starter.roslin", folder / "found.run", folder / f"{len(list(folder.iterdir()))}"
    if not collection.exists():
        Collection.build(tunes_path(), collection).search(QUERY, k=20).write(run)
    words = {
        "a": ["search", str(collection), "--pae", QUERY, "-k", "3"],
        "c": ["concordances", "find", str(collection), "-o", str(new)],
        "e": ["evaluate", str(truth_path()), str(run), "-m", "ADR"],
    }
    sys.argv[1:] = words.get(name, [])
    _follow(main) if name in words else _request(name, collection, new)
    modules = sorted({module for module, _ in functions})
    print(f"| {name} {NAMES[name]} | {len(modules)} | {len(functions)} | {len(again)} |", *modules, *again, sep="\n")


if len(sys.argv) == 3:
    _walk(sys.argv[1], Path(sys.argv[2]))
else:
    print("| walk | modules | functions | calls that come back |\n|---|--:|--:|--:|", flush=True)
    with TemporaryDirectory() as made:
        for letter in sys.argv[1:] or NAMES:
            walking = [sys.executable, __file__, letter, made]
            done = [subprocess.run(walking, stdout=subprocess.PIPE, check=True) for _ in "12"][1]
            print(*done.stdout.decode().splitlines()[: None if sys.argv[1:] else 1], sep="\n", flush=True)
