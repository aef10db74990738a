"""Options that several commands share, given to a command as one value."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["with_options"]

Command = Callable[..., None]


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
