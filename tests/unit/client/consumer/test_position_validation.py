"""Consumers whose partition's leader restarts, loses records or metadata, or is recreated."""

import logging

import pytest

from cordwood.client.consumer.consumer import Consumer
from cordwood.core.errors import OffsetOutOfRangeError
from cordwood.protocol.messages.fetch import FetchRequest
from cordwood.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from cordwood.protocol.messages.metadata import MetadataRequest
from cordwood.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from cordwood.protocol.schema import Response
from tests.unit.client.fake_broker import NODE, FakeBroker, Hangup, broker, run
from tests.unit.client.samples import LONG_MS, T0, batch, consumer, fetched, values


def hang_up(_: object) -> Response:
    raise Hangup


async def read_two(fake: FakeBroker, reader: Consumer[bytes, bytes]) -> None:
    """Read two batches of leader epoch 5."""
    fake.leader_epoch = 5
    reader.seek(T0, 0)
    for value in (b"a", b"b"):
        fake.append("t", batch(value))
    assert await values(reader, 2) == [b"a", b"b"]


async def fetch_at(fake: FakeBroker, *, offset: int) -> None:
    """Wait for a fetch in the broker's leader epoch."""
    wanted = (offset, fake.leader_epoch)
    while True:
        request = await fake.next_request()
        if isinstance(request, FetchRequest) and request.topics:
            asked = request.topics[0].partitions[0]
            if (asked.fetch_offset, asked.current_leader_epoch) == wanted:
                return


def test_position_of_a_lost_epoch_is_reset_when_the_metadata_stay_below_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            await read_two(fake, reader)
            fake.truncate("t", 0)
            fake.leader_epoch = 3
            fake.append("t", batch(b"other"))
            assert await values(reader, 1) == [b"other"]

    with caplog.at_level(logging.WARNING):
        run(scene())

    assert "t-0: leader epoch 3 of broker 1 is adopted, below the known epoch 5" in caplog.text
    assert "t-0: the leader has no records of leader epoch 5" in caplog.text


def test_lower_epoch_is_adopted_from_metadata_without_a_leader() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            await read_two(fake, reader)
            fake.leader, fake.leader_epoch = -1, 6
            while not isinstance(await fake.next_request(), MetadataRequest):
                pass
            while not isinstance(await fake.next_request(), MetadataRequest):
                pass
            fake.leader, fake.leader_epoch = NODE, 5
            fake.append("t", batch(b"c"))
            assert await values(reader, 1) == [b"c"]

    run(scene())


def test_lost_epoch_is_raised_without_a_reset() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake, auto_offset_reset="none") as reader:
            await read_two(fake, reader)
            fake.leader_epoch = 3
            fake.truncate("t", 0)
            for _ in range(2):
                with pytest.raises(OffsetOutOfRangeError, match="no records of leader epoch 5"):
                    await reader.poll(LONG_MS)
            reader.seek(T0, 0)
            fake.append("t", batch(b"other"))
            assert await values(reader, 1) == [b"other"]

    run(scene())


def test_lower_epoch_with_the_same_records_loses_no_position() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            await read_two(fake, reader)
            fake.leader_epoch = 9
            fake.append("t", batch(b"c"))
            assert await values(reader, 1) == [b"c"]
            fake.leader_epoch = 8  # metadata from before, and records of epoch 9
            fake.append("t", batch(b"d"))
            assert await values(reader, 1) == [b"d"]
            asked = fake.requests(OffsetForLeaderEpochRequest)[-1].topics[0].partitions[0]
            assert (asked.leader_epoch, asked.current_leader_epoch) == (9, 8)

    run(scene())


@pytest.mark.parametrize("reset", ("earliest", "none"))
def test_truncation_above_the_returned_records_drops_prefetched_ones_only(reset: str) -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake, auto_offset_reset=reset) as reader:
            fake.append("t", batch(b"a", b"b"))
            fake.append("t", batch(b"lost"))
            reader.seek(T0, 0)
            (first,) = await reader.poll(LONG_MS, max_records=1)
            assert first.value == b"a"
            fake.leader_epoch = 1
            fake.truncate("t", 2)
            fake.append("t", batch(b"other"))
            await fetch_at(fake, offset=1)
            assert await values(reader, 2) == [b"b", b"other"]

    run(scene())


def test_truncation_below_the_position_is_raised_until_a_seek() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake, auto_offset_reset="none") as reader:
            await read_two(fake, reader)
            fake.leader_epoch = 6
            fake.truncate("t", 1)
            for value in (b"x", b"y"):
                fake.append("t", batch(value))
            for _ in range(2):
                with pytest.raises(OffsetOutOfRangeError, match="truncated to offset 1, below"):
                    await reader.poll(LONG_MS)
            reader.seek(T0, 1)
            assert await values(reader, 2) == [b"x", b"y"]

    run(scene())


def test_position_that_moves_during_its_validation_is_validated_again() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake, auto_offset_reset="none") as reader:
            await read_two(fake, reader)
            position = reader._state_of(T0)  # noqa: SLF001 - what its fetcher moves

            def late_fetch(request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
                answer = fake.ended(request)
                fake.append("t", batch(b"c"))
                position.add_fetched(fetched(fake.logs["t", 0][-1], offset=2))
                fake.append("t", batch(b"d"))
                return answer

            fake.script(OffsetForLeaderEpochRequest, late_fetch)
            fake.leader_epoch = 6
            assert await values(reader, 2) == [b"c", b"d"]
            asked = fake.requests(OffsetForLeaderEpochRequest)
            assert [each.topics[0].partitions[0].leader_epoch for each in asked] == [5, 6]

    run(scene())


def test_end_that_was_looked_up_is_validated_before_the_first_record() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake, auto_offset_reset="latest") as reader:
            for value in (b"a", b"lost"):
                fake.append("t", batch(value))
            assert await reader.position(T0) == 2
            fake.leader_epoch = 1
            fake.truncate("t", 1)
            for value in (b"b", b"c"):
                fake.append("t", batch(value))
            assert await values(reader, 2) == [b"b", b"c"]

    run(scene())


def test_end_that_was_looked_up_before_a_restart_is_validated() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake, auto_offset_reset="latest") as reader:
            for value in (b"a", b"lost"):
                fake.append("t", batch(value))

            def restart(request: ListOffsetsRequest) -> ListOffsetsResponse:
                response = fake.listed(request)
                fake.leader_epoch = 1
                fake.truncate("t", 1)
                for value in (b"b", b"c"):
                    fake.append("t", batch(value))
                return response

            fake.script(ListOffsetsRequest, restart)
            assert await values(reader, 2) == [b"b", b"c"]

    run(scene())


@pytest.mark.parametrize("reset", ("earliest", "none"))
def test_recreated_topic_resets_the_position(reset: str) -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake, auto_offset_reset=reset) as reader:
            await read_two(fake, reader)
            fake.recreate("t")
            for value in (b"x", b"y", b"z"):
                fake.append("t", batch(value))
            if reset == "none":
                with pytest.raises(OffsetOutOfRangeError, match="another one has the name"):
                    await reader.poll(LONG_MS)
                reader.seek(T0, 0)
            assert await values(reader, 3) == [b"x", b"y", b"z"]

    run(scene())


def test_position_survives_the_metadata_of_a_broker_with_the_replaced_topic() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake, auto_offset_reset="none") as reader:
            await read_two(fake, reader)
            outdated = fake.metadata(MetadataRequest(topics=None))
            fake.recreate("t")
            for value in (b"x", b"y"):
                fake.append("t", batch(value))
            with pytest.raises(OffsetOutOfRangeError, match="another one has the name"):
                await reader.poll(LONG_MS)
            reader.seek(T0, 0)
            assert await values(reader, 2) == [b"x", b"y"]
            fake.script(MetadataRequest, lambda _: outdated)
            fake.script(FetchRequest, hang_up)
            fake.append("t", batch(b"z"))
            assert await values(reader, 1) == [b"z"]

    run(scene())
