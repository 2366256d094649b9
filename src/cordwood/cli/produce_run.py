"""Work of `cordwood produce`: reads lines and sends them as records, at a limited rate if asked.

A line that cannot be parsed stops the command after every record before it is delivered. The number
of delivered records is printed at the end, however the command ends.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import BinaryIO, Final, NamedTuple

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.client_messages import shown_client_messages
from cordwood.cli.cluster_options import TIMEOUT_MS
from cordwood.cli.exit_codes import FOUND_WRONG
from cordwood.cli.line_format import LineError, LineReader, LineRecord, parse_line_format, read_json
from cordwood.cli.progress import show_progress
from cordwood.cli.terminal import is_terminal, print_message
from cordwood.client.blocking import Producer
from cordwood.client.producer.delivery import Delivery
from cordwood.core.counts import counted
from cordwood.core.errors import KafkaError
from cordwood.core.system import SystemClock
from cordwood.records.record import NO_HEADERS, Header
from cordwood.workbench.file_window import Throttle

_IDEMPOTENT_ACKS: Final = ("all", "-1")


class ProduceTarget(NamedTuple):
    """The topic and default partition of all records, and the headers added to each."""

    topic: str
    partition: int | None = None
    headers: tuple[Header, ...] = NO_HEADERS


@dataclass(slots=True)
class DeliveryCount:
    """Numbers of delivered and failed records; holds only the deliveries still in flight."""

    delivered: int = 0
    failed: int = 0
    error: KafkaError | None = None
    _in_flight: deque[Delivery] = field(default_factory=deque)

    def add(self, delivery: Delivery) -> None:
        """Add a delivery, and count those that are done."""
        self._in_flight.append(delivery)
        self.count_done()

    def count_done(self) -> None:
        """Count the deliveries that are done, in the order they were added."""
        while self._in_flight and self._in_flight[0].done():
            error = self._in_flight.popleft().exception()
            if error is None:
                self.delivered += 1
            else:
                self.failed += 1
                self.error = self.error or error


def producer_config(config: Mapping[str, object]) -> dict[str, object]:
    """Return the settings with the commands' defaults.

    `max.block.ms` is the timeout of the commands. Without a setting, a producer is idempotent if
    its `acks` allow it, as in Kafka.
    """
    is_idempotent = config.get("acks", "all") in _IDEMPOTENT_ACKS
    return {"max.block.ms": TIMEOUT_MS, "enable.idempotence": is_idempotent} | dict(config)


def line_reader(separator: str | None, null: str | None, *, is_json: bool) -> LineReader:
    """Return the parser of lines."""
    if is_json:
        if separator is not None or null is not None:
            raise typer.BadParameter(
                "--json cannot be combined with --key-separator or --null-marker"
            )
        return read_json
    return parse_line_format(separator, null).read


def record_throttle(rate: int | None) -> Callable[[int], object]:
    """Return a function to call with each number of sent records; it sleeps to keep the rate."""
    return _no_throttle if rate is None else Throttle(rate, SystemClock(), Event().wait)


def produce(
    target: ProduceTarget,
    config: Mapping[str, object],
    *,
    read: LineReader,
    path: str | None,
    rate: int | None,
) -> None:
    """Send all lines; exit with 1 if a record was not delivered."""
    throttle = record_throttle(rate)
    deliveries = DeliveryCount()
    with _open_lines(path) as (lines, advance), _producer(config, target, deliveries) as producer:
        for number, line in enumerate(lines, 1):
            deliveries.add(_send(producer, target, _parse_line(read, line, number)))
            throttle(1)
            advance(len(line))
    if deliveries.failed:
        raise typer.Exit(FOUND_WRONG)


@contextmanager
def _producer(
    config: Mapping[str, object], target: ProduceTarget, deliveries: DeliveryCount
) -> Iterator[Producer]:
    """Yield a producer; print the number of delivered records once it is closed."""
    producer = Producer.from_config(config)
    try:
        with shown_client_messages(), producer:
            yield producer
    finally:
        deliveries.count_done()
        print_message(f"{target.topic}: {_summary(deliveries)}")


def _no_throttle(_count: int) -> None:
    pass


def _parse_line(read: LineReader, line: bytes, number: int) -> LineRecord:
    try:
        return read(line)
    except LineError as error:
        raise LineError(
            f"line {number}: {error}; {_sent_before(number)}correct it and send the rest"
        ) from None


def _sent_before(number: int) -> str:
    return "the lines before it were sent, " if number > 1 else ""


def _send(producer: Producer, target: ProduceTarget, record: LineRecord) -> Delivery:
    return producer.send(
        target.topic,
        record.value,
        key=record.key,
        partition=target.partition if record.partition is None else record.partition,
        timestamp_ms=record.timestamp_ms,
        headers=(*target.headers, *record.headers),
    )


def _summary(deliveries: DeliveryCount) -> str:
    text = f"{counted(deliveries.delivered, 'record')} delivered"
    return f"{text}, {deliveries.failed} failed: {deliveries.error}" if deliveries.failed else text


@contextmanager
def _open_lines(path: str | None) -> Iterator[tuple[BinaryIO, Callable[[int], object]]]:
    """Yield the lines, and a callback for the size of each line read."""
    if path is None:
        with show_progress(None, is_shown=not is_terminal(sys.stdin)) as advance:
            yield sys.stdin.buffer, advance
        return
    file = Path(absolute_path(path))
    with file.open("rb") as lines, show_progress(file.stat().st_size) as advance:
        yield lines, advance
