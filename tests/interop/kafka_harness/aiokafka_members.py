"""Members of groups and transactions of aiokafka.

All of one client share an event loop, which runs while one of them is used.
"""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar, cast

import aiokafka
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import KafkaError, ProducerFenced

from tests.interop.kafka_harness.client import (
    CannotError,
    Member,
    Membership,
    Polled,
    Records,
    RefusedError,
)

T = TypeVar("T")

POLL_MS = 100
#: The code of the error that aiokafka raises without one.
PRODUCER_FENCED = 90


def run_in(loop: asyncio.AbstractEventLoop, work: Coroutine[object, object, T]) -> T:
    """Run work in a loop; its errors are raised in the words of these tests."""
    try:
        return loop.run_until_complete(work)
    except ProducerFenced as error:
        raise RefusedError(PRODUCER_FENCED, str(error)) from error
    except KafkaError as error:
        raise RefusedError(getattr(error, "errno", None), str(error)) from error


class AiokafkaMember:
    """A consumer whose tasks keep it in the group."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, bootstrap: str, membership: Membership
    ) -> None:
        if membership.protocol != "classic":
            raise CannotError("has classic groups alone")
        if membership.assignor != "range":
            raise CannotError("has no cooperative assignor")
        self._loop = loop
        self.consumer = run_in(loop, self._start(bootstrap, membership))

    @staticmethod
    async def _start(bootstrap: str, membership: Membership) -> aiokafka.AIOKafkaConsumer:
        consumer = aiokafka.AIOKafkaConsumer(
            membership.topic,
            bootstrap_servers=bootstrap,
            group_id=membership.group,
            group_instance_id=membership.instance,
            partition_assignment_strategy=[RangePartitionAssignor],
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            heartbeat_interval_ms=100,
            fetch_max_wait_ms=20,
        )
        await consumer.start()
        return consumer

    def poll(self) -> Polled:
        found = run_in(self._loop, self.consumer.getmany(timeout_ms=POLL_MS))
        values = [cast("bytes", record.value) for each in found.values() for record in each]
        return Polled([each.partition for each in self.consumer.assignment()], values)

    def commit(self) -> None:
        run_in(self._loop, self.consumer.commit())

    def leave(self) -> None:
        run_in(self._loop, self.consumer.stop())

    async def positions(self) -> dict[aiokafka.TopicPartition, int]:
        """The position in each partition that it has."""
        places = self.consumer.assignment()
        return {place: await self.consumer.position(place) for place in places}


class AiokafkaTransactions:
    """A producer with a transactional id."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, bootstrap: str, transactional_id: str
    ) -> None:
        self._loop = loop

        async def start() -> aiokafka.AIOKafkaProducer:
            producer = aiokafka.AIOKafkaProducer(
                bootstrap_servers=bootstrap, transactional_id=transactional_id
            )
            await producer.start()
            return producer

        self._producer = run_in(loop, start())

    def begin(self) -> None:
        run_in(self._loop, self._producer.begin_transaction())

    def send(self, topic: str, records: Records) -> None:
        async def send() -> None:
            promises = [
                await self._producer.send(
                    topic,
                    partition=0,
                    key=record.key,
                    value=record.value,
                    timestamp_ms=record.timestamp,
                )
                for record in records
            ]
            await asyncio.gather(*promises)

        run_in(self._loop, send())

    def send_offsets(self, member: Member) -> None:
        reader = cast("AiokafkaMember", member)

        async def send() -> None:
            offsets = await reader.positions()
            group = reader.consumer._group_id  # noqa: SLF001 - it does not show its group
            await self._producer.send_offsets_to_transaction(offsets, group)

        run_in(self._loop, send())

    def end(self, *, commit: bool) -> None:
        finish = self._producer.commit_transaction if commit else self._producer.abort_transaction
        run_in(self._loop, finish())

    def close(self) -> None:
        run_in(self._loop, self._producer.stop())
