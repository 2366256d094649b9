"""Connection to the coordinator of a group (Java: `CoordinatorRequestManager`).

The coordinator has a connection of its own: a broker answers each connection in order, and a
heartbeat must not wait behind a fetch. After NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE or a lost
connection it is looked up again.
"""

import asyncio
from typing import Final, TypeVar

from cordwood.client.network.broker_connection import BrokerConnection
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.response_errors import ensure_success
from cordwood.core.address import Address
from cordwood.core.errors import (
    BytesError,
    CoordinatorNotAvailableError,
    KafkaError,
    NetworkError,
    NotCoordinatorError,
    RequestTimedOutError,
)
from cordwood.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from cordwood.protocol.schema import Request, Response

R = TypeVar("R", bound=Response)

GROUP_KEY: Final = 0

_BATCHED_SINCE: Final = 4
_LOST: Final = (
    CoordinatorNotAvailableError,
    NotCoordinatorError,
    NetworkError,
    RequestTimedOutError,
)


class GroupCoordinator:
    """The coordinator of one group, found when it is needed."""

    def __init__(self, client: NetworkClient, group_id: str) -> None:
        self._client = client
        self._group_id = group_id
        self._connection: BrokerConnection | None = None
        self._connecting: asyncio.Task[BrokerConnection] | None = None

    async def connection(self) -> BrokerConnection:
        """Return the connection; concurrent callers share one lookup."""
        if self._connection is not None and self._connection.is_usable:
            return self._connection
        if self._connecting is None:
            self._connecting = self._client.tasks.start(self._connect())
            self._connecting.add_done_callback(self._connected)
        return await asyncio.shield(self._connecting)

    async def send(self, request: Request, kind: type[R], *, timeout_ms: float | None = None) -> R:
        """Send a request; the error of a lost coordinator causes the next lookup."""
        connection = await self.connection()
        try:
            return await connection.send(request, kind, timeout_ms=timeout_ms)
        except KafkaError as error:
            self.handle_error(error, connection)
            raise

    def handle_error(self, error: KafkaError, connection: BrokerConnection | None = None) -> None:
        """Look the coordinator up again if the error means that it has moved or is gone."""
        if isinstance(error, _LOST) and connection in {None, self._connection}:
            self.disconnect()

    def disconnect(self) -> None:
        """Close the connection; a request that the broker holds back does not block the next."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connected(self, task: asyncio.Task[BrokerConnection]) -> None:
        self._connecting = None
        if not task.cancelled():
            task.exception()  # marks it retrieved: the caller may be gone

    async def _connect(self) -> BrokerConnection:
        address = await self._find()
        try:
            made = await self._client.open_connection(address)
        except BytesError as error:
            raise NetworkError(str(error)) from error
        self._connection = made
        return made

    async def _find(self) -> Address:
        subject = f"coordinator of group {self._group_id!r}"
        response = await self._client.send_built_to_any(self._request, FindCoordinatorResponse)
        if response.coordinators:
            (found,) = response.coordinators
            ensure_success(found.error_code, subject=subject, message=found.error_message)
            return Address(found.host, found.port)
        ensure_success(response.error_code, subject=subject, message=response.error_message)
        return Address(response.host, response.port)

    def _request(self, connection: BrokerConnection) -> FindCoordinatorRequest:
        if connection.version_of(FindCoordinatorRequest) < _BATCHED_SINCE:
            return FindCoordinatorRequest(key=self._group_id)
        return FindCoordinatorRequest(key_type=GROUP_KEY, coordinator_keys=[self._group_id])
