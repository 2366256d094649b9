"""Findings that Kafka's dump tool prints at its end, file by file.

Files are in the order in which a Java `HashMap` iterates over their paths. Of two findings with the
same first number, the later one wins. Offset mismatches are listed in descending order.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from cordwood.workbench.dump.hash_map_order import hash_map_order

_TIMES: Final = "  Index timestamp: {}, log timestamp: {}\n"
_ORDER: Final = "  Index timestamp: {}, Previously indexed timestamp: {}\n"
_MISSING: Final = "Indexed offset: {}, found log offset: {}\n"


class NumberPairs:
    """Pairs of numbers, stored compactly: a compacted log has millions of gaps."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers = array("q")

    def add(self, first: int, second: int) -> None:
        self._numbers.append(first)
        self._numbers.append(second)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._numbers[::2], self._numbers[1::2], strict=True)

    def by_first(self, *, is_falling: bool = False) -> list[tuple[int, int]]:
        """Return the pairs in the order of a sorted map."""
        return sorted(dict(self).items(), reverse=is_falling)


@dataclass(slots=True)
class DumpFindings:
    """The findings of a dump. `is_damaged` means that a file is damaged by itself."""

    is_damaged: bool = False
    _mismatches: dict[str, NumberPairs] = field(default_factory=dict)
    _wrong_times: dict[str, NumberPairs] = field(default_factory=dict)
    _disorder: dict[str, NumberPairs] = field(default_factory=dict)
    _missing: dict[str, NumberPairs] = field(default_factory=dict)
    _gaps: dict[str, NumberPairs] = field(default_factory=dict)

    @property
    def is_wrong(self) -> bool:
        """Return whether something is wrong; gaps in offsets are normal after compaction."""
        wrong = (self._mismatches, self._wrong_times, self._disorder, self._missing)
        return self.is_damaged or any(wrong)

    def add_mismatch(self, path: str, *, indexed: int, found: int) -> None:
        """Add an offset index entry whose offset differs from that of its batch."""
        self._mismatches.setdefault(path, NumberPairs()).add(indexed, found)

    def add_wrong_time(self, path: str, *, indexed: int, found: int) -> None:
        """Add a time index entry whose timestamp differs from that of its batch."""
        self._wrong_times.setdefault(path, NumberPairs()).add(indexed, found)

    def add_disorder(self, path: str, *, indexed: int, previous: int) -> None:
        """Add a time index entry that is not later than the one before."""
        self._disorder.setdefault(path, NumberPairs()).add(indexed, previous)

    def add_missing(self, path: str, *, indexed: int, found: int) -> None:
        """Add a time index entry with an offset that is not the last of a batch."""
        self._missing.setdefault(path, NumberPairs()).add(indexed, found)

    def add_gaps(self, path: str, gaps: Iterable[tuple[int, int]]) -> None:
        """Add pairs of offsets that are not consecutive."""
        for before, after in gaps:
            self._gaps.setdefault(path, NumberPairs()).add(before, after)

    def lines(self) -> Iterator[str]:
        """Yield the findings as lines."""
        for path in hash_map_order(self._mismatches):
            yield f"Mismatches in :{path}\n"
            for indexed, found in self._mismatches[path].by_first(is_falling=True):
                yield f"  Index offset: {indexed}, log offset: {found}\n"
        yield from _section("Found timestamp mismatch in :", self._wrong_times, _TIMES)
        yield from _section("Found out of order timestamp in :", self._disorder, _ORDER)
        yield from _section(
            "The following indexed offsets are not found in :", self._missing, _MISSING
        )
        for path in hash_map_order(self._gaps):
            yield f"Non-consecutive offsets in {path}\n"
            for before, after in self._gaps[path].by_first():
                yield f"  {before} is followed by {after}\n"


def _section(title: str, found: Mapping[str, NumberPairs], line: str) -> Iterator[str]:
    for path in hash_map_order(found):
        yield f"{title}{path}\n"
        for pair in found[path]:
            yield line.format(*pair)
