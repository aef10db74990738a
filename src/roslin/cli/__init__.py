"""The command line: one small file per noun. Each command parses, makes one call, and prints.

Results go to stdout, progress and remarks to stderr. Exit codes: 0 done, 1 a check failed, 2 bad usage or bad input.
Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

import _thread
import atexit
import gc
import os
import sys
import threading
from typing import Annotated, Any, NoReturn

import typer
from typer import Option

from roslin.cli import (
    assistants,
    benchmark,
    campaign,
    check,
    collection,
    concordances,
    data,
    demo,
    doctor,
    evaluate,
    experiment,
    filter,
    harvest,
    identify,
    publish,
    reading,
    runs,
    search,
    serve,
    truth,
)
from roslin.cli.options import NarrowingCommand, PanelCommand, PluginOption, show_plugin_warnings

__all__ = ["app", "main"]

app = typer.Typer(
    name="roslin",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
app.command("demo")(demo.demo)
app.add_typer(collection.app, name="collection")
app.add_typer(harvest.app, name="harvest")
app.command("filter", cls=PanelCommand)(filter.filter_command)
app.command("search", cls=NarrowingCommand)(search.search_command)
app.command("explain", cls=PanelCommand)(search.explain_command)
app.command("identify", cls=NarrowingCommand)(identify.identify_command)
app.command("check")(check.check_command)
app.command("evaluate")(evaluate.evaluate_command)
app.add_typer(campaign.app, name="campaign")
app.command("benchmark")(benchmark.benchmark_command)
app.add_typer(concordances.app, name="concordances")
app.add_typer(runs.app, name="runs")
app.add_typer(truth.app, name="truth")
app.add_typer(experiment.app, name="experiment")
app.command("matchers")(search.matchers_command)
app.command("serve")(serve.serve_command)
app.command("publish")(publish.publish_command)
app.add_typer(data.app, name="data")
app.command("mcp")(assistants.mcp_command)
app.command("doctor")(doctor.doctor_command)
app.command("load", cls=PanelCommand)(reading.load_command)
app.command("show", cls=PanelCommand)(reading.show_command)


# Typer's own complaints about usage, wherever this version of it keeps them.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


_INTERRUPTED = 130
_SYMLINK_LOOP = "Symlink loop from "  # Path.resolve, before Python 3.13
_AGAIN_SECONDS = 0.05  # until an interrupt that Python lost is sent again

# What is imported stays to the end. Looking through all of it for what could be thrown away, now and then and once more
# at the end, takes a quarter of a short command.
_OBJECTS_BETWEEN_SWEEPS = 100_000


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(doctor.build_information())
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        Option("--version", help="Print the version and how it was built.", is_eager=True, callback=_print_version),
    ] = False,
    _plugins: PluginOption = None,
) -> None:
    """Find melodies that resemble each other. Start with: roslin demo."""


def main() -> None:
    """Run the command line. Every error becomes one line and an exit code."""
    from roslin.errors import LossError, RoslinError

    repeat_lost_interrupts()
    gc.set_threshold(_OBJECTS_BETWEEN_SWEEPS)
    atexit.register(gc.freeze)
    show_plugin_warnings()
    try:
        code = app(prog_name="roslin", standalone_mode=False)
    except RoslinError as error:
        _stop(str(error), 1 if isinstance(error, LossError) else 2)
    except _UsageError as error:
        _stop_for_usage(error)
    except (KeyboardInterrupt, typer.Abort, SystemExit) as error:  # Typer makes an exit of an interrupt
        code = getattr(error, "code", _INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output left (head, less). Keep the interpreter's own flush quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        _stop(f"{error.filename or 'input or output'}: {error.strerror or error}", 2)
    except RuntimeError as error:
        if not str(error).startswith(_SYMLINK_LOOP):
            raise
        _stop(f"{str(error).removeprefix(_SYMLINK_LOOP)}: this symbolic link leads back to itself", 2)
    if code == _INTERRUPTED:
        _stop("stopped", _INTERRUPTED)
    sys.exit(code)


def repeat_lost_interrupts() -> None:
    """Send an interrupt again that came while Python was clearing an object away: it drops whatever is raised there."""
    usual = sys.unraisablehook

    def hook(lost: sys.UnraisableHookArgs) -> None:
        if lost.exc_type is KeyboardInterrupt:
            threading.Timer(_AGAIN_SECONDS, _thread.interrupt_main).start()
        else:
            usual(lost)

    sys.unraisablehook = hook


def _stop_for_usage(error: Any) -> NoReturn:
    if error.message.startswith("Usage:"):  # a command without arguments: its help is the answer
        typer.echo(error.message, err=True)
        sys.exit(2)
    command = error.ctx.command_path if error.ctx else "roslin"
    reason = error.format_message().replace(": Value error, ", ": ", 1)  # Typer's name for a value that is no choice
    _stop(f"{reason} (see: {command} --help)", 2)


def _stop(message: str, code: int) -> NoReturn:
    typer.echo(f"roslin: {' '.join(message.split())}", err=True)
    sys.exit(code)
