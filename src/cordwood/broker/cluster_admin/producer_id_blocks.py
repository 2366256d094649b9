"""Blocks of producer ids from the controller (Kafka: `RPCProducerIdManager`).

A response may be lost. Then the block is lost too: the next request gets a later one, since the
controller has stored it for this broker. So no id is used twice. Blocks of one broker are always
later ones; a block that is not, is rejected.

The controller may move, or this broker may register again, while a request is on its way. These
errors are retried after a backoff, for a limited time: a producer that waits gets
COORDINATOR_LOAD_IN_PROGRESS then, with which clients repeat their request.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from cordwood.core.errors import (
    BrokerIdNotRegisteredError,
    BrokerNotAvailableError,
    CoordinatorLoadInProgressError,
    NetworkError,
    NotControllerError,
    RequestTimedOutError,
    StaleBrokerEpochError,
    UnknownServerError,
    error_from_code,
)
from cordwood.core.ports import Clock, Scheduler
from cordwood.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)

SendToController: TypeAlias = Callable[
    [AllocateProducerIdsRequest], Awaitable[AllocateProducerIdsResponse]
]
"""Sends a request to the controller; raises NotControllerError if there is none."""

#: The pause after a failed request, as in Kafka.
BACKOFF_MS: Final = 50
#: The time in which a failed request is retried. A producer waits for all producers before it.
RETRIED_MS: Final = 1_000
_RETRIED: Final = (
    BrokerIdNotRegisteredError,
    BrokerNotAvailableError,
    NetworkError,
    NotControllerError,
    RequestTimedOutError,
    StaleBrokerEpochError,
)


class ProducerIdBlocks:
    """The blocks of one broker, whose present epoch `broker_epoch` returns."""

    def __init__(
        self,
        send: SendToController,
        *,
        broker_id: int,
        broker_epoch: Callable[[], int],
        clock: Clock,
        scheduler: Scheduler,
    ) -> None:
        self._send = send
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._clock = clock
        self._scheduler = scheduler
        self._next = 0

    async def allocate(self) -> range:
        """Return a block that was never returned before."""
        end_ms = self._clock.monotonic_ms() + RETRIED_MS
        while True:
            try:
                return await self._request()
            except _RETRIED as error:
                if self._clock.monotonic_ms() >= end_ms:
                    raise CoordinatorLoadInProgressError(
                        f"the controller has allocated no producer ids yet: {error}"
                    ) from error
            await self._pause()

    async def _request(self) -> range:
        request = AllocateProducerIdsRequest(
            broker_id=self._broker_id, broker_epoch=self._broker_epoch()
        )
        response = await self._send(request)
        if response.error_code:
            raise error_from_code(response.error_code)
        first, count = response.producer_id_start, response.producer_id_len
        if first < self._next or count < 1:
            raise UnknownServerError(
                f"the controller has allocated {count} producer ids from {first}, but the next"
                f" block begins at {self._next} or later"
            )
        self._next = first + count
        return range(first, self._next)

    async def _pause(self) -> None:
        over = asyncio.Event()
        due_ms = self._clock.monotonic_ms() + BACKOFF_MS
        timer = self._scheduler.call_at(due_ms, over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()
