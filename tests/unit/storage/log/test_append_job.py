"""The work on records of an append is a job: it runs on any thread, without the log."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest

from cordwood.core.errors import BadRecordsError, InvalidRecordError, MessageTooLargeError
from cordwood.core.types import LeaderEpoch, Offset
from cordwood.records.batch_builder import BatchFields
from cordwood.records.batch_stream import AnyBatch
from cordwood.records.compression import DEFAULT_LIMIT, Codec
from cordwood.records.legacy_builder import LegacyMagic
from cordwood.records.record import TimestampType
from cordwood.records.record_checks import BatchFacts, PlainInspector
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.storage.log.append_job import AppendJob
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_append import NOTHING, AppendContext, AppendResult
from cordwood.storage.log_config import LogConfig
from cordwood.storage.producers.ongoing_transactions import CompletedTxn
from cordwood.storage.validation.log_validator import ValidationParameters, validate
from cordwood.storage.validation.record_set_analysis import analyze
from tests.unit.storage.log_samples import (
    NOW,
    batch,
    bytes_of,
    filled,
    lead,
    marker,
    offsets,
    opened,
    produced,
    read,
)
from tests.unit.storage.produced import old, patched, v2

CODECS = ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")
LEGACY: tuple[LegacyMagic, ...] = (0, 1)
SETS = (
    *((AppendOrigin.CLIENT, v2(codec)) for codec in Codec),
    *((AppendOrigin.COORDINATOR, v2(codec, offsets=(0, 2, 5))) for codec in Codec),
    *(
        (AppendOrigin.CLIENT, old(magic, codec))
        for magic, codec in product(LEGACY, tuple(Codec)[:4])
    ),
    (AppendOrigin.COORDINATOR, bytes(marker())),
    (AppendOrigin.RAFT_LEADER, bytes(batch(2, at=7, epoch=4))),
)


def begun(log: Log, data: bytes | bytearray) -> AppendJob:
    return log.begin_append(bytearray(data), inspector=PlainInspector())


@pytest.mark.parametrize("timestamp_type", list(TimestampType)[-2:], ids=lambda kind: kind.name)
@pytest.mark.parametrize("codec", CODECS)
def test_job_on_a_thread_writes_the_bytes_of_a_validation_at_the_log_end(
    codec: str, timestamp_type: TimestampType
) -> None:
    """The twin validates with the final offset and epoch, before anything is written."""
    config = LogConfig(compression_type=codec, message_timestamp_type=timestamp_type)
    log = opened(config)
    expected = bytearray()
    with ThreadPoolExecutor(1) as thread:
        for origin, data in SETS:
            twin = ValidationParameters(log.bounds.log_end, 4, NOW, origin)
            wanted = bytearray(data)
            info = analyze(wanted, origin, max_message_bytes=1 << 20)
            expected += validate(
                wanted, info, append=twin, config=config, inspector=PlainInspector()
            ).data

            job = log.begin_append(bytearray(data), inspector=PlainInspector(), origin=origin)
            log.finish_append(thread.submit(job.run).result(), leader_epoch=4)

    assert bytes_of(read(log, 0)) == bytes(expected)


def test_job_changes_neither_the_log_nor_its_own_result() -> None:
    log = filled(opened(), 3)
    before = bytes_of(read(log, 0))

    job = begun(log, batch(2))

    assert bytes(job.run().data) == bytes(job.run().data)
    assert (log.bounds.log_end, bytes_of(read(log, 0))) == (3, before)


def test_appends_have_the_order_in_which_they_are_finished() -> None:
    log = opened()
    first, second = begun(log, batch(2)), begun(log, batch(3))
    late, early = first.run(), second.run()

    assert log.finish_append(early, leader_epoch=0) == AppendResult(0, 2)
    assert log.finish_append(late, leader_epoch=0) == AppendResult(3, 4)
    assert offsets(read(log, 0)) == [(0, 2), (3, 4)]


def test_job_keeps_the_config_and_the_time_of_its_begin() -> None:
    stamping = LogConfig(
        message_timestamp_type=TimestampType.LOG_APPEND_TIME, max_message_bytes=1000
    )
    log = opened(stamping)
    job = begun(log, batch(timestamp=5))

    log.configure(LogConfig(max_message_bytes=1))

    assert log.finish_append(job.run(), leader_epoch=0).log_append_time_ms == NOW
    with pytest.raises(MessageTooLargeError):
        begun(log, batch()).run()


def test_finish_sets_the_epoch_of_its_own_time() -> None:
    log = filled(opened(), 1, epoch=1)
    prepared = begun(log, batch()).run()

    log.finish_append(prepared, leader_epoch=5)

    assert log.epochs.latest == EpochEntry(LeaderEpoch(5), Offset(1))


def test_finish_follows_a_truncation() -> None:
    log = filled(opened(), 3)
    prepared = begun(log, batch()).run()

    log.truncate_to(1)

    assert log.finish_append(prepared, leader_epoch=0) == AppendResult(1, 1)


@pytest.mark.parametrize("data", (batch(at=1), v2(offsets=(0, 2, 3)), patched(v2(), 16, b"\x09")))
def test_job_that_fails_changes_no_bytes(data: bytes) -> None:
    received = bytearray(data)
    job = opened().begin_append(received, inspector=PlainInspector())

    with pytest.raises(BadRecordsError):
        job.run()

    assert received == data


def test_rejected_job_does_not_disturb_the_others() -> None:
    log = opened()
    good, bad, last = begun(log, batch()), begun(log, v2(offsets=(0, 2, 3))), begun(log, batch())

    log.finish_append(good.run(), leader_epoch=0)
    with pytest.raises(InvalidRecordError):
        bad.run()

    assert log.finish_append(last.run(), leader_epoch=0) == AppendResult(1, 1)


def test_job_without_a_batch_appends_no_records() -> None:
    log = opened()

    assert log.finish_append(begun(log, b"").run(), leader_epoch=3) == NOTHING
    assert not log.epochs.entries


def test_origin_of_the_begin_counts() -> None:
    log = opened()
    job = log.begin_append(marker(), inspector=PlainInspector(), origin=AppendOrigin.COORDINATOR)

    result = log.finish_append(job.run(), leader_epoch=0, context=AppendContext())

    assert result == AppendResult(0, 0)


def test_quorums_batch_of_an_earlier_epoch_is_rejected_at_the_finish() -> None:
    log = opened()
    data = batch(epoch=3)
    job = log.begin_append(data, inspector=PlainInspector(), origin=AppendOrigin.RAFT_LEADER)
    prepared = job.run()

    with pytest.raises(InvalidRecordError, match="not the current one"):
        log.finish_append(prepared, leader_epoch=4)

    assert log.finish_append(prepared, leader_epoch=3) == AppendResult(0, 0)


def test_result_has_the_transactions_that_a_marker_completes() -> None:
    log = opened()
    started = lead(log, produced(0, 2, producer=(8, 0), is_transactional=True))

    ended = lead(log, marker(producer=(8, 0)), origin=AppendOrigin.COORDINATOR)

    assert started.completed == ()
    assert ended.completed == (CompletedTxn(8, 0, 2, is_aborted=True),)


def test_job_is_small_by_its_bytes_and_its_inspector() -> None:
    log = opened()

    found = [begun(log, each).is_small for each in (batch(), batch(101), b"")]

    assert found == [True, False, True]


def test_job_of_a_sequence_gap_needs_no_records_to_be_rejected() -> None:
    """A producer's sequences are compared at the finish, in the order of the writes."""
    log = opened()
    fields = BatchFields(producer_id=1, producer_epoch=0, base_sequence=1)
    second = begun(log, batch(fields=fields)).run()
    first = begun(log, produced(0)).run()

    log.finish_append(first, leader_epoch=0)

    assert log.finish_append(second, leader_epoch=0) == AppendResult(1, 1)


class CountingInspector(PlainInspector):
    """An inspector that counts its batches."""

    def __init__(self) -> None:
        super().__init__()
        self.inspected = 0

    def inspect(self, batch: AnyBatch, *, limit: int = DEFAULT_LIMIT) -> BatchFacts:
        self.inspected += 1
        return super().inspect(batch, limit=limit)


@pytest.mark.parametrize(
    ("data", "config", "inspected"),
    (
        (v2(), LogConfig(), 0),
        (v2(Codec.LZ4), LogConfig(), 0),
        (bytes(marker()), LogConfig(), 0),
        (v2(), LogConfig(compression_type="zstd"), 1),
        (v2(), LogConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME), 1),
        (v2(offsets=(0, 2, 5)), LogConfig(), 1),
    ),
)
def test_records_of_a_coordinator_are_not_read_again_if_they_are_stored_as_built(
    data: bytes, config: LogConfig, inspected: int
) -> None:
    inspector, log = CountingInspector(), opened(config)

    job = log.begin_append(bytearray(data), inspector=inspector, origin=AppendOrigin.COORDINATOR)
    log.finish_append(job.run(), leader_epoch=4)

    assert inspector.inspected == inspected
    assert len(offsets(read(log, 0))) == 1


def test_batch_of_a_coordinator_above_the_limit_is_rejected() -> None:
    config = LogConfig(max_message_bytes=80)
    log = opened(config)

    job = log.begin_append(
        bytearray(v2()), inspector=PlainInspector(), origin=AppendOrigin.COORDINATOR
    )

    with pytest.raises(MessageTooLargeError):
        job.run()
