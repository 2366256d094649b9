"""The table of all APIs: their keys, Kafka's names, the versions to advertise, where they are told.

The versions are those of Apache Kafka 4.3, and of 3.9 where an API speaks between brokers only.
Produce is advertised from 0 on and served from 3 on, as librdkafka up to 2.10 takes a range without
0 for a broker that cannot decompress. Messages are imported when they are asked for.
"""

import re
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final, NamedTuple, cast

from cordwood.core.errors import UnsupportedVersionError
from cordwood.protocol.schema import Request, Response


class Api(NamedTuple):
    """One API; `flexible_since` is None where no version is flexible."""

    key: int
    name: str
    first: int
    last: int
    flexible_since: int | None
    is_between_brokers: bool = False

    @property
    def module(self) -> str:
        """The module of its messages."""
        words = re.sub(r"(?<=.)([A-Z])", r"_\1", self.name).lower()
        return f"cordwood.protocol.messages.{words}"

    def request(self) -> type[Request]:
        """Return the class of its requests."""
        return cast("type[Request]", getattr(import_module(self.module), f"{self.name}Request"))

    def response(self) -> type[Response]:
        """Return the class of its answers."""
        return cast("type[Response]", getattr(import_module(self.module), f"{self.name}Response"))

    def is_flexible_in(self, version: int) -> bool:
        """Say whether messages of this version are compact and have tagged fields."""
        return self.flexible_since is not None and version >= self.flexible_since


_ROWS: Final = (
    Api(0, "Produce", 0, 13, 9),
    Api(1, "Fetch", 4, 18, 12),
    Api(2, "ListOffsets", 1, 11, 6),
    Api(3, "Metadata", 0, 13, 9),
    Api(4, "LeaderAndIsr", 0, 7, 4, is_between_brokers=True),
    Api(5, "StopReplica", 0, 4, 2, is_between_brokers=True),
    Api(6, "UpdateMetadata", 0, 8, 6, is_between_brokers=True),
    Api(7, "ControlledShutdown", 0, 3, 3, is_between_brokers=True),
    Api(8, "OffsetCommit", 2, 10, 8),
    Api(9, "OffsetFetch", 1, 10, 6),
    Api(10, "FindCoordinator", 0, 6, 3),
    Api(11, "JoinGroup", 0, 9, 6),
    Api(12, "Heartbeat", 0, 4, 4),
    Api(13, "LeaveGroup", 0, 5, 4),
    Api(14, "SyncGroup", 0, 5, 4),
    Api(15, "DescribeGroups", 0, 6, 5),
    Api(16, "ListGroups", 0, 5, 3),
    Api(17, "SaslHandshake", 0, 1, None),
    Api(18, "ApiVersions", 0, 4, 3),
    Api(19, "CreateTopics", 2, 7, 5),
    Api(20, "DeleteTopics", 1, 6, 4),
    Api(21, "DeleteRecords", 0, 2, 2),
    Api(22, "InitProducerId", 0, 5, 2),
    Api(23, "OffsetForLeaderEpoch", 2, 4, 4),
    Api(24, "AddPartitionsToTxn", 0, 5, 3),
    Api(25, "AddOffsetsToTxn", 0, 4, 3),
    Api(26, "EndTxn", 0, 5, 3),
    Api(27, "WriteTxnMarkers", 1, 2, 1),
    Api(28, "TxnOffsetCommit", 0, 5, 3),
    Api(29, "DescribeAcls", 1, 3, 2),
    Api(30, "CreateAcls", 1, 3, 2),
    Api(31, "DeleteAcls", 1, 3, 2),
    Api(32, "DescribeConfigs", 1, 4, 4),
    Api(33, "AlterConfigs", 0, 2, 2),
    Api(34, "AlterReplicaLogDirs", 1, 2, 2),
    Api(35, "DescribeLogDirs", 1, 5, 2),
    Api(36, "SaslAuthenticate", 0, 2, 2),
    Api(37, "CreatePartitions", 0, 3, 2),
    Api(42, "DeleteGroups", 0, 2, 2),
    Api(43, "ElectLeaders", 0, 2, 2),
    Api(44, "IncrementalAlterConfigs", 0, 1, 1),
    Api(45, "AlterPartitionReassignments", 0, 1, 0),
    Api(46, "ListPartitionReassignments", 0, 0, 0),
    Api(47, "OffsetDelete", 0, 0, None),
    Api(48, "DescribeClientQuotas", 0, 1, 1),
    Api(49, "AlterClientQuotas", 0, 1, 1),
    Api(50, "DescribeUserScramCredentials", 0, 0, 0),
    Api(51, "AlterUserScramCredentials", 0, 0, 0),
    Api(55, "DescribeQuorum", 0, 2, 0),
    Api(56, "AlterPartition", 0, 3, 0, is_between_brokers=True),
    Api(57, "UpdateFeatures", 0, 2, 0),
    Api(60, "DescribeCluster", 0, 2, 0),
    Api(61, "DescribeProducers", 0, 0, 0),
    Api(64, "UnregisterBroker", 0, 0, 0),
    Api(65, "DescribeTransactions", 0, 0, 0),
    Api(66, "ListTransactions", 0, 2, 0),
    Api(68, "ConsumerGroupHeartbeat", 0, 1, 0),
    Api(69, "ConsumerGroupDescribe", 0, 1, 0),
    Api(74, "ListConfigResources", 0, 1, 0),
    Api(75, "DescribeTopicPartitions", 0, 0, 0),
    Api(76, "ShareGroupHeartbeat", 1, 1, 0),
    Api(77, "ShareGroupDescribe", 1, 1, 0),
    Api(78, "ShareFetch", 1, 2, 0),
    Api(79, "ShareAcknowledge", 1, 2, 0),
    Api(90, "DescribeShareGroupOffsets", 0, 1, 0),
    Api(91, "AlterShareGroupOffsets", 0, 0, 0),
    Api(92, "DeleteShareGroupOffsets", 0, 0, 0),
)

APIS: Final[Mapping[int, Api]] = MappingProxyType({api.key: api for api in _ROWS})
"""Every API by its key, in their order."""

API_VERSIONS: Final = APIS[18]
CONTROLLED_SHUTDOWN: Final = APIS[7]


def api_of(key: int) -> Api:
    """Return the API of a key; UnsupportedVersionError where there is none."""
    api = APIS.get(key)
    if api is None:
        raise UnsupportedVersionError(f"there is no API {key}")
    return api
