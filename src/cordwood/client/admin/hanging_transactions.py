"""Open transactions that no coordinator will end (Kafka: `FindHangingTransactionsCommand`).

A transaction hangs if its producer id has no transactional id, or if the coordinator's transaction
lacks the partition: it has the partitions that still get a marker. Times decide nothing here. The
producer makes those of records, often before the coordinator's transaction begins.
"""

from collections.abc import Iterable, Iterator, Mapping

from cordwood.client.admin.transaction_types import ActiveProducer, TransactionDescription
from cordwood.core.types import TopicPartition


def open_transactions(
    producers: Mapping[TopicPartition, Iterable[ActiveProducer]], *, older_than_ms: int
) -> Iterator[tuple[TopicPartition, ActiveProducer]]:
    """Yield the producers with an open transaction whose last record is older."""
    for partition, active in producers.items():
        for each in active:
            if each.transaction_start is not None and each.last_timestamp < older_than_ms:
                yield partition, each


def is_hanging(partition: TopicPartition, *, known: TransactionDescription | None) -> bool:
    """Return whether the coordinator's view of a producer lacks the partition."""
    return known is None or partition not in known.partitions
