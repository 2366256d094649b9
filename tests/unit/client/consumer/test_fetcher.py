"""The fetcher: prefetching, offset lookups, truncation and errors."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest

from cordwood.client.consumer import fetcher as fetcher_module
from cordwood.client.consumer.fetcher import Fetcher, _RequestedPartition
from cordwood.client.consumer.subscription_state import SubscriptionState, TopicPartitionState
from cordwood.client.network.cluster import LOWER_ANSWERS
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.owned_tasks import OwnedTasks
from cordwood.client.network.runtime import LoopTurn, system_runtime
from cordwood.client.serializers import BYTES
from cordwood.client.settings import ConsumerSettings
from cordwood.core.errors import (
    CorruptMessageError,
    OffsetOutOfRangeError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from cordwood.protocol.messages.metadata import MetadataRequest
from cordwood.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from tests.unit.client.fake_broker import FakeBroker, Hangup, broker, run, topic_id
from tests.unit.client.samples import LONG_MS, T0, batch, consumer, values

T = TypeVar("T")

PARTITIONS = 200
READ = TopicPartition(TopicName("t"), PartitionId(0))


def refused(code: int) -> FetchResponse:
    data = PartitionData(
        partition_index=0,
        error_code=code,
        high_watermark=-1,
        aborted_transactions=None,
        records=None,
    )
    topic = FetchableTopicResponse(topic="t", topic_id=topic_id("t"), partitions=[data])
    return FetchResponse(responses=[topic])


def _hang_up(_: FetchRequest) -> None:
    raise Hangup


def ends(fake: FakeBroker, *, epoch: int, offset: int) -> None:
    """Let the next leader return this end offset for an epoch."""
    end = EpochEndOffset(error_code=0, partition=0, leader_epoch=epoch, end_offset=offset)
    topic = OffsetForLeaderTopicResult(topic="t", partitions=[end])
    fake.script(OffsetForLeaderEpochRequest, lambda _: OffsetForLeaderEpochResponse(topics=[topic]))


@pytest.mark.parametrize("code", (6, 74, 75))
def test_reading_continues_after_a_retriable_error(code: int) -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", batch(b"a"))
            fake.script(FetchRequest, lambda _: refused(code))
            assert await values(reader, 1) == [b"a"]

    run(scene())


def test_reading_continues_after_a_broken_connection() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", batch(b"a"))
            fake.script(FetchRequest, _hang_up)
            assert await values(reader, 1) == [b"a"]

    run(scene())


def test_broker_that_reports_damage_is_an_error_of_poll() -> None:
    """K-B5: CORRUPT_MESSAGE is raised at once, with partition and offset; then it is retried."""

    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", batch(b"a"))
            fake.script(FetchRequest, lambda _: refused(2))
            with pytest.raises(CorruptMessageError, match="t-0 at offset 0"):
                await reader.poll(LONG_MS)
            assert await values(reader, 1) == [b"a"]

    run(scene())


def test_late_answer_of_an_old_leader_is_dropped() -> None:
    """K-B11: two leaders answer for one offset; the second answer is neither data nor an error."""

    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", batch(b"a"))
            reader.seek(T0, 0)
            assert await values(reader, 1) == [b"a"]
            fetcher = reader._fetcher  # noqa: SLF001 - its answers
            position = reader._subscriptions[READ]  # noqa: SLF001 - the same
            assert fetcher is not None
            target = fetcher._target_of(position)._replace(offset=0)  # noqa: SLF001 - the same
            late = _RequestedPartition(position, position.generation, target)
            assert fetcher._current([late]) == {}  # noqa: SLF001 - the same

    run(scene())


def test_permanent_error_is_raised_by_poll() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.script(FetchRequest, lambda _: refused(29))
            with pytest.raises(TopicAuthorizationFailedError, match="t-0"):
                await reader.poll(LONG_MS)

    run(scene())


def test_lost_session_is_opened_again() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", batch(b"a"))
            fake.script(FetchRequest, lambda _: FetchResponse(error_code=70, responses=[]))
            assert await values(reader, 1) == [b"a"]

    run(scene())


def test_unknown_topic_raises_after_the_timeout() -> None:
    async def scene() -> None:
        async with broker() as fake, consumer(fake, default_api_timeout_ms=300) as reader:
            reader.seek(T0, 0)
            with pytest.raises(UnknownTopicOrPartitionError, match="'t'"):
                await reader.poll(LONG_MS)

    run(scene())


def test_epoch_of_a_former_leader_is_not_adopted_while_the_new_one_starts() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake, auto_offset_reset="none") as reader:
            fake.leader_epoch = 5
            fake.append("t", batch(b"a"))
            reader.seek(T0, 0)
            assert await values(reader, 1) == [b"a"]
            fake.leader_epoch = 3  # the metadata of a broker that does not know of epoch 5
            fake.script(FetchRequest, *[lambda _: refused(6)] * 2 * LOWER_ANSWERS)
            while len(fake.requests(MetadataRequest)) < 2 * LOWER_ANSWERS:
                await fake.next_request()
            fake.leader_epoch = 5
            fake.append("t", batch(b"b"))
            assert await values(reader, 1) == [b"b"]
            assert fake.requests(OffsetForLeaderEpochRequest) == []

    run(scene())


def test_unknown_partition_is_rejected_without_a_retry() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            reader.assign([("t", 7)])
            with pytest.raises(UnknownTopicOrPartitionError, match="t-7"):
                await reader.poll(LONG_MS)

    run(scene())


def test_unknown_topic_does_not_delay_the_others() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", batch(b"a"))
            reader.assign([("nowhere", 0), T0])
            assert await values(reader, 1) == [b"a"]

    run(scene())


def test_new_leader_with_a_shorter_log_resets_the_position() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            for value in (b"a", b"lost"):
                fake.append("t", batch(value))
            assert await values(reader, 2) == [b"a", b"lost"]
            fake.leader_epoch = 1
            fake.logs["t", 0].pop()
            fake.ends["t", 0] = 1
            fake.append("t", batch(b"other"))
            ends(fake, epoch=0, offset=1)
            fake.script(FetchRequest, lambda _: refused(74))
            assert await values(reader, 1) == [b"other"]

    run(scene())


@pytest.mark.parametrize("reset", ("earliest", "none"))
def test_new_leader_that_does_not_know_the_epoch_resets_the_position(reset: str) -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake, auto_offset_reset=reset) as reader:
            reader.seek(T0, 0)
            fake.append("t", batch(b"a"))
            assert await values(reader, 1) == [b"a"]
            fake.leader_epoch = 1
            ends(fake, epoch=-1, offset=-1)
            fake.script(FetchRequest, lambda _: refused(74))
            if reset == "none":
                with pytest.raises(OffsetOutOfRangeError, match="no records of leader epoch 0"):
                    await reader.poll(LONG_MS)
            else:
                assert await values(reader, 1) == [b"a"]

    run(scene())


def test_new_leader_with_the_same_log_truncates_no_offsets() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", batch(b"a"))
            assert await values(reader, 1) == [b"a"]
            fake.leader_epoch = 1
            fake.append("t", batch(b"b"))
            ends(fake, epoch=0, offset=1)
            fake.script(FetchRequest, lambda _: refused(74))
            assert await values(reader, 1) == [b"b"]

    run(scene())


class Meddling(OwnedTasks):
    """Task owner that runs a function before the first step of one task."""

    def __init__(self, name: str, meddle: Callable[[], object]) -> None:
        super().__init__()
        self._name = name
        self._meddle = meddle

    def start(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        task = super().start(work)
        if self._name in repr(work):
            self._name = "no other"
            self._meddle()
        return task


@asynccontextmanager
async def fetched(
    fake: FakeBroker, meddle: Callable[[SubscriptionState], object]
) -> AsyncIterator[list[bytes | None]]:
    """Return the first value read from offset 1 on, after interference with the first fetch."""
    settings = ConsumerSettings(bootstrap_servers=(fake.address,), retry_backoff_ms=1)
    client = NetworkClient(settings, system_runtime(), None)
    assignment = SubscriptionState()
    assignment.assign([READ])
    assignment[READ].seek(1)
    client.tasks = Meddling("_fetch", lambda: meddle(assignment))
    fetcher = Fetcher(client, settings, assignment)
    while not assignment[READ].fetched:
        await fetcher.arrived.wait()
    (records, *_) = assignment[READ].fetched
    yield [record.value for record in records.records(BYTES)]
    await client.close()


def test_seek_before_a_fetch_is_sent_is_applied() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake:
            for value in (b"a", b"b"):
                fake.append("t", batch(value))
            async with fetched(fake, lambda all_read: all_read[READ].seek(0)) as found:
                assert found[0] == b"a"

    run(scene())


def test_assignment_may_change_before_a_fetch_has_left() -> None:
    def assign_anew(all_read: SubscriptionState) -> None:
        all_read.assign([READ])
        all_read[READ].seek(0)

    def take_back(all_read: SubscriptionState) -> None:
        all_read.assign([])
        asyncio.get_running_loop().call_soon(assign_anew, all_read)

    async def scene() -> None:
        async with broker(t=1) as fake:
            fake.append("t", batch(b"a"))
            async with fetched(fake, take_back) as found:
                assert found == [b"a"]

    run(scene())


def test_prefetching_stops_when_the_buffer_is_full() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            fake.append("t", batch(b"a"))
            await values(reader, 1)
            for value in (b"b", b"c", b"d", b"e"):
                fake.append("t", batch(value))
            assert await values(reader, 4) == [b"b", b"c", b"d", b"e"]

    run(scene())


def test_cost_of_reading_many_partitions_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """K-B6: a partition that becomes empty does not compare the positions of all others."""
    compared: list[TopicPartitionState] = []
    is_readable = fetcher_module._is_readable  # noqa: SLF001 - it is called once for each position

    def counted(position: TopicPartitionState, now_ms: float) -> bool:
        compared.append(position)
        return is_readable(position, now_ms)

    async def scene() -> None:
        async with broker(t=PARTITIONS) as fake:
            for number in range(PARTITIONS):
                fake.append("t", batch(b"a", b"b"), number)
            async with consumer(fake, fetch_max_wait_ms=500) as reader:
                reader.assign([("t", number) for number in range(PARTITIONS)])
                found = 0
                while found < 2 * PARTITIONS:
                    found += len(await reader.poll(LONG_MS))
                    await LoopTurn()  # the fetcher runs between two polls, as for a thread

    monkeypatch.setattr(fetcher_module, "_is_readable", counted)
    run(scene())

    assert len(compared) < 20 * PARTITIONS
