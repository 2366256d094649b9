"""The asyncio producer against a fake broker."""

import re
from array import array

import pytest

from cordwood.client.producer.batch_result import DeliveryReport
from cordwood.client.producer.partition_queue import max_record_bytes
from cordwood.client.producer.partitioners import RoundRobin
from cordwood.client.producer.producer import Producer
from cordwood.client.serializers import Serializers, to_json
from cordwood.core.errors import InvalidRequestError, SettingError, UnknownTopicOrPartitionError
from cordwood.records.compression import Codec
from cordwood.records.record import Record
from cordwood.records.record_batch import RecordBatch
from tests.unit.client.fake_broker import FakeBroker, broker, run
from tests.unit.records.encode_samples import encoded


def record(fake: FakeBroker, partition: int = 0) -> Record:
    (data,) = fake.logs["t", partition]
    (found,) = RecordBatch(data).records()
    return found


def test_record_arrives_as_it_was_sent() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, Producer(fake.address) as producer:
            sent = await producer.send(
                "t", "v", key=b"k", timestamp_ms=99, headers=[("h", b"x"), ("n", None)]
            )
            assert await sent == DeliveryReport("t", 0, 0, 99)
            found = record(fake)
            assert found.key == b"k"
            assert found.value == b"v"
            assert found.timestamp == 99
            assert found.headers == (("h", b"x"), ("n", None))

    run(scene())


def test_key_decides_the_partition_as_javas_does() -> None:
    async def scene() -> None:
        async with broker(t=10) as fake, Producer(fake.address) as producer:
            sent = await producer.send("t", b"v", key=b"21")
            assert (await sent).partition == (-973932308 & 0x7FFFFFFF) % 10

    run(scene())


def test_partition_is_the_senders_or_the_partitioners_choice() -> None:
    async def scene() -> None:
        turn = RoundRobin()
        async with broker(t=4) as fake, Producer(fake.address, partitioner=turn) as producer:
            sent = [await producer.send("t", b"v", key=b"k") for _ in range(3)]
            sent.append(await producer.send("t", b"v", partition=3))
            assert [(await each).partition for each in sent] == [0, 1, 2, 3]

    run(scene())


def test_batch_arrives_with_all_its_records() -> None:
    async def scene() -> None:
        async with broker(t=2) as fake, Producer(fake.address) as producer:
            first = await producer.send_batch("t", encoded(b"a", b"b"), partition=1)
            second = await producer.send_batch("t", encoded(b"c"), partition=1)
            assert await first == DeliveryReport("t", 1, 0, 99)
            assert await second == DeliveryReport("t", 1, 2, 99)

    run(scene())


def test_batch_without_a_partition_is_sent_to_one_partition() -> None:
    async def scene() -> None:
        async with broker(t=4) as fake, Producer(fake.address) as producer:
            await (await producer.send_batch("t", encoded(b"a", b"b")))
            assert [RecordBatch(data).count for (data,) in fake.logs.values()] == [2]

    run(scene())


def test_partitions_of_a_topic_are_counted() -> None:
    async def scene() -> None:
        async with broker(t=4) as fake, Producer(fake.address) as producer:
            assert await producer.partition_count("t") == 4

    run(scene())


def test_serializers_make_bytes_and_leave_none() -> None:
    async def scene() -> None:
        given = Serializers(str.encode, to_json)
        async with broker(t=1) as fake, Producer(fake.address, serializers=given) as producer:
            await (await producer.send("t", None, key="k"))
            await (await producer.send("t", {"a": 1}))
            values = [each.value for data in fake.logs["t", 0] for each in _records(data)]
            assert values == [None, b'{"a":1}']

    run(scene())


def _records(data: bytes) -> list[Record]:
    return list(RecordBatch(data).records())


@pytest.mark.parametrize("codec", tuple(Codec))
def test_batches_are_compressed_with_the_configured_codec(codec: Codec) -> None:
    async def scene() -> None:
        async with broker(t=1) as fake:
            async with Producer(fake.address, compression_type=codec.kafka_name) as producer:
                await (await producer.send("t", bytes(1_000)))
            assert RecordBatch(fake.logs["t", 0][0]).codec is codec
            assert record(fake).value == bytes(1_000)

    run(scene())


def test_acks_0_report_no_offset() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake:
            free = Producer(fake.address, acks="0", enable_idempotence=False)
            async with free as producer:
                report = await (await producer.send("t", b"v", timestamp_ms=9))
            assert report == DeliveryReport("t", 0, -1, 9)
            assert record(fake).value == b"v"

    run(scene())


def test_close_with_acks_0_loses_no_record() -> None:
    large = bytes(32 << 20)  # more than the socket buffers of both ends

    async def scene() -> None:
        async with broker(t=1) as fake:
            free = Producer(
                fake.address, acks="0", enable_idempotence=False, max_request_size=64 << 20
            )
            async with free as producer:
                await producer.send("t", large)
        assert record(fake).value == large

    run(scene())


def test_error_for_an_unknown_partition_names_the_range() -> None:
    async def scene() -> None:
        async with broker(t=2) as fake, Producer(fake.address) as producer:
            with pytest.raises(InvalidRequestError, match="from 0 to 1"):
                await producer.send("t", b"v", partition=2)

    run(scene())


def test_unknown_topic_is_rejected_after_max_block_ms() -> None:
    async def scene() -> None:
        async with broker() as fake, Producer(fake.address, max_block_ms=300) as producer:
            with pytest.raises(UnknownTopicOrPartitionError, match="'t'"):
                await producer.send("t", b"v")

    run(scene())


def test_close_sends_lingering_records() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake:
            async with Producer(fake.address, linger_ms=60_000) as producer:
                sent = await producer.send("t", b"v")
            assert sent.done()
            assert record(fake).value == b"v"

    run(scene())


def test_kafkas_names_make_a_producer() -> None:
    producer: Producer = Producer.from_config({"bootstrap.servers": "a:1", "linger.ms": "7"})

    assert producer.settings.linger_ms == 7
    with pytest.raises(SettingError, match=r"did you mean batch\.size"):
        Producer.from_config({"batch.sizes": "1"})


def test_headers_as_a_dict_are_rejected() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, Producer(fake.address) as producer:
            with pytest.raises(TypeError, match="list of pairs"):
                await producer.send("t", b"v", headers={"h": b"x"})  # type: ignore[arg-type]  # wrong on purpose

    run(scene())


def test_producer_that_was_not_started_raises() -> None:
    async def scene() -> None:
        with pytest.raises(InvalidRequestError, match="async with"):
            await Producer("a:1").send("t", b"v")

    run(scene())


@pytest.mark.parametrize(
    ("options", "text"),
    (
        ({"headers": [("h", 5)]}, "header 'h' is int; give bytes"),
        ({"headers": [(b"h", b"")]}, "the header key b'h' is bytes; give text"),
        ({"timestamp_ms": True}, "timestamp_ms is True; give whole milliseconds"),
        ({"timestamp_ms": 1.5}, "timestamp_ms is 1.5; give whole milliseconds"),
    ),
)
def test_record_of_a_wrong_type_is_rejected_by_name(options: dict[str, object], text: str) -> None:
    """K-D3 and K-D4."""

    async def scene() -> None:
        async with broker(t=1) as fake, Producer(fake.address) as producer:
            with pytest.raises(TypeError, match=re.escape(text)):
                await producer.send("t", b"v", **options)  # type: ignore[arg-type]  # wrong on purpose

    run(scene())


def test_serializer_that_returns_text_is_rejected_by_name() -> None:
    async def scene() -> None:
        wrong: Serializers[bytes, int] = Serializers(bytes, str)  # type: ignore[arg-type]  # wrong on purpose
        async with broker(t=1) as fake, Producer(fake.address, serializers=wrong) as producer:
            with pytest.raises(TypeError, match="the value is str; give bytes"):
                await producer.send("t", 5)

    run(scene())


def test_size_of_a_view_of_integers_is_in_bytes() -> None:
    """K-D5: the limits count bytes, not items."""
    numbers = memoryview(array("q", range(100)))

    assert max_record_bytes(None, numbers, headers=()) > 800
    assert max_record_bytes(None, None, headers=[("h", numbers)]) > 800  # type: ignore[list-item]  # a view
