"""roslin evaluate as it is typed, and the page that it writes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from roslin.evaluate import MEASURES, measures
from roslin.evaluate import DEFAULT_MEASURES

TRUTH = "mine q1 a 1\nmine q1 b 1\nmine q1 c 2\nmine q1 n 0\nmine q2 d 1\nmine q2 e 2\n"
OTHER = "fine q1 a 1\nfine q1 b 2\nfine q1 c 3\nfine q1 n 0\nfine q2 e 1\nfine q2 d 2\n"
GOOD = "q1 Q0 b 1 -0.0 g\nq1 Q0 a 2 -0.5 g\nq1 Q0 n 3 -0.5 g\nq1 Q0 c 4 -2 g\nq2 Q0 d 1 -1 g\nq2 Q0 e 2 -3 g\n"
POOR = "q1 Q0 n 1 9 p\nq1 Q0 c 2 8 p\nq7 Q0 z 1 8 p\n"


def roslin(*arguments: object, code: int = 0, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "roslin", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


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


def test_a_table_of_means_with_intervals(folder: Path) -> None:
    done = roslin("evaluate", "truth.qrel", "good.run", "poor.run", folder=folder)
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["system", "measure", "mean", "low", "high", "queries"]
    assert [line.split()[1] for line in lines[1:5]] == list(DEFAULT_MEASURES)
    # good, q1: 1, 1, 2/3: (1 + 1 + 2/3) / 3 = 0.8889; q2: 1.
    assert lines[1].split() == ["good", "ADR", "0.9444", "0.8889", "1.0000", "2"]
    assert done.stderr.splitlines() == [
        "poor lacks query (q2) of the truth: counted as an empty list",
        "poor has query (q7) that the truth does not know: ignored",
    ]


def test_chosen_measures_and_variants(folder: Path) -> None:
    found = rows(folder, "truth.qrel", "good.run", "-m", "P@1", "--measure", 'AP(variant="serra")', "-m", "RR")
    assert [(row["measure"], row["mean"]) for row in found["means"]][:1] == [("P@1", 1.0)]
    assert [row["measure"] for row in found["means"]] == ["P@1", "AP(variant='serra')", "RR"]


def test_ids_that_do_not_agree_are_suspected(folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "other.run"
    run.write_text("q1 Q0 doc-a 1 1 x\nq2 Q0 doc-d 1 1 x\n")
    said = roslin("evaluate", "truth.qrel", run, folder=folder).stderr
    assert said == "other finds no document of the truth: are the ids the same?\n"


def test_every_query(folder: Path) -> None:
    found = rows(folder, "truth.qrel", "good.run", "poor.run", "-m", "RR", "--per-query")
    assert found["per_query"] == [
        {"query": "q1", "measure": "RR", "good": 1.0, "poor": 0.5},
        {"query": "q2", "measure": "RR", "good": 1.0, "poor": 0.0},
    ]


def test_comparisons(folder: Path) -> None:
    found = rows(folder, "truth.qrel", "good.run", "poor.run", "-m", "RR", "--compare")
    (pair,) = found["comparisons"]
    assert (pair["difference"], pair["p"], pair["wins"]) == (0.75, 0.5, 2)
    sentence = "good is ahead of poor by 0.750 in RR; with 2 queries this could be chance, p = 0.5."
    assert pair["sentence"] == sentence
    table = roslin("evaluate", "truth.qrel", "good.run", "poor.run", "-m", "RR", "--compare", folder=folder).stdout
    assert table.rstrip().endswith(sentence)
    message = roslin("evaluate", "truth.qrel", "good.run", "--compare", code=2, folder=folder).stderr
    assert message == "roslin: a comparison needs at least two runs\n"


def test_ties(folder: Path) -> None:
    found = rows(folder, "truth.qrel", "good.run", "-m", "ADR", "-m", "RBO", "--tie-sensitivity")
    # a and n are tied at rank 2: with n first, q1 is (1 + 1/2 + 2/3) / 3.
    assert found["ties"] == [
        {
            "system": "good",
            "measure": "ADR",
            "worst": pytest.approx((13 / 18 + 1) / 2),
            "value": pytest.approx((8 / 9 + 1) / 2),
            "best": pytest.approx((8 / 9 + 1) / 2),
        }
    ]
    message = roslin(
        "evaluate", "truth.qrel", "good.run", "-m", "RBO", "--tie-sensitivity", code=2, folder=folder
    ).stderr
    assert message == "roslin: the best and worst order of ties is not known for RBO\n"


def test_steps(folder: Path) -> None:
    found = rows(folder, "truth.qrel", "good.run", "poor.run", "--steps", "q1")
    assert list(found) == ["steps of good", "steps of poor"]
    first = found["steps of good"]
    assert [row["document"] for row in first] == ["b", "a", "n", "c"]
    assert [row["distance"] for row in first] == [0.0, 0.5, 0.5, 2.0]
    assert [row["group"] for row in first] == [1, 1, None, 2]
    assert [row["found"] for row in first] == [1, 2, 2, 3]
    assert [row["ADR"] for row in first] == pytest.approx([1, 1, 8 / 9, (8 / 3 + 3 / 4) / 4])
    assert [row["score"] for row in found["steps of poor"]] == [9.0, 8.0]
    table = roslin("evaluate", "truth.qrel", "good.run", "--steps", "q1", folder=folder).stdout.splitlines()
    assert table[0].split() == ["rank", "distance", "document", "group", "found", "recall", "ADR"]
    message = roslin("evaluate", "truth.qrel", "good.run", "--steps", "q9", code=2, folder=folder).stderr
    assert message == "roslin: unknown query 'q9'; known: q1, q2\n"


def test_several_truths(folder: Path) -> None:
    found = rows(folder, "--truth", "truth.qrel", "--truth", "other.qrel", "good.run", "poor.run", "-m", "ADR")
    good, poor, tau = found["groupings"]
    assert (good["system"], poor["system"]) == ("good", "poor")
    assert good["mine"] == pytest.approx(17 / 18)
    # q1 under the other: b too early (0), then 1, 2/3; q2: 0, 1.
    assert good["fine"] == pytest.approx((5 / 9 + 1 / 2) / 2)
    assert tau == {"system": "Kendall's tau", "mine": 1.0, "fine": 1.0}
    same = roslin("evaluate", "--truth", "truth.qrel", "--truth", "truth.qrel", "good.run", code=2, folder=folder)
    assert same.stderr.endswith("roslin: every truth needs a name of its own; got mine, mine\n")


def test_other_formats(folder: Path) -> None:
    tsv = roslin("evaluate", "truth.qrel", "good.run", "-m", "ADR", "--per-query", "--format", "tsv", folder=folder)
    first, second = tsv.stdout.split("\n\n")
    assert first.splitlines()[1].split("\t")[:3] == ["good", "ADR", "0.9444444444444444"]
    assert second.splitlines()[0] == "query\tmeasure\tgood"
    latex = roslin("evaluate", "truth.qrel", "good.run", "-m", "bpref_10", "--format", "latex", folder=folder).stdout
    assert "system & bpref\\_10 \\\\" in latex
    assert re.search(r"good & \d\.\d{3} \[\d\.\d{3}, \d\.\d{3}\] \\\\", latex)
    assert latex.count("\\begin{tabular}") == latex.count("\\end{tabular}") == 1


def test_files_instead_of_the_screen(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.json"
    done = roslin("evaluate", "truth.qrel", "good.run", "--format", "json", "-o", target, folder=folder)
    assert done.stdout == ""
    assert done.stderr == f"written to {target}\n"
    assert json.loads(target.read_text())["means"][0]["system"] == "good"
    refused = roslin("evaluate", "truth.qrel", "good.run", "--output", target, code=2, folder=folder).stderr
    assert "--output goes with --format json, latex or html" in refused


def test_measures_are_listed() -> None:
    text = roslin("evaluate", "--measures").stdout
    for name in measures():
        assert f"\n{name} " in text
        assert MEASURES[name].summary[:40] in text


def test_an_empty_truth_is_reported(folder: Path, tmp_path: Path) -> None:
    truth = tmp_path / "t.qrel"
    truth.write_text(TRUTH + "mine q3 x 0\n")
    done = roslin("evaluate", truth, "good.run", "-m", "ADR", "--per-query", "--format", "json", folder=folder)
    assert "query (q3) without a relevant document: left out of the means" in done.stderr
    found = json.loads(done.stdout)
    assert found["means"][0]["mean"] == pytest.approx(17 / 18)
    assert found["means"][0]["queries"] == 2
    assert found["per_query"][2] == {"query": "q3", "measure": "ADR", "good": None}


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
            "roslin: Invalid value: --level must lie between 0 and 1; got 95",
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


@pytest.fixture(scope="module")
def page(folder: Path) -> Path:
    target = folder / "page.html"
    (folder / "<b>.run").write_text(POOR)
    runs = ("good.run", "poor.run", "<b>.run")
    options = ("--format", "html", "-o", target, "-m", "ADR", "-m", "AP")
    roslin("evaluate", "--truth", "truth.qrel", "--truth", "other.qrel", *runs, *options, folder=folder)
    return target


def test_the_page_has_everything_and_fetches_nothing(page: Path, folder: Path) -> None:
    import hashlib

    text = page.read_text("utf-8")
    assert "default-src 'none'" in text
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", re.sub(r"<svg.*?</svg>", "", text, flags=re.S))
    assert text.count('<svg role="img"') == 2
    assert text.count("<details>") == 2
    assert "<b>" not in text
    assert "&lt;b&gt;" in text
    assert hashlib.sha256((folder / "good.run").read_bytes()).hexdigest() in text
    assert "good is ahead of poor by" in text
    assert "ADR under 2 groupings" in text
    assert "poor lacks query (q2) of the truth" in text


def test_the_same_input_gives_the_same_page(page: Path, folder: Path) -> None:
    options = ("--format", "html", "-m", "ADR", "-m", "AP")
    runs = ("good.run", "poor.run", "<b>.run")
    again = roslin("evaluate", "--truth", "truth.qrel", "--truth", "other.qrel", *runs, *options, folder=folder)
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
    assert len(values) == 6
    assert [float(value) for value in values] == sorted(map(float, values), reverse=True)
