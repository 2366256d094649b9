"""Requests to one broker: in order, one at a time (Kafka: `RequestSendThread`).

    put ──► waiting ──► sent ──► response ──► answered
                         ▲  └──► error ──► backoff ─┐
                         └───────────────────────────┘

A request is repeated until its response arrives, or the queue is closed. So a broker handles each
request at least once, and never after a later one of the same queue. A queue belongs to one
registration of its broker: requests for another broker epoch are dropped.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from cordwood.client.network.runtime import ClientRuntime
from cordwood.cluster.active_controller.waiting_requests import WaitingRequests
from cordwood.cluster.channels.broker_channel import BrokerChannel
from cordwood.cluster.controller.context.live_broker import LiveBroker
from cordwood.cluster.controller.effects import BrokerRequest
from cordwood.core.errors import CordwoodError
from cordwood.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from cordwood.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from cordwood.protocol.messages.update_metadata import (
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from cordwood.protocol.schema import Request, Response

RETRY_BACKOFF_MS: Final = 100

_RESPONSES: Final[Mapping[type[Request], type[Response]]] = MappingProxyType(
    {
        LeaderAndIsrRequest: LeaderAndIsrResponse,
        StopReplicaRequest: StopReplicaResponse,
        UpdateMetadataRequest: UpdateMetadataResponse,
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class BrokerAnswer:
    """The response of a broker, with its request."""

    broker_id: int
    request: Request
    response: Response

    @property
    def has_flow(self) -> bool:
        """Whether the controller does anything with it."""
        return not isinstance(self.response, UpdateMetadataResponse)


class BrokerRequestQueue:
    """The queue of one registration; `run` is its task."""

    def __init__(
        self,
        broker: LiveBroker,
        channel: BrokerChannel,
        runtime: ClientRuntime,
        *,
        timeout_ms: float,
        answered: Callable[[BrokerAnswer], Awaitable[None]],
        failed: Callable[[Request, Exception], object],
    ) -> None:
        self._broker = broker
        self._channel = channel
        self._runtime = runtime
        self._timeout_ms = timeout_ms
        self._answered = answered
        self._failed = failed
        self._waiting = WaitingRequests()
        self._woken = asyncio.Event()

    def put(self, request: BrokerRequest) -> None:
        """Add a request, unless it is for another registration of the broker."""
        if getattr(request.request, "broker_epoch", None) == self._broker.epoch:
            self._waiting.add(request)
            self._woken.set()

    async def run(self) -> None:
        """Send requests until the task is cancelled."""
        try:
            while True:
                request = await self._next()
                response = await self._response(request)
                await self._answered(
                    BrokerAnswer(self._broker.broker_id, request.request, response)
                )
        finally:
            self._channel.close()

    async def _next(self) -> BrokerRequest:
        while not self._waiting:
            self._woken.clear()
            await self._woken.wait()
        return self._waiting.take()

    async def _response(self, sent: BrokerRequest) -> Response:
        """Send a request until it is answered."""
        kind = _RESPONSES[type(sent.request)]
        while True:
            try:
                return await self._channel.send(
                    sent.request, kind, timeout_ms=self._timeout_ms, most_version=sent.version
                )
            except CordwoodError as error:
                self._failed(sent.request, error)
            await self._runtime.sleep_ms(RETRY_BACKOFF_MS)
