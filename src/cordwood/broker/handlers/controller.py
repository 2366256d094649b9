"""Handlers of the requests that the controller answers.

ElectLeaders, AlterPartitionReassignments and ListPartitionReassignments of clients; AlterPartition,
ControlledShutdown and AllocateProducerIds of brokers, which an embedded broker does not serve. A
broker that is not the controller answers NOT_CONTROLLER; to ControlledShutdown it answers
STALE_CONTROLLER_EPOCH, as Kafka 3.9.
"""

from typing import Final

from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.services import BrokerServices, ControllerRequests
from cordwood.broker.topics.elected_leaders import ElectedLeaders
from cordwood.broker.topics.request_deadline import RequestDeadline
from cordwood.broker.topics.single_broker_controller import (
    check_election_type,
    election_result,
    reassignment_error,
)
from cordwood.core.errors import (
    KafkaError,
    NotControllerError,
    StaleControllerEpochError,
    error_code_of,
    error_message_of,
)
from cordwood.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from cordwood.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
)
from cordwood.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from cordwood.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from cordwood.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from cordwood.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from cordwood.protocol.schema import Request, Response

#: The first version of ElectLeaders with an error of the whole request.
_FIRST_WITH_AN_ERROR: Final = 1


async def elect_leaders(
    broker: BrokerServices, context: RequestContext, request: ElectLeadersRequest
) -> ElectLeadersResponse:
    """Elect the preferred leaders of partitions, or unclean ones.

    A broker of a cluster answers when its image has the leaders, or at the end of the timeout.
    """
    check_election_type(request.election_type)
    if broker.controller is not None:
        deadline = RequestDeadline(broker.clock, broker.scheduler, timeout_ms=request.timeout_ms)
        response = await broker.controller.submit(
            request, ElectLeadersResponse, version=context.api_version
        )
        elected = ElectedLeaders(response, request.election_type)
        await broker.topic_purgatory.wait(
            elected.are_known, deadline, stopping=context.connection.stopping
        )
        elected.time_out(broker.metadata.image)
        return response
    turns, image, kind = LoopTurns(broker.turns), broker.metadata.image, request.election_type
    if request.topic_partitions is None:
        # Partitions that have their leader are left out, but not their topics.
        wanted = [
            (topic, [int(each.partition) for each in image.leaderless.get(topic, ())])
            async for topic in turns.of(image.topics)
        ]
    else:
        wanted = [(each.topic, each.partitions) for each in request.topic_partitions]
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic,
                partition_result=[
                    election_result(image, topic, index=index, election_type=kind)
                    async for index in turns.of(partitions)
                ],
            )
            async for topic, partitions in turns.of(wanted)
        ]
    )


async def alter_partition_reassignments(
    broker: BrokerServices, context: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    """Begin and cancel reassignments."""
    if broker.controller is not None:
        return await broker.controller.submit(
            request, AlterPartitionReassignmentsResponse, version=context.api_version
        )
    turns, image = LoopTurns(broker.turns), broker.metadata.image
    may_change = request.allow_replication_factor_change

    async def result(topic: str, requested: ReassignablePartition) -> ReassignablePartitionResponse:
        replicas = requested.replicas
        target = None if replicas is None else [each async for each in turns.of(replicas)]
        index = requested.partition_index
        error = reassignment_error(
            image, topic, index=index, target=target, may_change_factor=may_change
        )
        return ReassignablePartitionResponse(
            partition_index=index,
            error_code=error_code_of(error),
            error_message=error_message_of(error),
        )

    return AlterPartitionReassignmentsResponse(
        error_code=0,
        error_message=None,
        allow_replication_factor_change=may_change,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    await result(topic.name, each) async for each in turns.of(topic.partitions)
                ],
            )
            async for topic in turns.of(request.topics)
        ],
    )


async def list_partition_reassignments(
    broker: BrokerServices, context: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """Return the reassignments in progress; an embedded broker has none."""
    if broker.controller is not None:
        return await broker.controller.submit(
            request, ListPartitionReassignmentsResponse, version=context.api_version
        )
    return ListPartitionReassignmentsResponse(error_code=0, error_message=None, topics=[])


async def alter_partition(
    broker: BrokerServices, context: RequestContext, request: AlterPartitionRequest
) -> AlterPartitionResponse:
    """Change the in-sync replicas that a leader proposes."""
    version = context.api_version
    return await _controller(broker).submit(request, AlterPartitionResponse, version=version)


async def controlled_shutdown(
    broker: BrokerServices, context: RequestContext, request: ControlledShutdownRequest
) -> ControlledShutdownResponse:
    """Move the leaderships of a broker to others."""
    version = context.api_version
    return await _controller(broker).submit(request, ControlledShutdownResponse, version=version)


async def allocate_producer_ids(
    broker: BrokerServices, _context: RequestContext, request: AllocateProducerIdsRequest
) -> AllocateProducerIdsResponse:
    """Allocate a block of producer ids to a broker."""
    block = await _controller(broker).allocate_producer_ids(
        request.broker_id, broker_epoch=request.broker_epoch
    )
    return AllocateProducerIdsResponse(
        error_code=0, producer_id_start=block.start, producer_id_len=len(block)
    )


def error_response(request: Request, error: KafkaError, *, version: int) -> Response:
    """Return the response that carries the error."""
    code, message = error.code, error_message_of(error)
    if isinstance(request, ElectLeadersRequest):
        return _no_elections(request, error, version=version)
    if isinstance(request, AlterPartitionReassignmentsRequest):
        return AlterPartitionReassignmentsResponse(
            error_code=code, error_message=message, responses=[]
        )
    if isinstance(request, ListPartitionReassignmentsRequest):
        return ListPartitionReassignmentsResponse(error_code=code, error_message=message, topics=[])
    if isinstance(request, AlterPartitionRequest):
        return AlterPartitionResponse(error_code=code, topics=[])
    if isinstance(request, ControlledShutdownRequest):
        is_moved = isinstance(error, NotControllerError)
        return ControlledShutdownResponse(
            error_code=StaleControllerEpochError.code if is_moved else code,
            remaining_partitions=[],
        )
    assert isinstance(request, AllocateProducerIdsRequest), "this module has six APIs"
    return AllocateProducerIdsResponse(error_code=code, producer_id_start=-1, producer_id_len=0)


def _controller(broker: BrokerServices) -> ControllerRequests:
    assert broker.controller is not None, "an embedded broker does not route these APIs"
    return broker.controller


def _no_elections(
    request: ElectLeadersRequest, error: KafkaError, *, version: int
) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        error_code=error.code if version >= _FIRST_WITH_AN_ERROR else 0,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(
                        partition_id=each,
                        error_code=error.code,
                        error_message=error_message_of(error),
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topic_partitions or []
        ],
    )
