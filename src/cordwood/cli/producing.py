"""Lines to records to a topic, as fast as the cluster takes them or as slowly as was asked for.

A line that is no record ends the command, after everything before it has been delivered. How much
arrived is said at the end, however that came.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import BinaryIO, NamedTuple

import typer

from cordwood.cli.connecting import PATIENCE_MS
from cordwood.cli.endings import FOUND_WRONG
from cordwood.cli.output import is_terminal, tell
from cordwood.cli.paths import absolute
from cordwood.cli.progress import progress
from cordwood.cli.record_text import Entry, LineError, Reader, line_form, read_json
from cordwood.client.blocking import Producer
from cordwood.client.deliveries import Delivery
from cordwood.core.errors import KafkaError
from cordwood.core.system import SystemClock
from cordwood.records.record import NO_HEADERS, Header
from cordwood.workbench.windows import Throttle


class Target(NamedTuple):
    """Where records go, and what all of them carry."""

    topic: str
    partition: int | None = None
    headers: tuple[Header, ...] = NO_HEADERS


@dataclass(slots=True)
class Tally:
    """What became of records; those that are still under way are held, and no others."""

    delivered: int = 0
    failed: int = 0
    error: KafkaError | None = None
    _under_way: deque[Delivery] = field(default_factory=deque)

    def follow(self, delivery: Delivery) -> None:
        """Count a record as soon as it is known what became of it."""
        self._under_way.append(delivery)
        self.settle()

    def settle(self) -> None:
        """Count what is known by now."""
        while self._under_way and self._under_way[0].done():
            error = self._under_way.popleft().exception()
            if error is None:
                self.delivered += 1
            else:
                self.failed += 1
                self.error = self.error or error


def acknowledged(acks: str) -> dict[str, object]:
    """Return the settings of that many acknowledgements: idempotence needs all of them."""
    return {"acks": acks, "enable_idempotence": acks == "all"}


def patient(config: Mapping[str, object]) -> dict[str, object]:
    """Return the settings with as much patience for a topic as for any other answer."""
    return {"max.block.ms": PATIENCE_MS} | dict(config)


def reader(separator: str | None, null: str | None, *, is_json: bool) -> Reader:
    """Return how lines are read."""
    if is_json:
        if separator is not None or null is not None:
            raise typer.BadParameter("--json says itself what is a key and what is null")
        return read_json
    return line_form(separator, null).read


def throttle_of(rate: int | None) -> Callable[[int], object]:
    """Return what is told of every record, and waits when there is a limit."""
    return _unhindered if rate is None else Throttle(rate, SystemClock(), Event().wait)


def produce(
    target: Target,
    config: Mapping[str, object],
    *,
    read: Reader,
    path: str | None,
    rate: int | None,
) -> None:
    """Send all lines, and end with what became of them."""
    throttle = throttle_of(rate)
    tally = Tally()
    with _opened(path) as (lines, advance), _begun(config, target, tally) as producer:
        for number, line in enumerate(lines, 1):
            tally.follow(_send(producer, target, _entry(read, line, number)))
            throttle(1)
            advance(len(line))
    if tally.failed:
        raise typer.Exit(FOUND_WRONG)


@contextmanager
def _begun(config: Mapping[str, object], target: Target, tally: Tally) -> Iterator[Producer]:
    """Yield a producer, and say what was delivered once it has ended, however it did."""
    producer = Producer.from_config(config)
    try:
        with producer:
            yield producer
    finally:
        tally.settle()
        tell(f"{target.topic}: {tally.delivered} records delivered{_failures(tally)}")


def _unhindered(_count: int) -> None:
    """Take note of nothing."""


def _entry(read: Reader, line: bytes, number: int) -> Entry:
    try:
        return read(line)
    except LineError as error:
        raise LineError(f"line {number}: {error}; what came before it was sent") from None


def _send(producer: Producer, target: Target, entry: Entry) -> Delivery:
    return producer.send(
        target.topic,
        entry.value,
        key=entry.key,
        partition=target.partition if entry.partition is None else entry.partition,
        timestamp_ms=entry.timestamp_ms,
        headers=(*target.headers, *entry.headers),
    )


def _failures(tally: Tally) -> str:
    return f", {tally.failed} not: {tally.error}" if tally.failed else ""


@contextmanager
def _opened(path: str | None) -> Iterator[tuple[BinaryIO, Callable[[int], object]]]:
    """Yield the lines, and what is told of each one's size."""
    if path is None:
        with progress(None, is_shown=not is_terminal(sys.stdin)) as advance:
            yield sys.stdin.buffer, advance
        return
    file = Path(absolute(path))
    with file.open("rb") as lines, progress(file.stat().st_size) as advance:
        yield lines, advance
