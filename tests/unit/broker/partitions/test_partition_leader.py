"""Tests of a leadership: appends, the records that count, markers."""

import errno

import pytest

from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_leader import (
    FOR_ALL_REPLICAS,
    RETRY_MS,
    AppendRequest,
    PartitionAppendResult,
)
from cordwood.core.errors import (
    BadRecordsError,
    FencedLeaderEpochError,
    InvalidProducerEpochError,
    InvalidRecordError,
    KafkaStorageError,
    NotEnoughReplicasAfterAppendError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    RequestTimedOutError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.ports import Pending
from cordwood.records.control_records import EndTransaction
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.log.log_append import AppendContext
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import log_creation
from cordwood.testing.file_faults import FileFault
from tests.unit.broker.broker_samples import BrokerHarness
from tests.unit.storage.log_samples import NOW, batch, lead, offsets, produced
from tests.unit.storage.manager_samples import HeldWorker, partition

FLUSHING = LogConfig(flush_messages=1)
GZIP = LogConfig(compression_type="gzip")
THREE = PartitionImage((1, 2, 3), (1, 2), 1, 0)
ACKS_1 = AppendRequest(1)


def append(
    to: Partition, data: bytearray, request: AppendRequest = FOR_ALL_REPLICAS
) -> Pending[PartitionAppendResult]:
    return to.append(memoryview(data), request)


def high_watermark(of: Partition) -> int:
    return of.log.bounds.high_watermark


def replicated(config: LogConfig | None = None, *, worker: HeldWorker | None = None) -> Partition:
    """Return a partition with three replicas, of which this broker and broker 2 are in sync."""
    orders = BrokerHarness(config, worker=worker).host()
    orders.apply(THREE._replace(leader_epoch=1))
    orders.log.epoch_file.save()
    return orders


def finish(worker: HeldWorker) -> None:
    """Run the submitted calls, and those that their ends submit."""
    while worker.held:
        worker.go_on()


# -- flushes


def test_append_counts_after_its_flush() -> None:
    worker = HeldWorker()
    orders = BrokerHarness(FLUSHING, worker=worker).host()

    pending = append(orders, batch())
    before = pending.done(), high_watermark(orders)
    worker.go_on()

    assert before == (False, 0)
    assert (pending.result().result.first_offset, high_watermark(orders)) == (0, 1)


def test_acks_1_waits_for_the_flush_too() -> None:
    worker = HeldWorker()
    orders = BrokerHarness(FLUSHING, worker=worker).host()

    pending = append(orders, batch(), ACKS_1)
    before = pending.done()
    worker.go_on()

    assert (before, pending.done()) == (False, True)


def test_appends_during_a_flush_share_the_next_one() -> None:
    worker = HeldWorker()
    orders = BrokerHarness(FLUSHING, worker=worker).host()
    first = append(orders, batch())

    others = [append(orders, batch()) for _ in range(3)]
    flushes = [len(worker.held)]
    worker.go_on()
    flushes.append(len(worker.held))
    counted = first.done(), [each.done() for each in others]
    worker.go_on()

    assert (flushes, counted) == ([1, 1], (True, [False] * 3))
    assert high_watermark(orders) == 4


def test_flush_every_so_many_records_lets_the_records_before_count() -> None:
    worker = HeldWorker()
    orders = BrokerHarness(LogConfig(flush_messages=3), worker=worker).host()

    done = [append(orders, batch()).done() for _ in range(4)]
    before = high_watermark(orders)
    worker.go_on()

    assert (done, before, high_watermark(orders)) == ([True, True, False, False], 2, 4)


def test_roll_begins_a_flush_for_which_no_append_waits() -> None:
    worker = HeldWorker()
    orders = BrokerHarness(LogConfig(segment_bytes=len(batch())), worker=worker).host()
    append(orders, batch())
    before = len(worker.held)

    is_done = append(orders, batch()).done()
    flushes = len(worker.held) - before
    worker.go_on()

    assert (is_done, flushes) == (True, 1)
    assert (high_watermark(orders), orders.log.bounds.recovery_point) == (2, 2)


def test_duplicate_of_an_unflushed_append_waits_too() -> None:
    worker = HeldWorker()
    orders = BrokerHarness(FLUSHING, worker=worker).host()

    append(orders, produced(0))
    again = append(orders, produced(0))
    before = again.done()
    worker.go_on()

    assert (before, again.result().result.is_duplicate) == (False, True)


def test_records_that_were_recovered_count_after_a_flush() -> None:
    worker = HeldWorker()
    harness = BrokerHarness(FLUSHING, worker=worker)
    recovered = log_creation.create(harness.manager, partition(), topic_id=None)
    lead(recovered, produced(0))
    orders = harness.host()

    again = append(orders, produced(0))
    before = again.done(), high_watermark(orders), recovered.bounds.recovery_point
    finish(worker)

    assert before == (False, 0, 0)
    assert (again.result().result.is_duplicate, high_watermark(orders)) == (True, 1)
    assert append(orders, produced(0)).done()


def test_failed_flush_fails_the_append_and_makes_no_records_visible() -> None:
    worker = HeldWorker()
    harness = BrokerHarness(FLUSHING, worker=worker)
    orders = harness.host()
    log = orders.log

    harness.storage.files.script.add(FileFault(on="sync", path="/a/orders-0/*.log", code=errno.EIO))
    pending = append(orders, batch())
    worker.go_on()

    assert isinstance(pending.exception(), KafkaStorageError)
    assert log.bounds.high_watermark == 0


def test_append_in_a_new_epoch_counts_when_the_epoch_is_saved() -> None:
    worker = HeldWorker()
    orders = BrokerHarness(worker=worker).host()
    orders.apply(THREE._replace(replicas=(1,), isr=(1,), leader_epoch=5))

    pending = append(orders, batch())
    before = pending.done(), high_watermark(orders)
    worker.go_on()

    assert (before, pending.done(), high_watermark(orders)) == ((False, 0), True, 1)
    assert not orders.log.epoch_file.has_unsaved


def test_epoch_that_cannot_be_saved_fails_the_append_and_a_retry_counts() -> None:
    worker = HeldWorker()
    harness = BrokerHarness(worker=worker)
    orders = harness.host()
    orders.apply(THREE._replace(replicas=(1,), isr=(1,), leader_epoch=5))
    harness.storage.files.script.add(
        FileFault(on="create", path="*leader-epoch-checkpoint*", code=errno.EMFILE)
    )

    first = append(orders, produced(0))
    worker.go_on()
    failed = first.exception()
    second = append(orders, produced(0))
    worker.go_on()

    assert isinstance(failed, KafkaStorageError)
    assert (second.result().result.is_duplicate, high_watermark(orders)) == (True, 1)


def test_records_of_a_failed_flush_count_when_it_is_tried_again() -> None:
    worker = HeldWorker()
    harness = BrokerHarness(FLUSHING, worker=worker)
    orders = harness.host()
    # The first file that is opened is the one of the append.
    fault = FileFault(on="open", path="/a/orders-0/*.log", code=errno.EMFILE, first=2)
    harness.storage.files.script.add(fault)

    failed = append(orders, batch())
    finish(worker)
    before = high_watermark(orders)
    harness.time.advance(ms=RETRY_MS)
    finish(worker)

    assert isinstance(failed.exception(), KafkaStorageError)
    assert (before, high_watermark(orders)) == (0, 1)


def test_failed_flush_is_not_tried_again_after_the_leadership() -> None:
    worker = HeldWorker()
    harness = BrokerHarness(FLUSHING, worker=worker)
    orders = harness.host()
    fault = FileFault(on="open", path="/a/orders-0/*.log", code=errno.EMFILE)
    harness.storage.files.script.add(fault)
    append(orders, batch())
    finish(worker)

    orders.go_offline(KafkaStorageError("the disk has failed"))
    harness.time.advance(ms=RETRY_MS)

    assert not worker.held


def test_append_fails_when_its_flush_fails_at_once() -> None:
    harness = BrokerHarness(FLUSHING)
    orders = harness.host()
    harness.storage.files.script.add(FileFault(on="sync", path="/a/orders-0/*.log", code=errno.EIO))

    pending = append(orders, batch())

    assert isinstance(pending.exception(), KafkaStorageError)


def test_epoch_file_that_fails_at_once_fails_the_append() -> None:
    harness = BrokerHarness()
    orders = harness.host()
    orders.apply(THREE._replace(replicas=(1,), isr=(1,), leader_epoch=5))
    harness.storage.files.script.add(
        FileFault(on="create", path="*leader-epoch-checkpoint*", code=errno.EMFILE)
    )

    pending = append(orders, batch())

    assert isinstance(pending.exception(), KafkaStorageError)


# -- replicas


def test_append_for_all_replicas_counts_when_the_followers_have_it() -> None:
    orders = replicated()

    of_leader, of_all = append(orders, batch(), ACKS_1), append(orders, batch())
    before = of_leader.done(), of_all.done(), high_watermark(orders)
    orders.follower(2, leader_epoch=1)(1)
    between = of_all.done(), high_watermark(orders)
    orders.follower(2, leader_epoch=1)(2)

    assert before == (True, False, 0)
    assert (between, of_all.done(), high_watermark(orders)) == ((False, 1), True, 2)


def test_replica_that_is_not_in_sync_does_not_hold_records_back() -> None:
    orders = replicated()
    pending = append(orders, batch())

    orders.follower(3, leader_epoch=1)(0)
    orders.follower(2, leader_epoch=1)(1)

    assert pending.done()


def test_replica_that_is_assigned_within_the_epoch_is_known_and_the_others_stay_known() -> None:
    orders = replicated()
    append(orders, batch())
    orders.follower(2, leader_epoch=1)(1)

    orders.apply(PartitionImage((1, 2, 4), (1, 2, 4), 1, 1))
    append(orders, batch())
    orders.follower(2, leader_epoch=1)(2)
    before = high_watermark(orders)
    orders.follower(4, leader_epoch=1)(2)

    assert (before, high_watermark(orders)) == (1, 2)


def test_append_is_rejected_with_too_few_in_sync_replicas() -> None:
    orders = replicated(LogConfig(min_insync_replicas=3))

    with pytest.raises(NotEnoughReplicasError, match="2 replicas are in sync"):
        append(orders, batch())

    assert append(orders, batch(), ACKS_1).done()
    assert orders.log.bounds.log_end == 1


def test_append_is_rejected_if_replicas_fall_out_of_sync_before_its_write() -> None:
    worker = HeldWorker()
    config = LogConfig(compression_type="gzip", min_insync_replicas=2)
    orders = replicated(config, worker=worker)

    pending = append(orders, batch(2000))
    orders.apply(THREE._replace(leader_epoch=1, isr=(1,)))
    finish(worker)

    assert isinstance(pending.exception(), NotEnoughReplicasError)
    assert orders.log.bounds.log_end == 0


def test_append_fails_when_its_replicas_fall_out_of_sync() -> None:
    orders = replicated(LogConfig(min_insync_replicas=2))
    pending = append(orders, batch())

    orders.apply(THREE._replace(isr=(1,), leader_epoch=1))

    assert isinstance(pending.exception(), NotEnoughReplicasAfterAppendError)
    assert high_watermark(orders) == 0


def test_append_times_out_while_it_waits_for_replicas() -> None:
    harness = BrokerHarness()
    orders = harness.host()
    orders.apply(THREE._replace(leader_epoch=1))
    orders.log.epoch_file.save()
    pending = append(orders, batch(), AppendRequest(-1, timeout_ms=500))

    harness.time.advance(ms=500)

    assert isinstance(pending.exception(), RequestTimedOutError)


def test_appends_fail_when_another_broker_becomes_the_leader() -> None:
    orders = replicated()
    pending = append(orders, batch())

    orders.apply(THREE._replace(leader=2, leader_epoch=2))

    with pytest.raises(NotLeaderOrFollowerError, match="broker 2 leads orders-0"):
        pending.result()


def test_appends_fail_when_the_topic_is_deleted() -> None:
    orders = replicated()
    pending = append(orders, batch())

    orders.close()

    assert isinstance(pending.exception(), UnknownTopicOrPartitionError)


# -- preparation on the worker


def test_large_append_is_prepared_on_the_worker_and_later_ones_wait_for_it() -> None:
    worker = HeldWorker()
    orders = BrokerHarness(GZIP, worker=worker).host()

    large = append(orders, batch(2_000))
    small = append(orders, batch())
    before = large.done(), small.done(), orders.log.bounds.log_end
    worker.go_on()

    assert before == (False, False, 0)
    assert [each.result().result.first_offset for each in (large, small)] == [0, 2_000]


def test_invalid_record_in_a_large_append_is_the_error_of_its_result() -> None:
    worker = HeldWorker()
    orders = BrokerHarness(worker=worker).host()
    damaged = batch(2_000)
    damaged[-1] ^= 1

    pending = append(orders, damaged)
    worker.go_on()

    assert isinstance(pending.exception(), BadRecordsError)
    assert orders.log.bounds.log_end == 0


def test_large_append_of_an_ended_leadership_is_not_written() -> None:
    worker = HeldWorker()
    orders = BrokerHarness(GZIP, worker=worker).host()
    pending = append(orders, batch(2_000))

    orders.apply(THREE._replace(leader=2, leader_epoch=2))
    worker.go_on()

    assert isinstance(pending.exception(), NotLeaderOrFollowerError)
    assert orders.log.bounds.log_end == 0


# -- coordinators


def in_transaction() -> Partition:
    """Return a partition with an open transaction of producer 1, epoch 0."""
    orders = BrokerHarness().host()
    guard = orders.log.producers.start_verification(1, sequence=0, epoch=0, now_ms=NOW)
    verified = AppendRequest(context=AppendContext(guard=guard))
    append(orders, produced(0, is_transactional=True), verified)
    return orders


def test_marker_completes_the_transaction_of_its_producer() -> None:
    orders = in_transaction()
    before = orders.log.bounds.last_stable

    pending = orders.leader(0).append_marker(
        EndTransaction(is_commit=True, coordinator_epoch=3), producer_id=1, producer_epoch=0
    )

    (completed,) = pending.result().result.completed
    assert (before, orders.log.bounds.last_stable) == (0, 2)
    assert (completed.first_offset, completed.is_aborted) == (0, False)


def test_strict_marker_has_a_higher_epoch_than_the_transaction_that_it_ends() -> None:
    orders = in_transaction()
    end = EndTransaction(is_commit=True, coordinator_epoch=3)
    with pytest.raises(InvalidProducerEpochError):
        orders.leader(0).append_marker(end, producer_id=1, producer_epoch=0, is_strict=True)
    orders.leader(0).append_marker(end, producer_id=1, producer_epoch=1, is_strict=True)

    assert orders.log.bounds.last_stable == 2


def test_records_of_a_coordinator_need_no_producer_and_may_skip_offsets() -> None:
    """A coordinator writes batches as it likes; a producer's batch has each of its offsets."""
    orders = BrokerHarness().host()
    sparse = batch(2)
    sparse[23:27] = (4).to_bytes(4)
    sparse[17:21] = RecordBatch(sparse).computed_crc().to_bytes(4)

    found = orders.leader(0).append_internal(memoryview(bytearray(sparse))).result().result
    with pytest.raises(InvalidRecordError):
        append(orders, sparse)

    assert (found.first_offset, found.last_offset) == (0, 1)


def test_coordinator_of_another_epoch_gets_no_leadership() -> None:
    orders = BrokerHarness().host(3)

    assert orders.leader(3).role.epoch == 3
    with pytest.raises(FencedLeaderEpochError):
        orders.leader(2)


def test_coordinator_that_keeps_an_ended_leadership_writes_nothing() -> None:
    orders = replicated()
    leader = orders.leader(1)
    orders.apply(THREE._replace(leader=2, leader_epoch=2))

    with pytest.raises(NotLeaderOrFollowerError, match="broker 2 leads orders-0"):
        leader.append_internal(memoryview(batch()))

    assert orders.log.bounds.log_end == 0


def test_fetch_of_an_ended_leadership_does_not_advance_the_high_watermark() -> None:
    orders = replicated()
    append(orders, batch())
    record_end = orders.follower(2, leader_epoch=1)
    orders.apply(THREE._replace(leader=2, leader_epoch=2))

    record_end(1)

    assert high_watermark(orders) == 0


def test_reader_of_the_log_end_sees_records_that_do_not_count_yet() -> None:
    orders = replicated()
    append(orders, batch())

    found = [
        orders.read(0, max_bytes=1 << 20, isolation=each)
        for each in (FetchIsolation.LOG_END, FetchIsolation.HIGH_WATERMARK)
    ]

    assert [each.length > 0 for each in found] == [True, False]
    assert offsets(found[0]) == [(0, 0)]
