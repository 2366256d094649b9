"""The time between a decision of Kafka's controller and its broker's knowledge of it.

An answer of the admin API means that the controller has decided. The broker replays the decisions
in their order, some milliseconds later, or hundreds of them on a busy machine. Until then it
describes what was before.
"""

from typing import Final

from cordwood.broker.config.config_alterations import AlterOperation
from cordwood.core.config_codes import ResourceType
from cordwood.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from cordwood.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from tests.interop.kafka_harness.patience import wait_for_result
from tests.interop.kafka_harness.wire import Connection

_NAME: Final = "metadata-lag"
_SETTING: Final = "consumer.session.timeout.ms"
_VALUE: Final = "45001"
_DYNAMIC_GROUP_CONFIG: Final = 8


def await_metadata(bootstrap: str) -> None:
    """Wait until a broker of Kafka 4 has replayed everything that its controller has decided.

    The setting of a group is set and removed. A broker that describes that has replayed all before.
    """
    with Connection(bootstrap) as connection:
        for operation, is_set in ((AlterOperation.SET, True), (AlterOperation.DELETE, False)):
            _alter(connection, operation)
            wait_for_result(lambda: _is_set(connection), is_set)


def _alter(connection: Connection, operation: AlterOperation) -> None:
    value = _VALUE if operation is AlterOperation.SET else None
    change = AlterableConfig(name=_SETTING, config_operation=operation, value=value)
    resource = AlterConfigsResource(
        resource_type=ResourceType.GROUP, resource_name=_NAME, configs=[change]
    )
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    answer = connection.ask(request, 1, answer=IncrementalAlterConfigsResponse)
    assert [each.error_code for each in answer.responses] == [0]


def _is_set(connection: Connection) -> bool:
    resource = DescribeConfigsResource(
        resource_type=ResourceType.GROUP, resource_name=_NAME, configuration_keys=[_SETTING]
    )
    answer = connection.ask(
        DescribeConfigsRequest(resources=[resource]), 4, answer=DescribeConfigsResponse
    )
    ((found,),) = ([*each.configs] for each in answer.results)
    return found.config_source == _DYNAMIC_GROUP_CONFIG
