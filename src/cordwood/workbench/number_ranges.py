"""Consecutive numbers as ranges, and the ranges between them."""

from collections.abc import Iterable, Iterator


def consecutive_ranges(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last number of each range; the numbers must ascend."""
    first = last = None
    for number in numbers:
        if first is None or last is None:
            first = number
        elif number != last + 1:
            yield first, last
            first = number
        last = number
    if first is not None and last is not None:
        yield first, last


def ranges_between(numbers: Iterable[int], *, first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges from `first` up to `end` that have none of the numbers, which ascend.

    The time depends on the numbers only. `end` is excluded.
    """
    for number in numbers:
        if number > first:
            yield first, number - 1
        first = number + 1
    if first < end:
        yield first, end - 1
