"""Options that several commands share, given to a command as one value."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from roslin.search.work import Work
    from roslin.types import Progress

Command = Callable[..., None]

DaskOption = Annotated[
    str | None,
    typer.Option(
        "--dask", metavar="CLUSTER", help="Who works: local (processes of this computer), local:4, or tcp://host:8786."
    ),
]

ProxyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--proxy",
        metavar="ADDRESS",
        help="A proxy before this server, whose X-Forwarded-For is believed: 127.0.0.1 or 10.1.2.0/24; several times.",
    ),
]


def work_of(
    dask: str | None,
    threads: int = 1,
    seconds: float | None = None,
    progress: Progress | None = None,
    kept: Path | None = None,
) -> Work:
    """Who does the work of a command: a Dask cluster if one is named, otherwise threads of this process.

    `kept` is where the command keeps what is finished.
    """
    if dask is None:
        from roslin.search.work import Work

        return Work(threads, seconds, progress)
    from roslin.distributed import Cluster, ClusterWork

    return ClusterWork(Cluster.parse(dask), seconds, progress, kept=kept)


def with_options(**makers: Callable[..., Any]) -> Callable[[Command], Command]:
    """A command whose argument NAME is made from options: those that the function `NAME=` takes, after its own.

    The argument must have the annotation that the function returns. It is not looked up, so that what it names need not
    be imported for --help.
    """

    def decorate(command: Command) -> Command:
        unknown = {str(maker.__annotations__["return"]): Any for maker in makers.values()}
        own = inspect.signature(command, eval_str=True, locals=unknown).parameters
        offered = {
            name: inspect.signature(maker, eval_str=True, locals=unknown).parameters for name, maker in makers.items()
        }

        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            made = {name: makers[name](**{each: given.pop(each) for each in offered[name]}) for name in makers}
            command(**given, **made)

        parameters = [parameter for name, parameter in own.items() if name not in makers]
        parameters += [parameter for options in offered.values() for parameter in options.values()]
        keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        wrapped.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword}
        return wrapped

    return decorate
