"""Campaigns on the starter collection: what comes out, that nothing is lost, and that bytes stay the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from roslin import Collection, Melody, run_campaign
from roslin.campaign.campaign import Campaign
from roslin.errors import ArgumentError, CollectionError, FormatError, MelodyError, NotationError, UnknownNameError
from roslin.evaluate import evaluate
from roslin.evaluate.tables import disagreements
from roslin.matchers import DP, Matcher
from roslin.report.campaign import (
    all_remarks,
    campaign_page,
    campaign_text,
    main_tables,
    standings,
    tie_table,
    write_report,
)
from roslin.represent.packed import Packed
from roslin.starter import truth_path, tunes_path
from roslin.truth import Truth, read_truth
from roslin.types import Distances

QUERIES = ["roslin-castle", "white-cockade", "la-folia"]
SMALL = {query: read_truth(truth_path())[query] for query in QUERIES}
NOT_THE_TIME = ["campaign.json", "runs/counting.run", "runs/dp.run"]


@dataclass(frozen=True, repr=False)
class Counting(Matcher):
    """Compares as `dp` does but without ties, counts how often it is asked, and stops the program at one of these."""

    name: ClassVar[str] = "counting"
    summary: ClassVar[str] = "For tests."
    reference: ClassVar[str] = "none"
    asked: ClassVar[int] = 0
    stop_at: ClassVar[int] = 0
    shift: float = 0.0

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        Counting.asked += 1
        if Counting.asked == Counting.stop_at:
            raise KeyboardInterrupt
        return DP().distances(query, candidates) + self.shift + 1e-6 * np.arange(len(candidates))


@dataclass(frozen=True, repr=False)
class Same(Matcher):
    """Everything is equally far; a query in three is refused."""

    name: ClassVar[str] = "same"
    summary: ClassVar[str] = "For tests."
    reference: ClassVar[str] = "none"
    words: str = ""

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        if query.metre == "3/4":
            raise MelodyError("the query is in three")
        return np.ones(len(candidates))


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection.build(tunes_path(), tmp_path_factory.mktemp("campaign") / "starter.roslin") as collection:
        yield collection


@pytest.fixture(autouse=True)
def nothing_asked_yet() -> None:
    Counting.asked = Counting.stop_at = 0


def contents(folder: Path, names: list[str] = NOT_THE_TIME) -> list[bytes]:
    return [(folder / name).read_bytes() for name in names]


# -- what comes out ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(starter: Collection, tmp_path_factory: pytest.TempPathFactory) -> tuple[Campaign, Path]:
    folder = tmp_path_factory.mktemp("whole")
    return run_campaign(starter, truth_path(), ["dp", "twv", "dp(place='inside')"], folder), folder


@pytest.mark.long
def test_the_values_are_those_of_the_files(whole: tuple[Campaign, Path]) -> None:
    campaign, folder = whole
    files = [folder / system.file for system in campaign.systems]
    again = evaluate(truth_path(), files, campaign.evaluation.measures)
    assert np.array_equal(campaign.evaluation.values, again.values)
    assert [repr(measure) for measure in campaign.evaluation.measures] == ["ADR", "AP", "R@10", "RR"]
    assert len(campaign.queries) == 18


def test_a_list_is_what_a_search_gives_without_the_query_itself(
    whole: tuple[Campaign, Path], starter: Collection
) -> None:
    campaign, folder = whole
    longer = 0
    for id, ranking in campaign.systems[0].run.rankings.items():
        found = starter.search(starter[id], "dp", k=len(starter), exclude=[id])
        distances = found.values(id) or ()
        length = sum(distance <= distances[99] for distance in distances)
        assert (list(ranking.ids), ranking.values) == (found.ids[:length], distances[:length])
        longer += length > 100
    assert longer  # to the end of the tie in which the hundredth stands
    assert (folder / "runs" / "dp.run").read_text("utf-8") == campaign.systems[0].run.to_trec()
    assert sorted(path.name for path in (folder / "runs").iterdir()) == ["dp-place=-inside.run", "dp.run", "twv.run"]


def test_where_it_comes_from(whole: tuple[Campaign, Path], starter: Collection) -> None:
    campaign, folder = whole
    said = json.loads((folder / "campaign.json").read_text("utf-8"))
    assert said == json.loads(json.dumps(campaign.provenance))
    assert said["collection"]["melodies"] == len(starter)
    assert (said["queries"]["from"], said["queries"]["number"]) == ("the collection", 18)
    assert said["collection"]["written"] == starter.about["written"]
    assert said["truths"] == [
        {
            "name": "starter",
            "queries": 18,
            "file": "truth.qrel",
            "sha256": hashlib.sha256(truth_path().read_bytes()).hexdigest(),
        }
    ]
    assert [system["name"] for system in said["systems"]] == ["dp", "twv", "dp(place='inside')"]
    assert said["systems"][2]["parameters"] == {"place": "inside"}
    assert said["systems"][1]["parameters"]["ground"] == "euclidean"  # those that are defaults too
    for system in said["systems"]:
        assert system["sha256"] == hashlib.sha256((folder / system["run"]).read_bytes()).hexdigest()
    assert {"roslin", "python", "numpy", "kernels", "program_sha256"} <= said.keys()


def test_chance_is_no_part_of_a_campaign(starter: Collection, tmp_path: Path) -> None:
    """Its lists have the order of a search, and values that rise from rank to rank."""
    campaign = run_campaign(starter, {"la-folia": [["la-folia-2"]]}, ["dp", "roslin"], tmp_path, k=5)
    assert all(len(system.run) == 5 and not system.run.has_meaning for system in campaign.systems)
    for system in campaign.systems:
        searched = starter.search(starter["la-folia"], system.run.name, k=5, exclude=["la-folia"])
        assert list(system.run.ranking("la-folia")) == searched.ids
        values = system.run.values("la-folia")
        assert values is not None
        assert list(values) == sorted(values)


def test_a_query_that_the_truth_names_stays_in_its_list(starter: Collection, tmp_path: Path) -> None:
    truth = {"la-folia": [["la-folia"], ["la-folia-2"]]}
    campaign = run_campaign(starter, truth, ["dp"], tmp_path, k=5, measures=["P@9"])
    assert campaign.systems[0].run.ranking("la-folia")[0] == "la-folia"
    assert campaign.evaluation.of("dp", "P@9") == {"la-folia": 2 / 9}


def test_queries_from_a_file(starter: Collection, tmp_path: Path) -> None:
    path = tmp_path / "queries.pae"
    path.write_text("@start:a\n@clef:G-2\n@data:'4CC/GG/AA/2G\n@end:a\n@start:b\n@clef:G-2\n@data:'4CDE\n@end:b\n")
    campaign = run_campaign(starter, {"a": [["ah-vous-dirai-je"]]}, ["twv"], tmp_path / "out", queries=path)
    assert campaign.evaluation.of("twv", "RR")["a"] > 0
    assert campaign.provenance["queries"]["from"] == "queries.pae"
    assert list(campaign.remarks) == [f"1 of 2 queries of {path} are in no truth: not asked"]


@pytest.mark.long
def test_several_truths_have_their_own_queries(starter: Collection, tmp_path: Path) -> None:
    (tmp_path / "one.qrel").write_text("one la-folia la-folia-2 1\none la-folia la-folia-3 2\n")
    (tmp_path / "two.qrel").write_text("two roslin-castle roslin-castle-7 1\ntwo la-folia la-folia-3 1\n")
    campaign = run_campaign(
        starter, [tmp_path / "one.qrel", tmp_path / "two.qrel"], ["dp", "emd"], tmp_path / "out", measures=["RR", "AP"]
    )
    assert list(campaign.queries) == ["la-folia", "roslin-castle"]
    assert [each.queries for each in campaign.evaluations] == [("la-folia",), ("roslin-castle", "la-folia")]
    assert not any("lacks" in remark for remark in all_remarks(campaign))
    section = main_tables(campaign)[1]
    assert section.columns == ("system", "one", "two")
    assert [row["system"] for row in section.rows] == ["dp", "emd", "Kendall's tau"]
    assert section.rows[0]["two"] == campaign.evaluations[1].means[0, 0]


def test_documents_that_nobody_can_find(starter: Collection, tmp_path: Path) -> None:
    campaign = run_campaign(starter, {"la-folia": [["la-folia-2", "gone"]]}, ["dp"], tmp_path)
    assert list(campaign.remarks) == [
        "truth 1: 1 of 2 documents are not in starter.roslin, so that nobody can find them (gone)"
    ]
    assert campaign.evaluation.of("dp", "R@10") == {"la-folia": 0.5}


# -- nothing is lost --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop_at", [1, 2, 3, 4])
def test_stopped_and_started_again(starter: Collection, tmp_path: Path, stop_at: int) -> None:
    systems = [DP(), Counting()]
    run_campaign(starter, SMALL, systems, tmp_path / "at once")
    assert Counting.asked == len(QUERIES) + 1  # the first is asked twice: that may compile
    Counting.asked, Counting.stop_at = 0, stop_at
    with pytest.raises(KeyboardInterrupt):
        run_campaign(starter, SMALL, systems, tmp_path / "stopped")
    done = max(stop_at - 2, 0)
    assert not (tmp_path / "stopped" / "campaign.json").exists()
    Counting.asked = Counting.stop_at = 0
    first = run_campaign(starter, SMALL, systems, tmp_path / "stopped")
    assert Counting.asked == len(QUERIES) - done + 1
    assert contents(tmp_path / "stopped") == contents(tmp_path / "at once")
    again = run_campaign(starter, SMALL, systems, tmp_path / "stopped")
    assert Counting.asked == len(QUERIES) - done + 1  # nothing is left to ask
    assert [system.run for system in again.systems] == [system.run for system in first.systems]  # and its time
    assert contents(tmp_path / "stopped") == contents(tmp_path / "at once")


def test_what_a_killed_campaign_was_writing_is_cleared_away(starter: Collection, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "runs"):
        place.mkdir(exist_ok=True)
        (place / ".new-0123abcd").write_text("half a fi")
        (place / "my notes.txt").write_text("keep")
    run_campaign(starter, SMALL, [DP()], tmp_path)
    assert [path.name for path in tmp_path.rglob("*") if path.name.startswith(".")] == []
    assert len(list(tmp_path.rglob("my notes.txt"))) == 2


def asked_anew(collection: Collection, folder: Path, truth: object = None, **changes: object) -> int:
    """How many queries `Counting` is asked again, after a campaign with other arguments in the same folder."""
    before = Counting.asked
    arguments = {"k": 20} | changes
    systems = [arguments.pop("system", Counting())]
    run_campaign(collection, truth or SMALL, systems, folder, **arguments)  # type: ignore[arg-type]
    asked = Counting.asked - before
    return asked - 1 if asked else 0  # without the one that may compile


def test_what_changed_is_asked_again_and_nothing_else(starter: Collection, tmp_path: Path) -> None:
    assert asked_anew(starter, tmp_path) == 3
    assert asked_anew(starter, tmp_path) == 0
    assert asked_anew(starter, tmp_path, k=21) == 3
    assert asked_anew(starter, tmp_path, system=Counting(shift=1.0)) == 3
    assert asked_anew(starter, tmp_path, measures=["RR"]) == 0
    assert asked_anew(starter, tmp_path, {**SMALL, "greensleeves": [["greensleeves-2"]]}) == 1
    assert asked_anew(starter, tmp_path, {**SMALL, "la-folia": [["la-folia"]]}) == 1  # it stays in its own list now
    others = [starter[id].with_metadata(metre="9/8") if id == "la-folia" else starter[id] for id in QUERIES]
    assert asked_anew(starter, tmp_path, queries=others) == 1
    assert asked_anew(starter, tmp_path) == 0


def test_another_collection_or_version_is_asked_again(
    starter: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked_anew(starter, tmp_path / "out") == 3
    with Collection.build(tunes_path(), tmp_path / "starter.roslin") as rebuilt:
        assert asked_anew(rebuilt, tmp_path / "out") == 0  # the same melodies
    renamed = [tune.with_metadata(id=f"{tune.id}x") if tune.id == "bingo" else tune for tune in starter]
    with Collection.build(renamed, tmp_path / "renamed.roslin") as other:
        assert asked_anew(other, tmp_path / "out") == 3
    monkeypatch.setattr("roslin.search.program.version", lambda _: "9.9.9")
    assert asked_anew(starter, tmp_path / "out") == 3


def test_a_program_that_changed_is_asked_again(
    starter: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked_anew(starter, tmp_path) == 3
    monkeypatch.setattr("roslin.search.program.COUNTED", ("melody",))
    assert asked_anew(starter, tmp_path) == 3


@pytest.mark.long
def test_the_same_bytes_with_any_number_of_threads(starter: Collection, tmp_path: Path) -> None:
    for threads in (1, 2):
        run_campaign(starter, SMALL, ["twv", "emd", "dp"], tmp_path / str(threads), k=10, threads=threads)
    names = ["campaign.json", "runs/twv.run", "runs/emd.run", "runs/dp.run"]
    assert contents(tmp_path / "1", names) == contents(tmp_path / "2", names)


def test_progress_goes_up_to_the_end(starter: Collection, tmp_path: Path) -> None:
    heard: list[tuple[float, str]] = []
    run_campaign(starter, SMALL, ["dp"], tmp_path, progress=lambda share, what: heard.append((share, what)))
    shares = [share for share, _ in heard if share > 0]
    assert shares[-1] == 1.0
    assert all(0 <= share <= 1 for share in shares)
    assert any(what == "dp, white-cockade" for _, what in heard)


# -- ties and refusals ------------------------------------------------------------------------------------------------


def test_a_tie_is_in_the_list_as_a_whole_or_not_at_all(starter: Collection, tmp_path: Path) -> None:
    truth = {"roslin-castle": [["roslin-castle-2"]]}
    whole = run_campaign(starter, truth, [Same(), DP()], tmp_path, k=30, measures=["RR"])
    answer = whole.systems[0].run.rankings["roslin-castle"]
    assert list(answer.ids) == sorted(set(starter.ids()) - {"roslin-castle"})
    assert (answer.tied, answer.is_cut_in_a_tie) == (242, False)
    assert whole.evaluation.of("same", "RR")["roslin-castle"] == pytest.approx(sum(1 / k for k in range(1, 243)) / 242)
    campaign = run_campaign(starter, truth, [Same(), DP()], tmp_path, k=10, measures=["RR"])
    answer = campaign.systems[0].run.rankings["roslin-castle"]
    assert (answer.ids, answer.is_cut_in_a_tie) == ((), True)
    rows = {row["system"]: row for row in tie_table(campaign).rows}
    assert (rows["same"]["tied"], rows["same"]["cut"]) == (0, 1)
    assert campaign.provenance["systems"][0]["lists_cut_in_a_tie"] == 1
    assert {row["system"]: row["tied"] for row in standings(whole).rows}["same"] == 242
    said = "same: 1 list of 1 end before rank 10, at a tie of more than 90 documents that nothing but their ids could"
    assert any(remark.startswith(said) for remark in campaign.remarks)


def test_other_rules_for_ties(starter: Collection, tmp_path: Path) -> None:
    campaign = run_campaign(starter, {"bingo": [["taps"]]}, [Same()], tmp_path, k=1000, measures=["RR"])
    place = sorted(set(starter.ids()) - {"bingo"}).index("taps")
    found = [campaign.with_ties(rule).evaluation.means.item() for rule in ("given", "trec")]
    assert found == [1 / (place + 1), 1 / (242 - place)]
    assert campaign.with_ties("expected").evaluation.means.item() == campaign.evaluation.means.item()


@pytest.mark.long
def test_a_document_with_the_id_of_a_query_from_a_file(starter: Collection, tmp_path: Path) -> None:
    """It is left out where it is the same melody; any other stays, and a remark says so."""
    for melody, left_out in ((starter["bingo"], True), (starter["taps"].with_metadata(id="bingo"), False)):
        folder = tmp_path / str(left_out)
        campaign = run_campaign(starter, {"bingo": [["dixie"]]}, ["emd"], folder, k=300, queries=[melody])
        assert ("bingo" in campaign.systems[0].run.ranking("bingo")) is not left_out
        said = [
            remark for remark in all_remarks(campaign) if "with the id of its query in list (bingo): kept" in remark
        ]
        assert len(said) == (not left_out)


def test_a_query_that_only_one_truth_has_among_its_documents(starter: Collection, tmp_path: Path) -> None:
    truths = [Truth({"bingo": [["bingo"]]}, name="one"), Truth({"bingo": [["taps"]]}, name="other")]
    one, other = run_campaign(starter, truths, ["twv"], tmp_path, k=300, measures=["RR"]).evaluations
    assert one.means.item() == 1.0
    assert "bingo" in one.runs[0].ranking("bingo")
    assert "bingo" not in other.runs[0].ranking("bingo")


def test_a_list_that_holds_everything_is_not_cut(starter: Collection, tmp_path: Path) -> None:
    campaign = run_campaign(starter, {"bingo": [["taps"]]}, [Same()], tmp_path, k=1000)
    answer = campaign.systems[0].run.rankings["bingo"]
    assert (len(answer.ids), answer.is_cut_in_a_tie) == (len(starter) - 1, False)


def test_what_a_system_cannot_take_is_an_empty_list(starter: Collection, tmp_path: Path) -> None:
    campaign = run_campaign(starter, SMALL, [Same(), DP()], tmp_path)
    said = "same cannot take query la-folia: the query is in three; counted as an empty list"
    assert starter["la-folia"].metre == "3/4"
    assert said in all_remarks(campaign)
    assert campaign.evaluation.of("same", "RR")["la-folia"] == 0
    assert campaign.provenance["systems"][0]["refused"] == {"la-folia": "the query is in three"}


def test_file_names_are_all_different(starter: Collection, tmp_path: Path) -> None:
    systems = [Same("a b"), Same("a-b"), Same("a/b"), Same("..")]
    campaign = run_campaign(starter, {"bingo": [["taps"]]}, systems, tmp_path, k=2)
    files = [system.file for system in campaign.systems]
    assert files == [f"runs/same-words=-{rest}.run" for rest in ("a-b", "a-b~2", "a-b~3", "..")]
    assert all((tmp_path / file).is_file() for file in files)


# -- what is refused --------------------------------------------------------------------------------------------------


def test_arguments_that_make_no_sense(starter: Collection, tmp_path: Path) -> None:
    for changes, message in (
        ({"matchers": []}, "a campaign needs at least one matcher"),
        ({"matchers": ["dp", "dp(place='whole')"]}, "the matcher dp is given 2 times; once is enough"),
        ({"truths": []}, "a campaign needs at least one truth"),
        ({"truths": {}}, "the truth has no queries"),
        ({"truths": [truth_path(), truth_path()]}, "two truths are called 'starter'"),
        ({"measures": []}, "a campaign needs at least one measure"),
        ({"k": 0}, "k must be a whole number, at least 1; got 0"),
        ({"truths": {"nobody": [["bingo"]]}}, "query 'nobody' of the truth is no melody of starter.roslin; give the"),
        (
            {"truths": {"bingo": [["nobody"]]}},
            "truth 1: no document of the truth is in starter.roslin; are the ids the same. The truth has 'nobody', the",
        ),
    ):
        arguments = {"truths": SMALL, "matchers": ["dp"], "folder": tmp_path} | changes
        with pytest.raises(ArgumentError, match=message):
            run_campaign(starter, **arguments)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="unknown matcher 'nothing'"):
        run_campaign(starter, SMALL, ["nothing"], tmp_path)
    assert not list(tmp_path.iterdir())  # everything is looked at before anything is done


def test_broken_files_are_refused_with_their_place(starter: Collection, tmp_path: Path) -> None:
    truth, queries = tmp_path / "broken.qrel", tmp_path / "queries.jsonl"
    truth.write_text("t la-folia la-folia-2 1\nt la-folia la-folia-3 first\n")
    with pytest.raises(FormatError, match=r"broken.qrel:2: .*expected a whole number; found 'first'"):
        run_campaign(starter, truth, ["dp"], tmp_path / "out")
    tune = '{"id": "la-folia", "pae": "\'4CDE"}\n'
    for text, error, message in (
        (tune + '{"id": "b", "pae": "\'4CZ"}\n', NotationError, r"queries.jsonl:2, b, column 4: unreadable sign"),
        (tune + tune, ArgumentError, "queries.jsonl: melody 2 has the id 'la-folia', which another has"),
        ('{"pae": "\'4CDE"}\n', ArgumentError, "queries.jsonl: melody 1 has no id"),
        (tune, UnknownNameError, "unknown query of the truth in .*queries.jsonl 'roslin-castle'; known: la-folia"),
        (tune.replace("la-folia", "roslin-castle") + '{"id": "white-cockade", "pae": "\'4C"}\n{"id": "la-folia", '
         '"notes": []}\n', MelodyError, "query 'la-folia': the query has no notes"),
    ):  # fmt: skip
        queries.write_text(text)
        with pytest.raises(error, match=message):
            run_campaign(starter, SMALL, ["dp"], tmp_path / "out", queries=queries)


def test_a_damaged_file_of_finished_lists(starter: Collection, tmp_path: Path) -> None:
    (tmp_path / "finished.sqlite").write_text("this is no database, and it is long enough to be looked at " * 100)
    with pytest.raises(CollectionError, match=r"finished.sqlite: cannot be used \(.*\); remove it to begin"):
        run_campaign(starter, SMALL, ["dp"], tmp_path)


# -- disagreement -----------------------------------------------------------------------------------------------------


def test_disagreement_by_hand() -> None:
    truth = {"q": [["a"], ["b", "gone"]]}
    runs = {"one": {"q": ["a", "b", "x"]}, "two": {"q": ["b", "A", "q"]}}
    found = disagreements(evaluate(truth, runs, "ADR"))
    # Ranks, 4 where there is none: a 1 and 4, b 2 and 1, x 3 and 4, A 4 and 2, gone 4 and 4. The spread of two numbers
    # is half of their difference, here of their logarithms. The query itself does not count.
    expected = {"a": 1.0, "b": 0.5, "A": 0.5, "x": np.log2(4 / 3) / 2, "gone": 0.0}
    assert {each.document: each.spread for each in found} == pytest.approx(expected)
    assert [each.document for each in found] == ["a", "b", "A", "x", "gone"]  # b is relevant, A is not
    assert (found[0].ranks, found[0].group) == ({"one": 1, "two": None}, 1)
    assert [each.group for each in found] == [1, 2, None, None, 2]


# -- the report -------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_page(whole: tuple[Campaign, Path], starter: Collection, tmp_path: Path) -> None:
    campaign, _ = whole
    page = campaign_page(campaign, starter)
    assert "<h1>3 matchers on starter.roslin</h1>" in page
    for heading in ("Standings", "Is the difference real? (ADR)", "Query by query", "Where matchers disagree most"):
        assert f"<h2>{heading}</h2>" in page
    assert page.count("fill-opacity=") == 3 * 18  # the heat map
    assert 'class="notation"' in page
    ids = [part.split('"')[0] for part in page.split(' id="')[1:]]
    assert len(ids) == len(set(ids))
    assert campaign.provenance["systems"][0]["sha256"] in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/", "")
    text = campaign_text(campaign)
    best = standings(campaign).rows[0]
    first = text[text.index("\nmatcher ") :].splitlines()[2]
    assert first.split()[:2] == [best["system"], f"{best['ADR']:.4f}"]
    assert write_report(campaign, starter, tmp_path).read_text("utf-8") == page
    assert (tmp_path / "report.txt").read_text("utf-8") == text


def test_the_page_of_one_system_has_nothing_to_compare(starter: Collection, tmp_path: Path) -> None:
    campaign = run_campaign(starter, SMALL, ["dp"], tmp_path)
    page = campaign_page(campaign, starter)
    assert "<h1>1 matcher on starter.roslin</h1>" in page
    assert "Is the difference real" not in page
    assert "Where matchers disagree" not in page


def test_a_truth_in_which_no_query_counts(starter: Collection, tmp_path: Path) -> None:
    truth = Truth({"la-folia": []}, nonrelevant={"la-folia": ["bingo"]})
    campaign = run_campaign(starter, truth, ["dp", "dp(place='inside')"], tmp_path)
    assert np.isnan(campaign.evaluation.means).all()
    assert all_remarks(campaign) == ["query (la-folia) without a relevant document: left out of the means"]
    assert "nan" not in campaign_text(campaign)
    assert "Standings" in campaign_page(campaign, starter)
    assert "Standings" in campaign_text(campaign)
