"""Longest chain of batches in a file whose offsets ascend without an overlap.

Of chains of the same length, the one is right with the fewest batches that an epoch or a snapshot
contradicts, and of these the one with the most joints. A batch joins the one directly before it in
the file, the base offset of the file, or a known end. A batch with a wrong offset joins at most one
of its neighbours. Two batches also join each other around a single one that is not in the chain, if
it fills the space between them exactly: it is the one with the wrong offset.

The offsets of old messages are not corrected later. If the joints of their chains are as many too,
the batches decide that leave room for all the ones before them, from the base offset of the file
on. One without that room has a wrong offset.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

#: The first and the last offset of a batch; None for one that is in no chain.
OffsetSpan: TypeAlias = tuple[int, int]

#: Each of these counts more than the next one for all batches of a file.
_BATCH: Final = 1 << 96
_WITNESS: Final = 1 << 64
_JOINT: Final = 1 << 32
_ROOM: Final = 1


class ChainEnds(NamedTuple):
    """The offset at which the first batch joins, and those behind the last one.

    With `needs_room`, each batch should leave room for the ones before it, from `base` on.
    `contradicted` are the indexes of the batches that witnesses contradict.
    """

    base: int | None = None
    ends: Collection[int] = ()
    needs_room: bool = False
    contradicted: Collection[int] = ()


NO_ENDS: Final = ChainEnds()


def longest_chain(spans: Sequence[OffsetSpan | None], ends: ChainEnds = NO_ENDS) -> Collection[int]:
    """Return the indexes of the batches in the longest chain."""
    if not spans or _are_ascending(spans):
        return range(len(spans))
    best = _Scores()
    scores = [0] * len(spans)
    before = [-1] * len(spans)
    lowest = ends.base or 0
    for index, span in enumerate(spans):
        if span is None:
            continue
        score, place = best.below(span[0])
        for other in _joined_before(spans, index, ends.base):
            joined = _JOINT + (scores[other] if other >= 0 else 0)
            if joined >= score:
                score, place = joined, other
        room = _ROOM if ends.needs_room and span[0] >= lowest else 0
        witness = 0 if index in ends.contradicted else _WITNESS
        scores[index], before[index] = score + _BATCH + witness + room, place
        lowest += span[1] + 1 - span[0]
        if index + 1 == len(spans) and span[1] + 1 in ends.ends:
            scores[index] += _JOINT
        best.add(span[1], score=scores[index], place=index)
    return _chain_to(best.highest(), before)


def _joined_before(
    spans: Sequence[OffsetSpan | None], index: int, base: int | None
) -> Iterator[int]:
    """Yield the places that a batch joins: directly before it, or before a single other one.

    The base offset of the file is at place -1.
    """
    span = spans[index]
    assert span is not None, "only batches with offsets join others"
    start = span[0]
    for place in (index - 1, index - 2):
        before = spans[place] if place >= 0 else None
        end = before[1] + 1 if before is not None else base if place == -1 else None
        if end == start:
            yield place
        skipped = spans[index - 1] if index else None
        if place < -1 or end is None or skipped is None:
            return
        start -= skipped[1] + 1 - skipped[0]


def _chain_to(place: int, before: Sequence[int]) -> set[int]:
    found = set()
    while place >= 0:
        found.add(place)
        place = before[place]
    return found


def _are_ascending(spans: Sequence[OffsetSpan | None]) -> bool:
    return all(each is not None for each in spans) and all(
        one is not None and other is not None and one[1] < other[0]
        for one, other in pairwise(spans)
    )


class _Scores:
    """The best score of a chain by its last offset; both ascend."""

    def __init__(self) -> None:
        self._lasts: list[int] = []
        self._scores: list[int] = []
        self._places: list[int] = []

    def below(self, offset: int) -> tuple[int, int]:
        """Return the best score of a chain that ends below an offset, and its last batch."""
        at = bisect_left(self._lasts, offset) - 1
        return (self._scores[at], self._places[at]) if at >= 0 else (0, -1)

    def add(self, last: int, *, score: int, place: int) -> None:
        """Add a chain; of two with the same score and end, the first one stays."""
        at = bisect_right(self._lasts, last)
        if at and self._scores[at - 1] >= score:
            return
        start = bisect_left(self._lasts, last)
        stop = bisect_right(self._scores, score, lo=start)
        self._lasts[start:stop] = [last]
        self._scores[start:stop] = [score]
        self._places[start:stop] = [place]

    def highest(self) -> int:
        """Return the last batch of the best chain, -1 without any."""
        return self._places[-1] if self._places else -1
