"""PyTerrier runs an experiment over the starter collection, and finds what Roslin finds."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import roslin
from roslin.errors import ArgumentError
from roslin.evaluate import evaluate
from roslin.run import read_run
from roslin.starter import truth_path, tunes_path
from roslin.truth import Truth, read_truth

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs, not ours
    import pandas as pd
    import pyterrier as pt

    from roslin.interop.pyterrier import MatcherTransformer, StarterProvider

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
QUERIES = 5
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[roslin.Collection]:
    with roslin.Collection.build(tunes_path(), tmp_path_factory.mktemp("pyterrier") / "starter.roslin") as built:
        yield built


@pytest.fixture(scope="module")
def starter() -> Any:
    return StarterProvider().get_dataset("starter")


@pytest.mark.long
def test_an_experiment_has_the_numbers_of_roslin(collection: roslin.Collection, starter: Any) -> None:
    topics = starter.get_topics().head(QUERIES)
    systems = [MatcherTransformer(collection, name, k=50) for name in ("dp", "emd")]
    names = ["dp", "emd"]
    found = pt.Experiment(systems, topics, starter.get_qrels(), ["map", "recip_rank"], names=names)
    assert list(found["name"]) == names
    truth = read_truth(truth_path()).only(list(topics["qid"]))
    runs = {}
    for name in names:
        hits = [hit for query in truth for hit in collection.search(collection[query], name, 50, exclude=(query,))]
        runs[name] = read_run([(hit.query, hit.id, -hit.distance) for hit in hits])
    ours = evaluate(truth, runs, ["AP", "RR"], ties="trec")
    assert found[["map", "recip_rank"]].to_numpy() == pytest.approx(ours.means)
    assert (found["map"] > 0.5).all()


def test_documents_queries_and_qrels(starter: Any) -> None:
    documents = {each["docno"]: each for each in starter.get_corpus_iter(verbose=False)}
    tunes = {melody.id: melody for melody in roslin.load(tunes_path())}
    assert set(documents) == set(tunes)
    truth = read_truth(truth_path())
    topics, qrels = starter.get_topics(), starter.get_qrels()
    assert list(topics["qid"]) == list(truth)
    for qid, text in zip(topics["qid"], topics["query"], strict=True):
        (melody,) = roslin.load(text)
        assert melody.notes["pitch_midi"].tolist() == tunes[qid].notes["pitch_midi"].tolist()
    relevance = {query: dict(zip(each["docno"], each["label"], strict=True)) for query, each in qrels.groupby("qid")}
    assert {query: _sets(groups) for query, groups in Truth.from_relevance(relevance).items()} == {
        query: _sets(groups) for query, groups in truth.items()
    }


def _sets(groups: Iterable[Iterable[str]]) -> list[set[str]]:
    return [set(group) for group in groups]


def test_retrieving_and_putting_in_order(collection: roslin.Collection, starter: Any) -> None:
    topics = starter.get_topics().head(2).assign(source="here")
    first = topics["qid"].iloc[0]
    transformer = MatcherTransformer(collection, "dp", k=4)
    found = transformer.transform(topics)
    assert list(found.columns) == ["qid", "query", "source", "docno", "score", "rank"]
    assert found["qid"].value_counts().tolist() == [4, 4]
    assert first not in set(found[found["qid"] == first]["docno"])
    again = transformer.transform(found[found["rank"] > 1])
    assert again["docno"].tolist() == found[found["rank"] > 1]["docno"].tolist()
    assert again["rank"].tolist() == [0, 1, 0, 1]
    stranger = transformer.transform(topics.head(1).assign(qid="1"))
    assert stranger["docno"].iloc[0] == first  # another id: it is no melody of the collection
    assert transformer.transform(topics.head(0)).empty
    assert repr(transformer) == "MatcherTransformer(starter.roslin, dp)"
    pipeline: Any = transformer % 2
    chained = pipeline.search(topics["query"].iloc[0])
    assert chained["docno"].tolist()[0] == first


def test_what_is_refused(collection: roslin.Collection) -> None:
    with pytest.raises(ArgumentError, match="the frame must have the columns qid and query; got qid"):
        MatcherTransformer(collection).transform(pd.DataFrame({"qid": ["1"]}))
    with pytest.raises(ArgumentError, match="k must be 1 or more; got 0"):
        MatcherTransformer(collection, k=0)
    with pytest.raises(KeyError, match="'other' is not a data set of Roslin; available: starter"):
        StarterProvider().get_dataset("other")


def test_the_entry_point_is_the_provider() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    module, _, name = points["pyterrier.dataset_provider"]["roslin"].partition(":")
    assert getattr(import_module(module), name) is StarterProvider


def test_ir_datasets_knows_it() -> None:
    import ir_datasets

    import roslin.interop.datasets

    starter = ir_datasets.load(roslin.interop.datasets.STARTER)
    assert starter.docs_count() == len(list(starter.docs_iter()))
    first = next(iter(starter.docs_iter()))
    assert starter.docs_store().get(first.doc_id) == first
    assert starter.docs_store().get(first.doc_id, "title") == first.title
    assert list(starter.docs_store().get_many_iter([first.doc_id, "nothing"])) == [first]
    assert first.default_text() == first.text
    assert starter.queries_count() == len(list(starter.queries_iter()))
    assert {each.relevance for each in starter.qrels_iter()} == set(starter.qrels_defs())


@pytest.mark.long
@pytest.mark.parametrize(
    ("missing", "module"), [("pyterrier", "roslin.interop.pyterrier"), ("ir_datasets", "roslin.interop.datasets")]
)
def test_without_the_extra(missing: str, module: str) -> None:
    code = f"import sys; sys.modules['{missing}'] = None; import {module}"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert f"needs {missing}, which is not installed" in done.stderr
    assert 'pip install "roslin[pyterrier]"' in done.stderr
