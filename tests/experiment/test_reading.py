"""study.toml: what it means, what it lacks, and where it is wrong."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from roslin.errors import ExperimentError
from roslin.experiment.plan import Question, StudyRules
from roslin.experiment.study_toml import MODELS, SHIPPED_LANGUAGES, Form, read_study, shipped_text

BASE = """\
[study]
name = "s"
title = "Melodies"
contact = "a@example.org"
[design]
[material]
collection = "x.roslin"
[[queries]]
id = "q"
candidates = ["a", "b"]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_least_that_a_study_says_is_the_study_of_the_paper(tmp_path: Path) -> None:
    draft = read_study(written(tmp_path, BASE))
    plan = draft.plan
    assert (plan.name, plan.title, plan.languages, plan.contact, plan.seed) == (
        "s", {"en": "Melodies"}, ("en",), "a@example.org", 0,
    )  # fmt: skip
    assert plan.rules == StudyRules()
    assert (plan.rules.quota, plan.rules.queries_per_expert, plan.rules.design) == (30, 11, "ranking")
    assert [question.name for question in plan.questions] == ["experience_years", "instruments", "remarks"]
    assert draft.file.design.query_among_candidates
    (wish,) = draft.queries
    assert (wish.id, wish.candidates, wish.pool) == ("q", ("a", "b"), None)
    # section 3.2.3: transpositions, other ways to write the same sound, longer incipits, what does not resemble
    for word in ("another key", "sounds the same", "goes on longer", "do not resemble"):
        assert word in plan.instructions["en"]
    assert "a@example.org" in plan.consent["en"]
    assert "{" not in plan.consent["en"] + plan.instructions["en"] + plan.thanks["en"]


def test_who_compares_reads_other_instructions(tmp_path: Path) -> None:
    plan = read_study(written(tmp_path, BASE.replace("[design]", '[design]\nkind = "pairs"'))).plan
    assert "no difference" in plan.instructions["en"]
    assert "list" not in plan.instructions["en"]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("panel.example/x", "must be the address of a page; expected https://"),
        ("https://panel.example/{name}", "must be the address of a page"),
        ("https://panel.example/{receipt", "must be the address of a page"),
        (
            "https://panel.example/{participant}",
            "the id of participants is not kept; expected keeps_participant = true",
        ),
    ],
)
def test_addresses_that_lead_nowhere(tmp_path: Path, address: str, message: str) -> None:
    path = written(tmp_path, BASE.replace("[design]", f'[design]\nscreen_out_address = "{address}"'))
    with pytest.raises(ExperimentError, match=rf"study\.toml:6, design\.screen_out_address: {message}"):
        read_study(path)


def test_everything_that_a_study_can_say(tmp_path: Path) -> None:
    (tmp_path / "hello.md").write_text("# {title}\n\nAsk {contact}.", encoding="utf-8")
    (tmp_path / "ids.txt").write_text("a\n\nb\nc\n", encoding="utf-8")
    text = """\
[study]
name = "s"
title = { fr = "Airs", en = "Tunes" }
languages = ["fr", "en"]
contact = "a@example.org"
seed = 4
consent = "hello.md"
instructions = { fr = "hello.md", en = "hello.md" }
thanks = "hello.md"
[design]
kind = "triplets"
quota = 5
queries_per_expert = 2
query_among_candidates = true
resume = "restart"
pause_hours = 0.5
abandoned_hours = 3
comparisons = 12
keeps_participant = true
completion_address = "https://panel.example/{participant}?code={receipt}"
[material]
collection = "x.roslin"
[pool]
most = 40
matchers = ["roslin"]
[[queries]]
id = "one"
notation = "'4CDEC"
candidates = "ids.txt"
[[queries]]
id = "two"
[queries.pool]
most = 20
[practice]
query = "p"
expected = { a = "resembles", b = "no" }
[[questions]]
name = "age"
kind = "number"
label = { fr = "Age ?", en = "Age?" }
required = true
least = 18
[[questions]]
name = "plays"
kind = "choices"
label = "x"
choices = ["piano", "voice"]
[[questions]]
name = "school"
kind = "choice"
label = "x"
[questions.choices]
yes = { fr = "Oui", en = "Yes" }
no = "No"
"""
    draft = read_study(written(tmp_path, text))
    assert draft.plan.consent == {"fr": "# Airs\n\nAsk a@example.org.\n", "en": "# Tunes\n\nAsk a@example.org.\n"}
    assert draft.plan.rules == StudyRules(
        "triplets",
        5,
        2,
        False,
        "restart",
        0.5,
        3.0,
        12,
        differences=False,
        keeps_participant=True,
        completion_address="https://panel.example/{participant}?code={receipt}",
    )
    assert draft.file.design.query_among_candidates
    one, two = draft.queries
    assert (one.candidates, one.notation) == (("a", "b", "c"), "'4CDEC")
    assert two.pool is not None
    assert two.pool.model_dump(exclude_unset=True) == {"most": 20, "matchers": {"roslin": 10}}
    assert draft.plan.questions == (
        Question("age", "number", {"fr": "Age ?", "en": "Age?"}, required=True, least=18.0),
        Question("plays", "choices", {"fr": "x", "en": "x"}, {
            "piano": {"fr": "piano", "en": "piano"}, "voice": {"fr": "voice", "en": "voice"},
        }),
        Question("school", "choice", {"fr": "x", "en": "x"}, {
            "yes": {"fr": "Oui", "en": "Yes"}, "no": {"fr": "No", "en": "No"},
        }),
    )  # fmt: skip


@pytest.mark.parametrize("language", SHIPPED_LANGUAGES)
def test_the_texts_that_come_with_roslin(language: str) -> None:
    consent = shipped_text("consent", language)
    said = {"en": ("IP", "withdraw", "{contact}", "kept"), "de": ("IP", "zurückziehen", "{contact}", "aufbewahrt")}
    assert all(word in consent for word in said[language])
    assert set(re.findall(r"{.*?}", consent)) == {"{title}", "{contact}"}
    for name in ("instructions", "comparing", "thanks"):
        assert set(re.findall(r"{.*?}", shipped_text(name, language))) <= {"{title}", "{contact}"}
    headings = [line for line in consent.splitlines() if line.startswith("#")]
    assert len(headings) == len([x for x in shipped_text("consent", "en").splitlines() if x.startswith("#")])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[design]", "[desing]", r"study\.toml:5, desing: unknown key; expected 'design'\?; found 'desing'"),
        ("[design]", "[design]\nquoter = 3", r":6, design\.quoter: unknown key; expected 'quota'\?"),
        ("[design]", "[design]\nquota = 0", r":6, design\.quota: the number is too small; expected 1 or more; found 0"),
        ("[design]", "[design]\nkind = 'best'", "kind: unknown value; expected 'ranking', 'pairs' or 'triplets'"),
        ("[design]", "[design]\ncomparisons = 4", "is only for pairs and triplets; .* found 'ranking'"),
        ("[design]", "[design]\nkind = 'pairs'\nties = true", r":7, design\.ties: is only for rankings; .* 'pairs'"),
        ('name = "s"', 'name = "../s"', "study.name: must be a name for files and columns; expected letters, digits"),
        ('name = "s"\n', "", r":1, study: name is missing; expected a line name = \.\.\."),
        ('contact = "a@example.org"\n', "", "study: contact is missing"),
        ('name = "s"', 'name = "s"\nlanguages = ["en", "en"]', "study.languages: must be codes of languages"),
        ('name = "s"', 'name = "s"\nlanguages = ["fr"]', "no text for consent; expected a file for consent .* 'fr'"),
        ('name = "s"', 'name = "s"\nthanks = "no.md"', r":3, study\.thanks: no such file; .* found 'no.md'"),
        ('name = "s"', 'name = "s"\nthanks = "empty.md"', "study.thanks: the file is empty"),
        ('name = "s"', 'name = "s"\nthanks = "."', "study.thanks: cannot be read; expected a Markdown file in UTF-8"),
        ('collection = "x.roslin"', "", r"\[?material: there is nothing to show; expected collection"),
        ('collection = "x.roslin"', 'collection = "x"\nfolder = "y"', "material.folder: is not for melodies"),
        ('collection = "x.roslin"', 'folder = "y"', "material: table is missing"),
        ('["a", "b"]', '["a"]', r"queries\[1\]\.candidates: too few to put in order; expected at least 2; found 1"),
        ('["a", "b"]', '["a", "a"]', "candidates: a candidate is there twice; expected each once; found 'a'"),
        ('["a", "b"]', '"ids.txt"', "candidates: no such file; expected a list of ids, or a file with one id per"),
        ('["a", "b"]', '"latin.txt"', "candidates: cannot be read; expected a file in UTF-8 with one id per line"),
        ('candidates = ["a", "b"]', "", r":8, queries\[1\]: there are no candidates"),
        ('["a", "b"]', '["a", "b"]\n[queries.pool]\nmost = 3', "pool: the candidates are named already"),
        ('["a", "b"]', '["a", "b"]\n[[queries]]\nid = "q"', r":12, queries\[2\]\.id: two queries have this id"),
        ('["a", "b"]', '["a", "b"]\n[practice]\nskip = true\nquery = "x"', "practice.query: there is no practice"),
        ('["a", "b"]', '["a", "b"]\n[practice]\nquery = "x"', "practice.expected: too few candidates"),
        (
            '["a", "b"]',
            '["a", "b"]\n[practice]\nquery = "x"\nexpected = { a = "yes", b = "no" }',
            r":13, practice\.expected\.a: unknown value; expected 'resembles', 'perhaps' or 'no'; found 'yes'",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "empty.md").write_text("\n", encoding="utf-8")
    (tmp_path / "latin.txt").write_bytes(b"k\xf6nigin\nb\n")
    assert old in BASE
    with pytest.raises(ExperimentError, match=message):
        read_study(written(tmp_path, BASE.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "s"', "name = 3", r":2, study\.name: must be text; expected text in quotes, not empty; found 3"),
        ('name = "s"', 'name = " "', r"study\.name: must be text; .* found ' '"),
        ("[design]", "[design]\nquota = 0.5", r"design\.quota: must be a whole number; .* found 0\.5"),
        ("[design]", "[design]\nquota = true", "design.quota: must be a whole number; .* found True"),
        ("[design]", "[design]\nquota = '3'", "design.quota: must be a whole number; .* found '3'"),
        ("[design]", "[design]\npause_hours = 'x'", "pause_hours: must be a number; expected digits without quotes"),
        ("[design]", "[design]\npause_hours = 1e300", r"pause_hours: the number is too large; .* found 1e\+300"),
        ("[design]", "[design]\npause_hours = nan", "pause_hours: must be a number; expected one that is finite"),
        ("[design]", "[design]\nties = 'word'", "must be yes or no; expected true or false; found 'word'"),
        ("[design]", f"[design]\nquota = 0x{'f' * 5000}", ":6, design.quota: the number is too large"),
        ('name = "s"', f"name = 0x{'f' * 5000}", ":2, study.name: must be text.*; found a number with too many digits"),
        ('name = "s"', 'name = "s"\nlanguages = 3', ":3, study.languages: must be a list of texts"),
        ("title =", "title = 3 #", "must be text; expected text in quotes, or one for each language, as { en = "),
        ("title =", 'languages = ["en", "de"]\ntitle = { en = "a" } #', "a language is missing; expected de"),
        ("title =", 'title = { en = "a", fr = "b" } #', r"expected one of study\.languages: en; .* 'fr'"),
        ("[design]", "[unknown]\nx = 1", "unknown: unknown key; expected one of study, design, material"),
        ("[[queries]]", "[queries]", r"queries: must be tables; expected \[\[queries\]\] and keys below it, for each"),
        ("[study]", "practice = 'word'\n[study]", r":1, practice: must be a table; expected \[practice\]"),
        ("[study]", "questions = [3]\n[study]", r":1, questions\[1\]: must be a table"),
        ("[design]", f"[design]\nkind = '{'x' * 200}'", r"found 'x{76}\.\.\.$"),
    ],
)  # fmt: skip
def test_values_of_another_kind_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        read_study(written(tmp_path, BASE.replace(old, new, 1)))


def test_a_study_without_queries(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="queries: there are no queries"):
        read_study(written(tmp_path, BASE[: BASE.index("[[queries]]")]))


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ('name = "a b"', "must be a name for files and columns"),
        ('name = "a"\nkind = "date"', "kind: unknown value; expected 'number', 'text', 'choice' or 'choices'"),
        ('name = "a"\nkind = "text"\nlabel = "x"\nchoices = ["a", "b"]', "choices: is not for this kind"),
        ('name = "a"\nkind = "text"\nlabel = "x"\nleast = 1', "least: is not for this kind"),
        ('name = "a"\nkind = "number"\nlabel = "x"\nleast = 4\nmost = 3', "most: must not be below least"),
        ('name = "a"\nkind = "choice"\nlabel = "x"\nchoices = ["a"]', "choices: too few to choose from"),
        ('name = "a"\nkind = "text"\nlabel = "x"\n[[questions]]\nname = "a"\nkind = "text"\nlabel = "y"', "two quest"),
    ],
)  # fmt: skip
def test_bad_questions(tmp_path: Path, question: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        read_study(written(tmp_path, f"{BASE}[[questions]]\n{question}\n"))


def test_no_questions_at_all(tmp_path: Path) -> None:
    assert read_study(written(tmp_path, "questions = []\n" + BASE)).plan.questions == ()


def test_every_rule_can_be_written() -> None:
    rules = {"kind" if name == "design" else name for name in StudyRules.__slots__}
    assert rules | {"query_among_candidates"} == set(MODELS["design"].model_fields)


def test_every_key_is_explained() -> None:
    for table, model in MODELS.items():
        assert model.__doc__
        for name, field in model.model_fields.items():
            assert any(isinstance(each, Form) for each in field.metadata), f"{table}.{name}"
            assert (field.description or "").endswith("."), f"{table}.{name}"


def test_the_files_of_the_page_name_keys_that_exist() -> None:
    page = Path(__file__).parents[2] / "docs" / "howto" / "experiment.md"
    examples = re.findall(r"^```toml\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    assert len(examples) > 4
    for example in examples:
        for name, value in tomllib.loads(example).items():
            for table in value if isinstance(value, list) else [value]:
                assert set(table) <= set(MODELS[name].model_fields), example
                assert set(table.get("pool", ())) <= set(MODELS["pool"].model_fields), example
