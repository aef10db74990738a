"""What all tests share: the real data beside the project, programs that may be missing, markers, and what a skip means.

`make quick` leaves out the tests with a marker (pyproject.toml). Tests that use a browser, PostgreSQL or a cluster are
marked here, by their fixtures; the others name their marker. The files that take longest run first, so that no worker
is left with one of them at the end.

With ROSLIN_REQUIRE_ALL set (as .ci/run does) a skipped test is a failed test.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from roslin.sandbox import shared_worker

if TYPE_CHECKING:
    from tests.postgresql import Cluster

ROOT = Path(__file__).parents[1]

# The same examples in every run; how long one takes, or making it, says nothing on a busy computer.
settings.register_profile(
    "roslin",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("roslin")


MARKED_BY = {"chromium": "browser", "postgresql": "postgresql", "cluster": "cluster"}
MARKERS = {*MARKED_BY.values(), "kills", "long"}
LONGEST = [  # folders and files of more than 20 seconds; other files with marked tests follow, and then the rest
    "web/test_open_server.py",
    "browser/test_experiment_page.py",
    "web/test_reconcile.py",
    "web/test_shutdown.py",
    "experiment/test_end_to_end.py",
    "browser",
    "benchmark/test_benchmark.py",
    "distributed/test_same_bytes.py",
    "web/test_site.py",
    "notation/test_growth.py",
    "experiment/test_faults.py",
    "experiment/test_bots.py",
    "cli/test_cli.py",
    "concordances/test_kills.py",
    "web/test_pasted.py",
    "test_docs.py",
]


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = set()
    for item in items:
        needed = set(getattr(item, "fixturenames", ()))
        if hasattr(item, "callspec") and item.callspec.params.get("database") == "postgresql":
            needed.add("postgresql")
        for fixture in needed & MARKED_BY.keys():
            item.add_marker(MARKED_BY[fixture])
        if MARKERS & {mark.name for mark in item.iter_markers()}:
            marked.add(item.path)
    ranks = {ROOT / "tests" / name: rank for rank, name in enumerate(LONGEST)}

    def rank(path: Path) -> int:
        known = min((ranks[each] for each in (path, *path.parents) if each in ranks), default=len(ranks))
        return known if known < len(ranks) or path in marked else known + 1

    items.sort(key=lambda item: rank(item.path))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("ROSLIN_REQUIRE_ALL"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but ROSLIN_REQUIRE_ALL is set: {call.excinfo.value if call.excinfo else ''}"
    return report


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Drawings are cached in a folder of the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROSLIN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def patient_engraver() -> None:
    """Verovio takes seconds to start on a busy computer; as long as it answers, that is no fault."""
    shared_worker().time_limit_seconds = 90.0


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The real data (ROSLIN_DATA, by default ../shared/data), which is not part of the project."""
    folder = Path(os.environ.get("ROSLIN_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"needs the real data, and {folder} is not there; set ROSLIN_DATA")
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs Chromium; install it with: apt-get install chromium")
    return program


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Cluster]:
    """A PostgreSQL server of the tests' own. What is lost if the computer stops does not matter here."""
    from tests.postgresql import programs, started

    if programs() is None:
        pytest.skip("needs PostgreSQL; install it with: apt-get install postgresql")
    with started("fsync=off", "full_page_writes=off") as cluster:
        yield cluster


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty database of a study; each test that asks for it runs on both kinds."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'study.db'}"
        return
    cluster: Cluster = request.getfixturevalue("postgresql")
    name = cluster.new()
    yield cluster.url(name)
    cluster.drop(name)


@pytest.fixture
def registries() -> Iterator[None]:
    """What a test registers, or loads from a file, is gone after it."""
    from roslin.evaluate import MEASURES
    from roslin.matchers import MATCHERS
    from roslin.notation import FORMATS
    from roslin.values import plugins

    path, kept = list(sys.path), list[tuple[dict[Any, Any], dict[Any, Any]]]()
    for registry in (MATCHERS, MEASURES, FORMATS):
        for name in ("compound", "_things", "_names", "_origins"):
            found = getattr(registry, name)
            kept.append((found, dict(found)))
    kept.append((plugins._FILES, dict(plugins._FILES)))
    yield
    sys.path[:] = path
    for found, before in kept:
        found.clear()
        found.update(before)
