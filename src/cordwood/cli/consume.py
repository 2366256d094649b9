"""`cordwood consume`: records of a topic printed as lines (Kafka: `ConsoleConsumer`).

`cli.consume_run` reads them.
"""

from enum import StrEnum
from typing import Annotated

import typer

from cordwood.cli.cluster_options import (
    BootstrapServer,
    CommandConfig,
    CommandProperty,
    reachable_config,
)

EXAMPLE = "Example: cordwood consume orders --from-beginning --max-messages 10 --json"


class IsolationLevel(StrEnum):
    """Whether records of aborted and of open transactions are read."""

    UNCOMMITTED = "read_uncommitted"
    COMMITTED = "read_committed"


Topic = Annotated[str, typer.Argument(help="Topic name.")]
FromBeginning = Annotated[
    bool, typer.Option("--from-beginning", help="Start at the earliest offset of each partition.")
]
Offset = Annotated[
    str | None,
    typer.Option(
        metavar="N|earliest|latest",
        help="Start at this offset in each partition.  [default: latest]",
    ),
]
Timestamp = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Start at this time: milliseconds since 1970, or 2026-01-31T12:00:00 (UTC).",
    ),
]
Partitions = Annotated[
    list[int] | None,
    typer.Option(
        "--partition", min=0, help="Read only this partition. Repeatable.  [default: all]"
    ),
]
Level = Annotated[
    IsolationLevel | None,
    typer.Option(
        "--isolation-level",
        help="Set to read_committed to skip aborted transactions.  [default: read_uncommitted]",
    ),
]
MaxMessages = Annotated[int | None, typer.Option(min=1, help="Stop after this number of records.")]
TimeoutMs = Annotated[
    int | None, typer.Option(min=1, help="Stop if no record arrives for this many milliseconds.")
]
Separator = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Print keys too, followed by this separator.")
]
NullMarker = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Print this text for null.  [default: null]")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print a JSON object with all fields for each record.")
]
Group = Annotated[
    str | None,
    typer.Option(help="Join this group: it assigns partitions, and offsets are committed."),
]


def consume(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    topic: Topic,
    *,
    from_beginning: FromBeginning = False,
    offset: Offset = None,
    timestamp: Timestamp = None,
    partitions: Partitions = None,
    isolation_level: Level = None,
    max_messages: MaxMessages = None,
    timeout_ms: TimeoutMs = None,
    key_separator: Separator = None,
    null_marker: NullMarker = None,
    as_json: AsJson = False,
    group: Group = None,
    command_property: CommandProperty = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Print the records of a topic until Ctrl-C, by default only new ones."""
    from cordwood.cli import consume_run  # noqa: PLC0415  # help needs none of it

    start = consume_run.parse_start(offset, timestamp, from_beginning=from_beginning)
    if group is not None:
        start = consume_run.ensure_group_start(start, partitions or ())
    consume_run.consume(
        consume_run.ConsumeRequest(topic, tuple(partitions or ()), start, max_messages, timeout_ms),
        reachable_config(
            bootstrap_server,
            command_config,
            properties=command_property,
            isolation_level=isolation_level,
            auto_offset_reset=start.offset_reset,
            group_id=group,
        ),
        write_record=consume_run.line_writer(key_separator, null_marker, is_json=as_json),
    )


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(consume)
