"""Producers that continue through kills of the broker, and record all outcomes in ledgers.

    own          this package's producer
    librdkafka   librdkafka's producer, through its Python wheel

Both are idempotent, and give no record up while a test lasts.
"""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import cordwood
from cordwood.core.types import TopicPartition
from tests.robustness.ledger import UNKNOWN_OFFSET, Ledgers

if TYPE_CHECKING:
    from confluent_kafka import Message

    from cordwood.client.producer.delivery import Delivery

PATIENCE_MS: Final = 120_000

OnOutcome: TypeAlias = Callable[[int | None], None]
"""Receives the record's offset, or None if the record was given up."""


class Sender(Protocol):
    """A client that sends records."""

    def send(self, partition: TopicPartition, value: bytes, on_outcome: OnOutcome) -> None:
        """Send a record; `on_outcome` receives its outcome."""

    def close(self) -> None:
        """Wait for the outcomes of all records."""


class OwnSender:
    """Sends with this package's producer."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = cordwood.Producer(
            bootstrap,
            request_timeout_ms=5_000,
            delivery_timeout_ms=PATIENCE_MS,
            max_block_ms=PATIENCE_MS,
        )

    def send(self, partition: TopicPartition, value: bytes, on_outcome: OnOutcome) -> None:
        topic, index = partition
        delivery = self._producer.send(topic, value, partition=index)
        delivery.add_done_callback(partial(_report, on_outcome))

    def close(self) -> None:
        self._producer.close()


def _report(on_outcome: OnOutcome, delivery: "Delivery") -> None:
    on_outcome(None if delivery.exception() is not None else delivery.result().offset)


class LibrdkafkaSender:
    """Sends with librdkafka's producer; its wheel is a dependency of slow tests, so it is imported
    late.
    """

    def __init__(self, bootstrap: str) -> None:
        from confluent_kafka import Producer  # noqa: PLC0415 - as above

        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                "socket.timeout.ms": 5_000,
                "delivery.timeout.ms": PATIENCE_MS,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )
        self._is_over = threading.Event()
        self._polling = threading.Thread(target=self._poll, name="librdkafka")
        self._polling.start()

    def send(self, partition: TopicPartition, value: bytes, on_outcome: OnOutcome) -> None:
        def on_delivery(error: object, message: "Message") -> None:
            offset = message.offset()
            on_outcome(None if error is not None else UNKNOWN_OFFSET if offset is None else offset)

        topic, index = partition
        self._producer.produce(topic, value, partition=index, on_delivery=on_delivery)

    def close(self) -> None:
        self._producer.flush(PATIENCE_MS / 1000)
        self._is_over.set()
        self._polling.join()

    def _poll(self) -> None:
        while not self._is_over.is_set():
            self._producer.poll(0.05)


SENDERS: Final[dict[str, Callable[[str], Sender]]] = {
    "own": OwnSender,
    "librdkafka": LibrdkafkaSender,
}


@contextmanager
def producing(sender: Sender, ledgers: Ledgers, chance: random.Random) -> Iterator[None]:
    """Send to all partitions in turn until the block ends, then wait for all outcomes."""
    is_over = threading.Event()

    def produce() -> None:
        for partition in cycle(ledgers.of):
            ledgers.begin()
            if is_over.is_set():
                return
            ledger = ledgers.of[partition]
            number = ledger.sent
            value = ledger.next_value(chance)
            sender.send(partition, value, partial(ledgers.record_outcome, partition, number))

    thread = threading.Thread(target=produce, name="produce")
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        ledgers.release()
        thread.join()
        sender.close()
