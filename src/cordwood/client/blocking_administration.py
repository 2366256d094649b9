"""Calls of the blocking admin client about groups, leaders and transactions; `aio.Admin` explains
each.
"""

from collections.abc import Iterable, Mapping, Sequence

from cordwood.client.admin.admin_client import Admin as AsyncioAdmin
from cordwood.client.admin.admin_types import PartitionReassignment
from cordwood.client.admin.group_types import GroupDescription, GroupListing
from cordwood.client.admin.leadership_administration import ElectionType
from cordwood.client.admin.transaction_types import (
    ActiveProducer,
    TransactionDescription,
    TransactionListing,
)
from cordwood.client.group_offset import GroupOffset
from cordwood.client.loop_thread import LoopThread
from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import KafkaError
from cordwood.core.types import TopicPartition


class BlockingAdministration:
    """Calls about groups, leaders and transactions; `Admin` has them."""

    _admin: AsyncioAdmin
    _thread: LoopThread

    def list_groups(
        self, *, states: Sequence[str] = (), types: Sequence[str] = ()
    ) -> list[GroupListing]:
        """Return the groups of all brokers, sorted by id; the filters ignore case."""
        return self._thread.run(self._admin.list_groups(states=states, types=types))

    def describe_groups(self, group_ids: Iterable[str]) -> list[GroupDescription]:
        """Return the groups and their members, of both kinds."""
        return self._thread.run(self._admin.describe_groups(group_ids))

    def list_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[tuple[str, int]] | None = None,
        *,
        require_stable: bool = False,
    ) -> dict[TopicPartition, GroupOffset]:
        """Return the committed offsets of these partitions, or of all."""
        return self._thread.run(
            self._admin.list_group_offsets(group_id, partitions, require_stable=require_stable)
        )

    def alter_group_offsets(
        self, group_id: str, offsets: Mapping[tuple[str, int], int | GroupOffset]
    ) -> None:
        """Commit offsets for a group without members; a missing group is created."""
        self._thread.run(self._admin.alter_group_offsets(group_id, offsets))

    def delete_group_offsets(self, group_id: str, partitions: Iterable[tuple[str, int]]) -> None:
        """Delete committed offsets; a topic that a member subscribes to is an error."""
        self._thread.run(self._admin.delete_group_offsets(group_id, partitions))

    def delete_groups(self, group_ids: Iterable[str]) -> None:
        """Delete groups without members, with their offsets; the first error is raised last."""
        self._thread.run(self._admin.delete_groups(group_ids))

    def remove_members(
        self, group_id: str, instance_ids: Iterable[str] | None = None, *, reason: str = ""
    ) -> None:
        """Remove static members by their instance ids, or all members of a group."""
        self._thread.run(self._admin.remove_members(group_id, instance_ids, reason=reason))

    def list_transactions(
        self,
        *,
        states: Sequence[str] = (),
        producer_ids: Sequence[int] = (),
        min_duration_ms: int | None = None,
        pattern: str | None = None,
    ) -> list[TransactionListing]:
        """Return the transactional ids of all brokers, sorted; each filter narrows the list."""
        return self._thread.run(
            self._admin.list_transactions(
                states=states,
                producer_ids=producer_ids,
                min_duration_ms=min_duration_ms,
                pattern=pattern,
            )
        )

    def describe_transactions(
        self, transactional_ids: Iterable[str]
    ) -> list[TransactionDescription]:
        """Return the latest transaction of each transactional id."""
        return self._thread.run(self._admin.describe_transactions(transactional_ids))

    def describe_producers(
        self, partitions: Iterable[tuple[str, int]], *, broker: int | None = None
    ) -> dict[TopicPartition, list[ActiveProducer]]:
        """Return the producers that each partition's leader knows, or the replica of a broker."""
        return self._thread.run(self._admin.describe_producers(partitions, broker=broker))

    def abort_transaction(
        self, partition: tuple[str, int], *, producer_id: int, epoch: int, coordinator_epoch: int
    ) -> None:
        """Abort a hanging transaction in one partition, by a marker to its leader."""
        self._thread.run(
            self._admin.abort_transaction(
                partition,
                producer_id=producer_id,
                epoch=epoch,
                coordinator_epoch=coordinator_epoch,
            )
        )

    def fence_producers(
        self, transactional_ids: Iterable[str], *, timeout_ms: int = 1
    ) -> dict[str, TransactionHandle]:
        """Abort the open transactions of these ids, and reject their present producers."""
        return self._thread.run(
            self._admin.fence_producers(transactional_ids, timeout_ms=timeout_ms)
        )

    def commit_transaction_offsets(
        self,
        handle: TransactionHandle,
        group_id: str,
        *,
        offsets: Mapping[tuple[str, int], int | GroupOffset],
    ) -> None:
        """Commit offsets of a group in the transaction of a handle."""
        self._thread.run(self._admin.commit_transaction_offsets(handle, group_id, offsets=offsets))

    def end_transaction(self, handle: TransactionHandle, *, commit: bool) -> TransactionHandle:
        """Commit or abort a transaction that a producer has detached; return the next handle."""
        return self._thread.run(self._admin.end_transaction(handle, commit=commit))

    def elect_leaders(
        self,
        partitions: Iterable[tuple[str, int]] | None = None,
        *,
        election: ElectionType = ElectionType.PREFERRED,
    ) -> dict[TopicPartition, KafkaError | None]:
        """Elect leaders of partitions, of all if None is given; return the error of each."""
        return self._thread.run(self._admin.elect_leaders(partitions, election=election))

    def reassign(
        self, replicas: Mapping[tuple[str, int], Sequence[int] | None]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Begin to move partitions to these brokers, or cancel moves; return the error of each."""
        return self._thread.run(self._admin.reassign(replicas))

    def list_reassignments(self) -> dict[TopicPartition, PartitionReassignment]:
        """Return the moves in progress."""
        return self._thread.run(self._admin.list_reassignments())
