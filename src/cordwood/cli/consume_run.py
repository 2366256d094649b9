"""Work of `cordwood consume`: prints records until a count, a timeout or Ctrl-C."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final, NamedTuple

import typer

from cordwood.cli import terminal
from cordwood.cli.client_messages import shown_client_messages
from cordwood.cli.cluster_options import list_partitions
from cordwood.cli.exit_codes import interruptible
from cordwood.cli.line_format import Consumed, LineWriter, parse_line_format, write_json
from cordwood.client.blocking import Consumer
from cordwood.client.consumer.offset_fetcher import EARLIEST, LATEST
from cordwood.core.counts import counted
from cordwood.core.errors import UnknownTopicOrPartitionError
from cordwood.core.system import SystemClock

#: The longest delay of Ctrl-C.
POLL_MS: Final = 200
#: The most records of one poll, which are printed in one write.
MAX_POLL_RECORDS: Final = 500

_NAMED_OFFSETS: Final = {"earliest": EARLIEST, "latest": LATEST}


class StartPosition(NamedTuple):
    """The start of reading: an offset, a special offset (`EARLIEST`, `LATEST`), or a time.

    `offset_reset` is the client's `auto.offset.reset` if that position does not exist any longer;
    None leaves it to the client's settings.
    """

    offset: int | None = None
    timestamp_ms: int | None = None
    offset_reset: str | None = "none"
    is_of_group: bool = False


class ConsumeRequest(NamedTuple):
    """The partitions to read (none given: all of them), the start, and the conditions to stop."""

    topic: str
    partitions: tuple[int, ...]
    start: StartPosition
    max_messages: int | None
    timeout_ms: int | None


def parse_start(
    offset: str | None, timestamp: str | None, *, from_beginning: bool
) -> StartPosition:
    """Parse the start position; at most one of the three options may be given."""
    if from_beginning + (offset is not None) + (timestamp is not None) > 1:
        raise typer.BadParameter("give one of --from-beginning, --offset and --timestamp")
    if timestamp is not None:
        return StartPosition(timestamp_ms=parse_timestamp(timestamp))
    if from_beginning:
        # Retention may delete the first records before they are read: continue behind them.
        return StartPosition(EARLIEST, offset_reset="earliest")
    if offset is None:
        return StartPosition(LATEST)
    if offset in _NAMED_OFFSETS:
        return StartPosition(_NAMED_OFFSETS[offset])
    if not offset.isdecimal():
        raise typer.BadParameter(f"{offset!r} is not an offset; give a number, earliest or latest")
    return StartPosition(int(offset))


def ensure_group_start(start: StartPosition, partitions: Sequence[int]) -> StartPosition:
    """Return the start of a group's member: the committed offsets, or where there is none."""
    if partitions or start.timestamp_ms is not None or start.offset not in (EARLIEST, LATEST):
        raise typer.BadParameter(
            "--group cannot be combined with --partition, --offset and --timestamp; the group"
            " assigns partitions, and `cordwood groups reset-offsets` sets its offsets"
        )
    is_earliest = start.offset == EARLIEST
    return StartPosition(offset_reset="earliest" if is_earliest else None, is_of_group=True)


def parse_timestamp(text: str) -> int:
    """Parse milliseconds since 1970, or a date and time; a time without a zone is in UTC."""
    if text.isdecimal():
        return int(text)
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a time; give milliseconds since 1970, or 2026-01-31T12:00:00"
        ) from None
    aware = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
    return int(aware.timestamp() * 1000)


def line_writer(separator: str | None, null: str | None, *, is_json: bool) -> LineWriter:
    """Return the formatter of records."""
    if is_json:
        if separator is not None or null is not None:
            raise typer.BadParameter(
                "--json cannot be combined with --key-separator or --null-marker"
            )
        return write_json
    return parse_line_format(separator, null).write


def consume(
    request: ConsumeRequest, config: Mapping[str, object], *, write_record: LineWriter
) -> None:
    """Print the records, and at the end their number, however the command ends."""
    partitions = _partitions(request, config)
    with (
        shown_client_messages(),
        _record_count(request.topic) as count,
        Consumer.from_config(config) as consumer,
        interruptible() as is_stopped,
    ):
        _begin(consumer, request, partitions)
        for records in _polls(consumer, request, is_stopped):
            if not terminal.write_output(b"".join(map(write_record, records))):
                # Records that were not printed must not be committed.
                consumer.seek((records[0].topic, records[0].partition), records[0].offset)
                break
            count(len(records))


@contextmanager
def _record_count(topic: str) -> Iterator[Callable[[int], object]]:
    """Yield a counter of records; print the total at the end."""
    total = 0

    def count(records: int) -> None:
        nonlocal total
        total += records

    try:
        yield count
    finally:
        terminal.print_message(f"{topic}: {counted(total, 'record')} read")


def _partitions(request: ConsumeRequest, config: Mapping[str, object]) -> list[tuple[str, int]]:
    """Return the partitions to read; raise if the cluster does not have one of them."""
    existing = list_partitions(config, request.topic)
    for number in request.partitions:
        if (request.topic, number) not in existing:
            raise UnknownTopicOrPartitionError(
                f"topic {request.topic!r}: has no partition {number} (it has {len(existing)});"
                f" give a number from 0 to {len(existing) - 1}"
            )
    return [(request.topic, number) for number in request.partitions] or existing


def _begin(consumer: Consumer, request: ConsumeRequest, partitions: list[tuple[str, int]]) -> None:
    if request.start.is_of_group:
        consumer.subscribe([request.topic])
    else:
        consumer.assign(partitions)
        _seek(consumer, request.start)


def _seek(consumer: Consumer, start: StartPosition) -> None:
    if start.timestamp_ms is not None:
        consumer.seek_to_timestamp(start.timestamp_ms)
    elif start.offset == EARLIEST:
        consumer.seek_to_beginning()
    elif start.offset == LATEST:
        consumer.seek_to_end()
    else:
        for partition in consumer.assignment():
            consumer.seek(partition, start.offset or 0)


def _polls(
    consumer: Consumer, request: ConsumeRequest, is_stopped: Callable[[], bool]
) -> Iterator[list[Consumed]]:
    """Yield the records of each poll until the request is complete or stopped."""
    clock = SystemClock()
    left = math.inf if request.max_messages is None else request.max_messages
    timeout_ms = math.inf if request.timeout_ms is None else request.timeout_ms
    deadline_ms = clock.monotonic_ms() + timeout_ms
    while left > 0 and clock.monotonic_ms() < deadline_ms and not is_stopped():
        size = int(min(left, MAX_POLL_RECORDS))
        records = consumer.poll(min(POLL_MS, timeout_ms), max_records=size)
        if records:
            left -= len(records)
            deadline_ms = clock.monotonic_ms() + timeout_ms
            yield records
