"""Our clients and our broker on one loop, over a loopback socket, with logs in memory."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from os import urandom

import pytest

from cordwood.client.aio import Admin, Consumer, Producer
from cordwood.client.consumer.offset_fetcher import EARLIEST, LATEST
from cordwood.client.network.runtime import ClientRuntime, LoopTurn
from cordwood.core.errors import (
    KafkaError,
    MessageTooLargeError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.settings import SettingSource
from cordwood.core.system import LoopScheduler, SystemClock
from cordwood.node.node import Node
from cordwood.observability.exposition import expose
from cordwood.records.compression import Codec
from cordwood.testing.inline_runtime import inline_runtime
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.conftest import Identity
from tests.unit.client.fake_broker import run
from tests.unit.client.samples import LONG_MS, T0, values
from tests.unresolved_batches import SENT_ONCE, time_out_a_written_batch

GIVEN = {"log.dirs": "/logs", "listeners": "PLAINTEXT://127.0.0.1:0"}


@asynccontextmanager
async def running(given: dict[str, str]) -> AsyncIterator[Node]:
    """Yield our broker."""
    clock = SystemClock()
    virtual = VirtualClock(clock.now_ms())
    scheduler = LoopScheduler(asyncio.get_running_loop(), clock)
    files = MemoryFiles()
    runtime = inline_runtime(
        files,
        clock=virtual,
        scheduler=virtual,
        random=SeededRandom(1),
        network_clock=clock,
        network_scheduler=scheduler,
    )
    node = Node([SettingSource("test", given)], runtime)
    await node.start()
    try:
        yield node
    finally:
        await node.stop()


@asynccontextmanager
async def serving(
    *, given: dict[str, str] = GIVEN, tls: ssl.SSLContext | None = None, **topics: int
) -> AsyncIterator[str]:
    """Yield the address of our broker with topics of these partition counts."""
    async with running(given) as node:
        ((host, port),) = node.addresses.values()
        async with Admin(f"{host}:{port}", tls=tls) as admin:
            for name, partitions in topics.items():
                await admin.create_topic(name, partitions=partitions)
        yield f"{host}:{port}"


def sessions(node: Node) -> str:
    """Return the metric of the fetch sessions."""
    lines = "".join(expose(node.metrics)).splitlines()
    return next(line for line in lines if line.startswith("cordwood_fetch_sessions "))


def test_closed_consumer_leaves_no_fetch_session() -> None:
    """K-D6: a closed consumer left its session to the broker, until that evicted it."""

    async def scene() -> tuple[str, str]:
        async with running(GIVEN) as node:
            address = str(node.addresses["PLAINTEXT"])
            async with Admin(address) as admin:
                await admin.create_topic("t")
            async with Producer(address) as producer, reader(address) as consumer:
                await producer.send("t", b"a")
                assert await values(consumer, 1) == [b"a"]
                open_sessions = sessions(node)
            for _ in range(1_000):
                await LoopTurn()
            return open_sessions, sessions(node)

    assert run(scene()) == ("cordwood_fetch_sessions 1", "cordwood_fetch_sessions 0")


def reader(address: str, **options: str) -> Consumer:
    """Return a consumer of topic t's first partition from its beginning."""
    made: Consumer = Consumer(address, auto_offset_reset="earliest", fetch_max_wait_ms=5, **options)  # type: ignore[arg-type]  # by name
    made.assign([T0])
    return made


@pytest.mark.parametrize("codec", tuple(Codec))
def test_records_round_trip(codec: Codec) -> None:
    async def scene() -> None:
        async with serving(t=1) as address:
            async with Producer(address, compression_type=codec.kafka_name) as producer:
                for n in range(20):
                    await producer.send("t", b"%d" % n, key=b"k", headers=[("h", None)])
            async with reader(address) as consumer:
                assert await values(consumer, 20) == [b"%d" % n for n in range(20)]

    run(scene())


def test_consumer_waits_for_a_later_record() -> None:
    async def scene() -> None:
        async with serving(t=1) as address, reader(address) as consumer:
            assert await consumer.position(T0) == 0
            async with Producer(address) as producer:
                await (await producer.send("t", b"later"))
            assert await values(consumer, 1) == [b"later"]

    run(scene())


def test_consumer_begins_at_the_records_of_a_duration() -> None:
    async def scene() -> None:
        async with serving(t=1) as address, Producer(address) as producer:
            hour_ms = 3_600_000
            now_ms = SystemClock().now_ms()
            for n in (3, 2, 1):
                await (await producer.send("t", b"%d" % n, timestamp_ms=now_ms - n * hour_ms))
            given = "by_duration:PT2H30M"
            async with Consumer[bytes, bytes](address, auto_offset_reset=given) as consumer:
                consumer.assign([T0])
                assert await values(consumer, 2) == [b"2", b"1"]

    run(scene())


def test_columns_are_read() -> None:
    async def scene() -> None:
        async with serving(t=1) as address, Producer(address) as producer:
            await (await producer.send("t", b"v"))
            async with (
                reader(address, isolation_level="read_committed") as consumer,
                aclosing(consumer.columns(["value"])) as columns,
            ):
                found = await anext(columns)
            assert found.batch.to_pylist() == [{"value": b"v"}]

    run(scene())


def test_records_are_deleted_and_offsets_returned() -> None:
    async def scene() -> None:
        async with serving(t=1) as address, Admin(address) as admin, Producer(address) as producer:
            for _ in range(5):
                await (await producer.send("t", b"v"))
            await admin.delete_records({T0: 3})
            (first,) = (await admin.list_offsets({T0: EARLIEST})).values()
            (last,) = (await admin.list_offsets({T0: LATEST})).values()
            assert first.offset == 3
            assert last.offset == 5
            async with reader(address) as consumer:
                consumer.seek(T0, 0)
                assert [each.offset for each in await consumer.poll(LONG_MS)] == [3, 4]

    run(scene())


def test_topics_and_settings_are_changed() -> None:
    async def scene() -> None:
        async with serving(t=1) as address, Admin(address) as admin:
            await admin.create_partitions("t", 3)
            await admin.alter_configs(("topic", "t"), change={"retention.ms": "5000"})
            (topic,) = await admin.describe_topics(["t"])
            assert len(topic.partitions) == 3
            assert (await admin.describe_configs(("topic", "t")))["retention.ms"] == "5000"
            with pytest.raises(TopicAlreadyExistsError):
                await admin.create_topic("t")
            await admin.delete_topic("t")
            assert await admin.list_topics() == []

    run(scene())


def test_record_above_max_message_bytes_is_rejected() -> None:
    async def scene() -> None:
        async with serving(t=1) as address, Admin(address) as admin:
            await admin.alter_configs(("topic", "t"), change={"max.message.bytes": "1000"})
            async with Producer(address) as producer:
                with pytest.raises(MessageTooLargeError, match="t-0"):
                    await (await producer.send("t", bytes(5_000)))
                assert (await (await producer.send("t", b"small"))).offset == 0

    run(scene())


def test_records_round_trip_over_tls(identity: Identity) -> None:
    tls = ssl.create_default_context(cadata=identity.certificate)
    given = GIVEN | {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": identity.key,
        "ssl.keystore.certificate.chain": identity.certificate,
    }

    async def scene() -> None:
        async with serving(given=given, tls=tls, t=1) as address:
            async with Producer(address, tls=tls) as producer:
                sent = await producer.send("t", bytes(100_000))
                assert (await sent).offset == 0
            with pytest.raises(KafkaError):
                async with Admin(address, default_api_timeout_ms=1) as stranger:
                    await stranger.list_topics()

    run(scene())


def test_batch_that_was_written_before_its_timeout_is_not_written_twice() -> None:
    async def scene() -> None:
        async with serving(t=1) as address:
            await time_out_a_written_batch(address, "t")
            async with reader(address) as consumer:
                assert await values(consumer, len(SENT_ONCE)) == SENT_ONCE
                assert await consumer.end_offsets([T0]) == {T0: len(SENT_ONCE)}

    run(scene())


@pytest.mark.parametrize("codec", ("none", "zstd"))
def test_batch_above_the_topics_limit_is_split_until_its_records_fit(codec: str) -> None:
    async def scene() -> None:
        async with serving() as address:
            async with Admin(address) as admin:
                await admin.create_topic("t", partitions=1, configs={"max.message.bytes": "2000"})
            options = {"batch_size": 100_000, "linger_ms": 60_000, "compression_type": codec}
            async with Producer(address, **options) as producer:  # type: ignore[arg-type]  # by name
                sizes = [500] * 20 + [3_000] + [500] * 20
                sent = [await producer.send("t", urandom(size)) for size in sizes]
                await producer.flush()
            failed = [each for each in sent if each.exception()]
            assert [sent.index(each) for each in failed] == [20]
            assert isinstance(failed[0].exception(), MessageTooLargeError)
            delivered = [each.result().offset for each in sent if each not in failed]
            assert delivered == list(range(40))

    run(scene())


def test_described_topic_is_the_present_one() -> None:
    """K-B7: another client changes the topic after it was described."""

    async def scene() -> None:
        async with serving(t=1) as address, Admin(address) as asking, Admin(address) as changing:
            (before,) = await asking.describe_topics(["t"])
            await changing.create_partitions("t", 3)
            (after,) = await asking.describe_topics(["t"])
            assert [len(each.partitions) for each in (before, after)] == [1, 3]
            await changing.delete_topic("t")
            with pytest.raises(UnknownTopicOrPartitionError, match="'t'"):
                await asking.describe_topics(["t"])

    run(scene())


@pytest.mark.parametrize(
    "call",
    (
        lambda admin: admin.describe_topics(["missing"]),
        lambda admin: admin.describe_configs(("topic", "missing")),
        lambda admin: admin.alter_configs(("topic", "missing"), change={"retention.ms": "1"}),
        lambda admin: admin.create_partitions("missing", 3),
    ),
)
def test_missing_topic_is_reported_long_before_the_timeout(
    call: Callable[[Admin], Coroutine[object, object, object]],
) -> None:
    """K-B8: the four calls retried for `default_api_timeout_ms`; this test would time out."""

    async def scene() -> None:
        async with serving() as address, Admin(address) as admin:
            with pytest.raises(UnknownTopicOrPartitionError):
                await call(admin)

    run(scene())


@pytest.mark.parametrize("client", ("producer", "consumer"))
def test_deleted_topic_is_not_created_again_for_a_client_that_stopped_using_it(client: str) -> None:
    async def scene() -> list[str]:
        clock = VirtualClock()
        runtime = ClientRuntime(clock, clock, SeededRandom(1))
        async with (
            serving(t=1, stays=1) as address,
            Admin(address) as admin,
            Producer(
                address, runtime=lambda: runtime, linger_ms=0, metadata_max_idle_ms=5_000
            ) as producer,
            Consumer(
                address,
                runtime=lambda: runtime,
                auto_offset_reset="latest",
                metadata_max_idle_ms=5_000,
            ) as consumer,
        ):

            async def use(topic: str) -> None:
                if client == "producer":
                    await (await producer.send(topic, b"v"))
                else:
                    consumer.assign([(topic, 0)])
                    await consumer.position((topic, 0))

            await use("t")
            consumer.assign([])
            clock.advance(seconds=6)
            await admin.delete_topic("t")
            await use("stays")
            return await admin.list_topics()

    assert run(scene()) == ["stays"]
