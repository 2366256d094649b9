"""Calls of the admin client about transactions (Java: `KafkaAdminClient`, KIP-664).

`end_transaction` ends a transaction that a producer has detached, from any process. An abort by
`abort_transaction` writes the marker directly to the partition's leader: it is for a hanging
transaction, which no coordinator knows.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from cordwood.client.admin.transaction_responses import (
    ensure_transaction_success,
    producer_of,
    transaction_of,
)
from cordwood.client.admin.transaction_types import (
    ActiveProducer,
    TransactionDescription,
    TransactionListing,
)
from cordwood.client.group_offset import GroupMetadata, GroupOffset
from cordwood.client.network.broker_connection import BrokerConnection
from cordwood.client.network.coordinator_call import (
    GROUP,
    TRANSACTION,
    CoordinatorAttempt,
    CoordinatorKey,
    call_coordinator,
    coordinator_of,
    while_markers_are_written,
)
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.response_errors import ensure_success
from cordwood.client.producer.partition_queue import ProducerIdentity
from cordwood.client.producer.transaction_requests import (
    offset_commit_errors,
    offset_commit_request,
)
from cordwood.client.topic_partitions import by_topic, partitions_of
from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import UnsupportedVersionError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from cordwood.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from cordwood.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from cordwood.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from cordwood.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse
from cordwood.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from cordwood.protocol.schema import NEWEST

T = TypeVar("T")

TRANSACTION_VERSION: Final = "transaction.version"
_BUMPS_EPOCHS: Final = 2
_LAST_WITHOUT_BUMP: Final = 4
_FILTERS: Final = (("min_duration_ms", 1), ("pattern", 2))
#: A fencing producer writes nothing, so its transaction timeout never matters.
_FENCING_TIMEOUT_MS: Final = 1


class TransactionAdministration:
    """Calls about transactions; `Admin` has them."""

    @abstractmethod
    def _started(self) -> NetworkClient:
        """Return the client; InvalidRequestError if it is closed or not started."""

    async def list_transactions(
        self,
        *,
        states: Sequence[str] = (),
        producer_ids: Sequence[int] = (),
        min_duration_ms: int | None = None,
        pattern: str | None = None,
    ) -> list[TransactionListing]:
        """Return the transactional ids of all brokers, sorted; each filter narrows the list.

        `min_duration_ms` needs Kafka 3.8, `pattern`, a regular expression in RE2's syntax for whole
        ids, Kafka 4.1.
        """
        client = self._started()
        request = ListTransactionsRequest(
            state_filters=list(states),
            producer_id_filters=list(producer_ids),
            duration_filter=-1 if min_duration_ms is None else min_duration_ms,
            transactional_id_pattern=pattern,
        )
        given = {"min_duration_ms": min_duration_ms, "pattern": pattern}

        async def of_broker(node_id: int) -> list[TransactionListing]:
            connection = await client.connection(node_id)
            for name, since in _FILTERS:
                if given[name] is not None and connection.version_of(type(request)) < since:
                    raise UnsupportedVersionError(
                        f"broker {connection.address} is too old to filter transactions by {name};"
                        " omit the filter"
                    )
            response = await connection.send(request, ListTransactionsResponse)
            ensure_success(response.error_code, subject=f"transactions of broker {node_id}")
            return [
                TransactionListing(
                    transactional_id=each.transactional_id,
                    coordinator=node_id,
                    producer_id=each.producer_id,
                    state=each.transaction_state,
                )
                for each in response.transaction_states
            ]

        async def attempt() -> list[TransactionListing]:
            await client.refresh()
            found = await asyncio.gather(*map(of_broker, client.cluster.brokers))
            listed = {each.transactional_id: each for part in found for each in part}
            return [listed[name] for name in sorted(listed)]

        return await client.retry_until_timeout(attempt, subject="transactions")

    async def describe_transactions(
        self, transactional_ids: Iterable[str]
    ) -> list[TransactionDescription]:
        """Return the latest transaction of each transactional id."""
        return list(await asyncio.gather(*map(self._describe_transaction, transactional_ids)))

    async def describe_producers(
        self, partitions: Iterable[tuple[str, int]], *, broker: int | None = None
    ) -> dict[TopicPartition, list[ActiveProducer]]:
        """Return the producers that each partition's leader knows, or the replica of a broker."""
        client, wanted = self._started(), partitions_of(partitions)

        async def of_leader(
            leader: int, mine: list[TopicPartition]
        ) -> dict[TopicPartition, list[ActiveProducer]]:
            request = DescribeProducersRequest(
                topics=[
                    TopicRequest(name=topic, partition_indexes=[each.partition for each in numbers])
                    for topic, numbers in by_topic(mine).items()
                ]
            )
            response = await client.send(leader, request, kind=DescribeProducersResponse)
            found: dict[TopicPartition, list[ActiveProducer]] = {}
            for topic in response.topics:
                for each in topic.partitions:
                    number = PartitionId(each.partition_index)
                    partition = TopicPartition(TopicName(topic.name), number)
                    ensure_success(
                        each.error_code, subject=str(partition), message=each.error_message
                    )
                    found[partition] = [producer_of(state) for state in each.active_producers]
            return found

        async def attempt() -> dict[TopicPartition, list[ActiveProducer]]:
            leaders = {broker: wanted} if broker is not None else await client.leaders(wanted)
            if broker is not None and broker not in client.cluster.brokers:
                await client.refresh()
            parts = await asyncio.gather(*(of_leader(*each) for each in leaders.items()))
            found = {partition: each for part in parts for partition, each in part.items()}
            return {partition: found[partition] for partition in wanted}

        return await client.retry_until_timeout(attempt, subject="producers")

    async def abort_transaction(
        self, partition: tuple[str, int], *, producer_id: int, epoch: int, coordinator_epoch: int
    ) -> None:
        """Abort a hanging transaction in one partition, by a marker to its leader.

        The values are those of `describe_producers`; the coordinator epoch is 0 if that shows None.
        """
        client, (wanted,) = self._started(), partitions_of([partition])
        marker = WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=epoch,
            transaction_result=False,
            topics=[
                WritableTxnMarkerTopic(name=wanted.topic, partition_indexes=[wanted.partition])
            ],
            coordinator_epoch=coordinator_epoch,
        )

        async def attempt() -> None:
            (leader,) = await client.leaders([wanted])
            response = await client.send(
                leader, WriteTxnMarkersRequest(markers=[marker]), kind=WriteTxnMarkersResponse
            )
            for written in response.markers:
                for topic in written.topics:
                    for each in topic.partitions:
                        ensure_transaction_success(
                            each.error_code, subject=f"{wanted}, producer id {producer_id}"
                        )

        await client.retry_until_timeout(attempt, subject=str(wanted))

    async def fence_producers(
        self, transactional_ids: Iterable[str], *, timeout_ms: int = _FENCING_TIMEOUT_MS
    ) -> dict[str, TransactionHandle]:
        """Abort the open transactions of these ids, and reject their present producers.

        Returns the new producer id and epoch of each. `timeout_ms` is the transaction timeout of a
        caller that uses them: `commit_transaction_offsets`.
        """
        names = list(transactional_ids)
        found = await asyncio.gather(*(self._fence(each, timeout_ms) for each in names))
        return dict(zip(names, found, strict=True))

    async def commit_transaction_offsets(
        self,
        handle: TransactionHandle,
        group_id: str,
        *,
        offsets: Mapping[tuple[str, int], int | GroupOffset],
    ) -> None:
        """Commit offsets of a group in the transaction of a handle, which begins it if needed.

        They count when `end_transaction` commits it. The group may have no members.
        """
        client = self._started()
        wanted = {
            partition: GroupOffset(each) if isinstance(each, int) else each
            for partition, each in zip(partitions_of(offsets), offsets.values(), strict=True)
        }
        identity = ProducerIdentity(handle.producer_id, handle.epoch)
        request = offset_commit_request(
            handle.transactional_id, identity, group=GroupMetadata(group_id), offsets=wanted
        )
        is_implicit = handle.transaction_version >= _BUMPS_EPOCHS
        if not is_implicit:
            await self._add_offsets(handle, group_id)

        async def attempt(connection: BrokerConnection) -> None:
            response = await connection.send(
                request,
                TxnOffsetCommitResponse,
                most_version=NEWEST if is_implicit else _LAST_WITHOUT_BUMP,
            )
            for partition, code in offset_commit_errors(response):
                ensure_transaction_success(
                    code, subject=f"{_shown(handle)}, group {group_id!r}, {partition}"
                )

        await call_coordinator(
            client, CoordinatorKey(GROUP, group_id), while_markers_are_written(client, attempt)
        )

    async def end_transaction(
        self, handle: TransactionHandle, *, commit: bool
    ) -> TransactionHandle:
        """Commit or abort a transaction that a producer has detached.

        Repeating the call has the same result, until the id begins another transaction. Returns the
        handle of the next transaction: with transaction version 2, its epoch is one higher.
        """
        request = EndTxnRequest(
            transactional_id=handle.transactional_id,
            producer_id=handle.producer_id,
            producer_epoch=handle.epoch,
            committed=commit,
        )
        is_bumped = handle.transaction_version >= _BUMPS_EPOCHS
        subject = f"{'commit' if commit else 'abort'} of {_shown(handle)}"

        async def attempt(connection: BrokerConnection) -> TransactionHandle:
            if is_bumped and connection.feature_level(TRANSACTION_VERSION) < _BUMPS_EPOCHS:
                raise UnsupportedVersionError(
                    f"{subject}: the cluster has lowered {TRANSACTION_VERSION}; raise it again to"
                    " end this transaction"
                )
            most = EndTxnRequest.__schema__.versions[1] if is_bumped else _LAST_WITHOUT_BUMP
            response = await connection.send(request, EndTxnResponse, most_version=most)
            ensure_transaction_success(response.error_code, subject=subject)
            if response.producer_id < 0:
                return handle
            return handle._replace(producer_id=response.producer_id, epoch=response.producer_epoch)

        return await self._call_transaction_coordinator(handle.transactional_id, attempt)

    async def _add_offsets(self, handle: TransactionHandle, group_id: str) -> None:
        request = AddOffsetsToTxnRequest(
            transactional_id=handle.transactional_id,
            producer_id=handle.producer_id,
            producer_epoch=handle.epoch,
            group_id=group_id,
        )

        async def attempt(connection: BrokerConnection) -> None:
            response = await connection.send(request, AddOffsetsToTxnResponse)
            ensure_transaction_success(
                response.error_code, subject=f"{_shown(handle)}, group {group_id!r}"
            )

        await self._call_transaction_coordinator(handle.transactional_id, attempt)

    async def _fence(self, transactional_id: str, timeout_ms: int) -> TransactionHandle:
        request = InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
        )

        async def attempt(connection: BrokerConnection) -> TransactionHandle:
            response = await connection.send(request, InitProducerIdResponse)
            ensure_transaction_success(
                response.error_code, subject=f"transactional id {transactional_id!r}"
            )
            level = connection.feature_level(TRANSACTION_VERSION)
            return TransactionHandle(
                transactional_id, response.producer_id, response.producer_epoch, level
            )

        return await self._call_transaction_coordinator(transactional_id, attempt)

    async def _describe_transaction(self, transactional_id: str) -> TransactionDescription:
        request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        key = CoordinatorKey(TRANSACTION, transactional_id)

        async def attempt(connection: BrokerConnection) -> TransactionDescription:
            response = await connection.send(request, DescribeTransactionsResponse)
            (found,) = response.transaction_states
            return transaction_of(found, await coordinator_of(self._started(), key))

        return await call_coordinator(self._started(), key, attempt)

    async def _call_transaction_coordinator(
        self, transactional_id: str, attempt: CoordinatorAttempt[T]
    ) -> T:
        key = CoordinatorKey(TRANSACTION, transactional_id)
        patient = while_markers_are_written(self._started(), attempt)
        return await call_coordinator(self._started(), key, patient)


def _shown(handle: TransactionHandle) -> str:
    return (
        f"transactional id {handle.transactional_id!r}, producer id {handle.producer_id}, epoch"
        f" {handle.epoch}"
    )
