"""Requests to the coordinators of a transactional producer (Java: `TxnRequestHandler`).

A request is retried for at most `max_block_ms`, while the coordinator loads, moves or writes the
markers of the transaction before. After any other error it is raised, and the state of the producer
has changed accordingly.
"""

from collections.abc import Mapping
from typing import Final, TypeVar

from cordwood.client.group_offset import GroupMetadata, GroupOffset
from cordwood.client.network.broker_connection import BrokerConnection
from cordwood.client.network.coordinator_call import (
    GROUP,
    TRANSACTION,
    CoordinatorAttempt,
    CoordinatorKey,
    call_coordinator,
    while_markers_are_written,
)
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.producer.partition_queue import ProducerIdentity
from cordwood.client.producer.transaction_manager import TransactionManager
from cordwood.client.producer.transaction_requests import (
    add_partitions_errors,
    add_partitions_request,
    coordinator_error,
    offset_commit_errors,
    offset_commit_request,
)
from cordwood.client.settings import ProducerSettings
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from cordwood.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from cordwood.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse
from cordwood.protocol.schema import NEWEST

T = TypeVar("T")

_FEATURE: Final = "transaction.version"
_LAST_EXPLICIT: Final = 4
_LAST_OF_CLIENTS: Final = 3


class CoordinatorRequests:
    """Requests of one producer."""

    def __init__(
        self, client: NetworkClient, settings: ProducerSettings, manager: TransactionManager
    ) -> None:
        self._client = client
        self._settings = settings
        self._manager = manager
        self._subject = f"transactional id {manager.transactional_id!r}"

    async def request_identity(self) -> tuple[ProducerIdentity, int]:
        """Return the producer id, the epoch and the cluster's transaction version.

        A present identity gets the next epoch; without one every other producer is fenced.
        """
        mine = self._manager.identity or ProducerIdentity(-1, -1)
        request = InitProducerIdRequest(
            transactional_id=self._manager.transactional_id,
            transaction_timeout_ms=self._settings.transaction_timeout_ms,
            producer_id=mine.producer_id,
            producer_epoch=mine.epoch,
        )

        async def attempt(connection: BrokerConnection) -> tuple[ProducerIdentity, int]:
            response = await connection.send(request, InitProducerIdResponse)
            self._ensure(response.error_code)
            made = ProducerIdentity(response.producer_id, response.producer_epoch)
            return made, connection.feature_level(_FEATURE)

        return await self._call(attempt)

    async def add_partitions(self, partitions: list[TopicPartition]) -> None:
        """Add partitions to the transaction, before the first batch is sent to them."""
        request = add_partitions_request(
            self._manager.transactional_id, self._identity, partitions=partitions
        )

        async def attempt(connection: BrokerConnection) -> None:
            response = await connection.send(
                request, AddPartitionsToTxnResponse, most_version=_LAST_OF_CLIENTS
            )
            for partition, code in add_partitions_errors(response):
                self._ensure(code, partition)

        await self._call(attempt)

    async def commit_offsets(
        self, offsets: Mapping[TopicPartition, GroupOffset], group: GroupMetadata
    ) -> None:
        """Commit offsets of a group in the transaction; they count when it is committed."""
        if not self._manager.is_implicit:
            await self._add_offsets(group)
            self._manager.offsets_added()
        request = offset_commit_request(
            self._manager.transactional_id, self._identity, group=group, offsets=offsets
        )

        async def attempt(connection: BrokerConnection) -> None:
            response = await connection.send(
                request, TxnOffsetCommitResponse, most_version=self._most_version
            )
            for partition, code in offset_commit_errors(response):
                self._ensure(code, f"group {group.group_id!r}, {partition}")

        await self._call(attempt, CoordinatorKey(GROUP, group.group_id))

    async def end(self, *, commit: bool) -> ProducerIdentity | None:
        """End the transaction; return the identity of the next one, None if it stays."""
        request = EndTxnRequest(
            transactional_id=self._manager.transactional_id,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            committed=commit,
        )

        async def attempt(connection: BrokerConnection) -> ProducerIdentity | None:
            response = await connection.send(
                request, EndTxnResponse, most_version=self._most_version
            )
            self._ensure(response.error_code)
            if response.producer_id < 0:
                return None
            return ProducerIdentity(response.producer_id, response.producer_epoch)

        return await self._call(attempt)

    async def _add_offsets(self, group: GroupMetadata) -> None:
        request = AddOffsetsToTxnRequest(
            transactional_id=self._manager.transactional_id,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            group_id=group.group_id,
        )

        async def attempt(connection: BrokerConnection) -> None:
            response = await connection.send(request, AddOffsetsToTxnResponse)
            self._ensure(response.error_code, f"group {group.group_id!r}")

        await self._call(attempt)

    @property
    def _identity(self) -> ProducerIdentity:
        assert self._manager.identity is not None, "the producer is initialized"
        return self._manager.identity

    @property
    def _most_version(self) -> int:
        """The last version of requests that depend on the transaction version."""
        return NEWEST if self._manager.is_implicit else _LAST_EXPLICIT

    def _ensure(self, code: int, place: str = "") -> None:
        if code:
            subject = f"{self._subject}, {place}" if place else self._subject
            raise coordinator_error(code, subject)

    async def _call(self, attempt: CoordinatorAttempt[T], key: CoordinatorKey | None = None) -> T:
        """Call a coordinator; retry soon while it writes the markers of the last transaction."""
        return await call_coordinator(
            self._client,
            key or CoordinatorKey(TRANSACTION, self._manager.transactional_id),
            while_markers_are_written(self._client, attempt),
            timeout_ms=self._settings.max_block_ms,
        )
