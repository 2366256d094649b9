"""Numbers of groups, offsets and transactional ids, counted on request in small steps.

Kafka: the gauges of `GroupCoordinatorMetricsShard` and `CoordinatorRuntimeMetricsImpl`. There are
none of transactional ids.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Final

from cordwood.broker.coordinators.coordinators import (
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    Coordinators,
)
from cordwood.coordination.group_shard import GroupShard
from cordwood.coordination.transactions.transaction_shard import TransactionShard
from cordwood.observability.metrics import Metrics, Readings

#: Groups, or transactional ids, that one step counts.
_A_STEP: Final = 100


class CoordinatorSizes:
    """The numbers of groups, offsets and transactional ids, as they were last counted."""

    def __init__(self, coordinators: Coordinators) -> None:
        self._coordinators = coordinators
        self.groups: Readings = {}
        self.offsets: Readings = {(): 0}
        self.transactional_ids: Readings = {}

    def register(self, metrics: Metrics) -> None:
        """Register the gauges."""
        metrics.read("cordwood_groups", lambda: self.groups)
        metrics.read("cordwood_group_offsets", lambda: self.offsets)
        metrics.read("cordwood_transactional_ids", lambda: self.transactional_ids)
        metrics.read("cordwood_coordinator_partitions", self.partitions)

    def partitions(self) -> Readings:
        """Return the numbers of coordinated partitions, by topic and state."""
        found = Counter[tuple[str, ...]]()
        for topic, runtime in (
            (OFFSETS_TOPIC, self._coordinators.groups.runtime),
            (TRANSACTIONS_TOPIC, self._coordinators.transactions.runtime),
        ):
            for state in runtime.states():
                found[topic, state.name.lower()] += 1
        return found

    def measure(self) -> Iterator[str]:
        """Count everything; each step counts a part and yields an empty text.

        The metrics page has this iterator in front, so that its pages are made in the same steps.
        """
        groups, offsets = Counter[tuple[str, ...]](), 0
        for shard in [*self._coordinators.groups.runtime.shards()]:
            for found, count in _count_groups(shard):
                groups.update(found)
                offsets += count
                yield ""
        ids = Counter[tuple[str, ...]]()
        for each in [*self._coordinators.transactions.runtime.shards()]:
            for states in _count_transactions(each):
                ids.update(states)
                yield ""
        self.groups, self.offsets, self.transactional_ids = groups, {(): offsets}, ids


def _count_groups(shard: GroupShard) -> Iterator[tuple[Counter[tuple[str, ...]], int]]:
    groups = iter(shard.groups)
    while some := [*islice(groups, _A_STEP)]:
        found = Counter[tuple[str, ...]]((each.group_type.value, each.state_name) for each in some)
        yield found, sum(shard.count_offsets(each.group_id) for each in some)


def _count_transactions(shard: TransactionShard) -> Iterator[Counter[tuple[str, ...]]]:
    transactions = iter([*shard.transactions])
    while some := [*islice(transactions, _A_STEP)]:
        yield Counter[tuple[str, ...]]((each.state.kafka_name,) for each in some)
