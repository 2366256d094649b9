"""Where a consumer is in each partition of its assignment.

position    the offset of the next record to hand out; None until it has been found out
fetched     record sets that were read ahead, the first of them begun
generation  grows with every `seek`: what was asked for before it does not count any more
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from cordwood.client.record_set import RecordSet
from cordwood.core.errors import InvalidRequestError, KafkaError
from cordwood.core.types import NO_LEADER_EPOCH, TopicPartition

#: Record sets of a partition that are kept before it is read any further.
READ_AHEAD: Final = 2


class Position:
    """One partition."""

    __slots__ = (
        "fetch_offset",
        "fetched",
        "generation",
        "high_watermark",
        "is_paused",
        "last_epoch",
        "last_stable_offset",
        "log_start_offset",
        "not_before_ms",
        "offset",
        "partition",
        "place",
        "problem",
        "reading",
        "validated_epoch",
    )

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.offset: int | None = None
        self.fetch_offset = 0
        self.fetched: deque[RecordSet] = deque()
        self.generation = 0
        self.place: int | None = None
        self.reading: object = None
        self.is_paused = False
        self.problem: KafkaError | None = None
        self.not_before_ms = 0.0
        self.last_epoch: int = NO_LEADER_EPOCH
        self.validated_epoch: int = NO_LEADER_EPOCH
        self.high_watermark = -1
        self.last_stable_offset = -1
        self.log_start_offset = -1

    def seek(self, offset: int, *, epoch: int = NO_LEADER_EPOCH) -> None:
        """Go on at an offset, whatever was read ahead."""
        self._forget()
        self.offset = self.fetch_offset = offset
        self.last_epoch = epoch
        self.place = None

    def seek_to(self, place: int) -> None:
        """Go on at a place that has a name, or at a time, once it has been looked up."""
        self._forget()
        self.offset = None
        self.place = place

    def take(self, records: RecordSet) -> None:
        """Keep what was read ahead."""
        end, epoch = records.end
        self.fetch_offset = end
        if epoch >= 0:
            self.last_epoch = epoch
        self.fetched.append(records)

    @property
    def has_room(self) -> bool:
        """Whether more may be read ahead."""
        return len(self.fetched) < READ_AHEAD

    def _forget(self) -> None:
        self.generation += 1
        self.fetched.clear()
        self.reading = None
        self.problem = None
        self.not_before_ms = 0.0
        self.last_epoch = self.validated_epoch = NO_LEADER_EPOCH


class Assignment:
    """The partitions that a consumer reads, in the order in which their records are handed out."""

    def __init__(self) -> None:
        self._positions: dict[TopicPartition, Position] = {}
        self._turn: deque[Position] = deque()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these; those that were read before go on where they are."""
        before = self._positions
        self._positions = {each: before.get(each) or Position(each) for each in partitions}
        self._turn = deque(self._positions.values())

    def __iter__(self) -> Iterator[Position]:
        return iter(self._positions.values())

    def __len__(self) -> int:
        return len(self._positions)

    def __contains__(self, position: object) -> bool:
        """Say whether a position is still read."""
        return isinstance(position, Position) and (
            self._positions.get(position.partition) is position
        )

    def __getitem__(self, partition: TopicPartition) -> Position:
        position = self._positions.get(partition)
        if position is None:
            raise InvalidRequestError(f"{partition} is not assigned; call `assign` first")
        return position

    def next_fetched(self) -> Position | None:
        """Return a partition of which something was read ahead, each in its turn."""
        for _ in range(len(self._turn)):
            position = self._turn[0]
            self._turn.rotate(-1)
            if not position.is_paused and (position.fetched or position.problem):
                return position
        return None
