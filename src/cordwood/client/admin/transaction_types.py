"""Values about transactions that the admin client returns; each has a repr and `to_json`."""

from dataclasses import dataclass

from cordwood.client.admin.admin_types import JsonValue
from cordwood.core.types import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionListing(JsonValue):
    """A transactional id, its producer and the state of its latest transaction."""

    transactional_id: str
    coordinator: int
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionDescription(JsonValue):
    """The latest transaction of an id; the start is None before its first partition."""

    transactional_id: str
    coordinator: int
    state: str
    producer_id: int
    epoch: int
    timeout_ms: int
    start_ms: int | None
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveProducer(JsonValue):
    """A producer that a partition's leader knows (Java: `ProducerState`).

    `transaction_start` is the first offset of its open transaction there, None without one.
    """

    producer_id: int
    epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int | None
    transaction_start: int | None
