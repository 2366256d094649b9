"""Positions of the assigned partitions (Java: `SubscriptionState`, `TopicPartitionState`).

Each partition has, among others:

    offset      the position: offset of the next record to return; None until it is resolved
    fetched     completed fetches that were prefetched; the first may be partly returned
    generation  counts the seeks; a response to a request of an older generation is dropped
    needs_committed
                whether the committed offset of the group, if there is one, is the position
    topic_id, validated_epoch
                the topic and the leader epoch in whose log the position is valid
"""

from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from cordwood.client.consumer.completed_fetch import CompletedFetch
from cordwood.core.errors import InvalidRequestError, KafkaError
from cordwood.core.types import NO_LEADER_EPOCH, TopicPartition
from cordwood.core.uuids import NO_UUID, Uuid

if TYPE_CHECKING:
    from cordwood.client.network.exponential_backoff import ExponentialBackoff

#: Completed fetches that a partition buffers before prefetching pauses.
READ_AHEAD: Final = 2


class PositionCheck(Enum):
    """Result of the comparison of a position with the metadata of its partition."""

    VALID = auto()
    EPOCH_CHANGED = auto()
    TOPIC_RECREATED = auto()


class FetchPosition(NamedTuple):
    """Where the next fetch of a partition begins, and the epoch of the last record before it."""

    generation: int
    offset: int
    last_epoch: int


class TopicPartitionState:
    """Position and prefetched data of one partition."""

    __slots__ = (
        "backoff",
        "fetch_offset",
        "fetched",
        "generation",
        "high_watermark",
        "is_paused",
        "last_epoch",
        "last_stable_offset",
        "log_start_offset",
        "needs_committed",
        "not_before_ms",
        "offset",
        "partition",
        "problem",
        "reading",
        "reset_target",
        "topic_id",
        "validated_epoch",
    )

    def __init__(self, partition: TopicPartition, *, needs_committed: bool = False) -> None:
        self.partition = partition
        self.needs_committed = needs_committed
        self.offset: int | None = None
        self.fetch_offset = 0
        self.fetched: deque[CompletedFetch] = deque()
        self.generation = 0
        self.reset_target: int | None = None
        self.reading: object = None
        self.is_paused = False
        self.problem: KafkaError | None = None
        self.not_before_ms = 0.0
        self.backoff: ExponentialBackoff | None = None
        self.topic_id = NO_UUID
        self.last_epoch: int = NO_LEADER_EPOCH
        self.validated_epoch: int = NO_LEADER_EPOCH
        self.high_watermark = -1
        self.last_stable_offset = -1
        self.log_start_offset = -1

    def seek(self, offset: int, *, epoch: int = NO_LEADER_EPOCH) -> None:
        """Set the position, and drop the prefetched data."""
        self._forget()
        self.needs_committed = False
        self.offset = self.fetch_offset = offset
        self.last_epoch = epoch
        self.reset_target = None

    def seek_to(self, reset_target: int) -> None:
        """Request an offset lookup for EARLIEST, LATEST or a timestamp, and seek to its result."""
        self._forget()
        self.needs_committed = False
        self.offset = None
        self.reset_target = reset_target

    def add_fetched(self, records: CompletedFetch) -> None:
        """Buffer a completed fetch."""
        end, epoch = records.end
        self.fetch_offset = end
        if epoch >= 0:
            self.last_epoch = epoch
        self.fetched.append(records)

    def check(self, topic_id: Uuid, leader_epoch: int) -> PositionCheck:
        """Compare the position with the metadata; in its first ones a new position is valid."""
        if self.topic_id == NO_UUID:
            self.topic_id = topic_id
        if topic_id not in {NO_UUID, self.topic_id}:
            return PositionCheck.TOPIC_RECREATED
        if NO_LEADER_EPOCH in {self.last_epoch, self.validated_epoch, leader_epoch}:
            self.validated_epoch = leader_epoch
        is_same = self.validated_epoch == leader_epoch
        return PositionCheck.VALID if is_same else PositionCheck.EPOCH_CHANGED

    def complete_validation(self, end: int, *, epoch: int, reset_target: int | None) -> str:
        """Return the problem of a position that the leader's log does not have, empty if it has it.

        `end` and `epoch` are the leader's answer for `last_epoch`. With a reset target the position
        is moved then (Java: `maybeCompleteValidation`). Prefetched records beyond the end are
        dropped.
        """
        assert self.offset is not None, "only a resolved position is validated"
        if NO_LEADER_EPOCH in {epoch, end}:
            problem = (
                f"{self.partition}: the leader has no records of leader epoch {self.last_epoch},"
                f" which was read up to offset {self.fetch_offset}"
            )
            if reset_target is not None:
                self.seek_to(reset_target)
            return problem
        if end >= self.fetch_offset:
            return ""
        if end >= self.offset:
            self.seek(self.offset, epoch=epoch)
            return ""
        problem = (
            f"{self.partition}: the log was truncated to offset {end}, below the position"
            f" {self.offset}"
        )
        if reset_target is not None:
            self.seek(end, epoch=epoch)
        return problem

    @property
    def fetch_position(self) -> FetchPosition:
        """The place from which the next fetch reads."""
        return FetchPosition(self.generation, self.fetch_offset, self.last_epoch)

    @property
    def has_room(self) -> bool:
        """Whether another fetch may be prefetched."""
        return len(self.fetched) < READ_AHEAD

    def _forget(self) -> None:
        self.generation += 1
        self.fetched.clear()
        self.reading = None
        self.problem = None
        self.not_before_ms = 0.0
        self.backoff = None
        self.topic_id = NO_UUID
        self.last_epoch = self.validated_epoch = NO_LEADER_EPOCH


class SubscriptionState:
    """Assigned partitions, in the order in which their records are returned.

    With a group, a partition without a position begins at the group's committed offset.
    """

    def __init__(self, *, has_group: bool = False) -> None:
        self._has_group = has_group
        self._positions: dict[TopicPartition, TopicPartitionState] = {}
        self._turn: deque[TopicPartitionState] = deque()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Assign partitions; those that were assigned before keep their positions."""
        before = self._positions
        self._positions = {
            each: before.get(each) or TopicPartitionState(each, needs_committed=self._has_group)
            for each in partitions
        }
        self._turn = deque(self._positions.values())

    def __iter__(self) -> Iterator[TopicPartitionState]:
        return iter(self._positions.values())

    def __len__(self) -> int:
        return len(self._positions)

    def __contains__(self, position: object) -> bool:
        """Return whether a state is still the one of an assigned partition."""
        return isinstance(position, TopicPartitionState) and (
            self._positions.get(position.partition) is position
        )

    def __getitem__(self, partition: TopicPartition) -> TopicPartitionState:
        position = self._positions.get(partition)
        if position is None:
            raise InvalidRequestError(f"{partition} is not assigned; call `assign` first")
        return position

    def next_fetched(self) -> TopicPartitionState | None:
        """Return the next partition in turn that has fetched data or an error."""
        for _ in range(len(self._turn)):
            position = self._turn[0]
            self._turn.rotate(-1)
            if not position.is_paused and (position.fetched or position.problem):
                return position
        return None
