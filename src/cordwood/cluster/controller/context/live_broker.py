"""A registered broker, as the controller reads it (Kafka: `Broker`, with its broker epoch).

The broker epoch orders the registrations of a broker. It increases with each one, so a request with
an earlier epoch comes from, or is meant for, a process that has ended.
"""

from typing import Final, NamedTuple

#: The epoch in a request of a broker that does not send it.
UNKNOWN_BROKER_EPOCH: Final = -1


class BrokerEndpoint(NamedTuple):
    """An address of a broker; the security protocol is Kafka's number."""

    listener: str
    host: str
    port: int
    security_protocol: int = 0


class LiveBroker(NamedTuple):
    """A broker with its registration."""

    broker_id: int
    epoch: int
    endpoints: tuple[BrokerEndpoint, ...] = ()
    rack: str | None = None

    def endpoint(self, listener: str) -> BrokerEndpoint | None:
        """Return the endpoint of a listener, None if the broker does not have it."""
        return next((each for each in self.endpoints if each.listener == listener), None)
