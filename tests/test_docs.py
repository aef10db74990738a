"""What the pages say is true: commands, options, files, links, make targets, registered names, examples, tutorials."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import typer
from tests.ports import free_port
from tests.waiting import until

from roslin.cli import app
from roslin.evaluate import MEASURES
from roslin.experiment.plan import FROZEN
from roslin.matchers import MATCHERS
from roslin.notation import FORMATS
from roslin.starter import truth_path, tunes_path

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "_extensions"))

from roslin_docs.docstrings import as_markdown, as_rst
from roslin_docs.generated import MARK, PARTS, generated, renewed
from roslin_docs.moved import write_moved_pages
from roslin_docs.names import has_example, names, read_examples
from roslin_docs.study_keys import FROZEN_KEYS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
OF_SITE = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts and "_examples" not in path.parts)
OF_DEVELOPERS = sorted((ROOT / "dev").rglob("*.md"))
PAGES = sorted([*ROOT.glob("*.md"), *OF_SITE, *OF_DEVELOPERS])
FENCE = re.compile(r"^ *```([^\n]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
MODULES = ("roslin", "roslin.evaluate", "roslin.truth", "roslin.collection.filters")


def commands(page: Path) -> list[list[str]]:
    """The words of every `roslin` command of a page; in a console block, those after a $."""
    found = []
    for match in FENCE.finditer(page.read_text("utf-8")):
        start = {"console": "$ roslin ", "sh": "roslin ", "bash": "roslin ", "": "roslin "}.get(match[1])
        for line in match[2].replace("\\\n", " ").splitlines():
            if start and (command := line.strip().removeprefix(".venv/bin/")).startswith(start):
                found.append(shlex.split(command.removeprefix("$ "), comments=True)[1:])
    return found


# -- pages ------------------------------------------------------------------------------------------------------------


def unknown_words(whole: Any, words: list[str]) -> list[str]:
    """The words of a command line that name no command or option."""
    command = whole
    while words and hasattr(command, "commands"):
        if words[0] not in command.commands and hasattr(command, "default"):
            words = [command.default, *words]
        if words[0] not in command.commands:
            return words[:1]
        command, words = command.commands[words[0]], words[1:]
    known = {option for parameter in command.params for option in parameter.opts}
    options = [word for word in words if word.startswith("-") and not word.lstrip("-")[:1].isdigit()]
    return [option for option in options if option not in known]


def test_commands_and_options_exist() -> None:
    whole = typer.main.get_command(app)
    wrong = [
        f"{page.name}: {word} in roslin {' '.join(words)}"
        for page in PAGES
        for words in commands(page)
        for word in unknown_words(whole, words)
    ]
    assert wrong == []
    assert unknown_words(whole, ["search", "mine.roslin", "--nothing"]) == ["--nothing"]


def test_links_and_files_exist() -> None:
    missing = []
    for page in PAGES:
        text = page.read_text("utf-8")
        links = re.findall(r"\]\((?!https?:)([^)#\s]+)", text)
        missing += [f"{page.name} links to {target}" for target in links if not (page.parent / target).exists()]
        paths = re.findall(r"`((?:benchmarks|tools|tests|docs|dev)/[\w./-]+)", text)
        missing += [f"{page.name} names {path}" for path in paths if not (ROOT / path).exists()]
    assert missing == []


def test_make_targets_exist() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    wrong = [
        f"{page.name}: make {target}"
        for page in PAGES
        for target in re.findall(r"\bmake ([a-z]+)\b(?:`|  |$)", page.read_text("utf-8"), re.MULTILINE)
        if target not in targets
    ]
    assert wrong == []


def test_pages_speak_to_users() -> None:
    """No folders of ours, no aims of ours: pages make sense to people who have only the package."""
    inside = re.compile(r"\.\./shared|\b[Tt]he (first )?aim (is|was)\b|\(aim\b|\btarget (is|was)\b")
    pages = [*OF_SITE, ROOT / "README.md"]
    assert [page.name for page in pages if inside.search(page.read_text("utf-8"))] == []


def test_every_page_is_in_the_table_of_contents() -> None:
    listed, waiting = set(), ["index"]
    while waiting:
        page = waiting.pop()
        listed.add(page)
        path = DOCS / f"{page}.md"
        text = path.read_text("utf-8") if path.exists() else ""
        for contents in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            for line in contents.splitlines():
                if line and not line.startswith(":"):
                    waiting.append(((path.parent / line).resolve()).relative_to(DOCS.resolve()).as_posix())
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in [*OF_SITE, *DOCS.rglob("*.ipynb")]}
    assert {page for page in pages if "_build" not in page} == listed


def test_old_addresses_lead_to_pages_of_today(tmp_path: Path) -> None:
    settings = runpy.run_path(str(DOCS / "conf.py"))
    moved = settings["moved_pages"]
    for old, new in moved.items():
        page, _, anchor = new.partition("#")
        path = DOCS / page.replace(".html", ".md")
        assert not (DOCS / f"{old}.md").exists(), old
        headings = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
        assert not anchor or anchor in anchors, new
    write_moved_pages(tmp_path, moved)
    text = (tmp_path / "howto" / "runs.html").read_text("utf-8")
    assert 'content="0; url=evaluate.html#run-files"' in text
    assert 'href="../../howto/evaluate.html#choose-metrics"' in (tmp_path / "concepts/measures/index.html").read_text(
        "utf-8"
    )


def test_no_page_is_called_as_one_of_sphinx() -> None:
    assert not {path.stem for path in OF_SITE} & {"search", "genindex", "modindex"}


def test_what_was_measured_is_said_in_full() -> None:
    """Whoever quotes the lead of the seven together on RISM also says how it is with copies counted as errors."""
    for page in PAGES:
        text = page.read_text("utf-8")
        if ".719" in text and ".682" in text and "p = .002" in text:
            assert ".563" in text, page.name
            assert ".544" in text, page.name


def test_every_promise_has_a_test_and_a_figure() -> None:
    text = (ROOT / "dev" / "promises.md").read_text("utf-8")
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| **")]
    assert len(rows) >= 20
    for row in rows:
        promise, shown_by, figures = row
        named = re.findall(r"`((?:tests|tools|benchmarks)/[\w./-]+)`", shown_by)
        assert named, promise
        assert all((ROOT / path).exists() for path in named), promise
        assert any(path.startswith("tests/") for path in named), promise
        for page, part in re.findall(r"\]\(([\w/-]+\.md)(?:#([\w-]+))?\)", figures):
            headings = re.findall(r"^#+ (.*)$", (ROOT / "dev" / page).read_text("utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
            assert not part or part in anchors, (promise, part)
        assert figures.strip(), promise


def test_no_figure_was_left_open() -> None:
    for page in PAGES:
        assert not re.search(r"[A-Z]+_FIGURES", page.read_text("utf-8")), page.name


def test_every_decision_has_its_reason_and_its_consequences() -> None:
    pages = [page for page in (ROOT / "dev" / "decisions").glob("*.md") if page.stem != "index"]
    assert len(pages) > 20
    for page in pages:
        text = page.read_text("utf-8")
        assert len(text.splitlines()) <= 120, page.name
        for decision in text.split("\n## ")[1:]:
            assert "**Why.**" in decision, f"{page.name}: {decision.splitlines()[0]}"
            assert "**Consequences.**" in decision, f"{page.name}: {decision.splitlines()[0]}"


def test_every_paper_has_a_page_with_its_parts() -> None:
    parts = ["Summary", "Where it is in the code", "What was reproduced", "What Roslin does differently, and why"]
    for name in ("typke-2006", "typke-2007", "serra-2007", "urbano-2010"):
        text = (ROOT / "dev" / "papers" / f"{name}.md").read_text("utf-8")
        assert re.findall(r"^## (.*)$", text, re.MULTILINE) == parts
        for path in re.findall(r"`([a-z]+/[\w/]+)`", text):
            assert any((folder / path).exists() for folder in (ROOT, ROOT / "src" / "roslin")), f"{name} names {path}"


def test_papers_are_cited_by_author_and_year() -> None:
    for page in [*OF_SITE, ROOT / "README.md", *(ROOT / "src").rglob("*.py")]:
        assert not re.search(r"[Pp]apers? 00\d", page.read_text("utf-8")), page.name


# -- commands that are shown -----------------------------------------------------------------------------------------

# Text that must not hide behind `...`: an example that fails quietly is no example.
NOT_TO_HIDE = ("Nothing better than chance", "no more alike than chance", "damaged", "Traceback", "not installed")
# Before a block that the tests do not run: why not. And a command that has to be run before those that are shown.
NOT_RUN = re.compile(r"<!-- not run: .{10,} -->\n```(?:sh|bash|python)\n")
BEFORE = re.compile(r"^<!-- before: (.*) -->$", re.MULTILINE)
WITH_COMMANDS = [page for page in OF_SITE if "```console\n" in page.read_text("utf-8")]


def dialogues(page: Path) -> list[tuple[str, list[str]]]:
    """The commands of a page that are shown with their output, and that output."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def hidden(shown: list[str], printed: str) -> str | None:
    """The text behind `...` if the output is the one shown, else None.

    `...` is any text, alone on a line any lines. Several spaces are one.
    """
    pattern = ""
    for line in shown:
        words = re.escape(" ".join(line.split()))
        pattern += r"((?:.*\n)*)" if line.strip() == "..." else words.replace(r"\.\.\.", "(.*)") + r"\n"
    text = "".join(f"{' '.join(line.split())}\n" for line in printed.splitlines())
    found = re.fullmatch(pattern, text)
    return None if found is None else "\n".join(found.groups())


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from roslin import Collection

    folder = tmp_path_factory.mktemp("starter") / "starter.roslin"
    Collection.build(tunes_path(), folder).close()
    return folder


@pytest.fixture
def reader(starter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that readers of the pages have: the starter collection, and files to save."""
    shutil.copytree(starter, tmp_path / "demo" / "starter.roslin")
    shutil.copy(truth_path(), tmp_path / "truth.qrel")
    shutil.copy(DOCS / "tutorials" / "catalogue.xml", tmp_path)
    for plugin in (DOCS / "_plugins").glob("*.py"):
        shutil.copy(plugin, tmp_path)
    text = (DOCS / "tutorials" / "melody.md").read_text("utf-8")
    for name, content in re.findall(r"Save this as `([\w.]+)`:\n\n```text\n(.*?)^```", text, re.M | re.S):
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: str(page.relative_to(DOCS)))
def test_commands_print_what_is_shown(
    page: Path, reader: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from roslin.cli import main

    def run(command: str) -> tuple[str, str]:
        if "--plugin" in command:  # not here, where it would stay registered
            done = subprocess.run(
                [sys.executable, "-m", *shlex.split(command)], capture_output=True, text=True, check=False
            )
            return done.stdout, done.stderr
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        with pytest.raises(SystemExit):
            main()
        return capfd.readouterr()

    for command in BEFORE.findall(page.read_text("utf-8")):
        run(command)
    for command, shown in dialogues(page):
        printed = run(command)
        behind = [text for text in (hidden(shown, each) for each in printed) if text is not None]
        assert behind, f"{page.name}: {command}\n{printed[0]}\n{printed[1]}"
        for words in NOT_TO_HIDE:
            assert words not in behind[0], f"{page.name}: {command} hides: {words}"


@pytest.mark.parametrize("page", OF_SITE, ids=lambda page: str(page.relative_to(DOCS)))
def test_blocks_are_run_or_have_a_reason(page: Path) -> None:
    text = page.read_text("utf-8")
    excused = {match.end() for match in NOT_RUN.finditer(text)}
    for match in FENCE.finditer(text):
        if match[1] in ("sh", "bash", "python"):
            runs = match[1] == "python" and ">>> " in match[2]
            assert runs or match.start(2) in excused, f"{page.name}: say why this block is not run:\n{match[2]}"
        assert match[1] or "roslin " not in match[2], f"{page.name}: a block of commands is sh or console:\n{match[2]}"


@pytest.mark.long
def test_commands_of_the_readme(reader: Path) -> None:
    """Every command of the README, in its order, with the files that it names as the reader's own."""
    (reader / "tunes").mkdir()
    shutil.move(reader / "tune.abc", reader / "tunes")
    shutil.copy("catalogue.xml", "new-record.xml")
    text = (ROOT / "README.md").read_text("utf-8")
    lines = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)).splitlines()
    words = [shlex.split(line, comments=True) for line in lines if line]
    assert [line[:2] for line in words[:2]] == [["make", "demo"], ["make", "test"]]
    for program, *arguments in words[2:]:
        assert program in ("roslin", ".venv/bin/roslin")
        command = [sys.executable, "-m", "roslin", *arguments]
        if arguments[0] == "serve":
            assert_serves(command)
        else:
            subprocess.run(command, capture_output=True, check=True)
    assert (reader / "my.concordances").is_dir()


def is_well(port: int) -> bool:
    with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/healthz", timeout=90) as answer:
        return bool(answer.status == 200)
    return False


def assert_serves(command: list[str]) -> None:
    port = free_port()
    with subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            until(lambda: server.poll() is not None or is_well(port))
            assert server.poll() is None, "the server ended"
        finally:
            server.terminate()


def test_a_wrong_output_is_seen() -> None:
    assert hidden(["rank  id", "   1  ..."], "rank  id\n1     a  b\n") == "a b"
    assert hidden(["...", "b"], "a\nb\n") == "a\n"
    assert hidden(["rank  id"], "rank  id\n1     a\n") is None
    assert hidden(["0.1429"], "0.1428\n") is None


@pytest.mark.long
def test_plug_ins_of_the_page_work(tmp_path: Path) -> None:
    """In processes of their own, so that nothing stays registered here."""
    from roslin import Collection

    Collection.build(tunes_path(), tmp_path / "starter.roslin").close()
    (tmp_path / "tune.solfa").write_text("solfa: do re mi do\n", encoding="utf-8")
    plugins = DOCS / "_plugins"

    def roslin(*words: str | Path) -> str:
        command = [sys.executable, "-m", "roslin", *map(str, words)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    roslin(
        "search", "starter.roslin", "--file", "tune.solfa", "--plugin", plugins / "solfa.py",
        "--plugin", plugins / "ambitus.py", "--matcher", "ambitus(unit=12)", "-k", "1", "--run", "found.run",
    )  # fmt: skip
    assert (tmp_path / "found.run").read_text("utf-8") == "query Q0 hot-cross-buns 1 0.0 ambitus(unit=12.0)\n"
    (tmp_path / "one.run").write_text("roslin-castle Q0 roslin-castle-2 1 1.0 mine\n", encoding="utf-8")
    (tmp_path / "one.qrel").write_text("L roslin-castle roslin-castle-2 1\n", encoding="utf-8")
    printed = roslin(
        "evaluate", "one.qrel", "one.run", "--plugin", plugins / "first_group.py", "-m", "FirstGroup", "--format", "tsv"
    )
    assert "one\tFirstGroup\t1.0" in printed


# -- reference --------------------------------------------------------------------------------------------------------


def test_generated_pages_have_every_registered_name() -> None:
    for part, registry in (("matchers", MATCHERS), ("measures", MEASURES), ("formats", FORMATS)):
        text = PARTS[part]()
        for name in registry:
            assert f"`{name}`" in text, f"{part}: {name}"


def test_every_matcher_is_in_the_table_and_in_the_reference() -> None:
    for page in (DOCS / "concepts" / "matchers.md", DOCS / "reference" / "matchers.md"):
        text = page.read_text("utf-8")
        for name in MATCHERS:
            assert f"| `{name}` |" in text, f"{page.name}: {name}"


def test_every_frozen_part_of_a_study_is_named() -> None:
    assert set(FROZEN_KEYS) == set(FROZEN)


def test_generated_commands_have_every_option() -> None:
    text = PARTS["commands"]()
    for command in ("roslin search", "roslin collection build", "roslin truth group"):
        assert f"`{command}`\n" in text
    assert "--tie-sensitivity" in text


@pytest.mark.parametrize("module_name", MODULES)
def test_every_public_name_has_an_entry_and_an_example(module_name: str) -> None:
    module = import_module(module_name)
    _, examples = read_examples(module_name)
    entries = names(module_name)
    for name in module.__all__:
        thing = getattr(module, name)
        assert f"{module_name}.{name}" in entries
        assert has_example(thing) or name in examples, (
            f"{module_name}.{name} has no example: give its docstring one, or docs/_examples/{module_name}.md"
        )
    for name in examples:
        assert name in module.__all__ or name == "The end", f"docs/_examples/{module_name}.md has an example of {name}"


def test_every_marked_page_names_a_part() -> None:
    marks = [mark for page in OF_SITE for mark in re.findall(r"^<!-- generated: (\S+)", page.read_text("utf-8"), re.M)]
    assert set(marks) == set(PARTS)


def test_the_keys_of_a_study_can_be_read_in_a_clone() -> None:
    text = (DOCS / "reference" / "study.md").read_text("utf-8")
    assert PARTS["study"]() in text, "run: python tools/renew_reference.py"
    assert "| `quota` |" in text


def test_pages_of_the_site_have_each_part_once() -> None:
    for page in OF_SITE:
        text = page.read_text("utf-8")
        assert renewed(text) == text, f"{page}: run: python tools/renew_reference.py"
    kept = "Before.\n<!-- generated: study -->\n\nold\n\n<!-- end of what is generated -->\nAfter."
    assert MARK.sub(generated, kept) == f"Before.\n{PARTS['study']()}\nAfter."


def test_docstrings_become_what_sphinx_reads() -> None:
    text = "Values of `x`, a * b_ and |c|.\n\n>>> 1 + 1\n2\n\n    x = 1   one\n\n- `a`: first"
    wanted = "Values of ``x``, a \\* b\\_ and \\|c\\|.\n\n>>> 1 + 1\n2\n\n::\n\n    x = 1   one\n\n- ``a``: first\n"
    assert as_rst(text) == wanted
    assert "```text\nx = 1   one\n```" in as_markdown(text)


def test_text_right_before_an_example_is_kept_apart() -> None:
    assert as_rst("One and one:\n>>> 1 + 1\n2") == "One and one:\n\n>>> 1 + 1\n2\n"
