"""CreateTopics: creates topics, with replicas assigned by the broker or by the client.

Changes by version:

    v4  -1 for the number of partitions and of replicas selects the broker's default
    v5  flexible; responses contain the topic's settings
    v6  THROTTLING_QUOTA_EXCEEDED may be returned
    v7  responses contain the topic's id
"""

from cordwood.core.uuids import NO_UUID
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int8, Int16, Int32, String, Uuid


class CreatableReplicaAssignment(Struct):
    """The brokers of one partition; the first is the preferred leader."""

    partition_index: Int32
    broker_ids: list[Int32]


class CreatableTopicConfig(Struct):
    """A setting of the topic."""

    name: String
    value: String | None


class CreatableTopic(Struct):
    """A topic to create. With manual assignments both numbers are -1."""

    name: String
    num_partitions: Int32
    replication_factor: Int16
    assignments: list[CreatableReplicaAssignment]
    configs: list[CreatableTopicConfig]


class CreateTopicsRequest(Request, api_key=19, versions=(2, 7), flexible_since=5):
    """The topics to create; with `validate_only`, the request is only validated."""

    topics: list[CreatableTopic]
    timeout_ms: Int32 = field(default=60000)
    validate_only: Bool = field(default=False)


class CreatableTopicConfigs(Struct):
    """A setting of the created topic, and its source."""

    name: String
    value: String | None
    read_only: Bool
    config_source: Int8 = field(default=-1)
    is_sensitive: Bool


class CreatableTopicResult(Struct):
    """Result of one topic."""

    name: String
    topic_id: Uuid = field(since=7, default=NO_UUID, ignorable=True)
    error_code: Int16
    error_message: String | None
    #: The error for a null `configs` of a created topic: the user may not describe them.
    topic_config_error_code: Int16 = field(since=5, tag=0, default=0, ignorable=True)
    num_partitions: Int32 = field(since=5, default=-1, ignorable=True)
    replication_factor: Int16 = field(since=5, default=-1, ignorable=True)
    configs: list[CreatableTopicConfigs] | None = field(since=5, default=[], ignorable=True)


class CreateTopicsResponse(Response, api_key=19, versions=(2, 7), flexible_since=5):
    """Results by topic."""

    throttle_time_ms: Int32 = field(default=0)
    topics: list[CreatableTopicResult]
