"""Tests of a partition of an internal topic, for its coordinator."""

import weakref
from concurrent.futures import Future

import pytest

from cordwood.broker.coordinators.coordinator_log import CoordinatorLog, base_offset
from cordwood.broker.partitions.partition_leader import PartitionAppendResult
from cordwood.coordination.outcome import TransactionalProducer
from cordwood.coordination.ports import TransactionMarker
from cordwood.core.errors import (
    FencedLeaderEpochError,
    InvalidProducerEpochError,
    InvalidTxnStateError,
    MessageTooLargeError,
    RecordListTooLargeError,
)
from cordwood.records.compression import Codec
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.log.log_append import AppendResult
from cordwood.storage.log_config import LogConfig
from tests.unit.broker.broker_samples import BrokerHarness, run
from tests.unit.coordination.runtime.runtime_samples import group_record

PRODUCER = TransactionalProducer(7, 1)


def log_of(harness: BrokerHarness, epoch: int = 0, codec: Codec = Codec.NONE) -> CoordinatorLog:
    partition = harness.broker.partitions.get("orders", 0)
    return CoordinatorLog(partition, epoch, ports=harness.manager.ports, codec=lambda: codec)


def hosted(config: LogConfig | None = None) -> BrokerHarness:
    harness = BrokerHarness(config)
    harness.host(3)
    return harness


async def batches(log: CoordinatorLog) -> list[RecordBatch]:
    return [RecordBatch(chunk) async for chunk in log.load()]


def test_records_are_appended_and_loaded() -> None:
    log = log_of(hosted(), 3)

    offsets = [log.append([group_record("g"), group_record("h")]).result() for _ in range(2)]
    (first,) = run(batches(log))

    assert (offsets, first.count) == ([0, 2], 2)
    assert (log.partition, log.leader_epoch, str(log.name)) == (0, 3, "orders-0")


def test_log_of_another_leader_epoch_is_fenced() -> None:
    with pytest.raises(FencedLeaderEpochError):
        log_of(hosted(), 2).append([group_record("g")])


def test_batch_has_the_codec_of_the_setting() -> None:
    log = log_of(hosted(), 3, Codec.GZIP)
    log.append([group_record("g")])

    assert run(batches(log))[0].codec is Codec.GZIP


@pytest.mark.parametrize(
    ("config", "error"),
    (
        (LogConfig(max_message_bytes=100), MessageTooLargeError),
        (LogConfig(segment_bytes=100), RecordListTooLargeError),
    ),
)
def test_batch_that_is_too_large_is_rejected_at_once(
    config: LogConfig, error: type[Exception]
) -> None:
    log = log_of(hosted(config), 3)

    with pytest.raises(error):
        log.append([group_record("g" * 200)])


def test_transactional_append_needs_the_guard_of_its_verification_once() -> None:
    log = log_of(hosted(), 3)
    log.append([group_record("g")])

    with pytest.raises(InvalidTxnStateError):
        log.append([group_record("g")], producer=PRODUCER)
    log.guard = log.start_verification(PRODUCER, supports_epoch_bump=False)
    log.append([group_record("g")], producer=PRODUCER)

    assert log.guard is None
    assert log.start_verification(PRODUCER, supports_epoch_bump=False) is None


def test_append_that_is_rejected_leaves_no_guard_to_the_next_one() -> None:
    log = log_of(hosted(LogConfig(max_message_bytes=100)), 3)
    log.guard = log.start_verification(PRODUCER, supports_epoch_bump=False)

    with pytest.raises(MessageTooLargeError):
        log.append([group_record("g" * 200)], producer=PRODUCER)

    assert log.guard is None


def test_load_forgets_the_guard_of_an_append_that_was_never_made() -> None:
    log = log_of(hosted(), 3)
    log.guard = log.start_verification(PRODUCER, supports_epoch_bump=False)

    log.load()

    assert log.guard is None


def test_marker_ends_the_transaction_and_is_strict_in_transactions_v2() -> None:
    log = log_of(hosted(), 3)
    log.guard = log.start_verification(PRODUCER, supports_epoch_bump=True)
    log.append([group_record("g")], producer=PRODUCER)
    same = TransactionMarker(7, 1, 0, is_commit=True, partitions=frozenset(), transaction_version=2)

    with pytest.raises(InvalidProducerEpochError):
        log.append_marker(same)

    assert log.append_marker(same._replace(producer_epoch=2)).result() == 1


def test_base_offset_of_an_append_that_waits_comes_with_its_result() -> None:
    pending = Future[PartitionAppendResult]()
    found, seen = base_offset(pending), list[int]()
    found.add_done_callback(lambda each: seen.append(each.result()))

    before = found.done()
    pending.set_result(PartitionAppendResult(AppendResult(5, 6), 0))

    assert (before, found.done(), found.exception(), seen) == (False, True, None, [5])


def test_append_that_waits_is_freed_without_a_garbage_collection() -> None:
    pending = Future[PartitionAppendResult]()
    gone = weakref.ref(pending)
    base_offset(pending).add_done_callback(lambda _: None)

    pending.set_result(PartitionAppendResult(AppendResult(5, 6), 0))
    del pending

    assert gone() is None
