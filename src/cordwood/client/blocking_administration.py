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
        """Return the groups of all brokers, sorted by id.

        Args:
            states: States to return, such as "Stable" and "Empty"; case is ignored.
            types: Types to return: "classic", "consumer"; case is ignored.

        >>> [group.group_id for group in admin.list_groups(states=["empty"])]
        ['billing']
        """
        return self._thread.run(self._admin.list_groups(states=states, types=types))

    def describe_groups(self, group_ids: Iterable[str]) -> list[GroupDescription]:
        """Return the groups and their members, of both kinds.

        >>> [group] = admin.describe_groups(["billing"])
        >>> group.state, group.members
        ('Empty', ())
        """
        return self._thread.run(self._admin.describe_groups(group_ids))

    def list_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[tuple[str, int]] | None = None,
        *,
        require_stable: bool = False,
    ) -> dict[TopicPartition, GroupOffset]:
        """Return the committed offsets of a group.

        Args:
            group_id: The group.
            partitions: Pairs of topic and partition, by default all.
            require_stable: Whether to wait for open transactions that commit offsets.

        >>> admin.list_group_offsets("billing")[("orders", 0)].offset
        2
        """
        return self._thread.run(
            self._admin.list_group_offsets(group_id, partitions, require_stable=require_stable)
        )

    def alter_group_offsets(
        self, group_id: str, offsets: Mapping[tuple[str, int], int | GroupOffset]
    ) -> None:
        """Commit offsets for a group without members; a missing group is created.

        Args:
            group_id: The group.
            offsets: By topic and partition, the offset of the next record to read.

        >>> admin.alter_group_offsets("billing", {("orders", 0): 0})
        """
        self._thread.run(self._admin.alter_group_offsets(group_id, offsets))

    def delete_group_offsets(self, group_id: str, partitions: Iterable[tuple[str, int]]) -> None:
        """Delete committed offsets; a topic that a member subscribes to is an error.

        >>> admin.delete_group_offsets("billing", [("orders", 0)])
        """
        self._thread.run(self._admin.delete_group_offsets(group_id, partitions))

    def delete_groups(self, group_ids: Iterable[str]) -> None:
        """Delete groups without members, with their offsets; the first error is raised last.

        >>> admin.delete_groups(["billing"])
        """
        self._thread.run(self._admin.delete_groups(group_ids))

    def remove_members(
        self, group_id: str, instance_ids: Iterable[str] | None = None, *, reason: str = ""
    ) -> None:
        """Remove static members by their instance ids, or all members of a group.

        Args:
            group_id: The group.
            instance_ids: Values of `group_instance_id`, by default all members.
            reason: A text for the log of the broker.

        >>> admin.remove_members("billing", reason="a new release")
        """
        self._thread.run(self._admin.remove_members(group_id, instance_ids, reason=reason))

    def list_transactions(
        self,
        *,
        states: Sequence[str] = (),
        producer_ids: Sequence[int] = (),
        min_duration_ms: int | None = None,
        pattern: str | None = None,
    ) -> list[TransactionListing]:
        """Return the transactional ids of all brokers, sorted; each filter narrows the list.

        Args:
            states: States to return, such as "Ongoing" and "CompleteCommit".
            producer_ids: Producer ids to return.
            min_duration_ms: Minimum age of the transaction.
            pattern: Regular expression (RE2) of transactional ids.

        >>> [each.transactional_id for each in admin.list_transactions(states=["Empty"])]
        ['etl']
        """
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
        """Return the latest transaction of each transactional id.

        >>> [transaction] = admin.describe_transactions(["etl"])
        >>> transaction.state
        'Empty'
        """
        return self._thread.run(self._admin.describe_transactions(transactional_ids))

    def describe_producers(
        self, partitions: Iterable[tuple[str, int]], *, broker: int | None = None
    ) -> dict[TopicPartition, list[ActiveProducer]]:
        """Return the producers that each partition's leader knows, or the replica of a broker.

        >>> [producer] = admin.describe_producers([("orders", 0)])[("orders", 0)]
        >>> producer.last_sequence
        2
        """
        return self._thread.run(self._admin.describe_producers(partitions, broker=broker))

    def abort_transaction(
        self, partition: tuple[str, int], *, producer_id: int, epoch: int, coordinator_epoch: int
    ) -> None:
        """Abort a hanging transaction in one partition, by a marker to its leader.

        `describe_producers` returns the values of a hanging transaction.

        Args:
            partition: Topic and partition.
            producer_id: Id of the producer.
            epoch: Epoch of the producer.
            coordinator_epoch: Epoch of its coordinator, 0 if the partition has none.
        """
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
        """Abort the open transactions of these ids, and reject their present producers.

        Args:
            transactional_ids: The ids.
            timeout_ms: Transaction timeout that the ids get; a later producer sets its own.

        >>> admin.fence_producers(["etl"])["etl"].transactional_id
        'etl'
        """
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
        """Commit offsets of a group in the transaction of a handle.

        Args:
            handle: The handle of `Producer.detach`.
            group_id: The group.
            offsets: By topic and partition, the offset of the next record to read.

        >>> transactional.begin()
        >>> delivery = transactional.send("orders", b"42 logs")
        >>> handle = transactional.detach()
        >>> admin.commit_transaction_offsets(handle, "billing", offsets={("orders", 0): 3})
        """
        self._thread.run(self._admin.commit_transaction_offsets(handle, group_id, offsets=offsets))

    def end_transaction(self, handle: TransactionHandle, *, commit: bool) -> TransactionHandle:
        """Commit or abort a transaction that a producer has detached; return the next handle.

        >>> transactional.begin()
        >>> delivery = transactional.send("orders", b"42 logs")
        >>> handle = transactional.detach()
        >>> admin.end_transaction(handle, commit=True).transactional_id
        'etl'
        """
        return self._thread.run(self._admin.end_transaction(handle, commit=commit))

    def elect_leaders(
        self,
        partitions: Iterable[tuple[str, int]] | None = None,
        *,
        election: ElectionType = ElectionType.PREFERRED,
    ) -> dict[TopicPartition, KafkaError | None]:
        """Elect leaders of partitions, and return the error of each, None for a new leader.

        Args:
            partitions: Pairs of topic and partition, by default all.
            election: PREFERRED for the first replica, UNCLEAN for any replica.

        >>> admin.elect_leaders([("orders", 0)])[("orders", 0)].code
        84
        """
        return self._thread.run(self._admin.elect_leaders(partitions, election=election))

    def reassign(
        self, replicas: Mapping[tuple[str, int], Sequence[int] | None]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Begin to move partitions to these brokers, or cancel moves; return the error of each.

        Args:
            replicas: Ids of brokers by topic and partition; None cancels a move.

        >>> admin.reassign({("orders", 0): [1]})
        {TopicPartition(topic='orders', partition=0): None}
        """
        return self._thread.run(self._admin.reassign(replicas))

    def alter_replica_log_dirs(
        self, node_id: int, directories: Mapping[tuple[str, int], str]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Begin to move replicas of a broker to these log directories; return the error of each.

        Args:
            node_id: The id of the broker.
            directories: Paths of log directories by topic and partition.

        >>> admin.alter_replica_log_dirs(1, {("orders", 0): "/kafka-logs"})[("orders", 0)] is None
        True
        """
        return self._thread.run(self._admin.alter_replica_log_dirs(node_id, directories))

    def list_reassignments(self) -> dict[TopicPartition, PartitionReassignment]:
        """Return the moves in progress.

        >>> admin.list_reassignments()
        {}
        """
        return self._thread.run(self._admin.list_reassignments())
