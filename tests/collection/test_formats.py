"""Formats last: collections of the format before and of 0.1.0, and a study of 0.1.0, are read, searched and upgraded.

`tests/fixtures` has them as the Roslin of that time wrote them: 21 tunes of the starter collection.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cli.program import roslin
from tests.collection.kills import killed

from roslin import Collection
from roslin.collection import write
from roslin.collection.files import FORMAT_VERSION
from roslin.collection.store import Store, check
from roslin.errors import DamagedError, ExperimentError
from roslin.experiment.folder import StudyFolder
from roslin.experiment.store import EventStore
from roslin.melody import Melody

FIXTURES = Path(__file__).parents[1] / "fixtures"
CASTLE = ["roslin-castle", *(f"roslin-castle-{number}" for number in (2, 3, 4, 5))]


@pytest.fixture(params=["format-3", "0.1.0"])
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A collection of an earlier Roslin."""
    return Path(shutil.copytree(FIXTURES / str(request.param) / "small.roslin", tmp_path / "small.roslin"))


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """A collection of the format before."""
    return Path(shutil.copytree(FIXTURES / "format-3" / "small.roslin", tmp_path / "before.roslin"))


def listed(path: Path) -> list[tuple[str, float, str]]:
    with Collection(path) as collection:
        run = collection.search(collection["roslin-castle"], k=5)
        return [(entry.id, entry.distance, entry.meaning) for entry in run]


@pytest.mark.long
def test_an_earlier_collection_is_read_searched_and_upgraded(earlier: Path) -> None:
    assert check(earlier) == []
    with Store(earlier) as store:
        ids, melodies, format = store.ids(), list(store), int(store.about["format_version"])
    assert len(ids) == 21
    found = listed(earlier)
    assert {id for id, _, _ in found} == set(CASTLE)
    assert (found[0][0], found[0][2]) == ("roslin-castle", "same notes")
    told = roslin("collection", "upgrade", earlier).stdout
    assert told == f"{earlier}: {'has' if format == 4 else 'upgraded from format 3 to'} format {FORMAT_VERSION}\n"
    assert check(earlier) == []
    with Store(earlier) as store:
        assert store.about["format_version"] == str(FORMAT_VERSION)
        assert (store.ids(), list(store)) == (ids, melodies)
        assert store.report is None or store.report.taken == 21
    assert listed(earlier) == found


def test_a_change_writes_the_present_format(before: Path) -> None:
    write.add([Melody.from_notes([0, 1], [1, 1], [60, 64], id="new")], before)
    assert check(before) == []
    with Store(before) as store:
        assert (len(store), store.about["format_version"]) == (22, str(FORMAT_VERSION))


def test_the_format_before_is_checked_without_checksums(before: Path) -> None:
    (offsets,) = before.glob("offsets-*.npy")
    data = bytearray(offsets.read_bytes())
    data[-8] ^= 1
    offsets.write_bytes(data)
    with pytest.raises(DamagedError, match=r"offsets-\w+.npy does not divide the \d+ rows of notes"):
        Store(before)
    offsets.unlink()
    assert ["is missing" in fault for fault in check(before)] == [True]


@pytest.mark.kills
def test_an_upgrade_that_is_killed_leaves_the_old_state_or_the_new_one(before: Path, tmp_path: Path) -> None:
    formats = []
    with killed() as attempt:
        for step in range(1, 40):
            target = Path(shutil.copytree(before, tmp_path / f"{step}.roslin"))
            code = attempt(step, "upgrade", target)
            assert check(target) == []
            with Store(target) as store:
                formats.append(store.about["format_version"])
                assert len(store) == 21
            write.add([Melody.from_notes([0], [1], [60], id="later")], target)  # the next writer is not in the way
            assert not list(target.glob(".new-*"))
            if code == 0:
                break
            assert code == -9
    assert code == 0
    assert formats == sorted(formats)
    assert (formats[0], formats[-1]) == ("3", str(FORMAT_VERSION))


# -- studies ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURES / "0.1.0" / "small.study", tmp_path / "small.study"))


@pytest.mark.long
def test_a_study_of_0_1_0_is_read_exported_and_continued(study: Path, tmp_path: Path) -> None:
    roslin("experiment", "export", study, "-o", tmp_path / "results")
    expected = (FIXTURES / "0.1.0" / "rankings.csv").read_text("utf-8")
    assert (tmp_path / "results" / "rankings.csv").read_text("utf-8") == expected
    folder = StudyFolder(study)
    store = EventStore(folder.database, folder.plan)
    try:
        (guest,) = store.invite(1)
        store.consent(guest.name)
        assert [event.kind for event in store.events(guest.name)] == ["consented"]
    finally:
        store.close()
    assert folder.melody("roslin-castle").title == "Roslin Castle (The House of Glamis)"


def test_a_plan_of_a_newer_roslin_is_refused(study: Path) -> None:
    plan = study / "plan.json"
    plan.write_text(plan.read_text("utf-8").replace("{", '{"shoe_size": 44,', 1), "utf-8")
    with pytest.raises(ExperimentError, match=r"plan.json was written by a newer Roslin; upgrade Roslin with: pip"):
        StudyFolder(study)
