"""Gaps: offsets without a batch, because a cleaner removed the records or because they are lost.

A cleaner works from the log start up to some offset, so only offsets below that one may have gaps.
Two facts show how far a cleaner has come: its checkpoint, and any batch with fewer records than
offsets, which only a cleaner leaves, here or in the log that was copied. A log that only receives
appends has no gaps.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cordwood.records.batch_header import BatchHeader


class OffsetGap(NamedTuple):
    """The offsets from `first_offset` up to, but not including, `end_offset`."""

    first_offset: int
    end_offset: int
    is_compacted: bool


def find_gaps(
    headers: Iterable[BatchHeader], *, start: int, cleaned_to: int = 0
) -> Iterator[OffsetGap]:
    """Yield the gaps between `start` and the batches, in order.

    A gap is yielded once its cause is known: at a later batch that has lost records, or at the end.
    """
    # A wrapper of the old formats has only its last offset, so no gap is found before it.
    waiting: list[OffsetGap] = []
    next_offset = start
    for header in headers:
        if has_start_offset(header) and header.base_offset > next_offset:
            waiting.append(OffsetGap(next_offset, header.base_offset, is_compacted=False))
        if has_lost_records(header) or header.next_offset <= cleaned_to:
            yield from (gap._replace(is_compacted=True) for gap in waiting)
            waiting.clear()
        next_offset = header.next_offset
    yield from (gap._replace(is_compacted=gap.end_offset <= cleaned_to) for gap in waiting)


def is_cleaned(headers: Iterable[BatchHeader]) -> bool:
    """Return whether a cleaner has worked on a segment; read its headers until one shows it."""
    next_offset: int | None = None
    for header in headers:
        is_after_gap = next_offset is not None and header.base_offset > next_offset
        if has_lost_records(header) or (is_after_gap and has_start_offset(header)):
            return True
        next_offset = header.next_offset
    return False


def has_start_offset(header: BatchHeader) -> bool:
    """Return whether a header has the first offset of its batch; a wrapper has only the last."""
    return header.record_count >= 0 or not header.codec_id


def has_lost_records(header: BatchHeader) -> bool:
    """Return whether a batch has fewer records than offsets, as a cleaner leaves it."""
    return 0 <= header.record_count < header.next_offset - header.base_offset
