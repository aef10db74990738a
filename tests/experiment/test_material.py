"""Other material than melodies: pictures and sounds by a table, under names that say nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.experiment.studies import study_text

from roslin.errors import ExperimentError, FrozenError, UnknownNameError
from roslin.experiment.folder import StudyFolder, create_study
from roslin.experiment.store import EventStore

CONTENT = {
    "png": b"\x89PNG\r\n\x1a\n0001",
    "jpg": b"\xff\xd8\xff\xe0JFIF",
    "webp": b"RIFF\x10\x00\x00\x00WEBPVP8 ",
    "mp3": b"ID3\x04\x00",
    "ogg": b"OggS\x00",
    "wav": b"RIFF\x10\x00\x00\x00WAVEfmt ",
    "flac": b"fLaC\x00",
}
TABLE = """\
id,picture,sound,note
queen,secret-queen.png,queen.mp3,x
king,king.JPG,,
ace,ace.webp,ace.ogg,
two,,two.wav,
three,,three.flac,
four,,four.mp3,
"""
QUERIES = {"queen": ["king", "ace", "two", "three", "four"]}


def cards(folder: Path, table: str = TABLE, **changes: str) -> Path:
    """A study of playing cards; every file that the table names is there."""
    (folder / "cards").mkdir(exist_ok=True)
    for line in TABLE.splitlines()[1:]:
        for name in line.split(",")[1:3]:
            if name:
                (folder / "cards" / name).write_bytes(CONTENT[name[-4:].strip(".").lower()] + name.encode())
    # an MP3 that begins with sound, not with a tag
    (folder / "cards" / "four.mp3").write_bytes(b"\xff\xfb\x90\x00")
    (folder / "cards.csv").write_text(table, encoding="utf-8")
    text = study_text(QUERIES, {"quota": 3})
    head, _, rest = text.partition("[material]\n")
    text = head + '[material]\nfolder = "cards"\ntable = "cards.csv"\n' + rest.partition("\n")[2]
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return folder / "study.toml"


def test_pictures_and_sounds(tmp_path: Path) -> None:
    created = create_study(cards(tmp_path))
    study = created.folder
    assert created.notes[-1] == "The texts that come with Roslin speak of melodies: write your own."
    (task,) = study.plan.tasks
    assert task.ids == ("king", "ace", "two", "three", "four")
    assert not any(item.is_melody for item in (task.query, *task.candidates))
    assert study.file(task.query.picture).read_bytes() == (tmp_path / "cards" / "secret-queen.png").read_bytes()
    assert study.file(task.query.sound).suffix == ".mp3"
    assert study.file(task.candidates[0].picture).suffix == ".jpg"
    assert (task.candidates[0].sound, task.candidates[2].picture) == ("", "")
    names = sorted(path.name for path in (study.path / "files").iterdir())
    assert len(names) == 8
    assert all(len(name.partition(".")[0]) == 32 for name in names)
    assert "secret" not in json.dumps([name for item in task.candidates for name in (item.picture, item.sound)])
    assert study.plan.practice is None
    with pytest.raises(UnknownNameError, match="those that the plan names"):
        study.file("../key")
    with pytest.raises(UnknownNameError, match="the study shows pictures or sounds"):
        study.melody("queen")


def test_names_are_the_same_every_time_and_different_in_every_study(tmp_path: Path) -> None:
    toml = cards(tmp_path)
    first = create_study(toml)
    assert not create_study(toml).is_changed
    other = create_study(toml, tmp_path / "other.study")
    assert first.folder.plan.tasks[0].query.picture != other.folder.plan.tasks[0].query.picture


def test_a_picture_that_changed_is_frozen(tmp_path: Path) -> None:
    toml = cards(tmp_path)
    study: StudyFolder = create_study(toml).folder
    store = EventStore(study.database, study.plan)
    store.add(store.invite()[0].name, "consented")
    store.close()
    (tmp_path / "cards" / "king.JPG").write_bytes(CONTENT["jpg"] + b"other")
    with pytest.raises(FrozenError, match="tasks"):
        create_study(toml)


def test_a_practice_of_pictures(tmp_path: Path) -> None:
    practice = '[practice]\nquery = "two"\nexpected = { three = "resembles", king = "no" }\n[material]'
    study = create_study(cards(tmp_path, **{"[material]": practice})).folder
    assert study.plan.practice is not None
    assert study.plan.practice.task.ids == ("three", "king")


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("king,none.png,,", r"cards\.csv:3: no such file in cards; expected the name of a file; found 'none\.png'"),
        ("king,../study.toml,,", "no such file in cards"),
        ("king,,,", "a row is not complete; expected an id, and a picture or a sound; found 'king'"),
        (",king.JPG,,", "a row is not complete"),
        ("queen,king.JPG,,", "an id is there twice; expected each once; found 'queen'"),
        ("king,king.svg,,", r"a file of another kind; expected one that ends with \.png, \.jpg, \.jpeg, \.webp; found"),
        ("king,,king.mid,", r"a file of another kind; expected one that ends with \.mp3, \.ogg, \.wav, \.flac; found"),
        ("king,queen.mp3,,", "a file of another kind"),
        ("king,false.png,,", "false.png is not of the kind that its ending names; expected png; found 'jpeg'"),
        (
            "king,script.png,,",
            "script.png is not of the kind that its ending names; expected png; found 'something else'",
        ),
        ("king,empty.png,,", "empty.png is not of the kind that its ending names; .* found 'something else'"),
        ("king,huge.png,,", "a file is too large; expected 20 MiB at most; found 'huge.png, 20,971,528 bytes'"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, line: str, message: str) -> None:
    toml = cards(tmp_path, TABLE.replace("king,king.JPG,,", line))
    for name, content in {
        "king.svg": b"<svg/>",
        "king.mid": b"MThd",
        "false.png": CONTENT["jpg"],
        "script.png": b"<script>",
        "empty.png": b"",
        "huge.png": CONTENT["png"][:8] + bytes(20 * 1024**2),
    }.items():
        (tmp_path / "cards" / name).write_bytes(content)
    with pytest.raises(ExperimentError, match=message):
        create_study(toml)
    assert not (tmp_path / "test.study").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({'"cards"': '"none"'}, "material.folder: no such folder; .* found 'none'"),
        ({'"cards.csv"': '"none"'}, "material.table: no such file; .* found 'none'"),
        ({'"king"': '"joker"'}, r"queries\[1\]\.candidates: no id of cards\.csv; expected one such as ace, .* 'joker'"),
        ({'id = "queen"': 'id = "queen"\nnotation = "4C"'}, "notation: is for melodies"),
        ({"[material]": '[pool]\nmatchers = ["dp"]\n[material]', "\ncandidates = ": "\n#"}, "pool: is for melodies"),
    ],
)
def test_what_is_wrong_with_the_study(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        create_study(cards(tmp_path, **changes))


def test_a_table_in_another_encoding(tmp_path: Path) -> None:
    toml = cards(tmp_path)
    (tmp_path / "cards.csv").write_bytes("id,picture\nkönigin,secret-queen.png\n".encode("latin-1"))
    with pytest.raises(
        ExperimentError, match=r"material\.table: cannot be read; expected a CSV file in UTF-8; found .*0xf6"
    ):
        create_study(toml)


def test_a_table_without_the_columns(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"cards\.csv:1: columns are missing; expected id, and picture or sound"):
        create_study(cards(tmp_path, "id,image\nqueen,x.png\n"))
