"""Spans of consecutive offsets, as two arrays: 16 bytes a span, however many there are.

A span is from `start` to `end`, `end` excluded. Spans may overlap: an offset then occurs once per
span. Spans are ordered by their start, except those of `sort_bounds`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Offsets = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class OffsetSpans:
    """The starts and the ends of spans."""

    starts: Offsets
    ends: Offsets

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> "OffsetSpans":
        """Return the spans of pairs, by their start."""
        bounds = np.array(sorted(pairs), np.int64).reshape(-1, 2)
        return cls(bounds[:, 0].copy(), bounds[:, 1].copy())

    @property
    def count(self) -> int:
        """The number of spans."""
        return len(self.starts)

    @property
    def total(self) -> int:
        """The number of offsets, each as often as it occurs."""
        return int(np.sum(self.ends - self.starts))

    def pairs(self) -> list[tuple[int, int]]:
        """Return the spans as pairs."""
        return list(zip(self.starts.tolist(), self.ends.tolist(), strict=True))

    def count_at(self, offsets: Offsets) -> NDArray[np.int64]:
        """Return how often each offset occurs; starts and ends may be sorted independently."""
        before = np.searchsorted(self.ends, offsets, side="right")
        return np.searchsorted(self.starts, offsets, side="right") - before

    def between(self, start: int, end: int) -> "OffsetSpans":
        """Return the parts between two offsets."""
        starts, ends = np.clip(self.starts, start, end), np.clip(self.ends, start, end)
        is_left = starts < ends
        return OffsetSpans(starts[is_left], ends[is_left])


NO_SPANS = OffsetSpans.of(())


def find_spans(offsets: Offsets) -> OffsetSpans:
    """Return the spans of offsets, which may be unordered and may repeat."""
    if not len(offsets):
        return NO_SPANS
    steps = np.diff(offsets)
    if np.any(steps < 1):
        offsets = np.sort(offsets)
        steps = np.diff(offsets)
    breaks = np.flatnonzero(steps != 1)
    firsts = offsets[np.concatenate(([0], breaks + 1))]
    lasts = offsets[np.concatenate((breaks, [len(offsets) - 1]))]
    return OffsetSpans(firsts, lasts + 1)


def merge_spans(parts: Iterable[OffsetSpans]) -> OffsetSpans:
    """Return the spans of all parts; adjacent ones become one, with the same count of offsets."""
    joined = concatenate(parts)
    starts, ends = joined.starts, joined.ends
    if np.any(np.diff(starts) <= 0):
        order = np.lexsort((ends, starts))
        starts, ends = starts[order], ends[order]
    is_first = np.ones(len(starts), np.bool_)
    is_first[1:] = starts[1:] != ends[:-1]
    is_last = np.roll(is_first, -1)
    return OffsetSpans(starts[is_first], ends[is_last])


def concatenate(parts: Iterable[OffsetSpans]) -> OffsetSpans:
    """Return the spans of all parts, in the order of the parts."""
    listed = [NO_SPANS, *parts]
    return OffsetSpans(
        np.concatenate([each.starts for each in listed]),
        np.concatenate([each.ends for each in listed]),
    )


def subtract_spans(spans: OffsetSpans, others: OffsetSpans) -> OffsetSpans:
    """Return the offsets of `spans` that `others` do not have; neither may overlap in itself."""
    bounds = np.unique(
        np.concatenate((spans.starts, spans.ends, others.starts, others.ends)),
    )
    firsts, ends = bounds[:-1], bounds[1:]
    is_left = (spans.count_at(firsts) > 0) & (others.count_at(firsts) == 0)
    return merge_spans([OffsetSpans(firsts[is_left], ends[is_left])])


def sort_bounds(parts: Iterable[OffsetSpans]) -> OffsetSpans:
    """Return starts and ends, each sorted on its own, which is sufficient for `count_at`."""
    joined = concatenate(parts)
    joined.starts.sort()
    joined.ends.sort()
    return joined


def pack_spans(spans: OffsetSpans) -> bytes:
    """Return spans as bytes, to send them from a task; `unpack_spans` is the inverse."""
    return spans.starts.astype("<i8").tobytes() + spans.ends.astype("<i8").tobytes()


def unpack_spans(data: bytes) -> OffsetSpans:
    """Return packed spans, as views of the bytes."""
    bounds = np.frombuffer(data, "<i8").astype(np.int64, copy=False)
    half = len(bounds) // 2
    return OffsetSpans(bounds[:half], bounds[half:])
