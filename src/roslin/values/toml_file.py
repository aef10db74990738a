"""Read a TOML file with a pydantic model. Every error names the file, the line and the key.

`tomllib` reports where a file stops being TOML, but not where a value is. `line_of` finds the line by reading shorter
and shorter beginnings of the file.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from roslin.errors import ExperimentError, Problem, RoslinError

Key = tuple[str | int, ...]
"""The place of a value: names of tables and keys, and positions in arrays from 0, as ("queries", 2, "id")."""

MOST_WHOLE = 2**53
"""The largest whole number that every program reads exactly."""

_LONGEST_SHOWN = 80


# -- values ------------------------------------------------------------------------------------------------------------


def refusal(reason: str, expected: str = "", key: str = "", **found: object) -> PydanticCustomError:
    """The error of a validator. `key` is the wrong key below the value, `found` its value."""
    return PydanticCustomError("refused", "{reason}", {"reason": reason, "expected": expected, "key": key, **found})


def _text(value: object) -> object:
    if not isinstance(value, str) or not value.strip():
        raise refusal("must be text", "text in quotes, not empty")
    return value


def _texts(value: object) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)) or not all(isinstance(each, str) and each.strip() for each in listed):
        raise refusal("must be a list of texts", 'texts in quotes, as ["one", "two"]')
    return tuple(listed)


Text = Annotated[str, BeforeValidator(_text)]
Texts = Annotated[tuple[str, ...], PlainValidator(_texts)]
"""A list of texts, or one text."""
Whole = Annotated[int, Field(ge=1, le=MOST_WHOLE)]
WholeOrNone = Annotated[int, Field(ge=0, le=MOST_WHOLE)]
Number = Annotated[float, Field(ge=0, le=MOST_WHOLE, allow_inf_nan=False)]


class TomlTable(BaseModel):
    """A table of a file. The fields of a derived class are its keys."""

    model_config = ConfigDict(strict=True, frozen=True, use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: Any) -> Any:
        for name in values if isinstance(values, dict) else ():
            if name not in cls.model_fields:
                near = difflib.get_close_matches(name, list(cls.model_fields), n=1)
                expected = f"{near[0]!r}?" if near else f"one of {', '.join(cls.model_fields)}"
                raise refusal("unknown key", expected, name, found=name)
        return values


Table = TypeVar("Table", bound=TomlTable)

# pydantic's types of errors: a reason and an expectation in the words of TOML.
_SENTENCES = {
    "int_type": ("must be a whole number", "digits without quotes or a point"),
    "float_type": ("must be a number", "digits without quotes"),
    "finite_number": ("must be a number", "one that is finite"),
    "greater_than_equal": ("the number is too small", "{ge:g} or more"),
    "less_than_equal": ("the number is too large", "{le:.0f} or less"),
    "bool_type": ("must be yes or no", "true or false"),
    "literal_error": ("unknown value", "{expected}"),
    "model_type": ("must be a table", "[{key}] and keys below it"),
    "dict_type": ("must be a table", "[{key}] and keys below it"),
    "list_type": ("must be tables", "[[{key}]] and keys below it, for each"),
}


# -- places ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TomlPlace:
    """A table of a file, for error messages."""

    path: Path
    source: str
    key: Key = ()

    def below(self, *key: str | int) -> Self:
        return type(self)(self.path, self.source, (*self.key, *key))

    def error(self, name: str, reason: str, expected: str = "", found: object = None) -> ExperimentError:
        """The error of a key of the table ("" for the table itself), with its place."""
        key = (*self.key, name) if name else self.key
        line = line_of(self.source, key) if key else 0
        record = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in key).lstrip(".")
        problem = Problem(reason, expected, _shown(found), line=line, file=str(self.path), record=record)
        return ExperimentError(str(problem))

    @contextmanager
    def blaming(self, name: str) -> Iterator[None]:
        """Name this key in errors that are raised inside."""
        try:
            yield
        except ExperimentError:
            raise  # with a place
        except RoslinError as error:
            raise self.error(name, str(error)) from None

    def read(self, model: type[Table], values: dict[str, Any], context: Any = None) -> Table:
        """The values of this table as a model. Only the first error is reported, because it often causes the others."""
        try:
            return model.model_validate(values, context=context)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
        *above, name = first["loc"] or ("",)
        found, context = first["input"], first.get("ctx", {})
        if first["type"] == "missing":
            raise self.below(*above).error("", f"{name} is missing", f"a line {name} = ...")
        if first["type"] == "refused":
            reason, expected = context["reason"], context["expected"]
            found = context.get("found", None if context["key"] else found)
            if context["key"]:
                above, name = [*first["loc"]], context["key"]
        else:
            if first["type"] == "literal_error":  # as TOML writes them
                context = {"expected": re.sub("True|False", lambda each: each[0].lower(), context["expected"])}
            reason, expected = (each.format(key=name, **context) for each in _SENTENCES[first["type"]])
        if isinstance(name, int):
            above, name = [*above, name], ""
        raise self.below(*above).error(name, reason, expected, found)


def _shown(value: object) -> str:
    if value is None:
        return ""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print very long numbers
        return "a number with too many digits"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """The text and the values of a TOML file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        problem = Problem("no UTF-8", file=str(path), found=f"byte {error.start + 1}", expected="text in UTF-8")
        raise ExperimentError(str(problem)) from None
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", str(error))
        line, column = (int(number or 0) for number in place.groups()) if place else (0, 0)
        reason = f"no TOML: {str(error)[: place.start()] if place else error}"
        raise ExperimentError(str(Problem(reason, line=line, column=column, file=str(path)))) from None
    except (ValueError, RecursionError):  # of tomllib, without a place
        problem = Problem("a number or a list is too long", f"numbers up to {MOST_WHOLE}", file=str(path))
        raise ExperimentError(str(problem)) from None


# -- lines -------------------------------------------------------------------------------------------------------------


def line_of(text: str, key: Key) -> int:
    """The line, from 1, on which a value is given, or that of the innermost table around it; 0: nowhere."""
    lines = text.split("\n")

    def shared(count: int) -> int:
        """How much of the key has a value in the first lines. The end of an unfinished value is included."""
        for end in range(count, len(lines)):
            with suppress(tomllib.TOMLDecodeError):
                return _shared(tomllib.loads("\n".join(lines[:end])), key)
        return _shared(tomllib.loads(text), key)

    return bisect_left(range(len(lines) + 1), shared(len(lines)), key=shared)


def _shared(values: Any, key: Key) -> int:
    for depth, part in enumerate(key):
        try:
            values = values[part]
        except (KeyError, IndexError, TypeError):
            return depth
    return len(key)
