"""Queues of requests to the registered brokers (Kafka: `ControllerChannelManager`).

A queue is a task with a channel, so a slow broker delays no other one. The manager belongs to one
role of the controller, and ends with it: a request of a former controller is not repeated.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from cordwood.client.network.owned_tasks import OwnedTasks
from cordwood.client.network.runtime import ClientRuntime
from cordwood.cluster.active_controller.broker_request_queue import (
    BrokerAnswer,
    BrokerRequestQueue,
)
from cordwood.cluster.active_controller.controller_host import ControllerReport, RequestFailed
from cordwood.cluster.active_controller.controller_settings import ActiveControllerSettings
from cordwood.cluster.channels.broker_channel import BrokerChannels
from cordwood.cluster.controller.context.live_broker import LiveBroker
from cordwood.cluster.controller.effects import BrokerRequest
from cordwood.core.address import Address
from cordwood.protocol.schema import Request


class ControllerChannelManager:
    """The queues of the brokers that are registered at present."""

    def __init__(
        self,
        settings: ActiveControllerSettings,
        channels: BrokerChannels,
        runtime: ClientRuntime,
        *,
        answered: Callable[[BrokerAnswer], Awaitable[None]],
        report: Callable[[ControllerReport], object],
    ) -> None:
        self._settings = settings
        self._channels = channels
        self._runtime = runtime
        self._answered = answered
        self._report = report
        self._tasks = OwnedTasks()
        self._queues = dict[int, tuple[BrokerRequestQueue, asyncio.Task[None]]]()

    def connect(self, brokers: Iterable[LiveBroker]) -> None:
        """Open the queues of brokers; each opens its connection with its first request."""
        for broker in brokers:
            listener = self._settings.decisions.inter_broker_listener
            endpoint = broker.endpoint(listener)
            if endpoint is None:
                reason = f"the broker has no listener {listener}"
                self._report(RequestFailed(broker.broker_id, "all", reason))
                continue
            queue = BrokerRequestQueue(
                broker,
                self._channels.open(
                    Address(endpoint.host, endpoint.port), client_id=str(self._settings.broker_id)
                ),
                self._runtime,
                timeout_ms=self._settings.request_timeout_ms,
                answered=self._answered,
                failed=self._reporter(broker.broker_id),
            )
            self._queues[broker.broker_id] = queue, self._tasks.start(queue.run())

    async def disconnect(self, broker_ids: Iterable[int]) -> None:
        """Close the queues of brokers, with the requests that wait in them."""
        closed = [found for each in broker_ids if (found := self._queues.pop(each, None))]
        for _, task in closed:
            task.cancel()
        await asyncio.gather(*(task for _, task in closed), return_exceptions=True)

    def send(self, requests: Iterable[BrokerRequest]) -> None:
        """Add requests to the queues of their brokers; without a queue, report them."""
        for each in requests:
            found = self._queues.get(each.broker_id)
            if found is not None:
                found[0].put(each)
            else:
                self._reporter(each.broker_id)(each.request, "the broker is not connected")

    async def close(self) -> None:
        """Close all queues, and return when their tasks have ended."""
        self._queues.clear()
        await self._tasks.close()

    def _reporter(self, broker_id: int) -> Callable[[Request, object], None]:
        def report(request: Request, reason: object) -> None:
            name = type(request).__name__.removesuffix("Request")
            self._report(RequestFailed(broker_id, name, str(reason)))

        return report
