"""`cordwood log stat`: statistics of partitions, as a table or in detail."""

from enum import StrEnum
from typing import Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.log_sizes import count_log_bytes
from cordwood.cli.log_targets import note_foreign_directories
from cordwood.cli.progress import show_progress
from cordwood.cli.terminal import print_message, print_output
from cordwood.core.counts import counted

EXAMPLE: Final = "Example: cordwood log stat kafka-logs --sort size --top 10"


class Order(StrEnum):
    """The orders of `--sort`."""

    PARTITION = "partition"
    SIZE = "size"
    RECORDS = "records"
    BATCHES = "batches"
    SEGMENTS = "segments"
    EARLIEST = "earliest"
    LATEST = "latest"


Paths = Annotated[list[str], typer.Argument(help="Log directories, partitions or segment files.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Deep = Annotated[bool, typer.Option("--deep", help="Read the records too, not only batch headers.")]
Topics = Annotated[
    list[str] | None, typer.Option("--topic", help="Count only this topic. Repeatable.")
]
Sort = Annotated[
    Order | None,
    typer.Option(help="Sort the partitions, largest first.  [default: partition; size with --top]"),
]
Top = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Print only the first N partitions.")
]
Details = Annotated[
    bool, typer.Option("--details", help="Print all statistics of each partition, not a table.")
]


def stat(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    paths: Paths,
    *,
    topic: Topics = None,
    sort: Sort = None,
    top: Top = None,
    details: Details = False,
    deep: Deep = False,
    as_json: Json = False,
) -> None:
    """Count batches, records, bytes, compression types, producers and transactions.

    Several partitions are a table; one is printed in detail.
    """
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # help needs none of it
    from cordwood.records.kernels import batch_checker  # noqa: PLC0415  # as above
    from cordwood.workbench import stat as work  # noqa: PLC0415  # as above
    from cordwood.workbench.log_statistics import StatOrder  # noqa: PLC0415  # as above

    files, places = SystemFiles(), [absolute_path(path) for path in paths]
    note_foreign_directories(files, places)
    with show_progress(count_log_bytes(places)) as advance:
        found = work.stat(
            files,
            places,
            topics=topic or (),
            is_deep=deep,
            checker=batch_checker(),
            on_bytes=advance,
        )
    count = len(found.partitions)
    if sort or top or not as_json:
        order = sort or (Order.PARTITION if top is None else Order.SIZE)
        found = found.sorted_by(StatOrder[order.name], top=top)
    if as_json:
        print_output(found.to_json())
        return
    is_table = count > 1 and not (details or deep)
    print_output("\n".join(found.table()) if is_table else found.details() or "no partitions")
    if len(found.partitions) < count:
        hidden = count - len(found.partitions)
        print_message(
            f"note: the total includes {counted(hidden, 'more partition')}; give a larger --top"
        )


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(stat)
