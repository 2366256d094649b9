"""Outcome of one event in a transaction shard, with the effects that only transactions have.

    completions           markers to write once the records of the outcome count; when all of them
                          are written, the runtime calls `TransactionShard.complete_markers`
    producer_id_requests  producer ids to allocate; the event continues with each of them

A completion without partitions has nothing to write, and is complete at once. The markers of a
rejected outcome are not written; like its answers and timers, they are replaced by `on_failure`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from cordwood.coordination.outcome import Outcome
from cordwood.coordination.ports import TransactionMarker
from cordwood.core.errors import KafkaError


class PendingCompleteTxn(NamedTuple):
    """The markers of one transaction whose end is decided (Kafka: `PendingCompleteTxn`)."""

    transactional_id: str
    marker: TransactionMarker


class ProducerIdRequest(NamedTuple):
    """An event that needs a new producer id (Kafka: `ProducerIdManager.generateProducerId`).

    `allocated` takes the id and the time, and validates the event again. `failed` takes the error.
    """

    allocated: Callable[[int, int], "TransactionOutcome"]
    failed: Callable[[KafkaError, int], "TransactionOutcome"]


@dataclass(slots=True, kw_only=True)
class TransactionOutcome(Outcome):
    """An outcome with markers to write, and with producer ids to allocate."""

    completions: list[PendingCompleteTxn] = field(default_factory=list)
    producer_id_requests: list[ProducerIdRequest] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        """Add a later outcome of the same event."""
        Outcome.add(self, other)
        if isinstance(other, TransactionOutcome):
            self.completions += other.completions
            self.producer_id_requests += other.producer_id_requests
