"""Names for Kafka's numbers, so that an offset is never passed where an epoch is meant.

Each is an `int` (or a `str`) at run time and costs nothing. Kafka writes -1 where there is none.
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
        """Return what Kafka's messages and directories call it."""
        return f"{self.topic}-{self.partition}"
