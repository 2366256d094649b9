"""`cordwood spark checkpoint`: offsets in the checkpoint of a query, and its takeover."""

from pathlib import Path
from typing import Annotated, Final

import typer

from cordwood.cli.row_output import print_rows
from cordwood.cli.spark.job_run import AsJson
from cordwood.cli.terminal import print_message

EXAMPLE: Final = "Example: cordwood spark checkpoint show checkpoints/orders"

_TITLES: Final = ("QUERY", "BATCH", "STATE", "SOURCE", "TOPIC", "PARTITION", "NEXT-OFFSET")

app = typer.Typer(help="Show and adopt checkpoints of streaming queries.", no_args_is_help=True)

Checkpoint = Annotated[Path, typer.Argument(help="The folder of checkpointLocation.")]


@app.command(epilog=EXAMPLE)
def show(checkpoint: Checkpoint, *, as_json: AsJson = False) -> None:
    """Print the next offset of each partition after the last batch of a query.

    The checkpoint may be one of spark-sql-kafka. A batch that is planned and not finished is
    repeated when the query starts.
    """
    from cordwood.spark.stream.checkpoint_offsets import checkpoint_rows, read_checkpoint  # noqa: PLC0415  # help needs none of it

    print_rows(checkpoint_rows(read_checkpoint(checkpoint)), as_json=as_json, titles=_TITLES)


@app.command(epilog="Example: cordwood spark checkpoint adopt checkpoints/orders")
def adopt(
    checkpoint: Checkpoint,
    *,
    to_kafka: Annotated[
        bool, typer.Option("--to-kafka", help="Prepare the checkpoint for spark-sql-kafka.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Take over a checkpoint of spark-sql-kafka, or prepare one for it.

    Stop the query first. The offsets stay as they are, and are printed as by `show`.
    """
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # help needs none of it
    from cordwood.spark.stream.checkpoint_adoption import adopt_from_kafka, adopt_to_kafka  # noqa: PLC0415  # as above

    changed = (adopt_to_kafka if to_kafka else adopt_from_kafka)(SystemFiles(), checkpoint)
    for path in changed:
        print_message(f"{path}: written")
    if not changed:
        print_message(f"{checkpoint}: no file needs a change")
    show(checkpoint, as_json=as_json)
