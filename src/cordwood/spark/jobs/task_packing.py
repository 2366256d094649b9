"""Packing of sized items into tasks with about the same number of bytes."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar


class SizedItem(Protocol):
    """An item with a number of bytes to read."""

    @property
    def size(self) -> int:
        """The approximate number of bytes."""


S = TypeVar("S", bound=SizedItem)


def total_bytes(items: Iterable[SizedItem]) -> int:
    """Return the approximate number of bytes of all items."""
    return sum(item.size for item in items)


def group_by_bytes(items: Iterable[S], max_bytes: int) -> Iterator[list[S]]:
    """Yield groups of consecutive items with at most `max_bytes`, or of one larger item."""
    group: list[S] = []
    size = 0
    for item in items:
        if group and size + item.size > max_bytes:
            yield group
            group, size = [], 0
        group.append(item)
        size += item.size
    if group:
        yield group


def pack_tasks(items: Iterable[S], max_bytes: int) -> list[list[S]]:
    """Return the items of each task, at most `max_bytes` or one item; the largest task first."""
    return sorted(group_by_bytes(items, max_bytes), key=total_bytes, reverse=True)
