"""Record sets are appended as leader or as follower, whole or not at all."""

import errno

import pytest

from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.core.errors import (
    CorruptMessageError,
    InvalidProducerEpochError,
    InvalidRecordError,
    InvalidTxnStateError,
    MessageTooLargeError,
    OutOfOrderSequenceNumberError,
    RecordListTooLargeError,
    TransactionCoordinatorFencedError,
)
from cordwood.core.types import LeaderEpoch, Offset
from cordwood.records.compression import Codec
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.records.record import TimestampType
from cordwood.records.record_checks import PlainInspector
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.storage.log.follower_records import UnexpectedOffsetError
from cordwood.storage.log.log_append import AppendContext, AppendResult
from cordwood.storage.log_config import LogConfig
from cordwood.storage.producers.producer_state_manager import ProducerStateManagerConfig
from cordwood.storage.segment.roll_policy import RollReason
from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.log_samples import (
    NOW,
    LogHarness,
    bases,
    batch,
    bytes_of,
    filled,
    follow,
    headers_of,
    interleaved,
    lead,
    marker,
    offsets,
    opened,
    produced,
    read,
)
from tests.unit.storage.produced import v2

ONE = len(batch())


def old(at: int, count: int = 1, *, magic: LegacyMagic = 1, codec: Codec = Codec.NONE) -> bytearray:
    """Return messages of the old formats, or a wrapper over them."""
    builder = LegacyBuilder(magic, codec=codec, base_offset=at)
    for _ in range(count):
        builder.append(None, b"value", timestamp=NOW if magic else -1)
    return builder.build()


def epochs(*entries: tuple[int, int]) -> tuple[EpochEntry, ...]:
    return tuple(EpochEntry(LeaderEpoch(epoch), Offset(offset)) for epoch, offset in entries)


# -- as a leader


def test_leader_assigns_consecutive_offsets() -> None:
    log = opened()

    first, second = lead(log, batch(3)), lead(log, batch(2))

    assert first == AppendResult(0, 2)
    assert second == AppendResult(3, 4)
    assert offsets(read(log, 0)) == [(0, 2), (3, 4)]


def test_leader_sets_its_epoch_in_batches_and_caches_its_start_offset() -> None:
    log = opened()

    lead(log, batch(3), epoch=1)
    lead(log, batch(), batch(), epoch=4)

    stamped = [header.partition_leader_epoch for header in headers_of(bytes_of(read(log, 0)))]
    assert stamped == [1, 4, 4]
    assert log.epochs.entries == epochs((1, 0), (4, 3))


def test_leader_writes_offsets_into_the_given_buffer() -> None:
    log = filled(opened(), 7)
    data = batch(3)

    log.append_as_leader(data, leader_epoch=0, inspector=PlainInspector())

    assert bytes_of(read(log, 7)) == data


def test_leader_returns_the_log_append_time() -> None:
    log = opened(LogConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME))

    assert lead(log, batch(timestamp=5)).log_append_time_ms == NOW
    assert headers_of(bytes_of(read(log, 0)))[0].max_timestamp == NOW


@pytest.mark.parametrize("data", (b"", bytes(batch())[:-1]))
def test_record_set_without_a_whole_batch_appends_no_records(data: bytes) -> None:
    log = opened()

    assert lead(log, data) == follow(log, data) == AppendResult(-1, -1)
    assert log.bounds.log_end == 0


def test_leader_ignores_bytes_after_the_last_whole_batch() -> None:
    log = opened()

    lead(log, batch() + batch()[:-1])

    assert log.size == ONE


@pytest.mark.parametrize(
    ("data", "error"),
    (
        (batch(at=1), InvalidRecordError),
        (batch(value=bytes(2000)), MessageTooLargeError),
        (batch()[:-1] + b"x", CorruptMessageError),
        (batch() + batch(), InvalidRecordError),
    ),
)
def test_leader_rejects_an_invalid_record_set_without_changes(
    data: bytearray, error: type[Exception]
) -> None:
    log = opened(LogConfig(max_message_bytes=1000))

    with pytest.raises(error):
        lead(log, data)

    assert log.bounds.log_end == 0
    assert log.size == 0
    assert log.epochs.entries == ()


def test_set_larger_than_a_segment_is_rejected_and_its_epoch_stays() -> None:
    log = opened(LogConfig(segment_bytes=ONE - 1))

    with pytest.raises(RecordListTooLargeError, match=f"t-0: the record set has {ONE} bytes"):
        lead(log, batch(), epoch=3)

    assert log.size == 0
    assert log.epochs.entries == epochs((3, 0))


def test_records_are_unflushed_until_they_are_synced() -> None:
    log = opened()
    lead(log, batch(2))
    before = log.bounds.unflushed
    log.flush()
    between = log.bounds.unflushed

    lead(log, batch(3))

    assert (before, between, log.bounds.unflushed) == (2, 0, 3)


# -- as a follower


def test_follower_keeps_offsets_and_epochs() -> None:
    log = opened()

    result = follow(log, batch(2, at=10, epoch=1), batch(3, at=20, epoch=2), epoch=2)

    assert result == AppendResult(10, 22)
    assert offsets(read(log, 10)) == [(10, 11), (20, 22)]
    assert log.epochs.entries == epochs((1, 10), (2, 20))
    assert log.bounds.log_end == 23


def test_follower_caches_no_epochs_for_records_without_them() -> None:
    log = opened()

    follow(log, batch())

    assert log.epochs.entries == ()


def test_old_format_clears_the_epochs_of_a_log() -> None:
    log = filled(opened(), 2, epoch=5)

    follow(log, old(2))

    assert log.epochs.entries == ()


def test_follower_ignores_batches_of_a_later_leader() -> None:
    log = opened()

    follow(log, batch(epoch=1), batch(at=1, epoch=2), batch(at=2, epoch=1), epoch=1)

    assert log.bounds.log_end == 1


def test_follower_accepts_batches_above_max_message_bytes() -> None:
    log = opened(LogConfig(max_message_bytes=100))

    assert follow(log, batch(value=bytes(500))).last_offset == 0


def test_follower_rejects_offsets_out_of_order() -> None:
    log = opened()

    with pytest.raises(InvalidRecordError, match="0 1 3 2 4"):
        follow(log, *(batch(at=at) for at in (0, 1, 3, 2, 4)))

    assert log.bounds.log_end == 0


def test_records_beyond_the_largest_offset_are_rejected() -> None:
    log = opened()
    log.truncate_fully(INT64_MAX - 1)

    with pytest.raises(InvalidRecordError, match="no offsets are left"):
        lead(log, batch(2))
    with pytest.raises(InvalidRecordError, match="no offsets are left"):
        follow(log, batch(at=INT64_MAX))
    assert follow(log, batch(at=INT64_MAX - 1)).last_offset == INT64_MAX - 1
    assert log.bounds.log_end == INT64_MAX


@pytest.mark.parametrize("codec", list(Codec))
def test_follower_rejects_offsets_below_its_log_end(codec: Codec) -> None:
    log = filled(opened(), 5)

    with pytest.raises(UnexpectedOffsetError, match="at least 5") as caught:
        follow(log, v2(codec))

    assert caught.value.base_offset == 0


@pytest.mark.parametrize("magic", (0, 1))
@pytest.mark.parametrize("codec", (Codec.NONE, Codec.GZIP))
def test_follower_rejects_messages_that_it_should_have_already(
    magic: LegacyMagic, codec: Codec
) -> None:
    log = filled(opened(), 5)

    with pytest.raises(UnexpectedOffsetError) as caught:
        follow(log, old(3, 2, magic=magic, codec=codec))

    assert caught.value.base_offset == 3
    assert log.bounds.log_end == 5


def test_follower_compares_the_last_offset_of_a_wrapper() -> None:
    log = filled(opened(), 5)

    assert follow(log, old(4, 2, codec=Codec.GZIP)).last_offset == 5


# -- rolling on the way


def test_append_that_does_not_fit_begins_a_new_segment() -> None:
    log = opened(LogConfig(segment_bytes=2 * ONE))

    results = [lead(log, batch()) for _ in range(3)]

    assert [result.rolled for result in results] == [None, None, RollReason.SIZE]
    assert bases(log) == [0, 2]


def test_duplicate_is_acknowledged_after_the_roll_that_it_caused() -> None:
    log = opened(LogConfig(segment_bytes=2 * ONE))

    lead(log, produced(0), produced(1))
    result = lead(log, produced(1))

    assert result == AppendResult(1, 1, NOW, is_duplicate=True, rolled=RollReason.SIZE)
    assert bases(log) == [0, 2]
    assert log.bounds.log_end == 2


def test_rejected_producer_does_not_revert_the_roll() -> None:
    log = opened(LogConfig(segment_bytes=2 * ONE))
    lead(log, produced(0), produced(1))

    with pytest.raises(OutOfOrderSequenceNumberError):
        lead(log, produced(7))

    assert bases(log) == [0, 2]
    assert log.bounds.log_end == 2


def test_offset_beyond_the_reach_of_the_indexes_begins_a_new_segment() -> None:
    harness = LogHarness()
    log = harness.open()
    follow(log, batch())

    result = follow(log, batch(2, at=INT32_MAX), batch(at=INT32_MAX + 5))

    assert result.rolled is RollReason.OFFSET_RANGE
    assert bases(log) == [0, INT32_MAX]
    assert f"{INT32_MAX}.snapshot" in harness.names()


def test_old_format_begins_a_new_segment_as_low_as_its_last_offset_allows() -> None:
    log = opened()
    follow(log, batch())

    follow(log, old(INT32_MAX + 10, codec=Codec.GZIP))

    assert bases(log) == [0, 10]


# -- producers


def test_leader_answers_a_batch_sent_again_with_where_it_is() -> None:
    log = opened()
    lead(log, *(produced(sequence) for sequence in range(6)))

    first, again = lead(log, produced(6, 3)), lead(log, produced(6, 3))

    assert again == AppendResult(6, 8, NOW, is_duplicate=True)
    assert first[:2] == again[:2]
    assert log.bounds.log_end == 9


def test_leader_recognizes_the_last_five_batches_of_a_producer() -> None:
    log = opened()
    lead(log, *(produced(sequence) for sequence in range(6)), produced(6, 3))

    assert lead(log, produced(2)) == AppendResult(2, 2, NOW, is_duplicate=True)
    with pytest.raises(OutOfOrderSequenceNumberError):
        lead(log, produced(1))


def test_leader_rejects_a_batch_that_was_written_in_part() -> None:
    log = opened()
    lead(log, produced(0), produced(1, 3))

    with pytest.raises(OutOfOrderSequenceNumberError):
        lead(log, produced(2, 2))

    assert log.bounds.log_end == 4


def test_leader_accepts_any_sequence_of_an_unknown_producer() -> None:
    log = opened()

    assert lead(log, produced(3, producer=(1, 1))).last_offset == 0
    assert log.producers.producers[1].last_sequence == 3


def test_follower_accepts_a_repeated_sequence_like_its_leader() -> None:
    log = opened()

    follow(log, produced(0, 2), produced(2, at=2), produced(0, 2, at=3))

    assert log.bounds.log_end == 5


def test_coordinator_of_a_lower_epoch_is_fenced() -> None:
    log = opened()
    lead(log, marker(coordinator_epoch=2), origin=AppendOrigin.COORDINATOR)

    with pytest.raises(TransactionCoordinatorFencedError):
        lead(log, marker(coordinator_epoch=1), origin=AppendOrigin.COORDINATOR)

    assert log.bounds.log_end == 1


def test_marker_of_a_lower_producer_epoch_is_rejected() -> None:
    log = opened()
    lead(log, produced(0, producer=(1, 5), is_transactional=True))

    with pytest.raises(InvalidProducerEpochError):
        lead(log, marker(producer=(1, 4)), origin=AppendOrigin.COORDINATOR)


def test_strict_sender_needs_a_marker_of_a_higher_epoch() -> None:
    log = opened()
    lead(log, produced(0, producer=(1, 5), is_transactional=True))
    context = AppendContext(AppendOrigin.COORDINATOR, is_strict_on_markers=True)

    with pytest.raises(InvalidProducerEpochError):
        log.append_as_leader(
            marker(producer=(1, 5)), leader_epoch=0, inspector=PlainInspector(), context=context
        )


def test_transaction_needs_the_guard_of_its_verification() -> None:
    harness = LogHarness()
    harness.producers = ProducerStateManagerConfig()
    log = harness.open()
    data = produced(0, is_transactional=True)
    with pytest.raises(InvalidTxnStateError):
        lead(log, data)

    guard = log.producers.start_verification(1, sequence=0, epoch=0, now_ms=NOW)
    log.append_as_leader(
        data, leader_epoch=0, inspector=PlainInspector(), context=AppendContext(guard=guard)
    )

    assert log.producers.producers[1].has_transaction_of(0)


# -- transactions


@pytest.mark.parametrize("is_leader", (True, False))
def test_aborted_transactions_are_in_the_index_of_their_markers_segment(*, is_leader: bool) -> None:
    harness = LogHarness()
    log = harness.open()

    if is_leader:
        lead(log, *interleaved(), origin=AppendOrigin.COORDINATOR)
    else:
        follow(log, *interleaved())

    assert log.bounds.log_end == 90
    assert harness.aborted() == [AbortedTxn(1, 0, 29, 8), AbortedTxn(2, 8, 74, 36)]


@pytest.mark.parametrize(
    ("high_watermark", "unstable", "stable"), ((0, 0, 0), (30, 8, 8), (75, 36, 36), (90, None, 90))
)
def test_transactions_are_stable_once_their_markers_are_replicated(
    high_watermark: int, unstable: int | None, stable: int
) -> None:
    log = opened()
    follow(log, *interleaved())

    log.set_high_watermark(high_watermark)

    assert log.bounds.first_unstable == unstable
    assert log.bounds.last_stable == stable


# -- when a write fails


def test_failed_write_does_not_change_the_log() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 2)
    harness.files.script.add(FileFault(on="pwrite", path="*.log", code=errno.ENOSPC, kept=10))

    with pytest.raises(OSError, match="No space"):
        lead(log, produced(0))

    assert log.bounds.log_end == 2
    assert log.size == 2 * ONE
    assert dict(log.producers.producers) == {}
    assert len(harness.bytes_of("00000000000000000000.log")) == 2 * ONE


def test_records_stay_written_when_the_transaction_index_fails() -> None:
    harness = LogHarness()
    log = harness.open()
    lead(log, produced(0, is_transactional=True))
    harness.files.script.add(FileFault(on="create", path="*.txnindex"))

    with pytest.raises(OSError, match="error"):
        lead(log, marker(), origin=AppendOrigin.COORDINATOR)

    assert log.bounds.log_end == 2
    assert log.bounds.last_stable == 0


def test_indexes_are_sparse_under_the_interval() -> None:
    harness = LogHarness()
    log = harness.open(LogConfig(segment_index_bytes=1200, index_interval_bytes=2 * ONE))

    filled(log, 8)
    log.close()

    assert len(harness.bytes_of("00000000000000000000.index")) == 2 * 8
