"""Tests of a partition that follows: appends, bounds, truncations, and the end of its epoch."""

import pytest

from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_follower import PartitionFollower
from cordwood.cluster.fetchers.local_replicas import LeaderBounds
from cordwood.core.errors import (
    InvalidRecordError,
    KafkaStorageError,
    NotLeaderOrFollowerError,
)
from cordwood.core.ports import Pending, Worker
from cordwood.records.batch_builder import BatchFields
from cordwood.storage.log.log_read import FetchIsolation, LogPosition
from cordwood.storage.log_config import LogConfig
from tests.unit.broker.broker_samples import ALONE, BrokerHarness
from tests.unit.storage.log_samples import batch, filled, marker, offsets, read
from tests.unit.storage.manager_samples import HeldWorker, LogManagerHarness, create_logs

ONE = len(batch())
#: The leader's bounds, which leave those of this log as they are.
SAME = LeaderBounds(0, 0)


def followed(
    epoch: int = 1,
    *,
    config: LogConfig | None = None,
    worker: Worker | None = None,
) -> tuple[Partition, PartitionFollower]:
    """Return a partition that follows broker 2."""
    orders = BrokerHarness(config, worker=worker).host()
    follow(orders, epoch)
    return orders, orders.followed(epoch)


def follow(orders: Partition, epoch: int) -> None:
    orders.apply(PartitionImage((1, 2), (1, 2), 2, epoch))


def records(*offsets: int, epoch: int = 1) -> memoryview:
    return memoryview(b"".join(batch(at=at, epoch=epoch) for at in offsets))


def append(
    follower: PartitionFollower, *offsets: int, epoch: int = 1, bounds: LeaderBounds = SAME
) -> None:
    assert follower.append(records(*offsets, epoch=epoch), bounds) is None


def bounds_of(follower: PartitionFollower) -> tuple[int, int, int]:
    bounds = follower.log.bounds
    return bounds.log_start, bounds.high_watermark, bounds.log_end


def outcome(pending: Pending[None] | None) -> BaseException | None:
    assert pending is not None
    assert pending.done()
    return pending.exception()


def test_records_keep_the_offsets_of_the_leader() -> None:
    _, follower = followed()

    append(follower, 0, 1)
    append(follower, 5, bounds=LeaderBounds(5, 0))

    assert bounds_of(follower) == (0, 5, 6)
    assert follower.view.latest_epoch == 1


def test_high_watermark_is_limited_by_the_log_end_and_never_falls() -> None:
    _, follower = followed()

    append(follower, 0, 1, bounds=LeaderBounds(9, 0))
    assert bounds_of(follower) == (0, 2, 2)
    append(follower, bounds=LeaderBounds(1, 0))
    assert bounds_of(follower) == (0, 2, 2)


def test_log_start_follows_the_leader_up_to_the_high_watermark() -> None:
    _, follower = followed()

    append(follower, 0, 1, 2, bounds=LeaderBounds(2, 1))
    assert bounds_of(follower) == (1, 2, 3)
    append(follower, bounds=LeaderBounds(2, 3))
    assert bounds_of(follower) == (2, 2, 3)


def test_batches_of_a_later_epoch_wait_for_that_epoch() -> None:
    orders, follower = followed()

    data = memoryview(bytes(batch(at=0, epoch=1)) + bytes(batch(at=1, epoch=2)))
    assert follower.append(data, SAME) is None
    assert bounds_of(follower) == (0, 0, 1)

    follow(orders, 2)
    append(orders.followed(2), 1, epoch=2)
    assert bounds_of(follower) == (0, 0, 2)


def test_records_of_many_segments_are_appended_a_segment_at_a_time() -> None:
    _, follower = followed(config=LogConfig(segment_bytes=2 * ONE))

    append(follower, 0, 1, 2, 3, 4, bounds=LeaderBounds(4, 0))

    assert follower.log.base_offsets == (0, 2, 4)
    assert bounds_of(follower) == (0, 4, 5)
    assert follower.log.bounds.recovery_point == 5


def test_append_waits_for_the_files_of_the_next_segment() -> None:
    worker = HeldWorker(holds_files=True)
    _, follower = followed(config=LogConfig(segment_bytes=ONE), worker=worker)

    pending = follower.append(records(0, 1), LeaderBounds(2, 0))
    assert pending is not None
    while not pending.done():
        worker.go_on()

    assert pending.exception() is None
    assert follower.log.base_offsets == (0, 1)
    assert bounds_of(follower) == (0, 2, 2)


def test_records_behind_a_gap_begin_a_segment_at_the_log_end() -> None:
    _, follower = followed(config=LogConfig(segment_bytes=ONE))

    append(follower, 0, 7)

    assert follower.log.base_offsets == (0, 1)
    assert follower.log.bounds.log_end == 8


def test_append_that_waits_is_refused_after_the_end_of_its_epoch() -> None:
    worker = HeldWorker(holds_files=True)
    orders, follower = followed(config=LogConfig(segment_bytes=ONE), worker=worker)
    pending = follower.append(records(0), SAME)

    follow(orders, 2)
    while worker.held:
        worker.go_on()

    assert isinstance(outcome(pending), NotLeaderOrFollowerError)
    assert bounds_of(follower) == (0, 0, 0)


@pytest.mark.parametrize("state", (PartitionImage((1, 2), (1, 2), 1, 2), None))
def test_ended_epoch_changes_nothing(state: PartitionImage | None) -> None:
    orders, follower = followed()
    append(follower, 0)
    if state is None:
        orders.close()
    else:
        orders.apply(state)

    refused = pytest.raises(NotLeaderOrFollowerError)
    with refused:
        follower.append(records(1), SAME)
    with refused:
        follower.append(memoryview(b""), LeaderBounds(1, 1))
    with refused:
        follower.truncate(0)
    with refused:
        follower.start_at(9)
    with refused:
        orders.followed(1)

    assert bounds_of(follower)[2] == 1


def test_records_below_the_log_end_are_rejected() -> None:
    _, follower = followed()
    append(follower, 0, 1)

    with pytest.raises(InvalidRecordError, match="below the log end"):
        follower.append(records(1), SAME)


def test_empty_log_restarts_at_the_batch_that_contains_the_leaders_log_start() -> None:
    _, follower = followed()
    follower.start_at(12)

    data = memoryview(batch(5, at=10, epoch=1))
    assert follower.append(data, LeaderBounds(15, 12)) is None

    assert bounds_of(follower) == (12, 15, 15)
    assert follower.log.base_offsets == (10,)


def test_log_that_the_leader_has_deleted_restarts_at_the_batch_with_the_leaders_log_start() -> None:
    """It was truncated to the leader's log start, where the leader's first epoch begins."""
    _, follower = followed()
    append(follower, *range(12))

    data = memoryview(batch(5, at=10, epoch=1))
    with pytest.raises(InvalidRecordError, match="below the log end"):
        follower.append(data, LeaderBounds(15, 11))
    assert follower.append(data, LeaderBounds(15, 12)) is None

    assert bounds_of(follower) == (12, 15, 15)


def test_abort_of_a_transaction_has_its_file_before_the_append() -> None:
    worker = HeldWorker(holds_files=True)
    _, follower = followed(worker=worker)
    fields = BatchFields(
        base_offset=0, producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True,
        partition_leader_epoch=1,
    )  # fmt: skip
    data = bytes(batch(2, fields=fields)) + bytes(marker(at=2))

    pending = follower.append(memoryview(data), LeaderBounds(3, 0))
    while pending is not None and not pending.done():
        worker.go_on()

    read = follower.log.read(0, max_bytes=1 << 20, isolation=FetchIsolation.TXN_COMMITTED)
    assert [each.first_offset for each in read.aborted or ()] == [0]


def test_truncation_is_done_when_it_is_durable() -> None:
    worker = HeldWorker()
    _, follower = followed(worker=worker)
    appended = follower.append(records(0, 1, 2), LeaderBounds(2, 0))
    while appended is not None and not appended.done():
        worker.go_on()

    pending = follower.truncate(1)
    assert bounds_of(follower) == (0, 1, 1)
    assert pending is not None
    assert not pending.done()
    while not pending.done():
        worker.go_on()

    assert pending.exception() is None


def test_append_of_the_next_epoch_waits_for_a_truncation() -> None:
    worker = HeldWorker()
    orders, follower = followed(worker=worker)
    first = follower.append(records(0, 1, 2), SAME)
    while first is not None and not first.done():
        worker.go_on()
    truncation = follower.truncate(1)
    assert truncation is not None

    follow(orders, 2)
    second = orders.followed(2).append(records(1, epoch=2), SAME)
    assert second is not None
    assert bounds_of(follower)[2] == 1
    while not second.done():
        worker.go_on()

    assert truncation.done()
    assert bounds_of(follower)[2] == 2


def test_full_truncation_starts_at_the_offset() -> None:
    _, follower = followed()
    append(follower, 0, 1)

    assert follower.start_at(30) is None

    assert bounds_of(follower) == (30, 30, 30)
    append(follower, 30)
    assert bounds_of(follower) == (30, 30, 31)


def test_reader_that_waits_reads_again_after_a_truncation() -> None:
    orders, follower = followed()
    append(follower, 0, 1, bounds=LeaderBounds(2, 0))
    calls = list[str]()
    orders.wait_for(
        LogPosition(0, 3 * ONE), lambda: calls.append("woken"), isolation=FetchIsolation.LOG_END
    )

    follower.truncate(1)

    assert calls == ["woken"]
    assert orders.readable_position(FetchIsolation.HIGH_WATERMARK) == LogPosition(0, ONE)


def test_record_of_a_new_epoch_counts_when_the_epoch_is_saved() -> None:
    worker = HeldWorker()
    _, follower = followed(worker=worker)

    pending = follower.append(records(0), LeaderBounds(1, 0))
    assert pending is not None
    assert bounds_of(follower) == (0, 0, 1)
    while not pending.done():
        worker.go_on()

    assert not follower.log.epoch_file.has_unsaved
    assert bounds_of(follower) == (0, 1, 1)


def test_records_are_synced_first_if_the_topic_asks_for_it() -> None:
    _, follower = followed(config=LogConfig(flush_messages=1))

    append(follower, 0)

    assert follower.log.bounds.recovery_point == 1


def test_failed_disk_takes_the_partition_offline() -> None:
    harness = BrokerHarness()
    orders = harness.host()
    follow(orders, 1)
    follower = orders.followed(1)

    harness.manager.fail(harness.manager.directory_of(follower.log), OSError(5, "gone"))

    with pytest.raises(NotLeaderOrFollowerError):
        follower.append(records(0), SAME)
    with pytest.raises(KafkaStorageError):
        _ = orders.log


def crashed_behind_a_gap() -> LogManagerHarness:
    """Return the disk of a log with two records a segment, whose second segment a crash lost."""
    storage = LogManagerHarness(config=LogConfig(segment_bytes=2 * ONE))
    (log,) = create_logs(storage.load())
    filled(log, 6)
    for base in (0, 4):
        file = storage.files.open(f"{log.directory}/{base:020}.log", writable=True)
        file.sync()
        file.close()
    storage.files.sync_directory(log.directory)
    storage.files.crash()
    return storage


def test_follower_ends_at_a_gap_and_gets_the_records_from_its_leader() -> None:
    orders = BrokerHarness(place=ALONE._replace(storage=crashed_behind_a_gap())).host()
    assert orders.log.bounds.log_end == 6

    follow(orders, 1)
    follower = orders.followed(1)

    assert bounds_of(follower)[2] == 2
    append(follower, 2, 3, 4, 5)
    assert bounds_of(follower)[2] == 6
    assert [offset for offset, _ in offsets(read(follower.log, 2))] == [2, 3]

    follow(orders, 2)
    assert bounds_of(orders.followed(2))[2] == 6


def test_leader_keeps_the_records_behind_a_gap() -> None:
    """There may be no other copy of them."""
    orders = BrokerHarness(place=ALONE._replace(storage=crashed_behind_a_gap())).host()

    orders.apply(PartitionImage((1,), (1,), 1, 1))

    assert orders.log.bounds.log_end == 6
    assert orders.log.report.gap == 2
