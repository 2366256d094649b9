"""Fetch position of one partition (Kafka: `FetchRequest.PartitionData`)."""

from typing import NamedTuple

from cordwood.broker.partitions.partition import Partition
from cordwood.cluster.partition.replica_state import UNKNOWN_OFFSET
from cordwood.core.errors import KafkaError
from cordwood.core.types import NO_LEADER_EPOCH


class PartitionFetch(NamedTuple):
    """The fetch position of one partition; `source` is an error if it cannot be read."""

    source: Partition | KafkaError
    offset: int
    max_bytes: int
    leader_epoch: int = NO_LEADER_EPOCH
    last_epoch: int = NO_LEADER_EPOCH
    #: The log start of a follower.
    log_start: int = UNKNOWN_OFFSET
