"""Registries: owners, completeness, and what is loaded when."""

from __future__ import annotations

import importlib.util
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest

from roslin.errors import ArgumentError, UnknownNameError
from roslin.evaluate import MEASURES
from roslin.matchers import MATCHERS
from roslin.matchers.base import COMPOUND
from roslin.notation import FORMATS, Format
from roslin.values import Named, NamedRegistry, PluginWarning, Registry, members, plugins, whole


@dataclass(frozen=True, repr=False)
class Animal(Named, ABC):
    @abstractmethod
    def sound(self) -> str: ...


@dataclass(frozen=True, repr=False)
class Cat(Animal):
    name = "cat"
    summary = "It purrs."
    reference = "everybody"
    also: ClassVar[tuple[str, ...]] = ("felis",)

    lives: int = whole(9)

    def sound(self) -> str:
        return "purr"


class Dog(Cat):
    name = "dog"
    also = ()


@pytest.fixture
def animals() -> NamedRegistry[Animal]:
    registry: NamedRegistry[Animal] = NamedRegistry("animal", Animal, example="cat", ignore_case=True)
    registry.register(Cat)
    return registry


@pytest.fixture(autouse=True)
def _no_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is written twice in a second, with the same size, would be the first one again."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def module(path: Path, name: str, text: str) -> ModuleType:
    """A module from a text, as an import would make it."""
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


DOG = """
class Dog(Animal):
    name = "{name}"
    summary = "It barks."
    reference = "everybody"

    def sound(self):
        return "bark"
"""


def test_names_values_and_origins(animals: NamedRegistry[Animal]) -> None:
    assert animals.names() == list(animals) == ["cat"]
    assert animals["cat"] is animals.find("FELIS") is Cat
    assert animals.parse("Cat(lives=3)") == Cat(lives=3)
    assert animals.parse(Cat()) == Cat()
    assert animals.origin("felis") == "tests"
    assert "felis" not in animals
    assert len(animals) == 1
    with pytest.raises(UnknownNameError, match=r"^unknown animal 'dog'; known: cat$"):
        animals.find("dog")
    with pytest.raises(ArgumentError, match=r"^an? animal must be a name, such as 'cat'; got 3$"):
        animals.parse(3)  # type: ignore[arg-type]


def test_two_owners_of_a_name_are_refused_and_both_are_named(animals: NamedRegistry[Animal], tmp_path: Path) -> None:
    head = f"from {__name__} import Animal\n"
    sys.modules.setdefault(__name__, sys.modules[Animal.__module__])
    first = module(tmp_path / "first.py", "kennel", head + DOG.format(name="dog"))
    second = module(tmp_path / "second.py", "pound", head + DOG.format(name="Dog"))
    animals.register(first.Dog)
    with pytest.raises(
        ArgumentError, match=r"^two animals are called 'Dog': Dog of kennel and Dog of pound; one needs"
    ):
        animals.register(second.Dog)
    third = module(tmp_path / "third.py", "farm", head + DOG.format(name="felis"))
    with pytest.raises(ArgumentError, match=r"^two animals are called 'felis': Cat of tests\.\S+ and Dog of farm; one"):
        animals.register(third.Dog)
    assert animals["dog"] is first.Dog
    # The same owner again, as when a cell of a notebook is run twice.
    again = module(tmp_path / "first.py", "kennel", head + DOG.format(name="dog"))
    animals.register(again.Dog)
    assert animals["dog"] is again.Dog is not first.Dog
    renamed = module(tmp_path / "first.py", "kennel", head + DOG.format(name="DOG"))
    animals.register(renamed.Dog)
    assert sorted(animals) == ["DOG", "cat"]


def test_what_is_not_complete_is_refused(animals: NamedRegistry[Animal]) -> None:
    class Nameless(Cat):
        name = ""

    class Spaced(Cat):
        name = "two words"

    class Silent(Animal):
        name, summary, reference = "fish", "It says nothing.", "everybody"

    class Undescribed(Animal):
        name, reference = "owl", "everybody"

        def sound(self) -> str:
            return "hoo"

    class Unpublished(Undescribed):
        name, summary, reference = "owl", "It hoots.", " "

    class Loose(Undescribed):
        name, summary = "owl", "It hoots."
        wings: int = 2

    @dataclass(frozen=True)
    class Talkative(Undescribed):
        name: ClassVar[str] = "owl"
        summary: ClassVar[str] = "It hoots."

    wrong: list[tuple[Any, str]] = [
        (3, "an? animal must be a class made from Animal; got 3"),
        (Cat(), "an? animal must be a class made from Animal; got cat"),
        (str, "an? animal must be a class made from Animal; got <class 'str'>"),
        (Nameless, r"\S*Nameless: the name of an? animal must be a word of letters, .*; got ''"),
        (Spaced, r"\S*Spaced: the name of an? animal must be a word of letters, .*; got 'two words'"),
        (Silent, "the animal fish is not complete; it lacks sound"),
        (Undescribed, "the animal owl has no summary; expected a sentence"),
        (Unpublished, "the animal owl has no reference; expected a sentence"),
        (Loose, r"the parameter wings of owl has no rule; declare it with one of roslin\.values, such as whole\(3\)"),
        (Talkative, r"the animal owl must be a @dataclass\(frozen=True, repr=False\): its repr is its name"),
    ]
    for thing, message in wrong:
        with pytest.raises(ArgumentError, match=f"^{message}"):
            animals.register(thing)
    assert list(animals) == ["cat"]


def test_a_class_without_its_decorator_gets_it(animals: NamedRegistry[Animal]) -> None:
    @animals.register
    class Cow(Animal):
        name, summary, reference = "cow", "It moos.", "everybody"

        legs: int = whole(4, most=4)

        def sound(self) -> str:
            return "moo"

    assert repr(animals.parse("cow(legs=3)")) == "cow(legs=3)"
    with pytest.raises(ArgumentError, match=r"^cow: legs must be a whole number from 1 to 4; got 5$"):
        animals.parse("cow(legs=5)")


def test_what_is_made_of_others_is_not_listed(animals: NamedRegistry[Animal]) -> None:
    @animals.register
    class Herd(Cat):
        name = "herd"
        also = ()

        heads: tuple[Animal, ...] = members(Animal, animals.parse, "herd(cat)")

    assert animals.names() == ["cat"]
    assert list(animals.compound) == ["herd"]
    assert repr(animals.parse("herd(cat, herd(cat(lives=1)), lives=3)")) == "herd(cat, herd(cat(lives=1)), lives=3)"
    assert list(COMPOUND) == ["fuse"]
    assert "fuse" not in MATCHERS


def test_the_registries_of_roslin_are_mappings() -> None:
    assert MATCHERS["dp"].name == "dp"
    assert MEASURES["ADR"].name == "ADR"
    assert list(FORMATS)[:2] == ["midi", "marcxml"]
    assert {MATCHERS.origin(name) for name in MATCHERS} == {MEASURES.origin(name) for name in MEASURES} == {"roslin"}
    for registry in (MATCHERS, MEASURES, FORMATS):
        with pytest.raises(KeyError, match="nothing"):
            registry["nothing"]


def test_formats() -> None:
    def read(stream: Any, *, strict: bool) -> Any:
        return iter(())

    formats: Registry[Format] = Registry("format", Format, code_of=lambda format: format.read)
    one = Format("one", "One.", (".one",), lambda head: False, read)
    assert formats.register(one) is one is formats["one"]
    with pytest.raises(ArgumentError, match=r"^a format must be a Format; got 3$"):
        formats.register(3)
    with pytest.raises(ArgumentError, match=r"^Format: the name of a format must be a word .*; got ''$"):
        formats.register(Format("", "One.", (".one",), lambda head: False, read))
    with pytest.raises(
        ArgumentError, match=r"^two formats are called 'pae': read_stream of roslin\.notation\.pae and "
    ):
        FORMATS.register(Format("pae", "Mine.", (".one",), lambda head: False, read))
    for description, suffix in (("", ".one"), ("One.", "one")):
        with pytest.raises(ArgumentError, match=r"^the format one needs a description, and suffixes that start with"):
            Format("one", description, (suffix,), lambda head: False, read)
    with pytest.raises(UnknownNameError, match=r"^unknown option of the format one 'size'; known: part, "):
        Format("one", "One.", (), lambda head: False, read, ("size",))


# -- what others announce by entry point ------------------------------------------------------------------------------


def point(name: str, load: Callable[[], Any]) -> SimpleNamespace:
    """An entry point."""
    return SimpleNamespace(name=name, load=load)


def announced(monkeypatch: pytest.MonkeyPatch, *found: tuple[str, SimpleNamespace]) -> list[str]:
    asked: list[str] = []

    def installed(group: str) -> Any:
        asked.append(group)
        return iter(found)

    monkeypatch.setattr(plugins, "installed", installed)
    return asked


def test_packages_are_loaded_when_a_name_is_not_known_or_all_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = announced(monkeypatch, ("kennel", point("any", lambda: Dog)))
    looks: list[Callable[[Registry[Any]], Any]] = [Registry.names, len, lambda r: r.find("dog"), lambda r: r["dog"]]
    for look in looks:
        registry: NamedRegistry[Animal] = NamedRegistry("animal", Animal, "zoo.animals")
        registry.register(Cat)
        asked.clear()
        assert registry.find("cat") is registry["cat"] is Cat
        assert asked == []
        look(registry)
        look(registry)
        assert asked == ["zoo.animals"]
        assert registry.names() == ["cat", "dog"]
        assert registry.origin("dog") == "kennel"


def test_a_broken_package_is_a_warning_and_the_others_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Any:
        raise ImportError("no module named 'wolf'")

    def leave() -> Any:
        sys.exit(3)

    announced(
        monkeypatch,
        ("forest", point("wolf", fail)),
        ("forest", point("cuckoo", leave)),
        ("quarry", point("stone", lambda: 3)),
        ("kennel", point("all", lambda: sys)),  # a module: its import is all that is needed
        ("kennel", point("dog", lambda: Dog)),
    )
    registry: NamedRegistry[Animal] = NamedRegistry("animal", Animal, "zoo.animals")
    with pytest.warns(PluginWarning) as caught:
        assert registry.names() == ["dog"]
    said = [str(warning.message) for warning in caught]
    assert len(said) == 3
    assert said[0].startswith("the animal 'wolf' of forest cannot be used: test_registry.py:")
    assert said[0].endswith(": ImportError: no module named 'wolf'")
    assert said[1].endswith(": SystemExit: 3")
    assert said[2] == "the animal 'stone' of quarry cannot be used: a animal must be a class made from Animal; got 3"
    assert registry.names() == ["dog"]  # and it is not said again
