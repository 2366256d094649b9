"""Transactional ids of one worker process, used again from batch to batch.

Brokers keep an id for seven days, so ids are used again. Two rules make that safe:

    an id belongs to the process that has created it, which runs one task at a time: no other
    attempt of the task can fence it. Kafka has no request that takes an id over only if it is free
    an id of batch N is free in batch N+2, when the decision on N+1 has replaced the record of N:
    a transaction of the record on the brokers is the last one of its id
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from cordwood.spark.sink.exactly_once.sink_names import Incarnation


class TaskPlace(NamedTuple):
    """The place of an attempt in its job; a stage that is repeated begins at attempt 0 again."""

    slot: int
    attempt: int
    #: Spark's id of the attempt, unique within one driver.
    attempt_id: int


@dataclass(slots=True)
class TransactionalIds:
    """The ids of one worker process, by sink and incarnation."""

    _used: dict[tuple[str, Incarnation], dict[int, int]] = field(default_factory=dict)

    def take(self, sink: str, incarnation: Incarnation, *, batch: int, place: TaskPlace) -> int:
        """Return the number of a free id for a task; a new one is named after the attempt."""
        used = self._used.setdefault((sink, incarnation), {})
        free = (number for number, last in used.items() if is_free(last, batch))
        number = min(free, default=place.attempt_id)
        used[number] = batch
        return number


def is_free(last_batch: int, batch: int) -> bool:
    """Return whether an id that was used in a batch may be used in another one."""
    return last_batch <= batch - 2
