"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs and ListConfigResources.

Resources are topics, this broker, all brokers (a broker without a name) and the broker's loggers.
Each is answered for itself; of a resource all is changed, or nothing. Whoever names one twice in a
request to change it is refused.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from cordwood.broker.alterations import Alteration, Operation
from cordwood.broker.answer_errors import code_of, words_of
from cordwood.broker.broker import Broker
from cordwood.broker.config_entries import ConfigEntry
from cordwood.broker.config_resources import resource_asked_for
from cordwood.broker.loggers import apply_levels, check_levels, describe_loggers
from cordwood.broker.request import RequestContext
from cordwood.broker.topic_rules import missing_topic
from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import InvalidRequestError, KafkaError, UnsupportedVersionError
from cordwood.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from cordwood.protocol.messages.alter_configs import AlterConfigsResource as ReplacedResource
from cordwood.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from cordwood.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from cordwood.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource as AlteredResource,
)
from cordwood.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

_FIRST_WITH_TYPES: Final = 1

R = TypeVar("R", ReplacedResource, AlteredResource)


async def describe_configs(
    broker: Broker, _context: RequestContext, request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    """Tell of settings."""
    return DescribeConfigsResponse(
        results=[_described(broker, resource, request) for resource in request.resources]
    )


async def alter_configs(
    broker: Broker, _context: RequestContext, request: AlterConfigsRequest
) -> AlterConfigsResponse:
    """Give resources these settings and no others."""
    change = partial(_replace, broker, validate_only=request.validate_only)
    return AlterConfigsResponse(responses=await _each_of(request.resources, change))


async def incremental_alter_configs(
    broker: Broker, _context: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """Change single settings of resources."""
    change = partial(_alter, broker, validate_only=request.validate_only)
    return IncrementalAlterConfigsResponse(responses=await _each_of(request.resources, change))


async def list_config_resources(
    broker: Broker, context: RequestContext, request: ListConfigResourcesRequest
) -> ListConfigResourcesResponse:
    """Tell what has settings, by type."""
    known = {*ResourceType}
    asked = {*request.resource_types} or known
    if context.api_version < _FIRST_WITH_TYPES:
        asked = set()
    if not asked <= known:
        return ListConfigResourcesResponse(
            error_code=UnsupportedVersionError.code, config_resources=[]
        )
    brokers = [str(node_id) for node_id in broker.metadata.image.brokers]
    names = {
        ResourceType.TOPIC: [*broker.metadata.image.topics],
        ResourceType.BROKER: brokers,
        ResourceType.BROKER_LOGGER: brokers,
    }
    return ListConfigResourcesResponse(
        error_code=0,
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in names
            if kind in asked
            for name in names[kind]
        ],
    )


# -- telling


def _described(
    broker: Broker, asked: DescribeConfigsResource, request: DescribeConfigsRequest
) -> DescribeConfigsResult:
    error, entries = None, list[ConfigEntry]()
    try:
        entries = _entries(broker, asked)
    except KafkaError as caught:
        error = caught
    return DescribeConfigsResult(
        error_code=code_of(error),
        error_message=words_of(error),
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
        configs=[_told(entry, request) for entry in entries],
    )


def _entries(broker: Broker, asked: DescribeConfigsResource) -> list[ConfigEntry]:
    name, configs = asked.resource_name, broker.configs
    is_topic = asked.resource_type == ResourceType.TOPIC
    if is_topic and name not in broker.metadata.image.topics:
        raise missing_topic(name)
    resource = resource_asked_for(asked.resource_type, name, node_id=configs.node_id)
    names = asked.configuration_keys or None
    if resource.type is ResourceType.BROKER_LOGGER:
        return describe_loggers(names)
    return configs.describe(resource, names)


def _told(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source)
            for each in synonyms
        ],
        config_type=entry.type,
        documentation=entry.documentation if request.include_documentation else None,
    )


# -- changing


async def _each_of(
    resources: Sequence[R], change: Callable[[R], Awaitable[None]]
) -> list[AlterConfigsResourceResponse]:
    """Change each resource, and tell how that went."""
    said = Counter((each.resource_type, each.resource_name) for each in resources)
    responses = []
    for each in resources:
        error: KafkaError | None = None
        try:
            if said[each.resource_type, each.resource_name] > 1:
                raise InvalidRequestError("Each resource must appear at most once.")
            await change(each)
        except KafkaError as caught:
            error = caught
        responses.append(
            AlterConfigsResourceResponse(
                error_code=code_of(error),
                error_message=words_of(error),
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
        )
    return responses


async def _replace(broker: Broker, said: ReplacedResource, *, validate_only: bool) -> None:
    resource = resource_asked_for(
        said.resource_type, said.resource_name, node_id=broker.configs.node_id
    )
    if resource.type is ResourceType.BROKER_LOGGER:
        raise InvalidRequestError(f"Unknown resource type {said.resource_type}")
    given = [(each.name, each.value) for each in said.configs]
    await broker.config_changes.replace(resource, given, validate_only=validate_only)


async def _alter(broker: Broker, said: AlteredResource, *, validate_only: bool) -> None:
    resource = resource_asked_for(
        said.resource_type, said.resource_name, node_id=broker.configs.node_id
    )
    alterations = [_alteration(each) for each in said.configs]
    if resource.type is ResourceType.BROKER_LOGGER:
        check_levels(alterations)
        if not validate_only:
            apply_levels(alterations)
    else:
        await broker.config_changes.alter(resource, alterations, validate_only=validate_only)


def _alteration(config: AlterableConfig) -> Alteration:
    if config.config_operation not in {*Operation}:
        raise InvalidRequestError(f"Unknown operation type {config.config_operation}")
    return Alteration(config.name, Operation(config.config_operation), config.value)
