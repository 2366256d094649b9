"""Runs of offsets: what a log or a table has, as ranges; values, and what is made of them.

A run goes from `start` up to, not including, `end`. Runs may overlap: an offset is there as often
as runs have it. A layer is runs with a value each, in order, that do not overlap.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class Run(NamedTuple):
    """Offsets without a hole."""

    start: int
    end: int


class Part(NamedTuple, Generic[T]):
    """A run of a layer, and what is said of it."""

    start: int
    end: int
    value: T


Layer = Sequence[Part[T]]


def joined(runs: Iterable[Run]) -> list[Run]:
    """Return the same offsets, as often, in fewer runs, in the order of their starts."""
    found: list[Run] = []
    for run in sorted(runs):
        if found and found[-1].end == run.start:
            found[-1] = Run(found[-1].start, run.end)
        else:
            found.append(run)
    return found


def counted(runs: Iterable[Run]) -> list[Part[int]]:
    """Return the layer of how often offsets are there, at least once."""
    changes: Counter[int] = Counter()
    for start, end in runs:
        changes[start] += 1
        changes[end] -= 1
    found, count = [], 0
    for start, end in pairwise(sorted(place for place, change in changes.items() if change)):
        count += changes[start]
        if count:
            found.append(Part(start, end, count))
    return found


def layer(runs: Iterable[Run], value: T) -> list[Part[T]]:
    """Return the layer of runs that do not overlap, with one value."""
    return [Part(start, end, value) for start, end in sorted(runs)]


def overlaid(left: Layer[T], right: Layer[U]) -> list[Part[tuple[T | None, U | None]]]:
    """Return the parts in which both layers say one thing each; None is where one says nothing."""
    places = sorted({place for part in (*left, *right) for place in part[:2]})
    values_left, values_right = _values(left, places), _values(right, places)
    found = zip(pairwise(places), values_left, values_right, strict=True)
    return [
        Part(*run, (one, other))
        for run, one, other in found
        if one is not None or other is not None
    ]


def above(top: Layer[T], below: Layer[T]) -> list[Part[T]]:
    """Return what the layer on top says, and where it says nothing the one below it."""
    found = []
    for start, end, (one, other) in overlaid(top, below):
        value = other if one is None else one
        if value is not None:
            found.append(Part(start, end, value))
    return found


def _values(layer: Layer[T], places: Sequence[int]) -> Iterator[T | None]:
    """Yield what a layer says between each two places, all of its own among them."""
    parts = iter(layer)
    part = next(parts, None)
    for start, _ in pairwise(places):
        if part is not None and part.end <= start:
            part = next(parts, None)
        yield part.value if part is not None and part.start <= start else None


def packed(runs: Iterable[Run]) -> bytes:
    """Return runs as bytes, on their way from a task; `unpacked` is the way back."""
    return array("q", [place for run in runs for place in run]).tobytes()


def unpacked(data: bytes) -> list[Run]:
    """Return the runs that were packed."""
    places = array("q", data)
    return list(map(Run, places[::2], places[1::2]))
