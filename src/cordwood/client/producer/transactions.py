"""Transactions of one producer: its state, its requests, and its batches (Java: `KafkaProducer`).

A commit waits for all batches, and fails if one of them has failed: abort then. An abort drops the
batches that were not sent, waits for the answers about the others, and ends the transaction.
"""

from collections.abc import Mapping
from typing import Final

from cordwood.client.group_offset import GroupMetadata, GroupOffset
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.producer.partition_queue import ProducerIdentity
from cordwood.client.producer.sender import Sender
from cordwood.client.producer.transaction_manager import ProducerState, TransactionManager
from cordwood.client.producer.transactional_requests import CoordinatorRequests
from cordwood.client.settings import ProducerSettings
from cordwood.client.topic_partitions import partitions_of
from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import InvalidTxnStateError, KafkaError, TransactionAbortableError

_OPEN: Final = {ProducerState.IN_TRANSACTION, ProducerState.ABORTABLE, ProducerState.ABORTING}


class Transactions:
    """Transactions of one producer."""

    def __init__(
        self,
        client: NetworkClient,
        settings: ProducerSettings,
        *,
        manager: TransactionManager,
        sender: Sender,
    ) -> None:
        self._manager = manager
        self._sender = sender
        self._requests = CoordinatorRequests(client, settings, manager)
        sender.add_partitions = self._requests.add_partitions

    async def initialize(self) -> None:
        """Fence other producers with the id, and end their transaction; do nothing if done.

        A detached producer does it again.
        """
        self._manager.take_up()
        await self._initialize()

    async def _initialize(self) -> None:
        if self._manager.state is ProducerState.UNINITIALIZED:
            identity, version = await self._requests.request_identity()
            self._manager.initialize(identity, version)
            self._sender.adopt_identity(identity)

    async def begin(self) -> None:
        """Begin a transaction."""
        await self._initialize()
        self._manager.begin()

    async def send_offsets(
        self, offsets: Mapping[tuple[str, int], int | GroupOffset], group: str | GroupMetadata
    ) -> None:
        """Commit offsets of a group with the transaction."""
        self._manager.ensure_open()
        wanted = {
            partition: GroupOffset(each) if isinstance(each, int) else each
            for partition, each in zip(partitions_of(offsets), offsets.values(), strict=True)
        }
        if not wanted:
            return
        self._manager.use_offsets()
        try:
            await self._requests.commit_offsets(
                wanted, GroupMetadata(group) if isinstance(group, str) else group
            )
        except KafkaError as error:
            self._manager.fail(error)
            raise

    async def commit(self) -> None:
        """Commit the transaction, after all its records are acknowledged."""
        if self._manager.state is ProducerState.IN_TRANSACTION:
            await self._sender.flush()
            await self._sender.drain()
        self._manager.prepare_commit()
        await self._end(commit=True)

    async def abort(self) -> None:
        """Abort the transaction, and drop the records that are not sent yet."""
        self._manager.prepare_abort()
        self._sender.drop_unsent(
            TransactionAbortableError(
                f"transactional id {self._manager.transactional_id!r}: the transaction was aborted"
                " before the record was sent; send it again in another one"
            )
        )
        await self._sender.drain()
        await self._end(commit=False)

    async def detach(self) -> TransactionHandle:
        """Leave the open transaction, with all its records, to another process."""
        self._manager.ensure_open()
        await self._sender.flush()
        await self._sender.drain()
        return self._manager.detach()

    async def abort_if_open(self) -> None:
        """Abort a transaction that a closing producer has left open."""
        if self._manager.state in _OPEN:
            await self.abort()

    async def _end(self, *, commit: bool) -> None:
        try:
            identity = await self._next_identity(commit=commit)
        except TransactionAbortableError as error:
            if commit:
                self._manager.fail(error)
            else:
                self._manager.fail_for_good(error)
            raise
        except InvalidTxnStateError as error:
            self._manager.fail_for_good(error)
            raise
        except KafkaError as error:
            if not error.retriable and commit and self._manager.is_ended:
                self._manager.fail_for_good(error)  # an abort would come too late
            elif not error.retriable:
                self._manager.fail(error)
            raise
        is_new = self._manager.end(identity)
        if is_new and self._manager.identity is not None:
            self._sender.adopt_identity(self._manager.identity)

    async def _next_identity(self, *, commit: bool) -> ProducerIdentity | None:
        """End the transaction, and return the identity of the next one; None if it stays.

        A repeated call continues after the step that has succeeded last: the next epoch fences a
        repeated EndTxn, too.
        """
        manager, identity = self._manager, None
        if not manager.is_end_due:
            return None
        if not manager.is_ended:
            try:
                identity = await self._requests.end(commit=commit)
            except InvalidTxnStateError:
                if commit or manager.is_confirmed:
                    raise  # otherwise the coordinator has no transaction to abort
            manager.is_ended = True
        if manager.is_bump_due:
            identity, _ = await self._requests.request_identity()
        return identity
