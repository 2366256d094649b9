"""The command line: a module for each family of commands, and nothing decided in any of them.

Data goes to the standard output, words to the standard error. Exit codes: 0 good, 1 found something
wrong, 2 wrong usage, 3 could not reach what was asked for. May import everything; what a command
works with is imported when the command runs, so that help comes at once.
"""

import sys
from typing import Annotated

import typer

from cordwood.cli import bench, compact, configs, consume, doctor, log, produce, serve, topics
from cordwood.cli.endings import ending
from cordwood.cli.output import is_terminal, open_streams, say

app = typer.Typer(
    name="cordwood",
    help="A Kafka-compatible log and broker in Python.",
    epilog="Example: cordwood log dump --files 00000000000000000000.log --deep-iteration",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich" if is_terminal(sys.stdout) else None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
serve.add_to(app)
app.add_typer(topics.app, name="topics")
app.add_typer(configs.app, name="configs")
produce.add_to(app)
consume.add_to(app)
app.add_typer(bench.app, name="bench")
app.add_typer(log.app, name="log")
compact.add_to(app)
doctor.add_to(app)


def _tell_version(is_asked: bool) -> None:  # noqa: FBT001  # how typer calls it
    if is_asked:
        from cordwood import __version__  # noqa: PLC0415  # who asks for it needs nothing else

        say(f"cordwood {__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version."),
]


@app.callback()
def _families(*, version: Version = False) -> None:
    """Keep a family's name in front of its commands, be it the only one."""


def main() -> None:
    """Run the command that the arguments name, and end with its exit code."""
    open_streams()
    with ending():
        app()
