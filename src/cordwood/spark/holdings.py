"""Which offsets are read from where, and which are nowhere: the one rule of every reading.

    wanted         ├───────────────────────────────────┤
    a directory       ├──────────┤   ├────┤               history, from segments
    the brokers                          ├─────────────┤  what is newer
    pieces            ├─ segments ┤   ├────┤├─ brokers ─┤
    holes          ├─┤            ├───┤

Of the places that have an offset the first one gives it, so no offset is read twice. What none has
is a hole, and never passed over: what becomes of it is decided where holes are closed. A place has
what it can answer for: up to the high watermark, or the last stable offset.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from cordwood.core.types import TopicPartition

#: The ids of topics where none are known.
NO_IDS: Final[Mapping[str, str]] = MappingProxyType({})


class Range(NamedTuple):
    """Offsets of a partition from `start` up to, not including, `end`."""

    partition: TopicPartition
    start: int
    end: int

    def __str__(self) -> str:
        """Return it in the words of errors."""
        return f"offsets {self.start} to {self.end - 1} of {self.partition}"


class Holding(NamedTuple):
    """Offsets that a place has of a partition, and where: a directory, else the brokers."""

    start: int
    end: int
    path: str | None


class Piece(NamedTuple):
    """A range, and where it is read: a directory, else the brokers."""

    range: Range
    path: str | None


class TopicOf(NamedTuple):
    """Which topic a partition's records are of, by its id, and who says so."""

    topic_id: str
    said_by: str


class Place(Protocol):
    """Somewhere that logs are read from."""

    def topics(self) -> Collection[str]:
        """Return the names of all topics here, whether they are wanted or not."""

    def partitions(self) -> Collection[TopicPartition]:
        """Return the partitions here that the options choose."""

    def held(
        self, wanted: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Sequence[Holding]]:
        """Return what there is of each wanted partition that is here, in order, as it is now.

        Ensures: a partition that is empty has one holding without offsets, where its log begins.
        """

    def topic_ids(self) -> Mapping[TopicPartition, TopicOf]:
        """Return of which topic each partition here is, by its id, as far as that is known."""

    def at_times(self, wanted: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int | None]:
        """Return of each partition that is here the first offset that is not older than its time.

        Ensures: None where there is no such record.
        """


def cover(wanted: Range, holdings: Iterable[Holding]) -> tuple[list[Piece], list[Range]]:
    """Return the pieces that a range is read in, and the holes in it, both in order.

    A range that begins behind its end, since all there is ends before, is a hole as a whole.
    """
    if wanted.start > wanted.end:
        return [], [wanted._replace(start=wanted.end, end=wanted.start)]
    missing, pieces = [wanted], []
    for holding in holdings:
        still_missing: list[Range] = []
        for hole in missing:
            start, end = max(hole.start, holding.start), min(hole.end, holding.end)
            if start < end:
                pieces.append(Piece(hole._replace(start=start, end=end), holding.path))
                left = hole._replace(end=start), hole._replace(start=end)
                still_missing += [each for each in left if each.start < each.end]
            else:
                still_missing.append(hole)
        missing = still_missing
    return sorted(pieces, key=lambda piece: piece.range), [
        each for each in missing if each.start < each.end
    ]
