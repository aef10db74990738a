"""roslin evaluate as it is typed, and the page that it writes."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from pathlib import Path

import pytest
from tests.cli.program import roslin

from roslin.evaluate import DEFAULT_MEASURES, MEASURES, measures

TRUTH = "mine q1 a 1\nmine q1 b 1\nmine q1 c 2\nmine q1 n 0\nmine q2 d 1\nmine q2 e 2\n"
OTHER = "fine q1 a 1\nfine q1 b 2\nfine q1 c 3\nfine q1 n 0\nfine q2 e 1\nfine q2 d 2\n"
GOOD = "q1 Q0 b 1 -0.0 g\nq1 Q0 a 2 -0.5 g\nq1 Q0 n 3 -0.6 g\nq1 Q0 c 4 -2 g\nq2 Q0 d 1 -1 g\nq2 Q0 e 2 -3 g\n"
POOR = "q1 Q0 n 1 9 p\nq1 Q0 c 2 8 p\nq7 Q0 z 1 8 p\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("evaluate")
    for name, text in (("truth.qrel", TRUTH), ("other.qrel", OTHER), ("good.run", GOOD), ("poor.run", POOR)):
        (path / name).write_text(text)
    return path


def rows(folder: Path, *arguments: object) -> dict[str, list[dict[str, object]]]:
    done = roslin("evaluate", *arguments, "--format", "json", folder=folder)
    found: dict[str, list[dict[str, object]]] = json.loads(done.stdout)
    return found


@pytest.mark.long
def test_a_table_of_means_with_intervals(folder: Path) -> None:
    done = roslin("evaluate", "truth.qrel", "good.run", "poor.run", folder=folder)
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["run", "measure", "mean", "low", "high", "queries"]
    assert [line.split()[1] for line in lines[1:5]] == list(DEFAULT_MEASURES)
    # good, q1: 1, 1, 2/3: (1 + 1 + 2/3) / 3 = 0.8889; q2: 1.
    assert lines[1].split() == ["good", "ADR", "0.9444", "0.0193", "0.9999", "2"]
    assert done.stderr.splitlines() == [
        "poor lacks query (q2) of the truth: counted as an empty list",
        "poor has query (q7) that the truth does not know: ignored",
    ]


@pytest.mark.long
def test_chosen_measures_and_variants(folder: Path) -> None:
    found = rows(folder, "truth.qrel", "good.run", "-m", "P@1", "--measure", 'AP(variant="serra")', "-m", "RR")
    assert [(row["measure"], row["mean"]) for row in found["means"]][:1] == [("P@1", 1.0)]
    assert [row["measure"] for row in found["means"]] == ["P@1", "AP(variant='serra')", "RR"]


def test_ids_that_do_not_agree_are_suspected(folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "other.run"
    run.write_text("q1 Q0 doc-a 1 1 x\nq2 Q0 doc-d 1 1 x\n")
    said = roslin("evaluate", "truth.qrel", run, folder=folder).stderr
    assert said == "other finds no document of the truth: are the ids the same?\n"


@pytest.mark.long
def test_every_query(folder: Path) -> None:
    found = rows(folder, "truth.qrel", "good.run", "poor.run", "-m", "RR", "--per-query")
    assert found["per_query"] == [
        {"query": "q1", "measure": "RR", "good": 1.0, "poor": 0.5},
        {"query": "q2", "measure": "RR", "good": 1.0, "poor": 0.0},
    ]


@pytest.mark.long
def test_comparisons(folder: Path) -> None:
    found = rows(folder, "truth.qrel", "good.run", "poor.run", "-m", "RR", "--compare")
    (pair,) = found["comparisons"]
    assert (pair["difference"], pair["p"], pair["wins"]) == (0.75, 0.5, 2)
    sentence = "good is ahead of poor by 0.750 in RR; 2 queries are too few to show any difference, p = 0.5."
    assert pair["sentence"] == sentence
    table = roslin("evaluate", "truth.qrel", "good.run", "poor.run", "-m", "RR", "--compare", folder=folder).stdout
    assert table.rstrip().endswith(sentence)
    (said,) = found["reach"]
    assert (said["queries"], said["pairs"], said["smallest_p"]) == (2, 1, 0.5)
    said_in_words = str(said["sentence"])
    assert said_in_words.startswith("No difference can be shown at 5% with 2 queries, whatever the results")
    assert said_in_words in table
    message = roslin("evaluate", "truth.qrel", "good.run", "--compare", code=2, folder=folder).stderr
    assert message.endswith("roslin: a comparison needs at least two runs\n")


@pytest.mark.long
def test_planned_comparisons(folder: Path) -> None:
    (folder / "third.run").write_text("q1 Q0 a 1 8 p\n")
    files = ("truth.qrel", "good.run", "poor.run", "third.run", "-m", "RR")
    assert len(rows(folder, *files, "--compare")["comparisons"]) == 3
    found = rows(folder, *files, "--against", "poor")
    assert [(pair["system"], pair["other"]) for pair in found["comparisons"]] == [("poor", "good"), ("poor", "third")]
    assert found["reach"][0]["pairs"] == 2
    page = roslin("evaluate", *files, "--against", "poor", "--format", "html", folder=folder).stdout
    assert "What can be shown" in page
    assert "No difference can be shown at 5% with 2 queries" in page
    assert "third is ahead of good" not in page
    refused = roslin("evaluate", *files, "--against", "nobody", code=2, folder=folder).stderr
    assert "'nobody'" in refused
    assert "good" in refused


@pytest.mark.long
def test_ties(folder: Path) -> None:
    (folder / "tied.run").write_text(GOOD.replace("-0.6", "-0.5"))
    found = rows(folder, "truth.qrel", "tied.run", "-m", "ADR", "-m", "RBO", "--tie-sensitivity")
    # a and n are tied at rank 2: with n first, q1 is (1 + 1/2 + 2/3) / 3.
    assert found["ties"] == [
        {
            "system": "tied",
            "measure": "ADR",
            "worst": pytest.approx((13 / 18 + 1) / 2),
            "value": pytest.approx(((13 / 18 + 8 / 9) / 2 + 1) / 2),
            "best": pytest.approx((8 / 9 + 1) / 2),
        }
    ]
    options = ("-m", "ADR", "-m", "RBO", "-m", "Compat", "--tie-sensitivity")
    said = roslin("evaluate", "truth.qrel", "tied.run", *options, folder=folder).stderr.splitlines()
    assert said == [
        "ties matter for the ADR of tied, values are means over all orders of tied scores: "
        "tied 0.903, worst 0.861, best 0.944 (33% tied)",
        "the best and worst order of ties is not known for RBO, Compat: left out",
    ]
    message = roslin(
        "evaluate", "truth.qrel", "good.run", "-m", "RBO", "--tie-sensitivity", code=2, folder=folder
    ).stderr
    assert message == "roslin: the best and worst order of ties is not known for RBO\n"


@pytest.mark.long
@pytest.mark.parametrize(("rule", "value"), [("expected", 0.9028), ("given", 0.9444), ("trec", 0.8611)])
def test_rules_for_ties(folder: Path, rule: str, value: float) -> None:
    (folder / "tied.run").write_text(GOOD.replace("-0.6", "-0.5"))
    found = rows(folder, "truth.qrel", "tied.run", "-m", "ADR", "--ties", rule)
    assert found["means"][0]["mean"] == pytest.approx(value, abs=1e-4)


@pytest.mark.long
def test_a_document_with_the_id_of_its_query(folder: Path) -> None:
    (folder / "numbers.qrel").write_text("n 1 7 1\nn 2 8 1\n")
    (folder / "numbers.run").write_text("1 Q0 1 1 3 n\n1 Q0 7 2 2 n\n2 Q0 8 1 3 n\n")
    for rule, value, said in (("keep", 0.5, "kept, as any other"), ("drop", 1.0, "taken out, as the query itself")):
        arguments = ("evaluate", "numbers.qrel", "numbers.run", "-m", "P@1", "--same-id", rule, "--format", "json")
        done = roslin(*arguments, folder=folder)
        assert json.loads(done.stdout)["means"][0]["mean"] == value
        assert f"numbers has a document with the id of its query in list (1): {said}" in done.stderr


@pytest.mark.long
def test_what_breaks_ties_of_adr(folder: Path) -> None:
    (folder / "swapped.run").write_text("q2 Q0 z 1 9 s\nq2 Q0 e 2 8 s\n")
    found = rows(folder, "truth.qrel", "good.run", "swapped.run", "-m", "ADR", "--tie-break")
    last = found["tie_break"][-1]
    # ADR: nothing at rank 1, one of two at rank 2. Nothing is misplaced, so the constructed list is d, d; inverted, d
    # is due at rank 2 only.
    assert last == {"query": "q2", "system": "swapped", "ADR": 0.25, "inversions": 0, "published": 0.25}
    said = roslin("evaluate", "truth.qrel", "good.run", "--tie-break", folder=folder).stderr
    assert said == (
        "of two lists with equal ADR, fewer inversions are better; the published rule prefers the smaller value\n"
    )


@pytest.mark.long
def test_steps(folder: Path) -> None:
    found = rows(folder, "truth.qrel", "good.run", "poor.run", "--steps", "q1")
    assert list(found) == ["steps of good", "steps of poor"]
    first = found["steps of good"]
    assert [row["document"] for row in first] == ["b", "a", "n", "c"]
    assert [row["score"] for row in first] == [0.0, -0.5, -0.6, -2.0]  # nothing says that these are distances
    assert [row["group"] for row in first] == [1, 1, None, 2]
    assert [row["found"] for row in first] == [1, 2, 2, 3]
    assert [row["ADR"] for row in first] == pytest.approx([1, 1, 8 / 9, (8 / 3 + 3 / 4) / 4])
    end = "the truth ends here (n = 3): the ADR of the query"
    assert [row["note"] for row in first] == ["", "", end, ""]
    second = found["steps of poor"]
    assert [row["score"] for row in second] == [9.0, 8.0, None]
    assert [row["document"] for row in second] == ["n", "c", None]
    assert second[-1]["note"] == f"the list has ended; {end}"
    assert second[-1]["ADR"] == pytest.approx(1 / 9)
    table = roslin("evaluate", "truth.qrel", "good.run", "--steps", "q1", folder=folder).stdout.splitlines()
    assert table[0].split() == ["rank", "score", "document", "group", "found", "recall", "ADR", "note"]
    assert table[3].endswith(end)
    refused = roslin("evaluate", "truth.qrel", "good.run", "--steps", "q1", "--format", "html", code=2, folder=folder)
    assert "--steps goes with the other formats; the page has every query rank by rank" in refused.stderr
    message = roslin("evaluate", "truth.qrel", "good.run", "--steps", "q9", code=2, folder=folder).stderr
    assert message == "roslin: unknown query 'q9'; known: q1, q2\n"


def test_steps_of_distances_and_ranks(folder: Path) -> None:
    (folder / "far.csv").write_text("query,document,distance\nq2,d,0\nq2,e,1.5\n")
    (folder / "order.csv").write_text("query,document,rank\nq2,e,1\nq2,d,2\n")
    found = rows(folder, "truth.qrel", "far.csv", "order.csv", "--steps", "q2")
    assert [row["distance"] for row in found["steps of far"]] == [0.0, 1.5]
    assert [row["rank"] for row in found["steps of order"]] == [1, 2]
    assert not {"score", "distance"} & set(found["steps of order"][0])


def test_steps_of_a_query_that_the_run_lacks(folder: Path) -> None:
    found = rows(folder, "truth.qrel", "poor.run", "--steps", "q2")["steps of poor"]
    assert [(row["rank"], row["document"], row["ADR"]) for row in found] == [(1, None, 0), (2, None, 0)]
    assert found[0]["note"] == "the list has ended"


@pytest.mark.long
def test_several_truths(folder: Path) -> None:
    found = rows(folder, "--truth", "truth.qrel", "--truth", "other.qrel", "good.run", "poor.run", "-m", "ADR")
    good, poor, tau = found["groupings"]
    assert (good["system"], poor["system"]) == ("good", "poor")
    assert good["mine"] == pytest.approx(17 / 18)
    # q1 under the other: b too early (0), then 1, 2/3; q2: 0, 1.
    assert good["fine"] == pytest.approx((5 / 9 + 1 / 2) / 2)
    assert tau == {"system": "Kendall's tau", "mine": 1.0, "fine": 1.0}
    same = roslin("evaluate", "--truth", "truth.qrel", "--truth", "truth.qrel", "good.run", code=2, folder=folder)
    assert same.stderr.endswith("roslin: two truths are called 'mine'; give each truth a different name\n")


@pytest.mark.long
def test_remarks_on_every_truth(folder: Path, tmp_path: Path) -> None:
    """An empty query, a repeated judgement and a missing query of the second truth are reported, without warnings."""
    second = tmp_path / "second.qrel"
    second.write_text(OTHER + "fine q3 x 0\nfine q1 a 2\nfine q4 y 1\n")
    done = roslin("evaluate", "--truth", "truth.qrel", "--truth", second, "good.run", "-m", "ADR", folder=folder)
    assert done.stderr.splitlines() == [
        f"{second}:8: a is judged again for query q1; line 1 counts",
        "fine: good lacks 2 queries (q3, q4) of the truth: counted as an empty list",
        "fine: query (q3) without a relevant document: left out of the means",
    ]


@pytest.mark.long
def test_a_truth_in_which_no_query_counts(folder: Path, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.qrel"
    nothing.write_text("none q1 a 0\n")
    found = rows(folder, "--truth", "truth.qrel", "--truth", nothing, "good.run", "poor.run", "-m", "ADR")
    assert [row["none"] for row in found["groupings"]] == [None, None, None]


@pytest.mark.long
def test_names_that_are_columns(folder: Path, tmp_path: Path) -> None:
    for name, options in (("measure", ["--per-query"]), ("query", ["--format", "html"])):
        run = tmp_path / f"{name}.run"
        run.write_text(GOOD)
        refused = roslin("evaluate", "truth.qrel", run, *options, code=2, folder=folder).stderr
        assert refused == f"roslin: a run cannot be called '{name}', which is a column of the table; rename it\n"
    (tmp_path / "system.qrel").write_text(OTHER.replace("fine", "system"))
    truths = ("--truth", "truth.qrel", "--truth", tmp_path / "system.qrel")
    refused = roslin("evaluate", *truths, "good.run", code=2, folder=folder).stderr
    assert refused == "roslin: a truth cannot be called 'system', which is a column of the table; rename it\n"


@pytest.mark.long
def test_silence_is_not_praised(folder: Path) -> None:
    options = ("-m", "FP", "-m", "Inversions", "--compare")
    (folder / "silent.json").write_text('{"q1": []}')
    done = roslin("evaluate", "truth.qrel", "good.run", "silent.json", *options, folder=folder)
    best = "for which FP and Inversions have their best value"
    assert "silent: 1 query has an empty list (first q1)" in done.stderr
    assert f"silent lacks query (q2) of the truth: counted as an empty list, {best}" in done.stderr
    assert "good has 0.500 more FP than silent (an empty list would do best); 2 queries" in done.stdout
    assert "ahead" not in done.stdout


@pytest.mark.long
def test_the_level_is_shown_as_it_is(folder: Path) -> None:
    options = ("--per-query", "--level", "0.996")
    done = roslin("evaluate", "truth.qrel", "good.run", *options, folder=folder)
    assert "with 99.6% confidence intervals" in done.stdout


@pytest.mark.long
def test_qrels_with_other_iterations(folder: Path, tmp_path: Path) -> None:
    truth = tmp_path / "trec.qrels"
    truth.write_text("q1 0 a 1\nq1 1 n 0\nq2 Q0 d 1\n")
    done = roslin("evaluate", truth, "good.run", "-m", "P@2", folder=folder)
    said = "read as TREC qrels: the first column has queries, the second iterations (0, 1, Q0)"
    assert done.stderr.splitlines()[0] == f"{truth}: {said}"


@pytest.mark.long
def test_other_formats(folder: Path) -> None:
    command = ("evaluate", "truth.qrel", "good.run", "-m", "ADR", "--format", "tsv")
    assert roslin(*command, folder=folder).stdout.splitlines()[1].startswith("good\tADR\t")
    stacked = roslin(*command, "--per-query", code=2, folder=folder)
    assert stacked.stdout == ""
    assert "--format tsv prints one table, these are means, per_query: add --output FOLDER" in stacked.stderr
    roslin(*command, "--per-query", "-o", "tables", folder=folder)
    assert (folder / "tables" / "means.tsv").read_text().splitlines()[1].startswith("good\tADR\t")
    assert (folder / "tables" / "per_query.tsv").read_text().splitlines()[0] == "query\tmeasure\tgood"
    latex = roslin("evaluate", "truth.qrel", "good.run", "-m", "bpref_10", "--format", "latex", folder=folder).stdout
    assert "run & bpref\\_10 \\\\" in latex
    assert re.search(r"good & \d\.\d{3} \[\d\.\d{3}, \d\.\d{3}\] \\\\", latex)
    assert latex.count("\\begin{tabular}") == latex.count("\\end{tabular}") == 1


@pytest.mark.long
def test_latex_without_nan(folder: Path, tmp_path: Path) -> None:
    """One query has no interval, and none has no mean; an effect may be infinite."""
    (tmp_path / "one.qrel").write_text("mine q2 d 1\nmine q1 x 0\n")
    (tmp_path / "none.qrel").write_text("mine q1 x 0\n")
    (tmp_path / "two.qrel").write_text("mine q1 b 1\nmine q2 d 1\n")
    (tmp_path / "bad.run").write_text("q1 Q0 z 1 1 b\nq2 Q0 z 1 1 b\n")
    options = ("-m", "RR", "--per-query", "--format", "latex")
    one = roslin("evaluate", tmp_path / "one.qrel", "good.run", "poor.run", *options, folder=folder).stdout
    assert "good & 1.000 \\\\" in one
    assert "q1 & RR & -- & -- \\\\" in one
    none = roslin("evaluate", tmp_path / "none.qrel", "good.run", "poor.run", *options, folder=folder).stdout
    assert "good & -- \\\\" in none
    assert (
        "<details>"
        not in roslin(
            "evaluate", tmp_path / "none.qrel", "good.run", "poor.run", "--format", "html", folder=folder
        ).stdout
    )
    files = (tmp_path / "two.qrel", tmp_path / "bad.run", "good.run")
    compared = roslin("evaluate", *files, "-m", "RR", "--compare", "--format", "latex", folder=folder).stdout
    assert "$-\\infty$" in compared
    for text in (one, none, compared):
        assert not re.search(r"\b(?:nan|inf)\b", text)


@pytest.mark.long
def test_files_instead_of_the_screen(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.json"
    done = roslin("evaluate", "truth.qrel", "good.run", "--format", "json", "-o", target, folder=folder)
    assert done.stdout == ""
    assert done.stderr == f"written to {target}\n"
    assert json.loads(target.read_text())["means"][0]["system"] == "good"
    refused = roslin("evaluate", "truth.qrel", "good.run", "--output", target, code=2, folder=folder).stderr
    assert "--output goes with --format tsv, json, latex or html" in refused


def test_measures_are_listed() -> None:
    text = roslin("evaluate", "--measures").stdout
    for name in measures():
        assert f"\n{name} " in text
        assert MEASURES[name].summary[:40] in text
        for other in MEASURES[name].also:
            assert other in text


@pytest.mark.long
def test_an_empty_truth_is_reported(folder: Path, tmp_path: Path) -> None:
    truth = tmp_path / "t.qrel"
    truth.write_text(TRUTH + "mine q3 x 0\n")
    done = roslin("evaluate", truth, "good.run", "-m", "ADR", "--per-query", "--format", "json", folder=folder)
    assert "query (q3) without a relevant document: left out of the means" in done.stderr
    found = json.loads(done.stdout)
    assert found["means"][0]["mean"] == pytest.approx(17 / 18)
    assert found["means"][0]["queries"] == 2
    assert found["per_query"][2] == {"query": "q3", "measure": "ADR", "good": None}
    refused = roslin("evaluate", truth, "good.run", "--steps", "q3", code=2, folder=folder).stderr
    assert refused.endswith("roslin: query 'q3' has no relevant document, so there is no ADR to calculate\n")
    page = roslin("evaluate", truth, "good.run", "--format", "html", folder=folder).stdout
    assert page.count("<details>") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["truth.qrel"], "roslin: Invalid value: give at least one run after the truth"),
        (["truth.qrel", "good.run", "-m", "MAPP"], "roslin: unknown measure 'MAPP'; known: Accuracy, ADR, AO, AP,"),
        (["truth.qrel", "nothing.run"], "roslin: nothing.run: No such file or directory"),
        (["truth.qrel", "truth.qrel"], "roslin: truth.qrel:1: broken line; expected 6 columns"),
        (["good.run", "good.run"], "roslin: good.run:1: broken line; expected 4 columns"),
        (["truth.qrel", "good.run", "good.run"], "roslin: two runs are called 'good'"),
        (["truth.qrel", "nan.run"], "roslin: nan.run:2: bad score; expected a number; found 'NaN'"),
        (
            ["truth.qrel", "good.run", "--level", "95"],
            "roslin: Invalid value: --level must be between 0 and 1; got 95",
        ),
        (["truth.qrel", "good.run", "-m", "TN"], "roslin: TN needs the size of the collection, as in TN(size=2054)"),
    ],
)
def test_bad_input_is_one_line(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "nan.run").write_text("q1 Q0 a 1 1.0 x\nq1 Q0 b 2 NaN x\n")
    done = roslin("evaluate", *arguments, code=2, folder=folder)
    assert done.stdout == ""
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


# -- the page ---------------------------------------------------------------------------------------------------------


NAMES = ("good.run", "poor.run", "<b>.run", "_hidden.run", "$x_1$.run")
EXTRA = ("--tie-sensitivity", "--tie-break")


@pytest.fixture(scope="module")
def page(folder: Path) -> Path:
    target = folder / "page.html"
    for name in NAMES[2:]:
        (folder / name).write_text(POOR)
    options = ("--format", "html", "-o", target, "-m", "ADR", "-m", "AP", "-m", "RBO", *EXTRA)
    roslin("evaluate", "--truth", "truth.qrel", "--truth", "other.qrel", *NAMES, *options, folder=folder)
    return target


def test_the_page_has_everything_and_fetches_nothing(page: Path, folder: Path) -> None:
    import hashlib

    text = page.read_text("utf-8")
    assert "default-src 'none'" in text
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", re.sub(r"<svg.*?</svg>", "", text, flags=re.S))
    assert text.count('class="plot" role="img"') == 2
    assert text.count("<details>") == 2
    assert "<b>" not in text
    assert "&lt;b&gt;" in text
    assert hashlib.sha256((folder / "good.run").read_bytes()).hexdigest() in text
    assert "good is ahead of poor by" in text
    assert "ADR under 2 groupings" in text
    assert "<li>poor lacks query (q2) of the truth" in text
    assert "What another order of tied scores could give" in text
    assert "the best and worst order of ties is not known for RBO: left out" in text
    assert "Breaking ties of ADR" in text


def test_every_name_is_in_the_legend(page: Path) -> None:
    """Also one that begins with a line below, and one that looks like a formula."""
    for drawing in re.findall(r"<svg.*?</svg>", page.read_text("utf-8"), re.DOTALL):
        labels = [unescape(label) for label in re.findall(r"<text[^>]*>([^<]*)</text>", drawing)]
        for name in NAMES:
            assert name.removesuffix(".run") in labels


@pytest.mark.long
def test_the_same_input_gives_the_same_page(page: Path, folder: Path) -> None:
    options = ("--format", "html", "-m", "ADR", "-m", "AP", "-m", "RBO", *EXTRA)
    again = roslin("evaluate", "--truth", "truth.qrel", "--truth", "other.qrel", *NAMES, *options, folder=folder)
    assert again.stdout == page.read_text("utf-8")


def test_tables_sort(page: Path, chromium: str, tmp_path: Path) -> None:
    """By a click on `mean`, twice: the largest first."""
    clicks = """<script>
const head = [...document.querySelectorAll("table.sortable")][0].tHead.rows[0].cells[2];
head.firstChild.click(); head.firstChild.click();
document.title = [...head.closest("table").tBodies[0].rows].map(row => row.cells[2].textContent).join(" ")
  + " " + head.getAttribute("aria-sort");
</script></body>"""
    clicked = tmp_path / "clicked.html"
    clicked.write_text(page.read_text("utf-8").replace("</body>", clicks), "utf-8")
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", clicked.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    title = re.search(r"<title>(.*?)</title>", done.stdout)
    assert title is not None
    *values, order = title[1].split()
    assert order == "descending"
    assert len(values) == 15
    assert [float(value) for value in values] == sorted(map(float, values), reverse=True)
