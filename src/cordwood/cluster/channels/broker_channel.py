"""Port to the other brokers of a cluster (Kafka: `BlockingSend`, `NetworkClientUtils`).

A channel keeps at most one connection. It opens with the first request, and after an error with the
next one. So two requests of one channel never travel on two connections, and a broker handles them
in the order of the calls.
"""

from typing import Protocol, TypeVar

from cordwood.core.address import Address
from cordwood.protocol.schema import NEWEST, Request, Response

R = TypeVar("R", bound=Response)


class BrokerChannel(Protocol):
    """Requests to one address."""

    async def send(
        self, request: Request, kind: type[R], *, timeout_ms: float, most_version: int = NEWEST
    ) -> R:
        """Send a request, and return its response.

        The version is the latest one that both brokers know, at most `most_version`. Raises
        UnsupportedVersionError without one. NetworkError and RequestTimedOutError close the
        connection; whether the broker has handled the request is then unknown.

        The timeout is also that of a connection that has to open first.
        """

    async def version(self, kind: type[Request], *, timeout_ms: float) -> int:
        """Return the latest version of a request that both brokers know, for its content.

        The connection opens if there is none. Raises as `send`. A later `send` gives this version
        as `most_version`.
        """

    def close(self) -> None:
        """Close the connection; requests that wait for a response get NetworkError."""


class BrokerChannels(Protocol):
    """Opens channels over the inter-broker listener's protocol."""

    def open(self, address: Address, *, client_id: str) -> BrokerChannel:
        """Return a channel without a connection; the caller closes it."""
