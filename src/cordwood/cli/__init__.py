"""The command line: a module for each family of commands, and nothing decided in any of them.

Data goes to the standard output, words to the standard error. Exit codes: 0 good, 1 found something
wrong, 2 wrong usage, 3 could not reach what was asked for. May import everything; what a command
works with is imported when the command runs, so that help comes at once.
"""

import sys

from cordwood.cli import serve
from cordwood.cli.endings import ending
from cordwood.cli.output import open_streams


def main() -> None:
    """Run the command that the arguments name, and end with its exit code."""
    open_streams()
    with ending():
        if sys.argv[1:2] == [serve.NAME]:
            serve.serve(sys.argv[2:])
            return
        from cordwood.cli.program import app  # noqa: PLC0415  # typer: a broker starts without it

        app()
