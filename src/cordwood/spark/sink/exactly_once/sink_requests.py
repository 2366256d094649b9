"""Requests of the protocol, and their answers: the port between decisions and brokers.

A step of the protocol is a generator. It yields a request, and receives the answer:

    states = yield from ask(Describe(transactional_ids))

A request that has no answer in time, or a retriable error for too long, is raised inside the step.
Then its outcome is unknown. No step may take that for a failure: it raises, and the next
preparation reads from the brokers what has happened.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, NamedTuple, TypeAlias, TypeVar, cast

from cordwood.client.transaction_handle import TransactionHandle

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
R = TypeVar("R")


class SinkRequest(Generic[A_co]):
    """A request; `A_co` is the type of its answer."""

    __slots__ = ()


#: A part of the protocol that returns `R`.
Steps: TypeAlias = Generator[SinkRequest[object], object, R]


def ask(request: SinkRequest[A]) -> Steps[A]:
    """Yield a request, and return its answer."""
    answer = yield request
    return cast("A", answer)


class EndResult(StrEnum):
    """The answer to EndTxn."""

    ENDED = "ended"
    FENCED = "PRODUCER_FENCED"
    INVALID_STATE = "INVALID_TXN_STATE"
    UNKNOWN_ID = "INVALID_PRODUCER_ID_MAPPING"


class Ended(NamedTuple):
    """The answer to EndTxn, and the handle of the id's next transaction."""

    result: EndResult
    next: TransactionHandle


class IdState(NamedTuple):
    """The latest transaction of a transactional id."""

    state: str
    producer_id: int
    epoch: int
    #: The coordinator's time of the first partition, None before it.
    start_ms: int | None

    @property
    def is_open(self) -> bool:
        """Whether rows of the transaction are neither visible nor dropped."""
        return self.state == ONGOING


ONGOING = "Ongoing"
COMPLETE_COMMIT = "CompleteCommit"
PREPARE_COMMIT = "PrepareCommit"


@dataclass(frozen=True, slots=True)
class Fence(SinkRequest[TransactionHandle]):
    """Give the driver's id a new epoch (InitProducerId), so that every earlier driver is fenced.

    An open transaction of the id is aborted before the answer.
    """

    transactional_id: str
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class ReadRecord(SinkRequest[Mapping[int, str]]):
    """Read the metadata of the group's offsets by partition of the record's topic.

    The answer waits until no transaction that writes these offsets is open or being ended
    (OffsetFetch with `require_stable`).
    """

    group: str


@dataclass(frozen=True, slots=True)
class WriteRecord(SinkRequest[None]):
    """Write the record's parts in the driver's transaction; they count when it is committed."""

    driver: TransactionHandle
    group: str
    batch: int
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListOpen(SinkRequest[tuple[str, ...] | None]):
    """List the transactional ids with an open transaction; None from brokers before Kafka 3.0."""


@dataclass(frozen=True, slots=True)
class Describe(SinkRequest[Mapping[str, IdState] | None]):
    """Describe transactional ids; those that do not exist are absent.

    The answer is None from brokers before Kafka 3.0.
    """

    transactional_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class End(SinkRequest[Mapping[TransactionHandle, Ended]]):
    """Commit or abort transactions by their handles (EndTxn), in parallel.

    Ending a transaction again in the same way has the same answer.
    """

    handles: tuple[TransactionHandle, ...]
    commit: bool


@dataclass(frozen=True, slots=True)
class CountPartitions(SinkRequest[int]):
    """Return the number of partitions of the record's topic.

    A number that is known and at least `wanted` is not read again.
    """

    wanted: int = 1


@dataclass(frozen=True, slots=True)
class Now(SinkRequest[int]):
    """Read the clock of the driver's machine, in milliseconds."""
