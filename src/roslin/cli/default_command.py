"""A group of commands whose first one need not be named."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class DefaultCommandGroup(TyperGroup):
    """`roslin campaign X` is `roslin campaign run X`."""

    default = "run"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What does not begin with a command, and does not ask for help, is for the default."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [self.default, *args]
        return super().parse_args(ctx, args)
