"""Shutdown of a broker that leads no partition any more (Kafka: `KafkaServer.controlledShutdown`).

The controller elects other leaders, and answers with the partitions that this broker still leads:
those without another in-sync replica. The request is repeated a few times; then the broker stops,
and these partitions have no leader until it returns.
"""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from cordwood.cluster.channels.broker_channel import BrokerChannel
from cordwood.core.counts import counted
from cordwood.core.errors import KafkaError
from cordwood.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)


class ShutdownSettings(NamedTuple):
    """The settings `controlled.shutdown.…` and `controller.socket.timeout.ms`."""

    retries: int
    backoff_ms: int
    timeout_ms: int


async def shut_down_controlled(
    request: ControlledShutdownRequest,
    settings: ShutdownSettings,
    *,
    controller: Callable[[], BrokerChannel],
    sleep_ms: Callable[[float], Awaitable[None]],
    on_event: Callable[[str], object],
) -> bool:
    """Give up all leaderships; return whether the controller has confirmed that.

    `controller` returns the channel to the present controller, or raises.
    """
    reason = ""
    for left in range(settings.retries, -1, -1):
        try:
            response = await controller().send(
                request, ControlledShutdownResponse, timeout_ms=settings.timeout_ms
            )
        except KafkaError as error:
            reason = str(error)
        else:
            if not response.error_code and not response.remaining_partitions:
                return True
            reason = _reason(response)
        if left:
            on_event(
                f"the controlled shutdown waits for the controller, and is tried again in"
                f" {settings.backoff_ms} ms, at most {counted(left, 'more time')}: {reason}"
            )
            await sleep_ms(settings.backoff_ms)
    on_event(f"the controlled shutdown has failed, and the broker stops all the same: {reason}")
    return False


def _reason(response: ControlledShutdownResponse) -> str:
    if response.error_code:
        return f"the controller answered with error code {response.error_code}"
    names = [f"{each.topic_name}-{each.partition_index}" for each in response.remaining_partitions]
    count = "1 partition" if len(names) == 1 else f"{len(names)} partitions, such as"
    return f"it still leads {count} {names[0]}"
