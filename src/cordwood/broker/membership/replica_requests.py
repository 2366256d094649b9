"""Requests of the controller to this broker: roles, stopped replicas, metadata.

A request of an earlier controller, or for an earlier registration of this broker, is rejected. So
requests wait for the registration. The controller repeats them for the process before this one: its
roles are outdated, and a leader with an outdated ISR would lose records. An image is computed on
the worker if the request has many partitions.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from cordwood.broker.membership.controller_fence import ControllerFence
from cordwood.broker.membership.metadata_updates import updated
from cordwood.broker.membership.replica_roles import ReplicaRoles
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import ClusterImage
from cordwood.broker.pending_results import wait_for
from cordwood.core.ports import Lane, Worker
from cordwood.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from cordwood.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from cordwood.protocol.messages.update_metadata import (
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)

#: The partitions of an update that takes less than 1 ms.
SMALL_UPDATE: Final = 300


class ReplicaRequests:
    """The requests that the controller sends to one broker; `registered` waits until it is that."""

    def __init__(
        self,
        fence: ControllerFence,
        roles: ReplicaRoles,
        metadata: MetadataCache,
        *,
        registered: Callable[[], Awaitable[object]],
        worker: Worker,
    ) -> None:
        self._fence = fence
        self._roles = roles
        self._metadata = metadata
        self._registered = registered
        self._worker = worker
        self._updating = asyncio.Lock()

    async def leader_and_isr(
        self, request: LeaderAndIsrRequest, *, connection_id: int
    ) -> LeaderAndIsrResponse:
        """Take the roles of replicas."""
        await self._registered()
        return await self._roles.assign(request, connection_id=connection_id)

    async def stop_replica(
        self, request: StopReplicaRequest, *, connection_id: int
    ) -> StopReplicaResponse:
        """Stop replicas, and delete their logs if set."""
        await self._registered()
        return await self._roles.stop(request, connection_id=connection_id)

    async def update_metadata(
        self, request: UpdateMetadataRequest, *, connection_id: int
    ) -> UpdateMetadataResponse:
        """Publish the next image; InvalidRequestError for one that no cluster can have."""
        await self._registered()
        origin = {
            "controller_epoch": request.controller_epoch,
            "broker_epoch": request.broker_epoch,
            "connection_id": connection_id,
        }
        async with self._updating:
            self._fence.ensure_current(**origin)
            image = await self._next_image(request)
            # A later request may have come through another connection meanwhile.
            self._fence.admit(**origin)
            self._metadata.publish(image)
        return UpdateMetadataResponse(error_code=0)

    async def _next_image(self, request: UpdateMetadataRequest) -> ClusterImage:
        count = sum(len(each.partition_states) for each in request.topic_states)
        if count <= SMALL_UPDATE:
            return updated(self._metadata.image, request)
        while True:
            # The broker itself publishes another controller.
            before = self._metadata.image
            call = partial(updated, before, request)
            image = await wait_for(self._worker.submit(call, lane=Lane.COMPUTE))
            if self._metadata.image is before:
                return image
