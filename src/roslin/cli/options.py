"""Options that several commands share, one by one or together as one value."""

from __future__ import annotations

import copy
import functools
import inspect
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from typer import Argument, Option
from typer.core import TyperCommand, TyperGroup

from roslin.cli.output import remark

if TYPE_CHECKING:
    from roslin.deadline import Work
    from roslin.matchers.base import Matcher
    from roslin.types import Progress

    ChosenMatcher = tuple[Matcher, bool]

Command = Callable[..., None]
Maker = TypeVar("Maker", bound=Callable[..., Any])

# The groups in which a command's help has its options, in this order. Options without a group come last.
QUERY, COMPARE, NARROW, OUTPUT = "Query", "Compare", "Narrow", "Output"
READING = "Reading scores and MIDI"
_PANELS = (QUERY, COMPARE, NARROW, OUTPUT, READING)


def in_panel(name: str) -> Callable[[Maker], Maker]:
    """Put the options of a maker for `with_options` into a group of the help."""

    def decorate(maker: Maker) -> Maker:
        maker.panel = name  # type: ignore[attr-defined]
        return maker

    return decorate


CollectionArgument = Annotated[Path, Argument(help="The collection, NAME.roslin.")]
ThreadsOption = Annotated[int, Option("--threads", min=1, help="Number of threads.")]
SourceSecondsOption = Annotated[float | None, Option("--seconds", help="Time limit per source, in seconds.")]
NumberOption = Annotated[int | None, Option("--number", min=1, help="Number of the melody in the file, from 1.")]
MatchersOption = Annotated[
    list[str] | None, Option("--matcher", metavar="MATCHER", help="A matcher. Can be repeated. Default: all.")
]
WayOption = Annotated[
    str,
    Option(
        "--as",
        metavar="METHOD",
        help="Defaults of --unranked, --min-votes and --attention: roslin, or typke2005 (as in the papers).",
    ),
]
SeedOption = Annotated[int, Option("--seed", min=0, help="Random seed.")]
PortOption = Annotated[int, Option("--port", min=1, max=65535, help="Port to listen on.")]
WorkersOption = Annotated[int, Option("--workers", min=1, max=64, help="Number of worker processes.")]
PageTitleOption = Annotated[str, Option("--title", help="Title of the page. Default: the name of the collection.")]
PageLinkOption = Annotated[
    str, Option("--link", help="Address pattern of a melody at its source, with {id}, {record} or {source}.")
]
DaskOption = Annotated[
    str | None,
    Option(
        "--dask",
        metavar="CLUSTER",
        help="Dask cluster: local, local:4 (4 processes), or tcp://host:8786.",
    ),
]
ProxyOption = Annotated[
    list[str] | None,
    Option(
        "--proxy",
        metavar="ADDRESS",
        help="Address of a trusted reverse proxy (its X-Forwarded-For header is used): 127.0.0.1 or 10.1.2.0/24. "
        "Can be repeated.",
    ),
]
TiesOption = Annotated[
    Literal["expected", "given", "trec"],  # as `roslin.evaluate.rankings.TIES`
    Option(
        "--ties",
        help="Tied scores: the mean over all orders (expected), as in the run (given), or as in trec_eval (trec).",
    ),
]


# -- the matcher of a command -----------------------------------------------------------------------------------------


@in_panel(COMPARE)
def matcher_options(
    matcher: Annotated[str | None, Option(help="The matcher (see roslin matchers).")] = None,
    compare: Annotated[
        str | None,
        Option(metavar="both|melody|rhythm|contour", help="Melody and rhythm, or only one of them."),
    ] = None,
    place: Annotated[
        str | None, Option(metavar="anywhere|start|end|whole", help="Where in a melody the query may be.")
    ] = None,
    key: Annotated[str | None, Option(metavar="any|written", help="In any key, or only in that of the query.")] = None,
) -> ChosenMatcher:
    """A matcher in the mode that was asked for, and whether melodies must be cut to their beginnings for it."""
    from roslin.matchers import DEFAULT_MATCHER
    from roslin.matchers import matcher as matcher_of
    from roslin.matchers.base import Mode

    return Mode(compare, place, key).of(matcher_of(matcher or DEFAULT_MATCHER))


# -- where the work is done -------------------------------------------------------------------------------------------


def work_of(
    dask: str | None,
    threads: int = 1,
    seconds: float | None = None,
    progress: Progress | None = None,
    kept: Path | None = None,
) -> Work:
    """The workers of a command: the Dask cluster that is named, or threads of this process.

    `kept` is the folder in which the command saves finished parts.
    """
    if dask is None:
        from roslin.deadline import Work

        return Work(threads, seconds, progress)
    from roslin.distributed import Cluster, ClusterWork

    return ClusterWork(Cluster.parse(dask), seconds, progress, kept=kept)


# -- plug-ins ---------------------------------------------------------------------------------------------------------


def load_plugins(paths: list[Path] | None) -> list[Path] | None:
    """Load the files, and leave their names to the processes that are started from here."""
    from roslin.values.plugins import VARIABLE, load_plugin

    for path in paths or ():
        load_plugin(path)
        named = [name for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]
        if str(path.resolve()) not in named:
            os.environ[VARIABLE] = os.pathsep.join([*named, str(path.resolve())])
    return paths


PluginOption = Annotated[
    list[Path] | None,
    Option(
        "--plugin",
        metavar="FILE",
        help="Python file with your matchers, metrics or formats. Can be repeated.",
        is_eager=True,  # the other options may need what it adds
        callback=load_plugins,
    ),
]


def show_plugin_warnings() -> None:
    """Print the warning about a broken plug-in as a remark of one line."""
    from roslin.values.plugins import PluginWarning

    show = warnings.showwarning

    def shown(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, PluginWarning):
            remark(f"roslin: {message}")
        else:
            show(message, category, *place, **more)

    warnings.showwarning = shown


# -- how options and commands are put together ------------------------------------------------------------------------


def with_options(**makers: Callable[..., Any]) -> Callable[[Command], Command]:
    """A command whose argument NAME is made from options, which come in its place in the help.

    `NAME=` is a data class whose fields are the options, or a function that takes them. The argument has the annotation
    that the function returns. It is not looked up, so that --help need not import the annotated class.
    """

    def decorate(command: Command) -> Command:
        unknown = {
            str(maker.__annotations__["return"]): Any for maker in makers.values() if not isinstance(maker, type)
        }
        offered = {name: _options_of(maker, unknown) for name, maker in makers.items()}

        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            made = {name: makers[name](**{each: given.pop(each) for each in offered[name]}) for name in makers}
            command(**given, **made)

        together: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(command, eval_str=True, locals=unknown).parameters.items():
            together += offered[name].values() if name in offered else [parameter]
        keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in together]
        wrapped.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword}
        return wrapped

    return decorate


def _options_of(maker: Callable[..., Any], unknown: dict[str, Any]) -> dict[str, inspect.Parameter]:
    """The options that a maker takes, in the group of the help that it names."""
    found = dict(inspect.signature(maker, eval_str=True, locals=unknown).parameters)
    if panel := getattr(maker, "panel", None):
        for name, parameter in found.items():
            info = copy.copy(parameter.annotation.__metadata__[0])  # other commands may share it
            info.rich_help_panel = panel
            found[name] = parameter.replace(annotation=Annotated[parameter.annotation.__origin__, info])
    return found


@contextmanager
def needs_extra(what: str, extra: str) -> Iterator[None]:
    """Name the extra that installs a library, if importing it fails here."""
    try:
        yield
    except ImportError as error:
        refuse_for_extra(error, what, extra)
        raise


def refuse_for_extra(error: ImportError, what: str, extra: str) -> None:
    """Name the extra that installs the library that was not found; a module of Roslin that is missing is a mistake."""
    from roslin.errors import MissingExtraError

    if not (error.name or "roslin").startswith("roslin"):
        raise MissingExtraError(what, str(error.name), extra) from None


def command_group(help: str, cls: type[TyperGroup] = TyperGroup) -> typer.Typer:
    """A group of commands, which shows its help if none is named."""
    return typer.Typer(cls=cls, help=help, no_args_is_help=True, rich_markup_mode=None)


class PanelCommand(TyperCommand):
    """A command whose help has its options in groups."""

    brief: Mapping[str, str] = MappingProxyType({})  # groups with names only, and the command that describes them

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", *_PANELS, "Options")}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            is_argument = parameter.param_type_name == "argument"
            panel = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None) or "Options"
            if record is not None:
                groups[panel].append((parameter.opts[-1], "") if panel in self.brief else record)
        for panel, records in groups.items():
            if panel in self.brief and records:
                with formatter.section(f"{panel} (described in: {self.brief[panel]} --help)"):
                    formatter.write_text(", ".join(name for name, _help in records))
            elif records:
                with formatter.section(panel):
                    formatter.write_dl(records)


class NarrowingCommand(PanelCommand):
    """A command whose help refers to `roslin filter` and `roslin load` for their options."""

    brief = MappingProxyType({NARROW: "roslin filter", READING: "roslin load"})


class DefaultCommandGroup(TyperGroup):
    """A group of commands whose first one need not be named: `roslin campaign X` is `roslin campaign run X`."""

    default = "run"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the default command before arguments that begin with no command and ask for no help."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [self.default, *args]
        return super().parse_args(ctx, args)
