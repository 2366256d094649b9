"""Tests of fetches over several partitions and of their long poll."""

import asyncio
import errno
from collections.abc import Callable

import pytest

from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.partitions.delayed_fetch import (
    FetchParams,
    PartitionFetchResult,
    fetch,
    isolation_of,
    release,
)
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_fetch import PartitionFetch
from cordwood.core.errors import (
    FencedLeaderEpochError,
    OffsetOutOfRangeError,
    UnknownTopicOrPartitionError,
)
from cordwood.storage.log.log_read import FetchIsolation, LogRead
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import log_creation
from cordwood.testing.memory_files import MemorySlice
from tests.unit.broker.broker_samples import BrokerHarness, loop_turns, meanwhile, run, turns
from tests.unit.storage.log_samples import batch, lead, offsets
from tests.unit.storage.manager_samples import partition

SIZE = len(batch())
NO_WAIT = FetchParams(max_bytes=1 << 20, min_bytes=1, max_wait_ms=0)
WAIT = NO_WAIT._replace(max_wait_ms=500)
UNKNOWN = UnknownTopicOrPartitionError("nobody knows it")


def append(to: Partition, *sets: bytearray) -> None:
    for each in sets or (batch(),):
        to.append(memoryview(each))


def scene(
    harness: BrokerHarness,
    *wanted: PartitionFetch,
    limits: FetchParams = WAIT,
    steps: tuple[Callable[[], object], ...] = (),
) -> tuple[list[bool], list[PartitionFetchResult]]:
    """Fetch while steps run; return whether it was complete before each step, and the results."""
    fetching = fetch(
        wanted,
        limits,
        turns=loop_turns(),
        clock=harness.time,
        scheduler=harness.time,
        stopping=harness.connection.stopping,
    )
    return run(meanwhile(fetching, *steps))


def wanted(source: Partition, offset: int = 0, max_bytes: int = 1 << 20) -> PartitionFetch:
    return PartitionFetch(source, offset, max_bytes)


def read(found: PartitionFetchResult) -> list[tuple[int, int]]:
    assert found.read is not None
    return offsets(found.read)


def wait_over(harness: BrokerHarness) -> Callable[[], object]:
    return lambda: harness.time.advance(ms=500)


def test_fetch_reads_all_partitions_immediately() -> None:
    harness = BrokerHarness()
    first, second = harness.host(0, 0), harness.broker.partitions.get("orders", 1)
    append(first, batch(2))
    append(second)

    _, found = scene(harness, wanted(first), wanted(second))

    assert [read(each) for each in found] == [[(0, 1)], [(0, 0)]]


def test_fetch_without_wait_time_returns_no_bytes() -> None:
    harness = BrokerHarness()

    _, (found,) = scene(harness, wanted(harness.host()), limits=NO_WAIT)

    assert (found.length, found.error) == (0, None)


def test_fetch_waits_for_the_first_record() -> None:
    harness = BrokerHarness()
    orders = harness.host()

    over, (found,) = scene(harness, wanted(orders), steps=(lambda: append(orders),))

    assert (over, read(found)) == ([False], [(0, 0)])


def test_fetch_waits_until_all_partitions_together_have_enough() -> None:
    harness = BrokerHarness()
    first, second = harness.host(0, 0), harness.broker.partitions.get("orders", 1)
    limits = WAIT._replace(min_bytes=2 * SIZE)

    over, found = scene(
        harness,
        wanted(first),
        wanted(second),
        limits=limits,
        steps=(lambda: append(second), lambda: append(first)),
    )

    assert over == [False, False]
    assert [each.length for each in found] == [SIZE, SIZE]


def test_fetch_returns_the_read_bytes_when_its_time_is_over() -> None:
    harness = BrokerHarness()
    orders = harness.host()
    append(orders)

    over, (found,) = scene(
        harness,
        wanted(orders),
        limits=WAIT._replace(min_bytes=1000),
        steps=(lambda: harness.time.advance(ms=499), lambda: harness.time.advance(ms=1)),
    )

    assert (over, read(found)) == ([False, False], [(0, 0)])


def test_fetch_waits_on_the_time_of_the_network_not_of_the_logs() -> None:
    harness = BrokerHarness()

    over, _ = scene(
        harness,
        wanted(harness.host()),
        steps=(lambda: harness.storage.clock.advance(days=7), wait_over(harness)),
    )

    assert over == [False, False]


def test_fetch_ends_immediately_when_its_connection_is_closed() -> None:
    harness = BrokerHarness()

    over, (found,) = scene(
        harness, wanted(harness.host()), steps=(harness.connection.stopping.fire, lambda: None)
    )

    assert (over, found.length) == ([False, True], 0)


def test_fetch_ends_immediately_when_its_topic_is_deleted() -> None:
    harness = BrokerHarness()
    orders = harness.host()

    over, (found,) = scene(
        harness,
        wanted(orders),
        steps=(harness.drop, lambda: None),
    )

    assert over == [False, True]
    assert isinstance(found.error, UnknownTopicOrPartitionError)


def test_fetch_ends_immediately_when_the_directory_fails() -> None:
    harness = BrokerHarness()
    orders, directory = harness.host(), harness.manager.directories[0]

    over, (found,) = scene(
        harness,
        wanted(orders),
        steps=(lambda: harness.manager.fail(directory, OSError(errno.EIO, "gone")), lambda: None),
    )

    assert (over, found.error is not None and found.error.code) == ([False, True], 56)


def test_fetch_out_of_range_does_not_wait_and_returns_the_other_partitions() -> None:
    harness = BrokerHarness()
    first, second = harness.host(0, 0), harness.broker.partitions.get("orders", 1)
    append(second)
    limits = WAIT._replace(min_bytes=1000)

    _, found = scene(harness, wanted(first, 5), wanted(second), limits=limits)

    assert isinstance(found[0].error, OffsetOutOfRangeError)
    assert read(found[1]) == [(0, 0)]


def test_unknown_partition_does_not_end_the_wait_of_the_others() -> None:
    harness = BrokerHarness()

    over, found = scene(
        harness, PartitionFetch(UNKNOWN, 0, 1), wanted(harness.host()), steps=(wait_over(harness),)
    )

    assert (over, found[0].error) == ([False], UNKNOWN)


@pytest.mark.parametrize("asked", ((), (PartitionFetch(UNKNOWN, 0, 1),)))
def test_fetch_without_a_hosted_partition_does_not_wait(asked: tuple[PartitionFetch, ...]) -> None:
    _, found = scene(BrokerHarness(), *asked)

    assert len(found) == len(asked)


def test_fetch_with_a_fenced_epoch_does_not_wait() -> None:
    harness = BrokerHarness()

    _, (found,) = scene(harness, PartitionFetch(harness.host(3), 0, 1, leader_epoch=2))

    assert found.error is not None
    assert found.error.code == 74


def test_fetch_returns_the_divergence_of_the_fetcher_s_log() -> None:
    harness = BrokerHarness()
    lead(log_creation.create(harness.manager, partition(), topic_id=None), batch(2), epoch=1)

    _, (found,) = scene(harness, PartitionFetch(harness.host(2), 5, 1, last_epoch=1))

    assert (found.divergence, found.length) == ((1, 2), 0)
    assert found.read is not None
    assert found.read.high_watermark == 2


def test_quirk_17_first_batch_is_returned_whole_and_later_ones_only_within_the_limit() -> None:
    harness = BrokerHarness()
    first, second = harness.host(0, 0), harness.broker.partitions.get("orders", 1)
    append(first)
    append(second)

    _, found = scene(harness, wanted(first, max_bytes=1), wanted(second, max_bytes=1))

    assert [each.length for each in found] == [SIZE, 0]


def test_fetch_stays_within_its_bytes_over_all_partitions() -> None:
    harness = BrokerHarness()
    first, second = harness.host(0, 0), harness.broker.partitions.get("orders", 1)
    append(first, batch(), batch())
    append(second, batch(), batch())

    _, found = scene(
        harness, wanted(first), wanted(second), limits=WAIT._replace(max_bytes=3 * SIZE)
    )

    assert [each.length for each in found] == [2 * SIZE, SIZE]


def test_fetch_that_ends_at_a_segment_does_not_wait_for_more() -> None:
    harness = BrokerHarness(LogConfig(segment_bytes=SIZE))
    orders = harness.host()
    append(orders, batch(), batch())

    _, (found,) = scene(harness, wanted(orders), limits=WAIT._replace(min_bytes=2 * SIZE))

    assert read(found) == [(0, 0)]


def test_cancelled_fetch_releases_its_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness, released = BrokerHarness(), list[int]()
    orders = harness.host()
    append(orders)
    monkeypatch.setattr(MemorySlice, "release", lambda each: released.append(each.length))
    limits = WAIT._replace(min_bytes=1000)

    async def cancelled() -> None:
        asked = fetch(
            [wanted(orders)],
            limits,
            turns=loop_turns(),
            clock=harness.time,
            scheduler=harness.time,
            stopping=harness.connection.stopping,
        )
        async with asyncio.TaskGroup() as group:
            task = group.create_task(asked)
            await turns()
            task.cancel()

    run(cancelled())

    assert released == [SIZE]
    assert harness.time.next_call_ms() is None


def test_released_slices_cannot_be_read() -> None:
    harness = BrokerHarness()
    orders = harness.host()
    append(orders)
    _, found = scene(harness, wanted(orders))

    release(found)

    assert found[0].read is not None
    assert found[0].read.slice is not None
    with pytest.raises(ValueError, match="released"):
        found[0].read.slice.read()


def test_read_committed_ends_at_the_last_stable_offset() -> None:
    harness = BrokerHarness()
    orders = harness.host()
    append(orders, batch(2))

    _, (found,) = scene(
        harness, wanted(orders), limits=WAIT._replace(isolation=FetchIsolation.TXN_COMMITTED)
    )

    assert found.read is not None
    assert (found.read.last_stable, found.read.aborted) == (2, ())


def test_fetched_bytes_are_counted() -> None:
    harness = BrokerHarness()
    orders = harness.host()
    append(orders)

    scene(harness, wanted(orders), wanted(orders, 1), limits=NO_WAIT)

    assert orders.metrics._bytes_out.value == SIZE  # noqa: SLF001 - the counter itself


def test_only_read_committed_consumers_skip_uncommitted_records() -> None:
    assert [isolation_of(level) for level in (0, 1)] == [
        FetchIsolation.HIGH_WATERMARK,
        FetchIsolation.TXN_COMMITTED,
    ]


def between_turns(leader_epoch: int, change: Callable[[Partition], object]) -> PartitionFetchResult:
    """Return what a fetch of 120 partitions finds in the first, which changes after its read."""
    harness = BrokerHarness()
    first = harness.host(*[0] * 120)
    partitions = [harness.broker.partitions.get("orders", index) for index in range(120)]

    async def both() -> list[PartitionFetchResult]:
        loop = asyncio.get_running_loop()
        fetching = loop.create_task(
            fetch(
                [PartitionFetch(each, 0, 1 << 20, leader_epoch) for each in partitions],
                WAIT,
                turns=loop_turns(),
                clock=harness.time,
                scheduler=harness.time,
                stopping=harness.connection.stopping,
            )
        )
        loop.call_soon(change, first)
        await turns(10)
        assert fetching.done()
        return fetching.result()

    return run(both())[0]


def test_append_between_the_turns_of_the_first_reads_ends_the_wait() -> None:
    """The partition is read in an early turn, and the wait for it begins in a later one."""
    found = between_turns(-1, append)

    assert read(found) == [(0, 0)]
    found.release()


def test_new_leadership_between_the_turns_of_the_first_reads_ends_the_wait() -> None:
    found = between_turns(0, lambda first: first.apply(PartitionImage((1, 2), (1, 2), 2, 1)))

    assert isinstance(found.error, FencedLeaderEpochError)


def test_fetch_of_many_partitions_takes_several_turns() -> None:
    harness = BrokerHarness()
    harness.host(*[0] * 120)
    partitions = [harness.broker.partitions.get("orders", index) for index in range(120)]

    over, found = scene(
        harness,
        *(wanted(each) for each in partitions),
        limits=NO_WAIT,
        steps=(lambda: None,),
    )

    assert (over, len(found)) == ([True], 120)


def counted_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the partitions that are read from here on."""
    reads, original = list[str](), Partition.read

    def counted(
        self: Partition,
        offset: int,
        *,
        max_bytes: int,
        isolation: FetchIsolation,
        min_one: bool = False,
        needs_leader: bool = True,
    ) -> LogRead:
        assert needs_leader
        reads.append(str(self.name))
        return original(self, offset, max_bytes=max_bytes, isolation=isolation, min_one=min_one)

    monkeypatch.setattr(Partition, "read", counted)
    return reads


def test_long_poll_in_vain_is_not_read_again_by_every_append(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thousand of them on one partition made a produce 35 ms longer."""
    harness, reads = BrokerHarness(), counted_reads(monkeypatch)
    orders = harness.host()

    _, (found,) = scene(
        harness,
        wanted(orders),
        limits=WAIT._replace(min_bytes=4 * SIZE),
        steps=(*[lambda: append(orders)] * 3, wait_over(harness)),
    )

    assert (len(reads), len(read(found))) == (2, 3)


def test_long_poll_of_several_partitions_is_read_again_at_its_end_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness, reads = BrokerHarness(), counted_reads(monkeypatch)
    first, second = harness.host(0, 0), harness.broker.partitions.get("orders", 1)

    over, found = scene(
        harness,
        wanted(first),
        wanted(second),
        limits=WAIT._replace(min_bytes=4 * SIZE),
        steps=(*[lambda: append(first)] * 3, lambda: append(second)),
    )

    assert (over, len(reads)) == ([False] * 4, 4)
    assert [each.length for each in found] == [3 * SIZE, SIZE]


def test_bytes_above_the_limit_of_a_partition_do_not_end_the_wait() -> None:
    harness = BrokerHarness()
    first, second = harness.host(0, 0), harness.broker.partitions.get("orders", 1)

    over, found = scene(
        harness,
        wanted(first, max_bytes=2 * SIZE),
        wanted(second),
        limits=WAIT._replace(min_bytes=3 * SIZE),
        steps=(lambda: append(first, *(batch() for _ in range(9))), lambda: append(second)),
    )

    assert over == [False, False]
    assert [each.length for each in found] == [2 * SIZE, SIZE]


def test_wait_of_a_full_partition_ends_with_another_segment() -> None:
    harness = BrokerHarness(LogConfig(segment_bytes=2 * SIZE))
    orders = harness.host()
    append(orders)

    over, (found,) = scene(
        harness,
        wanted(orders, max_bytes=SIZE),
        limits=WAIT._replace(min_bytes=9 * SIZE),
        steps=(*[lambda: append(orders)] * 2, lambda: None),
    )

    assert (over, read(found)) == ([False, False, True], [(0, 0)])
