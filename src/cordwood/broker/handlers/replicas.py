"""Handlers of the controller's requests to a broker of a cluster.

LeaderAndIsr, StopReplica and UpdateMetadata. An embedded broker does not serve them. Topics have
ids, as in the requests of Kafka 2.8 and later; earlier versions are refused.
"""

from typing import Final

from cordwood.broker.membership.replica_requests import ReplicaRequests
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.services import BrokerServices
from cordwood.core.errors import KafkaError, UnsupportedVersionError
from cordwood.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from cordwood.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from cordwood.protocol.messages.update_metadata import (
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from cordwood.protocol.schema import Request, Response

#: The first versions with topic ids, and of StopReplica that of the same releases.
_FIRST_VERSIONS: Final = {LeaderAndIsrRequest: 5, StopReplicaRequest: 3, UpdateMetadataRequest: 7}


async def leader_and_isr(
    broker: BrokerServices,
    context: RequestContext,
    request: LeaderAndIsrRequest,
) -> LeaderAndIsrResponse:
    """Take the roles of replicas."""
    return await _replicas(broker, context, request).leader_and_isr(
        request, connection_id=context.connection.id
    )


async def stop_replica(
    broker: BrokerServices,
    context: RequestContext,
    request: StopReplicaRequest,
) -> StopReplicaResponse:
    """Stop replicas, and delete their logs if set."""
    return await _replicas(broker, context, request).stop_replica(
        request, connection_id=context.connection.id
    )


async def update_metadata(
    broker: BrokerServices,
    context: RequestContext,
    request: UpdateMetadataRequest,
) -> UpdateMetadataResponse:
    """Publish the next image."""
    return await _replicas(broker, context, request).update_metadata(
        request, connection_id=context.connection.id
    )


def error_response(
    request: Request,
    error: KafkaError,
    *,
    version: int,  # noqa: ARG001 - as dispatch calls it
) -> Response:
    """Return the response that carries the error for the whole request."""
    if isinstance(request, LeaderAndIsrRequest):
        return LeaderAndIsrResponse(error_code=error.code)
    if isinstance(request, StopReplicaRequest):
        return StopReplicaResponse(error_code=error.code, partition_errors=[])
    assert isinstance(request, UpdateMetadataRequest), "this module has three APIs"
    return UpdateMetadataResponse(error_code=error.code)


def _replicas(broker: BrokerServices, context: RequestContext, request: Request) -> ReplicaRequests:
    """Return the receiver of a request; UnsupportedVersionError for an earlier version."""
    assert broker.replicas is not None, "an embedded broker does not route these APIs"
    first = _FIRST_VERSIONS[type(request)]
    if context.api_version < first:
        raise UnsupportedVersionError(
            f"{type(request).__name__} of version {context.api_version} has no topic ids; the "
            f"controller has to be of Kafka 2.8 or later, with version {first}"
        )
    return broker.replicas
