"""`cordwood spark read`: the records of logs, printed as `cordwood consume` does, or counted."""

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.consume import AsJson, MaxMessages, NullMarker, Separator
from cordwood.cli.output import say, write
from cordwood.cli.paths import absolute
from cordwood.cli.spark.running import Conf, Master, running
from cordwood.cli.spark.sources import BootstrapServer, Option, Paths, Topic, options_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cordwood.client.record_set import ConsumedRecord
    from cordwood.spark.session import DataFrame, Row, SparkSession

EXAMPLE: Final = "Example: cordwood spark read kafka-logs --topic orders --json --max-messages 10"

_COLUMNS: Final = (
    *("topic", "partition", "offset", "unix_millis(timestamp)", "timestampType"),
    *("key", "value", "headers"),
)

Count = Annotated[bool, typer.Option("--count", help="Print how many records there are.")]


def read(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    paths: Paths = None,
    *,
    topic: Topic = None,
    bootstrap_server: BootstrapServer = None,
    option: Option = None,
    max_messages: MaxMessages = None,
    count: Count = False,
    key_separator: Separator = None,
    null_marker: NullMarker = None,
    as_json: AsJson = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Print the records of logs, partition by partition, or count them."""
    from cordwood.cli.consuming import writer  # noqa: PLC0415  # help needs none of it

    places = [absolute(path) for path in paths or ()]
    options = options_of(places, option, topics=topic, servers=bootstrap_server)
    line_of = writer(key_separator, null_marker, is_json=as_json)
    with running("read", master=master, conf=conf) as (spark, _):
        if count:
            say(str(counted(spark, options)))
            return
        for record in islice(records(spark, options), max_messages):
            if not write(line_of(record)):
                break


def counted(spark: "SparkSession", options: dict[str, str]) -> int:
    """Return how many records there are."""
    from cordwood.spark import scan  # noqa: PLC0415  # help needs none of it

    return scan(spark, **options).count()


def records(
    spark: "SparkSession", options: dict[str, str]
) -> "Iterator[ConsumedRecord[bytes, bytes]]":
    """Yield the records, as one task after the other has read them."""
    from cordwood.client.record_set import ConsumedRecord  # noqa: PLC0415  # help needs none of it
    from cordwood.records.record import TimestampType  # noqa: PLC0415  # as above
    from cordwood.spark import read as frame_of  # noqa: PLC0415  # help needs none of it
    from cordwood.spark.options import parse_options  # noqa: PLC0415  # as above
    from cordwood.spark.planning import plan  # noqa: PLC0415  # as above

    asked = {**options, "includeHeaders": "true"}
    plan(parse_options(asked))  # what cannot be read is told as ours; Spark would add a traceback
    frame = frame_of(spark, None, columns=None, **asked).selectExpr(*_COLUMNS)
    for topic, partition, offset, timestamp, kind, key, value, headers in _rows(frame):
        yield ConsumedRecord(
            topic,
            partition,
            offset,
            timestamp,
            TimestampType(kind),
            None if key is None else bytes(key),
            None if value is None else bytes(value),
            tuple((name, None if data is None else bytes(data)) for name, data in headers or ()),
            leader_epoch=-1,
        )


def _rows(frame: "DataFrame") -> "Iterator[Row]":
    """Yield the rows of a frame; what a task has found wrong is raised as if it was found here."""
    from cordwood.spark.running import named_errors  # noqa: PLC0415  # as above

    with named_errors():
        yield from frame.toLocalIterator()


def add_to(app: typer.Typer) -> None:
    """Make the command part of the family."""
    app.command(epilog=EXAMPLE)(read)
