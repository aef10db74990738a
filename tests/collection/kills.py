"""Changes of a collection that kill themselves at their n-th step. One process imports Roslin; each try forks it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PROGRAM = """
import os, signal, sys
from pathlib import Path
from roslin.collection import files, preparation, write
from roslin.collection.update import update
from roslin.melody import Melody

calls = step = 0

def counting(function):
    def counted(*arguments, **named):
        global calls
        calls += 1
        if calls == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **named)
    return counted

for module, name in ((files, "sync"), (files, "remove_leftovers"), (files, "publish"), (files, "workspace"),
                     (Path, "replace"), (Path, "unlink")):
    setattr(module, name, counting(getattr(module, name)))

def change(work, target, *export):
    new = [Melody.from_notes([0, 1], [1, 1], [60, 64], id=f"new-{k}") for k in range(5)]
    if work == "build":
        write.build(new, target)
    elif work == "add":
        write.add(new, target)
    elif work == "upgrade":
        write.upgrade(target)
    elif work == "remove":
        write.remove(["a"], target)
    else:
        for name in ("drop", "put"):
            setattr(preparation.Preparation, name, counting(getattr(preparation.Preparation, name)))
        update(*export, target)

for line in sys.stdin:
    number, *words = line.rstrip("\\n").split("\\t")
    child = os.fork()
    if child == 0:
        step = int(number)
        change(*words)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@contextmanager
def killed() -> Iterator[Callable[..., int]]:
    """A function of a step, a change ("build", "add", "remove", "upgrade", "update"), a collection and an export.

    It returns the exit code: -9 if the change was killed at this step, 0 if it was complete before.
    """
    command = [sys.executable, "-c", _PROGRAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def attempt(step: int, work: str, *paths: object) -> int:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\t".join(map(str, (step, work, *paths))) + "\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield attempt
        assert process.stdin is not None
        process.stdin.close()
