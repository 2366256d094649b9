"""Channels over TCP or TLS, each with one connection of the client (Kafka: `BrokerBlockingSender`).

Requests that are sent while the connection opens wait for it, in their order.
"""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from cordwood.client.network.broker_connection import BrokerConnection
from cordwood.client.network.runtime import ClientRuntime
from cordwood.client.settings import ClientSettings
from cordwood.core.address import Address
from cordwood.core.errors import NetworkError
from cordwood.protocol.schema import NEWEST, Request, Response

R = TypeVar("R", bound=Response)


class ConnectedChannels:
    """Channels that one broker opens; `tls` returns the present context, None for plain TCP."""

    def __init__(
        self,
        settings: ClientSettings,
        runtime: ClientRuntime,
        *,
        tls: Callable[[], ssl.SSLContext | None] = lambda: None,
    ) -> None:
        self._settings = settings
        self._runtime = runtime
        self._tls = tls

    def open(self, address: Address, *, client_id: str) -> "ConnectedChannel":
        """Return a channel without a connection; the caller closes it."""
        settings = replace(self._settings, client_id=client_id)
        return ConnectedChannel(address, settings, self._runtime, tls=self._tls)


class ConnectedChannel:
    """The connection to one broker, opened again after each failure."""

    def __init__(
        self,
        address: Address,
        settings: ClientSettings,
        runtime: ClientRuntime,
        *,
        tls: Callable[[], ssl.SSLContext | None],
    ) -> None:
        self.address: Final = address
        self._settings = settings
        self._runtime = runtime
        self._tls = tls
        self._connection: BrokerConnection | None = None
        self._opening = asyncio.Lock()
        self._is_closed = False

    async def send(
        self, request: Request, kind: type[R], *, timeout_ms: float, most_version: int = NEWEST
    ) -> R:
        """Send a request over the connection, which opens if there is none."""
        async with self._opening:
            connection = await self._connected(timeout_ms)
            response = connection.send(
                request, kind, timeout_ms=timeout_ms, most_version=most_version
            )
        return await response

    async def version(self, kind: type[Request], *, timeout_ms: float) -> int:
        """Return the latest version of a request over the connection, which opens if necessary."""
        async with self._opening:
            return (await self._connected(timeout_ms)).version_of(kind)

    def close(self) -> None:
        """Close the connection; requests that wait get NetworkError, and later ones as well."""
        self._is_closed = True
        if self._connection is not None:
            self._connection.close()

    async def _connected(self, timeout_ms: float) -> BrokerConnection:
        self._ensure_open()
        if self._connection is None or not self._connection.is_usable:
            connection = BrokerConnection(self.address, self._settings, self._runtime)
            try:
                await self._runtime.run_with_timeout(
                    timeout_ms,
                    connection.open(self._tls()),
                    timeout_error=lambda: NetworkError(
                        f"broker {self.address} has not accepted a connection in {timeout_ms} ms"
                    ),
                )
                self._ensure_open()
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _ensure_open(self) -> None:
        if self._is_closed:
            raise NetworkError(f"the channel to {self.address} is closed")
