"""Requests of partition leaders to the coordinators of transactions.

Kafka: `AddPartitionsToTxnManager`. A leader adds or verifies its partitions before the first batch
of a transaction. The coordinator is found in the image:

    this broker       called directly
    another broker    AddPartitionsToTxn from version 4 on, with several transactions
    none              COORDINATOR_NOT_AVAILABLE

A request has a transactional id once. Kafka gives the earlier of two entries with one id an error;
here the later one waits for the next request.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from cordwood.broker.coordinators.topic_coordinator import TopicCoordinator
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import NO_LEADER
from cordwood.broker.peers.peer_request_queue import PeerRequestQueue
from cordwood.cluster.channels.broker_channel import BrokerChannel
from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.transactions.transaction_shard import TransactionShard
from cordwood.core.errors import (
    BrokerNotAvailableError,
    CoordinatorNotAvailableError,
    KafkaError,
    NetworkError,
    RequestTimedOutError,
    UnknownServerError,
    UnsupportedVersionError,
    error_from_code,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTransaction,
)

#: The first and the latest version of AddPartitionsToTxn between brokers.
_FIRST_BETWEEN_BROKERS: Final = 4
_BETWEEN_BROKERS: Final = ClientContext(5)
#: The most transactions of a request.
_MOST_TRANSACTIONS: Final = 500

PartitionErrors = Mapping[TopicPartition, KafkaError]
"""The errors of the partitions that are rejected."""


class AddPartitionsRequest:
    """AddPartitionsToTxn to one broker; `timeout_ms` returns the time of a request."""

    def __init__(self, timeout_ms: Callable[[], int]) -> None:
        self._timeout_ms = timeout_ms

    def fits(
        self,
        chosen: Sequence[AddPartitionsToTxnTransaction],
        entry: AddPartitionsToTxnTransaction,
    ) -> bool:
        """Return whether a request may have another transaction."""
        if len(chosen) >= _MOST_TRANSACTIONS:
            return False
        return all(each.transactional_id != entry.transactional_id for each in chosen)

    async def send(
        self, channel: BrokerChannel, entries: Sequence[AddPartitionsToTxnTransaction]
    ) -> list[PartitionErrors]:
        """Send transactions; return the errors of each, NETWORK_EXCEPTION after a timeout."""
        timeout_ms = self._timeout_ms()
        version = await channel.version(AddPartitionsToTxnRequest, timeout_ms=timeout_ms)
        if version < _FIRST_BETWEEN_BROKERS:
            raise UnsupportedVersionError(f"the coordinator has AddPartitionsToTxn v{version}")
        request = AddPartitionsToTxnRequest(transactions=[*entries])
        try:
            response = await channel.send(
                request,
                AddPartitionsToTxnResponse,
                timeout_ms=timeout_ms,
                most_version=version,
            )
        except RequestTimedOutError as error:
            raise NetworkError(str(error)) from None
        return [errors_of(response, each) for each in entries]


class AddPartitionsToTxnManager:
    """Adds partitions to transactions, or verifies them, at their coordinators."""

    def __init__(
        self,
        transactions: TopicCoordinator[TransactionShard],
        metadata: MetadataCache,
        *,
        node_id: int,
        remote: PeerRequestQueue[AddPartitionsToTxnTransaction, PartitionErrors],
    ) -> None:
        self._transactions = transactions
        self._metadata = metadata
        self._node_id = node_id
        self._remote = remote

    async def add(self, transaction: AddPartitionsToTxnTransaction) -> PartitionErrors:
        """Add or verify the partitions of a transaction; return the errors of those rejected.

        Raises a KafkaError if the coordinator has not answered.
        """
        coordinator = self._coordinator_of(transaction.transactional_id)
        if coordinator == self._node_id:
            return await add_here(self._transactions, transaction)
        result = await self._remote.add(coordinator, transaction)
        if isinstance(result, BrokerNotAvailableError):
            raise CoordinatorNotAvailableError(str(result))
        if isinstance(result, KafkaError):
            raise type(result)(str(result))  # other entries share it
        return result

    def _coordinator_of(self, transactional_id: str) -> int:
        """Return the broker that coordinates an id; raise COORDINATOR_NOT_AVAILABLE if none."""
        name = self._transactions.topic
        topic = self._metadata.image.topics.get(name)
        if topic is None:
            raise CoordinatorNotAvailableError(f"{name} does not exist")
        number = self._transactions.partition_of(transactional_id)
        leader = topic.partitions[number].leader
        if leader == NO_LEADER:
            raise CoordinatorNotAvailableError(f"{name}-{number} has no leader")
        return leader


async def add_here(
    transactions: TopicCoordinator[TransactionShard], transaction: AddPartitionsToTxnTransaction
) -> PartitionErrors:
    """Add or verify the partitions at a coordinator on this broker; otherwise as `add`."""
    request = AddPartitionsToTxnRequest(transactions=[transaction])
    response = await transactions.call(
        transaction.transactional_id,
        lambda shard, ticket, now_ms: shard.add_partitions(
            request, _BETWEEN_BROKERS, ticket=ticket, now_ms=now_ms
        ),
        answer=AddPartitionsToTxnResponse,
    )
    return errors_of(response, transaction)


def errors_of(
    response: AddPartitionsToTxnResponse, transaction: AddPartitionsToTxnTransaction
) -> PartitionErrors:
    """Return the errors of one transaction; a partition without a result has one, too."""
    codes = {
        (topic.name, each.partition_index): each.partition_error_code
        for result in response.results_by_transaction
        if result.transactional_id == transaction.transactional_id
        for topic in result.topic_results
        for each in topic.results_by_partition
    }
    found: dict[TopicPartition, KafkaError] = {}
    for topic in transaction.topics:
        for number in topic.partitions:
            name = TopicPartition(TopicName(topic.name), PartitionId(number))
            code = response.error_code or codes.get(name, UnknownServerError.code)
            if code:
                found[name] = error_from_code(code, f"the coordinator rejects {name}")
    return found
