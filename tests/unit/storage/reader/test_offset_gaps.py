"""Gaps are found and attributed to a cleaner or to lost records."""

from cordwood.records.batch_header import BatchHeader
from cordwood.storage.reader.offset_gaps import OffsetGap, find_gaps, is_cleaned
from tests.unit.storage.segment_samples import headers_of, message, v2


def batches(*spans: tuple[int, int], lost: int | None = None) -> list[BatchHeader]:
    """Return headers of batches of these offsets; the batch at `lost` has one record less."""
    headers = headers_of(b"".join(v2(*span) for span in spans))
    return [
        each._replace(record_count=each.record_count - 1) if each.base_offset == lost else each
        for each in headers
    ]


def test_log_with_appends_only_has_no_gap() -> None:
    assert list(find_gaps(batches((3, 5), (6, 6), (7, 9)), start=3)) == []


def test_gap_is_missing_when_no_cleaner_is_known() -> None:
    found = list(find_gaps(batches((2, 3), (6, 7)), start=0))

    assert found == [OffsetGap(0, 2, is_compacted=False), OffsetGap(4, 6, is_compacted=False)]


def test_gap_is_compacted_below_the_cleaner_checkpoint() -> None:
    found = list(find_gaps(batches((2, 3), (6, 7), (9, 9)), start=2, cleaned_to=6))

    assert found == [OffsetGap(4, 6, is_compacted=True), OffsetGap(8, 9, is_compacted=False)]


def test_gap_is_compacted_below_a_batch_that_has_lost_records() -> None:
    headers = batches((2, 3), (6, 7), (9, 10), (12, 12), lost=9)

    found = list(find_gaps(headers, start=2))

    assert [gap.is_compacted for gap in found] == [True, True, False]


def test_gap_is_found_before_a_message_but_not_before_a_wrapper() -> None:
    headers = headers_of(message(0) + message(2))
    wrapped = headers_of(message(6))[0]._replace(attributes=1)

    assert list(find_gaps([*headers, wrapped], start=0)) == [OffsetGap(1, 2, is_compacted=False)]


def test_segment_shows_a_cleaner_by_gaps_and_by_batches_that_have_lost_records() -> None:
    assert is_cleaned(batches((2, 3), (6, 7)))
    assert is_cleaned(batches((2, 3), (4, 7), lost=4))


def test_segment_with_appends_only_shows_no_cleaner() -> None:
    assert not is_cleaned(batches((2, 3), (4, 7)))
