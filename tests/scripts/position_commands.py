"""Commands of the family `positions`: a consumer's position in partition t-0, and the metadata.

A record is one batch. The leader's answers are values of the script.
"""

from cordwood.client.consumer.completed_fetch import completed_fetch
from cordwood.client.consumer.offset_fetcher import EARLIEST
from cordwood.client.consumer.subscription_state import PositionCheck, TopicPartitionState
from cordwood.client.network.cluster import Cluster
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from cordwood.records.batch_builder import BatchBuilder, BatchFields

(READ,) = partitions_of([("t", 0)])


class PositionCommands:
    """A position, and the snapshot of the cluster."""

    def __init__(self) -> None:
        self._cluster = Cluster()
        self._rejected: set[tuple[str, int]] = set()
        self._position = TopicPartitionState(READ)
        self._reset_target: int | None = EARLIEST

    def metadata(self, *, epoch: int, leader: int = 1, topic_id: str = "A") -> str:
        """Receive metadata, of a refresh that follows the rejections."""
        response = _metadata(epoch, leader=leader, topic_id=topic_id)
        self._cluster = self._cluster.updated(response, rejected=self._rejected)
        self._rejected.clear()
        known = self._cluster.partition(*READ)
        assert known is not None, "the response has the partition"
        return f"leader {known.leader}, leader epoch {known.leader_epoch}"

    def reject(self) -> None:
        """Let the leader reject the known leader epoch."""
        self._rejected.add(READ)

    def reset(self, policy: str) -> None:
        """Set `auto.offset.reset`: earliest or none."""
        self._reset_target = EARLIEST if policy == "earliest" else None

    def seek(self, offset: int) -> str:
        """Seek to an offset."""
        self._position.seek(offset)
        return self._printed()

    def fetch(self, *, to: int, epoch: int) -> str:
        """Prefetch the records below an offset."""
        for offset in range(self._position.fetch_offset, to):
            builder = BatchBuilder(BatchFields(base_offset=offset, partition_leader_epoch=epoch))
            builder.append(b"k", b"v")
            records, _ = completed_fetch(READ, builder.build(), offset=offset)
            self._position.add_fetched(records)
        return self._printed()

    def poll(self, records: int) -> str:
        """Return prefetched records to the application."""
        for _ in range(records):
            self._position.offset = self._position.fetched.popleft().end[0]
        return self._printed()

    def check(self) -> str:
        """Compare the position with the metadata, before a fetch."""
        known = self._cluster.partition(*READ)
        assert known is not None, "metadata come first"
        found = self._position.check(self._cluster.topic_id("t"), known.leader_epoch)
        if found is PositionCheck.EPOCH_CHANGED:
            return f"validate leader epoch {self._position.last_epoch}"
        return found.name.lower().replace("_", " ")

    def end(self, *, epoch: int, offset: int) -> str:
        """Receive the leader's answer: an epoch, and where it ends; -1 for an unknown epoch."""
        known, position = self._cluster.partition(*READ), self._position
        assert known is not None, "metadata come first"
        problem = position.complete_validation(offset, epoch=epoch, reset_target=self._reset_target)
        if not problem or self._reset_target is not None:
            position.validated_epoch = known.leader_epoch
        return "\n".join(filter(None, (problem, self._printed())))

    def _printed(self) -> str:
        position = self._position
        if position.offset is None:
            return "position: looks up the earliest offset"
        return f"position {position.offset}, prefetched to {position.fetch_offset}"


def _metadata(epoch: int, *, leader: int, topic_id: str) -> MetadataResponse:
    partition = MetadataResponsePartition(
        error_code=0,
        partition_index=0,
        leader_id=leader,
        leader_epoch=epoch,
        replica_nodes=[leader],
        isr_nodes=[leader],
    )
    topic = MetadataResponseTopic(
        error_code=0,
        name="t",
        topic_id=Uuid(topic_id.encode().ljust(16, b".")),
        partitions=[partition],
    )
    brokers = [MetadataResponseBroker(node_id=each, host="h", port=each) for each in (1, 2)]
    return MetadataResponse(brokers=brokers, cluster_id="c", controller_id=1, topics=[topic])
