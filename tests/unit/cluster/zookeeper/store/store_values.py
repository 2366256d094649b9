"""Values that the tests of the store share."""

from typing import Final

from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import StoredAssignment
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid

ID: Final = Uuid(bytes(15) + b"\x07")
TOPIC: Final = StoredAssignment(
    ID, {0: ReplicaAssignment((1, 2)), 1: ReplicaAssignment((2, 1)), 2: ReplicaAssignment((1,))}
)
PARTITIONS: Final = tuple(TopicPartition(TopicName("t"), PartitionId(each)) for each in range(3))
FIRST: Final = {each: Leadership(1, 0, (1, 2), controller_epoch=1) for each in PARTITIONS}
SECOND: Final = {each: Leadership(2, 1, (2,), controller_epoch=1) for each in PARTITIONS}
