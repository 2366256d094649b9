"""Command line: one module for each command or family of commands, without logic of its own.

`x.py` declares the options of `cordwood x`; `x_run.py`, where there is one, does the work. Work is
imported when the command runs, so that `--help` is fast; these are the imports inside functions.
Data goes to the standard output, messages to the standard error. Exit codes: 0 success, 1 a problem
was found, 2 wrong usage, 3 something is unreachable. May import everything.
"""

import atexit
import gc
import sys
from typing import Final

from cordwood.cli import serve
from cordwood.cli.exit_codes import exit_with_code
from cordwood.cli.terminal import open_streams

#: The objects after which young ones are collected: imports create many, and hardly any garbage.
_COLLECTED_AFTER: Final = 50_000


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    # The interpreter looks for garbage once more at its end: a fifth of a short command's time, and
    # the end of the process frees everything. It does not look at frozen objects.
    atexit.register(gc.freeze)
    open_streams()
    with exit_with_code():
        if sys.argv[1:2] == [serve.NAME]:
            gc.disable()  # until the broker has started: `exempt_from_gc` enables it
            serve.serve(sys.argv[2:])
            return
        gc.set_threshold(_COLLECTED_AFTER)
        from cordwood.cli.program import run  # noqa: PLC0415  # typer: a broker runs without it

        run(sys.argv[1:])
