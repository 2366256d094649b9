"""Requests of the controller to this broker: roles, stopped replicas, metadata.

A request of an earlier controller, or for an earlier registration of this broker, is rejected.
"""

from cordwood.broker.membership.controller_fence import ControllerFence
from cordwood.broker.membership.metadata_updates import updated
from cordwood.broker.membership.replica_roles import ReplicaRoles
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from cordwood.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from cordwood.protocol.messages.update_metadata import (
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)


class ReplicaRequests:
    """The requests that the controller sends to one broker."""

    def __init__(
        self, fence: ControllerFence, roles: ReplicaRoles, metadata: MetadataCache
    ) -> None:
        self._fence = fence
        self._roles = roles
        self._metadata = metadata

    async def leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        """Take the roles of replicas."""
        return await self._roles.assign(request)

    async def stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse:
        """Stop replicas, and delete their logs if set."""
        return await self._roles.stop(request)

    def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Publish the next image."""
        self._fence.admit(
            controller_epoch=request.controller_epoch, broker_epoch=request.broker_epoch
        )
        self._metadata.publish(updated(self._metadata.image, request))
        return UpdateMetadataResponse(error_code=0)
