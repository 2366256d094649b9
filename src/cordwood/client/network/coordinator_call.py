"""Calls to the coordinator of a group or of a transactional id (Java: `CoordinatorStrategy`).

A client keeps the coordinators that it has found, as Java's client does. Any failure of a call
forgets the coordinator, so that a retry finds one that has moved. Retries end with the limit of the
call.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, NamedTuple, TypeAlias, TypeVar

from cordwood.client.network.broker_connection import BrokerConnection
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.response_errors import ensure_success
from cordwood.core.errors import (
    ConcurrentTransactionsError,
    CoordinatorNotAvailableError,
    UnstableOffsetCommitError,
)
from cordwood.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

T = TypeVar("T")

GROUP: Final = 0
TRANSACTION: Final = 1

_BATCHED_SINCE: Final = 4
#: Coordinators that a client keeps; a long-lived admin client calls those of any number of keys.
_MOST_KEPT: Final = 10_000
_TYPES: Final = {GROUP: "group", TRANSACTION: "transactional id"}

#: Answers while a coordinator writes the markers of a transaction, which takes milliseconds.
_MARKERS: Final = (ConcurrentTransactionsError, UnstableOffsetCommitError)
#: Pauses before the answer counts as an error, which is retried with a backoff and a lookup.
_PAUSES_MS: Final = (2, 4, 8, 16, *(20,) * 24)

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
        try:
            return await attempt(await coordinator_connection(client, key))
        except BaseException:  # also a cancelled call: its broker may be down
            client.coordinators.pop(key, None)
            raise

    return await client.retry_until_timeout(
        on_coordinator, timeout_ms=timeout_ms, subject=f"coordinator of {key}"
    )


def while_markers_are_written(
    client: NetworkClient, attempt: CoordinatorAttempt[T]
) -> CoordinatorAttempt[T]:
    """Return an attempt that is repeated soon while the coordinator writes markers."""

    async def patient(connection: BrokerConnection) -> T:
        for pause_ms in _PAUSES_MS:
            try:
                return await attempt(connection)
            except _MARKERS:
                await client.runtime.sleep_ms(pause_ms)
        return await attempt(connection)

    return patient


async def coordinator_connection(client: NetworkClient, key: CoordinatorKey) -> BrokerConnection:
    """Return a connection to the present coordinator, after its throttle time."""
    node_id = await coordinator_of(client, key)
    if node_id not in client.cluster.brokers:
        await client.refresh()
    if node_id not in client.cluster.brokers:  # two brokers may have different metadata
        raise CoordinatorNotAvailableError(
            f"coordinator of {key}: the metadata have no broker {node_id} for now"
        )
    connection = await client.connection(node_id)
    wait_ms = connection.throttled_until_ms - client.runtime.now_ms()
    if wait_ms > 0:
        await client.runtime.sleep_ms(wait_ms)
    return connection


async def coordinator_of(client: NetworkClient, key: CoordinatorKey) -> int:
    """Return the node id of the coordinator, looked up if the client does not have it."""
    known = client.coordinators.get(key)
    if known is not None:
        return known
    if len(client.coordinators) >= _MOST_KEPT:
        client.coordinators.clear()
    found = client.coordinators[key] = await _looked_up(client, key)
    return found


async def _looked_up(client: NetworkClient, key: CoordinatorKey) -> int:
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
