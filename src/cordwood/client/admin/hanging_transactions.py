"""Open transactions that no coordinator will end (Kafka: `FindHangingTransactionsCommand`).

A transaction hangs if its producer id has no transactional id, if the coordinator's transaction is
not ongoing or lacks the partition, or if that transaction has begun after the last record.
"""

from collections.abc import Iterable, Iterator, Mapping

from cordwood.client.admin.transaction_types import ActiveProducer, TransactionDescription
from cordwood.core.types import TopicPartition

_ONGOING = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort"})


def open_transactions(
    producers: Mapping[TopicPartition, Iterable[ActiveProducer]], *, older_than_ms: int
) -> Iterator[tuple[TopicPartition, ActiveProducer]]:
    """Yield the producers with an open transaction whose last record is older."""
    for partition, active in producers.items():
        for each in active:
            if each.transaction_start is not None and each.last_timestamp < older_than_ms:
                yield partition, each


def is_hanging(
    partition: TopicPartition, producer: ActiveProducer, *, known: TransactionDescription | None
) -> bool:
    """Return whether the coordinator's view of a producer does not include its transaction."""
    if known is None or known.state not in _ONGOING or partition not in known.partitions:
        return True
    return known.start_ms is not None and producer.last_timestamp < known.start_ms
