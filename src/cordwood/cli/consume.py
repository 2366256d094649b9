"""`cordwood consume`: records of a topic become lines. `cli.consuming` reads them."""

from enum import StrEnum
from typing import Annotated

import typer

from cordwood.cli.connecting import (
    BootstrapServer,
    CommandConfig,
    CommandProperty,
    client_config,
)

EXAMPLE = "Example: cordwood consume orders --from-beginning --max-messages 10 --json"


class Isolation(StrEnum):
    """Whether what was aborted, or is not decided, is read."""

    UNCOMMITTED = "read_uncommitted"
    COMMITTED = "read_committed"


Topic = Annotated[str, typer.Argument(help="The topic.")]
FromBeginning = Annotated[
    bool, typer.Option("--from-beginning", help="All there is, not only what is new.")
]
Offset = Annotated[
    str | None, typer.Option(metavar="N|earliest|latest", help="Begin there in each partition.")
]
Timestamp = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Begin there: ms since 1970, or 2026-01-31T12:00:00."),
]
Partitions = Annotated[
    list[int] | None, typer.Option("--partition", min=0, help="Only this one; may come again.")
]
Level = Annotated[Isolation, typer.Option("--isolation-level", help="What of transactions.")]
MaxMessages = Annotated[int | None, typer.Option(min=1, help="End after so many records.")]
TimeoutMs = Annotated[int | None, typer.Option(min=1, help="End when none came for so long.")]
Separator = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Print keys too, with this behind them.")
]
NullMarker = Annotated[str | None, typer.Option(metavar="TEXT", help="What to print for null.")]
AsJson = Annotated[bool, typer.Option("--json", help="An object a line, with all there is.")]
Group = Annotated[str | None, typer.Option(help="Not there yet.")]


def consume(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    topic: Topic,
    *,
    from_beginning: FromBeginning = False,
    offset: Offset = None,
    timestamp: Timestamp = None,
    partitions: Partitions = None,
    isolation_level: Level = Isolation.UNCOMMITTED,
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
    """Print the records of a topic, from now on unless told otherwise, until Ctrl-C."""
    from cordwood.cli import consuming  # noqa: PLC0415  # help needs none of it

    if group is not None:
        raise typer.BadParameter(
            "there are no consumer groups yet: leave --group out, and all partitions are read"
        )
    place = consuming.place_in(offset, timestamp, from_beginning=from_beginning)
    consuming.consume(
        consuming.Wanted(topic, tuple(partitions or ()), place, max_messages, timeout_ms),
        client_config(
            bootstrap_server,
            command_config,
            properties=command_property,
            isolation_level=isolation_level.value,
            auto_offset_reset="earliest" if from_beginning else "none",
        ),
        write_record=consuming.writer(key_separator, null_marker, is_json=as_json),
    )


def add_to(app: typer.Typer) -> None:
    """Make the command one of the program's."""
    app.command(epilog=EXAMPLE)(consume)
