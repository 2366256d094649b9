"""`cordwood spark checkpoint`: the offsets in the checkpoint of a streaming query."""

from pathlib import Path
from typing import Annotated, Final

import typer

from cordwood.cli.row_output import print_rows
from cordwood.cli.spark.job_run import AsJson

EXAMPLE: Final = "Example: cordwood spark checkpoint show checkpoints/orders"

_TITLES: Final = ("QUERY", "BATCH", "STATE", "SOURCE", "TOPIC", "PARTITION", "NEXT-OFFSET")

app = typer.Typer(help="Show checkpoints of streaming queries.", no_args_is_help=True)

Checkpoint = Annotated[Path, typer.Argument(help="The folder of checkpointLocation.")]


@app.command(epilog=EXAMPLE)
def show(checkpoint: Checkpoint, *, as_json: AsJson = False) -> None:
    """Print the next offset of each partition after the last batch of a query.

    The checkpoint may be one of spark-sql-kafka. A batch that is planned and not finished is
    repeated when the query starts.
    """
    from cordwood.spark.stream.checkpoint_offsets import checkpoint_rows, read_checkpoint  # noqa: PLC0415  # help needs none of it

    print_rows(checkpoint_rows(read_checkpoint(checkpoint)), as_json=as_json, titles=_TITLES)


@app.callback()
def _family() -> None:
    """Keep the name `checkpoint` even if it has only one command."""
