"""A topic to lines on the standard output, until there are enough, nothing comes, or Ctrl-C."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final, NamedTuple

import typer

from cordwood.cli import output
from cordwood.cli.connecting import partitions_there
from cordwood.cli.interrupts import interruptible
from cordwood.cli.record_text import Consumed, Writer, line_form, write_json
from cordwood.client.blocking import Consumer
from cordwood.client.lookups import EARLIEST, LATEST
from cordwood.core.errors import UnknownTopicOrPartitionError
from cordwood.core.system import SystemClock

#: How long Ctrl-C may wait to be heeded.
POLL_MS: Final = 200
#: So many records are printed in one piece.
AT_ONCE: Final = 500

_PLACES: Final = {"earliest": EARLIEST, "latest": LATEST}


class Place(NamedTuple):
    """Where reading begins: at an offset, a time, or a place that has a name."""

    offset: int | None = None
    timestamp_ms: int | None = None


class Wanted(NamedTuple):
    """What is to be read, and when that is enough; no partitions are all of them."""

    topic: str
    partitions: tuple[int, ...]
    place: Place
    max_messages: int | None
    timeout_ms: int | None


def place_in(offset: str | None, timestamp: str | None, *, from_beginning: bool) -> Place:
    """Read where to begin, which may be said in one way only."""
    if from_beginning + (offset is not None) + (timestamp is not None) > 1:
        raise typer.BadParameter("give one of --from-beginning, --offset and --timestamp")
    if timestamp is not None:
        return Place(timestamp_ms=moment_in(timestamp))
    if offset is None:
        return Place(EARLIEST if from_beginning else LATEST)
    if offset in _PLACES:
        return Place(_PLACES[offset])
    if not offset.isdecimal():
        raise typer.BadParameter(f"{offset!r} is no offset: give a number, earliest or latest")
    return Place(int(offset))


def moment_in(text: str) -> int:
    """Read a time: milliseconds since 1970, or a date and time, in UTC unless it says otherwise."""
    if text.isdecimal():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no time: give milliseconds since 1970, or 2026-01-31T12:00:00"
        ) from None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return int(aware.timestamp() * 1000)


def writer(separator: str | None, null: str | None, *, is_json: bool) -> Writer:
    """Return how records are printed."""
    if is_json:
        if separator is not None or null is not None:
            raise typer.BadParameter("--json prints keys and nulls in its own way")
        return write_json
    return line_form(separator, null).write


def consume(wanted: Wanted, config: Mapping[str, object], *, write_record: Writer) -> None:
    """Print what is wanted, and say at the end how much it was, however that came."""
    partitions = _partitions(wanted, config)
    with (
        _counting(wanted.topic) as count,
        Consumer.from_config(config) as consumer,
        interruptible() as is_over,
    ):
        consumer.assign(partitions)
        _seek(consumer, wanted.place)
        for records in _reads(consumer, wanted, is_over):
            if not output.write(b"".join(map(write_record, records))):
                break
            count(len(records))


@contextmanager
def _counting(topic: str) -> Iterator[Callable[[int], object]]:
    """Yield what counts records, and say how many it were."""
    total = 0

    def count(records: int) -> None:
        nonlocal total
        total += records

    try:
        yield count
    finally:
        output.tell(f"{topic}: {total} records read")


def _partitions(wanted: Wanted, config: Mapping[str, object]) -> list[tuple[str, int]]:
    """Return what to read; the cluster has all of it."""
    there = partitions_there(config, wanted.topic)
    for number in wanted.partitions:
        if (wanted.topic, number) not in there:
            raise UnknownTopicOrPartitionError(
                f"topic {wanted.topic!r} has no partition {number}; it has {len(there)} of them"
            )
    return [(wanted.topic, number) for number in wanted.partitions] or there


def _seek(consumer: Consumer, place: Place) -> None:
    """Begin where it was said."""
    if place.timestamp_ms is not None:
        consumer.seek_to_timestamp(place.timestamp_ms)
    elif place.offset == EARLIEST:
        consumer.seek_to_beginning()
    elif place.offset == LATEST:
        consumer.seek_to_end()
    else:
        for partition in consumer.assignment():
            consumer.seek(partition, place.offset or 0)


def _reads(
    consumer: Consumer, wanted: Wanted, is_over: Callable[[], bool]
) -> Iterator[list[Consumed]]:
    """Yield records until that is enough."""
    clock = SystemClock()
    left = math.inf if wanted.max_messages is None else wanted.max_messages
    patience_ms = math.inf if wanted.timeout_ms is None else wanted.timeout_ms
    late_ms = clock.monotonic_ms() + patience_ms
    while left > 0 and clock.monotonic_ms() < late_ms and not is_over():
        records = consumer.poll(min(POLL_MS, patience_ms), max_records=int(min(left, AT_ONCE)))
        if records:
            left -= len(records)
            late_ms = clock.monotonic_ms() + patience_ms
            yield records
