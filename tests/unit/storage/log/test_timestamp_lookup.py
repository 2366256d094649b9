"""A lookup by timestamp on another thread: its result, and the changes that make it void."""

from collections.abc import Callable

import pytest

from cordwood.records.record_lookup import RecordFinder, plain_record_finder
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_read import MAX_TIMESTAMP, FetchIsolation
from cordwood.storage.log.timestamp_lookup import TimestampLookup
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.segment_view import TimestampAndOffset
from tests.unit.storage.cleaned_samples import cleaned
from tests.unit.storage.log_samples import NOW, LogHarness, batch, lead

HIGH_WATERMARK = FetchIsolation.HIGH_WATERMARK
#: Two records a segment.
PAIRS = LogConfig(
    segment_bytes=2 * len(batch()),
    segment_index_bytes=1200,
    index_interval_bytes=0,
    retention_bytes=4 * len(batch()),
)


def stepped(harness: LogHarness, count: int = 6) -> Log:
    """Return a log with a record every ten milliseconds."""
    log = harness.open(PAIRS)
    for step in range(count):
        lead(log, batch(timestamp=NOW + 10 * step))
    log.set_high_watermark(count)
    return log


def run(harness: LogHarness, lookup: TimestampLookup) -> TimestampAndOffset | None:
    return lookup.run(harness.files, plain_record_finder)


def test_lookup_needs_no_file_that_the_owner_has_open() -> None:
    harness = LogHarness()
    lookup = stepped(harness).begin_lookup(NOW + 21)

    found = run(harness, lookup)

    assert lookup.is_current
    assert lookup.visible(found, HIGH_WATERMARK) == TimestampAndOffset(NOW + 30, 3, 0)


@pytest.mark.parametrize(("timestamp", "offset"), ((NOW + 45, 5), (MAX_TIMESTAMP, 5)))
def test_lookup_in_the_active_segment_is_not_disturbed_by_appends(
    timestamp: int, offset: int
) -> None:
    harness = LogHarness()
    log = stepped(harness)
    lookup = log.begin_lookup(timestamp)

    for step in range(6, 9):
        lead(log, batch(timestamp=NOW + 10 * step))
    found = run(harness, lookup)

    assert lookup.is_current
    assert lookup.visible(found, HIGH_WATERMARK) == TimestampAndOffset(NOW + 50, offset, 0)


def test_lookup_without_such_a_record_finds_nothing() -> None:
    harness = LogHarness()

    assert run(harness, stepped(harness).begin_lookup(NOW + 51)) is None


def swap(harness: LogHarness, log: Log) -> None:
    log.begin_swap(cleaned(harness.files, log, (0, 2), without=(1, 2))).finish()


@pytest.mark.parametrize(
    "change",
    (
        lambda _, log: log.truncate_to(5),
        lambda _, log: log.truncate_fully(9),
        lambda _, log: log.delete_old_segments(),
        lambda _, log: log.delete_records(3),
        lambda _, log: log.move("/d/u-0"),
        swap,
    ),
    ids=("truncation", "full truncation", "retention", "DeleteRecords", "move", "swap"),
)
def test_lookup_is_void_after_a_change(change: Callable[[LogHarness, Log], object]) -> None:
    harness = LogHarness()
    log = stepped(harness)
    lookup = log.begin_lookup(NOW + 21)
    run(harness, lookup)

    change(harness, log)

    assert not lookup.is_current


def test_lookup_reads_the_files_of_a_log_that_was_moved_before() -> None:
    harness = LogHarness()
    log = stepped(harness)
    lookup = log.begin_lookup(NOW + 21)
    log.move("/d/u-0")

    found = run(harness, lookup)

    assert lookup.is_current
    assert found == TimestampAndOffset(NOW + 30, 3, 0)


def test_lookup_reads_whole_segments_that_were_put_in_its_place() -> None:
    harness = LogHarness()
    log = stepped(harness)
    swap(harness, log)

    assert log.offset_for_timestamp(NOW + 10) == TimestampAndOffset(NOW + 30, 3, 0)


def test_lookup_reads_the_last_time_entries_of_a_reopened_log_once() -> None:
    harness = LogHarness()
    stepped(harness).close()
    log = harness.open(PAIRS, high_watermark=6)
    before = [each.known_latest for each in log.segments]

    assert log.offset_for_timestamp(MAX_TIMESTAMP) == TimestampAndOffset(NOW + 50, 5, 0)

    after = [each.known_latest for each in log.segments]
    assert before == [None, None, None]
    assert [each.timestamp for each in after if each] == [NOW + 10, NOW + 30, NOW + 50]


def test_lookup_asks_for_a_finder_on_its_own_thread_alone() -> None:
    harness, sizes = LogHarness(), list[int]()
    lookup = stepped(harness).begin_lookup(NOW + 21)
    before = list(sizes)

    def finders(size: int) -> RecordFinder:
        sizes.append(size)
        return plain_record_finder(size)

    lookup.run(harness.files, finders)

    assert (before, sizes) == ([], [len(batch())])
