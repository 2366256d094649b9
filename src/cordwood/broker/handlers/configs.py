"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs and ListConfigResources handlers.

Resources are topics, groups, this broker, all brokers (a broker without a name) and the loggers of
the broker. A group need not exist.
Each resource has its own result. All changes of a resource are made, or none. A resource that
occurs twice in a request for changes is rejected.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from cordwood.broker.config.config_alterations import AlterOperation, ConfigAlteration
from cordwood.broker.config.config_resources import CONFIGURED, resource_of_request
from cordwood.broker.config.config_resources import ConfigResource as ConfiguredResource
from cordwood.broker.config.described_configs import DescribedConfig
from cordwood.broker.config.logger_levels import apply_levels, check_levels, describe_loggers
from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.services import BrokerServices
from cordwood.broker.topics.topic_validation import missing_topic
from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import (
    InvalidRequestError,
    KafkaError,
    UnsupportedVersionError,
    error_code_of,
    error_message_of,
)
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

_OPERATIONS: Final = frozenset(AlterOperation)

R = TypeVar("R", ReplacedResource, AlteredResource)


async def describe_configs(
    broker: BrokerServices, _context: RequestContext, request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    """Return the settings of resources, each once."""
    turns, results = LoopTurns(broker.turns), _ConfigResults(request)
    resources = await _unique(request.resources, turns)
    await broker.config_changes.refresh(
        [
            ConfiguredResource(ResourceType(each.resource_type), each.resource_name)
            async for each in turns.of(resources)
            if each.resource_type in CONFIGURED and not _is_missing_topic(broker, each)
        ]
    )
    return DescribeConfigsResponse(
        results=[
            await _described(broker, each, results, turns) async for each in turns.of(resources)
        ]
    )


async def alter_configs(
    broker: BrokerServices, _context: RequestContext, request: AlterConfigsRequest
) -> AlterConfigsResponse:
    """Replace the configurations of resources."""
    change = partial(_replace, broker, validate_only=request.validate_only)
    responses = await _change_each(request.resources, change, LoopTurns(broker.turns))
    return AlterConfigsResponse(responses=responses)


async def incremental_alter_configs(
    broker: BrokerServices, _context: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """Change single settings of resources."""
    change = partial(_alter, broker, validate_only=request.validate_only)
    responses = await _change_each(request.resources, change, LoopTurns(broker.turns))
    return IncrementalAlterConfigsResponse(responses=responses)


async def list_config_resources(
    broker: BrokerServices, context: RequestContext, request: ListConfigResourcesRequest
) -> ListConfigResourcesResponse:
    """Return the names of resources, by type."""
    known = {*ResourceType}
    requested = {*request.resource_types} or known
    if context.api_version < _FIRST_WITH_TYPES:
        # Version 0 lists client metrics alone, which do not exist here.
        requested = set()
    if not requested <= known:
        return ListConfigResourcesResponse(
            error_code=UnsupportedVersionError.code, config_resources=[]
        )
    turns = LoopTurns(broker.turns)
    brokers = [str(node_id) for node_id in broker.metadata.image.brokers]
    # In Kafka's order.
    names = {
        ResourceType.GROUP: broker.configs.groups(),
        ResourceType.BROKER_LOGGER: brokers,
        ResourceType.BROKER: brokers,
        ResourceType.TOPIC: [*broker.metadata.image.topics],
    }
    return ListConfigResourcesResponse(
        error_code=0,
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in names
            if kind in requested
            async for name in turns.of(names[kind])
        ],
    )


# -- descriptions


async def _unique(
    resources: Sequence[DescribeConfigsResource], turns: LoopTurns
) -> Sequence[DescribeConfigsResource]:
    """Return each resource once, with the keys of all its occurrences: all keys if one has none."""
    found: dict[tuple[int, str], DescribeConfigsResource] = {}
    async for each in turns.of(resources):
        first = found.setdefault((each.resource_type, each.resource_name), each)
        if first is each or not first.configuration_keys:
            continue
        if each.configuration_keys:
            first.configuration_keys += each.configuration_keys
        else:
            first.configuration_keys = None
    return [*found.values()]


async def _described(
    broker: BrokerServices,
    requested: DescribeConfigsResource,
    results: "_ConfigResults",
    turns: LoopTurns,
) -> DescribeConfigsResult:
    error, entries = None, list[DescribedConfig]()
    try:
        entries = _entries(broker, requested)
    except KafkaError as caught:
        error = caught.with_traceback(None)  # its frame refers to the error
    return DescribeConfigsResult(
        error_code=error_code_of(error),
        # Kafka has an empty message here, and null in the responses to changes.
        error_message="" if error is None else error_message_of(error),
        resource_type=requested.resource_type,
        resource_name=requested.resource_name,
        configs=[results.of(entry) async for entry in turns.of(entries)],
    )


def _entries(broker: BrokerServices, requested: DescribeConfigsResource) -> list[DescribedConfig]:
    name, configs = requested.resource_name, broker.configs
    if _is_missing_topic(broker, requested):
        raise missing_topic(name)
    if requested.resource_type == ResourceType.GROUP and not name:
        raise InvalidRequestError("Group name must not be empty")
    resource = resource_of_request(requested.resource_type, name, node_id=configs.node_id)
    names = requested.configuration_keys or None
    if resource.type is ResourceType.BROKER_LOGGER:
        return describe_loggers(names)
    return configs.describe(resource, names)


def _is_missing_topic(broker: BrokerServices, requested: DescribeConfigsResource) -> bool:
    is_topic = requested.resource_type == ResourceType.TOPIC
    return is_topic and requested.resource_name not in broker.metadata.image.topics


class _ConfigResults:
    """The results of the entries of one response.

    Topics share the entries of the settings that they do not have. Without a shared result too,
    a request of 10 KB would make 50,000 objects. The interpreter does not return their memory
    while other objects of the time stay between them.
    """

    def __init__(self, request: DescribeConfigsRequest) -> None:
        self._request = request
        self._known: dict[int, tuple[DescribedConfig, DescribeConfigsResourceResult]] = {}

    def of(self, entry: DescribedConfig) -> DescribeConfigsResourceResult:
        """Return the result of an entry, the same one for the same entry."""
        known = self._known.get(id(entry))  # the entry is kept, so that its id stays its own
        if known is None:
            known = self._known[id(entry)] = entry, _config_result(entry, self._request)
        return known[1]


def _config_result(
    entry: DescribedConfig, request: DescribeConfigsRequest
) -> DescribeConfigsResourceResult:
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


# -- changes


async def _change_each(
    resources: Sequence[R], change: Callable[[R], Awaitable[None]], turns: LoopTurns
) -> list[AlterConfigsResourceResponse]:
    """Change each resource and return its result."""
    counts = Counter[tuple[int, str]]()
    async for each in turns.of(resources):
        counts[each.resource_type, each.resource_name] += 1
    responses = []
    async for each in turns.of(resources):
        error: KafkaError | None = None
        try:
            if counts[each.resource_type, each.resource_name] > 1:
                raise InvalidRequestError("Each resource must appear at most once.")
            await change(each)
        except KafkaError as caught:
            error = caught.with_traceback(None)  # its frame refers to the error
        responses.append(
            AlterConfigsResourceResponse(
                error_code=error_code_of(error),
                error_message=error_message_of(error),
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
        )
    return responses


async def _replace(
    broker: BrokerServices, requested: ReplacedResource, *, validate_only: bool
) -> None:
    resource = resource_of_request(
        requested.resource_type, requested.resource_name, node_id=broker.configs.node_id
    )
    if resource.type is ResourceType.BROKER_LOGGER:
        raise InvalidRequestError(f"Unknown resource type {requested.resource_type}")
    turns = LoopTurns(broker.turns)
    given = [(each.name, each.value) async for each in turns.of(requested.configs)]
    await broker.config_changes.replace(resource, given, validate_only=validate_only)


async def _alter(
    broker: BrokerServices, requested: AlteredResource, *, validate_only: bool
) -> None:
    resource = resource_of_request(
        requested.resource_type, requested.resource_name, node_id=broker.configs.node_id
    )
    turns = LoopTurns(broker.turns)
    alterations = [_alteration(each) async for each in turns.of(requested.configs)]
    if resource.type is ResourceType.BROKER_LOGGER:
        check_levels(alterations)
        if not validate_only:
            apply_levels(alterations)
    else:
        await broker.config_changes.alter(resource, alterations, validate_only=validate_only)


def _alteration(config: AlterableConfig) -> ConfigAlteration:
    if config.config_operation not in _OPERATIONS:
        raise InvalidRequestError(f"Unknown operation type {config.config_operation}")
    return ConfigAlteration(config.name, AlterOperation(config.config_operation), config.value)
