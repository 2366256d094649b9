"""`cordwood offsets`: offsets of partitions (Kafka: `GetOffsetShell`)."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.cluster_options import AsJson, BootstrapServer, CommandConfig, connect_admin
from cordwood.cli.row_output import Row, print_rows

if TYPE_CHECKING:
    from cordwood.client.blocking import Admin
    from cordwood.client.consumer.offset_fetcher import FoundOffset
    from cordwood.core.types import TopicPartition

EXAMPLE: Final = "Example: cordwood offsets orders --time 2026-01-31T12:00:00"

_TITLES: Final = ("TOPIC", "PARTITION", "EARLIEST", "LATEST")
_TITLES_OF_TIME: Final = ("TOPIC", "PARTITION", "OFFSET", "TIMESTAMP")

Topics = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TOPIC", help="Topics, their partitions (orders:0,1), or regular expressions."
    ),
]
TopicOptions = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="TOPIC[:0,1]", help="As the argument. Repeatable."),
]
Time = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help=(
            "Print the first offset at or after this time: earliest, latest, max-timestamp,"
            " milliseconds since 1970, or 2026-01-31T12:00:00 (UTC).  [default: both ends]"
        ),
    ),
]
WithoutInternal = Annotated[
    bool, typer.Option("--exclude-internal", help="Leave out internal topics.")
]


def offsets(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    topics: Topics = None,
    *,
    topic: TopicOptions = None,
    time: Time = None,
    exclude_internal: WithoutInternal = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print the first and the end offset of each partition, or the offset at a time."""
    from cordwood.cli.groups.topic_scope import partitions_in  # noqa: PLC0415  # help needs none of it
    from cordwood.cli.topic_selection import given_topics  # noqa: PLC0415  # as above

    timestamp = None if time is None else parse_time(time)
    with connect_admin(bootstrap_server, command_config) as admin:
        wanted = given_topics(topics, topic)
        if not wanted:
            wanted = admin.list_topics(with_internal=not exclude_internal)
        partitions = partitions_in(admin, wanted) if wanted else []
        if timestamp is None:
            rows, titles = _ends(admin, partitions), _TITLES
        else:
            found = admin.list_offsets(dict.fromkeys(partitions, timestamp))
            rows, titles = [_row(*each) for each in sorted(found.items())], _TITLES_OF_TIME
    print_rows(rows, as_json=as_json, titles=titles)


def parse_time(text: str) -> int:
    """Parse a time of the option, also by its number in Kafka (-1: latest, -2, -3)."""
    from cordwood.cli.consume_run import parse_timestamp  # noqa: PLC0415  # help needs none of it
    from cordwood.client.consumer.offset_fetcher import (  # noqa: PLC0415  # as above
        EARLIEST,
        LATEST,
        MAX_TIMESTAMP,
    )

    named = {"earliest": EARLIEST, "latest": LATEST, "max-timestamp": MAX_TIMESTAMP}
    by_number = {str(number): number for number in named.values()}
    special = (named | by_number).get(text)
    return parse_timestamp(text) if special is None else special


def _ends(admin: "Admin", partitions: "list[TopicPartition]") -> list[Row]:
    from cordwood.client.consumer.offset_fetcher import EARLIEST, LATEST  # noqa: PLC0415  # as above

    first = admin.list_offsets(dict.fromkeys(partitions, EARLIEST))
    end = admin.list_offsets(dict.fromkeys(partitions, LATEST))
    return [
        {
            "TOPIC": each.topic,
            "PARTITION": each.partition,
            "EARLIEST": first[each].offset,
            "LATEST": end[each].offset,
        }
        for each in partitions
    ]


def _row(partition: "TopicPartition", found: "FoundOffset") -> Row:
    """Return the row of a partition; None where no record is that new."""
    return {
        "TOPIC": partition.topic,
        "PARTITION": partition.partition,
        "OFFSET": found.offset if found.offset >= 0 else None,
        "TIMESTAMP": found.timestamp if found.timestamp >= 0 else None,
    }


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(offsets)
