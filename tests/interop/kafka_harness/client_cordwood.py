"""Our own client, by the same interface as those of others."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias, cast

import cordwood
from cordwood.core.errors import KafkaError
from tests.interop.kafka_harness.client import (
    CLIENT_LIMIT,
    PLAIN,
    Client,
    Member,
    Membership,
    Polled,
    Records,
    RefusedError,
    Sending,
    Transactions,
)
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.spec import SpecRecord

_PATIENCE_MS = PATIENCE_S * 1000
_Consumer: TypeAlias = "cordwood.Consumer[bytes, bytes]"
_Record: TypeAlias = "cordwood.ConsumedRecord[bytes, bytes]"
_Producer: TypeAlias = (
    "cordwood.Producer[bytes | bytearray | memoryview | str, bytes | bytearray | memoryview | str]"
)


class CordwoodClient(Client):
    """Its producer and its consumers."""

    def version(self) -> str:
        return cordwood.__version__

    def produce(
        self, topic: str, records: Records, sending: Sending = PLAIN, *, partition: int = 0
    ) -> None:
        with cordwood.Producer(
            self.bootstrap,
            acks=str(sending.acks),
            compression_type=sending.codec,
            enable_idempotence=sending.is_idempotent,
            max_request_size=CLIENT_LIMIT,
            max_block_ms=_PATIENCE_MS,
        ) as producer:
            _send(producer, topic, records, partition=partition)

    def consume(
        self,
        topic: str,
        *,
        partition: int = 0,
        start: int = 0,
        count: int,
        is_committed: bool = False,
    ) -> Records:
        isolation = "read_committed" if is_committed else "read_uncommitted"
        found = list[SpecRecord]()
        with cordwood.Consumer(self.bootstrap, isolation_level=isolation) as consumer:
            consumer.assign([(topic, partition)])
            consumer.seek((topic, partition), start)
            while len(found) < count:
                found += map(_seen, consumer.poll(timeout_ms=100))
        return tuple(found[:count])

    def offset(self, topic: str, timestamp: int) -> int:
        with cordwood.Admin(self.bootstrap) as admin:
            (found,) = admin.list_offsets({(topic, 0): timestamp}).values()
        return found.offset

    def join(self, membership: Membership) -> Member:
        return CordwoodMember(self.bootstrap, membership)

    def open_transactions(self, transactional_id: str) -> Transactions:
        return CordwoodTransactions(self.bootstrap, transactional_id)


class CordwoodMember:
    """A consumer in a group."""

    def __init__(self, bootstrap: str, membership: Membership) -> None:
        self.consumer: _Consumer = cordwood.Consumer(
            bootstrap,
            group_id=membership.group,
            group_protocol=membership.protocol,
            group_instance_id=membership.instance,
            partition_assignment_strategy=membership.assignor,
            heartbeat_interval_ms=100,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            fetch_max_wait_ms=20,
        )
        self.consumer.subscribe([membership.topic])

    def poll(self) -> Polled:
        values = [cast("bytes", each.value) for each in self.consumer.poll(timeout_ms=100)]
        return Polled([each.partition for each in self.consumer.assignment()], values)

    def commit(self) -> None:
        self.consumer.commit(timeout_ms=_PATIENCE_MS)

    def leave(self) -> None:
        self.consumer.close()


class CordwoodTransactions:
    """A transactional producer."""

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._producer: _Producer = cordwood.Producer(
            bootstrap, transactional_id=transactional_id, max_block_ms=_PATIENCE_MS
        )
        self._producer.init()

    def begin(self) -> None:
        self._producer.begin()

    def send(self, topic: str, records: Records) -> None:
        _send(self._producer, topic, records, partition=0)

    def send_offsets(self, member: Member) -> None:
        consumer = cast("CordwoodMember", member).consumer
        positions: dict[tuple[str, int], int | cordwood.GroupOffset] = {
            each: consumer.position(each) for each in consumer.assignment()
        }
        self._producer.send_offsets(positions, consumer.group_metadata())

    def end(self, *, commit: bool) -> None:
        with _refusals():
            if commit:
                self._producer.commit()
            else:
                self._producer.abort()

    def close(self) -> None:
        with _refusals():
            self._producer.close()


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except KafkaError as error:
        raise RefusedError(error.code, str(error)) from error


def _send(producer: _Producer, topic: str, records: Records, *, partition: int) -> None:
    deliveries = [
        producer.send(
            topic,
            record.value,
            key=record.key,
            partition=partition,
            timestamp_ms=record.timestamp,
            headers=record.headers,
        )
        for record in records
    ]
    for each in deliveries:
        each.result()


def _seen(record: _Record) -> SpecRecord:
    return SpecRecord(
        offset=record.offset,
        timestamp=record.timestamp,
        key=record.key,
        value=record.value,
        headers=record.headers,
    )
