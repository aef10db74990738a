"""The compiled kernels as Python functions.

    from roslin.native import kernels

    kernels.exact_tails(counts, most, less)

Every kernel is declared once, in a header of this folder, with what it does and the shapes of its arrays:

    // Fill less[list, i, j] ...
    bool exact_tails(int64_t lists, int64_t documents, int64_t ranks, const int64_t counts[lists][documents][ranks],
                     int64_t most, double less[lists][documents][documents]);

This declaration decides how the function is called. Callers do not pass sizes that are the length of an array (here
`lists`, `documents` and `ranks`): they are read off the arrays. Before every call, each array is checked: the type of
its elements, its shape, that it is contiguous, and that it is writable unless it is const. So a mistake in Python
raises an error and never reads outside an array. Arrays are not converted, because kernels write into them.

- A `const struct *` takes any value with attributes of the same names; a `// [notes + 1]` behind a pointer is its
  shape. A struct may point to others. Its sizes can be used in shapes: `scores[melodies->count]`.
- A `typedef struct __attribute__((packed))` is a row of a table: `const note_row notes[rows]` takes a structured array.
- A kernel that returns `bool` allocates memory; false raises a MemoryError.
- Kernels run without the interpreter's lock.

There is one library for each instruction set, and all give the same results. The newest set that the processor has is
used, or the set that ROSLIN_KERNELS names.
"""

from __future__ import annotations

import ctypes
import operator
import os
import re
from collections.abc import Callable, Iterator, Sequence, Set
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from roslin.errors import RoslinError
from roslin.native import build

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
    """The comment and the declaration of a kernel in its header."""
    return _prototypes()[1][name].text


def is_loaded() -> bool:
    """Whether a kernel has been called: importing this module loads no library."""
    return _loaded.cache_info().currsize > 0


def source_stamp() -> str:
    """A hash of the sources that the libraries were compiled from."""
    _loaded()
    return build.STAMP.read_text("utf-8")


def level() -> str:
    """The instruction set in use."""
    return _loaded()[0]


def available() -> list[str]:
    """The instruction sets that this processor has, the simplest first."""
    _bring_up_to_date()
    known = list(build.levels())
    return known[: int(_open(known[0]).processor_level()) + 1]


# -- the libraries ----------------------------------------------------------------------------------------------------


@cache
def _loaded() -> tuple[str, ctypes.CDLL]:
    """The library of the newest instruction set that this processor has, or of the one that was asked for."""
    known = list(build.levels())
    chosen = os.environ.get(_CHOICE)
    if chosen and chosen not in known:
        raise KernelError(f"{_CHOICE} must be one of {', '.join(known)}, got {chosen!r}")
    found = available()
    if chosen and chosen not in found:
        raise KernelError(f"{_CHOICE}: this processor has no {chosen}; it has {', '.join(found)}")
    used = chosen or found[-1]
    return used, _open(used)


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
        for sign, product in re.findall(r"([+-]?)\s*((?:->|[^+-])+)", text):
            factor, sizes = -1 if sign == "-" else 1, []
            for part in product.split("*"):
                if part.strip().isdigit():
                    factor *= int(part)
                else:
                    sizes.append(part.strip())
            terms.append((factor, tuple(sizes)))
        return cls(tuple(terms), text.strip())

    @property
    def read_off(self) -> tuple[str, int] | None:
        """A size and how much longer the dimension is, for `n`, `n + 1` and `n - 1`; None for other dimensions."""
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
_ROW = re.compile(r"typedef struct __attribute__\(\(packed\)\) \{(.*?)\}\s*(\w+);", re.DOTALL)
_FIELD = re.compile(r"^\s*(const )?(\w+) ([^;]+);[ \t]*(?://[ \t]*((?:\[[^\]]*\])+))?", re.MULTILINE)
_FUNCTION = re.compile(r"((?:^//[^\n]*\n)*)^(void|bool|int64_t|double) (\w+)\(([^;{]*)\);", re.MULTILINE)
_PARAMETER = re.compile(r"^(const )?(\w+) (\*?)(\w+)((?:\[[^\]]*\])*)$")
_DIMENSION = re.compile(r"\[([^\]]*)\]")


@cache
def _prototypes() -> tuple[dict[str, _Declaration], dict[str, _Declaration], dict[str, _Declaration]]:
    """The structs, the kernels and the rows of tables of all headers, by name."""
    texts = [path.read_text("utf-8") for path in sorted(build.SOURCES.glob("*.h"))]
    bodies = {name: body for text in texts for body, name in _STRUCT.findall(text)}
    rows = {name: _struct(name, body) for text in texts for body, name in _ROW.findall(text)}
    declared = {found.name: found for text in texts for found in _functions(text, bodies.keys(), rows.keys())}
    # Only the structs that kernels take, and those that these point to.
    structs: dict[str, _Declaration] = {}
    wanted = [each.type for kernel in declared.values() for each in kernel.parameters if each.is_struct]
    while wanted:
        name = wanted.pop()
        if name not in structs:
            structs[name] = _struct(name, bodies[name])
            wanted += [each.type for each in structs[name].parameters if each.is_struct]
    return structs, declared, rows


def _struct(name: str, body: str) -> _Declaration:
    fields = []
    for const, kind, names, shape in _FIELD.findall(body):
        for each in names.split(","):
            is_struct = kind not in _SCALARS
            is_array = "*" in each and not is_struct
            if is_array and not shape:
                raise KernelError(f"{name}: {each.strip(' *')} needs a shape behind it: // [size]")
            sizes = tuple(_Size.read(size) for size in _DIMENSION.findall(shape)) if is_array else None
            fields.append(_Parameter(each.strip(" *"), kind, bool(const), sizes, is_struct))
    if len(_FIELD.findall(body)) != re.sub("//.*", "", body).count(";"):
        raise KernelError(f"{name}: a field must be alone on its line, as `int64_t count;`")
    return _Declaration(name, "", tuple(fields), _sizes_read_off(fields), body)


def _functions(text: str, structs: Set[str], rows: Set[str]) -> Iterator[_Declaration]:
    for comment, returns, name, inner in _FUNCTION.findall(text):
        parameters = []
        listed = re.sub(r"\s+", " ", inner).strip()
        for each in listed.split(", ") if listed not in ("", "void") else []:
            found = _PARAMETER.match(each)
            if not found:
                raise KernelError(f"{name}: {each!r} is no parameter that kernels take")
            const, kind, pointer, own, shape = found.groups()
            sizes = tuple(_Size.read(size) for size in _DIMENSION.findall(shape)) or None
            if kind not in _SCALARS and kind not in structs and not (kind in rows and sizes):
                raise KernelError(f"{name}: {kind} is no type that kernels take")
            if pointer and kind not in structs:
                raise KernelError(f"{name}: {own} needs a shape: {own}[size]")
            parameters.append(_Parameter(own, kind, bool(const), sizes, kind in structs))
        yield _Declaration(
            name, returns, tuple(parameters), _sizes_read_off(parameters), f"{comment}{returns} {name}({inner});"
        )


def _sizes_read_off(parameters: list[_Parameter]) -> frozenset[str]:
    """The scalars that are the size of an array."""
    known = {size.read_off[0] for each in parameters for size in each.shape or () if size.read_off}
    return frozenset(each.name for each in parameters if each.shape is None and each.name in known)


# -- calls ------------------------------------------------------------------------------------------------------------


class _Kernel:
    """One kernel, ready to be called."""

    def __init__(self, name: str):
        declared = _prototypes()[1][name]
        self.__name__, self.__doc__ = name, declared.text
        self._plan = _Plan(declared)
        self._takes_memory = declared.returns == "bool"
        self._function = getattr(_loaded()[1], name)
        self._function.restype = None if declared.returns == "void" else _SCALARS[declared.returns][1]
        self._function.argtypes = [_c_type(each) for each in declared.parameters]

    def __call__(self, *given: Any) -> Any:
        found = self._function(*self._plan.arguments(given)[0])
        if self._takes_memory:
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


@cache
def _struct_plan(name: str) -> _Plan:
    return _Plan(_prototypes()[0][name])


@cache
def _element(name: str) -> np.dtype[Any]:
    """The type of the elements of an array: a number, or a row of a table."""
    row = _prototypes()[2].get(name)
    found: np.dtype[Any] = np.dtype(
        [(each.name, _SCALARS[each.type][0]) for each in row.parameters] if row else _SCALARS[name][0]
    )
    return found


class _Array(NamedTuple):
    """How an array is checked: all that does not depend on the call."""

    place: int  # among the arguments of C
    given: int  # its number among the values that are given
    parameter: _Parameter
    dtype: np.dtype[Any]
    dimensions: int
    read_off: tuple[tuple[str, int, int], ...]  # sizes that are read off it: name, dimension, how much longer it is
    others: tuple[tuple[_Size, int], ...]  # all other dimensions


class _Plan:
    """Converters of values into the arguments of a kernel or the fields of a struct. Made once for each of them."""

    def __init__(self, declared: _Declaration):
        self.name = declared.name
        self.asked = [each for each in declared.parameters if each.name not in declared.sizes]
        self._length = len(declared.parameters)
        self._structs: list[tuple[int, int, _Parameter]] = []
        self._whole: list[tuple[int, int, str, int, int]] = []  # place, index, name, smallest, largest
        self._scalars: list[tuple[int, int, type]] = []
        self._arrays: list[_Array] = []
        self._sizes: list[tuple[int, str]] = []
        index, known = 0, set[str]()
        for place, each in enumerate(declared.parameters):
            if each.name in declared.sizes:
                self._sizes.append((place, each.name))
                continue
            if each.is_struct:
                self._structs.append((place, index, each))
            elif each.shape is not None:
                self._arrays.append(_array(place, index, each, declared.sizes, known))
            elif each.type in ("double", "float", "bool"):
                self._scalars.append((place, index, bool if each.type == "bool" else float))
            else:
                limits = np.iinfo(_SCALARS[each.type][0])
                self._whole.append((place, index, each.name, int(limits.min), int(limits.max)))
            index += 1

    def arguments(self, given: Sequence[Any]) -> tuple[list[Any], dict[str, int]]:
        """What C gets: sizes, scalars, addresses of arrays that were checked, structs; and all sizes by name."""
        if len(given) != len(self.asked):
            names = ", ".join(each.name for each in self.asked)
            raise TypeError(f"{self.name} takes {names}; got {len(given)} arguments")
        arguments: list[Any] = [None] * self._length
        sizes: dict[str, int] = {}
        for place, index, parameter in self._structs:
            arguments[place] = _filled(parameter, given[index], sizes)
        for place, index, name, smallest, largest in self._whole:
            value = operator.index(given[index])
            if not smallest <= value <= largest:
                raise OverflowError(f"{self.name}: {name} must be from {smallest} to {largest}, got {value}")
            arguments[place] = sizes[name] = value
        for place, index, convert in self._scalars:
            arguments[place] = convert(given[index])
        for each in self._arrays:
            array = given[each.given]
            if not isinstance(array, np.ndarray) or array.ndim != each.dimensions or array.dtype != each.dtype:
                raise TypeError(self._wrong_array(each, array))
            flags = array.flags
            if not flags.c_contiguous or not (flags.writeable or each.parameter.is_const):
                raise TypeError(self._wrong_array(each, array))
            arguments[each.place] = _address(array.__array_struct__)
            for name, dimension, more in each.read_off:
                sizes[name] = array.shape[dimension] - more
        for each in self._arrays:
            shape = given[each.given].shape
            for size, dimension in each.others:
                if shape[dimension] != size.value(sizes):
                    raise ValueError(self._wrong_shape(each, shape, sizes))
        for place, name in self._sizes:
            if sizes[name] < 0:
                raise ValueError(f"{self.name}: {name} cannot be {sizes[name]}")
            arguments[place] = sizes[name]
        return arguments, sizes

    def _wrong_array(self, each: _Array, array: Any) -> str:
        name = f"{self.name}: {each.parameter.name}"
        if not isinstance(array, np.ndarray) or array.ndim != each.dimensions:
            return f"{name} must be an array of {each.dimensions} dimensions"
        if array.dtype != each.dtype:
            return f"{name} must be {each.dtype}, got {array.dtype}"
        if not array.flags.c_contiguous:
            return f"{name} must be contiguous"
        return f"{name} is written to, but is read-only"

    def _wrong_shape(self, each: _Array, shape: tuple[int, ...], sizes: dict[str, int]) -> str:
        wanted = "][".join(size.text for size in each.parameter.shape or ())
        found = ", ".join(f"{name} = {value}" for name, value in sizes.items())
        return f"{self.name}: {each.parameter.name} must have shape [{wanted}] with {found}; got {shape}"


def _array(place: int, index: int, parameter: _Parameter, sizes: frozenset[str], known: set[str]) -> _Array:
    """How an array is checked; `known` are the sizes that are read off arrays before it."""
    read_off, others = [], []
    for dimension, size in enumerate(parameter.shape or ()):
        name, more = size.read_off or ("", 0)
        if name in sizes and name not in known:
            known.add(name)
            read_off.append((name, dimension, more))
        else:
            others.append((size, dimension))
    dimensions = len(parameter.shape or ())
    return _Array(place, index, parameter, _element(parameter.type), dimensions, tuple(read_off), tuple(others))


def _filled(parameter: _Parameter, value: Any, sizes: dict[str, int]) -> Any:
    """A pointer to a struct, from a value's attributes. Its sizes are added to those of the call: `query->notes`."""
    plan = _struct_plan(parameter.type)
    values = [getattr(value, each.name) for each in plan.asked]
    fields, own = plan.arguments(values)
    for name, size in own.items():
        sizes[f"{parameter.name}->{name}"] = size
    struct = _structure(parameter.type)(*fields)
    struct.arrays = values  # they live as long as the struct
    return ctypes.pointer(struct)


class _Interface(ctypes.Structure):
    """What `__array_struct__` points to (NumPy: "the array interface protocol")."""

    _fields_ = (
        ("two", ctypes.c_int),
        ("dimensions", ctypes.c_int),
        ("kind", ctypes.c_char),
        ("element_size", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
    )


_pointer = ctypes.pythonapi["PyCapsule_GetPointer"]
_pointer.argtypes, _pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
_read = _Interface.from_address


def _address(interface: Any) -> int:
    """Where an array begins. `array.ctypes.data` takes twice as long, and some kernels run for microseconds only."""
    return _read(_pointer(interface, None)).data or 0
