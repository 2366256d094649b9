"""`cordwood spark read`: records of logs, printed as `cordwood consume` does, or counted."""

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.consume import AsJson, MaxMessages, NullMarker, Separator
from cordwood.cli.spark.job_run import Conf, Master, job_session
from cordwood.cli.spark.source_options import BootstrapServer, Option, Paths, Topic, source_options
from cordwood.cli.terminal import print_output, write_output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cordwood.client.consumer.completed_fetch import ConsumedRecord
    from cordwood.spark.runtime.session import DataFrame, Row, SparkSession

EXAMPLE: Final = "Example: cordwood spark read kafka-logs --topic orders --json --max-messages 10"

_COLUMNS: Final = (
    *("topic", "partition", "offset", "unix_millis(timestamp)", "timestampType"),
    *("key", "value", "headers"),
)

Count = Annotated[bool, typer.Option("--count", help="Print only the number of records.")]


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
    """Print the records of logs, one partition after the other, or count them."""
    from cordwood.cli.consume_run import line_writer  # noqa: PLC0415  # help needs none of it

    places = [absolute_path(path) for path in paths or ()]
    options = source_options(places, option, topics=topic, servers=bootstrap_server)
    line_of = line_writer(key_separator, null_marker, is_json=as_json)
    check_source({**options, "includeHeaders": "true"})
    with job_session("read", master=master, conf=conf) as (spark, _):
        if count:
            print_output(str(count_records(spark, options)))
            return
        for record in islice(records(spark, options), max_messages):
            if not write_output(line_of(record)):
                break


def check_source(options: dict[str, str]) -> None:
    """Plan the read before Spark starts, so that unusable options are an error within a second."""
    from cordwood.spark.source.local_paths import parse_local_options  # noqa: PLC0415  # help needs none of it
    from cordwood.spark.source.split_planning import plan_splits  # noqa: PLC0415  # as above

    plan_splits(parse_local_options(options))


def count_records(spark: "SparkSession", options: dict[str, str]) -> int:
    """Return the number of records."""
    from cordwood.spark import scan  # noqa: PLC0415  # help needs none of it

    return scan(spark, **options).count()


def records(
    spark: "SparkSession", options: dict[str, str]
) -> "Iterator[ConsumedRecord[bytes, bytes]]":
    """Yield the records, task by task."""
    from cordwood.client.consumer.completed_fetch import ConsumedRecord  # noqa: PLC0415  # help needs none of it
    from cordwood.records.record import TimestampType  # noqa: PLC0415  # as above
    from cordwood.spark import read as frame_of  # noqa: PLC0415  # help needs none of it

    frame = frame_of(spark, **{**options, "includeHeaders": "true"}).selectExpr(*_COLUMNS)
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
    """Yield the rows of a frame; raise the error of a task as if it had been raised here."""
    from cordwood.spark.runtime.task_runner import translate_errors  # noqa: PLC0415  # as above

    with translate_errors():
        yield from frame.toLocalIterator()


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(read)
