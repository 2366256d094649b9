"""Spans of consecutive offsets, and layers of spans with values.

A span is from `start` to `end`, `end` excluded. Spans of a list may overlap: an offset then occurs
once per span. A layer is a list of ordered spans that do not overlap, each with a value.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class OffsetSpan(NamedTuple):
    """Consecutive offsets of one partition."""

    start: int
    end: int


class LayerSpan(NamedTuple, Generic[T]):
    """A span of a layer, with its value."""

    start: int
    end: int
    value: T


Layer = Sequence[LayerSpan[T]]


def merge_spans(spans: Iterable[OffsetSpan]) -> list[OffsetSpan]:
    """Merge adjacent spans; return them by start, with the same count of each offset."""
    found: list[OffsetSpan] = []
    for span in sorted(spans):
        if found and found[-1].end == span.start:
            found[-1] = OffsetSpan(found[-1].start, span.end)
        else:
            found.append(span)
    return found


def count_overlaps(spans: Iterable[OffsetSpan]) -> list[LayerSpan[int]]:
    """Return the layer with the number of occurrences of each offset, without zeros."""
    changes: Counter[int] = Counter()
    for start, end in spans:
        changes[start] += 1
        changes[end] -= 1
    found, count = [], 0
    for start, end in pairwise(sorted(offset for offset, change in changes.items() if change)):
        count += changes[start]
        if count:
            found.append(LayerSpan(start, end, count))
    return found


def make_layer(spans: Iterable[OffsetSpan], value: T) -> list[LayerSpan[T]]:
    """Return the layer of spans that do not overlap, with one value."""
    return [LayerSpan(start, end, value) for start, end in sorted(spans)]


def overlay(left: Layer[T], right: Layer[U]) -> list[LayerSpan[tuple[T | None, U | None]]]:
    """Return the spans with the values of both layers; None where one layer has no value."""
    bounds = sorted({bound for span in (*left, *right) for bound in span[:2]})
    values_left, values_right = _values(left, bounds), _values(right, bounds)
    found = zip(pairwise(bounds), values_left, values_right, strict=True)
    return [
        LayerSpan(*span, (one, other))
        for span, one, other in found
        if one is not None or other is not None
    ]


def stack(top: Layer[T], below: Layer[T]) -> list[LayerSpan[T]]:
    """Return the values of the top layer, and those of the layer below elsewhere."""
    found = []
    for start, end, (one, other) in overlay(top, below):
        value = other if one is None else one
        if value is not None:
            found.append(LayerSpan(start, end, value))
    return found


def _values(layer: Layer[T], bounds: Sequence[int]) -> Iterator[T | None]:
    """Yield a layer's value between each two bounds, which include the bounds of its spans."""
    spans = iter(layer)
    span = next(spans, None)
    for start, _ in pairwise(bounds):
        if span is not None and span.end <= start:
            span = next(spans, None)
        yield span.value if span is not None and span.start <= start else None


def pack_spans(spans: Iterable[OffsetSpan]) -> bytes:
    """Return spans as bytes, to send them from a task; `unpack_spans` is the inverse."""
    return array("q", [bound for span in spans for bound in span]).tobytes()


def unpack_spans(data: bytes) -> list[OffsetSpan]:
    """Return packed spans."""
    bounds = array("q", data)
    return list(map(OffsetSpan, bounds[::2], bounds[1::2]))
