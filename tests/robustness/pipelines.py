"""Pipelines that consume, transform and produce, in processes that stop before each step.

    python -m tests.robustness.pipelines own exactly_once 127.0.0.1:9092

Before each step a pipeline prints the name of the step, and waits for a line. An error that its
client does not handle ends it. It is a static member of its group and has a fixed transactional id,
so that its next process takes over at once.
"""

import sys
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

import cordwood

if TYPE_CHECKING:
    from confluent_kafka import Message, TopicPartition

    from cordwood.client.producer.delivery import Delivery

INPUT: Final = "input"
OUTPUT: Final = "output"
GROUP: Final = "pipeline"
NAME: Final = "pipeline-1"
BATCH: Final = 20
POLL_MS: Final = 500
REQUEST_MS: Final = 5_000
PATIENCE_MS: Final = 60_000


class Step(StrEnum):
    """A step of a pipeline."""

    POLL = "poll"
    BEGIN = "begin"
    SEND = "send"
    FLUSH = "flush"
    OFFSETS = "offsets"
    COMMIT = "commit"


#: The steps of a batch, by semantics.
STEPS: Final = {
    "exactly_once": (Step.POLL, Step.BEGIN, Step.SEND, Step.OFFSETS, Step.COMMIT),
    "at_least_once": (Step.POLL, Step.SEND, Step.FLUSH, Step.COMMIT),
}


def transformed(value: bytes) -> bytes:
    """Return the output of a record."""
    return b"<" + value + b">"


class Pipeline(Protocol):
    """The clients of a pipeline; a method carries out the step of its name."""

    def poll(self) -> int:
        """Return the number of records of the next batch."""

    def begin(self) -> None: ...

    def send(self) -> None: ...

    def flush(self) -> None: ...

    def offsets(self) -> None: ...

    def commit(self) -> None: ...


class OwnPipeline:
    """This package's clients."""

    def __init__(self, bootstrap: str, *, is_transactional: bool) -> None:
        self._consumer = cordwood.Consumer(
            bootstrap,
            group=GROUP,
            group_instance_id=NAME,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            max_poll_records=BATCH,
            request_timeout_ms=REQUEST_MS,
        )
        self._is_transactional = is_transactional
        self._producer = cordwood.Producer(
            bootstrap,
            transactional_id=NAME if is_transactional else None,
            request_timeout_ms=REQUEST_MS,
            max_block_ms=PATIENCE_MS,
        )
        if is_transactional:
            self._producer.init()
        self._consumer.subscribe([INPUT])
        self._records: list[cordwood.ConsumedRecord] = []
        self._sent: list[Delivery] = []

    def poll(self) -> int:
        self._records = self._consumer.poll(POLL_MS)
        return len(self._records)

    def begin(self) -> None:
        self._producer.begin()

    def send(self) -> None:
        self._sent = [
            self._producer.send(OUTPUT, transformed(each.value or b""), partition=each.partition)
            for each in self._records
        ]

    def flush(self) -> None:
        for each in self._sent:
            each.result()

    def offsets(self) -> None:
        done = {(each.topic, each.partition): each.offset + 1 for each in self._records}
        self._producer.send_offsets(done, self._consumer.group_metadata())

    def commit(self) -> None:
        if self._is_transactional:
            self._producer.commit()
        else:
            self._consumer.commit()


class LibrdkafkaPipeline:
    """librdkafka's clients, through their Python wheel.

    Without `metadata.recovery.strategy=none`, librdkafka 2.16 drops a broker that it cannot reach,
    and then waits for it in `send_offsets_to_transaction` (librdkafka issue 5511).
    """

    def __init__(self, bootstrap: str, *, is_transactional: bool) -> None:
        import confluent_kafka  # noqa: PLC0415 - a dependency of slow tests

        self._consumer = confluent_kafka.Consumer(
            {
                **_librdkafka(bootstrap),
                "group.id": GROUP,
                "group.instance.id": NAME,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        self._is_transactional = is_transactional
        transactional = {"transactional.id": NAME} if is_transactional else {}
        self._producer = confluent_kafka.Producer(
            {**_librdkafka(bootstrap), **transactional, "enable.idempotence": True}
        )
        if is_transactional:
            _persist(self._producer.init_transactions)
        self._consumer.subscribe([INPUT])
        self._records: list[Message] = []
        self._place = confluent_kafka.TopicPartition

    def poll(self) -> int:
        found = self._consumer.consume(BATCH, POLL_MS / 1000)
        self._records = [each for each in found if each.error() is None]
        return len(self._records)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self) -> None:
        for each in self._records:
            value = transformed(each.value() or b"")
            self._producer.produce(OUTPUT, value, partition=each.partition())

    def flush(self) -> None:
        assert self._producer.flush(PATIENCE_MS / 1000) == 0, "records are still in flight"

    def offsets(self) -> None:
        group = self._consumer.consumer_group_metadata()
        _persist(lambda s: self._producer.send_offsets_to_transaction(self._done(), group, s))

    def commit(self) -> None:
        if self._is_transactional:
            _persist(self._producer.commit_transaction)
        else:
            self._consumer.commit(offsets=self._done(), asynchronous=False)

    def _done(self) -> list["TopicPartition"]:
        last = {(each.topic(), each.partition()): each.offset() for each in self._records}
        return [self._place(*partition, offset + 1) for partition, offset in last.items()]


def _librdkafka(bootstrap: str) -> dict[str, object]:
    """Return the settings of both clients."""
    return {
        "bootstrap.servers": bootstrap,
        "metadata.recovery.strategy": "none",
        "socket.timeout.ms": REQUEST_MS,
        "reconnect.backoff.max.ms": 200,
        "log_level": 0,
    }


def _persist(call: Callable[[float], object]) -> None:
    """Repeat a call as long as its error is retriable."""
    from confluent_kafka import KafkaException  # noqa: PLC0415 - as above

    while True:
        try:
            call(PATIENCE_MS / 1000)
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
        else:
            return


PIPELINES: Final[dict[str, Callable[..., Pipeline]]] = {
    "own": OwnPipeline,
    "librdkafka": LibrdkafkaPipeline,
}


def pause(step: Step) -> None:
    """Wait before a step; end together with the process that reads the names."""
    print(step, flush=True)  # noqa: T201 - the protocol of the test
    if not sys.stdin.readline():
        sys.exit()


def run(pipeline: Pipeline, steps: tuple[Step, ...]) -> None:
    """Handle batches until the process is killed."""
    while True:
        pause(Step.POLL)
        if not pipeline.poll():
            continue
        for step in steps[1:]:
            pause(step)
            getattr(pipeline, step)()


def main() -> None:
    """Run the pipeline that the command line names."""
    client, semantics, bootstrap = sys.argv[1:]
    is_transactional = semantics == "exactly_once"
    run(PIPELINES[client](bootstrap, is_transactional=is_transactional), STEPS[semantics])


if __name__ == "__main__":
    main()
