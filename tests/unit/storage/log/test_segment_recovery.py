"""Recovery of a segment keeps the valid batches and rebuilds the indexes."""

import pytest

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import CorruptMessageError, InvalidRecordError
from cordwood.records.batch_header import BatchHeader
from cordwood.records.record_batch import HEADER_SIZE
from cordwood.storage.files.file_names import INDEX, TIME_INDEX, TXN_INDEX
from cordwood.storage.log import segment_recovery
from cordwood.storage.log.segment_recovery import (
    RecoveredSegment,
    has_clean_end,
    is_usable,
    recover,
)
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.abstract_index import SegmentOverflowError
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.time_index import TimeEntry
from cordwood.storage.segment.transaction_index import AbortedTxn
from tests.unit.storage.segment_samples import (
    append,
    created,
    filled,
    marker,
    message,
    offsets,
    produced,
    read,
    reopened,
    table,
    v2,
)

SIZE = len(v2(0))


def ignore(header: BatchHeader, data: memoryview) -> None:
    """Accept a batch."""


def torn(segment: LogSegment, data: bytes, *, at: int | None = None) -> LogSegment:
    """Return a segment whose log file was overwritten outside of it."""
    log = segment.files.log(writable=True)
    log.pwrite(data, log.size if at is None else at)
    return reopened(segment)


def recovered(segment: LogSegment) -> RecoveredSegment:
    return recover(segment, ignore)


def index_bytes(segment: LogSegment) -> list[bytes]:
    files = segment.files
    paths = files.offset_entries.path, files.time_entries.path
    return [files.open_files.open(path).pread(5000, 0) for path in paths]


def test_recovery_of_a_whole_segment_writes_the_indexes_that_it_had() -> None:
    batches = [v2(offset, timestamp=1000 + 7 * (offset % 5)) for offset in range(40)]
    segment = filled(created(config=LogConfig(index_interval_bytes=150)), batches)
    segment.close()
    before = index_bytes(segment)
    config = LogConfig(index_interval_bytes=150)

    segment = reopened(segment, config=config)
    found = recovered(segment)

    assert found == RecoveredSegment(0, None, 40)
    assert index_bytes(segment) == before
    assert segment.latest == TimeEntry(1028, 4)


def test_recovery_rebuilds_invalid_indexes() -> None:
    segment = filled(created(), (v2(offset, timestamp=10 * offset) for offset in range(100)))
    for entries in (segment.files.offset_entries, segment.files.time_entries):
        segment.files.open_files.open(entries.path, writable=True).pwrite(b"\xa5" * 400, 0)

    segment = reopened(segment)
    recovered(segment)

    for offset in range(100):
        assert offsets(read(segment, offset, SIZE)) == [(offset, offset)]
        found = segment.view.find_by_timestamp(10 * offset, 0)
        assert found is not None
        assert found.offset == offset


@pytest.mark.parametrize("number", (0, 1, 7, 19))
@pytest.mark.parametrize("within", (0, 8, 16, 30, SIZE - 1))
def test_recovery_keeps_the_batches_before_the_first_invalid_one(number: int, within: int) -> None:
    segment = filled(created(), (v2(offset) for offset in range(20)))
    at = number * SIZE + within

    segment = torn(segment, b"\xee" * (20 * SIZE - at), at=at)
    found = recovered(segment)

    assert found.truncated_bytes == (20 - number) * SIZE
    assert found.next_offset == segment.next_offset() == number
    assert segment.files.open_files.files.stat(segment.files.log_path).size == number * SIZE


def test_recovery_names_the_fault_and_its_place() -> None:
    segment = torn(filled(created(), (v2(0), v2(1))), b"\xff", at=2 * SIZE - 1)

    found = recovered(segment)

    assert isinstance(found.fault, CorruptMessageError)
    assert "checksum" in str(found.fault)
    assert found.fault.position == SIZE
    assert found.fault.base_offset == 1


@pytest.mark.parametrize("left", (1, 12, 17, 60, SIZE - 1))
def test_recovery_truncates_a_batch_that_did_not_arrive_whole(left: int) -> None:
    segment = torn(filled(created(), (v2(0),)), v2(1)[:left])

    assert recovered(segment) == RecoveredSegment(left, None, 1)
    assert offsets(read(segment, 0)) == [(0, 0)]


def test_recovery_truncates_the_zeros_of_a_preallocated_file() -> None:
    config = LogConfig(preallocate=True, segment_bytes=1 << 20)
    segment = filled(created(config=config), (v2(0), v2(1)))

    segment = reopened(segment)
    found = recovered(segment)

    assert found.truncated_bytes == (1 << 20) - 2 * SIZE
    assert segment.size == 2 * SIZE


def test_recovery_of_an_empty_segment_creates_its_indexes() -> None:
    segment = created()

    assert recovered(segment) == RecoveredSegment(0, None, 0)

    assert is_usable(reopened(segment))
    assert segment.files.offset_entries.size == 0


def test_recovery_checks_old_formats_by_their_own_checksum() -> None:
    segment = filled(created(), (message(0, magic=0), message(1), message(2)))

    whole = recovered(segment)
    segment = torn(segment, b"\xff", at=segment.size - 1)

    assert whole.fault is None
    assert whole.next_offset == 3
    assert recovered(segment).next_offset == 2


def test_recovery_reports_each_batch_with_its_bytes() -> None:
    segment = filled(created(), (v2(0), v2(1, 3), message(4)))
    received: list[tuple[int, int, int, bytes]] = []

    recover(
        segment,
        lambda header, data: received.append(
            (header.position, header.last_offset, header.partition_leader_epoch, bytes(data))
        ),
    )

    assert received == [
        (0, 0, 4, v2(0)),
        (SIZE, 3, 4, v2(1, 3)),
        (SIZE + len(v2(1, 3)), 4, -1, message(4)),
    ]


def test_recovery_callback_may_fill_the_transaction_index() -> None:
    segment = filled(
        created(100),
        (
            produced(100, 101, producer_id=5),
            produced(102, 103, producer_id=10),
            v2(104, 105),
            marker(106, producer_id=10, is_commit=False),
            marker(107, producer_id=5, is_commit=True),
        ),
    )
    segment.append_aborted(AbortedTxn(9, 90, 99, 100))

    def note(header: BatchHeader, data: memoryview) -> None:
        if header.is_control and header.producer_id == 10:
            assert len(data) > HEADER_SIZE
            segment.append_aborted(AbortedTxn(10, 102, header.last_offset, 100))

    found = recover(segment, note)

    assert found.next_offset == 108
    assert segment.collect_aborted(100, 108).aborted == (AbortedTxn(10, 102, 106, 100),)


def test_recovery_truncates_batches_rejected_by_its_callback() -> None:
    segment = filled(created(), (v2(offset) for offset in range(4)))

    def refuse(header: BatchHeader, _: memoryview) -> None:
        if header.base_offset == 2:
            raise InvalidRecordError("a marker that is too short")

    found = recover(segment, refuse)

    assert found.truncated_bytes == 2 * SIZE
    assert found.next_offset == 2
    assert isinstance(found.fault, InvalidRecordError)
    assert segment.files.offset_index.last.offset == 1


def test_recovery_reports_the_position_before_it_truncates() -> None:
    sizes: list[int] = []
    segment = filled(created(), (v2(0),))
    log = segment.files.log

    recover(segment, ignore, before_truncation=lambda _end: sizes.append(log().size))
    torn(segment, b"rubbish")
    segment = reopened(segment)
    recover(segment, ignore, before_truncation=lambda _end: sizes.append(log().size))

    assert sizes == [SIZE + 7]
    assert segment.size == SIZE


def test_recovery_ends_the_log_where_offsets_decrease() -> None:
    segment = torn(filled(created(), (v2(0), v2(5))), v2(4))

    done = recovered(segment)

    assert "offsets that are not above those of the batch before" in str(done.fault)
    assert done.next_offset == 6
    assert done.truncated_bytes == len(v2(4))


@pytest.mark.parametrize("base", (-1, INT64_MAX))
def test_recovery_ends_the_log_where_an_offset_can_be_none(base: int) -> None:
    segment = created(INT64_MAX - 1 if base > 0 else 0)
    whole = v2(segment.base_offset)
    damaged = bytearray(v2(0, 1))
    damaged[:8] = base.to_bytes(8, signed=True)

    found = recovered(torn(segment, whole + damaged))

    assert found.truncated_bytes == len(damaged)
    assert isinstance(found.fault, CorruptMessageError)


def test_recovery_raises_when_an_offset_has_no_place() -> None:
    segment = torn(filled(created(), (v2(0),)), v2(1 << 31))

    with pytest.raises(SegmentOverflowError, match="out of range"):
        recovered(segment)
    assert segment.files.open_files.open_count > 0


def test_recovery_reads_batches_larger_than_its_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_recovery, "WINDOW_SIZE", 1000)
    sizes = [100, 900, 998, 1000, 1001, 5000, 70, 939, 70, 3000]
    segment = filled(created(), (v2(offset, size=size) for offset, size in enumerate(sizes)))

    found = recovered(segment)

    assert found == RecoveredSegment(0, None, len(sizes))


def test_recovery_ends_where_the_file_is_shorter_than_it_was() -> None:
    segment = filled(created(), (v2(0), v2(1)))
    segment.files.log(writable=True).truncate(SIZE + 10)
    segment.files.log(writable=True).preallocate(SIZE + 10)
    segment.size = 2 * SIZE

    assert recovered(segment).next_offset == 1


def test_recovery_needs_only_one_open_file() -> None:
    segment = filled(created(over=table(capacity=1)), (v2(offset) for offset in range(5)))

    def note(header: BatchHeader, _: memoryview) -> None:
        segment.append_aborted(AbortedTxn(1, 0, header.last_offset, 0))

    assert recover(segment, note).next_offset == 5
    assert segment.files.transaction_entries.count == 5


def test_segment_continues_after_recovery() -> None:
    segment = torn(filled(created(), (v2(0), v2(1))), b"rubbish")
    recovered(segment)

    append(segment, v2(2, timestamp=3000))
    segment.close()

    assert offsets(read(reopened(segment), 0)) == [(0, 0), (1, 1), (2, 2)]
    assert reopened(segment).latest == TimeEntry(3000, 2)


def test_segment_is_usable_when_it_was_closed() -> None:
    segment = filled(created(), (v2(0), v2(1)))
    segment.append_aborted(AbortedTxn(1, 0, 1, 2))
    segment.close()

    assert is_usable(reopened(segment))


def test_segment_without_an_offset_index_is_not_usable() -> None:
    segment = filled(created(), (v2(0), v2(1)))
    segment.close()
    segment.files.open_files.remove(segment.files.offset_entries.path)

    assert not is_usable(reopened(segment))


def test_segment_without_a_time_index_is_usable_and_has_an_empty_one() -> None:
    segment = filled(created(), (v2(0), v2(1)))
    segment.close()
    segment.files.open_files.remove(segment.files.time_entries.path)

    again = reopened(segment)

    assert is_usable(again)
    assert again.files.open_files.files.stat(again.files.time_entries.path).size == 0


@pytest.mark.parametrize("extension", (INDEX, TIME_INDEX))
@pytest.mark.parametrize("entries", (0, 1, 3))
def test_segment_is_not_sane_when_an_index_ends_with_zeros(extension: str, entries: int) -> None:
    segment = filled(created(), (v2(0), v2(1), v2(2)))
    segment.close()
    file = segment.files.open_files.open(segment.files.path.of(extension), writable=True)
    file.truncate(entries * 4)
    file.preallocate(48)

    assert not is_usable(reopened(segment))


def test_segment_with_transactions_of_another_is_not_usable() -> None:
    segment = filled(created(100), (v2(100),))
    segment.append_aborted(AbortedTxn(1, 0, 99, 100))
    segment.close()

    assert not is_usable(reopened(segment))


def test_segment_has_a_clean_end_when_its_last_batch_ends_with_the_file() -> None:
    segment = filled(created(), (v2(0), v2(1)))

    assert has_clean_end(segment)
    assert has_clean_end(created())
    assert not has_clean_end(torn(segment, v2(2)[:-1]))
    assert not has_clean_end(torn(filled(created(), (v2(0),)), bytes(100)))
    assert not has_clean_end(torn(created(), v2(INT64_MAX)))


@pytest.mark.parametrize(
    ("extension", "entry"),
    (
        (INDEX, (9).to_bytes(4) + (2 * SIZE).to_bytes(4)),
        (INDEX, (2).to_bytes(4) + (2 * SIZE + 1).to_bytes(4)),
        (INDEX, (2).to_bytes(4) + (3 * SIZE).to_bytes(4)),
        (INDEX, (2).to_bytes(4) + (9 * SIZE).to_bytes(4)),
        (INDEX, (9).to_bytes(4) + bytes(4)),
        (INDEX, b"\xff" * 8),
        (INDEX, bytes(3)),
        (TIME_INDEX, (1002).to_bytes(8) + (9).to_bytes(4)),
        (TIME_INDEX, (9999).to_bytes(8) + (2).to_bytes(4)),
        (TIME_INDEX, (1).to_bytes(8) + (2).to_bytes(4)),
        (TIME_INDEX, (1002).to_bytes(8) + b"\xff" * 4),
        (TIME_INDEX, bytes(3)),
        (TXN_INDEX, AbortedTxn(5, 0, 9, 10)),
    ),
)
def test_segment_has_no_clean_end_when_the_last_entry_of_an_index_is_wrong(
    extension: str, entry: bytes | AbortedTxn
) -> None:
    segment = filled(created(), (v2(offset, timestamp=1000 + offset) for offset in range(3)))
    segment.close()
    is_whole = has_clean_end(reopened(segment))

    if isinstance(entry, AbortedTxn):
        segment.append_aborted(entry)
    else:
        file = segment.files.open_files.open(segment.files.path.of(extension), writable=True)
        file.pwrite(entry, file.size - (12 if extension == TIME_INDEX else 8))
        file.truncate(file.size - (len(entry) == 3))

    assert is_whole
    assert not has_clean_end(reopened(segment))


def test_segment_has_a_clean_end_when_several_batches_have_one_index_entry() -> None:
    """Kafka did so before 4.1."""
    segment = filled(created(), (v2(0), v2(1), v2(2)))
    segment.close()
    file = segment.files.open_files.open(segment.files.path.of(INDEX), writable=True)
    file.truncate(0)
    file.pwrite((2).to_bytes(4) + SIZE.to_bytes(4), 0)

    assert has_clean_end(reopened(segment))
