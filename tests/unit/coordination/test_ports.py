"""A marker is sent again to the partitions that do not have it yet."""

from cordwood.coordination.ports import TransactionMarker
from cordwood.core.errors import NotLeaderOrFollowerError
from cordwood.core.types import PartitionId, TopicName, TopicPartition

FIRST = TopicPartition(TopicName("orders"), PartitionId(0))
SECOND = TopicPartition(TopicName("orders"), PartitionId(1))


def test_marker_remains_for_partitions_with_an_error() -> None:
    marker = TransactionMarker(7, 1, 0, is_commit=True, partitions=frozenset({FIRST, SECOND}))

    remaining = marker.remaining({SECOND: NotLeaderOrFollowerError("moved")})

    assert remaining.partitions == {SECOND}
    assert remaining.producer_id == 7
