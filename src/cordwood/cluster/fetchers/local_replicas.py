"""Port to the logs of this broker that follow other brokers.

Kafka: the abstract methods of `AbstractFetcherThread`: `processPartitionData`, `truncate`,
`truncateFullyAndStartAt`.
"""

from typing import NamedTuple, Protocol

from cordwood.cluster.partition.truncation import FollowerLog
from cordwood.core.ports import Pending
from cordwood.core.types import TopicPartition


class LeaderBounds(NamedTuple):
    """High watermark and log start of the leader, as its response has them."""

    high_watermark: int
    log_start: int


class LocalReplicas(Protocol):
    """The local logs. All methods are called on the thread that owns the logs, and never block.

    A change is made for one leader epoch. If the partition does not follow in that epoch, or not
    any longer, the change raises NotLeaderOrFollowerError, and the log stays as it is. A change
    that needs the disk returns a result, which is done when the change is complete; its error is
    that of the change. Otherwise it returns None, and the change is complete. The caller makes one
    change of a partition at a time, but a change of an ended epoch may still be under way.
    """

    def follower_log(self, partition: TopicPartition) -> FollowerLog:
        """Return the present log; KafkaError if the partition has no usable log here."""

    def append(
        self,
        partition: TopicPartition,
        records: memoryview,
        *,
        leader_epoch: int,
        bounds: LeaderBounds,
    ) -> Pending[None] | None:
        """Append the records of a response, if there are any, and use the leader's bounds.

        `truncation.bounds_after_fetch` has the rule for the bounds. The records are unchanged until
        the append is complete, and may be dropped then. Batches of a later epoch are left out.
        CorruptMessageError or InvalidRecordError if the records cannot follow the log.
        """

    def truncate(
        self, partition: TopicPartition, offset: int, *, leader_epoch: int
    ) -> Pending[None] | None:
        """Truncate the log to end at `offset`, durably."""

    def start_at(
        self, partition: TopicPartition, offset: int, *, leader_epoch: int
    ) -> Pending[None] | None:
        """Remove all records, durably; the log continues at `offset`."""
