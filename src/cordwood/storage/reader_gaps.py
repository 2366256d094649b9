"""Offsets that no batch has, and why: a cleaner has taken the records, or they are missing.

A cleaner works on a log from its start up to some offset. So whatever lies below an offset that it
is known to have reached may have gaps: below the checkpoint of its own, and below any batch that
has fewer records than offsets, for it is a cleaner that leaves such batches, here or where they
were copied from. A log that is only appended to has no gap.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cordwood.records.header import BatchHeader


class Gap(NamedTuple):
    """Offsets from `first_offset` up to, not including, `end_offset`."""

    first_offset: int
    end_offset: int
    is_compacted: bool


def gaps_between(
    headers: Iterable[BatchHeader], *, start: int, cleaned_to: int = 0
) -> Iterator[Gap]:
    """Yield the gaps between consecutive batches, the first of which may begin behind `start`.

    A gap is told once it is known what it is: at the next batch that has lost records, or at the
    end. Messages of the old formats say only where they end, so there are no gaps before wrappers.
    """
    waiting: list[Gap] = []
    next_offset = start
    for header in headers:
        if says_start(header) and header.base_offset > next_offset:
            waiting.append(Gap(next_offset, header.base_offset, is_compacted=False))
        if has_lost_records(header) or header.next_offset <= cleaned_to:
            yield from (gap._replace(is_compacted=True) for gap in waiting)
            waiting.clear()
        next_offset = header.next_offset
    yield from (gap._replace(is_compacted=gap.end_offset <= cleaned_to) for gap in waiting)


def is_cleaned(headers: Iterable[BatchHeader]) -> bool:
    """Whether a cleaner has been at work on a segment; its batches are read until one shows it."""
    next_offset: int | None = None
    for header in headers:
        is_behind_gap = next_offset is not None and header.base_offset > next_offset
        if has_lost_records(header) or (is_behind_gap and says_start(header)):
            return True
        next_offset = header.next_offset
    return False


def says_start(header: BatchHeader) -> bool:
    """Whether a batch says where it begins, as messages around others do not."""
    return header.record_count >= 0 or not header.codec_id


def has_lost_records(header: BatchHeader) -> bool:
    """Whether a batch has fewer records than offsets, as a cleaner leaves it."""
    return 0 <= header.record_count < header.next_offset - header.base_offset
