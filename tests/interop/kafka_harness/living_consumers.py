"""Consumers that are never restarted: each keeps the values that it has read, in their order.

They start at the beginning of every partition, and reset to the beginning.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

import cordwood
from tests.interop.kafka_harness.clients import Origins
from tests.interop.kafka_harness.oracle import Program
from tests.interop.kafka_harness.spark import spark_program

if TYPE_CHECKING:
    from tests.interop.kafka_harness.spec import Json

Value = tuple[int, str]
"""A partition's number and a value."""

POLL_S: Final = 0.2


@dataclass
class Seen:
    """The values that a consumer has read, and the error that has ended it."""

    values: list[Value] = field(default_factory=list)
    problem: str = ""

    def missing(self, wanted: Collection[str]) -> list[str]:
        found = {value for _, value in self.values}
        return [each for each in wanted if each not in found]


class LivingConsumer(ABC):
    """One consumer of all partitions of a topic."""

    @abstractmethod
    def seen(self, wanted: Collection[str], patience_s: float) -> Seen:
        """Return all values when the wanted ones are among them, or after a time, or at its end."""

    @abstractmethod
    def close(self) -> None:
        """End it."""


class ThreadConsumer(LivingConsumer):
    """A consumer in a thread; `poll` returns the next values, soon."""

    def __init__(self, poll: Callable[[], Iterable[Value]], close: Callable[[], object]) -> None:
        self._poll = poll
        self._close = close
        self._seen = Seen()
        self._changed = threading.Condition()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="living consumer")
        self._thread.start()

    def seen(self, wanted: Collection[str], patience_s: float) -> Seen:
        with self._changed:
            self._changed.wait_for(
                lambda: self._seen.problem or not self._seen.missing(wanted), patience_s
            )
            return Seen([*self._seen.values], self._seen.problem)

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()
        self._close()

    def _run(self) -> None:
        problem = ""
        while not self._is_over.is_set() and not problem:
            try:
                values = [*self._poll()]
            except Exception as error:  # noqa: BLE001 - the test reports it
                values, problem = [], repr(error)
            if values or problem:
                with self._changed:
                    self._seen.values += values
                    self._seen.problem = problem
                    self._changed.notify_all()


class ProgramConsumer(LivingConsumer):
    """A consumer in another process."""

    def __init__(self, program: Program, bootstrap: str, topic: str, partitions: int) -> None:
        self._program = program
        program.ask(
            "living_start", {"bootstrap": bootstrap, "topic": topic, "partitions": partitions}
        )

    def seen(self, wanted: Collection[str], patience_s: float) -> Seen:
        question: dict[str, Json] = {
            "wanted": [*wanted],
            "patience_ms": round(patience_s * 1000),
        }
        found = cast("dict[str, object]", self._program.ask("living_seen", question))
        values = cast("list[tuple[int, str]]", found["seen"])
        return Seen([(number, value) for number, value in values], str(found["problem"]))

    def close(self) -> None:
        """It ends with its program."""


def _own(_: Origins, bootstrap: str, topic: str, partitions: int) -> LivingConsumer:
    consumer = cordwood.Consumer(bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=100)
    consumer.assign([(topic, number) for number in range(partitions)])

    def poll() -> list[Value]:
        records = consumer.poll(timeout_ms=POLL_S * 1000)
        return [(each.partition, _text(each.value)) for each in records]

    return ThreadConsumer(poll, consumer.close)


def _librdkafka(_: Origins, bootstrap: str, topic: str, partitions: int) -> LivingConsumer:
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415  # a wheel of slow tests

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "reconnect.backoff.max.ms": 200,
            "fetch.wait.max.ms": 100,
            "log_level": 0,
        }
    )
    beginning = -2
    consumer.assign([TopicPartition(topic, number, beginning) for number in range(partitions)])

    def poll() -> list[Value]:
        messages = [consumer.poll(POLL_S)]
        return [
            (cast("int", each.partition()), _text(each.value()))
            for each in messages
            if each is not None and each.error() is None
        ]

    return ThreadConsumer(poll, consumer.close)


def _java(name: str) -> "Maker":
    def make(origins: Origins, bootstrap: str, topic: str, partitions: int) -> LivingConsumer:
        return ProgramConsumer(getattr(origins, name), bootstrap, topic, partitions)

    return make


def _spark(origins: Origins, bootstrap: str, topic: str, partitions: int) -> LivingConsumer:
    program, _ = origins.program("spark", lambda: spark_program(origins.folder))
    return ProgramConsumer(program, bootstrap, topic, partitions)


def _text(value: bytes | str | None) -> str:
    assert isinstance(value, bytes), "values were sent"
    return value.decode()


Maker = Callable[[Origins, str, str, int], LivingConsumer]

LIVING_CONSUMERS: Final[dict[str, Maker]] = {
    "cordwood": _own,
    "librdkafka": _librdkafka,
    "Java 4.3": _java("kafka43"),
    "Java 3.9": _java("kafka39"),
    "spark-sql-kafka": _spark,
}
