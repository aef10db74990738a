"""Libraries that only an extra installs: whoever lacks one is told the command that installs it."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from roslin import Melody
from roslin.collection.export import export
from roslin.errors import MissingExtraError
from roslin.run import Run, read_run

INSTALL = r'install it with: pip install "roslin\[parquet\]" \(in a clone: tools/environment.sh parquet\)'


@pytest.fixture
def without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("pyarrow")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)


@pytest.mark.usefixtures("without_pyarrow")
def test_parquet_without_pyarrow(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    with pytest.raises(MissingExtraError, match=rf"x.parquet: writing Parquet needs pyarrow, .*{INSTALL}"):
        Run({"q": ["a"]}).write(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(MissingExtraError, match=rf"x.parquet: reading Parquet needs pyarrow, .*{INSTALL}"):
        read_run(path)
    with pytest.raises(MissingExtraError, match=rf"writing Parquet needs pyarrow, .*{INSTALL}"):
        export([Melody.from_notes([0], [1], [60])], tmp_path / "melodies.parquet")


def test_the_bridge_without_ir_measures() -> None:
    code = "import sys; sys.modules['ir_measures'] = None; import roslin.interop.ir_bridge"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (
        'MissingExtraError: the bridge needs ir_measures, which is not installed; install it with: pip install "'
        in (done.stderr)
    )


def test_it_crosses_processes() -> None:
    error = MissingExtraError("the page", "fastapi", "web")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
