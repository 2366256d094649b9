"""Events of the controller, and the flow of each (Kafka: `ControllerEvent`, `process`).

changes in the store    from the stream of the metadata
answers                 responses of brokers to LeaderAndIsr and StopReplica
submissions             requests of brokers and of administrators
the rest                the timer of the rebalance, a changed configuration, a resignation
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from cordwood.cluster.active_controller.broker_request_queue import BrokerAnswer
from cordwood.cluster.controller.broker_changes import (
    broker_modified,
    brokers_changed,
    leader_and_isr_answered,
    log_directories_failed,
)
from cordwood.cluster.controller.context.cluster_context import ClusterContext
from cordwood.cluster.controller.effects import Flow
from cordwood.cluster.controller.requests.controlled_shutdown import shut_down_broker
from cordwood.cluster.controller.requests.elections import (
    elect_leaders,
    elect_requested_leaders,
    rebalance_leaders,
    unclean_elections_enabled,
)
from cordwood.cluster.controller.requests.in_sync_updates import (
    alter_partition,
    in_sync_sets_changed,
)
from cordwood.cluster.controller.requests.producer_id_blocks import allocate_producer_ids
from cordwood.cluster.controller.requests.reassignment_requests import (
    alter_reassignments,
    list_reassignments,
    start_requested_reassignments,
)
from cordwood.cluster.controller.topic_changes import partitions_changed, topics_changed
from cordwood.cluster.controller.topic_deletions import (
    deletions_requested,
    stop_replica_answered,
)
from cordwood.cluster.zookeeper.store.metadata_event import (
    BrokerModified,
    BrokersChanged,
    DeletionsRequested,
    ElectionsRequested,
    IsrChangesNotified,
    LogDirFailuresNotified,
    MetadataEvent,
    PartitionsChanged,
    ReassignmentsRequested,
    TopicsChanged,
)
from cordwood.core.errors import KafkaError
from cordwood.protocol.messages.alter_partition import AlterPartitionRequest
from cordwood.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
)
from cordwood.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from cordwood.protocol.messages.elect_leaders import ElectLeadersRequest
from cordwood.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from cordwood.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)
from cordwood.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from cordwood.protocol.schema import Response

if TYPE_CHECKING:
    import asyncio


@dataclass(frozen=True, slots=True)
class ProducerIdsWanted:
    """A request for a block of producer ids, of a broker with this epoch."""

    broker_id: int
    broker_epoch: int


ControllerRequest: TypeAlias = (
    AlterPartitionRequest
    | ControlledShutdownRequest
    | ElectLeadersRequest
    | AlterPartitionReassignmentsRequest
    | ListPartitionReassignmentsRequest
    | ProducerIdsWanted
)


@dataclass(frozen=True, slots=True, eq=False)
class Submission:
    """A request in its version, and the response that its caller awaits."""

    request: ControllerRequest
    version: int
    response: "asyncio.Future[Response | range]"

    def respond(self, response: Response | range | KafkaError) -> None:
        """Return a response, or raise an error, unless there is one or the caller is gone."""
        if self.response.done():
            return
        if isinstance(response, KafkaError):
            self.response.set_exception(response)
        else:
            self.response.set_result(response)


@dataclass(frozen=True, slots=True)
class RebalanceDue:
    """The leaders are to be compared with the preferred ones."""


@dataclass(frozen=True, slots=True)
class UncleanElectionsEnabled:
    """Unclean elections were enabled for a topic, or without one by default."""

    topic: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Resignation:
    """This broker is to resign; the future is done once it has."""

    done: "asyncio.Future[None]"


ControllerEvent: TypeAlias = (
    MetadataEvent | BrokerAnswer | Submission | RebalanceDue | UncleanElectionsEnabled | Resignation
)


def flow_of(context: ClusterContext, event: ControllerEvent) -> Flow[object] | None:
    """Return the flow of an event, None if it has none."""
    if isinstance(event, Submission):
        return _REQUEST_FLOWS[type(event.request)](context, event.request, event.version)
    if isinstance(event, BrokerAnswer):
        return _answer_flow(context, event)
    flow = _FLOWS.get(type(event))
    return None if flow is None else flow(context, event)


def _answer_flow(context: ClusterContext, answer: BrokerAnswer) -> Flow[None] | None:
    response = answer.response
    if isinstance(response, LeaderAndIsrResponse):
        return leader_and_isr_answered(context, answer.broker_id, response=response)
    if isinstance(response, StopReplicaResponse):
        request = answer.request
        assert isinstance(request, StopReplicaRequest), "a response belongs to its request"
        return stop_replica_answered(context, answer.broker_id, request=request, response=response)
    return None


_FLOWS: Final[Mapping[type, Callable[..., Flow[object]]]] = MappingProxyType(
    {
        BrokersChanged: lambda context, _: brokers_changed(context),
        BrokerModified: lambda context, event: broker_modified(context, event.broker),
        TopicsChanged: lambda context, _: topics_changed(context),
        PartitionsChanged: lambda context, event: partitions_changed(context, event.topic),
        DeletionsRequested: lambda context, _: deletions_requested(context),
        ReassignmentsRequested: lambda context, _: start_requested_reassignments(context),
        ElectionsRequested: lambda context, _: elect_requested_leaders(context),
        IsrChangesNotified: lambda context, event: in_sync_sets_changed(context, event.partitions),
        LogDirFailuresNotified: lambda context, event: log_directories_failed(
            context, event.broker_ids
        ),
        RebalanceDue: lambda context, _: rebalance_leaders(context),
        UncleanElectionsEnabled: lambda context, event: unclean_elections_enabled(
            context, event.topic
        ),
    }
)

_REQUEST_FLOWS: Final[Mapping[type, Callable[..., Flow[None]]]] = MappingProxyType(
    {
        AlterPartitionRequest: lambda context, request, version: alter_partition(
            context, request, version=version
        ),
        ControlledShutdownRequest: lambda context, request, _: shut_down_broker(context, request),
        ElectLeadersRequest: lambda context, request, _: elect_leaders(context, request),
        AlterPartitionReassignmentsRequest: lambda context, request, _: alter_reassignments(
            context, request
        ),
        ListPartitionReassignmentsRequest: lambda context, request, _: list_reassignments(
            context, request
        ),
        ProducerIdsWanted: lambda context, request, _: allocate_producer_ids(
            context, request.broker_id, broker_epoch=request.broker_epoch
        ),
    }
)
