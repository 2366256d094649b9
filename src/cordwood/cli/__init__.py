"""The command line: a module for each family of commands, and nothing decided in any of them.

Data goes to the standard output, words to the standard error. Exit codes: 0 good, 1 found something
wrong, 2 wrong usage, 3 could not reach what was asked for. May import everything; what a command
works with is imported when the command runs, so that help comes at once.
"""

import sys

import typer

from cordwood.cli import log
from cordwood.cli.endings import ending

app = typer.Typer(
    name="cordwood",
    help="A Kafka-compatible log in Python.",
    epilog="Example: cordwood log dump --files 00000000000000000000.log --deep-iteration",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich" if sys.stdout.isatty() else None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(log.app, name="log")


@app.callback()
def _families() -> None:
    """Keep a family's name in front of its commands, be it the only one."""


def main() -> None:
    """Run the command that the arguments name, and end with its exit code."""
    with ending():
        app()
