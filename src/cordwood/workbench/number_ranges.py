"""Consecutive numbers as ranges."""

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
