"""Distinct types for Kafka's numbers, so that an offset is never passed as an epoch.

Each is an `int` or a `str` at run time, without any cost. As in Kafka, -1 means absent.
"""

from typing import NamedTuple, NewType

TopicName = NewType("TopicName", str)
PartitionId = NewType("PartitionId", int)
Offset = NewType("Offset", int)
LeaderEpoch = NewType("LeaderEpoch", int)
ProducerId = NewType("ProducerId", int)
ProducerEpoch = NewType("ProducerEpoch", int)
Sequence = NewType("Sequence", int)
TimestampMs = NewType("TimestampMs", int)

NO_OFFSET = Offset(-1)
NO_LEADER_EPOCH = LeaderEpoch(-1)
NO_PRODUCER_ID = ProducerId(-1)
NO_PRODUCER_EPOCH = ProducerEpoch(-1)
NO_SEQUENCE = Sequence(-1)
NO_TIMESTAMP = TimestampMs(-1)


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: TopicName
    partition: PartitionId

    def __str__(self) -> str:
        """Return `topic-partition`, the form of Kafka's messages and directory names."""
        return f"{self.topic}-{self.partition}"
