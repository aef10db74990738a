"""The one door to the compiled kernels.

    from roslin.native import kernels

    kernels.exact_tails(counts, most, less)

Every kernel is declared once, in a header of this folder, with what it does and the shapes of its arrays:

    // Fill less[list, i, j] ...
    bool exact_tails(int64_t lists, int64_t documents, int64_t ranks, const int64_t counts[lists][documents][ranks],
                     int64_t most, double less[lists][documents][documents]);

From this declaration the door knows how a kernel is called. Sizes that are the length of an array (here `lists`,
`documents` and `ranks`) are not given: they are read off the arrays. Before every call it checks, for each array, the
type of its elements, that it lies in one piece, that it may be written to unless it is const, and its shape; a slip in
Python is an error here and never a wrong read in C. Arrays are not converted: what a kernel writes is for the caller.

- A named tuple stands for a `const struct *`: its fields are taken by name; a `// [notes + 1]` behind a pointer is its
  shape. A struct may point to others. Its sizes can be used in shapes: `scores[melodies->count]`.
- A kernel that says `bool` takes memory, and returns false where there is none: a MemoryError.
- Kernels run without the interpreter's lock.

There is one library for each instruction set; all of them give the same results. The newest that the processor has is
used, or the one that ROSLIN_KERNELS names.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from roslin.errors import RoslinError
from roslin.native import build

# What the processor's `processor_level` counts up to, by the family's levels in `build`.
_CHOICE = "ROSLIN_KERNELS"

# By the name in C: the type of an array's elements, that of an argument.
_SCALARS: dict[str, tuple[Any, Any]] = {
    "bool": (np.bool_, ctypes.c_bool),
    "int8_t": (np.int8, ctypes.c_int8),
    "uint8_t": (np.uint8, ctypes.c_uint8),
    "int16_t": (np.int16, ctypes.c_int16),
    "uint16_t": (np.uint16, ctypes.c_uint16),
    "int32_t": (np.int32, ctypes.c_int32),
    "uint32_t": (np.uint32, ctypes.c_uint32),
    "int64_t": (np.int64, ctypes.c_int64),
    "uint64_t": (np.uint64, ctypes.c_uint64),
    "float": (np.float32, ctypes.c_float),
    "double": (np.float64, ctypes.c_double),
}


class KernelError(RoslinError):
    """The compiled kernels are missing, or cannot be loaded."""


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("_") or name not in _prototypes()[1]:
        raise AttributeError(f"there is no kernel {name!r}")
    found = _Kernel(name)
    globals()[name] = found
    return found


def names() -> list[str]:
    """All kernels."""
    return sorted(_prototypes()[1])


def documentation(name: str) -> str:
    """What the header says of a kernel: its comment and its declaration."""
    return _prototypes()[1][name].text


def level() -> str:
    """The instruction set in use."""
    return _loaded()[0]


# -- the libraries ----------------------------------------------------------------------------------------------------


@cache
def _loaded() -> tuple[str, ctypes.CDLL]:
    """The library of the newest instruction set that this processor has, or of the one that was asked for."""
    known = list(build.levels())
    chosen = os.environ.get(_CHOICE)
    if chosen and chosen not in known:
        raise KernelError(f"{_CHOICE} must be one of {', '.join(known)}, got {chosen!r}")
    _bring_up_to_date()
    simplest = _open(known[0])
    highest = min(int(simplest.processor_level()), len(known) - 1)
    if chosen:
        if known.index(chosen) > highest:
            raise KernelError(f"{_CHOICE}: this processor has no {chosen}; it has {', '.join(known[: highest + 1])}")
        highest = known.index(chosen)
    return known[highest], _open(known[highest]) if highest else simplest


def _bring_up_to_date() -> None:
    """In a clone, compile the sources when they have changed."""
    if not any(build.SOURCES.glob("*.c")):
        return  # an installed wheel: it has the libraries and no sources
    if build.STAMP.exists() and build.STAMP.read_text("utf-8") == build.stamp():
        return
    try:
        build.build()
    except (build.BuildError, OSError) as error:
        raise KernelError(str(error)) from error


def _open(which: str) -> ctypes.CDLL:
    path = build.library(which)
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise KernelError(f"the compiled kernels cannot be loaded ({path}): {error}; reinstall roslin") from error


# -- declarations -----------------------------------------------------------------------------------------------------


class _Size(NamedTuple):
    """One dimension of an array: a sum of products of whole numbers and names of sizes."""

    terms: tuple[tuple[int, tuple[str, ...]], ...]
    text: str

    @classmethod
    def read(cls, text: str) -> _Size:
        terms = []
        for sign, product in re.findall(r"([+-]?)\s*([^+-]+)", text):
            factor, sizes = -1 if sign == "-" else 1, []
            for part in product.split("*"):
                if part.strip().isdigit():
                    factor *= int(part)
                else:
                    sizes.append(part.strip())
            terms.append((factor, tuple(sizes)))
        return cls(tuple(terms), text.strip())

    @property
    def told(self) -> tuple[str, int] | None:
        """The size that this dimension tells and how much more the dimension is, for `n`, `n + 1` and `n - 1`."""
        named = [sizes[0] for factor, sizes in self.terms if factor == 1 and len(sizes) == 1]
        more = sum(factor for factor, sizes in self.terms if not sizes)
        is_plain = len(named) == sum(1 for _, sizes in self.terms if sizes) == 1
        return (named[0], more) if is_plain else None

    def value(self, sizes: dict[str, int]) -> int:
        total = 0
        for factor, names in self.terms:
            for name in names:
                factor *= sizes[name]
            total += factor
        return total


class _Parameter(NamedTuple):
    name: str
    type: str  # of C: a scalar's, an array's elements', a struct's
    is_const: bool
    shape: tuple[_Size, ...] | None  # None: a scalar or a struct
    is_struct: bool


class _Declaration(NamedTuple):
    name: str
    returns: str
    parameters: tuple[_Parameter, ...]
    sizes: frozenset[str]  # those that are read off arrays
    text: str


_STRUCT = re.compile(r"typedef struct \{(.*?)\}\s*(\w+);", re.DOTALL)
_FIELD = re.compile(r"^\s*(const )?(\w+) ([^;]+);\s*(?://\s*((?:\[[^\]]*\])+))?", re.MULTILINE)
_FUNCTION = re.compile(r"((?:^//[^\n]*\n)*)^(void|bool|int64_t|double) (\w+)\(([^;{]*)\);", re.MULTILINE)
_PARAMETER = re.compile(r"^(const )?(\w+) (\*?)(\w+)((?:\[[^\]]*\])*)$")
_DIMENSION = re.compile(r"\[([^\]]*)\]")


@cache
def _prototypes() -> tuple[dict[str, _Declaration], dict[str, _Declaration]]:
    """The structs and the kernels of all headers, by name."""
    texts = [path.read_text("utf-8") for path in sorted(build.SOURCES.glob("*.h"))]
    structs = {found.name: found for text in texts for found in _structs(text)}
    return structs, {found.name: found for text in texts for found in _functions(text, set(structs))}


def _structs(text: str) -> Iterator[_Declaration]:
    for body, name in _STRUCT.findall(text):
        fields = []
        for const, kind, names, shape in _FIELD.findall(body):
            for each in names.split(","):
                is_struct = kind not in _SCALARS
                is_array = "*" in each and not is_struct
                sizes = tuple(_Size.read(size) for size in _DIMENSION.findall(shape)) if is_array else None
                fields.append(_Parameter(each.strip(" *"), kind, bool(const), sizes, is_struct))
        yield _Declaration(name, "", tuple(fields), _told(fields), body)


def _functions(text: str, structs: set[str]) -> Iterator[_Declaration]:
    for comment, returns, name, inner in _FUNCTION.findall(text):
        parameters = []
        listed = re.sub(r"\s+", " ", inner).strip()
        for each in listed.split(", ") if listed not in ("", "void") else []:
            found = _PARAMETER.match(each)
            if not found:
                raise KernelError(f"{name}: {each!r} is no parameter that kernels take")
            const, kind, pointer, own, shape = found.groups()
            if kind not in _SCALARS and kind not in structs:
                raise KernelError(f"{name}: {kind} is no type that kernels take")
            sizes = tuple(_Size.read(size) for size in _DIMENSION.findall(shape)) or None
            if pointer and kind not in structs:
                raise KernelError(f"{name}: {own} needs a shape: {own}[size]")
            parameters.append(_Parameter(own, kind, bool(const), sizes, kind in structs))
        yield _Declaration(name, returns, tuple(parameters), _told(parameters), f"{comment}{returns} {name}({inner});")


def _told(parameters: list[_Parameter]) -> frozenset[str]:
    """The scalars that are the size of an array."""
    told = {size.told[0] for each in parameters for size in each.shape or () if size.told}
    return frozenset(each.name for each in parameters if each.shape is None and each.name in told)


# -- calls ------------------------------------------------------------------------------------------------------------


class _Kernel:
    """One kernel, ready to be called."""

    def __init__(self, name: str):
        self._declared = _prototypes()[1][name]
        self.__name__, self.__doc__ = name, self._declared.text
        self._function = getattr(_loaded()[1], name)
        returns = self._declared.returns
        self._function.restype = None if returns == "void" else _SCALARS[returns][1]
        self._function.argtypes = [_c_type(each) for each in self._declared.parameters]

    def __call__(self, *given: Any) -> Any:
        arguments = _converted(self._declared, given)
        found = self._function(*arguments)
        if self._declared.returns == "bool":
            if not found:
                raise MemoryError(f"no memory for {self.__name__}")
            return None
        return found

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"


def _c_type(parameter: _Parameter) -> Any:
    if parameter.is_struct:
        return ctypes.POINTER(_structure(parameter.type))
    return ctypes.c_void_p if parameter.shape is not None else _SCALARS[parameter.type][1]


@cache
def _structure(name: str) -> type[ctypes.Structure]:
    declared = _prototypes()[0][name]
    return type(name, (ctypes.Structure,), {"_fields_": [(each.name, _c_type(each)) for each in declared.parameters]})


def _converted(declared: _Declaration, given: tuple[Any, ...]) -> list[Any]:
    """What C gets: sizes, scalars, addresses of arrays that were checked, structs."""
    asked = [each for each in declared.parameters if each.name not in declared.sizes]
    if len(asked) != len(given):
        raise TypeError(f"{declared.name} takes {', '.join(each.name for each in asked)}; got {len(given)} arguments")
    values = {each.name: value for each, value in zip(asked, given, strict=True)}
    return _arguments(declared, values)


def _arguments(declared: _Declaration, values: dict[str, Any]) -> list[Any]:
    """The same, for the parameters of a kernel or the fields of a struct."""
    structs = {each.name: _filled(each.type, values[each.name]) for each in declared.parameters if each.is_struct}
    sizes = _sizes(declared, values)
    for name, struct in structs.items():
        sizes |= {f"{name}->{field}": getattr(struct, field) for field in _whole_fields(type(struct).__name__)}
    arguments: list[Any] = []
    for each in declared.parameters:
        if each.is_struct:
            arguments.append(ctypes.pointer(structs[each.name]))
        elif each.shape is not None:
            arguments.append(_address(declared.name, each, values[each.name], sizes))
        elif each.name in sizes:
            arguments.append(sizes[each.name])
        else:
            arguments.append(float(values[each.name]))
    return arguments


def _filled(name: str, value: Any) -> ctypes.Structure:
    """A struct from a named tuple. The arrays live as long as the tuple."""
    declared = _prototypes()[0][name]
    values = {each.name: getattr(value, each.name) for each in declared.parameters if each.name not in declared.sizes}
    return _structure(name)(*_arguments(declared, values))


@cache
def _whole_fields(name: str) -> list[str]:
    """The fields of a struct that may be sizes."""
    fields = _prototypes()[0][name].parameters
    return [each.name for each in fields if each.shape is None and not each.is_struct and "int" in each.type]


def _sizes(declared: _Declaration, values: dict[str, Any]) -> dict[str, int]:
    """The sizes that the arrays tell, and all whole numbers among the scalars."""
    sizes: dict[str, int] = {}
    for each in declared.parameters:
        if each.shape is None:
            if each.name in values and not each.is_struct and each.type not in ("double", "float"):
                sizes[each.name] = int(values[each.name])
            continue
        array = values[each.name]
        if type(array) is not np.ndarray or array.ndim != len(each.shape):
            raise TypeError(f"{declared.name}: {each.name} must be an array of {len(each.shape)} dimensions")
        for size, length in zip(each.shape, array.shape, strict=True):
            told = size.told
            if told and told[0] in declared.sizes:
                sizes.setdefault(told[0], length - told[1])
    return sizes


def _address(kernel: str, parameter: _Parameter, array: Any, sizes: dict[str, int]) -> int:
    """Where an array begins, if it is what the kernel takes."""
    wanted = _SCALARS[parameter.type][0]
    if array.dtype != wanted:
        raise TypeError(f"{kernel}: {parameter.name} must be {np.dtype(wanted)}, got {array.dtype}")
    if not array.flags.c_contiguous:
        raise TypeError(f"{kernel}: {parameter.name} must lie in one piece of memory")
    if not parameter.is_const and not array.flags.writeable:
        raise TypeError(f"{kernel}: {parameter.name} is written to, but is read-only")
    for size, length in zip(parameter.shape or (), array.shape, strict=True):
        if size.value(sizes) != length:
            raise ValueError(
                f"{kernel}: {parameter.name} must have shape [{']['.join(s.text for s in parameter.shape or ())}] "
                f"with {', '.join(f'{name} = {value}' for name, value in sizes.items())}; got {array.shape}"
            )
    return int(array.__array_interface__["data"][0])
