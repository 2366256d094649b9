"""Members of groups and transactions of kafka-python."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import Empty, Queue
from threading import Thread
from time import monotonic
from typing import cast

import kafka
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaError, KafkaTimeoutError

from tests.interop.kafka_harness.client import (
    CannotError,
    Member,
    Membership,
    Polled,
    Records,
    RefusedError,
)
from tests.interop.kafka_harness.patience import PATIENCE_S

POLL_MS = 100
BLOCK_MS = 10_000

Call = tuple[Callable[[], object], "Future[object]"]


@contextmanager
def refusals() -> Iterator[None]:
    """Raise errors of the broker in the words of these tests."""
    try:
        yield
    except KafkaError as error:
        raise RefusedError(getattr(error, "errno", None), str(error)) from error


class KafkaPythonMember:
    """A consumer in a thread of its own: it takes part in a rebalance only while it polls."""

    def __init__(self, bootstrap: str, membership: Membership) -> None:
        if membership.protocol != "classic":
            raise CannotError("has classic groups alone")
        is_cooperative = membership.assignor == "cooperative-sticky"
        self.consumer = kafka.KafkaConsumer(
            membership.topic,
            bootstrap_servers=bootstrap,
            group_id=membership.group,
            group_instance_id=membership.instance,
            partition_assignment_strategy=[
                CooperativeStickyAssignor if is_cooperative else RangePartitionAssignor
            ],
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            heartbeat_interval_ms=100,
            fetch_max_wait_ms=20,
        )
        self._topic = membership.topic
        self._calls: Queue[Call] = Queue()
        self._values: list[bytes] = []
        self._thread = Thread(target=self._run)
        self._thread.start()

    def poll(self) -> Polled:
        return cast("Polled", self.call(self._polled))

    def commit(self) -> None:
        self.call(self.consumer.commit)

    def leave(self) -> None:
        self.call(self.consumer.close)
        self._thread.join()

    def call(self, do: Callable[[], object]) -> object:
        """Do it in the thread, after the next poll."""
        promise: Future[object] = Future()
        self._calls.put((do, promise))
        return promise.result(PATIENCE_S)

    def _await_topic(self) -> None:
        """Wait until the client knows the topic: without it the client assigns nothing.

        It would join again once it knows the topic, since its metadata has changed. The client
        forgets such a join if `poll` returns between the assignment and the response to SyncGroup.
        Its `need_rejoin` looks at the metadata, which the assignment has seen, not at the join that
        is in flight. Then it sends no heartbeat.
        """
        end_s = monotonic() + PATIENCE_S
        while monotonic() < end_s:
            # A broker that it asks may be the one that was killed.
            with suppress(KafkaError):
                if self.consumer.partitions_for_topic(self._topic):
                    return
        raise TimeoutError(self._topic)

    def _polled(self) -> Polled:
        values, self._values = self._values, []
        return Polled([each.partition for each in self.consumer.assignment()], values)

    def _found(self) -> list[bytes]:
        """Return new values; the client raises an error while its group has no coordinator."""
        try:
            found = self.consumer.poll(timeout_ms=POLL_MS)
        except KafkaError as error:
            if not error.retriable:
                raise
            return []
        return [cast("bytes", each.value) for one in found.values() for each in one]

    def _run(self) -> None:
        self._await_topic()
        done: Callable[[], object] | None = None
        while done != self.consumer.close:
            self._values += self._found()
            with suppress(Empty):
                done, promise = self._calls.get_nowait()
                try:
                    promise.set_result(done())
                except KafkaError as error:
                    promise.set_exception(error)


def _begun(bootstrap: str, transactional_id: str) -> kafka.KafkaProducer:
    """Return a producer whose id is registered.

    The client forgets its request for that when the coordinator cannot be reached, so it is made
    again then.
    """
    end_s = monotonic() + PATIENCE_S
    while True:
        producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap, transactional_id=transactional_id, max_block_ms=BLOCK_MS
        )
        try:
            producer.init_transactions()
        except KafkaTimeoutError:
            producer.close(timeout=0)
            if monotonic() > end_s:
                raise
        else:
            return producer


class KafkaPythonTransactions:
    """A producer with a transactional id."""

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        with refusals():
            self._producer = _begun(bootstrap, transactional_id)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, records: Records) -> None:
        with refusals():
            promises = [
                self._producer.send(
                    topic,
                    partition=0,
                    key=record.key,
                    value=record.value,
                    timestamp_ms=record.timestamp,
                )
                for record in records
            ]
            for promise in promises:
                promise.get(PATIENCE_S)

    def send_offsets(self, member: Member) -> None:
        reader = cast("KafkaPythonMember", member)
        consumer = reader.consumer

        def position() -> tuple[object, object]:
            offsets = {
                place: kafka.OffsetAndMetadata(consumer.position(place), "", -1)
                for place in consumer.assignment()
            }
            return offsets, consumer.group_metadata()

        offsets, metadata = cast("tuple[object, object]", reader.call(position))
        with refusals():
            self._producer.send_offsets_to_transaction(offsets, metadata)

    def end(self, *, commit: bool) -> None:
        with refusals():
            if commit:
                self._producer.commit_transaction()
            else:
                self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(timeout=0)
