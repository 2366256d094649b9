"""Counters of groups, offsets and transactions (Kafka: the sensors of `GroupCoordinatorMetrics`,
`CoordinatorRuntimeMetricsImpl` and `TransactionStateManager`).

Events are counted once the records of their outcome count: a rejected append counts nothing.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from cordwood.coordination.outcome import CoordinatorEvent, EventCount
from cordwood.observability.metrics import Metrics

_DELETED: Final = "cordwood_group_offsets_deleted_total"
_REBALANCES: Final = "cordwood_group_rebalances_total"
_TRANSACTIONS: Final = "cordwood_transactions_total"
#: The name and the labels of the counter of each event.
_COUNTERS: Final[Mapping[CoordinatorEvent, tuple[str, ...]]] = MappingProxyType(
    {
        CoordinatorEvent.OFFSETS_COMMITTED: ("cordwood_group_offsets_committed_total",),
        CoordinatorEvent.OFFSETS_EXPIRED: (_DELETED, "expired"),
        CoordinatorEvent.OFFSETS_DELETED: (_DELETED, "request"),
        CoordinatorEvent.OFFSETS_OF_GROUP_DELETED: (_DELETED, "group deleted"),
        CoordinatorEvent.OFFSETS_OF_TOPIC_DELETED: (_DELETED, "topic deleted"),
        CoordinatorEvent.CLASSIC_REBALANCE: (_REBALANCES, "classic"),
        CoordinatorEvent.CONSUMER_REBALANCE: (_REBALANCES, "consumer"),
        CoordinatorEvent.TRANSACTION_COMMITTED: (_TRANSACTIONS, "committed"),
        CoordinatorEvent.TRANSACTION_ABORTED: (_TRANSACTIONS, "aborted"),
        CoordinatorEvent.TRANSACTION_TIMED_OUT: (_TRANSACTIONS, "timed out"),
    }
)


class CoordinatorEvents:
    """Counters of events, which exist from the start on, and the times of loads."""

    def __init__(self, metrics: Metrics) -> None:
        self._counters = {event: metrics.counter(*each) for event, each in _COUNTERS.items()}
        self._metrics = metrics

    def count(self, counted: EventCount) -> None:
        """Count events."""
        self._counters[counted.event].add(counted.number)

    def loaded(self, topic: str, took_ms: float) -> None:
        """Count the load of a partition."""
        seconds = self._metrics.histogram("cordwood_coordinator_load_seconds", topic)
        seconds.observe(took_ms / 1000)
