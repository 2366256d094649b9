"""Sized things, so many together that each task of a job has much the same to do."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar


class Sized(Protocol):
    """What has a part of the bytes that there are to read."""

    @property
    def size(self) -> int:
        """How many, about."""


S = TypeVar("S", bound=Sized)


def bytes_of(items: Iterable[Sized]) -> int:
    """Return how much there is to read, about."""
    return sum(item.size for item in items)


def gathered(items: Iterable[S], most: int) -> Iterator[list[S]]:
    """Yield runs of items that have at most so many bytes, or are one."""
    run: list[S] = []
    size = 0
    for item in items:
        if run and size + item.size > most:
            yield run
            run, size = [], 0
        run.append(item)
        size += item.size
    if run:
        yield run


def chores(items: Iterable[S], most: int) -> list[list[S]]:
    """Return what each task works off, at most so many bytes or one item; the largest first."""
    return sorted(gathered(items, most), key=bytes_of, reverse=True)
