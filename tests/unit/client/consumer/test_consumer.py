"""The asyncio consumer against a fake broker."""

import asyncio
from contextlib import aclosing

import pytest

from cordwood.client.consumer.consumer import Consumer
from cordwood.client.network.runtime import LoopTurn
from cordwood.client.serializers import Deserializers, from_json, text
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import (
    CorruptMessageError,
    InvalidRecordError,
    InvalidRequestError,
    OffsetOutOfRangeError,
)
from cordwood.protocol.messages.fetch import FetchRequest
from cordwood.protocol.messages.metadata import MetadataRequest
from cordwood.records.batch_builder import BatchBuilder
from tests.unit.client.fake_broker import broker, run
from tests.unit.client.samples import LONG_MS, T0, batch, consumer, marker, values


def test_records_are_read_in_order_from_the_beginning() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", batch(b"a", b"b"))
            fake.append("t", batch(b"c"))
            assert await values(reader, 3) == [b"a", b"b", b"c"]
            assert await reader.position(T0) == 3

    run(scene())


def test_poll_returns_at_most_max_records() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", batch(b"a", b"b", b"c"))
            assert len(await reader.poll(LONG_MS, max_records=2)) == 2
            assert await reader.position(T0) == 2
            assert [each.value for each in await reader.poll(LONG_MS)] == [b"c"]

    run(scene())


def test_poll_without_assignment_is_rejected() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            reader.assign([])
            with pytest.raises(InvalidRequestError, match="call `assign` first"):
                await reader.poll(LONG_MS)

    run(scene())


def test_poll_returns_no_records_at_the_end() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            assert await reader.poll(20) == []

    run(scene())


def test_reading_continues_at_the_seeked_offset() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            for value in (b"a", b"b", b"c"):
                fake.append("t", batch(value))
            reader.seek(T0, 2)
            assert await values(reader, 1) == [b"c"]
            reader.seek(T0, 1)
            assert await values(reader, 2) == [b"b", b"c"]
            reader.seek_to_beginning(T0)
            assert await values(reader, 3) == [b"a", b"b", b"c"]

    run(scene())


def test_end_offset_is_that_of_the_next_record() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake, auto_offset_reset="latest") as reader:
            fake.append("t", batch(b"old"))
            reader.seek_to_end()
            assert await reader.position(T0) == 1
            fake.append("t", batch(b"new"))
            assert await values(reader, 1) == [b"new"]

    run(scene())


def test_iteration_yields_records_without_end() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", batch(b"a", b"b"))
            async for record in reader:
                if record.value == b"b":
                    return

    run(scene())


def test_paused_partition_returns_no_records() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", batch(b"a"))
            reader.pause()
            assert await reader.poll(20) == []
            reader.resume()
            assert await values(reader, 1) == [b"a"]

    run(scene())


def test_deserializers_make_values_and_leave_none() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake:
            builder = BatchBuilder()
            builder.append(b"k", b'{"a":1}')
            builder.append(None, None)
            fake.append("t", builder.build())
            made = Deserializers(text, from_json)
            async with Consumer(
                fake.address, deserializers=made, auto_offset_reset="earliest"
            ) as reader:
                reader.assign([T0])
                found = await reader.poll(LONG_MS)
                assert [(each.key, each.value) for each in found] == [("k", {"a": 1}), (None, None)]

    run(scene())


def test_invalid_value_is_raised_after_earlier_records_and_can_be_skipped() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake:
            fake.append("t", batch(b"1", b"bad", b"3"))
            made = Deserializers(text, int)
            async with Consumer(
                fake.address, deserializers=made, auto_offset_reset="earliest"
            ) as reader:
                reader.assign([T0])
                assert [each.value for each in await reader.poll(LONG_MS)] == [1]
                with pytest.raises(ValueError, match="bad"):
                    await reader.poll(LONG_MS)
                reader.seek(T0, await reader.position(T0) + 1)
                assert [each.value for each in await reader.poll(LONG_MS)] == [3]

    run(scene())


def test_damage_is_raised_by_each_poll_after_the_records_before_it() -> None:
    """K-B5: the error names partition and offset, and a repaired batch is read."""

    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", batch(b"a"))
            fake.append("t", batch(b"b"))
            sound = fake.logs["t", 0][1]
            fake.logs["t", 0][1] = sound[:-1] + b"!"
            assert [each.value for each in await reader.poll(LONG_MS)] == [b"a"]
            for _ in range(2):
                with pytest.raises(CorruptMessageError, match="t-0: the batch at offset 1"):
                    await reader.poll(LONG_MS)
            fake.logs["t", 0][1] = sound
            assert [each.value for each in await reader.poll(LONG_MS)] == [b"b"]

    run(scene())


def test_invalid_record_names_partition_and_offset() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake, check_crcs=False) as reader:
            fake.append("t", batch(b"a"))
            sound = fake.logs["t", 0][0]
            fake.logs["t", 0][0] = sound[:61] + b"\x02" + sound[62:]
            with pytest.raises(InvalidRecordError) as caught:
                await reader.poll(LONG_MS)
            assert "t-0 at offset 0" in caught.value.__notes__[0]

    run(scene())


def test_offset_out_of_range_is_reset_by_policy() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", batch(b"a"))
            reader.seek(T0, 500)
            assert await values(reader, 1) == [b"a"]

    run(scene())


def test_offset_out_of_range_raises_without_a_reset_policy() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake, auto_offset_reset="none") as reader:
            reader.seek(T0, 500)
            with pytest.raises(OffsetOutOfRangeError, match="no offset 500"):
                await reader.poll(LONG_MS)

    run(scene())


def test_missing_position_raises_without_a_reset_policy() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake, auto_offset_reset="none") as reader:
            with pytest.raises(OffsetOutOfRangeError, match="no position"):
                await reader.position(T0)

    run(scene())


def test_offsets_are_looked_up() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", batch(b"a", b"b"))
            (place,) = partitions_of([T0])
            assert await reader.beginning_offsets([T0]) == {place: 0}
            assert await reader.end_offsets([T0]) == {place: 2}
            assert (await reader.offsets_for_times({T0: 5}))[place] is not None

    run(scene())


@pytest.mark.parametrize("wrong", (lambda c: c.seek(T0, -1), lambda c: c.seek_to_timestamp(-5)))
def test_invalid_position_is_rejected(wrong: object) -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            with pytest.raises(InvalidRequestError):
                wrong(reader)  # type: ignore[operator]  # one of the above

    run(scene())


def test_assignment_is_returned() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            assert reader.assignment() == tuple(partitions_of([T0]))

    run(scene())


def test_consumer_that_was_not_started_raises() -> None:
    async def scene() -> None:
        with pytest.raises(InvalidRequestError, match="async with"):
            await Consumer("a:1").poll()

    run(scene())


def test_columns_hold_the_same_records() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", batch(b"a", b"b"))
            reader.seek(T0, 1)
            async with aclosing(reader.columns(["offset", "value"])) as columns:
                found = await anext(columns)
                assert found.batch.to_pylist() == [{"offset": 1, "value": b"b"}]
                fake.append("t", batch(b"c"))
                await anext(columns)
                assert await reader.position(T0) == 2

    run(scene())


def test_record_sets_advance_the_position_over_batches_without_records() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", batch(b"a"))
            fake.append("t", marker(1, 7, is_commit=True))
            async with aclosing(reader.record_sets()) as record_sets:
                while (await anext(record_sets)).end[0] < 2:
                    pass
                fake.append("t", batch(b"b"))
                await anext(record_sets)
                assert await reader.position(T0) == 2

    run(scene())


def test_second_poll_is_rejected_and_close_ends_the_first() -> None:
    """K-B9: a call does not wait past its timeout, nor past the end of the consumer."""

    async def scene() -> None:
        async with broker(t=1) as fake:
            reader = consumer(fake)
            await reader.start()
            loop = asyncio.get_running_loop()
            first = loop.create_task(anext(reader.record_sets()))
            await LoopTurn()
            with pytest.raises(InvalidRequestError, match="another call waits for records"):
                await reader.poll(LONG_MS)
            await reader.close()
            with pytest.raises(InvalidRequestError, match="the consumer is closed"):
                await first

    run(scene())


def test_poll_waits_on_after_a_fetch_of_markers() -> None:
    """K-C4: a fetch without records for the reader does not end the wait."""

    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", marker(0, 7, is_commit=True))
            polled = asyncio.get_running_loop().create_task(reader.poll(LONG_MS))
            while await reader.end_offsets([T0]) and len(fake.requests(FetchRequest)) < 3:
                await LoopTurn()
            fake.append("t", batch(b"a"))
            assert [each.value for each in await polled] == [b"a"]

    run(scene())


def test_poll_for_no_records_is_rejected() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            with pytest.raises(InvalidRequestError, match="max_records is 0"):
                await reader.poll(LONG_MS, max_records=0)

    run(scene())


@pytest.mark.parametrize("is_allowed", (True, False))
def test_setting_decides_whether_a_consumer_creates_topics(*, is_allowed: bool) -> None:
    """K-C8: a consumer created deleted topics again, and had no setting against it."""

    async def scene() -> None:
        async with (
            broker(t=1) as fake,
            consumer(fake, allow_auto_create_topics=is_allowed) as reader,
        ):
            assert await reader.position(T0) == 0
            asked = fake.requests(MetadataRequest)
            assert {each.allow_auto_topic_creation for each in asked} == {is_allowed}

    run(scene())
