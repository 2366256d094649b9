"""A fetch ends when there is enough, when there is a reason, or when its time is over."""

import asyncio
import errno
from collections.abc import Callable

import pytest

from cordwood.broker.fetching import Found, Limits, Wanted, fetch, isolation_of, release
from cordwood.broker.partition import Partition
from cordwood.core.errors import OffsetOutOfRangeError, UnknownTopicOrPartitionError
from cordwood.storage.log_config import LogConfig
from cordwood.storage.reading import Isolation
from cordwood.testing.files import MemorySlice
from tests.unit.broker.broker_samples import Hall, meanwhile, run, turns
from tests.unit.storage.log_samples import batch, lead, offsets
from tests.unit.storage.manager_samples import partition

SIZE = len(batch())
NO_WAIT = Limits(max_bytes=1 << 20, min_bytes=1, max_wait_ms=0)
WAIT = NO_WAIT._replace(max_wait_ms=500)
UNKNOWN = UnknownTopicOrPartitionError("nobody knows it")


def append(to: Partition, *sets: bytearray) -> None:
    for each in sets or (batch(),):
        to.append(memoryview(each))


def scene(
    hall: Hall, *wanted: Wanted, limits: Limits = WAIT, steps: tuple[Callable[[], object], ...] = ()
) -> tuple[list[bool], list[Found]]:
    """Fetch beside steps; return whether it was over before each, and what was found."""
    fetching = fetch(wanted, limits, network=hall.broker.network, stopping=hall.connection.stopping)
    return run(meanwhile(fetching, *steps))


def wanted(source: Partition, offset: int = 0, max_bytes: int = 1 << 20) -> Wanted:
    return Wanted(source, offset, max_bytes)


def read(found: Found) -> list[tuple[int, int]]:
    assert found.read is not None
    return offsets(found.read)


def wait_over(hall: Hall) -> Callable[[], object]:
    return lambda: hall.time.advance(ms=500)


def test_fetch_reads_all_that_it_may_at_once() -> None:
    hall = Hall()
    first, second = hall.host(0, 0), hall.broker.partitions.get("orders", 1)
    append(first, batch(2))
    append(second)

    _, found = scene(hall, wanted(first), wanted(second))

    assert [read(each) for each in found] == [[(0, 1)], [(0, 0)]]


def test_fetch_that_may_not_wait_finds_nothing() -> None:
    hall = Hall()

    _, (found,) = scene(hall, wanted(hall.host()), limits=NO_WAIT)

    assert (found.length, found.error) == (0, None)


def test_fetch_waits_for_the_first_record() -> None:
    hall = Hall()
    orders = hall.host()

    over, (found,) = scene(hall, wanted(orders), steps=(lambda: append(orders),))

    assert (over, read(found)) == ([False], [(0, 0)])


def test_fetch_waits_until_all_partitions_together_have_enough() -> None:
    hall = Hall()
    first, second = hall.host(0, 0), hall.broker.partitions.get("orders", 1)
    limits = WAIT._replace(min_bytes=2 * SIZE)

    over, found = scene(
        hall,
        wanted(first),
        wanted(second),
        limits=limits,
        steps=(lambda: append(second), lambda: append(first)),
    )

    assert over == [False, False]
    assert [each.length for each in found] == [SIZE, SIZE]


def test_fetch_ends_with_what_there_is_when_its_time_is_over() -> None:
    hall = Hall()
    orders = hall.host()
    append(orders)

    over, (found,) = scene(
        hall,
        wanted(orders),
        limits=WAIT._replace(min_bytes=1000),
        steps=(lambda: hall.time.advance(ms=499), lambda: hall.time.advance(ms=1)),
    )

    assert (over, read(found)) == ([False, False], [(0, 0)])


def test_fetch_waits_on_the_time_of_the_network_not_of_the_logs() -> None:
    hall = Hall()

    over, _ = scene(
        hall, wanted(hall.host()), steps=(lambda: hall.house.clock.advance(days=7), wait_over(hall))
    )

    assert over == [False, False]


def test_fetch_ends_at_once_when_its_connection_does() -> None:
    hall = Hall()

    over, (found,) = scene(
        hall, wanted(hall.host()), steps=(hall.connection.stopping.begin, lambda: None)
    )

    assert (over, found.length) == ([False, True], 0)


def test_fetch_ends_at_once_when_its_topic_is_deleted() -> None:
    hall = Hall()
    orders = hall.host()

    over, (found,) = scene(
        hall, wanted(orders), steps=(lambda: hall.broker.partitions.drop("orders"), lambda: None)
    )

    assert over == [False, True]
    assert isinstance(found.error, UnknownTopicOrPartitionError)


def test_fetch_ends_at_once_when_the_directory_fails() -> None:
    hall = Hall()
    orders, directory = hall.host(), hall.manager.directories[0]

    over, (found,) = scene(
        hall,
        wanted(orders),
        steps=(lambda: hall.manager.fail(directory, OSError(errno.EIO, "gone")), lambda: None),
    )

    assert (over, found.error is not None and found.error.code) == ([False, True], 56)


def test_fetch_out_of_range_does_not_wait_and_keeps_nobody_from_their_records() -> None:
    hall = Hall()
    first, second = hall.host(0, 0), hall.broker.partitions.get("orders", 1)
    append(second)
    limits = WAIT._replace(min_bytes=1000)

    _, found = scene(hall, wanted(first, 5), wanted(second), limits=limits)

    assert isinstance(found[0].error, OffsetOutOfRangeError)
    assert read(found[1]) == [(0, 0)]


def test_fetch_goes_on_waiting_for_others_beside_what_nobody_knows() -> None:
    hall = Hall()

    over, found = scene(hall, Wanted(UNKNOWN, 0, 1), wanted(hall.host()), steps=(wait_over(hall),))

    assert (over, found[0].error) == ([False], UNKNOWN)


@pytest.mark.parametrize("asked", ((), (Wanted(UNKNOWN, 0, 1),)))
def test_fetch_of_nothing_that_could_come_does_not_wait(asked: tuple[Wanted, ...]) -> None:
    _, found = scene(Hall(), *asked)

    assert len(found) == len(asked)


def test_fetch_with_a_fenced_epoch_does_not_wait() -> None:
    hall = Hall()

    _, (found,) = scene(hall, Wanted(hall.host(3), 0, 1, leader_epoch=2))

    assert found.error is not None
    assert found.error.code == 74


def test_fetch_tells_a_reader_where_its_log_left_this_one() -> None:
    hall = Hall()
    lead(hall.manager.create(partition(), topic_id=None), batch(2), epoch=1)

    _, (found,) = scene(hall, Wanted(hall.host(2), 5, 1, last_epoch=1))

    assert (found.divergence, found.length) == ((1, 2), 0)
    assert found.read is not None
    assert found.read.high_watermark == 2


def test_quirk_17_first_batch_comes_whole_and_later_ones_only_where_they_fit() -> None:
    hall = Hall()
    first, second = hall.host(0, 0), hall.broker.partitions.get("orders", 1)
    append(first)
    append(second)

    _, found = scene(hall, wanted(first, max_bytes=1), wanted(second, max_bytes=1))

    assert [each.length for each in found] == [SIZE, 0]


def test_fetch_stays_within_its_bytes_over_all_partitions() -> None:
    hall = Hall()
    first, second = hall.host(0, 0), hall.broker.partitions.get("orders", 1)
    append(first, batch(), batch())
    append(second, batch(), batch())

    _, found = scene(hall, wanted(first), wanted(second), limits=WAIT._replace(max_bytes=3 * SIZE))

    assert [each.length for each in found] == [2 * SIZE, SIZE]


def test_fetch_that_ends_at_a_segment_does_not_wait_for_more() -> None:
    hall = Hall(LogConfig(segment_bytes=SIZE))
    orders = hall.host()
    append(orders, batch(), batch())

    _, (found,) = scene(hall, wanted(orders), limits=WAIT._replace(min_bytes=2 * SIZE))

    assert read(found) == [(0, 0)]


def test_fetch_that_is_cancelled_lets_go_of_what_it_has_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hall, released = Hall(), list[int]()
    orders = hall.host()
    append(orders)
    monkeypatch.setattr(MemorySlice, "release", lambda each: released.append(each.length))
    limits = WAIT._replace(min_bytes=1000)

    async def cancelled() -> None:
        asked = fetch(
            [wanted(orders)],
            limits,
            network=hall.broker.network,
            stopping=hall.connection.stopping,
        )
        async with asyncio.TaskGroup() as group:
            task = group.create_task(asked)
            await turns()
            task.cancel()

    run(cancelled())

    assert released == [SIZE]
    assert hall.time.next_call_ms() is None


def test_released_slices_cannot_be_read() -> None:
    hall = Hall()
    orders = hall.host()
    append(orders)
    _, found = scene(hall, wanted(orders))

    release(found)

    assert found[0].read is not None
    assert found[0].read.slice is not None
    with pytest.raises(ValueError, match="released"):
        found[0].read.slice.read()


def test_read_committed_sees_up_to_the_last_stable_offset() -> None:
    hall = Hall()
    orders = hall.host()
    append(orders, batch(2))

    _, (found,) = scene(hall, wanted(orders), limits=WAIT._replace(isolation=Isolation.COMMITTED))

    assert found.read is not None
    assert (found.read.last_stable, found.read.aborted) == (2, ())


def test_what_is_handed_out_is_counted() -> None:
    hall = Hall()
    orders = hall.host()
    append(orders)

    scene(hall, wanted(orders), wanted(orders, 1), limits=NO_WAIT)

    assert orders.traffic._bytes_out.value == SIZE  # noqa: SLF001 - what the figures show


def test_consumers_see_what_is_committed_only_when_they_ask_for_it() -> None:
    assert [isolation_of(level) for level in (0, 1)] == [
        Isolation.HIGH_WATERMARK,
        Isolation.COMMITTED,
    ]
