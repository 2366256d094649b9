"""Calls to the coordinator of a group or of a transactional id (Java: `CoordinatorStrategy`).

Each attempt looks the coordinator up, so that a retry finds one that has moved. Retries end with
the limit of the call.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, NamedTuple, TypeAlias, TypeVar

from cordwood.client.network.broker_connection import BrokerConnection
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.response_errors import ensure_success
from cordwood.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

T = TypeVar("T")

GROUP: Final = 0
TRANSACTION: Final = 1

_BATCHED_SINCE: Final = 4
_TYPES: Final = {GROUP: "group", TRANSACTION: "transactional id"}

CoordinatorAttempt: TypeAlias = Callable[[BrokerConnection], Awaitable[T]]


class CoordinatorKey(NamedTuple):
    """A group or a transactional id, of which one broker is the coordinator."""

    key_type: int
    name: str

    def __str__(self) -> str:
        return f"{_TYPES[self.key_type]} {self.name!r}"


async def call_coordinator(  # tidy: allow[positional] as retry_until_timeout, with client and key
    client: NetworkClient,
    key: CoordinatorKey,
    attempt: CoordinatorAttempt[T],
    *,
    timeout_ms: float | None = None,
) -> T:
    """Run an attempt on a connection to the coordinator; retry it while its error is retriable."""

    async def on_coordinator() -> T:
        return await attempt(await coordinator_connection(client, key))

    return await client.retry_until_timeout(
        on_coordinator, timeout_ms=timeout_ms, subject=f"coordinator of {key}"
    )


async def coordinator_connection(client: NetworkClient, key: CoordinatorKey) -> BrokerConnection:
    """Return a connection to the present coordinator, after its throttle time."""
    node_id = await coordinator_of(client, key)
    if node_id not in client.cluster.brokers:
        await client.refresh()
    connection = await client.connection(node_id)
    wait_ms = connection.throttled_until_ms - client.runtime.now_ms()
    if wait_ms > 0:
        await client.runtime.sleep_ms(wait_ms)
    return connection


async def coordinator_of(client: NetworkClient, key: CoordinatorKey) -> int:
    """Return the node id of the present coordinator."""
    response = await client.send_built_to_any(partial(_request, key), FindCoordinatorResponse)
    subject = f"coordinator of {key}"
    if response.coordinators:
        (found,) = response.coordinators
        ensure_success(found.error_code, subject=subject, message=found.error_message)
        return found.node_id
    ensure_success(response.error_code, subject=subject, message=response.error_message)
    return response.node_id


def _request(key: CoordinatorKey, connection: BrokerConnection) -> FindCoordinatorRequest:
    if connection.version_of(FindCoordinatorRequest) < _BATCHED_SINCE:
        return FindCoordinatorRequest(key=key.name, key_type=key.key_type)
    return FindCoordinatorRequest(key_type=key.key_type, coordinator_keys=[key.name])
