"""Outcome of one event in a shard (Kafka: `CoordinatorResult`, with the timers in the value).

    request ──► shard method ──► Outcome ──► records ──► records ──► answers are given
    timer       decides                      appended    replayed    once the records count

A method decides and returns. State that records can rebuild changes by `replay` alone, so that a
loaded shard equals a live one. State that is in no record (the joins of a classic group that wait)
may change in the method; `on_failure` then states what follows a rejected append.
"""

from collections.abc import Callable, Sized
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from typing import NamedTuple, NewType, Self, TypeAlias

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.core.errors import KafkaError
from cordwood.protocol.schema import Response

Ticket = NewType("Ticket", int)
"""The number of a request that waits for its answer."""

TimerKey: TypeAlias = tuple[str, ...]
"""A timer of a shard: its kind, then its subject, such as `("session", group, member)`."""


class Answer(NamedTuple):
    """The response of a request, or the error that its handler puts into one."""

    ticket: Ticket
    response: Response | KafkaError


class TimerChange(NamedTuple):
    """A timer that is set to a time, replacing one of the same key; None cancels it."""

    key: TimerKey
    at_ms: int | None


class TransactionalProducer(NamedTuple):
    """The producer whose transaction the records are part of."""

    producer_id: int
    producer_epoch: int


class CoordinatorEvent(Enum):
    """The events that metrics count (Kafka: the sensors of `GroupCoordinatorMetrics`)."""

    # Members are compared by identity; the hash of `Enum` is a function of Python.
    __hash__ = object.__hash__

    OFFSETS_COMMITTED = auto()
    OFFSETS_EXPIRED = auto()
    OFFSETS_DELETED = auto()  # by a request about offsets
    OFFSETS_OF_GROUP_DELETED = auto()
    OFFSETS_OF_TOPIC_DELETED = auto()
    CLASSIC_REBALANCE = auto()
    CONSUMER_REBALANCE = auto()
    TRANSACTION_COMMITTED = auto()
    TRANSACTION_ABORTED = auto()  # by its producer, or by the next one
    TRANSACTION_TIMED_OUT = auto()


class EventCount(NamedTuple):
    """A number of equal events."""

    event: CoordinatorEvent
    number: int = 1


def counted(event: CoordinatorEvent, records: Sized) -> tuple[EventCount, ...]:
    """Return one event for each record."""
    return (EventCount(event, len(records)),) if len(records) else ()


@dataclass(slots=True, kw_only=True)
class Outcome:
    """Records to append as one batch, answers, and timers.

    Answers are given, and events counted, once the records of this outcome and of all earlier ones
    count. If the append is rejected the answers become its error, except those that `on_failure`
    gives; it takes the error and the time. Without records an outcome has no `on_failure`.

    A method that takes more than about 10 ms returns what is left of it as `rest`. The runtime
    calls it on any thread, while no other event of the shard runs, and adds its outcome to this.
    """

    records: list[CoordinatorRecord] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    timers: list[TimerChange] = field(default_factory=list)
    producer: TransactionalProducer | None = None
    on_failure: "OnFailure | None" = None
    events: tuple[EventCount, ...] = ()
    rest: "Rest | None" = None

    @classmethod
    def answer(cls, ticket: Ticket, response: Response | KafkaError) -> Self:
        """Return the outcome of a request that changes nothing."""
        return cls(answers=[Answer(ticket, response)])

    def add(self, other: "Outcome") -> None:
        """Add a later outcome of the same event."""
        self.records += other.records
        self.answers += other.answers
        self.timers += other.timers
        self.events += other.events
        self.producer = self.producer or other.producer
        first, second = self.on_failure, other.on_failure
        if first is not None and second is not None:
            self.on_failure = partial(_after_failure, first, second)
        else:
            self.on_failure = second or first
        assert self.rest is None or other.rest is None, "an outcome has one rest"
        self.rest = self.rest or other.rest

    def completed(self) -> Self:
        """Run the rest, which may have one itself; return the whole outcome."""
        while (rest := self.rest) is not None:
            self.rest = None
            self.add(rest())
        return self


def _after_failure(
    first: "OnFailure", second: "OnFailure", error: KafkaError, now_ms: int
) -> Outcome:
    """Return what follows a rejected append of two outcomes."""
    outcome = first(error, now_ms)
    outcome.add(second(error, now_ms))
    return outcome


OnFailure: TypeAlias = Callable[[KafkaError, int], Outcome]
"""Returns what follows a rejected append, by its error and the time."""

Rest: TypeAlias = Callable[[], Outcome]
"""Returns what is left of an event; it changes nothing that `replay` or another thread reads."""
