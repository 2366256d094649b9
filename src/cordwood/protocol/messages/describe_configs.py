"""DescribeConfigs: settings of topics and brokers, with the source of each value.

Resource types: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group. Sources: 1 the
topic, 2 this broker dynamically, 3 all brokers dynamically, 4 server.properties, 5 the default, 6 a
logger, 7 client metrics, 8 a group.

    v1  synonyms: every source of the value, the effective one first
    v3  types and documentation
    v4  flexible
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int8, Int16, Int32, String


class DescribeConfigsResource(Struct):
    """One resource, and the keys to describe; None for all of them."""

    resource_type: Int8
    resource_name: String
    configuration_keys: list[String] | None


class DescribeConfigsRequest(Request, api_key=32, versions=(1, 4), flexible_since=4):
    """The resources to describe."""

    resources: list[DescribeConfigsResource]
    include_synonyms: Bool = field(default=False)
    include_documentation: Bool = field(since=3, default=False)


class DescribeConfigsSynonym(Struct):
    """A source of the setting's value, and the name it uses."""

    name: String
    value: String | None
    source: Int8


class DescribeConfigsResourceResult(Struct):
    """One setting. The value of a sensitive one is null."""

    name: String
    value: String | None
    read_only: Bool
    config_source: Int8 = field(default=-1)
    is_sensitive: Bool
    synonyms: list[DescribeConfigsSynonym]
    #: 1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password.
    config_type: Int8 = field(since=3, default=0, ignorable=True)
    documentation: String | None = field(since=3, default="", ignorable=True)


class DescribeConfigsResult(Struct):
    """The settings of one resource, or the error."""

    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String
    configs: list[DescribeConfigsResourceResult]


class DescribeConfigsResponse(Response, api_key=32, versions=(1, 4), flexible_since=4):
    """The settings by resource."""

    throttle_time_ms: Int32 = field(default=0)
    results: list[DescribeConfigsResult]
