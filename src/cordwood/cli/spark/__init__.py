"""`cordwood spark`: Spark jobs over log directories.

Each command calls one function of `cordwood.spark.jobs`. With spark-submit, the program to submit
is `cordwood/__main__.py`. Shared options and the session are in `cli.spark.job_run`.
"""

import typer

from cordwood.cli.spark import (
    audit,
    checkpoint,
    compact,
    convert,
    export,
    pipeline,
    read,
    replay,
    sink,
    verify,
)

app = typer.Typer(help="Run Spark jobs over logs.", no_args_is_help=True)
read.add_to(app)
verify.add_to(app)
compact.add_to(app)
convert.add_to(app)
export.add_to(app)
audit.add_to(app)
replay.add_to(app)
app.add_typer(checkpoint.app, name="checkpoint")
app.add_typer(pipeline.app, name="pipeline")
app.add_typer(sink.app, name="sink")


@app.callback()
def _family() -> None:
    """Keep the name `spark` even if it has only one command."""
