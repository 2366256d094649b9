"""`cordwood spark`: jobs over log directories, run by Spark.

Each command is a function of `cordwood.spark.jobs`; `python -m cordwood` is what spark-submit takes
a program for. What all commands share is in `cli.spark.running`.
"""

import typer

from cordwood.cli.spark import audit, compact, convert, export, read, replay, verify

app = typer.Typer(help="Jobs over logs, run by Spark.", no_args_is_help=True)
read.add_to(app)
verify.add_to(app)
compact.add_to(app)
convert.add_to(app)
export.add_to(app)
audit.add_to(app)
replay.add_to(app)


@app.callback()
def _family() -> None:
    """Keep `spark` in front of its commands, be it only one."""
