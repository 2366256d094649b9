"""Leaders that one response names, with their endpoints (Kafka: `KafkaApis.getCurrentLeader`).

A client that used another leader, or an earlier epoch of the leader, continues without a metadata
request (KIP-951). The role of a hosted partition has its leader. For an offline partition, and one
that is not hosted, the image has it.
"""

from typing import Final

from cordwood.broker.metadata.metadata_image import ClusterImage
from cordwood.broker.partitions.hosted_partitions import HostedPartitions, TopicRef
from cordwood.broker.partitions.partition_role import Follower
from cordwood.cluster.partition.leader import Leader
from cordwood.core.errors import UnknownTopicIdError, UnknownTopicOrPartitionError
from cordwood.protocol.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint


class CurrentLeaders:
    """The leaders that one response names; clients reach them on the listener of the request."""

    def __init__(self, partitions: HostedPartitions, image: ClusterImage, listener: str) -> None:
        self._partitions: Final = partitions
        self._image: Final = image
        self._listener: Final = listener
        self._leaders = set[int]()

    def find(self, topic: TopicRef, index: int) -> LeaderIdAndEpoch | None:
        """Return the leader of a partition, None if it is unknown; add it to the endpoints."""
        found = self._hosted(topic, index) or self._in_image(topic, index)
        if found is not None:
            self._leaders.add(found.leader_id)
        return found

    def endpoints(self) -> list[NodeEndpoint]:
        """Return the endpoints of the leaders that were found and have this listener."""
        if not self._leaders:
            return []
        return [
            NodeEndpoint(
                node_id=broker.node_id, host=endpoint.host, port=endpoint.port, rack=broker.rack
            )
            for broker, endpoint in self._image.endpoints_of(self._listener)
            if broker.node_id in self._leaders
        ]

    def _hosted(self, topic: TopicRef, index: int) -> LeaderIdAndEpoch | None:
        try:
            partition = self._partitions.get(topic, index)
        except (UnknownTopicIdError, UnknownTopicOrPartitionError):
            return None
        role = partition.role
        if isinstance(role, Leader):
            leader_id = self._partitions.node_id
        elif isinstance(role, Follower):
            leader_id = role.leader
        else:
            return None
        return LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=partition.leader_epoch)

    def _in_image(self, topic: TopicRef, index: int) -> LeaderIdAndEpoch | None:
        image = self._image
        found = image.topics.get(topic) if isinstance(topic, str) else image.topics_by_id.get(topic)
        if found is None or index not in range(len(found.partitions)):
            return None
        state = found.partitions[index]
        return LeaderIdAndEpoch(leader_id=state.leader, leader_epoch=state.leader_epoch)
