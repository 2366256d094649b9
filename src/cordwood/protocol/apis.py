"""Table of all APIs: key, Kafka's name, advertised versions and present use (Kafka: `ApiKeys`).

The versions are those of Apache Kafka 4.3, or of 3.9 for an API between brokers. Produce is
advertised from version 0 and served from 3, because librdkafka up to 2.10 assumes that a broker
without version 0 cannot decompress. Messages are imported on first use.

The use of an API is `SERVED` (our broker handles it), `CLIENT` (our clients send it), both, or
`RESERVED` (declared for later work). Two modules belong to no single API: `internal` declares
records of internal topics, and `current_leader` structs that several APIs share.
"""

import re
from collections.abc import Mapping
from enum import Flag, auto
from importlib import import_module
from types import MappingProxyType
from typing import Final, NamedTuple, cast

from cordwood.core.errors import UnsupportedVersionError
from cordwood.protocol.schema import Request, Response


class ApiUse(Flag):
    """Present use of an API's messages; without any flag they are reserved for later."""

    RESERVED = 0
    SERVED = auto()
    CLIENT = auto()


class Api(NamedTuple):
    """One API; `flexible_since` is None if no version is flexible."""

    key: int
    name: str
    first: int
    last: int
    flexible_since: int | None
    use: ApiUse = ApiUse.RESERVED
    is_between_brokers: bool = False

    @property
    def module(self) -> str:
        """Module of its messages."""
        words = re.sub(r"(?<=.)([A-Z])", r"_\1", self.name).lower()
        return f"cordwood.protocol.messages.{words}"

    def request(self) -> type[Request]:
        """Return its request class."""
        return cast("type[Request]", getattr(import_module(self.module), f"{self.name}Request"))

    def response(self) -> type[Response]:
        """Return its response class."""
        return cast("type[Response]", getattr(import_module(self.module), f"{self.name}Response"))

    def is_flexible_in(self, version: int) -> bool:
        """Return whether messages of this version are compact and have tagged fields."""
        return self.flexible_since is not None and version >= self.flexible_since


_SERVED: Final = ApiUse.SERVED
_CLIENT: Final = ApiUse.CLIENT

_ROWS: Final = (
    Api(0, "Produce", 0, 13, 9, _SERVED | _CLIENT),
    Api(1, "Fetch", 4, 18, 12, _SERVED | _CLIENT),
    Api(2, "ListOffsets", 1, 11, 6, _SERVED | _CLIENT),
    Api(3, "Metadata", 0, 13, 9, _SERVED | _CLIENT),
    Api(4, "LeaderAndIsr", 0, 7, 4, _SERVED, is_between_brokers=True),
    Api(5, "StopReplica", 0, 4, 2, _SERVED, is_between_brokers=True),
    Api(6, "UpdateMetadata", 0, 8, 6, _SERVED, is_between_brokers=True),
    Api(7, "ControlledShutdown", 0, 3, 3, _SERVED, is_between_brokers=True),
    Api(8, "OffsetCommit", 2, 10, 8, _SERVED | _CLIENT),
    Api(9, "OffsetFetch", 1, 10, 6, _SERVED | _CLIENT),
    Api(10, "FindCoordinator", 0, 6, 3, _SERVED | _CLIENT),
    Api(11, "JoinGroup", 0, 9, 6, _SERVED | _CLIENT),
    Api(12, "Heartbeat", 0, 4, 4, _SERVED | _CLIENT),
    Api(13, "LeaveGroup", 0, 5, 4, _SERVED | _CLIENT),
    Api(14, "SyncGroup", 0, 5, 4, _SERVED | _CLIENT),
    Api(15, "DescribeGroups", 0, 6, 5, _SERVED | _CLIENT),
    Api(16, "ListGroups", 0, 5, 3, _SERVED | _CLIENT),
    Api(17, "SaslHandshake", 0, 1, None),
    Api(18, "ApiVersions", 0, 4, 3, _SERVED | _CLIENT),
    Api(19, "CreateTopics", 2, 7, 5, _SERVED | _CLIENT),
    Api(20, "DeleteTopics", 1, 6, 4, _SERVED | _CLIENT),
    Api(21, "DeleteRecords", 0, 2, 2, _SERVED | _CLIENT),
    Api(22, "InitProducerId", 0, 5, 2, _SERVED | _CLIENT),
    Api(23, "OffsetForLeaderEpoch", 2, 4, 4, _SERVED | _CLIENT),
    Api(24, "AddPartitionsToTxn", 0, 5, 3, _SERVED | _CLIENT),
    Api(25, "AddOffsetsToTxn", 0, 4, 3, _SERVED | _CLIENT),
    Api(26, "EndTxn", 0, 5, 3, _SERVED | _CLIENT),
    Api(27, "WriteTxnMarkers", 1, 2, 1, _SERVED | _CLIENT),
    Api(28, "TxnOffsetCommit", 0, 5, 3, _SERVED | _CLIENT),
    Api(29, "DescribeAcls", 1, 3, 2),
    Api(30, "CreateAcls", 1, 3, 2),
    Api(31, "DeleteAcls", 1, 3, 2),
    Api(32, "DescribeConfigs", 1, 4, 4, _SERVED | _CLIENT),
    Api(33, "AlterConfigs", 0, 2, 2, _SERVED),
    Api(34, "AlterReplicaLogDirs", 1, 2, 2, _SERVED | _CLIENT),
    Api(35, "DescribeLogDirs", 1, 5, 2, _SERVED | _CLIENT),
    Api(36, "SaslAuthenticate", 0, 2, 2),
    Api(37, "CreatePartitions", 0, 3, 2, _SERVED | _CLIENT),
    Api(42, "DeleteGroups", 0, 2, 2, _SERVED | _CLIENT),
    Api(43, "ElectLeaders", 0, 2, 2, _SERVED | _CLIENT),
    Api(44, "IncrementalAlterConfigs", 0, 1, 1, _SERVED | _CLIENT),
    Api(45, "AlterPartitionReassignments", 0, 1, 0, _SERVED | _CLIENT),
    Api(46, "ListPartitionReassignments", 0, 0, 0, _SERVED | _CLIENT),
    Api(47, "OffsetDelete", 0, 0, None, _SERVED | _CLIENT),
    Api(48, "DescribeClientQuotas", 0, 1, 1),
    Api(49, "AlterClientQuotas", 0, 1, 1),
    Api(50, "DescribeUserScramCredentials", 0, 0, 0),
    Api(51, "AlterUserScramCredentials", 0, 0, 0),
    Api(55, "DescribeQuorum", 0, 2, 0),
    Api(56, "AlterPartition", 0, 3, 0, _SERVED, is_between_brokers=True),
    Api(57, "UpdateFeatures", 0, 2, 0),
    Api(60, "DescribeCluster", 0, 2, 0, _SERVED | _CLIENT),
    Api(61, "DescribeProducers", 0, 0, 0, _SERVED | _CLIENT),
    Api(64, "UnregisterBroker", 0, 0, 0),
    Api(65, "DescribeTransactions", 0, 0, 0, _SERVED | _CLIENT),
    Api(66, "ListTransactions", 0, 2, 0, _SERVED | _CLIENT),
    Api(67, "AllocateProducerIds", 0, 0, 0, _SERVED, is_between_brokers=True),
    Api(68, "ConsumerGroupHeartbeat", 0, 1, 0, _SERVED | _CLIENT),
    Api(69, "ConsumerGroupDescribe", 0, 1, 0, _SERVED | _CLIENT),
    Api(74, "ListConfigResources", 0, 1, 0, _SERVED | _CLIENT),
    Api(75, "DescribeTopicPartitions", 0, 0, 0, _SERVED),
    Api(76, "ShareGroupHeartbeat", 1, 1, 0),
    Api(77, "ShareGroupDescribe", 1, 1, 0),
    Api(78, "ShareFetch", 1, 2, 0),
    Api(79, "ShareAcknowledge", 1, 2, 0),
    Api(90, "DescribeShareGroupOffsets", 0, 1, 0),
    Api(91, "AlterShareGroupOffsets", 0, 0, 0),
    Api(92, "DeleteShareGroupOffsets", 0, 0, 0),
)

APIS: Final[Mapping[int, Api]] = MappingProxyType({api.key: api for api in _ROWS})
"""Every API by its key, in key order."""

API_VERSIONS: Final = APIS[18]
CONTROLLED_SHUTDOWN: Final = APIS[7]


def api_of(key: int) -> Api:
    """Return the API of a key; UnsupportedVersionError for an unknown key."""
    api = APIS.get(key)
    if api is None:
        raise UnsupportedVersionError(f"there is no API {key}")
    return api
