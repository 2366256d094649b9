"""Segments receive appends, are read, truncated and closed."""

import pytest

from cordwood.core.binary import INT32_MAX
from cordwood.storage.files.file_names import DELETED
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.abstract_index import IndexOrderError, SegmentOverflowError
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.offset_index import OffsetEntry
from cordwood.storage.segment.roll_policy import ActiveSegment
from cordwood.storage.segment.segment_view import TimestampAndOffset
from cordwood.storage.segment.time_index import TimeEntry
from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.storage.segment_samples import (
    DIRECTORY,
    NOW_MS,
    SMALL_INDEX,
    append,
    created,
    filled,
    headers_of,
    message,
    offsets,
    path,
    read,
    reopened,
    table,
    v2,
)

SPARSE = LogConfig(segment_index_bytes=1200)


def stepped(count: int = 30, *, interval_bytes: int = 0) -> LogSegment:
    """Return a segment of base 40 with single records; timestamps are ten times the offsets."""
    config = LogConfig(segment_index_bytes=1200, index_interval_bytes=interval_bytes)
    return filled(
        created(40, config=config),
        (v2(offset, timestamp=10 * offset) for offset in range(40, 40 + count)),
    )


# -- reading by offset


def test_read_begins_with_the_whole_batch_that_holds_the_offset() -> None:
    segment = filled(created(), (v2(0), v2(1, 9), v2(10)))

    found = segment.read(5, 1000)

    assert found is not None
    assert (found.position, found.header.base_offset, found.is_first_incomplete) == (
        len(v2(0)),
        1,
        False,
    )
    assert found.length == len(v2(1, 9) + v2(10))


def test_read_may_end_inside_a_batch_and_reports_an_incomplete_first_one() -> None:
    segment = filled(created(), (v2(0), v2(1)))

    found = segment.read(0, 50)

    assert found is not None
    assert (found.length, found.is_first_incomplete) == (50, True)


def test_read_of_at_least_one_batch_returns_it_whole() -> None:
    segment = filled(created(), (v2(0), v2(1)))

    found = segment.read(0, 50, min_one=True)

    assert found is not None
    assert (found.length, found.is_first_incomplete) == (len(v2(0)), False)


def test_read_ends_at_the_given_position() -> None:
    segment = filled(created(), (v2(0), v2(1), v2(2)))

    found = segment.read(1, 1000, max_position=2 * len(v2(0)))

    assert found is not None
    assert found.slice is not None
    assert bytes(found.slice.read()) == v2(1)


def test_read_after_the_end_is_none() -> None:
    assert filled(created(40), (v2(50), v2(51))).read(52, 1000) is None


def test_read_of_no_bytes_has_a_position() -> None:
    segment = filled(created(), (v2(0), v2(1)))

    found = segment.read(1, 0)

    assert found is not None
    assert (found.slice, found.length, found.position) == (None, 0, len(v2(0)))
    assert not found.is_first_incomplete


def test_translate_uses_indexes_and_a_first_position() -> None:
    segment = stepped()

    at_all, behind = segment.translate(45), segment.translate(45, 20 * len(v2(0)))

    assert at_all is not None
    assert behind is not None
    assert (at_all.base_offset, behind.base_offset) == (45, 60)


# -- appending


def test_append_returns_its_position_and_accepts_no_batches() -> None:
    segment = created()

    positions = [append(segment, v2(0)), append(segment, v2(1)), append(segment)]

    assert positions == [0, len(v2(0)), 2 * len(v2(0))]
    assert segment.size == 2 * len(v2(0))


def test_append_indexes_each_batch_of_one_call() -> None:
    segment = created()
    batches = v2(0), v2(1, 3, timestamp=1100), v2(4, timestamp=1050), v2(5, timestamp=1200)

    append(segment, *batches)

    index = segment.files.offset_index
    starts = [sum(map(len, batches[:number])) for number in (1, 2, 3)]
    assert [index.entry(number) for number in range(index.entries.count)] == [
        OffsetEntry(3, starts[0]),
        OffsetEntry(4, starts[1]),
        OffsetEntry(5, starts[2]),
    ]
    assert segment.files.time_index.last == TimeEntry(1200, 5)
    assert segment.files.time_entries.count == 2


def test_bytes_since_the_last_entry_are_counted_across_calls() -> None:
    segment = created(config=SPARSE)

    for offset in range(6):
        append(segment, v2(offset, size=2000))

    index = segment.files.offset_index
    found = [index.entry(number).offset for number in range(index.entries.count)]
    assert found == [3]
    append(segment, v2(6, size=2000))
    assert index.last.offset == 6


def test_batch_after_a_large_one_is_indexed() -> None:
    segment = created(config=SPARSE)

    append(segment, v2(0, size=5000))
    append(segment, v2(1))
    append(segment, v2(2))

    assert segment.files.offset_entries.count == 1
    assert segment.files.offset_index.last == OffsetEntry(1, 5000)


@pytest.mark.parametrize("offset", (99, 100 + INT32_MAX + 1))
def test_append_out_of_offset_range_is_rejected_without_a_write(offset: int) -> None:
    segment = created(100)

    with pytest.raises(SegmentOverflowError, match=f"offset {offset} is out of range"):
        append(segment, v2(offset))

    assert segment.size == 0
    assert segment.paths() == [segment.files.log_path]


def test_append_accepts_the_highest_offset_in_range() -> None:
    segment = created(100)

    append(segment, v2(100 + INT32_MAX))

    assert segment.next_offset() == 101 + INT32_MAX


def test_append_beyond_two_gigabytes_is_rejected() -> None:
    segment = created()
    segment.size = INT32_MAX - 10

    with pytest.raises(SegmentOverflowError, match="ends below 2 GiB"):
        append(segment, v2(0))


def test_append_with_decreasing_offsets_is_rejected_without_a_write() -> None:
    segment = filled(created(), (v2(5), v2(6)))

    with pytest.raises(IndexOrderError, match="offset 6 cannot follow 6"):
        append(segment, v2(6))

    assert segment.size == 2 * len(v2(0))


def test_append_rejects_headers_of_other_data() -> None:
    with pytest.raises(AssertionError, match="headers are those"):
        created().append(v2(0), headers_of(v2(0) + v2(1)))


def test_append_continues_when_an_index_is_full() -> None:
    config = LogConfig(segment_index_bytes=36, index_interval_bytes=0)
    segment = created(config=config)

    append(segment, *(v2(offset, timestamp=offset) for offset in range(20)))

    assert segment.is_index_full
    assert (segment.files.offset_entries.count, segment.files.time_entries.count) == (4, 2)
    assert offsets(read(segment, 17, 1)) == []
    assert offsets(read(segment, 17)) == [(17, 17), (18, 18), (19, 19)]


# -- state


def test_segment_has_the_values_for_the_roll_decision() -> None:
    segment = created(40)
    empty = segment.as_active

    append(segment, v2(40, timestamp=700), v2(41, timestamp=900))

    assert empty == ActiveSegment(40, 0, -1, NOW_MS, is_index_full=False)
    assert segment.as_active == empty._replace(size=segment.size, first_timestamp=700)


def test_opened_segment_reads_its_first_timestamp() -> None:
    segment = created()
    assert segment.first_timestamp == -1
    append(segment, v2(0, timestamp=1000))
    append(segment, v2(1, timestamp=5))

    assert segment.first_timestamp == reopened(segment).first_timestamp == 1000


def test_reopened_segment_has_its_largest_timestamp() -> None:
    segment = filled(created(), (v2(0, timestamp=70), v2(1, timestamp=90), v2(2, timestamp=80)))
    segment.close()

    again = reopened(segment)

    assert again.latest == segment.latest == TimeEntry(90, 1)
    assert again.largest_timestamp() == 90


def test_segment_without_timestamps_uses_the_last_change_of_its_file() -> None:
    files = MemoryFiles()
    segment = created(over=table(files))
    append(segment, message(0, magic=0))
    files.clock.advance(hours=1)

    assert segment.largest_timestamp() == files.clock.now_ms() - 3_600_000


def test_segment_remembers_a_time_entry_that_another_thread_has_read() -> None:
    segment = filled(created(), (v2(0, timestamp=70), v2(1, timestamp=90)))
    segment.close()
    again = reopened(segment)
    before = again.known_latest

    again.remember_latest(TimeEntry(90, 1))
    again.remember_latest(TimeEntry(95, 2))

    assert (before, again.known_latest, again.latest) == (None, TimeEntry(90, 1), TimeEntry(90, 1))


def test_segment_finds_records_by_timestamp() -> None:
    segment = stepped(10)

    assert segment.view.find_by_timestamp(421, 40) == TimestampAndOffset(430, 43, leader_epoch=4)
    assert segment.view.find_by_timestamp(491, 40) is None


def test_segment_returns_an_upper_bound_offset_for_a_size() -> None:
    segment = stepped(4)
    size = len(v2(0))

    assert segment.upper_bound_offset(OffsetEntry(40, 0), 2 * size) == 42
    assert segment.upper_bound_offset(OffsetEntry(40, 0), 9 * size) is None


def test_segment_has_a_repr_with_its_path() -> None:
    assert repr(created(7)) == f"LogSegment({DIRECTORY}/00000000000000000007.log, size=0)"


# -- truncating


def test_truncate_removes_a_batch_and_all_later_ones_repeatedly() -> None:
    segment = created(40)
    offset = 40

    for _ in range(30):
        append(segment, v2(offset))
        append(segment, v2(offset + 1))
        segment.truncate_to(offset + 1, now_ms=NOW_MS)
        assert offsets(read(segment, offset)) == [(offset, offset)]
        offset += 1


def test_truncate_in_a_gap_removes_the_later_batches() -> None:
    segment = filled(created(40), (v2(40), v2(43)))

    cut = segment.truncate_to(41, now_ms=NOW_MS)

    assert cut == len(v2(43))
    assert offsets(read(segment, 40)) == [(40, 40)]


def test_truncate_truncates_the_indexes_and_restores_the_largest_timestamp() -> None:
    segment = stepped(interval_bytes=2 * len(v2(0)) - 1)
    segment.become_inactive()
    segment = reopened(segment)
    before = segment.files.time_entries.count

    segment.truncate_to(41, now_ms=NOW_MS)

    assert before == 30 // 2 - 1 + 1
    assert segment.files.time_entries.count == segment.files.offset_entries.count == 0
    assert (segment.latest, segment.next_offset()) == (TimeEntry(400, 40), 41)


def test_time_index_has_an_entry_for_every_second_batch() -> None:
    segment = stepped(interval_bytes=2 * len(v2(0)) - 1)

    assert segment.files.time_entries.count == 30 // 2 - 1


def test_truncate_of_everything_resets_the_segment() -> None:
    segment = created(40)
    append(segment, v2(40, timestamp=2000))

    segment.truncate_to(40, now_ms=9000)
    empty = segment.as_active
    append(segment, v2(40, timestamp=100))

    assert empty == ActiveSegment(40, 0, -1, 9000, is_index_full=False)
    assert offsets(read(segment, 40)) == [(40, 40)]
    assert segment.as_active.first_timestamp == 100
    assert segment.latest == TimeEntry(100, 40)


def test_truncate_at_the_base_offset_removes_damaged_bytes() -> None:
    created_one = created(40)
    created_one.files.log(writable=True).append(bytes(100))

    assert reopened(created_one).truncate_to(40, now_ms=NOW_MS) == 100


def test_truncate_of_an_opened_empty_segment_reserves_space_in_its_indexes() -> None:
    segment = created()
    segment.close()
    again = reopened(segment)

    assert again.truncate_to(57, now_ms=NOW_MS) == 0

    assert again.as_active == ActiveSegment(0, 0, -1, NOW_MS, is_index_full=False)


def test_bytes_to_the_next_entry_are_counted_from_the_truncation() -> None:
    segment = created(config=SPARSE)
    append(segment, v2(0, size=3000))
    append(segment, v2(1, size=2000))

    segment.truncate_to(1, now_ms=NOW_MS)
    append(segment, v2(1, size=2000))
    append(segment, v2(2))

    assert segment.files.offset_entries.count == 0


def test_truncate_drops_transactions_that_were_aborted_later() -> None:
    segment = filled(created(), (v2(offset) for offset in range(6)))
    segment.append_aborted(AbortedTxn(1, 0, 2, 3))
    segment.append_aborted(AbortedTxn(2, 1, 5, 6))

    segment.truncate_to(5, now_ms=NOW_MS)

    assert segment.collect_aborted(0, 100).aborted == (AbortedTxn(1, 0, 2, 3),)


# -- aborted transactions


def test_aborted_transactions_survive_a_restart() -> None:
    segment = filled(created(), (v2(0), v2(1)))
    segment.append_aborted(AbortedTxn(1, 0, 1, 2))
    segment.close()

    again = reopened(segment)
    again.append_aborted(AbortedTxn(1, 2, 3, 4))

    found = again.collect_aborted(0, 4)
    assert [entry.last_offset for entry in found.aborted] == [1, 3]
    assert found.is_complete


def test_segment_without_aborted_transactions_has_no_file_for_them() -> None:
    assert not created().collect_aborted(0, 9).aborted
    assert not created().files.transaction_entries.exists


# -- closing and deleting


def test_inactive_segment_has_trimmed_files_and_a_last_time_entry() -> None:
    segment = filled(created(config=SPARSE), (v2(0, timestamp=70), v2(1, timestamp=90)))

    segment.become_inactive()

    files = segment.files.open_files.files
    assert [files.stat(each).size for each in segment.paths()] == [segment.size, 0, 12]
    assert segment.files.time_index.last == TimeEntry(90, 1)


def test_inactive_segment_has_the_last_time_entry_in_its_reserved_space() -> None:
    config = LogConfig(segment_index_bytes=36, index_interval_bytes=0)
    segment = filled(created(config=config), (v2(offset, timestamp=offset) for offset in range(9)))

    segment.become_inactive()

    assert segment.files.time_entries.count == 3
    assert segment.files.time_index.last == TimeEntry(8, 8)


def test_empty_segment_gets_index_files_for_a_flush_and_is_closed_with_them() -> None:
    segment = created()
    files = segment.files.open_files.files

    segment.ensure_index_files()
    at_flush = [files.stat(each).size for each in segment.paths()]
    segment.close()

    assert at_flush == [0, 1200, 1200]
    assert [files.stat(each).size for each in segment.paths()] == [0, 0, 0]


def test_segment_that_was_only_read_is_closed_unchanged() -> None:
    segment = filled(created(), (v2(0), v2(1)))
    segment.close()
    again = reopened(segment)
    read(again, 0)
    files = again.files.open_files.files
    assert isinstance(files, MemoryFiles)
    before = files.pending()

    again.close()

    assert files.pending() == before
    assert again.files.open_files.open_count == 0


def test_segment_is_not_created_over_another() -> None:
    one = table()
    created(over=one)

    with pytest.raises(FileExistsError):
        LogSegment.create(one, path(), config=SMALL_INDEX, now_ms=NOW_MS)


def test_segment_removes_no_bytes_at_its_end() -> None:
    segment = filled(created(), (v2(0), v2(1)))

    assert segment.truncate_log(segment.size) == 0
    assert segment.truncate_log(len(v2(0))) == len(v2(1))
    assert segment.next_offset() == 1


def test_segment_has_the_state_that_recovery_found() -> None:
    segment = filled(created(config=SPARSE), (v2(0, timestamp=70), v2(1, timestamp=90)))
    growth = segment.new_index_builder()
    growth.latest = TimeEntry(80, 1)

    segment.finish_recovery(growth)

    assert segment.latest == segment.files.time_index.last == TimeEntry(80, 1)
    assert segment.first_timestamp == 70


def test_segment_is_renamed_and_deleted_with_all_its_files() -> None:
    segment = filled(created(), (v2(0), v2(1)))
    files = segment.files.open_files.files
    segment.become_inactive()

    segment.change_suffix(DELETED)
    segment.files.open_files.forget_under(DIRECTORY)
    files.rename(DIRECTORY, "/t-1")
    segment.set_directory("/t-1")
    was = segment.paths()
    segment.delete()

    assert [each.rpartition(".")[2] for each in was] == ["deleted"] * 3
    assert files.list("/t-1") == []
