"""Options that several commands share, one by one or together as one value."""

from __future__ import annotations

import functools
import inspect
import os
import warnings
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer import Argument, Option
from typer.core import TyperCommand, TyperGroup

from roslin.cli.output import remark

if TYPE_CHECKING:
    from roslin.matchers.base import Matcher
    from roslin.search.work import Work
    from roslin.types import Progress

    ChosenMatcher = tuple[Matcher, bool]

Command = Callable[..., None]
Maker = TypeVar("Maker", bound=Callable[..., Any])

# The groups in which a command's help has its options, in this order. Options without a group come last.
QUERY, COMPARE, NARROW, OUTPUT = "Query", "Compare", "Narrow", "Output"
READING = "Reading scores and MIDI"
_PANELS = (QUERY, COMPARE, NARROW, OUTPUT, READING)


def in_panel(name: str) -> Callable[[Maker], Maker]:
    """Put the options of a function for `with_options` into a group of the help."""

    def decorate(maker: Maker) -> Maker:
        maker.__dict__["panel"] = name
        return maker

    return decorate


class TieRule(StrEnum):
    """Rules for tied scores: `roslin.evaluate.rankings.TIES`."""

    expected = "expected"
    given = "given"
    trec = "trec"


CollectionArgument = Annotated[Path, Argument(help="The collection, NAME.roslin.")]
ThreadsOption = Annotated[int, Option("--threads", min=1, help="Number of threads.")]
DaskOption = Annotated[
    str | None,
    Option(
        "--dask",
        metavar="CLUSTER",
        help="Dask cluster: local, local:4 (four processes) or a scheduler address such as tcp://host:8786.",
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
    TieRule,
    Option(
        "--ties",
        help="Tied scores: the mean over all orders (expected), as in the run (given), or as in trec_eval (trec).",
    ),
]


# -- the matcher of a command -----------------------------------------------------------------------------------------


@in_panel(COMPARE)
def matcher_options(
    matcher: Annotated[str | None, Option("--matcher", help="The matcher (see roslin matchers).")] = None,
    compare: Annotated[
        str | None,
        Option("--compare", metavar="both|melody|rhythm|contour", help="Melody and rhythm, or only one of them."),
    ] = None,
    place: Annotated[
        str | None, Option("--place", metavar="anywhere|start|end|whole", help="Where in a melody the query may be.")
    ] = None,
    key: Annotated[
        str | None, Option("--key", metavar="any|written", help="In any key, or only in that of the query.")
    ] = None,
) -> ChosenMatcher:
    """A matcher in the mode that was asked for, and whether melodies must be cut to their beginnings for it."""
    from roslin.matchers import DEFAULT_MATCHER
    from roslin.matchers import matcher as matcher_of
    from roslin.matchers.modes import Mode

    return Mode(compare, place, key).of(matcher_of(matcher or DEFAULT_MATCHER))


# -- where the work is done -------------------------------------------------------------------------------------------


def work_of(
    dask: str | None,
    threads: int = 1,
    seconds: float | None = None,
    progress: Progress | None = None,
    kept: Path | None = None,
) -> Work:
    """The workers of a command: a Dask cluster if one is named, otherwise threads of this process.

    `kept` is the folder in which the command saves finished parts.
    """
    if dask is None:
        from roslin.search.work import Work

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
        help="A Python file with your own matchers, metrics or formats. Can be repeated.",
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
    """A command whose argument NAME is made from options: those that the function `NAME=` takes, after its own.

    The argument must have the annotation that the function returns. It is not looked up, so that --help need not import
    the annotated class.
    """

    def decorate(command: Command) -> Command:
        unknown = {str(maker.__annotations__["return"]): Any for maker in makers.values()}
        own = inspect.signature(command, eval_str=True, locals=unknown).parameters
        offered = {
            name: inspect.signature(maker, eval_str=True, locals=unknown).parameters for name, maker in makers.items()
        }

        for name, parameters in offered.items():
            for parameter in parameters.values():
                parameter.annotation.__metadata__[0].rich_help_panel = getattr(makers[name], "panel", None)

        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            made = {name: makers[name](**{each: given.pop(each) for each in offered[name]}) for name in makers}
            command(**given, **made)

        together = [parameter for name, parameter in own.items() if name not in makers]
        together += [parameter for options in offered.values() for parameter in options.values()]
        keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in together]
        wrapped.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword}
        return wrapped

    return decorate


def command_group(help: str, cls: type[TyperGroup] = TyperGroup) -> typer.Typer:
    """A group of commands, which shows its help if none is named."""
    return typer.Typer(cls=cls, help=help, no_args_is_help=True, rich_markup_mode=None)


class PanelCommand(TyperCommand):
    """A command whose help has its options in groups."""

    brief: tuple[str, ...] = ()  # groups of which the help has only the names

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options group by group."""
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", *_PANELS, "Options")}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            is_argument = parameter.param_type_name == "argument"
            panel = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None) or "Options"
            if record is not None:
                groups[panel].append((parameter.opts[-1], "") if panel in self.brief else record)
        for panel, records in groups.items():
            if panel in self.brief and records:
                with formatter.section(f"{panel} (described in: roslin filter --help)"):
                    formatter.write_text(", ".join(name for name, _help in records))
            elif records:
                with formatter.section(panel):
                    formatter.write_dl(records)


class NarrowingCommand(PanelCommand):
    """A command that can also narrow the collection down: `roslin filter` describes how."""

    brief = (NARROW,)


class DefaultCommandGroup(TyperGroup):
    """A group of commands whose first one need not be named: `roslin campaign X` is `roslin campaign run X`."""

    default = "run"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the default command before arguments that begin with no command and ask for no help."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [self.default, *args]
        return super().parse_args(ctx, args)
