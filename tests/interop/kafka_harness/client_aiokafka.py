"""aiokafka: the protocol in Python for asyncio, with older versions of most requests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TypeVar, cast

import aiokafka
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError

from tests.interop.kafka_harness.aiokafka_members import AiokafkaMember, AiokafkaTransactions
from tests.interop.kafka_harness.client import (
    CLIENT_LIMIT,
    EARLIEST,
    LATEST,
    PLAIN,
    CannotError,
    Client,
    Member,
    Membership,
    Records,
    RefusedError,
    Sending,
    Transactions,
)
from tests.interop.kafka_harness.spec import Headers, SpecRecord

T = TypeVar("T")


class AiokafkaClient(Client):
    """Its producer, its consumers, its admin client."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self._loop = asyncio.new_event_loop()

    def close(self) -> None:
        self._loop.close()

    def version(self) -> str:
        return cast("str", aiokafka.__version__)

    def produce(
        self, topic: str, records: Records, sending: Sending = PLAIN, *, partition: int = 0
    ) -> None:
        async def send(producer: aiokafka.AIOKafkaProducer) -> None:
            promises = [
                await producer.send(
                    topic,
                    partition=partition,
                    key=record.key,
                    value=record.value,
                    timestamp_ms=record.timestamp,
                    headers=list(record.headers),
                )
                for record in records
            ]
            await asyncio.gather(*promises)

        def producer() -> aiokafka.AIOKafkaProducer:
            return aiokafka.AIOKafkaProducer(
                bootstrap_servers=self.bootstrap,
                compression_type=None if sending.codec == "none" else sending.codec,
                acks=sending.acks,
                enable_idempotence=sending.is_idempotent,
                linger_ms=50,
                max_request_size=CLIENT_LIMIT,
            )

        _run(producer, send)

    def consume(
        self,
        topic: str,
        *,
        partition: int = 0,
        start: int = 0,
        count: int,
        is_committed: bool = False,
    ) -> Records:
        place = aiokafka.TopicPartition(topic, partition)

        async def read(consumer: aiokafka.AIOKafkaConsumer) -> Records:
            consumer.assign([place])
            consumer.seek(place, start)
            return tuple([_seen(await consumer.getone()) for _ in range(count)])

        isolation = "read_committed" if is_committed else "read_uncommitted"
        return _run(lambda: self._consumer(isolation), read)

    def offset(self, topic: str, timestamp: int) -> int:
        place = aiokafka.TopicPartition(topic, 0)

        async def find(consumer: aiokafka.AIOKafkaConsumer) -> int:
            if timestamp == LATEST:
                return cast("int", (await consumer.end_offsets([place]))[place])
            if timestamp == EARLIEST:
                return cast("int", (await consumer.beginning_offsets([place]))[place])
            found = await consumer.offsets_for_times({place: timestamp})
            return cast("int", found[place].offset)

        return _run(self._consumer, find)

    def create_topic(self, topic: str, *, partitions: int, configs: dict[str, str]) -> None:
        wanted = NewTopic(topic, partitions, 1, topic_configs=configs)
        answer = _run(self._admin, lambda admin: admin.create_topics([wanted]))
        _refuse((code, text) for _, code, text in answer.topic_errors)

    def describe_topic(self, topic: str) -> list[int]:
        (answer,) = _run(self._admin, lambda admin: admin.describe_topics([topic]))
        _refuse([(answer["error_code"], topic)])
        return [partition["leader"] for partition in answer["partitions"]]

    def grow_topic(self, topic: str, *, partitions: int) -> None:
        wanted = {topic: NewPartitions(partitions)}
        answer = _run(self._admin, lambda admin: admin.create_partitions(wanted))
        _refuse((code, text) for _, code, text in answer.topic_errors)

    def delete_topic(self, topic: str) -> None:
        answer = _run(self._admin, lambda admin: admin.delete_topics([topic]))
        _refuse((code, name) for name, code in answer.topic_error_codes)

    def config(self, topic: str, name: str) -> str:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        (answer,) = _run(self._admin, lambda admin: admin.describe_configs([resource]))
        code, text, _, _, entries = answer.resources[0]
        _refuse([(code, text)])
        return next(cast("str", entry[1]) for entry in entries if entry[0] == name)

    def set_config(self, topic: str, *, name: str, value: str) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs={name: value})
        (answer,) = _run(self._admin, lambda admin: admin.alter_configs([resource]))
        _refuse((code, text) for code, text, _, _ in answer.resources)

    def delete_records(self, topic: str, before: int) -> int:
        place = aiokafka.TopicPartition(topic, 0)
        wanted = {place: RecordsToDelete(before)}
        answer = _run(self._admin, lambda admin: admin.delete_records(wanted))
        return cast("int", answer[place])

    def describe_cluster(self) -> list[int]:
        answer = _run(self._admin, lambda admin: admin.describe_cluster())
        return [cast("int", broker["node_id"]) for broker in answer["brokers"]]

    def join(self, membership: Membership) -> Member:
        return AiokafkaMember(self._loop, self.bootstrap, membership)

    def open_transactions(self, transactional_id: str) -> Transactions:
        return AiokafkaTransactions(self._loop, self.bootstrap, transactional_id)

    def list_groups(self) -> list[str]:
        answer = _run(self._admin, lambda admin: admin.list_consumer_groups())
        return [cast("str", group) for group, *_ in answer]

    def describe_group(self, group: str) -> tuple[str, int]:
        (answer,) = _run(self._admin, lambda admin: admin.describe_consumer_groups([group]))
        ((code, _, state, _, _, members, *_),) = answer.groups
        _refuse([(code, group)])
        return state.lower(), len(members)

    def delete_group(self, group: str) -> None:
        raise CannotError("does not delete groups")

    def group_offsets(self, group: str, topic: str) -> dict[int, int]:
        found = _run(self._admin, lambda admin: admin.list_consumer_group_offsets(group))
        return {place.partition: offset.offset for place, offset in found.items()}

    def set_group_offset(self, group: str, topic: str, offset: int) -> None:
        raise CannotError("does not change offsets of a group")

    def delete_group_offset(self, group: str, topic: str) -> None:
        raise CannotError("does not change offsets of a group")

    def _consumer(self, isolation: str = "read_uncommitted") -> aiokafka.AIOKafkaConsumer:
        return aiokafka.AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap, group_id=None, isolation_level=isolation
        )

    def _admin(self) -> AIOKafkaAdminClient:
        return AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)


P = TypeVar("P", aiokafka.AIOKafkaProducer, aiokafka.AIOKafkaConsumer, AIOKafkaAdminClient)


def _run(make: Callable[[], P], use: Callable[[P], Awaitable[T]]) -> T:
    """Make a client in a loop of its own, use it, close it."""

    async def run() -> T:
        async with _started(make()) as client:
            return await use(client)

    try:
        return asyncio.run(run())
    except KafkaError as error:
        raise RefusedError(getattr(error, "errno", None), str(error)) from error


@asynccontextmanager
async def _started(client: P) -> AsyncIterator[P]:
    await client.start()
    try:
        yield client
    finally:
        stop = getattr(client, "stop", None) or client.close
        await stop()


def _refuse(answers: Iterable[tuple[int, str]]) -> None:
    for code, text in answers:
        if code:
            raise RefusedError(code, text)


def _seen(record: "aiokafka.ConsumerRecord[bytes | None, bytes | None]") -> SpecRecord:
    return SpecRecord(
        offset=record.offset,
        timestamp=record.timestamp,
        key=record.key,
        value=record.value,
        headers=cast("Headers", tuple(record.headers)),
    )
