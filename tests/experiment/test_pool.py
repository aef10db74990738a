"""Candidates by filters, words, systems and their disagreement; copies go, and about so many are left."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.experiment.studies import study_text

from roslin.api import Collection
from roslin.collection.filters import ASKED
from roslin.errors import ExperimentError
from roslin.experiment.folder import create_study
from roslin.experiment.planning import Pool, pooled
from roslin.experiment.study_toml import PoolTable
from roslin.melody import Melody
from roslin.starter import tunes_path
from roslin.values.toml_file import TomlPlace

COCKADE: dict[str, Any] = {
    "pitch_range": "major sixth..octave",
    "max_interval": "..perfect fifth",
    "duration_ratio": "..0.5",
    "contains": ["unison, unison, second down", "third up, unison, unison"],
}


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection.build(tunes_path(), tmp_path_factory.mktemp("pool") / "starter.roslin") as collection:
        yield collection


def pool_of(collection: Collection, query: str | Melody, *, hides_query: bool = False, **values: Any) -> Pool:
    place = TomlPlace(Path("study.toml"), "", ("pool",))
    melody = collection[query] if isinstance(query, str) else query
    return pooled(collection, melody, place.read(PoolTable, values), place, hides_query=hides_query)


def test_the_chain_of_filters_leaves_what_roslin_filter_leaves(starter: Collection) -> None:
    pool = pool_of(starter, "white-cockade", **COCKADE, unique=False)
    assert pool.sentence == (
        "243 melodies. Pitch range between a major sixth and an octave (9 to 12 semitones). 125 left. "
        "Largest interval at most a perfect fifth (7 semitones). 99 left. "
        "Duration ratio at most 0.5 (shortest note to longest note). 93 left. "
        'Contains "unison, unison, second down" or "third up, unison, unison". 19 left. 18 candidates.'
    )
    assert "white-cockade" not in pool.why
    assert set(pool.why.values()) == {("Passed the filters.",)}


def test_every_filter_can_be_asked_for(starter: Collection) -> None:
    every: dict[str, Any] = {
        "pitch_range": "5..",
        "max_interval": "..12",
        "duration_ratio": "0.01..1",
        "note_count": "4..200",
        "contains": "unison",
        "contains_semitones": ["0", "+2"],
        "share": ["second=0.1.."],
        "motive": ["unison"],
        "pattern": ["."],
        "contour": 100,
        "rhythm": "LS===100",
        "where": ["metre=4"],
        "only": ["metre=2/4", "metre=4/4"],
    }
    assert tuple(every) == ASKED
    pool = pool_of(starter, "white-cockade", **every, times=2, costs="replacement=2")
    assert pool.sentence.count(" left.") == len(ASKED)
    assert "replacement 2" in pool.sentence
    assert set(ASKED) < set(PoolTable.model_fields)


def test_what_words_find_is_added_and_stays(starter: Collection) -> None:
    pool = pool_of(starter, "roslin-castle", also=["title=Roslin"], matchers={"dp": 30}, unique=False, most=10)
    roslins = {f"roslin-castle-{number}" for number in range(2, 8)}
    assert roslins <= set(pool.why)
    assert len(pool.why) == 10
    assert all('Title contains "Roslin".' in pool.why[id] for id in roslins)
    assert '6 added: Title contains "Roslin".' in pool.sentence


def test_systems_add_their_first(starter: Collection) -> None:
    found = starter.search(starter["ode-to-joy"], "dp", 5, exclude=("ode-to-joy",)).ids
    pool = pool_of(starter, "ode-to-joy", matchers={"dp": 5}, unique=False)
    assert list(pool.why) == found
    assert [why for (why,) in pool.why.values()] == [f"Rank {rank} of dp." for rank in range(1, 6)]
    assert "5 added by dp, of its first 5." in pool.sentence
    listed = pool_of(starter, "ode-to-joy", matchers=["dp"], unique=False)
    assert len(listed.why) == 10


def test_copies_take_no_places(starter: Collection) -> None:
    """Several of the first are the query in other keys and lengths: identical by the paper's rule, or part of it."""
    pool = pool_of(starter, "roslin-castle", matchers={"dp": 6}, hides_query=True)
    assert len(pool.why) == 6
    copies = {"roslin-castle-2", "roslin-castle-5", "roslin-castle-7"}
    assert not copies & set(pool.why)
    assert int(re.findall(r"of its first (\d+)", pool.sentence)[0]) > 6
    assert pool.sentence.endswith("6 candidates, and the query itself.")
    shown = pool_of(starter, "roslin-castle", matchers={"dp": 6})
    assert len(shown.why) == 6
    assert len(copies & set(shown.why)) == 1


def test_the_same_rule_as_the_filters_without_near_duplicates(starter: Collection) -> None:
    query = Melody.from_notes([0, 1], [1, 1], [60, 60], id="elsewhere")
    everything = starter.filter()
    for unique, exactly in ((True, False), ("exactly", True)):
        pool = pool_of(starter, query, pitch_range="0..", most=1000, unique=unique)
        assert set(pool.why) == set(everything.without_near_duplicates(exact_rhythm=exactly).ids)


def test_where_systems_disagree(starter: Collection) -> None:
    """With two lists the spread is half the distance of the logarithms; lists are twice as long as the pool."""
    names = {"dp": 3, "rhytfuzz": 3}
    pool = pool_of(starter, "greensleeves", note_count="1..", matchers=names, disagreement=2, unique=False, most=5)
    one, two = (starter.search(starter["greensleeves"], name, 10, exclude=("greensleeves",)).ids for name in names)
    places = {id: [ids.index(id) + 1 if id in ids else 11 for ids in (one, two)] for id in {*one, *two}}
    expected = sorted(places, key=lambda id: (-abs(math.log2(places[id][0] / places[id][1])), id))[:2]
    disputed = {id: why[-1] for id, why in pool.why.items() if "disagree" in why[-1]}
    assert set(disputed) == set(expected)
    assert "The 2 about which dp, rhytfuzz disagree most stay in any case." in pool.sentence
    assert disputed["auld-lang-syne-3"] == "The matchers disagree: dp -, rhytfuzz 3."
    assert len(pool.why) == 5


def test_what_systems_disagree_about_can_be_new(starter: Collection) -> None:
    pool = pool_of(starter, "greensleeves", matchers={"dp": 1, "rhytfuzz": 1}, disagreement=4, unique=False)
    assert len(pool.why) == 5
    assert "The 4 about which dp, rhytfuzz disagree most stay in any case; 4 of them new." in pool.sentence


def test_the_nearest_stay_each_system_in_turn(starter: Collection) -> None:
    everything: dict[str, Any] = {"pitch_range": "0..", "unique": False}
    pool = pool_of(starter, "ode-to-joy", **everything, matchers={"dp": 1, "rhytfuzz": 1}, most=6)
    all_ids = set(starter.ids()) - {"ode-to-joy"}
    lists = [
        starter.search(starter["ode-to-joy"], name, 20, exclude=("ode-to-joy",)).ids for name in ("dp", "rhytfuzz")
    ]
    assert set(pool.why) <= all_ids
    for ids in lists:
        assert set(ids[:3]) <= set(pool.why)
    assert len(pool.why) == 6
    assert "236 removed: the furthest from the query by dp, rhytfuzz in turn." in pool.sentence
    alone = pool_of(starter, "ode-to-joy", **everything, most=4)
    assert "removed: the furthest from the query by roslin." in alone.sentence


def test_by_name(starter: Collection) -> None:
    named = pool_of(
        starter, "ode-to-joy", matchers={"dp": 5}, add=["dixie", "ode-to-joy-2"], leave_out=["ode-to-joy-3"], most=4
    )
    assert named.why["dixie"] == ("Named in the file.",)
    assert "ode-to-joy-2" in named.why
    assert "ode-to-joy-3" not in named.why
    assert len(named.why) == 4


def test_a_query_from_elsewhere(starter: Collection) -> None:
    query = starter["ode-to-joy"].transposed(3).with_metadata(id="mine")
    pool = pool_of(starter, query, matchers={"dp": 5}, hides_query=True)
    assert "ode-to-joy" not in pool.why
    assert len(pool.why) == 5


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"pitch_range": "x"}, r"pool\.pitch_range: "),
        ({"share": "third"}, r"pool\.share: share must be INTERVAL=RANGE; got 'third'"),
        ({"contour": "UD=x"}, r"pool\.contour: contour must be COST or LETTERS=COST; got 'UD=x'"),
        ({"where": "metre"}, r"pool\.where: where must be FIELD=TEXT; got 'metre'"),
        ({"also": "colour=red"}, r"pool\.also: unknown field 'colour'"),
        ({"costs": "UD=2", "note_count": "3.."}, r"pool\.costs: is for contour and rhythm"),
        ({"costs": "UD", "contour": 3}, r"pool\.costs: costs must be NAME=NUMBER"),
        ({"times": 3, "note_count": "3.."}, r"pool\.times: needs a motive"),
        ({"matchers": ["dpp"]}, r"pool\.matchers: .*dpp"),
        ({"matchers": {"dp": 0}}, r"pool\.matchers\.dp: the number is too small; expected 1 or more; found 0"),
        ({"matchers": ["dp"], "disagreement": 2}, r"disagreement: needs matchers that disagree; .* found 1"),
        ({"matchers": ["dp"], "unique": "yes"}, "unique: unknown value; expected true, false or 'exactly'"),
        ({"matchers": ["dp"], "add": ["zz"]}, r"pool\.add: no melody of starter\.roslin; .* found 'zz'"),
        ({"matchers": ["dp"], "add": ["ode-to-joy"]}, r"pool\.add: this is the query; expected query_among_candidates"),
        ({"matchers": ["dp"], "leave_out": ["zz"]}, r"pool\.leave_out: no melody of starter\.roslin"),
        ({"also": "title=Roslin", "most": 2}, r"pool\.most: more than that were .* 4 or more; found 2"),
        ({"most": 20}, "pool: no source of candidates is given; expected a filter, also, matchers or add"),
        ({"where": "title=no such tune"}, "pool: the pool has 0 candidates; expected at least 2; found '243 melodies"),
    ],
)  # fmt: skip
def test_wishes_that_are_refused(starter: Collection, values: dict[str, Any], message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        pool_of(starter, "ode-to-joy", **values)


def test_too_many(starter: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roslin.experiment.planning._TOO_MANY", 100)
    with pytest.raises(ExperimentError, match=r"the filters leave too many; expected 100 at most.* found 243"):
        pool_of(starter, "ode-to-joy", note_count="1..")
    with pytest.raises(ExperimentError, match=r"pool\.also: too many have these words"):
        pool_of(starter, "ode-to-joy", also="metre=4")


def test_the_study_keeps_why_each_candidate_is_there(tmp_path: Path) -> None:
    text = study_text({"white-cockade": ["a", "b"]}, {"query_among_candidates": True})
    text = text.partition("\ncandidates = ")[0] + '\n[queries.pool]\nalso = "title=Cockade"\nmatchers = { dp = 6 }\n'
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    created = create_study(tmp_path / "study.toml")
    with (created.folder.path / "pool.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    (task,) = created.folder.plan.tasks
    assert [row["document"] for row in rows] == list(task.ids[1:])
    assert task.ids[0] == "white-cockade"
    assert {row["query"] for row in rows} == {"white-cockade"}
    assert all(row["why"] for row in rows)
    assert rows[0]["title"] == "The White Cockade"
    (note,) = created.notes
    assert note.startswith('white-cockade: 243 melodies. 6 added: Title contains "Cockade".')
    (tmp_path / "study.toml").write_text(text.replace("dp = 6", "zz = 6"), encoding="utf-8")
    with pytest.raises(ExperimentError, match=r"study\.toml:19, queries\[1\]\.pool\.matchers: "):
        create_study(tmp_path / "study.toml")
