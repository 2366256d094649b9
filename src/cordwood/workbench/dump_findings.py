"""What Kafka's dump tool keeps to its end: what it found wrong, file by file.

The files come in the order in which a `HashMap` has their paths. Of two findings that begin with
the same number the later one counts; offsets that do not match are listed from the last one on.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from cordwood.core.java import hash_order

_TIMES: Final = "  Index timestamp: {}, log timestamp: {}\n"
_ORDER: Final = "  Index timestamp: {}, Previously indexed timestamp: {}\n"
_MISSING: Final = "Indexed offset: {}, found log offset: {}\n"


class Pairs:
    """Pairs of numbers in little room: a compacted log has millions of gaps."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers = array("q")

    def add(self, first: int, second: int) -> None:
        self._numbers.append(first)
        self._numbers.append(second)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._numbers[::2], self._numbers[1::2], strict=True)

    def by_first(self, *, is_falling: bool = False) -> list[tuple[int, int]]:
        """Return the pairs as a sorted map has them."""
        return sorted(dict(self).items(), reverse=is_falling)


@dataclass(slots=True)
class Findings:
    """What was found. `is_damaged` is about files that are wrong in themselves."""

    is_damaged: bool = False
    _mismatches: dict[str, Pairs] = field(default_factory=dict)
    _wrong_times: dict[str, Pairs] = field(default_factory=dict)
    _disorder: dict[str, Pairs] = field(default_factory=dict)
    _missing: dict[str, Pairs] = field(default_factory=dict)
    _gaps: dict[str, Pairs] = field(default_factory=dict)

    @property
    def is_wrong(self) -> bool:
        """Whether something is wrong; offsets that do not follow are usual after compaction."""
        wrong = (self._mismatches, self._wrong_times, self._disorder, self._missing)
        return self.is_damaged or any(wrong)

    def add_mismatch(self, path: str, *, indexed: int, found: int) -> None:
        """An entry of an index has another offset than its batch."""
        self._mismatches.setdefault(path, Pairs()).add(indexed, found)

    def add_wrong_time(self, path: str, *, indexed: int, found: int) -> None:
        """An entry of a time index has another timestamp than its batch."""
        self._wrong_times.setdefault(path, Pairs()).add(indexed, found)

    def add_disorder(self, path: str, *, indexed: int, previous: int) -> None:
        """An entry of a time index is not later than the one before."""
        self._disorder.setdefault(path, Pairs()).add(indexed, previous)

    def add_missing(self, path: str, *, indexed: int, found: int) -> None:
        """An entry of a time index has an offset at which no batch ends."""
        self._missing.setdefault(path, Pairs()).add(indexed, found)

    def add_gaps(self, path: str, gaps: Iterable[tuple[int, int]]) -> None:
        """Offsets do not follow one another."""
        for before, after in gaps:
            self._gaps.setdefault(path, Pairs()).add(before, after)

    def lines(self) -> Iterator[str]:
        """Yield everything that was found, as lines."""
        for path in hash_order(self._mismatches):
            yield f"Mismatches in :{path}\n"
            for indexed, found in self._mismatches[path].by_first(is_falling=True):
                yield f"  Index offset: {indexed}, log offset: {found}\n"
        yield from _listed("Found timestamp mismatch in :", self._wrong_times, _TIMES)
        yield from _listed("Found out of order timestamp in :", self._disorder, _ORDER)
        yield from _listed(
            "The following indexed offsets are not found in :", self._missing, _MISSING
        )
        for path in hash_order(self._gaps):
            yield f"Non-consecutive offsets in {path}\n"
            for before, after in self._gaps[path].by_first():
                yield f"  {before} is followed by {after}\n"


def _listed(title: str, found: Mapping[str, Pairs], line: str) -> Iterator[str]:
    for path in hash_order(found):
        yield f"{title}{path}\n"
        for pair in found[path]:
            yield line.format(*pair)
